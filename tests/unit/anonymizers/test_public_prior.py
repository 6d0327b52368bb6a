"""How common values are as far as it is public: the grid of counts, base rates of the plan, and audits of both."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.pram import largest_p
from sfumato.anonymizers.randomization.domains import on_public_grid
from sfumato.anonymizers.randomization.parameters import Closeness, choose
from sfumato.data.base_rates import BaseRates
from sfumato.data.files.release import schema_for
from sfumato.data.knowledge import PublicInputs
from sfumato.data.release import Release
from sfumato.errors import DataError
from sfumato.models import LocalDifferentialPrivacy, SensitiveQidCloseness

DOMAIN = ["none", "flu", "HIV", "gout"]
OTHERS = ["none"] * 150 + ["flu"] * 30 + ["HIV"] * 12 + ["gout"] * 7
CLOSE = SensitiveQidCloseness(t={"illness": 0.1})
COUNTS = st.lists(st.one_of(st.integers(0, 40), st.integers(0, 10**6)), min_size=2, max_size=30)
both = pytest.mark.parametrize("anonymizer", ["randomization", "pram"])


def plan_of(anonymizer, *more, **column):
    declared = {"role": "sensitive-quasi-identifier", "domain": DOMAIN, **column}
    required = {"model": "sensitive-qid-closeness", "t": {"illness": 0.1}, "anonymizer": anonymizer}
    return sf.Plan.from_dict({"columns": {"illness": declared}, "require": [required, *more]})


def anonymized(cells, *asked, **column):
    return sf.anonymize(pa.table({"illness": cells}), plan_of(*asked, **column), measure=False, attack=False)


def stated(run):
    return run.release.description["columns"]["illness"]


def judged(run, model=CLOSE, *, weight=None, counted=True, **about):
    """Judge a release whose description says other things of its column, with what is known of base rates."""
    column = {key: value for key, value in {**stated(run), **about}.items() if value is not None}
    description = {**run.release.description, "columns": {"illness": column}}
    release = Release.from_table(run.release.data, schema_for(description, None), description)
    rates = {"illness": BaseRates(weight=weight, counted=counted)} if weight else {}
    return model.audit(replace(release, public=PublicInputs(base_rates=rates)))


def counts_of(cells):
    return {value: cells.count(value) for value in DOMAIN}


def slowly(counts):
    """The steps that each count has begun, one by one."""
    n, begun = sum(counts), []
    step = next(rows for rows in range(10, n + 11) if (rows + 1) ** 2 > n)
    for count in counts:
        begun.append(1)
        while count >= step * begun[-1]:
            begun[-1] += 1
    return begun


@given(counts=COUNTS)
def test_the_grid_is_that_of_the_definition(counts):
    assert on_public_grid(np.array(counts)).tolist() == slowly(counts)


@given(counts=COUNTS.filter(any))
def test_no_share_of_the_table_is_far_above_the_prior_and_the_prior_is_near_the_shares(counts):
    n, step = sum(counts), max(10, math.isqrt(sum(counts)))
    weights = on_public_grid(np.array(counts))
    prior = weights / weights.sum()
    share = np.array(counts) / n

    added = len(counts) * step / n  # rows of begun steps, at most
    assert (share <= prior * (1 + added) + 1e-12).all()
    assert np.abs(prior - share).sum() / 2 <= added


def test_values_of_no_record_and_of_a_few_have_the_same_weight():
    for n in (10, 199, 5_000, 10**6):
        assert [on_public_grid(np.array([n - few, few]))[1] for few in (0, 1, 9)] == [1, 1, 1]


@pytest.mark.parametrize("n", [200, 5_000, 100_000])
def test_one_record_more_of_a_value_changes_its_weight_once_in_a_step(n):
    known = [tuple(on_public_grid(np.array([count, n - count])).tolist()) for count in range(n + 1)]
    changes = sum(one != other for one, other in pairwise(known))

    # Both values have an edge, one in each step.
    assert changes <= 2 * n / max(10, math.isqrt(n)) + 2


@both
def test_who_knows_all_records_but_one_cannot_read_the_last_one_off_the_parameters(anonymizer):
    found = [anonymized([*OTHERS, value], anonymizer) for value in DOMAIN]

    keys = ("p", "eta", "shares", "base_rates")
    assert len({str([stated(run).get(key) for key in keys]) for run in found}) == 1
    assert all(run.verdicts[0].satisfied for run in found)


@both
def test_p_is_the_largest_that_the_stated_prior_allows(anonymizer):
    about = stated(anonymized([*OTHERS, "none"], anonymizer))
    weights = np.array([about["base_rates"]["values"][value] for value in DOMAIN])
    p = Fraction(str(about["p"]))

    if anonymizer == "randomization":
        best = choose(4, 1, [Closeness(Fraction(1, 10), weights)])
        assert (best.p, best.eta) == (p, about["eta"])
    else:
        units = np.array([round(share * 10_000) for share in about["shares"]])
        assert p <= largest_p(weights, units, Fraction(1, 10), None) < p + Fraction(1, 10_000)


@both
def test_a_prior_that_is_not_on_the_grid_fails(anonymizer):
    cells = [*OTHERS, "none"]
    run, counts = anonymized(cells, anonymizer), counts_of(cells)
    weight = stated(run)["base_rates"]["values"]

    assert judged(run, weight=counts).satisfied
    for other in (counts, weight | {"flu": weight["flu"] + 1}, dict.fromkeys(DOMAIN, 1)):
        verdict = judged(run, weight=counts, base_rates=BaseRates(weight=other).as_dict())
        assert not verdict.satisfied
        assert "public grid" in verdict.finding


@both
def test_p_that_goes_beyond_t_by_one_unit_fails_against_the_rounded_prior(anonymizer):
    cells = [*OTHERS, "none"]
    run = anonymized(cells, anonymizer)
    p = round(stated(run)["p"] + 0.0001, 4)

    for known in ({"weight": counts_of(cells)}, {}):  # an outsider has the prior that the release states
        assert judged(run, **known).satisfied
        assert not judged(run, p=p, **known).satisfied


def test_base_rates_that_leave_a_value_of_the_domain_out_are_refused():
    run = anonymized([*OTHERS, "none"], "randomization")
    for wrong in ({"none": 5, "flu": 3, "HIV": 1}, {"none": 5, "flu": 3, "HIV": 1, "gout": 0}):
        with pytest.raises(DataError, match=r"3 of 4 values of its domain") as error:
            judged(run, base_rates=BaseRates(weight=wrong).as_dict())
        assert "HIV" not in str(error.value)


def test_epsilon_is_stated_only_where_p_does_not_depend_on_the_data(tmp_path):
    (tmp_path / "rates.csv").write_text("illness,share\nnone,0.7\nflu,0.2\nHIV,0.06\ngout,0.04\n", encoding="utf-8")
    cells = [*OTHERS, "none"]
    by_table = anonymized(cells, "randomization")
    declared = anonymized(cells, "randomization", base_rates=str(tmp_path / "rates.csv"))
    to_any = sf.anonymize(
        pa.table({"illness": cells}),
        sf.Plan.from_dict(
            {
                "columns": {"illness": {"role": "sensitive-quasi-identifier", "domain": DOMAIN}},
                "require": [{"model": "sensitive-qid-closeness", "t": {"illness": 0.1}, "prior": "any"}],
            }
        ),
    )

    assert "epsilon" not in stated(by_table)
    assert by_table.facts["steps"][0]["facts"]["columns"][0]["epsilon"] is None
    assert stated(declared)["epsilon"] > 0
    assert stated(to_any)["epsilon"] > 0
    assert "base_rates" not in stated(to_any)


@both
def test_declared_base_rates_are_the_prior_whatever_the_data_are(anonymizer, tmp_path):
    rates = tmp_path / "rates.csv"
    rates.write_text("illness,share\nnone,0.7\nflu,0.2\nHIV,0.06\ngout,0.04\n", encoding="utf-8")
    cells = [*OTHERS, "none"]
    one, other = (anonymized(each, anonymizer, base_rates=str(rates)) for each in (cells, ["HIV"] * 20 + ["flu"] * 5))

    assert all(run.verdicts[0].satisfied for run in (one, other))
    assert one.verdicts[0].known_from == {"base rates of 'illness'": "given in the plan"}
    assert stated(one)["base_rates"]["values"] == {"none": 35, "flu": 10, "HIV": 3, "gout": 2}
    assert {key: value for key, value in stated(one).items() if key != "role"} == {
        key: value for key, value in stated(other).items() if key != "role"
    }
    weight = {"none": 70, "flu": 20, "HIV": 6, "gout": 4}
    assert judged(one, weight=weight, counted=False).satisfied
    assert not judged(one, weight=weight | {"flu": 21}, counted=False).satisfied
    # Without a stated prior, the one of the plan is judged by.
    assert judged(one, weight=weight, counted=False, base_rates=None).satisfied
    assert not judged(one, weight=dict.fromkeys(DOMAIN, 1), counted=False, base_rates=None, p=0.9).satisfied
    with pytest.raises(DataError, match="no weight to 1 of the 4 values"):
        judged(one, weight=weight | {"gout": 0}, counted=False, base_rates=None)


@both
def test_declared_base_rates_that_leave_a_value_out_are_refused(anonymizer, tmp_path):
    (tmp_path / "rates.csv").write_text("illness,share\nnone,0.7\nflu,0.3\nHIV,0\n", encoding="utf-8")
    with pytest.raises(DataError, match="no weight to 2 of the 4 values") as error:
        anonymized([*OTHERS, "none"], anonymizer, base_rates=str(tmp_path / "rates.csv"))
    assert "HIV" not in str(error.value)


def test_declared_base_rates_weigh_the_marker_of_missing_values(tmp_path):
    (tmp_path / "rates.csv").write_text("illness,share\nflu,0.7\ngout,0.2\nunknown,0.1\n", encoding="utf-8")
    column = {"role": "sensitive-quasi-identifier", "base_rates": str(tmp_path / "rates.csv")}
    plan = sf.Plan.from_dict(
        {
            "source": {"missing": ["", "unknown"]},
            "columns": {"illness": column},
            "require": [{"model": "sensitive-qid-closeness", "t": {"illness": 0.2}}],
        }
    )
    run = sf.anonymize(pa.table({"illness": ["flu"] * 5 + ["gout"] * 3 + [None]}), plan)

    assert stated(run)["base_rates"]["values"] == {"flu": 7, "gout": 2, "unknown": 1}
    assert run.verdicts[0].satisfied


def test_epsilon_of_a_cell_is_not_said_of_a_prior_that_is_stated_beside_it():
    run = anonymized(
        [*OTHERS, "none"], "randomization", {"model": "local-differential-privacy", "epsilon": {"illness": 2}}
    )
    verdict = judged(run, LocalDifferentialPrivacy(epsilon={"illness": 2}))

    assert verdict.satisfied
    assert "not what these tell of the table" in verdict.notes[0]
    assert "epsilon" not in stated(run)
