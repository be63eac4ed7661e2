"""Methods on groups of base clusters: these are clustered, and objects vote."""
