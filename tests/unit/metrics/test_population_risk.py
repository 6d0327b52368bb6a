from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from sfumato.data.encoding import encode
from sfumato.data.release import Release
from sfumato.data.sampling import UNKNOWN, Sampling
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.errors import PolicyError
from sfumato.metrics import measure_all
from sfumato.metrics.individual_risk import individual_risk
from sfumato.metrics.population_risk import PopulationRisk
from sfumato.metrics.superpopulation import Sizes, estimated_uniques

SCHEMA = Schema(
    {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
        "town": ColumnSpec(name="town", role=Role.QUASI_IDENTIFIER),
        "w": ColumnSpec(name="w", role=Role.OTHER),
        "home": ColumnSpec(name="home", role=Role.OTHER),
    }
)
WEIGHTED = Sampling(weight="w", household="home")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(2)
    return pa.table(
        {
            "age": rng.integers(20, 40, 200),
            "town": rng.choice(list("abcde"), 200),
            "w": rng.choice([5.0, 20.0, 50.0], 200),
            "home": np.sort(rng.integers(0, 80, 200)).astype(str),
        }
    )


@pytest.fixture(scope="module")
def coarse(people):
    return people.set_column(0, "age", pa.array(["*"] * 200))


def measured(people, coarse, sampling):
    return PopulationRisk(sampling=sampling).measure(encode(people, SCHEMA), Release.from_table(coarse, SCHEMA))


def test_it_is_the_mean_of_individual_risks_on_both_sides(people, coarse):
    found = measured(people, coarse, WEIGHTED)

    for side, table in (("before", people), ("after", coarse)):
        keys = list(zip(table["age"].to_pylist(), table["town"].to_pylist(), strict=True))
        rows, stand_for = Counter(keys), Counter()
        for key, weight in zip(keys, table["w"].to_pylist(), strict=True):
            stand_for[key] += weight
        risk = individual_risk(np.array([rows[key] for key in keys]), np.array([stand_for[key] for key in keys]))
        facts = found.facts[side]
        assert facts["mean"] == pytest.approx(risk.mean())
        assert facts["max"] == pytest.approx(risk.max())
        assert facts["expected"] == pytest.approx(risk.sum())
        assert facts["above_threshold"] == pytest.approx((risk > 0.2).mean())
        homes = table["home"].to_pylist()
        of_home = [1 - np.prod([1 - risk[i] for i in range(200) if homes[i] == home]) for home in homes]
        assert facts["households"]["expected"] == pytest.approx(sum(of_home))
        assert facts["households"]["households"] == len(set(homes))
        expected = estimated_uniques(Sizes.of(np.array(list(rows.values()))), found.facts["population"])
        assert facts["population_unique"] == pytest.approx(expected.people / found.facts["population"])
        assert facts["model"] == expected.model
    assert (found.value, found.before) == (found.facts["after"]["mean"], found.facts["before"]["mean"])
    assert found.value < found.before
    assert found.facts["population"] == round(sum(people["w"].to_pylist()))
    assert "household" in found.explanation


def test_a_fraction_and_a_size_say_the_same(people, coarse):
    by_size, by_fraction = (
        measured(people, coarse, Sampling(**given)) for given in ({"size": 4_000}, {"fraction": 0.05})
    )

    assert by_size.facts == by_fraction.facts
    assert by_size.facts["before"]["households"] is None


def test_a_release_without_weights_stands_for_the_same_people(people, coarse):
    found = measured(people, coarse.select(["age", "town"]), WEIGHTED)

    total = found.facts["population"]
    assert found.facts["after"]["mean"] == pytest.approx(
        measured(people, coarse, Sampling(size=total)).facts["after"]["mean"]
    )
    assert found.facts["after"]["households"] is None


def test_it_is_measured_only_where_the_population_is_known(people, coarse):
    dataset, release = encode(people, SCHEMA), Release.from_table(coarse, SCHEMA)

    def names(sampling):
        return {found.name for found in measure_all(dataset, release, sampling=sampling, queries={"queries": 1})}

    assert "population-risk" not in names(UNKNOWN)
    assert "population-risk" in names(Sampling(fraction=0.1))
    with pytest.raises(PolicyError, match="nothing is known"):
        PopulationRisk(sampling=UNKNOWN).measure(dataset, release)
    with pytest.raises(PolicyError, match="threshold"):
        PopulationRisk(sampling=UNKNOWN, threshold=2)


def test_an_empty_release_has_no_risk(people):
    found = measured(people, people.slice(0, 0), Sampling(fraction=0.1))

    assert (found.value, found.facts["after"]["max"]) == (0.0, 0.0)


def test_less_than_half_a_person_is_nobody():
    ages = np.random.default_rng(1).integers(0, 1_000, 500)  # spread evenly: nobody stays alone among so many
    people = pa.table({"age": ages, "town": ["a"] * 500, "w": [1] * 500, "home": ["1"] * 500})

    found = measured(people, people, Sampling(size=60_000))

    assert 0 < found.facts["before"]["population_unique"] * 60_000 < 0.5
    assert ", 0 % are thought to be unique" in found.explanation
