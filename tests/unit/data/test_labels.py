"""Labels are written one way and read back the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.labels import number_text, parse_range, parse_set, range_label, set_label


@given(st.lists(st.text(), min_size=2, max_size=5))
def test_a_set_label_is_read_back(values):
    assert parse_set(set_label(values, whole=len(values) + 1)) == tuple(values)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_a_range_label_is_read_back(low, high):
    label = range_label(number_text(low), number_text(high))
    if number_text(low) == number_text(high):
        assert float(label) == low
    else:
        assert parse_range(label) == (low, high, True)


@pytest.mark.parametrize("label", ["", "*", "20", "[a, b]", "[1; 2]", "[1, 2, 3]", "(1, 2)", "{a|b}", "[1, 2] x"])
def test_other_labels_are_no_ranges(label):
    assert parse_range(label) is None


@pytest.mark.parametrize("label", ["", "*", "a", "{", "a|b", "{a", "[1, 2]"])
def test_other_labels_are_no_sets(label):
    assert parse_set(label) is None


def test_a_set_of_nothing_but_what_is_missing_is_one():
    assert parse_set("{}") == ("",)


@pytest.mark.parametrize(
    ("value", "text"), [(20.0, "20"), (-0.5, "-0.5"), (1e15, "1000000000000000.0"), (float("inf"), "inf"), (0.0, "0")]
)
def test_numbers_are_short(value, text):
    assert number_text(value) == text
