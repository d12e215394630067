"""A demo shop that asks for approval, through every door that the app has."""
