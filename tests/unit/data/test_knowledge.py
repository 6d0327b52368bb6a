from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.knowledge import NOTHING_PUBLIC, Knowledge, PublicInputs
from sfumato.errors import DataError, PolicyError

ROWS = [
    ("flu", ["fever", "cough", "fever"]),
    ("cold", ["cough"]),
    ("cold", ["cough"]),
    ("cold", ["sneeze"]),
    ("well", []),
]


def rows_of(table):
    bounds = table.start.tolist()
    return [
        (table.labels[label], tuple(table.terms[item] for item in table.items[begin:end]))
        for label, begin, end in zip(table.label_of_row, bounds[:-1], bounds[1:], strict=True)
    ]


def test_rows_are_sorted_and_repeats_collapse():
    table = Knowledge.from_rows(ROWS)
    assert rows_of(table) == [("cold", ("cough",)), ("cold", ("sneeze",)), ("flu", ("cough", "fever")), ("well", ())]
    assert table.n_labels == 3
    assert [table.term_of[term] for term in table.terms] == [0, 1, 2]


@given(st.permutations(ROWS))
def test_the_order_of_rows_does_not_matter(rows):
    assert rows_of(Knowledge.from_rows(rows)) == rows_of(Knowledge.from_rows(ROWS))


def test_an_empty_table_and_a_table_without_terms_are_refused():
    with pytest.raises(DataError, match="is empty"):
        Knowledge.from_rows([])
    with pytest.raises(DataError, match="2 labels but not one term"):
        Knowledge.from_rows([("flu", []), ("cold", [])])


def test_a_policy_that_is_not_known_is_refused_with_the_nearest():
    with pytest.raises(PolicyError, match="Did you mean 'forbid'"):
        Knowledge.from_rows(ROWS, unlinked="forbidden")


def test_a_prior_covers_all_labels_and_sums_to_one():
    table = Knowledge.from_rows(ROWS, weight={"flu": 0.5, "cold": 0.25, "well": 0.25})
    assert table.weight.tolist() == [0.25, 0.5, 0.25]
    for weight, message in (
        ({"flu": 1.0}, "misses 2 of 3 labels"),
        ({"flu": 0.5, "cold": 0.25, "well": 0.25, "gout": 0.0}, "1 labels that the knowledge table of 3 does not have"),
        ({"flu": 0.5, "cold": 0.25, "well": 0.2}, r"sum to 0\.95"),
        ({"flu": 1.5, "cold": -0.25, "well": -0.25}, "2 of 3 weights that are negative"),
        ({"flu": float("nan"), "cold": 0.5, "well": 0.5}, "1 of 3 weights"),
    ):
        with pytest.raises(DataError, match=message):
            Knowledge.from_rows(ROWS, weight=weight)


def test_a_prior_that_rounds_to_one_will_do():
    table = Knowledge.from_rows([(f"L{i}", ["x"]) for i in range(7)], weight={f"L{i}": 1 / 7 for i in range(7)})
    assert table.weight.sum() == pytest.approx(1)


def test_public_inputs_know_the_prior():
    table = Knowledge.from_rows(ROWS, weight={"flu": 0.5, "cold": 0.25, "well": 0.25})
    assert PublicInputs(table).belief.tolist() == [0.25, 0.5, 0.25]
    assert PublicInputs(table, np.array([1, 0, 0])).belief.tolist() == [1, 0, 0]
    assert PublicInputs(Knowledge.from_rows(ROWS)).belief is None
    assert NOTHING_PUBLIC.belief is None


@pytest.mark.parametrize("prior", [[0.5, 0.5], [1, 1, 0], [1.5, -0.5, 0], [float("nan"), 0, 0]])
def test_public_inputs_refuse_what_is_no_belief(prior):
    with pytest.raises(DataError, match="The prior"):
        PublicInputs(Knowledge.from_rows(ROWS), np.array(prior))


def test_a_prior_without_labels_is_refused():
    with pytest.raises(DataError, match="without a knowledge table"):
        PublicInputs(None, np.array([1.0]))
