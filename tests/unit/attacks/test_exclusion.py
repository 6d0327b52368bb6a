"""Beliefs when one value is excluded, against the definition, value by value."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.attacks import exclusion
from sfumato.attacks.disclosure import KNOWS, Disclosure
from sfumato.attacks.exclusion import Labels, beliefs_without_one
from sfumato.data.base_rates import BaseRates
from sfumato.data.builders import Flat, Given
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.knowledge import PublicInputs
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.models.base import PrivacyModel
from sfumato.models.judging.posteriors import Secrets

VALUES = "abcgdef"  # in the order of the tree
TREE = {"left": {"far": ["a", "b"], "near": ["c", "g"]}, "right": ["d", "e", "f"]}
BELOW = {
    **{value: value for value in VALUES},
    "far": "ab",
    "near": "cg",
    "left": "abcg",
    "right": "def",
    "*": VALUES,
}
BOTH = ("one", "two")
SCHEMA = Schema(
    {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER, hierarchy=Flat()),
        **{
            name: ColumnSpec(name=name, role=Role.SENSITIVE, hierarchy=Given(Hierarchy.from_nested(TREE)))
            for name in BOTH
        },
    }
)
rows_of = st.lists(
    st.tuples(st.sampled_from("xyz"), st.sampled_from(sorted(BELOW)), st.sampled_from(sorted(BELOW))),
    min_size=1,
    max_size=14,
)
rates_of = st.lists(st.integers(1, 9), min_size=7, max_size=7)


def released(rows, weight):
    table = pa.table(dict(zip(("age", *BOTH), (list(column) for column in zip(*rows, strict=True)), strict=True)))
    known = BaseRates(weight=dict(zip(VALUES, weight, strict=True)), counted=False)
    return replace(Release.from_table(table, SCHEMA), public=PublicInputs(base_rates=dict.fromkeys(BOTH, known)))


def share(label, value, weight):
    rate = dict(zip(VALUES, weight, strict=True))
    return rate[value] / sum(rate[below] for below in BELOW[label]) if value in BELOW[label] else 0.0


def slow(rows, weight, limit):
    """Return for each row the highest belief about `two` without one value of `one`, and whether it exposes."""
    found = []
    for age, own, _ in rows:
        group = [(one, two) for other, one, two in rows if other == age]
        best, above = max(sum(share(two, x, weight) for _, two in group) / len(group) for x in VALUES), False
        for y in set(VALUES) - {own}:
            kept = [1 - share(one, y, weight) for one, _ in group]
            for x in VALUES if sum(kept) > 1e-9 else "":
                belief = sum(k * share(two, x, weight) for k, (_, two) in zip(kept, group, strict=True)) / sum(kept)
                best, above = max(best, belief), above or belief > limit[VALUES.index(x)] + 1e-12
        found.append((best, above))
    return found


@pytest.mark.slow
@settings(max_examples=150)
@given(rows=rows_of, weight=rates_of)
def test_representatives_find_what_all_values_find(rows, weight):
    release = released(rows, weight)
    secrets = Secrets.of(release, BOTH, cast(PrivacyModel, Disclosure(columns=BOTH)))
    n_classes = int(secrets.class_of.max()) + 1
    excluded, told = (Labels.of(secrets, i, n_classes) for i in range(2))
    limit = np.maximum(0.503, np.array(weight) / sum(weight)) + 1e-9
    alone = Disclosure(columns=BOTH, threshold=0.503)._by_group(secrets, knowing_others=False)

    seen = []
    for found, best, above in beliefs_without_one(secrets, excluded, told, limit):
        seen += found.tolist()
        for row, belief, exposed in zip(found.tolist(), best.tolist(), above.tolist(), strict=True):
            expected = slow(rows, weight, limit)[row]
            assert max(belief, slow_alone(rows, weight, row)) == pytest.approx(expected[0])
            assert exposed == expected[1] or alone[1][row]

    assert sorted(seen) == list(range(len(rows)))
    for labels, (n_labels, n_reps) in ((excluded, excluded.sizes), (told, told.sizes)):
        assert (n_reps <= n_labels).all()
        assert labels.rep.max() < 7


def slow_alone(rows, weight, row):
    group = [two for age, _, two in rows if age == rows[row][0]]
    return max(sum(share(two, x, weight) for two in group) / len(group) for x in VALUES)


def test_equal_rows_held_once_tell_the_same():
    rows = [("x", "a", "d"), ("x", "a", "d"), ("x", "left", "e"), ("y", "*", "f"), ("y", "d", "right"), ("y", "d", "f")]
    release = released(rows, [3, 1, 1, 5, 2, 2, 1])

    for knows in KNOWS:
        attack = Disclosure(columns=BOTH, knows=knows)
        held_once, all_rows = attack.on(release.weighted()), attack.on(release)
        assert held_once.facts == all_rows.facts
        assert (held_once.people, held_once.exposed) == (all_rows.people, all_rows.exposed)
        assert (held_once.worst, held_once.mean) == pytest.approx((all_rows.worst, all_rows.mean))


def test_what_would_take_too_long_is_left_out_and_said(monkeypatch):
    rows = [("x", "a", "d"), ("x", "b", "e")] + [("y", value, "f") for value in "abcdef"]
    attack = Disclosure(columns=BOTH, knows=KNOWS[1])
    monkeypatch.setattr(exclusion, "WORK", 20)

    found = attack.on(released(rows, [1] * 7))

    assert found.facts["looked_at"] == 2
    assert found.people == 8
