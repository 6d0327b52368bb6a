"""Finding a record by a few items, counted by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.attacks import Asked, ItemLinking
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import PolicyError

SCHEMA = Schema(
    {
        "town": ColumnSpec(name="town", role=Role.QUASI_IDENTIFIER, kind=Kind.CATEGORY),
        "basket": ColumnSpec(name="basket", role=Role.ITEMS, kind=Kind.SET),
    }
)


def release_of(people):
    baskets = pa.array([sorted(basket) for _, basket in people], pa.list_(pa.string()))
    return Release.from_table(
        pa.table({"town": pa.array([t for t, _ in people], pa.string()), "basket": baskets}), SCHEMA
    )


@settings(deadline=None, max_examples=40)
@given(
    people=st.lists(st.tuples(st.sampled_from("AB"), st.sets(st.sampled_from("abcd"))), min_size=1, max_size=9),
    known=st.integers(1, 3),
)
def test_everybody_is_attacked_with_the_luckiest_choice_of_items(people, known):
    fewest = [
        min(
            sum(town == other and set(items) <= theirs for other, theirs in people)
            for size in range(known + 1)
            for items in combinations(sorted(basket), size)
        )
        for town, basket in people
    ]
    table = release_of(people)

    for shown in (table, table.weighted()):
        found = ItemLinking(column="basket", known=known, threshold=0.4).on(shown)
        assert (found.people, found.worst) == (len(people), 1 / min(fewest))
        assert found.exposed == sum(fit <= 2 for fit in fewest)
        assert found.mean == pytest.approx(sum(1 / fit for fit in fewest) / len(fewest))


def test_as_many_items_are_known_as_the_release_promises_to_withstand():
    table = release_of([("A", {"a"})])
    asked = [{"model": "km-anonymity", "column": "basket", "k": 2, "m": 9}]

    assert [attack.known for attack in ItemLinking.suited_to(table, Asked())] == [2]
    promised = replace(table, description={"models": asked})
    assert [attack.known for attack in ItemLinking.suited_to(promised, Asked())] == [3]
    with pytest.raises(PolicyError):
        ItemLinking(column="basket", known=0)
