"""From requirements to steps: who does what, in which order, and why."""

from __future__ import annotations

import numpy as np
import pytest

from anonymizing import ALPHA, CLOSE, KNOWLEDGE, RHO, SETS, K, L, dataset_of
from sfumato.anonymizers import ANONYMIZERS, choosing
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.term_suppression import TermSuppression
from sfumato.data.knowledge import PublicInputs
from sfumato.data.recoding import Recoding
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.models import PRIVACY_MODELS, AlphaDiversity
from sfumato.models.base import Policy

DATASET = dataset_of(frozenset({"ward", "therapy", "symptoms", "drugs", "job", "household"}))


def chosen(*models, named=None, **options):
    return choosing.steps(DATASET.schema, Policy(models), chosen=named or {}, options=options)


def test_later_phases_come_later_whatever_the_order_of_requirements():
    found = chosen(SETS, RHO, CLOSE, ALPHA, L)

    assert [step.anonymizer.name for step in found] == [
        "mondrian",
        "masking",
        "term-suppression",
        "partial-suppression",
        "randomization",
    ]
    assert [step.later for step in found] == [found[at + 1 :] for at in range(5)]
    assert all(step.why for step in found)


def test_who_also_meets_what_is_asked_of_classes_takes_it_over_unless_somebody_is_named():
    (masking,) = chosen(K, ALPHA)
    assert masking.policy.requirements == (K, ALPHA)

    assert [step.anonymizer.name for step in chosen(K, ALPHA, L)] == ["local-recoding", "masking"]
    assert [step.anonymizer.name for step in chosen(K, ALPHA, named={0: "mondrian"})] == ["mondrian", "masking"]


def test_two_anonymizers_for_one_phase_are_a_problem_of_the_second_requirement():
    named = {0: "mondrian", 1: "local-recoding"}
    (problem,) = choosing.problems(Policy((K, L)), chosen(K, L, named=named), named)

    assert problem.place == "require[2].anonymizer"
    assert "'local-recoding', 'mondrian'" in problem.text


def test_what_nobody_meets_in_one_step_is_a_problem_of_the_one_that_is_not_met():
    few = PRIVACY_MODELS["km-anonymity"](column="drugs", k=2, m=1)

    for models in ((RHO, few), (few, RHO)):
        (problem,) = choosing.problems(Policy(models), chosen(*models), {})

        assert problem.place == "require[2].model"
        assert "km-anonymity" in problem.text
        assert "rho-uncertainty" in problem.text
    assert not list(choosing.problems(Policy((RHO,)), chosen(RHO), {}))


def test_every_model_has_an_anonymizer_that_aims_at_it():
    assert {model for anonymizer in ANONYMIZERS.values() for model in anonymizer.aims_at} == {*PRIVACY_MODELS.values()}
    assert all(type(RHO) in ANONYMIZERS[name].aims_at for name in choosing.aiming_at(RHO))


def test_labels_of_hierarchies_are_published_where_all_have_one_else_ranges():
    bare = Schema({"age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER)})

    assert [step.anonymizer.name for step in chosen(K, L)] == ["local-recoding"]
    assert [step.anonymizer.name for step in choosing.steps(bare, Policy((K,)), chosen={}, options={})] == ["mondrian"]


@pytest.mark.parametrize("maker", ["local-recoding", "mondrian"])
def test_whoever_makes_the_classes_makes_them_as_large_as_later_steps_need(maker):
    first, masking = chosen(L, AlphaDiversity(sensitive="therapy", alpha="0.1"), named={0: maker})

    made = first.carry_out(DATASET, Recoding(), Workplace())

    assert masking.policy.k() == 10
    assert np.bincount(made.class_of).min() >= 10
    assert first.policy.requirements == (L,)  # what a plan asks for is shown, not what follows from it
    assert "10 rows or more" in first.why


def test_an_anonymizer_that_takes_over_the_classes_makes_them_as_large_as_later_steps_need():
    few = PRIVACY_MODELS["km-anonymity"](column="drugs", k=11, m=1)
    masking, items = chosen(K, ALPHA, few)

    made = masking.carry_out(DATASET, Recoding(), Workplace())

    assert (masking.policy.requirements, items.policy.requirements) == ((K, ALPHA), (few,))
    assert K.k < 11 <= np.bincount(made.class_of).min()
    assert "11 rows or more" in masking.why


def test_a_step_hears_how_later_ones_want_groups_to_be_cut():
    place = Workplace(public=PublicInputs(KNOWLEDGE, np.full(len(KNOWLEDGE.labels), 1 / len(KNOWLEDGE.labels))))
    alone, joint = (
        chosen(K, CLOSE, **{"term-suppression": TermSuppression(joint=joint)})[0].carry_out(DATASET, Recoding(), place)
        for joint in (False, True)
    )

    assert not np.array_equal(alone.class_of, joint.class_of)
