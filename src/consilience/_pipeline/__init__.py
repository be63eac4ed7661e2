"""From features to a consensus in one estimator."""
