"""A column in codes, whatever its role."""

from __future__ import annotations

import pyarrow as pa

from sfumato.workbench.columns import SAMPLES, Coded


def test_lists_and_missing_cells_are_coded():
    coded = Coded.of(pa.chunked_array([[["a", "b"], None, ["a", "b"], []]]), ("",))

    assert coded.labels == ("a|b",)
    assert (coded.rows, coded.rows_missing, coded.size) == ([2], 2, 2)


def test_samples_are_few_and_each_once():
    coded = Coded.of(pa.chunked_array([[str(number % 40) for number in range(400)]]), ())

    found = coded.samples()

    assert len(found) == len(set(found)) == SAMPLES
    assert Coded.of(pa.chunked_array([pa.array([], pa.string())]), ()).samples() == []


def test_the_most_frequent_values_come_first():
    coded = Coded.of(pa.chunked_array([["b", "a", "a", "c"]]), ("c",))

    assert coded.values(9) == {"values": [["a", 2], ["b", 1]], "more": 0, "missing": 1}
