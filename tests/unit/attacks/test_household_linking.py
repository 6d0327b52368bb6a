from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.attacks import Asked, HouseholdLinking
from sfumato.data.release import Release
from sfumato.data.sampling import Sampling
from sfumato.data.schema import ColumnSpec, Role, Schema

SCHEMA = Schema(
    {"age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER), "home": ColumnSpec(name="home", role=Role.OTHER)}
)
HOME = Sampling(household="home")


def release(people):
    ages, homes = zip(*people, strict=True)
    return Release.from_table(pa.table({"age": list(ages), "home": [str(home) for home in homes]}), SCHEMA)


@given(
    people=st.lists(st.tuples(st.sampled_from(["20s", "30s"]), st.integers(0, 5)), min_size=1),
    threshold=st.sampled_from([0.0, 0.3, 0.5]),
)
def test_households_are_told_apart_by_all_their_people(people, threshold):
    found = HouseholdLinking(sampling=HOME, threshold=threshold).on(release(people))

    of_home = {home: tuple(sorted(age for age, own in people if own == home)) for _, home in people}
    alike = Counter(of_home.values())
    sure = [1 / alike[of_home[home]] for _, home in people]
    assert found.exposed == sum(each > threshold for each in sure)
    assert found.worst == max(sure)
    assert found.mean == pytest.approx(sum(sure) / len(people))
    assert found.facts["households"] == len(of_home)
    assert found.facts["unique"] == sum(count == 1 for count in alike.values())
    size = Counter(age for age, _ in people)
    chances = []
    for _, home in people:
        missed = 1.0
        for age in of_home[home]:
            missed *= 1 - 1 / size[age]
        chances.append(1 - missed)
    assert found.facts["by_chance"]["mean"] == pytest.approx(sum(chances) / len(people))


def test_a_table_without_rows_exposes_nobody():
    nobody = Release.from_table(pa.table({"age": pa.array([], pa.string()), "home": pa.array([], pa.string())}), SCHEMA)

    found = HouseholdLinking(sampling=HOME).on(nobody)

    assert (found.people, found.exposed, found.worst, found.mean) == (0, 0, 0.0, 0.0)


def test_people_who_are_alike_may_live_in_a_household_that_is_not():
    k_anonymous = [("20s", 1), ("20s", 2), ("30s", 1), ("30s", 3)]

    found = HouseholdLinking(sampling=HOME).on(release(k_anonymous))

    assert (found.exposed, found.facts["unique"]) == (4, 3)


def test_it_runs_where_the_table_says_who_lives_together():
    table = release([("20s", 1)])

    assert list(HouseholdLinking.suited_to(table, Asked())) == []
    assert list(HouseholdLinking.suited_to(table, Asked(sampling=HOME))) == [HouseholdLinking(sampling=HOME)]


def test_a_table_that_does_not_say_it_gives_no_household_away():
    table = Release.from_table(pa.table({"age": ["20s", "30s"]}), SCHEMA)

    assert HouseholdLinking(sampling=HOME).on(table).exposed == 0
    assert HouseholdLinking(sampling=HOME).guess(table).worst == 0.5
