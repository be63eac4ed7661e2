"""Methods that cluster the base clusters into groups and let objects vote."""
