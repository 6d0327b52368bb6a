from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import PolicyError
from sfumato.metrics.average_class_size import AverageClassSize


@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_it_is_rows_over_classes(tables, data):
    example = data.draw(tables.examples())

    measured = AverageClassSize(k=2).measure(example.dataset, example.release)

    n_classes = len(example.classes(example.after))
    assert measured.value == (len(example.after) / n_classes if n_classes else 0.0)
    assert measured.facts == {
        "rows": len(example.after),
        "classes": n_classes,
        "k": 2,
        "c_avg": measured.value / 2,
    }


def test_k_comes_from_the_description_of_the_release(pair_of):
    dataset, release = pair_of({"age": [20, 20, 30, 30]}, {"age": ["*"] * 4})
    models = [{"model": "l-diversity", "l": 3}, {"model": "k-anonymity", "k": 2}]

    described = AverageClassSize().measure(dataset, replace(release, description={"models": models}))
    plain = AverageClassSize().measure(dataset, release)

    assert (described.value, described.before, described.facts["c_avg"]) == (4.0, 2.0, 2.0)
    assert "2 times the k=2" in described.explanation
    assert plain.facts["k"] is None
    assert plain.facts["c_avg"] is None


def test_k_below_one_is_refused():
    with pytest.raises(PolicyError, match="k=0"):
        AverageClassSize(k=0)
