"""Chance: AES in counter mode, and the order of rows that it gives."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

import sfumato as sf
from sfumato.data import keystream, release
from sfumato.data.keystream import KEY, Keystream, ascending, in_random_order, random_places, seeded_keys

ROWS = np.arange(4, dtype=np.int32)


def test_the_keystream_is_aes_in_counter_mode():
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    key = bytes(range(KEY))
    expected = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(4 * 64))
    stream = Keystream(key, 32)
    assert stream.words(32).tobytes() + stream.words(32).tobytes() == expected


@pytest.mark.slow
def test_every_order_of_rows_is_as_likely_as_every_other():
    keys = seeded_keys(np.random.default_rng(3))
    places = {order: place for place, order in enumerate(permutations(range(4)))}
    drawn = [places[tuple(in_random_order(ROWS, keys()).tolist())] for _ in range(4_800)]

    assert chisquare(np.bincount(drawn, minlength=len(places))).pvalue > 1e-3


def test_rows_of_a_run_without_a_seed_are_put_in_order_by_a_key_of_the_system(monkeypatch):
    used = []
    monkeypatch.setattr(release, "in_random_order", lambda rows, key: used.append(key) or rows)
    plan = sf.Plan.from_dict(
        {"columns": {"a": {"role": "quasi-identifier"}}, "require": [{"model": "k-anonymity", "k": 2}]}
    )

    for seed in (None, None, 7, 7):
        sf.anonymize(pa.table({"a": [1, 1, 2, 2]}), plan, seed=seed)

    assert {len(key) for key in used} == {KEY}
    assert len(set(used)) == 3  # with a seed, the same once more


@pytest.mark.parametrize("n", [0, 1, 2, 7, 1000])
@pytest.mark.parametrize("most", [2, 1 << 10, 1 << 20, 2**64 - 1])
def test_numbers_are_sorted_as_by_a_slow_and_stable_sort(n, most):
    places = np.random.default_rng(n).integers(0, most, n, dtype=np.uint64, endpoint=True)
    assert ascending(places).tolist() == np.argsort(places, kind="stable").tolist()


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 1000])
@pytest.mark.parametrize("span", [(0, 2), (0, 2**64 - 1), (2**63, 2**63 + 50), (2**64 - 2000, 2**64 - 1)])
def test_many_numbers_are_sorted_in_drawers_as_they_are_at_once(n, span, monkeypatch):
    for name, value in (("_MANY", 2), ("_STEP", 64), ("_DRAWERS", 3)):
        monkeypatch.setattr(keystream, name, value)
    found = np.random.default_rng(n).integers(*span, n, dtype=np.uint64, endpoint=True)
    assert ascending(found).tolist() == np.argsort(found, kind="stable").tolist()


def test_the_random_number_of_a_row_does_not_depend_on_the_rows_before_it_that_are_asked_for(monkeypatch):
    key = bytes(range(KEY))
    whole = Keystream(key, 400).words(400).view(np.uint64).copy()
    monkeypatch.setattr(keystream, "_STEP", 8)
    for first, count in ((0, 200), (0, 0), (1, 199), (7, 8), (8, 8), (9, 20), (199, 1)):
        assert np.array_equal(random_places(key, first, count), whole[first : first + count])
