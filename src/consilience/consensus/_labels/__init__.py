"""Methods on label vectors: objects are grouped by what the clusterings call them, without pairs or graphs."""
