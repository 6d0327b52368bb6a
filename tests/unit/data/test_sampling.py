from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.data.sampling import UNKNOWN, Sampling
from sfumato.errors import DataError, PlanError

CARRIED = pa.table({"w": ["1.5", "2.5", "4"], "home": ["a", None, ""]})


def plan(**more):
    return sf.Plan.from_dict(
        {
            "columns": {
                "age": {"role": "quasi-identifier"},
                "w": {"role": "other"},
                "home": {"role": "other"},
                "name": {"role": "identifier"},
            },
            "require": [{"model": "k-anonymity", "k": 2}],
            **more,
        }
    )


def problems(**more):
    with pytest.raises(PlanError) as raised:
        plan(**more)
    return {(problem.place, problem.text) for problem in raised.value.problems}


def test_weights_say_how_many_people_a_row_stands_for():
    assert Sampling(weight="w").people_of(CARRIED, 3).tolist() == [1.5, 2.5, 4.0]
    assert Sampling(weight="w").people_of(None, 3) is None
    assert UNKNOWN.people_of(CARRIED, 3) is None


def test_weights_are_scaled_to_a_population_whose_size_is_known():
    assert Sampling(weight="w", size=80).people_of(CARRIED, 3).tolist() == [15.0, 25.0, 40.0]
    assert Sampling(weight="w", fraction=0.25).people_of(CARRIED, 3).tolist() == [2.25, 3.75, 6.0]


def test_the_population_is_no_smaller_than_the_table():
    assert Sampling(weight="w").population(np.array([1.5, 2.5, 4.0]), 3) == 8
    assert Sampling(weight="w").population(np.array([0.25, 0.25]), 2) == 2
    with pytest.raises(DataError, match="2 people, but the table is about 3"):
        Sampling(size=2).refuse_unfit(None, 3)


def test_a_missing_household_is_one_of_its_own():
    home = Sampling(household="home").households_of(CARRIED)

    assert len(set(home.tolist())) == 3
    assert Sampling(household="home").households_of(None) is None
    assert UNKNOWN.households_of(CARRIED) is None


def test_a_plan_says_whom_its_table_is_a_sample_of():
    given = plan(source={"weight": "w", "household": "home"}, population={"fraction": 0.1})

    assert given.sampling == Sampling(fraction=0.1, weight="w", household="home")
    assert plan().sampling == UNKNOWN


def test_explain_says_whom_the_table_is_a_sample_of():
    given = plan(source={"weight": "w", "household": "home"}, population={"size": 8_500_000, "path": "register.csv"})

    said = given.explain().as_dict()["sample"]

    assert [word for word in ("8,500,000 people", "'w'", "'home'", "register.csv") if word not in said] == []
    assert plan().explain().as_dict()["sample"] is None


def test_what_does_not_go_together_is_told_with_its_place():
    assert {place for place, _ in problems(population={"size": 10, "fraction": 0.5})} == {"population.fraction"}
    assert {place for place, _ in problems(population={"size": 0})} == {"population.size"}
    assert {place for place, _ in problems(population={"fraction": 1.5})} == {"population.fraction"}
    ((place, text),) = problems(population={"fration": 0.5})
    assert (place, "fraction" in text) == ("population.fration", True)
    ((place, text),) = problems(source={"household": "name"})
    assert (place, "has the role identifier" in text) == ("source.household", True)


def test_a_population_smaller_than_the_table_is_refused_before_work():
    people = pa.table({"age": [30, 30], "w": [1, 1], "home": ["1", "2"], "name": ["a", "b"]})

    with pytest.raises(DataError, match="sample of"):
        sf.anonymize(people, plan(population={"size": 1}))


def test_the_populations_table_is_searched_by_the_journalist(tmp_path):
    (tmp_path / "town.csv").write_text("age\n" + "30\n" * 5 + "40\n" * 5, encoding="utf-8")
    people = pa.table({"age": [30, 30, 40, 40], "w": [1] * 4, "home": ["1"] * 4, "name": list("abcd")})
    document = {**plan().document, "population": {"path": "town.csv"}}
    given = sf.Plan.from_dict(document, base=tmp_path)

    run = sf.anonymize(people, given, seed=1)

    risk = next(found for found in run.measurements if found.name == "risk")
    assert risk.facts["journalist"]["population"] == 10
    assert next(found for found in run.exposures if found.attack == "linking").after.facts["journalist"] == 0.2


def test_equal_rows_held_once_stand_for_as_many_people():
    twice = np.array([2, 1, 1])
    assert Sampling(size=80).people_of(None, 3, twice).tolist() == [40.0, 20.0, 20.0]
    assert Sampling(weight="w").people_of(CARRIED, 3, twice).tolist() == [3.0, 2.5, 4.0]
