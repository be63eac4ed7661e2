"""Label vectors: distinct rows, codes, contingency tables, information."""
