"""Methods on the graph between objects and base clusters: linear in the number of objects."""
