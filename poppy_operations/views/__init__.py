"""The doors of plain Django views, and the views that the app itself serves."""
