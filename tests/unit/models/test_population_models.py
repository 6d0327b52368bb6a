"""k-map and delta-presence by their definitions: who is covered by the labels of each class."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.full_domain import FullDomain
from sfumato.data.builders import Flat, Widths
from sfumato.data.encoding import encode
from sfumato.data.knowledge import PublicInputs
from sfumato.data.population import read_population
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.errors import DataError, PolicyError, Unsatisfiable
from sfumato.models import DeltaPresence, KMap
from sfumato.models.base import Policy
from sfumato.models.judging import population as judging

SCHEMA = Schema(
    {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER, hierarchy=Widths((2, 4))),
        "sex": ColumnSpec(name="sex", role=Role.QUASI_IDENTIFIER, hierarchy=Flat()),
    }
)
RNG = np.random.default_rng(4)
SPAN = {0: 1, 1: 2, 2: 4, 3: 100}  # years that a label of each level covers


def some_people(n):
    return [(int(age), sex) for age, sex in zip(RNG.integers(20, 32, n), RNG.choice(["f", "m"], n), strict=True)]


def table_of(people):
    return pa.table(
        {
            "age": pa.array([age for age, _ in people], pa.int64()),
            "sex": pa.array([sex for _, sex in people], pa.string()),
        }
    )


def public_of(people):
    return PublicInputs(populations={"p.csv": encode(table_of(people), SCHEMA)})


def at_levels(person, node):
    age, sex = person
    return age // SPAN[node[0]], sex if node[1] == 0 else "*"


def released(rows, people):
    return replace(Release.from_table(pa.table(rows), SCHEMA), public=public_of(people))


def test_labels_of_every_form_cover_whom_they_say():
    people = [(20, "f"), (21, "m"), (25, "f"), (25, None), (31, "m")]
    rows = {"age": ["[20, 21]", "{25|31}", "25", "*", "[20, 25)"], "sex": ["*", "*", "f", "m", "*"]}
    covered = judging.covered_people(released(rows, people), "p.csv", KMap(k=1, population="p.csv"))

    assert sorted(covered.people.tolist()) == [1, 2, 2, 2, 3]
    assert (covered.elsewhere, covered.population) == (0, 5)
    few = judging.covered_people(
        released({"age": ["25"], "sex": [None]}, people), "p.csv", KMap(k=1, population="p.csv")
    )
    assert (few.people.tolist(), few.elsewhere) == ([1], 4)


def test_a_group_of_all_values_does_not_cover_people_whose_value_is_missing():
    people = [(20, "f"), (23, "f"), (None, "m"), (None, "m")]
    model = KMap(k=2, population="p.csv")
    covered = judging.covered_people(released({"age": ["[20, 23]", None], "sex": ["*"] * 2}, people), "p.csv", model)

    assert (covered.people.tolist(), covered.overlap) == ([2, 2], 0)
    assert not replace(model, k=3).audit(released({"age": ["[20, 23]"], "sex": ["*"]}, people)).satisfied

    release, recoding = made(encode(table_of([people[0], people[2]]), SCHEMA), (model,), people)
    assert model.audit(release).satisfied
    assert recoding.facts["levels"] == {"age": 2, "sex": 0}


def test_the_ends_of_presence_belong_to_it():
    people = [(20, "f")] * 6 + [(30, "f")] * 4
    release = released({"age": ["20"] * 2 + ["30"] * 2, "sex": ["f"] * 4}, people)

    assert DeltaPresence(low="1/3", high="1/2", population="p.csv").audit(release).satisfied
    assert not DeltaPresence(low="1/3", high="0.4999999999", population="p.csv").audit(release).satisfied
    low = DeltaPresence(low="0.33333333333333333334", high="1/2", population="p.csv").audit(release)
    assert (low.satisfied, low.failing, low.failing_rows) == (False, 1, 2)
    assert "lowest presence" in str(low)


def test_whom_no_class_covers_is_surely_absent():
    people = [(20, "f")] * 4 + [(30, "f")]
    release = released({"age": ["20"] * 2, "sex": ["f"] * 2}, people)

    assert DeltaPresence(high="1/2", population="p.csv").audit(release).facts["surely_absent"] == 1
    verdict = DeltaPresence(low="0.1", high="1/2", population="p.csv").audit(release)
    assert not verdict.satisfied
    assert verdict.failing == 1


def test_a_population_that_does_not_contain_the_table_is_refused():
    release = released({"age": ["20"] * 3, "sex": ["f"] * 3}, [(20, "f")] * 2)
    with pytest.raises(DataError, match="1 of 1 classes have more rows than it has people"):
        KMap(k=2, population="p.csv").audit(release)
    with pytest.raises(DataError, match="which is not at hand"):
        KMap(k=2, population="other.csv").audit(release)
    dataset = encode(table_of([(20, "f")] * 3), SCHEMA)
    with pytest.raises(DataError, match="1 of 1 combinations of quasi-identifiers occur more often"):
        made(dataset, (KMap(k=2, population="p.csv"),), [(20, "f")] * 2 + [(30, "m")] * 9)


def test_parameters_are_checked():
    with pytest.raises(PolicyError, match="above high"):
        DeltaPresence(low=0.6, high=0.5, population="p.csv")
    for wrong in (0, 1.1, "much"):
        with pytest.raises(PolicyError, match=r"^high of delta-presence"):
            DeltaPresence(high=wrong, population="p.csv")
    assert list(DeltaPresence(high=1, population="p.csv").warnings())


def test_a_file_without_a_quasi_identifier_is_refused(tmp_path):
    (tmp_path / "p.csv").write_text("age\n20\n", encoding="utf-8")
    with pytest.raises(DataError, match="but lacks: sex"):
        read_population(tmp_path / "p.csv", SCHEMA)


def made(dataset, models, people, **options):
    workplace = Workplace(public=public_of(people))
    recoding = FullDomain(**options).anonymize(dataset, Policy(models), Recoding(), workplace)
    return replace(publish(dataset, recoding, []), public=workplace.public), recoding


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        KMap(k=6, population="p.csv"),
        DeltaPresence(high="0.6", population="p.csv"),
        DeltaPresence(low="0.2", high="0.7", population="p.csv"),
    ],
    ids=str,
)
@pytest.mark.parametrize("drop_rows", [0, 0.2])
def test_no_choice_of_levels_loses_less(model, drop_rows):
    for _ in range(6):
        people = some_people(120)
        table = people[:45]
        limit = drop_rows * 45
        best = 45.0
        for node in product(range(4), range(2)):
            sizes, whole = (Counter(at_levels(each, node) for each in some) for some in (table, people))
            if isinstance(model, KMap):
                fine = [label for label in sizes if whole[label] >= model.k]
            else:
                shares = {label: Fraction(sizes[label], whole[label]) for label in whole}
                fine = [label for label in sizes if model.exact_low <= shares[label] <= model.exact_high]
                if model.exact_low and len(fine) < len(whole):
                    continue
            if 45 - sum(sizes[label] for label in fine) <= limit:
                best = min(best, 45 / max(len(fine), 1))
        try:
            release, _ = made(encode(table_of(table), SCHEMA), (model,), people, drop_rows=drop_rows, loss="class-size")
        except Unsatisfiable:
            assert isinstance(model, DeltaPresence)
            assert not model.exact_low <= Fraction(45, 120) <= model.exact_high
            continue
        assert model.audit(release).satisfied
        classes = Counter(zip(*(release.table()[name].to_pylist() for name in ("age", "sex")), strict=True))
        assert 45 / len(classes) == pytest.approx(best)


def test_words_that_look_like_numbers_or_dates_are_the_same_people_in_the_population_as_in_the_table(tmp_path):
    header, *rows = "zip;size;day", "010;1,10;05.12.1980", "011;1,20;06.12.1980"
    (tmp_path / "people.csv").write_text("\n".join([header, *rows * 3]), encoding="utf-8")
    words = {"role": "quasi-identifier", "kind": "category", "hierarchy": {"flat": True}}
    asked = [{"model": "k-map", "k": 3, "population": "people.csv"}]
    columns = dict.fromkeys(header.split(";"), words)
    plan = sf.Plan.from_dict({"source": {"path": "people.csv"}, "columns": columns, "require": asked}, base=tmp_path)

    assert read_population(tmp_path / "people.csv", plan.schema).column("zip").labels == ("010", "011")
    released = sf.run(plan, tmp_path / "run", seed=1).release.data
    assert set(zip(*released.to_pydict().values(), strict=True)) == {tuple(row.split(";")) for row in rows}
