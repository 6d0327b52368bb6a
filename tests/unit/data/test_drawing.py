"""Random parts of tables."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.data.drawing import Draw, Drawn


def test_as_large_a_share_is_drawn_as_is_asked_for():
    numbers = np.random.default_rng(1).integers(0, 2**64 - 1, 100_000, dtype=np.uint64, endpoint=True)
    assert Draw(0.1).takes(numbers).mean() == pytest.approx(0.1, abs=0.01)
    assert Draw(1.0).takes(numbers).all()
    assert Draw(3.0).takes(numbers).all()


def test_what_was_drawn_is_said_in_words_and_as_data():
    assert "2 of 3" in str(Drawn(2, 3))
    assert Drawn(2, 3, by_class=False).as_dict() == {"rows": 2, "of": 3, "whole_classes": False}
