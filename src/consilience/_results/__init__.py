"""The view of a fitted model for displays and the report."""
