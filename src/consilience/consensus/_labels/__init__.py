"""Methods on label vectors, which need neither pairs of objects nor graphs."""
