"""What the site needs beyond its generator; the pictures are in ``pictures``."""
