from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import DataError, PolicyError
from sfumato.metrics.risk import Risk


@pytest.mark.slow
@given(data=st.data(), threshold=st.sampled_from([0.0, 0.2, 0.5, 1.0]))
@settings(max_examples=25, deadline=None)
def test_risks_follow_from_the_size_of_everybodys_class(tables, data, threshold):
    example = data.draw(tables.examples())

    measured = Risk(threshold=threshold).measure(example.dataset, example.release)

    for side, rows in (("before", example.before), ("after", example.after)):
        classes = example.classes(rows)
        risks = [1 / classes[tuple(row[name] for name in tables.QIS)] for row in rows]
        n_rows = max(len(rows), 1)
        assert measured.facts["prosecutor"][side] == pytest.approx(
            {
                "max": max(risks, default=0.0),
                "mean": sum(risks) / n_rows,
                "unique": sum(risk == 1 for risk in risks) / n_rows,
                "above_threshold": sum(risk > threshold for risk in risks) / n_rows,
                "records": len(rows),
                "classes": len(classes),
            }
        )
        assert measured.facts["marketer"][side] == pytest.approx(sum(risks) / n_rows)
    assert measured.facts["journalist"]["max"] == measured.value
    assert "population is not known" in measured.explanation


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_the_journalist_counts_people_who_fit(tables, data):
    example = data.draw(tables.examples())
    others = data.draw(tables.examples()).before
    population = tables.Example(example.before + others, [])

    measured = Risk(population=population.dataset).measure(example.dataset, example.release)

    fitting = [
        sum(
            all(row[name] in population.covered(name, label) for name, label in zip(tables.QIS, key, strict=True))
            for row in population.before
        )
        for key in example.classes(example.after)
    ]
    assert measured.facts["journalist"]["max"] == (1 / min(fitting) if fitting else 0.0)
    assert measured.facts["journalist"]["exact"]


def test_a_population_that_lacks_people_of_the_release_is_noticed(pair_of):
    dataset, release = pair_of({"age": [20, 25, 30]}, {"age": ["[20, 25]", "[20, 25]", "30"]})
    town, _ = pair_of({"age": [20, 30, 30]}, {"age": [20, 30, 30]})

    journalist = Risk(population=town).measure(dataset, release).facts["journalist"]

    assert journalist == {"max": 0.5, "population": 3, "classes_checked": 2, "classes_absent": 1, "exact": True}


def test_a_population_without_the_quasi_identifiers_is_refused(pair_of):
    dataset, release = pair_of({"age": [20]}, {"age": [20]})
    town, _ = pair_of({"sex": ["f"]}, {"sex": ["f"]})

    with pytest.raises(DataError, match="'age'"):
        Risk(population=town).measure(dataset, release)


@pytest.mark.parametrize("threshold", [-0.1, 1.5])
def test_a_threshold_is_a_probability(threshold):
    with pytest.raises(PolicyError):
        Risk(threshold=threshold)
