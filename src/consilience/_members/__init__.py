"""How generators prepare features, run their base clusterings and label new rows."""
