"""Threads of this machine, and word of compiling."""

from __future__ import annotations

import numba
import pytest

from sfumato.engines.local import available_threads, use_threads, when_compiling
from sfumato.errors import PolicyError


def test_threads_are_set_inside_and_restored_afterwards():
    before = numba.get_num_threads()

    with use_threads(1):
        assert numba.get_num_threads() == 1

    assert numba.get_num_threads() == before
    assert available_threads() >= 1


def test_more_threads_than_there_are_is_as_many_as_there_are():
    with use_threads(10_000):
        assert numba.get_num_threads() == numba.config.NUMBA_NUM_THREADS


def test_no_thread_at_all_is_refused():
    with pytest.raises(PolicyError, match="at least one"), use_threads(0):
        pass


def test_compiling_is_told_once():
    told = []
    double = numba.njit(lambda x: x * 2)

    with when_compiling(lambda: told.append("compiling")):
        double(1)
        double(1.5)

    assert told == ["compiling"]
    numba.njit(lambda x: x * 3)(1)
    assert told == ["compiling"]
