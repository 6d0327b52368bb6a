from __future__ import annotations

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest

from sfumato.errors import PolicyError
from sfumato.models import LDiversity
from sfumato.models.l_diversity import _entropy_reaches


def of_counts(release_of, *classes):
    """A release with these counts of values in its classes."""
    rows = [
        (number, f"v{value}")
        for number, counts in enumerate(classes)
        for value, c in enumerate(counts)
        for _ in range(c)
    ]
    return release_of({"a": [f"class {number}" for number, _ in rows], "s": [value for _, value in rows]})


def diverse(l, kind, c=None):
    return LDiversity(sensitive="s", l=l, kind=kind, c=c)


@pytest.mark.parametrize("kind", ["distinct", "recursive"])
@pytest.mark.parametrize("l", ["three", True, 2.5, 1, 0, None, Fraction(5, 2)])
def test_l_must_be_a_whole_number_from_two_where_values_are_counted(kind, l):
    with pytest.raises(PolicyError, match="must be a whole number of at least 2"):
        diverse(l, kind, 2 if kind == "recursive" else None)


@pytest.mark.parametrize("kind", ["entropy", "frequency"])
@pytest.mark.parametrize("l", ["three", True, 1, 0.5, -3, float("nan"), None])
def test_l_must_be_more_than_one_where_values_are_weighed(kind, l):
    with pytest.raises(PolicyError, match="l of l-diversity"):
        diverse(l, kind)


@pytest.mark.parametrize("c", ["two", True, 0, -1, float("inf")])
def test_c_must_be_a_positive_number(c):
    with pytest.raises(PolicyError, match="c of l-diversity"):
        diverse(3, "recursive", c)


def test_recursive_diversity_needs_c_and_the_others_refuse_it():
    with pytest.raises(PolicyError, match="needs c, but none was given"):
        diverse(3, "recursive")
    with pytest.raises(PolicyError, match="entropy l-diversity has no c"):
        diverse(3, "entropy", 2)


@pytest.mark.parametrize(
    ("kind", "hint"), [("entrpy", "Did you mean 'entropy'?"), (3, "Known: 'distinct'"), (None, "")]
)
def test_an_unknown_kind_is_answered_with_the_nearest(kind, hint):
    with pytest.raises(PolicyError) as caught:
        diverse(3, kind)
    assert hint in str(caught.value)


@pytest.mark.parametrize("sensitive", ["", None, ["s"], 3])
def test_the_sensitive_column_is_one_name(sensitive):
    with pytest.raises(PolicyError, match="must be the name of one column"):
        LDiversity(sensitive=sensitive, l=2)


def test_parameters_are_kept_exactly():
    assert diverse(2.1, "entropy").exact_l == Fraction(21, 10)
    assert diverse("7/3", "frequency").l == Fraction(7, 3)
    assert diverse(4.0, "entropy") == diverse(4, "entropy")
    assert diverse(2, "recursive", 0.1).exact_c == Fraction(1, 10)
    with pytest.raises(PolicyError, match="has no c"):
        _ = diverse(2, "distinct").exact_c


# The hospital's classes have counts (2, 1, 1), (4,) and (1, 1, 1, 1).
@pytest.mark.parametrize(
    ("model", "reached", "failing"),
    [
        (diverse(2, "distinct"), 1, 1),
        (diverse(4, "distinct"), 1, 2),
        (diverse(2, "entropy"), 1.0, 1),
        (diverse(2.9, "entropy"), 1.0, 2),
        (diverse(2, "frequency"), 1.0, 1),
        (diverse(2.5, "frequency"), 1.0, 2),
        (diverse(2, "recursive", 1), float("inf"), 2),  # 2 < 1 * (1 + 1) does not hold
        (diverse(2, "recursive", 1.01), float("inf"), 1),
        (diverse(4, "recursive", 2), float("inf"), 2),
    ],
    ids=repr,
)
def test_the_hospital_has_known_answers(hospital, model, reached, failing):
    verdict = model.audit(hospital)

    assert not verdict.satisfied
    assert verdict.reached == pytest.approx(reached)
    assert (verdict.groups, verdict.failing, verdict.failing_rows) == (3, failing, 4 * failing)
    assert verdict.facts["values"] == 4  # the missing value is one


@pytest.mark.parametrize(
    ("counts", "l"),
    [
        ((4, 1, 1, 1, 1), 4),  # half in one value, the rest in four: ln 4
        ((400, 100, 100, 100, 100), 4),
        ((2, 1, 1), None),
        ((7, 7, 7), 3),
        ((9, 3, 3, 3), None),
        ((8, 4, 2, 1, 1), None),
        ((16, 16, 4, 4, 4, 4, 4, 4, 4, 4), 8),
    ],
)
def test_an_entropy_at_the_edge_is_decided_exactly(release_of, counts, l):
    entropy = -sum(count / sum(counts) * log(count / sum(counts)) for count in counts)
    if l is None:  # no rational tie: just below and above
        below, above = Fraction(exp(entropy)) - Fraction(1, 10**12), Fraction(exp(entropy)) + Fraction(1, 10**12)
    else:
        assert entropy == pytest.approx(log(l))
        assert diverse(l, "entropy").audit(of_counts(release_of, counts)).satisfied
        below, above = l - Fraction(1, 10**30), l + Fraction(1, 10**30)
    release = of_counts(release_of, counts)

    assert diverse(below, "entropy").audit(release).satisfied
    verdict = diverse(above, "entropy").audit(release)
    assert not verdict.satisfied
    assert verdict.reached <= verdict.required


def test_a_long_near_tie_of_an_entropy_is_decided_by_whole_numbers():
    counts = (1, 1, 1, 1, 4)

    assert _entropy_reaches(counts, 4 - Fraction(1, 10**35))
    assert not _entropy_reaches(counts, 4 + Fraction(1, 10**35))


def test_a_share_at_the_edge_is_decided_exactly(release_of):
    release = of_counts(release_of, (3, 3, 3), (1, 1, 1))

    assert diverse(3, "frequency").audit(release).satisfied
    assert not diverse(3 + Fraction(1, 10**25), "frequency").audit(release).satisfied
    assert diverse("7/3", "frequency").audit(of_counts(release_of, (3, 2, 2))).satisfied


def test_recursive_diversity_is_strict_at_the_edge(release_of):
    release = of_counts(release_of, (6, 2, 1, 1))  # with l = 3: 6 < c * 2

    verdict = diverse(3, "recursive", 3).audit(release)
    assert (verdict.satisfied, verdict.reached, verdict.required) == (False, 3.0, 3)
    assert str(verdict).endswith("over the rare ones 3, required below 3 (1 of 1 class, 10 rows)")
    assert diverse(3, "recursive", 3 + Fraction(1, 10**25)).audit(release).satisfied


def test_fewer_values_than_l_break_recursive_diversity_whatever_c_is(release_of):
    verdict = diverse(3, "recursive", 10**9).audit(of_counts(release_of, (1, 1)))

    assert not verdict.satisfied
    assert verdict.as_dict()["reached"] is None


def test_a_missing_value_counts_as_a_value(release_of):
    release = release_of({"a": ["x", "x"], "s": ["flu", None]})

    assert diverse(2, "distinct").audit(release).satisfied


def test_one_number_in_two_spellings_is_one_value(release_of):
    release = release_of({"a": ["x", "x"], "s": ["1", "1.0"]})

    assert diverse(2, "distinct").audit(release).reached == 1


@pytest.mark.parametrize(
    ("values", "kind", "reached"),
    [
        (["flu", "*"], "distinct", 1),
        (["flu", "flu", "asthma", "*"], "frequency", 4 / 3),
        (["flu", "asthma", "asthma", "*", "*"], "recursive", 4.0),
        (["flu", "asthma", "ulcer", "*"], "entropy", 2**1.5),
        (["*", "*"], "distinct", 1),
    ],
)
def test_a_withheld_value_is_taken_for_the_most_frequent_one(release_of, values, kind, reached):
    release = release_of({"a": ["x"] * len(values) + ["y"] * 9, "s": [*values, *"aaabbbccc"]})
    verdict = diverse(2, kind, 2 if kind == "recursive" else None).audit(release)

    assert verdict.reached == pytest.approx(reached)
    assert verdict.facts["withheld"] == values.count("*")


def test_planted_violations_are_counted_exactly(release_of):
    good, poor = (2, 2, 2), (5, 1)
    classes = [good] * 3000
    for place in (0, 17, 1500, 2999):
        classes[place] = poor
    release = of_counts(release_of, *classes)
    for model in (
        diverse(3, "distinct"),
        diverse(3, "entropy"),
        diverse(3, "frequency"),
        diverse(3, "recursive", 2),
    ):
        verdict = model.audit(release)
        assert (verdict.groups, verdict.failing, verdict.failing_rows) == (3000, 4, 24), model


def test_a_release_without_rows_has_nothing_to_judge(release_of):
    for model in (diverse(2, "distinct"), diverse(2, "entropy"), diverse(2, "frequency"), diverse(2, "recursive", 1)):
        verdict = model.audit(release_of({"a": [], "s": []}))
        assert (verdict.satisfied, verdict.reached, verdict.groups) == (False, None, 0)


def test_without_quasi_identifiers_all_rows_are_one_class(release_of):
    verdict = diverse(2, "frequency").audit(release_of({"s": ["u", "v", "v", "w"]}))

    assert (verdict.satisfied, verdict.reached, verdict.groups) == (True, 2.0, 1)


def test_a_class_of_many_values_is_judged_by_all_of_them(release_of):
    values = [f"v{i}" for i in range(5000)]
    release = release_of({"a": ["x"] * 5000, "s": values})

    assert diverse(5000, "entropy").audit(release).satisfied
    assert diverse(5000, "distinct").audit(release).satisfied
    assert not diverse(5001, "entropy").audit(release).satisfied


def test_no_sensitive_value_shows_in_a_verdict(release_of):
    release = release_of({"a": ["x", "x", "y"], "s": ["syphilis", "syphilis", "syphilis"]})
    for model in (diverse(2, "distinct"), diverse(2, "entropy"), diverse(2, "frequency"), diverse(2, "recursive", 1)):
        verdict = model.audit(release)
        assert "syphilis" not in f"{verdict} {verdict.as_dict()} {verdict._repr_html_()} {verdict!r}"


def test_near_ties_of_many_classes_are_decided_once_for_each_shape(release_of, monkeypatch):
    calls = []
    monkeypatch.setattr(
        "sfumato.models.l_diversity._entropy_reaches", lambda *args: calls.append(args) or _entropy_reaches(*args)
    )
    rng = np.random.default_rng(2)
    classes = [tuple((rng.permutation([4, 1, 1, 1, 1]) * scale).tolist()) for scale in (1, 2, 3, 1, 2, 1)]

    assert diverse(4, "entropy").audit(of_counts(release_of, *classes)).satisfied
    assert len(calls) == 1


def test_whole_numbers_that_no_float_tells_apart_are_different_values(release_of):
    release = release_of({"age": ["30"] * 2, "s": [str(2**53), str(2**53 + 1)]})

    assert LDiversity(sensitive="s", l=2).audit(release).satisfied
    assert not LDiversity(sensitive="s", l=2).audit(release_of({"age": ["30"] * 2, "s": ["1", "1.0"]})).satisfied
