"""What whoever finds a class believes, against a plain tally in fractions."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.attacks import Asked, ClassInference
from sfumato.data.base_rates import BaseRates
from sfumato.data.builders import Given
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.knowledge import PublicInputs
from sfumato.data.people import by_person
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import PolicyError

SCHEMA = Schema(
    {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
        "ill": ColumnSpec(
            name="ill",
            role=Role.SENSITIVE,
            hierarchy=Given(Hierarchy.from_nested({"lung": ["flu", "cold"], "blood": ["HIV", "gout"]})),
        ),
    },
    missing=("",),
)
BELOW = {"lung": ("flu", "cold"), "blood": ("HIV", "gout"), "*": ("flu", "cold", "HIV", "gout")}
RATES = {"flu": 5, "cold": 3, "HIV": 1, "gout": 2}


def release_of(rows, rates=None):
    table = pa.table({"age": [age for age, _ in rows], "ill": [ill for _, ill in rows]})
    public = PublicInputs(None, None, {"ill": BaseRates(weight=rates, counted=False)} if rates else {})
    return replace(Release.from_table(table, SCHEMA), public=public)


def plainly(rows, rates, threshold):
    """Return people exposed, highest and mean belief: value by value, class by class, in fractions."""
    base = {value: Fraction(weight, sum(rates.values())) for value, weight in rates.items()} if rates else None
    if base is None:
        seen = Counter(ill for _, ill in rows if ill != "*") or Counter(ill for _, ill in rows)
        base = {value: Fraction(count, sum(seen.values())) for value, count in seen.items()}
    exposed, highest, hits = 0, Fraction(0), Fraction(0)
    for age in {age for age, _ in rows}:
        members = [ill for other, ill in rows if other == age]
        belief = dict.fromkeys(base, Fraction(0))
        for ill in members:
            below = [ill] if ill in base else [value for value in base if not rates or value in BELOW[ill]]
            whole = sum(base[value] for value in below)
            for value in below:
                belief[value] += base[value] / whole / len(members)
        exposed += len(members) * any(belief[value] > max(base[value], Fraction(str(threshold))) for value in base)
        highest = max(highest, *belief.values())
        hits += max(belief.values()) * len(members)
    return exposed, float(highest), float(hits / len(rows))


labels = st.sampled_from(["flu", "cold", "HIV", "*"])
masked = st.sampled_from(["flu", "cold", "HIV", "lung", "blood", "*"])
ages = st.sampled_from(["20-29", "30-39", "*"])


@pytest.mark.slow
@pytest.mark.parametrize(("cells", "rates"), [(labels, None), (masked, RATES)])
@given(data=st.data(), threshold=st.sampled_from([0, 0.25, 0.3, 0.5, 0.75, 0.9]))
def test_beliefs_equal_a_plain_tally_with_and_without_weights(cells, rates, data, threshold):
    rows = data.draw(st.lists(st.tuples(ages, cells), min_size=1, max_size=12))
    release = release_of(rows, rates)
    attack = ClassInference(column="ill", threshold=threshold)

    for table in (release, release.weighted()):
        found = attack.on(table)
        exposed, highest, mean = plainly(rows, rates, threshold)
        assert (found.people, found.exposed) == (len(rows), exposed)
        assert (found.worst, found.mean) == (pytest.approx(highest), pytest.approx(mean))
        assert attack.guess(table).people == len(rows)
        assert attack.guess(table).exposed == 0


def test_a_guess_is_the_most_common_value_and_the_gain_is_measured_from_it():
    rows = [("20-29", "HIV")] * 2 + [("30-39", "flu")] * 5 + [("30-39", "HIV")]
    found, guess = (
        ClassInference(column="ill").on(release_of(rows)),
        ClassInference(column="ill").guess(release_of(rows)),
    )
    assert guess.worst == guess.mean == 5 / 8
    assert found.facts == {"classes": 2, "certain": 2, "gain": 1 - 3 / 8, "factor": 10.0, "by_gain": 0}
    assert found.exposed == 8  # 5 of 6 is more than 5 of 8, too


def test_a_value_as_common_in_every_class_as_in_all_exposes_nobody():
    rows = [(age, ill) for age in ("20-29", "30-39") for ill in ("flu", "flu", "flu", "HIV")]
    found = ClassInference(column="ill").on(release_of(rows))
    assert (found.exposed, found.worst, found.facts["gain"]) == (0, 0.75, 0.0)


def test_numbers_are_values_however_they_are_spelled_and_a_missing_value_is_one():
    schema = Schema(
        {
            "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
            "pay": ColumnSpec(name="pay", role=Role.SENSITIVE),
        },
        missing=("",),
    )
    table = pa.table({"age": ["a"] * 4 + ["b"] * 4, "pay": ["1.0", "1", "1.00", "2", "", "", "", "3"]})
    found = ClassInference(column="pay").on(Release.from_table(table, schema))
    assert (found.exposed, found.worst) == (8, 0.75)


CODES = {"flu": "J", "cold": "J", "HIV": "B", "gout": "M"}


def beside_masks(code_of, ills=("HIV", "gout", "HIV", "flu") * 10):
    """Return a release of one class, whose every fourth cell is masked, with an unchanged column beside it."""
    shown = ["*" if row % 4 == 0 else ill for row, ill in enumerate(ills)]
    codes = [code_of(row, ill) for row, ill in enumerate(ills)]
    schema = replace(SCHEMA, columns={**SCHEMA.columns, "code": ColumnSpec(name="code", role=Role.OTHER)})
    table = pa.table({"age": ["*"] * len(ills), "ill": shown, "code": codes})
    public = PublicInputs(None, None, {"ill": BaseRates(weight=RATES, counted=False)})
    return replace(Release.from_table(table, schema), public=public)


@pytest.mark.parametrize("weighted", [False, True])
def test_masked_values_are_inferred_through_an_unchanged_column(weighted):
    release = beside_masks(lambda row, ill: CODES[ill])
    found = ClassInference(column="ill").on(release.weighted() if weighted else release)

    assert (found.people, found.exposed, found.worst) == (40, 10, 1.0)
    assert found.facts["unchanged"] == {"code": 10}


@pytest.mark.parametrize(
    "code_of",
    [
        lambda row, ill: f"{row % 3}",  # independent of the illness
        lambda row, ill: f"{ill} {row}",  # another value in every row
        lambda row, ill: None,
        lambda row, ill: CODES["flu"],
    ],
)
def test_an_unchanged_column_that_guesses_no_shown_value_tells_no_masked_one(code_of):
    found = ClassInference(column="ill").on(beside_masks(code_of))

    assert found.exposed == 0
    assert "unchanged" not in found.facts


def test_what_an_unchanged_column_tells_lies_below_the_label_that_is_shown():
    ills = ("HIV", "gout", "HIV", "flu") * 10
    release = beside_masks(lambda row, ill: CODES[ill] if row % 4 else CODES["flu"], ills)
    lungs = replace(
        release.column("ill"), labels=tuple("blood" if x == "*" else x for x in release.column("ill").labels)
    )
    found = ClassInference(column="ill").on(replace(release, columns={**release.columns, "ill": lungs}))

    assert "unchanged" not in found.facts  # beside J only lungs are shown, and these are masked as blood


def test_it_is_tried_on_every_sensitive_column_where_classes_can_be_found():
    assert [attack.about for attack in ClassInference.suited_to(release_of([("20-29", "flu")]), Asked())] == [("ill",)]
    alone = Release.from_table(pa.table({"ill": ["flu"]}), Schema({"ill": SCHEMA.columns["ill"]}))
    assert not list(ClassInference.suited_to(alone, Asked()))


def test_people_with_several_values_are_believed_to_have_each_as_often_as_their_class_does():
    schema = replace(SCHEMA, person="who")
    rows = [("a", 1, "flu"), ("a", 1, "HIV"), ("b", 1, "HIV"), ("b", 1, "cold"), ("c", 1, "HIV"), ("c", 1, "gout")]
    rows += [("d", 1, "flu"), ("e", 2, "flu"), ("e", 2, "cold"), ("f", 2, "cold"), ("g", 2, "gout"), ("h", 2, "gout")]
    table = pa.table(dict(zip(("who", "age", "ill"), zip(*rows, strict=True), strict=True)))
    attack = ClassInference(column="ill")
    found = attack.on(by_person(Release.from_table(table, schema)))

    assert (found.people, found.exposed, found.worst, found.facts["certain"]) == (8, 4, 3 / 4, 0)  # HIV, in class 1
    assert found.facts["gain"] == 3 / 4 - 3 / 8
    assert found.mean == (3 / 4 + 1 / 2) / 2
    assert attack.guess(by_person(Release.from_table(table, schema))).worst == 3 / 8


def gains_plainly(rows, base, factor):
    """Return the rows of classes that make a rare value many times as likely, and the largest gain of one."""
    exposed, gains = 0, []
    for age in {age for age, _ in rows}:
        members = [ill for other, ill in rows if other == age]
        belief = dict.fromkeys(base, Fraction(0))
        for ill in members:
            below = [ill] if ill in base else BELOW[ill]
            for value in below:
                belief[value] += base[value] / sum(base[each] for each in below) / len(members)
        found = [value for value in base if base[value] < Fraction(1, 20) and belief[value] > factor * base[value]]
        gains += [(belief[value] - base[value], belief[value], base[value], value) for value in found]
        exposed += len(members) * bool(found)
    return exposed, max(gains, default=None)


@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_gains_of_rare_values_equal_a_plain_tally(masks, seed):
    rng = random.Random(seed)
    ills = [*["flu"] * 60, *["cold"] * 40, *["HIV"] * rng.randint(1, 4), *["gout"] * rng.randint(1, 4)]
    rows = [(rng.choice("abcdefgh"), ill) for ill in ills]
    rates = dict(Counter(ills)) if masks else None
    if masks:
        rows = [(age, rng.choice([ill, ill, "lung" if ill in BELOW["lung"] else "blood"])) for age, ill in rows]
    base = {ill: Fraction(count, len(ills)) for ill, count in Counter(ills).items()}
    factor = rng.choice([2, 3.5, 5, 10])
    release = release_of(rows, rates)
    attack = ClassInference(column="ill", threshold=0.999, factor=factor)

    for table in (release, release.weighted()):
        found = attack.on(table)
        exposed, largest = gains_plainly(rows, base, Fraction(str(factor)))
        assert (found.exposed, found.facts["by_gain"]) == (exposed, exposed)
        if largest is None:
            assert "largest_gain" not in found.facts
        else:
            gain = found.facts["largest_gain"]
            assert (gain["in_class"], gain["in_table"]) == (pytest.approx(largest[1]), pytest.approx(largest[2]))
            assert found.as_dict(private=True)["private"]["value"] in [
                each for each in base if base[each] == largest[2]
            ]
            assert "private" not in found.as_dict()


def test_of_people_with_several_values_a_rare_one_counts_too():
    ids = [str(number) for number in range(40)]
    schema = Schema({**SCHEMA.columns, "id": ColumnSpec(name="id", role=Role.IDENTIFIER)}, missing=("",), person="id")
    table = pa.table(
        {
            "id": [*ids, "0"],
            "age": [*["a"] * 3, *["b"] * 37, "a"],
            "ill": [*["flu"] * 40, "HIV"],
        }
    )
    found = ClassInference(column="ill", threshold=0.999).on(by_person(Release.from_table(table, schema)))

    assert (found.exposed, found.facts["by_gain"]) == (3, 3)
    assert found.facts["largest_gain"] == {"in_table": 1 / 40, "in_class": 1 / 3, "times": pytest.approx(40 / 3)}


@pytest.mark.parametrize(("kind", "exposed"), [(Kind.CATEGORY, 105), (Kind.NUMBER, 0)])
def test_gains_count_for_codes_and_not_for_amounts(kind, exposed):
    columns = {"age": SCHEMA.columns["age"], "pay": ColumnSpec(name="pay", role=Role.SENSITIVE, kind=kind)}
    table = pa.table({"age": [str(row % 21) for row in range(105)], "pay": [str(row) for row in range(105)]})
    found = ClassInference(column="pay").on(Release.from_table(table, Schema(columns, missing=("",))))

    assert (found.exposed, "largest_gain" in found.facts) == (exposed, exposed > 0)


@pytest.mark.parametrize("factor", [1, 0, True, "ten", float("inf"), float("nan")])
def test_a_factor_that_is_none_is_refused(factor):
    with pytest.raises(PolicyError, match="factor of attacks"):
        ClassInference(column="ill", factor=factor)
