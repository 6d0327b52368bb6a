from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from math import log

import numpy as np
import pytest

from sfumato.errors import DataError, PolicyError
from sfumato.models import BetaLikeness, DeltaDisclosure, TCloseness
from sfumato.models.judging import shares
from sfumato.models.judging.logarithms import logarithm_exceeds


def like(beta, kind="basic"):
    return BetaLikeness(sensitive="s", beta=beta, kind=kind)


def disclosing(delta):
    return DeltaDisclosure(sensitive="s", delta=delta)


@pytest.mark.parametrize("given", ["half", True, 0, -1, None, float("nan"), "1/0"])
def test_beta_and_delta_are_numbers_above_zero(given):
    with pytest.raises(PolicyError, match=r"^beta of beta-likeness"):
        like(given)
    with pytest.raises(PolicyError, match=r"^delta of delta-disclosure"):
        disclosing(given)


def test_an_unknown_kind_is_answered_with_the_nearest():
    with pytest.raises(PolicyError, match="Did you mean 'enhanced'"):
        like(1, "enhancd")


def test_the_edge_of_a_gain_belongs_to_the_model(release_of):
    release = release_of({"a": list("xxxyyy"), "s": list("uuvuvv")})  # two thirds instead of a half

    assert like("1/3").audit(release).satisfied
    assert not like(Fraction(1, 3) - Fraction(1, 10**25)).audit(release).satisfied
    assert like("1/3").audit(release).reached == pytest.approx(1 / 3)


def test_frequent_values_get_a_bound_of_their_own(release_of):
    # u is in 9 of 10 rows: in all rows of a class, it gained a ninth, and -ln 0.9 = 0.105 is less.
    release = release_of({"a": ["x"] * 5 + ["y"] * 5, "s": ["u"] * 9 + ["v"]})

    assert like(1).audit(release).satisfied
    verdict = like(1, "enhanced").audit(release)
    assert (verdict.satisfied, verdict.failing_rows) == (False, 5)
    assert verdict.as_dict()["reached"] is None  # whatever beta


@pytest.mark.parametrize("model", [like("0.3"), like("0.4"), disclosing("0.28"), disclosing("0.41")], ids=str)
def test_billions_of_equal_rows_are_judged_as_a_few_are(release_of, model):
    few = release_of({"a": list("xxxyyy"), "s": list("uuvuvv")}).weighted()
    many = replace(few, weights=few.weights * 2**31)

    one, other = model.audit(few), model.audit(many)

    assert (one.satisfied, one.failing, one.reached) == (other.satisfied, other.failing, other.reached)
    assert other.failing_rows == one.failing_rows * 2**31


def test_each_kind_says_what_it_does_about_frequent_values():
    assert like(1).promise.endswith("more than 2 times as likely as in the release.")
    assert like(1, "enhanced").promise.endswith("and frequent values even less so: none gets certain.")
    certain = "A value that is frequent in the release may be in every row of a class."
    assert (certain in like(1).limit, certain in like(1, "enhanced").limit) == (True, False)


@pytest.mark.parametrize("rest", [Fraction(1, 10**12), Fraction(1, 10**45), Fraction(1, 10**80)])
def test_logarithms_are_compared_to_the_last_digit(release_of, rest):
    release = release_of({"a": list("xxxyyy"), "s": list("uuvuvv")})  # 4/3 and 2/3 of what is expected
    digits = 90
    above = Fraction(_log_three_halves(digits) + 1, 10**digits)

    assert disclosing(above + rest).audit(release).satisfied
    assert not disclosing(above - rest).audit(release).satisfied


def _log_three_halves(digits):
    """ln 3/2 = 2 atanh(1/5), in whole numbers of 10^-digits."""
    one = 10 ** (digits + 10)
    term, total, n = one // 5, 0, 1
    while term:
        total += term // n
        term //= 25
        n += 2
    return 2 * total // 10**10


def test_the_logarithm_of_one_is_zero():
    assert not logarithm_exceeds(Fraction(1), Fraction(0))
    assert logarithm_exceeds(Fraction(1), Fraction(-1, 10**50))


def test_a_value_that_a_class_lacks_is_ruled_out(release_of):
    release = release_of({"a": list("xxyy"), "s": list("uvuu")})
    verdict = disclosing(100).audit(release)

    assert (verdict.satisfied, verdict.failing, verdict.facts["classes_that_lack_values"]) == (False, 1, 1)
    assert "without bound" in str(verdict)


@pytest.mark.parametrize("model", [like(2), like(2, "enhanced"), disclosing(1)], ids=repr)
def test_withheld_values_cannot_be_judged_and_the_rim_is_fine(release_of, model):
    with pytest.raises(DataError, match="has withheld values"):
        model.audit(release_of({"a": ["x", "x"], "s": ["flu", "*"]}))
    nothing = model.audit(release_of({"a": [], "s": []}))
    assert (nothing.satisfied, nothing.reached, nothing.groups) == (False, None, 0)
    for values in (["flu", "gout", None], ["flu"] * 3, [None] * 3):
        one = model.audit(release_of({"s": values}))
        assert (one.satisfied, one.reached, one.groups) == (True, 0, 1)


@pytest.mark.parametrize("model", [like("0.7"), like("0.7", "enhanced"), disclosing("0.9")], ids=repr)
def test_numbers_of_any_size_give_the_same_verdict(release_of, monkeypatch, model):
    rng = np.random.default_rng(3)
    release = {"a": rng.integers(0, 4, 200), "s": rng.choice(list("uvw"), 200)}
    expected = model.audit(release_of(release))
    monkeypatch.setattr(shares, "LARGEST", 1)

    assert model.audit(release_of(release)) == expected


def pycanon(table):
    """What pyCANON 1.0.1 reports: gains, logarithms of values that a class has, total variation."""
    classes = defaultdict(Counter)
    for label, value in table:
        classes[label][value] += 1
    total = sum(classes.values(), Counter())
    n = len(table)
    shares_in = [{v: c[v] / sum(c.values()) for v in total} for c in classes.values()]
    p = {v: count / n for v, count in total.items()}
    beta = max(q[v] / p[v] - 1 for q in shares_in for v in total)
    delta = max(abs(log(q[v] / p[v])) for q in shares_in for v in total if q[v] > 0)
    t = max(sum(abs(q[v] - p[v]) for v in total) / 2 for q in shares_in)
    return beta, delta, t, all(len(c) == len(total) for c in classes.values())


@pytest.mark.slow
def test_verdicts_are_those_of_pycanon_where_the_definitions_agree(release_of):
    rng = np.random.default_rng(8)
    complete = 0
    for _ in range(300):
        n = int(rng.integers(10, 60))
        table = [(str(a), "uvw"[s]) for a, s in zip(rng.integers(0, 3, n), rng.integers(0, 3, n), strict=True)]
        release = release_of({"a": [row[0] for row in table], "s": [row[1] for row in table]})
        beta, delta, t, all_shown = pycanon(table)

        assert like(100).audit(release).reached == pytest.approx(beta)
        assert TCloseness(sensitive="s", t=1).audit(release).reached == pytest.approx(t)
        if all_shown:  # pyCANON passes over values that a class lacks
            assert disclosing(100).audit(release).reached == pytest.approx(delta)
            complete += 1
        else:
            assert not disclosing(100).audit(release).satisfied
    assert 100 < complete < 300
