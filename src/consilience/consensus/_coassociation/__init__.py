"""Methods that work on pairs of objects: the co-association matrix."""
