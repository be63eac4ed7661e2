"""Self-paced weights: which examples a model learns from now, easy ones first.

For losses L_i >= 0, an age lambda > 0 and, in the soft case, a width gamma > 0, the weights in [0, 1] that
minimize

    hard    sum_i v_i L_i - lambda sum_i v_i                                                   (1)
    soft    sum_i v_i L_i - gamma sum_i ln(v_i + gamma / lambda)                               (2)

have closed forms. As lambda grows, more examples enter.
"""

from __future__ import annotations

import numpy as np


def hard_weights(losses: np.ndarray, age: float) -> np.ndarray:
    """The minimizer of (1): 1 where L <= lambda, else 0."""
    return (losses <= age).astype(np.float64)


def soft_weights(losses: np.ndarray, age: float, gamma: float) -> np.ndarray:
    """The minimizer of (2): gamma / L - gamma / lambda, held to [0, 1].

    It is 1 up to L = gamma lambda / (gamma + lambda), 0 from L = lambda on, and continuous.
    """
    if age <= 0:  # no example has a loss, so that none is hard
        return np.ones_like(losses)
    with np.errstate(divide="ignore"):
        return np.clip(gamma / losses - gamma / age, 0.0, 1.0)


def quantile_loss(losses: np.ndarray, share: float, at_least: int = 1) -> float:
    """The smallest number that is not below the losses of that share of the examples."""
    # The small slack keeps 0.7 * 10 from asking for eight examples.
    count = min(losses.size, max(at_least, int(np.ceil(share * losses.size - 1e-9))))
    return float(np.partition(losses, count - 1)[count - 1])


def shares(start: float, step: float) -> list[float]:
    """start, start + step, ..., 1: the share of examples in at each stage; the last is exactly 1."""
    count = int(np.ceil((1.0 - start) / step - 1e-9))
    return [start + i * step for i in range(count)] + [1.0]
