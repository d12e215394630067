"""The tour: a Personal Agent and its browser play the whole story against a server of their own."""
