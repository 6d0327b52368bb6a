"""What kernels test of people with several values is what it should be, group by group."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from sfumato.anonymizers.conditions import Asked, conditions_for
from sfumato.data.dataset import Dataset
from sfumato.data.encoding import encode
from sfumato.data.people import people_of
from sfumato.data.persons import persons_by
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.errors import DataError, Unsatisfiable
from sfumato.kernels.classes.conditions import holds
from sfumato.models import BetaLikeness, KAnonymity, LDiversity, TCloseness
from sfumato.models.base import Policy

ROLES = {"p": Role.OTHER, "town": Role.QUASI_IDENTIFIER, "illness": Role.SENSITIVE}
SCHEMA = Schema({name: ColumnSpec(name=name, role=role) for name, role in ROLES.items()}, person="p")


def dataset_of(has: list[set[str]]) -> Dataset:
    rows = [(f"p{number:02}", value) for number, values in enumerate(has) for value in sorted(values)]
    table = pa.table({"p": [p for p, _ in rows], "town": ["x"] * len(rows), "illness": [value for _, value in rows]})
    return people_of(encode(table, SCHEMA), persons_by(table, "p", SCHEMA))


def passes(asked: Asked, group: list[int]) -> bool:
    histogram = np.zeros(asked.conditions.bars, dtype=np.int64)
    for column in asked.bar_of:
        np.add.at(histogram, column[group], 1)
    return bool(holds(asked.conditions, histogram, len(group)))


def hit_all(values: list[set[str]]) -> int:
    return min(len(set(choice)) for choice in itertools.product(*map(sorted, values)))


@pytest.mark.parametrize("seed", range(25))
def test_a_group_passes_by_definition(seed: int) -> None:
    chance = np.random.default_rng(seed)
    has = [set(chance.choice(list("abcdefgh"), int(chance.choice([1, 1, 2, 3])), replace=False)) for _ in range(16)]
    dataset = dataset_of(has)
    k = int(chance.integers(1, 4))
    policies = {
        kind: Policy((KAnonymity(k=k), LDiversity(sensitive="illness", l=2, kind=kind)))
        for kind in ("frequency", "distinct")
    }
    for kind, policy in policies.items():
        try:
            asked = conditions_for(dataset, policy)
        except Unsatisfiable:
            assert max(sum(value in each for each in has) for value in "abcdefgh") * 2 > len(has)
            continue
        for _ in range(40):
            group = sorted(chance.choice(len(has), int(chance.integers(1, 9)), replace=False).tolist())
            here = [has[person] for person in group]
            even = all(sum(value in each for each in here) * 2 <= len(here) for value in "abcdefgh")
            if kind == "frequency":
                assert passes(asked, group) == (even and len(group) >= k)
            elif passes(asked, group):
                assert hit_all(here) >= 2
                assert len(group) >= k


def test_sets_are_values_to_t_closeness() -> None:
    asked = conditions_for(
        dataset_of([{"a", "b"}, {"a"}, {"a", "b"}, {"a"}]), Policy((TCloseness(sensitive="illness", t=0.5),))
    )
    assert passes(asked, [0])
    strict = conditions_for(
        dataset_of([{"a", "b"}, {"a"}, {"a", "b"}, {"a"}]), Policy((TCloseness(sensitive="illness", t=0.4),))
    )
    assert not passes(strict, [0])
    assert passes(strict, [0, 1])


@pytest.mark.parametrize(
    "model",
    [
        LDiversity(sensitive="illness", l=2, kind="entropy"),
        TCloseness(sensitive="illness", t=0.5, distance="ordered"),
        BetaLikeness(sensitive="illness", beta=1),
    ],
)
def test_what_is_not_defined_for_several_values_is_refused(model: LDiversity | TCloseness | BetaLikeness) -> None:
    with pytest.raises(DataError, match="1 people have several values"):
        conditions_for(dataset_of([{"a", "b"}, {"a"}]), Policy((model,)))
