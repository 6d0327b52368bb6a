"""People with several values: counts and bounds against what a plain loop finds."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from sfumato.data.people import by_person
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.errors import DataError
from sfumato.models import LDiversity, TCloseness
from sfumato.models.judging.classes import classes_of
from sfumato.models.judging.sets_of_values import held_by

SCHEMA = Schema(
    {
        "p": ColumnSpec(name="p", role=Role.OTHER),
        "town": ColumnSpec(name="town", role=Role.QUASI_IDENTIFIER),
        "illness": ColumnSpec(name="illness", role=Role.SENSITIVE),
    },
    person="p",
)


def people(values: list[set[str | None]], towns: list[str] | None = None) -> Release:
    """A release in which each person has some values, in rows of their own."""
    rows = [(number, value) for number, each in enumerate(values, start=1) for value in sorted(each, key=str)]
    table = pa.table(
        {
            "p": [number for number, _ in rows],
            "town": [(towns or ["x"] * len(values))[number - 1] for number, _ in rows],
            "illness": pa.array([value for _, value in rows], pa.string()),
        }
    )
    return by_person(Release.from_table(table, SCHEMA))


def hit_all(values: list[set[str | None]]) -> int:
    """How many values it takes to have one of everybody's, by trying all choices."""
    return min(len(set(choice)) for choice in itertools.product(*map(sorted_by_text, values)))


def sorted_by_text(values: set[str | None]) -> list[str | None]:
    return sorted(values, key=str)


@pytest.mark.parametrize("seed", range(60))
def test_what_it_takes_is_never_overstated_and_exact_where_everybody_has_one_value(seed: int) -> None:
    chance = np.random.default_rng(seed)
    most = int(chance.integers(1, 4))
    values: list[set[str | None]] = [
        set(chance.choice(["a", "b", "c", "d", None], size=int(chance.integers(1, most + 1)), replace=False))
        for _ in range(int(chance.integers(1, 7)))
    ]
    release = people(values)
    column = release.columns["illness"]
    assert isinstance(column, ReleasedColumn)
    held = held_by(classes_of(release), column)
    found, true = int(held.fewest(10)[0]), hit_all(values)
    assert 1 <= found <= true
    if all(len(each) == 1 for each in values):
        assert found == true
    everybodys = {value: sum(value in each for each in values) for value in set().union(*values)}
    assert sorted(held.counts.count.tolist()) == sorted(everybodys.values())
    if column.several:
        for l in (2, 3):
            verdict = LDiversity(sensitive="illness", l=l, kind="frequency").audit(release)
            assert verdict.satisfied == all(count * l <= len(values) for count in everybodys.values())
            assert not LDiversity(sensitive="illness", l=l).audit(release).satisfied or true >= l


def test_a_value_that_everybody_has_among_others_is_no_diversity() -> None:
    release = people([{"flu", "gout"}, {"flu", "hiv"}, {"flu"}])
    assert not LDiversity(sensitive="illness", l=2).audit(release).satisfied
    assert not LDiversity(sensitive="illness", l=2, kind="frequency").audit(release).satisfied


def test_sets_are_values_of_their_own_to_t_closeness() -> None:
    release = people([{"flu", "gout"}, {"flu"}, {"flu", "gout"}, {"gout"}], ["x", "x", "y", "y"])
    assert TCloseness(sensitive="illness", t="1/4").audit(release).satisfied
    assert not TCloseness(sensitive="illness", t="0.24").audit(release).satisfied


@pytest.mark.parametrize(
    "model",
    [
        LDiversity(sensitive="illness", l=2, kind="entropy"),
        LDiversity(sensitive="illness", l=2, kind="recursive", c=2),
        TCloseness(sensitive="illness", t=0.5, distance="ordered"),
    ],
)
def test_what_is_not_defined_for_several_values_is_refused(model: LDiversity | TCloseness) -> None:
    with pytest.raises(DataError, match="several values"):
        model.audit(people([{"1", "2"}, {"3"}]))


def test_withheld_values_among_several_are_refused() -> None:
    with pytest.raises(DataError, match="withheld"):
        LDiversity(sensitive="illness", l=2).audit(people([{"*", "flu"}, {"gout"}]))


@pytest.mark.parametrize("seed", range(8))
def test_people_who_are_alike_may_be_held_once(seed: int) -> None:
    chance = np.random.default_rng(seed)
    values: list[set[str | None]] = [
        set(chance.choice(["a", "b", "c"], size=int(chance.integers(1, 3)), replace=False)) for _ in range(14)
    ]
    release = people(values, ["x", "y"] * 7)
    assert release.weighted().n_rows < release.n_rows
    for kind in ("distinct", "frequency"):
        model = LDiversity(sensitive="illness", l=2, kind=kind)
        assert model.audit(release.weighted()).as_dict() == model.audit(release).as_dict()
