"""Columns that tell masked values and withheld terms and items: refused by name, for each phase and on each engine."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import sfumato as sf
from in_parts import in_parts
from sfumato.anonymizers.dependence import Cells, Doubt, tally_elements, tally_single
from sfumato.anonymizers.dependence import elements as elements_of
from sfumato.data.dataset import CodedColumn
from sfumato.data.recoding import Labelled
from sfumato.data.schema import Kind, Role
from sfumato.engines import giving_away
from sfumato.engines.local import LocalEngine
from sfumato.errors import Unsatisfiable
from sfumato.plan import Plan

ROWS = 400
ILLS = np.array(["flu", "flu", "flu", "hiv", "gout", "cold"])
SYMPTOMS = {"flu": ["cough", "fever"], "cold": ["cough", "sneeze"], "gout": ["pain", "swelling"], "hiv": ["fever"]}


def masked():
    """Return people, of whom some diseases are masked, and the plan."""
    draw = np.random.default_rng(1)
    disease = draw.choice(ILLS, ROWS)
    people = {"age": draw.integers(20, 60, ROWS).astype(str), "disease": disease}
    told = {
        "age": {"role": "quasi-identifier", "hierarchy": {"widths": [5, 20]}},
        "disease": {"role": "sensitive", "hierarchy": {"A": ["flu", "cold"], "B": ["gout", "hiv"]}},
    }
    return people, told, {"model": "alpha-diversity", "sensitive": "disease", "alpha": 0.35, "k": 2}, disease


def of_items():
    """Return baskets, some of whose items are withheld, and the plan."""
    draw = np.random.default_rng(2)
    baskets = ["|".join(sorted(draw.choice(["w", "x", "y", "hiv"], 2, replace=False))) for _ in range(ROWS)]
    told = {"basket": {"role": "items", "kind": "set", "sensitive_items": ["hiv"]}}
    requirement = {"model": "rho-uncertainty", "column": "basket", "rho": 0.3}
    return {"basket": baskets}, told, requirement, np.array(baskets)


def of_crowds():
    """Return the same baskets for a requirement that generalizes and withholds items."""
    people, told, _, baskets = of_items()
    draw = np.random.default_rng(4)
    rare = [f"{basket}|{draw.choice(['r1', 'r2', 'r3'])}" for basket in baskets]
    requirement = {"model": "km-anonymity", "column": "basket", "k": 70, "m": 2}
    return people | {"basket": rare}, told, requirement, np.array(rare)


def of_terms():
    """Return records of symptoms, some of which are withheld, and the plan; what they lead to is a hidden disease."""
    draw = np.random.default_rng(3)
    disease = draw.choice(ILLS, ROWS)
    symptoms = ["|".join(sorted(SYMPTOMS[ill])) for ill in disease]
    told = {
        "age": {"role": "quasi-identifier", "hierarchy": {"widths": [5, 20]}},
        "symptoms": {"role": "quasi-sensitive", "kind": "set"},
    }
    people = {"age": draw.integers(20, 60, ROWS).astype(str), "symptoms": symptoms}
    return people, told, {"model": "qs-closeness", "column": "symptoms", "t": 0.3}, np.array(symptoms)


PHASES = {
    "masking": masked,
    "partial-suppression": of_items,
    "item-generalization": of_crowds,
    "term-suppression": of_terms,
}
COLUMNS = {"masking": "disease", "term-suppression": "symptoms"}
every_phase = pytest.mark.parametrize("phase", PHASES)


def plan_with(folder, phase, beside, judged=(), **options):
    """Return a plan of a phase and a table with more columns beside it."""
    people, told, requirement, _ = PHASES[phase]()
    table = pa.table({**people, **{name: pa.array(list(values)) for name, values in beside.items()}})
    pa_csv.write_csv(table, folder / "people.csv")
    requirements = [requirement, *({"model": judged[name], "sensitive": name, "l": 2} for name in judged)]
    if phase == "term-suppression":
        knowledge = "\n".join(["disease,symptoms", *(f"{ill},{'|'.join(SYMPTOMS[ill])}" for ill in SYMPTOMS)])
        (folder / "knowledge.csv").write_text(knowledge + "\n", encoding="utf-8")
        requirements.append({"model": "k-anonymity", "k": 5})
    document = {
        "source": {"path": str(folder / "people.csv")},
        "columns": told | {name: {"role": "sensitive" if name in judged else "other"} for name in beside},
        "require": requirements,
        "anonymizers": {phase: options} if options else {},
    }
    if phase == "term-suppression":
        table = {"path": str(folder / "knowledge.csv"), "label": "disease", "terms": "symptoms", "separator": "|"}
        document["knowledge"] = table | {"unlinked": "linked"}
    return Plan.from_dict(document)


def publish(plan, folder, engine=None):
    return sf.run(plan, folder / "run", seed=1, engine=engine or LocalEngine(), measure=False, attack=False)


def code_of(values):
    return [f"c{code}" for code in np.unique(values, return_inverse=True)[1]]


def beside(phase):
    """Return columns that tell the hidden one, each in its way."""
    truth = PHASES[phase]()[-1]
    number = np.arange(ROWS)
    return {
        "copy": list(truth),
        "code": code_of(truth),
        "detailed": [f"{code}.{at}" for code, at in zip(code_of(truth), number % 5, strict=True)],
        "note": [f"row {at}: {'; '.join(text.split('|'))}" for at, text in zip(number, truth, strict=True)],
    }


@every_phase
@pytest.mark.parametrize("engine", ["local", "in parts"])
@pytest.mark.parametrize("kind", ["copy", "code", "detailed", "note"])
@pytest.mark.slow
def test_a_column_that_tells_hidden_cells_is_refused_with_its_remedy_and_without_values(phase, kind, engine, tmp_path):
    plan = plan_with(tmp_path, phase, {"told": beside(phase)[kind]})

    with pytest.raises(Unsatisfiable, match=f"'told' gives away '{COLUMNS.get(phase, 'basket')}'") as error:
        publish(plan, tmp_path, in_parts(ROWS) if engine == "in parts" else None)

    assert f'[anonymizers.{phase}] dependence = "allow"' in str(error.value)
    assert 'role = "identifier"' in str(error.value)
    assert not any(value in str(error.value) for value in ("flu", "hiv", "cough", "fever", "c1"))
    assert not (tmp_path / "run").exists()


@every_phase
def test_what_a_column_tells_can_be_allowed_and_is_then_a_warning(phase, tmp_path):
    plan = plan_with(tmp_path, phase, {"told": beside(phase)["code"]}, dependence="allow")

    facts = publish(plan, tmp_path).facts

    (step,) = [step for step in facts["steps"] if step["anonymizer"] == phase]
    assert [each["known"] for each in step["dependences"]] == ["told"]
    assert any(f"[anonymizers.{phase}] dependence" in warning for warning in facts["warnings"])


@every_phase
@pytest.mark.parametrize("engine", ["local", "in parts"])
def test_columns_that_have_nothing_to_do_with_it_or_are_nearly_unique_are_published(phase, engine, tmp_path):
    draw = np.random.default_rng(5)
    truth = code_of(PHASES[phase]()[-1])
    harmless = {f"draw{n}": draw.integers(0, n, ROWS).astype(str) for n in (2, 5, 40, 80, 130, 1000)}
    rare = [f"{code}.{at // 3}" for code, at in zip(truth, np.argsort(np.argsort(truth)), strict=True)]
    plan = plan_with(tmp_path, phase, {**harmless, "number": np.arange(ROWS).astype(str), "in threes": rare})

    facts = publish(plan, tmp_path, in_parts(ROWS) if engine == "in parts" else None).facts

    assert all(step.get("dependences", []) == [] for step in facts["steps"])


def test_what_the_same_requirement_judges_does_not_count(tmp_path):
    people, told, _, disease = masked()
    table = pa.table({**people, "code": code_of(disease)})
    columns = told | {"code": {"role": "sensitive", "hierarchy": {"flat": True}}}

    def plan(requirements):
        return Plan.from_dict({"columns": columns, "require": requirements})

    both = {"model": "multi-diversity", "sensitive": ["disease", "code"], "alpha_sa": 0.6}
    sf.anonymize(table, plan([both]), measure=False, attack=False)
    apart = [{"model": "alpha-diversity", "sensitive": name, "alpha": 0.35, "k": 2} for name in ("disease", "code")]
    with pytest.raises(Unsatisfiable, match="gives away"):
        sf.anonymize(table, plan([apart[0], {"model": "l-diversity", "sensitive": "code", "l": 2}]))


def test_labels_that_terms_lead_to_count_unless_a_requirement_bounds_them(tmp_path):
    disease_of = {"|".join(sorted(terms)): ill for ill, terms in SYMPTOMS.items()}
    disease = [disease_of[terms] for terms in of_terms()[-1]]
    plan = plan_with(tmp_path, "term-suppression", {"disease": disease})

    with pytest.raises(Unsatisfiable, match="'disease' gives away 'symptoms'"):
        publish(plan, tmp_path)
    bounded = plan_with(tmp_path, "term-suppression", {"disease": disease}, judged={"disease": "l-diversity"})
    assert publish(bounded, tmp_path).facts["steps"][-1]["dependences"] == []


def test_lists_and_records_tell_by_what_is_in_them():
    people, told, requirement, disease = masked()
    plan = Plan.from_dict({"columns": told | {"told": {"role": "other"}}, "require": [requirement]})
    lists = pa.array([[ill, f"x{at}"] for at, ill in enumerate(code_of(disease))])
    records = pa.array([{"icd": ill, "at": at} for at, ill in enumerate(code_of(disease))])
    for cells in (lists, records):
        with pytest.raises(Unsatisfiable, match="'told' gives away 'disease'"):
            sf.anonymize(pa.table({**people, "told": cells}), plan)


def test_only_some_values_of_a_column_with_very_many_are_looked_at_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(giving_away, "MANY", 10)
    monkeypatch.setattr(giving_away, "VALUES", 200)
    plan = plan_with(tmp_path, "masking", {"told": beside("masking")["detailed"]})

    with pytest.raises(Unsatisfiable, match="'told' gives away 'disease'"):
        publish(plan, tmp_path, in_parts(ROWS))


def test_regions_of_a_table_are_looked_at_together(tmp_path):
    plan = plan_with(tmp_path, "masking", {"told": beside("masking")["code"]})

    with pytest.raises(Unsatisfiable, match="'told' gives away 'disease'"):
        publish(plan, tmp_path, in_parts(ROWS, distinct_here=100))


# Counts, against plain ones.


def column(codes, n_labels):
    labels = tuple(f"v{code}" for code in range(n_labels))
    return CodedColumn(name="c", role=Role.SENSITIVE, kind=Kind.CATEGORY, codes=codes.astype(np.int32), labels=labels)


def hidden(seed, n=300, d=4):
    draw = np.random.default_rng(seed)
    original = column(draw.integers(0, d, n), d)
    shown = np.where(draw.random(n) < 0.3, d, original.codes).astype(np.int32)
    return original, Labelled(shown, (*original.labels, "*")), draw


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_values_stand_beside_cells_as_often_as_plain_counting_says(seed, weighted):
    original, published, draw = hidden(seed)
    codes = draw.integers(0, 60, original.codes.size).astype(np.int32)
    weights = draw.integers(1, 5, codes.size) if weighted else None
    each = np.ones(codes.size, dtype=np.int64) if weights is None else weights
    cells = Cells.of(original, published, weights)

    tally = tally_single(codes, 60, cells, weights)

    plainly = {}
    rows = np.bincount(codes, weights=each, minlength=60)
    for known, value, shown, count in zip(
        codes.tolist(), original.codes.tolist(), published.codes.tolist(), each, strict=True
    ):
        if rows[known] >= 4:
            plainly[known, value, shown] = plainly.get((known, value, shown), 0) + count
    kinds = cells.kinds
    found = zip(
        tally.known.tolist(),
        kinds.value[tally.kind].tolist(),
        kinds.shown[tally.kind].tolist(),
        tally.count,
        strict=True,
    )
    assert {(known, value, shown): count for known, value, shown, count in found} == plainly


def test_elements_stand_beside_cells_as_often_as_plain_counting_says():
    original, published, draw = hidden(7, n=80)
    texts = [" ".join(draw.choice(list("abcde"), 2)) for _ in range(80)]
    cells, rows = Cells.of(original, published), np.arange(0, 80, 2)
    known = elements_of(pa.chunked_array([texts]), rows)

    tally = tally_elements(known, cells, rows, 80)

    plainly = {}
    for row in rows.tolist():
        for part in set(texts[row].split()):
            key = part, int(original.codes[row]), int(published.codes[row])
            plainly[key] = plainly.get(key, 0) + 1
    kinds, labels = cells.kinds, known.labels.to_pylist()
    found = zip(
        tally.known.tolist(),
        kinds.value[tally.kind].tolist(),
        kinds.shown[tally.kind].tolist(),
        tally.count,
        strict=True,
    )
    assert {(labels[at], value, shown): count for at, value, shown, count in found} == plainly


@pytest.mark.parametrize("values", [2, 30, 60, 100])
def test_no_column_by_chance_tells_more_than_the_bound(values):
    for seed in range(30):
        original, published, draw = hidden(seed, d=2 + seed % 4)
        cells = Cells.of(original, published)
        doubt = Doubt.of(original, published, cells.kinds, original.codes.size, Fraction(1, 3))
        codes = draw.integers(0, values, original.codes.size).astype(np.int32)

        assert tally_single(codes, values, cells).given_away(doubt, cells.kinds) == 0


def test_a_value_counts_from_four_rows_on():
    original, published, _ = hidden(1, n=2000)
    cells = Cells.of(original, published)
    doubt = Doubt.of(original, published, cells.kinds, 2000, Fraction(1, 3))
    rank = np.empty(2000, dtype=np.int64)
    for value in range(4):
        rows = np.flatnonzero(original.codes == value)
        rank[rows] = np.arange(rows.size)

    def told(group):
        codes = (original.codes * 1000 + rank // group).astype(np.int32)
        return tally_single(codes, 4000, cells).given_away(doubt, cells.kinds)

    masked_cells = int((published.codes == 4).sum())
    assert told(3) == 0
    assert told(4) >= masked_cells - 12  # but for what is left in the last, smaller group of each value


def test_a_column_tells_no_more_than_the_bound_allows_or_the_label_says_itself():
    original, published, _ = hidden(2, n=2000)
    cells = Cells.of(original, published)
    half = (original.codes // 2).astype(np.int32)  # leaves two values, equally likely

    def told(bound, noise=0.0):
        doubt = Doubt.of(original, published, cells.kinds, 2000, bound)
        draw = np.random.default_rng(1)
        codes = np.where(draw.random(2000) < noise, draw.integers(0, 4, 2000), original.codes).astype(np.int32)
        return tally_single(codes, 4, cells).given_away(doubt, cells.kinds)

    doubt = Doubt.of(original, published, cells.kinds, 2000, Fraction(1, 10))
    assert tally_single(half, 2, cells).given_away(doubt, cells.kinds) == 0
    assert told(Fraction(1, 2), noise=0.2) > 0
    assert told(Fraction(99, 100), noise=0.2) == 0
