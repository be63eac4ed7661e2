"""Speed, memory and score of the library against a plain way of doing the same, in the same run."""
