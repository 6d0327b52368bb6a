from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest

from sfumato.data.base_rates import BaseRates
from sfumato.data.builders import Given
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.knowledge import PublicInputs
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.errors import DataError, PolicyError
from sfumato.models import AlphaDiversity, MultiDiversity
from sfumato.models.base import describe
from sfumato.models.judging.posteriors import Judged

ILLS = Hierarchy.from_nested(
    {
        "skin": ["Albinism", "Eczema"],
        "lung": ["Asthma", "Pneumonia"],
        "blood": ["Haemophilia", "Leukaemia"],
        "liver": ["Hepatitis", "Liver cancer"],
        "light": ["Cold", "No"],
    }
)
# The medical table with two sensitive columns by which the method was introduced.
DISEASE = ["Albinism"] * 3 + ["Asthma", "Pneumonia", "Pneumonia"]
DISEASE += ["Haemophilia", "Cold", "Liver cancer", "Liver cancer", "Liver cancer", "Cold"]
HOUSEHOLD = ["Albinism", "No", "No", "Asthma", "Asthma", "Asthma"]
HOUSEHOLD += ["Hepatitis", "No", "Pneumonia", "Hepatitis", "Hepatitis", "No"]
MEDICAL = {"age": ["[10, 30]"] * 6 + ["[30, 60]"] * 6, "disease": DISEASE, "household": HOUSEHOLD}
BOTH = ("disease", "household")


def release_of(columns, *, original=None, trees=None, rates=None, missing=("?",)):
    """Return columns as a release; base rates are those of `original`, else of the columns as they are."""
    names = [name for name in columns if name != "age"]
    trees = trees or dict.fromkeys(names, ILLS)
    specs = {name: ColumnSpec(name=name, role=Role.SENSITIVE, hierarchy=Given(trees[name])) for name in names}
    schema = Schema({"age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER), **specs}, missing=missing)
    if rates is None:
        dataset = encode(pa.table(original or columns), schema)
        rates = {name: BaseRates.of(dataset.column(name)) for name in names}
    return replace(Release.from_table(pa.table(columns), schema), public=PublicInputs(base_rates=rates))


def first_class(columns):
    return {name: values[:6] for name, values in columns.items()}


def test_the_first_class_of_the_medical_table_is_diverse_but_gives_secrets_away():
    release = release_of(first_class(MEDICAL), original=MEDICAL)

    assert AlphaDiversity(sensitive=BOTH, alpha=0.5).audit(release).satisfied
    verdict = MultiDiversity(sensitive=BOTH, alpha_sa=0.5).audit(release)

    assert not verdict.satisfied
    assert (verdict.groups, verdict.failing, verdict.failing_rows) == (6, 6, 6)
    assert verdict.reached == 1.0
    # Four of the six sensitive equivalence classes are certain, the other two stand at 2/3.
    assert MultiDiversity(sensitive=BOTH, alpha_sa="2/3").audit(release).failing == 4


def test_the_second_class_fails_as_well():
    release = release_of({name: values[6:] for name, values in MEDICAL.items()}, original=MEDICAL)

    assert not MultiDiversity(sensitive=BOTH, alpha_sa=0.5).audit(release).satisfied


def test_masks_count_by_base_rates_or_evenly():
    shown = {"age": ["*"] * 2, "disease": ["lung", "lung"], "household": ["*", "*"]}
    release = release_of(shown, original=MEDICAL)  # asthma 1, pneumonia 2 in the original

    assert MultiDiversity(sensitive=BOTH, alpha_sa="2/3").audit(release).satisfied
    assert not MultiDiversity(sensitive=BOTH, alpha_sa=0.6).audit(release).satisfied
    assert MultiDiversity(sensitive=BOTH, alpha_sa=0.5, reading="uniform").audit(release).satisfied
    assert not MultiDiversity(sensitive=BOTH, alpha_sa=0.4, reading="uniform", k=1).audit(release).satisfied


def test_a_value_may_be_as_likely_as_it_is_anyway_and_no_more():
    rates = {"disease": BaseRates(weight={"Cold": 7, "No": 3})}
    at_its_rate = release_of({"age": ["*"] * 10, "disease": ["Cold"] * 7 + ["No"] * 3}, rates=rates)
    above = release_of({"age": ["*"] * 10, "disease": ["Cold"] * 8 + ["No"] * 2}, rates=rates)

    for reading, holds in (("prior", True), ("uniform", False), ("true", False)):
        model = AlphaDiversity(sensitive="disease", alpha=0.5, reading=reading)
        assert model.audit(at_its_rate).satisfied == holds
        assert not model.audit(above).satisfied


def test_overlapping_labels_add_up_exactly():
    # A third of the rows say asthma, two thirds lung, below which asthma is one of three: 1/3 + 2/9 = 5/9.
    shown = {"age": ["*"] * 3, "disease": ["Asthma", "lung", "lung"]}
    release = release_of(shown, rates={"disease": BaseRates(weight={"Asthma": 1, "Pneumonia": 2})})

    assert AlphaDiversity(sensitive="disease", alpha="5/9").audit(release).satisfied
    assert not AlphaDiversity(sensitive="disease", alpha="0.5555555555", k=2).audit(release).satisfied


def test_one_planted_row_is_caught():
    fine = {"age": ["*"] * 8, "disease": ["Asthma", "Cold"] * 4, "household": ["No", "No", "Eczema", "Eczema"] * 2}
    release = release_of(fine)
    assert MultiDiversity(sensitive=BOTH, alpha_sa=0.5).audit(release).satisfied
    planted = {name: list(values) for name, values in fine.items()}
    planted["household"][0] = "Leukaemia"

    verdict = MultiDiversity(sensitive=BOTH, alpha_sa=0.5).audit(release_of(planted))

    assert not verdict.satisfied
    assert verdict.failing >= 1


def test_a_class_below_k_is_caught_first():
    rates = {"disease": BaseRates(weight={"Cold": 1, "No": 1})}
    release = release_of({"age": ["a", "a", "b"], "disease": ["*"] * 3}, rates=rates)

    verdict = AlphaDiversity(sensitive="disease", alpha=0.5).audit(release)

    assert not verdict.satisfied
    assert (verdict.measure, verdict.reached, verdict.required) == ("smallest class", 1, 2)
    assert AlphaDiversity(sensitive="disease", alpha=0.5, k=1).audit(release).satisfied


def test_a_missing_value_is_a_value_unless_it_is_not_sensitive():
    shown = {"age": ["*"] * 4, "disease": ["?", "?", "?", "Cold"], "household": ["No", "No", "Cold", "Cold"]}
    original = {**shown, "disease": ["?", "Asthma", "Eczema", "Cold"]}
    release = release_of(shown, original=original)

    assert not MultiDiversity(sensitive=BOTH, alpha_sa=0.5).audit(release).satisfied
    spared = MultiDiversity(sensitive=BOTH, alpha_sa=0.5, missing_is_sensitive=False)
    assert not spared.audit(release).satisfied  # of the others, knowing '?' still gives the household away
    assert AlphaDiversity(sensitive="disease", alpha=0.5, missing_is_sensitive=False).audit(release).satisfied


def test_the_true_reading_takes_the_worst_original_that_fits():
    original = {"age": ["*"] * 4, "disease": ["Asthma", "Asthma", "Cold", "No"]}
    half = AlphaDiversity(sensitive="disease", alpha=0.5, reading="true")
    all_masked = release_of({"age": ["*"] * 4, "disease": ["*"] * 4}, original=original)
    assert half.audit(all_masked).satisfied  # two of four are asthma, whoever they are
    split = release_of({"age": ["a", "a", "b", "b"], "disease": ["*"] * 4}, original=original)
    verdict = half.audit(split)
    assert not verdict.satisfied  # both may be in one class
    assert verdict.reached == 1.0


def test_one_column_is_alpha_diversity():
    release = release_of({"age": ["a"] * 3 + ["b"] * 3, "disease": DISEASE[:6]})
    for alpha in ("0.3", "0.5", "2/3", "1"):
        multi = MultiDiversity(sensitive="disease", alpha_sa=alpha, k=1).audit(release)
        single = AlphaDiversity(sensitive="disease", alpha=alpha, k=1).audit(release)
        assert (multi.satisfied, multi.reached, multi.failing) == (single.satisfied, single.reached, single.failing)


def test_the_stricter_bound_of_classes_is_judged_too():
    shown = {"age": ["*"] * 6, "disease": ["Asthma", "Cold"] * 3, "household": ["*"] * 6}
    release = release_of(shown, original=MEDICAL)

    verdict = MultiDiversity(sensitive=BOTH, alpha_sa=0.5, alpha_qi=0.4, k=1).audit(release)

    assert not verdict.satisfied
    assert verdict.group == "class"
    assert verdict.required == 0.4


def test_parameters_are_exact_and_k_has_its_default():
    model = MultiDiversity(sensitive=["a", "b"], alpha_sa=0.3, alpha_qi="1/3")
    assert (model.alpha_sa, model.alpha_qi, model.k) == (Fraction(3, 10), Fraction(1, 3), 3)
    assert MultiDiversity(sensitive=["a", "b"], alpha_sa=0.3).k == 4
    assert describe(model) == {
        "model": "multi-diversity",
        "sensitive": ("a", "b"),
        "alpha_sa": 0.3,
        "alpha_qi": "1/3",
        "k": 3,
        "reading": "prior",
        "missing_is_sensitive": True,
    }


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        ({"alpha_sa": 0}, "more than 0"),
        ({"alpha_sa": 1.5}, "at most 1"),
        ({"alpha_qi": -1}, "alpha_qi"),
        ({"alpha_sa": "half"}, "no number"),
        ({"k": 0}, "at least 1"),
        ({"k": True}, "whole number"),
        ({"reading": "priors"}, "prior"),
        ({"sensitive": []}, "list of names"),
        ({"sensitive": ["a", "a"]}, "each once"),
        ({"missing_is_sensitive": "no"}, "true or false"),
    ],
)
def test_wrong_parameters_are_refused(wrong, part):
    with pytest.raises(PolicyError, match=part):
        MultiDiversity(**{"sensitive": ["a", "b"], "alpha_sa": 0.5, **wrong})


def test_labels_from_elsewhere_are_refused_without_showing_them():
    release = release_of({**MEDICAL, "disease": ["Gout"] * 12}, original=MEDICAL)

    with pytest.raises(DataError, match="12 row") as caught:
        MultiDiversity(sensitive=BOTH, alpha_sa=0.5).audit(release)
    assert "Gout" not in str(caught.value)


def test_what_is_not_known_is_asked_for():
    release = release_of(MEDICAL)
    with pytest.raises(DataError, match="how common"):
        MultiDiversity(sensitive=BOTH, alpha_sa=0.5).audit(replace(release, public=PublicInputs()))
    rates = {name: BaseRates(weight={"Cold": 1}) for name in BOTH}
    with pytest.raises(DataError, match="never occur"):
        MultiDiversity(sensitive=BOTH, alpha_sa=0.5).audit(replace(release, public=PublicInputs(base_rates=rates)))
    bare = Schema({name: ColumnSpec(name=name, role=Role.SENSITIVE) for name in BOTH})
    release = Release.from_table(pa.table({name: MEDICAL[name] for name in BOTH}), bare)
    with pytest.raises(DataError, match="hierarchy"):
        MultiDiversity(sensitive=BOTH, alpha_sa=0.5).audit(release)


# What the method relies on.


def chance_of(release, column, leaf, rows, weight):
    """Return the chance of a leaf among some rows, each counted so much."""
    rates = release.public.base_rates[column]
    shown = release.table().column(column).to_pylist()
    total = Fraction(0)
    for row in rows:
        below = [name for name in ILLS.leaves if shown[row] in ILLS.ancestors(name)]
        share = Fraction(rates.weight.get(leaf, 0), sum(rates.weight.get(name, 0) for name in below))
        total += weight[row] * (share if leaf in below else 0)
    return total / sum(weight[row] for row in rows)


def safe_release():
    shown = {
        "age": ["*"] * 8,
        "disease": ["Asthma", "Cold", "Asthma", "Cold", "lung", "*", "lung", "*"],
        "household": ["No", "No", "Eczema", "Eczema"] * 2,
    }
    original = {**shown, "disease": ["Asthma", "Cold", "Asthma", "Cold", "Asthma", "Cold", "Pneumonia", "No"]}
    release = release_of(shown, original=original)
    assert MultiDiversity(sensitive=BOTH, alpha_sa="0.6").audit(release).satisfied
    return release


@pytest.mark.parametrize("weights", [(1, 0), (0, 1), (1, 1), (3, 1), (1, 1000)])
def test_whatever_is_known_of_the_other_column_the_chance_stays_below_the_bound(weights):
    release = safe_release()
    of_row = [weights[label == "Eczema"] for label in release.table().column("household").to_pylist()]
    for leaf in ILLS.leaves:
        bound = max(Fraction(6, 10), release.public.base_rates["disease"].share(leaf))
        assert chance_of(release, "disease", leaf, range(8), of_row) <= bound


def test_excluding_a_value_of_the_column_itself_is_not_bounded():
    release = release_of({"age": ["*"] * 2, "disease": ["Asthma", "Cold"]})
    assert AlphaDiversity(sensitive="disease", alpha=0.5).audit(release).satisfied
    assert chance_of(release, "disease", "Cold", range(2), [0, 1]) == 1  # not asthma, then


def test_a_mask_can_make_another_value_more_likely_by_base_rates_but_not_evenly():
    rates = {"disease": BaseRates(weight={"Asthma": 1, "Pneumonia": 9, "Cold": 5})}
    shown = release_of({"age": ["*"] * 2, "disease": ["Asthma", "Cold"]}, rates=rates)
    masked = release_of({"age": ["*"] * 2, "disease": ["lung", "lung"]}, rates=rates)
    half = {"sensitive": "disease", "alpha": "0.6"}
    assert AlphaDiversity(**half).audit(shown).satisfied
    assert not AlphaDiversity(**half).audit(masked).satisfied
    assert AlphaDiversity(**half, reading="uniform").audit(masked).satisfied


@pytest.mark.parametrize(("failing", "worst"), [(0, 0.5 + 1e-12), (1, 0.5 - 1e-12), (0, None)])
def test_rounding_does_not_turn_what_is_shown_against_what_was_decided(failing, worst):
    judged = Judged(groups=1, failing=failing, failing_rows=failing, worst=worst, highest=0.5)

    verdict = AlphaDiversity(sensitive="ill", alpha=0.5)._verdict(judged, Fraction(1, 2), "class")

    assert (verdict.satisfied, verdict.reached) == (not failing and worst is not None, None if worst is None else 0.5)
