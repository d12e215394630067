"""The views that the app itself serves."""
