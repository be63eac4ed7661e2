"""The data model: base clusterings, hard and soft, features and annotations, and the checks on the way in."""
