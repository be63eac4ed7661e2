"""Methods that explain the co-association matrix by a low-rank representation of itself."""
