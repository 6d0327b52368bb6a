"""Local differential privacy by its definition: the chance of every set, given every value."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymizers.randomization.parameters import Closeness, LocalPrivacy, choose
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import PolicyError
from sfumato.models import LocalDifferentialPrivacy

JOBS = ("baker", "clerk", "farmer", "nurse", "pilot")


def chances(d, eta, p, true):
    """Return the chance of each set for a true value, by the coin and the draws themselves."""
    found = Counter()
    for others in combinations([value for value in range(d) if value != true], eta - 1):
        found[frozenset((true, *others))] += p / math.comb(d - 1, eta - 1)
    for some in combinations(range(d), eta):
        found[frozenset(some)] += (1 - p) / math.comb(d, eta)
    return found


def largest_ratio(d, eta, p):
    """Return how many times as likely a set is for one value as for another; None when without bound."""
    given_value = [chances(d, eta, p, true) for true in range(d)]
    ratios = []
    for some in set().union(*given_value):
        by_value = [each[some] for each in given_value]
        if max(by_value) and not min(by_value):
            return None
        ratios.append(max(by_value) / min(by_value))
    return max(ratios)


def judged(eta, p, epsilon):
    spec = ColumnSpec(name="job", role=Role.SENSITIVE_QUASI_IDENTIFIER, kind=Kind.SET, domain=JOBS[:4])
    cells = ["|".join(some) for some in combinations(JOBS[:4], eta)]
    stated = {"columns": {"job": {"domain": JOBS[:4], "eta": eta, "p": float(p)}}}
    release = Release.from_table(pa.table({"job": cells * 24}), Schema({"job": spec}), stated)
    return LocalDifferentialPrivacy(epsilon={"job": epsilon}).audit(release)


@pytest.mark.parametrize("eta", [1, 2, 3])
@pytest.mark.parametrize("p", ["0", "0.05", "0.3", "0.5", "0.9", "1"])
def test_the_audit_says_what_the_definition_says(eta, p):
    ratio = largest_ratio(4, eta, Fraction(p))
    for epsilon in (0.1, 0.7, 2, 5):
        verdict = judged(eta, Fraction(p), epsilon)

        assert verdict.satisfied == (ratio is not None and math.log(ratio) <= epsilon)
        if ratio is not None:
            assert verdict.reached == pytest.approx(math.log(ratio))


def test_what_always_shows_the_truth_has_no_epsilon():
    verdict = judged(2, 1, 50)

    assert not verdict.satisfied
    assert "without bound" in str(verdict)
    assert verdict.as_dict()["reached"] is None
    assert verdict.facts["epsilon_of_a_record"] is None


def test_the_last_digit_decides():
    ratio = largest_ratio(4, 2, Fraction(1, 2))  # 3, a whole number
    below, above = (str(Fraction(int(math.log(ratio) * 10**15) + step, 10**15)) for step in (-2, 2))

    assert not judged(2, Fraction(1, 2), below).satisfied
    assert judged(2, Fraction(1, 2), above).satisfied


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["0.1", "1", "2.5", "7"])
@pytest.mark.parametrize("d", [2, 5])
def test_parameters_are_the_best_that_the_definition_allows(d, epsilon):
    found = choose(d, 1, [LocalPrivacy(Fraction(epsilon))])

    def allowed(eta, p):
        ratio = largest_ratio(d, eta, p)
        return ratio is not None and math.log(ratio) <= float(Fraction(epsilon))

    assert allowed(found.eta, found.p)
    assert not allowed(found.eta, found.p + Fraction(2, 10_000))
    noise = {}
    for eta in range(1, d):
        p = max(step for step in range(10_001) if _rho(d, eta, step) >= math.exp(-float(Fraction(epsilon))))
        noise[eta] = eta / ((p / 10_000) ** 2 * (d - eta)) if p else math.inf
    assert noise[found.eta] == pytest.approx(min(noise.values()), rel=1e-2)


def _rho(d, eta, step):
    p = step / 10_000
    return (1 - p) / (1 - p + p * d / eta)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_epsilon_is_closeness_to_any_prior(epsilon):
    t = Fraction(math.tanh(epsilon / 4)).limit_denominator(10**9)

    by_odds = choose(8, 1, [LocalPrivacy(Fraction(epsilon))])
    by_distance = choose(8, 1, [Closeness(t, None)])

    assert by_odds.eta == by_distance.eta
    assert float(by_odds.p) == pytest.approx(float(by_distance.p), abs=2e-4)


def test_a_run_reaches_what_was_asked_and_says_the_sum():
    people = {"job": [JOBS[i % 5] for i in range(200)], "sex": ["f", "m"] * 100}
    plan = sf.Plan.from_dict(
        {
            "columns": {
                "job": {"role": "sensitive-quasi-identifier", "domain": list(JOBS)},
                "sex": {"role": "sensitive-quasi-identifier", "domain": ["f", "m"]},
            },
            "require": [
                {"model": "local-differential-privacy", "epsilon": {"job": 2, "sex": 0.5}},
                {"model": "sensitive-qid-diversity", "l": {"job": 2}},
            ],
        }
    )

    run = sf.anonymize(pa.table(people), plan, seed=1)

    verdict = run.verdicts[0]
    assert verdict.satisfied
    assert 2.45 < verdict.facts["epsilon_of_a_record"] <= 2.5
    assert verdict.facts["columns"]["job"]["eta"] >= 2
    stated = run.release.description["columns"]["job"]
    assert stated["asked_epsilon"] == 2
    assert stated["epsilon"] <= 2


def test_an_epsilon_must_be_positive():
    with pytest.raises(PolicyError, match="more than 0"):
        LocalDifferentialPrivacy(epsilon={"job": 0})
