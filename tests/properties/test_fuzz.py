"""A short run of `make fuzz`, always the same cases; and that it finds what is broken on purpose."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

import fuzz
from fuzzing import checking
from fuzzing.definitions import JUDGES
from fuzzing.plans import FAMILIES
from sfumato.anonymizers import local_recoding, mondrian
from sfumato.errors import Unsatisfiable
from sfumato.models import PRIVACY_MODELS, KAnonymity, LDiversity
from sfumato.models.base import Need

CASES = 16  # of each family, and as many of several together


@pytest.fixture(scope="module")
def tried():
    """What was tried, after nothing was found."""
    counted = Counter()
    for families in (*((family,) for family in FAMILIES), FAMILIES):
        counts, wrong = fuzz.run("short10", cases=CASES, families=families)
        assert wrong == {}
        counted += counts
    return counted


@pytest.mark.slow
def test_random_plans_keep_their_promises(tried):
    assert tried["released"] > tried["cases"] / 2
    assert tried["refused, and rightly so"] > 0
    assert tried["run with two threads as well"] > 10


@pytest.mark.slow
def test_every_model_is_judged_by_its_definition_and_has_violations_planted(tried):
    with_population = {name for name, model in PRIVACY_MODELS.items() if Need.POPULATION in model.needs}
    assert set(JUDGES) == set(PRIVACY_MODELS) - with_population  # these have slow definitions of their own beside them
    for model in JUDGES:
        assert tried[f"judged {model}"] > 0, model
        assert tried[f"violations found, {model}"] > 0, model


def breaks(family="classes"):
    """The first defect that a run over a family comes across."""
    _, wrong = fuzz.run("broken", cases=60, families=(family,))
    return next(iter(wrong.values()), "nothing")


@pytest.mark.slow
def test_a_release_that_breaks_a_promise_is_found_even_if_the_audit_lets_it_pass(monkeypatch):
    for module in (mondrian, local_recoding):
        asked = module.conditions_for
        monkeypatch.setattr(module, "conditions_for", lambda *given, ask=asked: less(ask(*given)))
    for model in (KAnonymity, LDiversity):
        monkeypatch.setattr(model, "audit", passing(model.audit))

    assert breaks().startswith("an unsafe release: {'model': ")


def less(asked):
    """What is asked, without a smallest size and without conditions."""
    conditions = asked.conditions
    return replace(asked, conditions=conditions._replace(k=1, table=conditions.table[:0]))


def passing(audit):
    """An audit that lets everything pass."""
    return lambda *given, **named: replace(audit(*given, **named), satisfied=True)


@pytest.mark.slow
def test_an_audit_that_overlooks_a_violation_is_found(monkeypatch):
    monkeypatch.setattr(KAnonymity, "audit", passing(KAnonymity.audit))

    found = breaks()

    assert "'k-anonymity'" in found
    assert "fails, and the audit says: k-anonymity holds" in found


@pytest.mark.slow
def test_a_refusal_without_need_is_found(monkeypatch):
    def refuse(*asked):
        raise Unsatisfiable("Something was asked for.\nIt was not found.\nAsk for something else.")

    for module in (mondrian, local_recoding):
        monkeypatch.setattr(module, "refuse_hopeless", refuse)

    assert breaks().startswith("a release exists, for example ")


@pytest.mark.slow
def test_an_error_that_is_none_of_sfumato_s_own_is_found(monkeypatch):
    for module in (mondrian, local_recoding):
        monkeypatch.setattr(module, "refuse_hopeless", lambda *asked: 1 / 0)

    assert "ZeroDivisionError" in breaks()


@pytest.mark.slow
def test_threads_that_change_the_release_are_found(monkeypatch):
    usual = checking.sf.anonymize
    monkeypatch.setattr(
        checking.sf, "anonymize", lambda *given, seed, threads: usual(*given, seed=seed + threads, threads=threads)
    )

    assert breaks("cells") == "two threads publish something else than one"


def test_a_case_is_the_same_whenever_it_is_made():
    one, two = (fuzz.make("same/3") for _ in range(2))

    assert one == two
    assert one.table().equals(two.table())
    assert one != fuzz.make("same/4")
