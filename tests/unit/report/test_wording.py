"""Numbers and words as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.report import wording


@given(value=st.floats() | st.integers() | st.none() | st.text(max_size=3))
def test_every_value_has_words(value):
    for words in (wording.count, wording.figure, wording.share, wording.seconds, wording.moment, wording.plain):
        assert isinstance(words(value), str)


@given(share=st.floats(0, 1))
def test_only_nothing_is_nothing_and_only_all_is_all(share):
    assert wording.share(share) != "0%" or share < 1e-10
    assert wording.share(share) != "100%" or share > 1 - 1e-10


@given(one=st.floats(0, 1e6), other=st.floats(0, 1e6))
def test_numbers_that_differ_look_different(one, other):
    first, second = wording.apart(one, other)

    assert (first == second) == (one == other)


@pytest.mark.parametrize("length", [3, 10, 40])
def test_labels_are_cut_in_the_middle(length):
    cut = wording.shortened("a" * 30 + "z" * 30, length)

    assert len(cut) == length
    assert cut[0] == "a"
    assert cut[-1] == "z"
