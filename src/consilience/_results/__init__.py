"""The view of a fitted model that displays and the report share."""
