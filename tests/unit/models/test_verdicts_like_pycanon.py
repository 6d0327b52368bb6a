"""Verdicts on random tables equal those of pyCANON, whose definitions are written down here anew, plainly.

Where they differ, docs/concepts/beta-likeness.md says how; `benchmarks/against_peers.py` asks the package itself.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.models import BetaLikeness, DeltaDisclosure, KAnonymity, LDiversity, TCloseness

TABLES = 300
SCHEMA = Schema(
    {
        **{name: ColumnSpec(name=name, role=Role.QUASI_IDENTIFIER) for name in ("a", "b")},
        **{name: ColumnSpec(name=name, role=Role.SENSITIVE) for name in ("s", "n")},
    }
)


def shares(values, of):
    """Return the share of each value that occurs anywhere, in order."""
    counts = Counter(values)
    return [counts[value] / len(values) for value in sorted(set(of))]


@pytest.fixture(scope="module")
def tables():
    """Return tables as columns, their classes as values of both sensitive columns, and as releases."""
    found = []
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        rows = int(rng.integers(8, 60))
        columns = {
            "a": rng.choice(["x", "y"], rows).tolist(),
            "b": rng.choice(["u", "v", "w"][: int(rng.integers(1, 4))], rows).tolist(),
            "s": rng.choice(["flu", "gout", "none"][: int(rng.integers(2, 4))], rows).tolist(),
            "n": rng.choice([10, 20, 30, 40], rows).tolist(),
        }
        classes = {name: defaultdict(list) for name in ("s", "n")}
        for name, members in classes.items():
            for a, b, value in zip(columns["a"], columns["b"], columns[name], strict=True):
                members[a, b].append(value)
        classes = {name: list(members.values()) for name, members in classes.items()}
        found.append((columns, classes, Release.from_table(pa.table(columns), SCHEMA)))
    return found


def equal_distance(own, whole):
    return sum(abs(q - p) for q, p in zip(own, whole, strict=True)) / 2


def ordered_distance(own, whole):
    off = np.cumsum(np.array(own) - np.array(whole))
    return float(np.abs(off).sum()) / (len(whole) - 1) if len(whole) > 1 else 0.0


def largest_gain(own, whole):
    return max((q - p) / p for q, p in zip(own, whole, strict=True))


def largest_logarithm(own, whole):
    return max(abs(math.log(q / p)) for q, p in zip(own, whole, strict=True) if q > 0)


def worst(distance, classes, values):
    return max(distance(shares(members, values), shares(values, values)) for members in classes)


def agree(tables, model, slow):
    """Return how many tables there are, and of how many the verdict is that of a plain definition, and holds."""
    same = [model.audit(release).satisfied == slow(columns, classes) for columns, classes, release in tables]
    held = sum(model.audit(release).satisfied for _, _, release in tables)
    return len(same), sum(same), 0 < held < len(same)  # a verdict that is always the same says little


@pytest.mark.slow
def test_k_is_the_smallest_class(tables):
    assert agree(tables, KAnonymity(k=3), lambda _, classes: min(map(len, classes["s"])) >= 3) == (300, 300, True)


def test_l_is_the_fewest_values_of_a_class(tables):
    model = LDiversity(sensitive="s", l=2)

    assert agree(tables, model, lambda _, classes: min(len(set(each)) for each in classes["s"]) >= 2) == (
        300,
        300,
        True,
    )


def test_t_is_the_largest_distance_of_words_and_of_numbers(tables):
    equal = TCloseness(sensitive="s", t=0.2371)
    ordered = TCloseness(sensitive="n", t=0.1371, distance="ordered")

    assert agree(tables, equal, lambda c, classes: worst(equal_distance, classes["s"], c["s"]) <= 0.2371) == (
        *(300, 300),
        True,
    )
    assert agree(tables, ordered, lambda c, classes: worst(ordered_distance, classes["n"], c["n"]) <= 0.1371) == (
        *(300, 300),
        True,
    )


def test_beta_is_the_largest_gain(tables):
    model = BetaLikeness(sensitive="s", beta=0.6137)

    found = agree(tables, model, lambda c, classes: worst(largest_gain, classes["s"], c["s"]) <= 0.6137)
    assert found == (300, 300, True)


def test_delta_is_the_largest_logarithm_where_no_class_lacks_a_value(tables):
    model = DeltaDisclosure(sensitive="s", delta=0.7137)
    full = [each for each in tables if all(set(members) == set(each[0]["s"]) for members in each[1]["s"])]
    lacking = [each for each in tables if each not in full]

    def slow(columns, classes):
        return worst(largest_logarithm, classes["s"], columns["s"]) < 0.7137

    assert agree(full, model, slow) == (len(full), len(full), True)
    assert len(full) > 100
    assert not any(model.audit(release).satisfied for _, _, release in lacking)  # pyCANON passes over what is lacking
    assert any(slow(columns, classes) for columns, classes, _ in lacking)
