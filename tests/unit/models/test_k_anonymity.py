from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import PolicyError
from sfumato.models import KAnonymity


@pytest.mark.parametrize("k", ["five", "5", True, 2.5, 5.0, 0, -1, None, [5]])
def test_k_must_be_a_positive_whole_number(k):
    with pytest.raises(PolicyError, match=r"k of k-anonymity must be a whole number of at least 1, but was given as"):
        KAnonymity(k=k)


def test_k_may_come_from_numpy():
    assert type(KAnonymity(k=np.int64(5)).k) is int


def test_the_hospital_has_classes_of_four(hospital):
    assert KAnonymity(k=4).audit(hospital).satisfied
    verdict = KAnonymity(k=5).audit(hospital)

    assert not verdict.satisfied
    assert (verdict.reached, verdict.required) == (4, 5)
    assert (verdict.groups, verdict.failing, verdict.failing_rows) == (3, 3, 12)


def test_a_missing_value_is_a_value_of_its_own_and_no_wildcard(release_of):
    release = release_of({"a": ["x", "x", None, None, None], "b": ["1", "1", "1", "1", "1"]})
    verdict = KAnonymity(k=3).audit(release)

    assert (verdict.groups, verdict.reached, verdict.failing, verdict.failing_rows) == (2, 2, 1, 2)


def test_a_withheld_value_is_a_value_of_its_own_and_no_wildcard(release_of):
    verdict = KAnonymity(k=2).audit(release_of({"a": ["x", "x", "*"]}))

    assert (verdict.groups, verdict.reached, verdict.failing_rows) == (2, 1, 1)


def test_sensitive_and_carried_columns_do_not_split_classes(release_of):
    release = release_of({"a": ["x"] * 3, "s": ["1", "2", "3"], "note": ["u", "v", "w"]}, carried=("note",))

    assert KAnonymity(k=3).audit(release).reached == 3


def test_a_release_without_quasi_identifiers_is_one_class(release_of):
    verdict = KAnonymity(k=3).audit(release_of({"s": ["1", "2", "3"]}))

    assert (verdict.satisfied, verdict.reached, verdict.groups) == (True, 3, 1)


def test_a_release_without_rows_has_nothing_to_judge(release_of):
    verdict = KAnonymity(k=3).audit(release_of({"a": [], "s": []}))

    assert (verdict.satisfied, verdict.reached, verdict.groups, verdict.failing) == (False, None, 0, 0)
    assert verdict.nothing_to_judge


def test_planted_small_classes_are_counted_exactly(release_of):
    rng = np.random.default_rng(3)
    classes = np.repeat(np.arange(2000), 5)
    planted = np.repeat(np.arange(2000, 2007), [1, 2, 3, 4, 4, 1, 2])
    label = rng.permutation(np.concatenate([classes, planted]))
    release = release_of({"a": (label // 50).astype(str), "b": label % 50})
    verdict = KAnonymity(k=5).audit(release)

    assert (verdict.groups, verdict.failing, verdict.failing_rows) == (2007, 7, 17)
    assert verdict.reached == 1
    assert verdict.facts["largest_class"] == 5


def test_a_k_beyond_all_rows_fails_without_trouble(release_of):
    assert KAnonymity(k=10**30).audit(release_of({"a": ["x", "x"]})).failing == 1
