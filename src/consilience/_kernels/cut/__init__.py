"""From an embedding, a graph or a table to exactly k clusters."""
