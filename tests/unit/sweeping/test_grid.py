"""Which plans a sweep tries: names of settings, lists and ranges, and every error before any work."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sfumato.errors import InputError, PlanError, PolicyError
from sfumato.plan import Plan
from sfumato.sweeping.grid import MOST_COMBINATIONS, grid_of, parse_vary, settings_of, spread


def plan(*requirements, anonymizers=None):
    return Plan.from_dict(
        {
            "columns": {
                "age": {"role": "quasi-identifier"},
                "job": {"role": "sensitive"},
                "disease": {"role": "sensitive"},
            },
            "require": list(requirements) or [{"model": "k-anonymity", "k": 5}],
            "anonymizers": anonymizers or {},
        }
    )


K = {"model": "k-anonymity", "k": 5}
L_JOB = {"model": "l-diversity", "sensitive": "job", "l": 2}
L_DISEASE = {"model": "l-diversity", "sensitive": "disease", "l": 2}
T = {"model": "t-closeness", "sensitive": "disease", "t": 0.5}


def combinations(asked, **vary):
    return [str(cell) for cell in grid_of(asked, vary).combinations]


def test_every_combination_has_a_plan_with_its_values():
    found = grid_of(plan(K, T), {"k": "2,5", "t": "0.2,0.4"})

    assert [str(cell) for cell in found.combinations] == ["k=2, t=0.2", "k=2, t=0.4", "k=5, t=0.2", "k=5, t=0.4"]
    assert [(cell.plan.policy.k(), float(cell.plan.policy.requirements[1].t)) for cell in found.combinations] == [
        *((2, 0.2), (2, 0.4), (5, 0.2), (5, 0.4)),
    ]
    assert found.requirements == (0, 1)


def test_values_may_come_from_python():
    assert combinations(plan(K), k=[2, 3]) == ["k=2", "k=3"]
    assert combinations(plan(K), k=(2, 2, 3)) == ["k=2", "k=3"]


def test_fractions_stay_exact():
    (cell,) = grid_of(plan(K, T), {"t": "1/3"}).combinations

    assert str(cell.plan.policy.requirements[1].t) == "1/3"


@pytest.mark.parametrize(
    ("low", "high", "steps", "expected"),
    [
        ("2", "5", None, [2, 3, 4, 5]),
        ("2", "7", None, [2, 3, 4, 5, 6, 7]),
        ("2", "100", None, [2, 5, 14, 38, 100]),
        ("10", "30", None, [10, 15, 20, 25, 30]),
        ("2", "10", "3", [2, 4, 10]),
        ("10", "2", "3", [2, 4, 10]),
        ("0.2", "0.5", None, [0.2, 0.3, 0.4, 0.5]),
        ("0.1", "0.5", None, [0.1, 0.2, 0.3, 0.4, 0.5]),
        ("0.2", "0.5", "3", [0.2, 0.35, 0.5]),
        ("0.2", "0.5", "2", [0.2, 0.5]),
        ("0.2", "0.5", "1", [0.2]),
        ("5", "5", None, [5]),
    ],
)
def test_ranges_have_round_steps_and_both_ends(low, high, steps, expected):
    assert spread(Decimal(low), Decimal(high), int(steps) if steps else None) == expected
    text = f"{low}..{high}" + (f"/{steps}" if steps else "")
    if isinstance(expected[0], int):
        assert combinations(plan(K), k=text) == [f"k={value}" for value in expected]
    else:
        assert combinations(plan(K, T), t=text) == [f"t={value}" for value in expected]


def test_lists_and_ranges_mix():
    assert combinations(plan(K), k="2..4,10") == ["k=2", "k=3", "k=4", "k=10"]


def test_the_same_letter_twice_must_be_told_apart():
    asked = plan(K, L_JOB, L_DISEASE)

    with pytest.raises(PolicyError, match=r"2 settings(.|\n)*l-diversity.job.l, l-diversity.disease.l"):
        grid_of(asked, {"l": "2,3"})
    with pytest.raises(PolicyError, match=r"l-diversity.job.l, l-diversity.disease.l"):
        grid_of(asked, {"l-diversity.l": "2,3"})
    (first, second) = grid_of(asked, {"l-diversity.job.l": "2,3"}).combinations
    assert [model.l for model in first.plan.policy.requirements[1:]] == [2, 2]
    assert [model.l for model in second.plan.policy.requirements[1:]] == [3, 2]


def test_options_and_choice_of_anonymizers_can_be_varied():
    found = grid_of(plan(K), {"mondrian.strict": "true,false"})
    assert [cell.plan.steps()[0].anonymizer.strict for cell in found.combinations] == [True, False]
    assert found.requirements == ()

    found = grid_of(plan(K, T), {"k-anonymity.anonymizer": "mondrian,local-recoding"})
    assert [cell.plan.steps()[0].anonymizer.name for cell in found.combinations] == ["mondrian", "local-recoding"]


def test_options_of_the_plan_stay_while_others_are_varied():
    asked = plan(K, anonymizers={"mondrian": {"strict": False}})

    assert not any(cell.plan.steps()[0].anonymizer.strict for cell in grid_of(asked, {"k": "2,3"}).combinations)


def test_parameters_by_column_can_be_varied_one_by_one():
    asked = Plan.from_dict(
        {
            "columns": {
                "age": {"role": "quasi-identifier"},
                "job": {"role": "sensitive-quasi-identifier", "domain": ["a", "b", "c", "d"]},
            },
            "require": [{"model": "k-anonymity", "k": 2}, {"model": "sensitive-qid-diversity", "l": {"job": 2}}],
        }
    )

    found = grid_of(asked, {"l.job": "2,3"})

    assert [cell.plan.policy.requirements[1].l["job"] for cell in found.combinations] == [2, 3]


def test_every_setting_has_a_name_of_its_own():
    full = [setting.names[0] for setting in settings_of(plan(K, L_JOB, L_DISEASE, T))]

    assert len(full) == len(set(full))


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ({}, "Nothing was given to vary"),
        ({"kk": "2"}, "Did you mean 'k'"),
        ({"t": "0.2"}, "no such setting"),
        ({"k": "2,,3"}, "empty value"),
        ({"k": []}, "no values"),
        ({"k": "a..b"}, "no plain numbers"),
        ({"k": "2..5/0"}, "0 steps"),
        ({"k": "2", "k-anonymity.k": "3"}, "more than once"),
        ({"k": list(range(2, MOST_COMBINATIONS + 3))}, "combinations were asked for"),
        ({"anonymizer": "mondrain"}, "Did you mean 'mondrian'"),
    ],
)
def test_what_cannot_be_varied_is_said(vary, message):
    with pytest.raises(InputError, match=message):
        grid_of(plan(K), vary)


def test_all_values_out_of_range_are_listed_at_once():
    with pytest.raises(PlanError) as caught:
        grid_of(plan(K, T), {"k": "0,5,many", "t": "0.2,3"})

    assert len(caught.value.problems) == 3
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("given", ["k", "k=", "=2", " = "])
def test_options_without_name_or_values_are_refused(given):
    with pytest.raises(PolicyError, match="no name with values"):
        parse_vary([given])


def test_the_same_name_twice_is_refused():
    with pytest.raises(PolicyError, match="more than once"):
        parse_vary(["k=2", "k=3"])
