"""Pairs of objects or of base clusters: co-association, linkage, walks, learned graphs."""
