from __future__ import annotations

import json

import pytest

from sfumato.models import PRIVACY_MODELS, KAnonymity, LDiversity, Policy, PrivacyModel, TCloseness, Verdict
from sfumato.models.base import describe

MODELS = (
    KAnonymity(k=5),
    LDiversity(sensitive="s", l=3),
    LDiversity(sensitive="s", l=2.5, kind="entropy"),
    LDiversity(sensitive="s", l=3, kind="recursive", c="4/3"),
    LDiversity(sensitive="s", l="7/3", kind="frequency"),
    TCloseness(sensitive="s", t=0.2),
    TCloseness(sensitive="s", t="1/3", distance="ordered"),
    TCloseness(sensitive="s", t=1, distance="hierarchical"),
)


def verdict(**changes):
    given = {"satisfied": True, "reached": 5, "required": 5, "groups": 3400, "failing": 0}
    return Verdict(model=KAnonymity(k=5), **{**given, **changes})


def test_the_list_of_models_goes_by_name():
    assert {"k-anonymity": KAnonymity, "l-diversity": LDiversity, "t-closeness": TCloseness}.items() <= (
        PRIVACY_MODELS.items()
    )


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_every_model_keeps_the_contract_and_speaks_in_sentences(model):
    assert isinstance(model, PrivacyModel)
    assert PRIVACY_MODELS[model.name] is type(model)
    assert hash(model) == hash(type(model)(**{k: v for k, v in describe(model).items() if k != "model"}))
    for sentence in (model.promise, model.limit):
        assert sentence[0].isupper()
        assert sentence[-1] == "."


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_description_is_json_and_gives_the_same_model_back(model):
    described = json.loads(json.dumps(describe(model)))

    assert PRIVACY_MODELS[described.pop("model")](**described) == model


def test_a_description_shows_numbers_as_they_were_written():
    assert describe(TCloseness(sensitive="s", t=0.4))["t"] == 0.4
    assert describe(TCloseness(sensitive="s", t="1/3"))["t"] == "1/3"
    assert describe(LDiversity(sensitive="s", l=4.0, kind="entropy"))["l"] == 4
    assert describe(KAnonymity(k=5)) == {"model": "k-anonymity", "k": 5}


def test_a_policy_finds_its_models_and_the_largest_k():
    policy = Policy((KAnonymity(k=3), MODELS[1], KAnonymity(k=7)))

    assert policy.of(KAnonymity) == (KAnonymity(k=3), KAnonymity(k=7))
    assert policy.k() == 7
    assert Policy(()).k() == 1


def test_a_verdict_shows_itself_in_one_line():
    shown = {"measure": "smallest class", "group": "class"}

    assert str(verdict(**shown)) == "k-anonymity holds: smallest class 5, required at least 5 (3,400 classes)"
    assert str(verdict(**shown, satisfied=False, reached=2, failing=1, failing_rows=2)) == (
        "k-anonymity FAILS: smallest class 2, required at least 5 (1 of 3,400 classes, 2 rows)"
    )


def test_a_verdict_on_nothing_is_one_of_its_own_and_does_not_hold():
    nothing = verdict(reached=None, groups=0)
    named = verdict(nothing_to_judge="the table has no row")

    assert str(named) == "k-anonymity has NOTHING TO JUDGE: the table has no row"
    assert named.as_dict()["nothing_to_judge"] == "the table has no row"
    for each in (nothing, named):
        assert not each.satisfied
        assert "NOTHING TO JUDGE" in str(each)
        assert "NOTHING TO JUDGE" in each._repr_html_()
    assert not verdict(reached=None, groups=0, satisfied=False, failing=1).nothing_to_judge


def test_a_part_with_nothing_to_judge_leaves_the_verdict_to_the_others():
    nothing, holds = verdict(nothing_to_judge="every cell is missing"), verdict()
    fails = verdict(satisfied=False, reached=2, failing=1, failing_rows=2)
    for one, other in ((nothing, holds), (holds, nothing)):
        assert (one.merged(other).satisfied, one.merged(other).nothing_to_judge) == (True, "")
    for one, other in ((nothing, fails), (fails, nothing)):
        assert (one.merged(other).satisfied, one.merged(other).nothing_to_judge) == (False, "")
    assert nothing.merged(nothing).nothing_to_judge == "every cell is missing"
    assert not nothing.merged(nothing).satisfied


def test_a_verdict_shows_as_many_digits_as_it_takes_to_see_why_it_fails():
    text = str(verdict(satisfied=False, reached=0.3333335, required=1 / 3, failing=1, bound="at most"))

    assert "reached 0.333334, required at most 0.333333 (" in text


def test_a_verdict_in_a_notebook_escapes_names():
    judged = Verdict(
        model=LDiversity(sensitive="<b>", l=2), satisfied=False, reached=1, required=2, groups=1, failing=1
    )
    page = judged._repr_html_()

    assert "FAILS" in page
    assert "&lt;b&gt;" in page
    assert "'<b>'" not in page


def test_a_verdict_as_data_is_strict_json_even_when_nothing_bounds_it():
    data = verdict(reached=float("inf"), facts={"rows": 7}).as_dict()

    assert json.loads(json.dumps(data, allow_nan=False))["reached"] is None
    assert data["facts"] == {"rows": 7}
    assert data["model"] == "k-anonymity"
