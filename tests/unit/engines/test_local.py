"""This machine as an engine: threads, and stops that reach them."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading

import pytest

from sfumato.engines import ENGINES, engine_named
from sfumato.engines.local import LocalEngine, available_threads
from sfumato.errors import PolicyError


def test_threads_are_those_wanted_else_all_there_are():
    assert LocalEngine().threads(3) == 3
    assert LocalEngine().threads(None) == available_threads() >= 1


def test_no_thread_at_all_is_refused():
    with pytest.raises(PolicyError, match="at least one"):
        LocalEngine().threads(0)


def test_an_unknown_engine_is_refused_with_those_that_there_are():
    with pytest.raises(PolicyError, match="local"):
        engine_named("cloud")
    assert engine_named("local").name in ENGINES


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_interrupts_the_main_thread_and_who_goes_on_is_not_stopped(number):
    usual = signal.getsignal(number)
    with LocalEngine().stoppable() as stop:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
        assert not stop()

    assert signal.getsignal(number) is usual


def test_a_signal_that_interrupts_nobody_ends_work_at_the_next_checkpoint():
    heard = []
    usual = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with LocalEngine().stoppable() as stop:
            assert not stop()
            signal.raise_signal(signal.SIGINT)
            assert stop()
    finally:
        signal.signal(signal.SIGINT, usual)
    assert heard == [signal.SIGINT]


def test_beside_the_main_thread_signals_are_left_alone():
    usual = signal.getsignal(signal.SIGINT)
    heard = []

    def work():
        with LocalEngine().stoppable() as stop:
            heard.append((stop(), signal.getsignal(signal.SIGINT) is usual))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert heard == [(False, True)]


def test_an_interrupt_that_c_code_drops_is_heard_at_the_next_checkpoint():
    usual = sys.unraisablehook
    interrupt = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))
    with LocalEngine().stoppable() as stop:
        interrupt()
        assert stop()

    assert sys.unraisablehook is usual
