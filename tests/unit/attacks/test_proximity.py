"""The proximity attack against a plain search of intervals."""

from __future__ import annotations

import random
from fractions import Fraction

import pyarrow as pa
import pytest

from sfumato.attacks import Asked, Proximity
from sfumato.data.people import by_person
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import PolicyError


def release_of(rows, kind=Kind.NUMBER, **schema):
    columns = {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
        "pay": ColumnSpec(name="pay", role=Role.SENSITIVE, kind=kind),
    }
    table = pa.table({"age": [age for age, _ in rows], "pay": [pay for _, pay in rows]})
    return Release.from_table(table, Schema(columns, missing=("",), **schema))


def ends(label):
    if label in ("", "*"):
        return None
    low, high = label.strip("[]").split(", ") if label.startswith("[") else (label, label)
    return float(low), float(high)


def plainly(rows, width, threshold):
    """Return people exposed, the highest confidence, and the best guess: interval by interval."""
    known = [found for _, pay in rows if (found := ends(pay)) is not None]
    reach = width * (max(high for _, high in known) - min(low for low, _ in known)) if known else 0.0

    def inside(pays, start):
        found = [ends(pay) for pay in pays]
        return sum(each is not None and start <= each[0] and each[1] <= start + reach for each in found)

    exposed, shares = 0, [Fraction(0)]
    starts = sorted({low for low, high in known if high - low <= reach})
    everybody = {start: Fraction(inside([pay for _, pay in rows], start), len(rows)) for start in starts}
    for age in {age for age, _ in rows}:
        pays = [pay for other, pay in rows if other == age]
        share = {start: Fraction(inside(pays, start), len(pays)) for start in starts}
        exposed += len(pays) * any(share[s] > max(Fraction(str(threshold)), everybody[s]) for s in starts)
        shares += share.values()
    return exposed, max(shares), max(everybody.values(), default=0)


@pytest.mark.parametrize("seed", range(80))
def test_intervals_equal_a_plain_search_with_and_without_weights(seed):
    rng = random.Random(seed)
    pays = [*map(str, rng.choices(range(0, 200, rng.choice([1, 5])), k=12)), "7.0", "7", "*", "", "[10, 12]", "[0, 90]"]
    ages = rng.choice(["abc", "abcdefghijklmnopqrstuvwxyz"])
    rows = [(rng.choice(ages), rng.choice(pays)) for _ in range(rng.randint(1, 40))]
    width, threshold = rng.choice([0.01, 0.05, 0.25, 0.5]), rng.choice([0, 0.25, 0.5, 0.75])
    attack, release = Proximity(column="pay", width=width, threshold=threshold), release_of(rows)

    for table in (release, release.weighted()):
        found, guess = attack.on(table), attack.guess(table)
        exposed, worst, guessed = plainly(rows, width, threshold)
        assert (found.people, found.exposed, guess.exposed) == (len(rows), exposed, 0)
        assert found.worst == pytest.approx(float(worst))
        assert guess.worst == pytest.approx(float(guessed))


def test_different_values_near_each_other_expose_and_a_number_that_all_have_does_not():
    near = [("a", str(30_000 + row)) for row in range(5)] + [("b", str(pay)) for pay in (0, 20_000, 40_000, 60_000)]
    assert Proximity(column="pay").on(release_of(near)).exposed == 5
    assert Proximity(column="pay").on(release_of([(age, "7") for age in "aabb"])).exposed == 0


def test_days_are_near_each_other_too():
    days = [("a", f"2024-05-0{day}") for day in range(1, 6)] + [("b", f"202{year}-01-01") for year in range(5)]
    [attack] = Proximity.suited_to(release_of(days, Kind.DATE), Asked(width=0.01))

    found = attack.on(release_of(days, Kind.DATE))
    assert (found.exposed, found.worst) == (5, 1.0)


def test_texts_and_people_with_several_numbers_are_left_out():
    assert list(Proximity.suited_to(release_of([("a", "x")], Kind.CATEGORY), Asked())) == []
    assert list(Proximity.suited_to(release_of([("a", "1")]), Asked()))
    table = pa.table({"who": ["1", "1", "2"], "age": ["a"] * 3, "pay": ["1", "2", "3"]})
    columns = {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
        "pay": ColumnSpec(name="pay", role=Role.SENSITIVE, kind=Kind.NUMBER),
    }
    people = by_person(Release.from_table(table, Schema(columns, missing=("",), person="who")))
    assert list(Proximity.suited_to(people, Asked())) == []


@pytest.mark.parametrize("width", [0, 1, -0.1, True, "5 %", float("nan")])
def test_a_width_that_is_none_is_refused(width):
    with pytest.raises(PolicyError, match="width of near numbers"):
        Proximity(column="pay", width=width)
