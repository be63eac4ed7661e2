"""One meaning of random_state."""

from __future__ import annotations

import numpy as np
import pytest

from consilience._base.rng import draw_seeds, entropy, make_rng


def test_numbers_are_seeds_and_none_is_not():
    assert entropy(np.int64(7)) == 7
    assert entropy(None) is None
    assert make_rng(7).random() == np.random.default_rng(7).random()


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_generators_move_on_and_equal_ones_agree(kind):
    one, other = kind(3), kind(3)
    first = draw_seeds(one, 2)
    assert first == draw_seeds(other, 2) != draw_seeds(one, 2)
    assert entropy(one) != entropy(one)


def test_a_generator_is_used_itself():
    rng = np.random.default_rng(0)
    assert make_rng(rng) is rng
