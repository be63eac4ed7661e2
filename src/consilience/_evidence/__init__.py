"""What base clusterings say about a partition, and where they place further objects."""
