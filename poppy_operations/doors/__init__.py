"""What every kind of door shares: how a view becomes a call, and an answer a response."""
