"""Actions that workers perform."""
