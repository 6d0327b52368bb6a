from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.metrics.discernibility import Discernibility


@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_it_counts_pairs_that_cannot_be_told_apart(tables, data):
    example = data.draw(tables.examples())

    measured = Discernibility().measure(example.dataset, example.release)

    def alike(rows):
        keys = [tuple(row[name] for name in tables.QIS) for row in rows]
        return sum(one == other for one in keys for other in keys)

    assert measured.before == alike(example.before)
    assert measured.value == alike(example.after) + example.n_dropped * len(example.before)
    assert measured.facts["from_classes"] + measured.facts["from_dropped"] == measured.value


def test_one_class_of_everybody_is_the_worst(pair_of):
    measured = Discernibility().measure(*pair_of({"age": [20, 30, 40]}, {"age": ["*"] * 3}))

    assert (measured.value, measured.before) == (9.0, 3.0)
    assert measured.facts["share_of_worst"] == 1.0
