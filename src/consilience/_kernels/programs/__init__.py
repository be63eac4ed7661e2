"""Small optimization problems: box-constrained quadratic programs, low-rank steps, self-paced weights."""
