"""A stop reaches every anonymizer, wherever it is in its work; no thread and no half of a decision is left behind."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from anonymizing import JOBS, Job
from sfumato.anonymizers.base import Deadline, Workplace, side_by_side
from sfumato.errors import Stopped


def asked(times: list[int], last: int) -> Callable[[], bool]:
    """Return a stop that is counted, and says yes from the `last` question on."""

    def stop() -> bool:
        times.append(1)
        return len(times) >= last

    return stop


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("job", JOBS, ids=str)
def test_a_stop_ends_the_work_at_the_next_checkpoint(job: Job, threads: int):
    questions: list[int] = []
    job.decisions(threads=threads, stop=asked(questions, 10**9))
    assert questions, "the work never asks whether it shall end"

    alone = threading.active_count()
    late = len(questions)
    for last in sorted({1, min(2, late), (1 + late) // 2, late}):
        with pytest.raises(Stopped):
            job.decisions(threads=threads, stop=asked([], last))
        assert threading.active_count() == alone


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
def test_what_fails_in_one_thread_ends_the_others_and_is_what_is_heard(threads: int):
    begun = threading.Event()

    def work(job: int, place: Workplace) -> None:
        if job == threads - 1:
            begun.wait(5)
            raise ZeroDivisionError
        begun.set()
        while threads > 1:
            place.checkpoint()

    alone = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        side_by_side(work, range(threads), Workplace(threads=threads))
    assert threading.active_count() == alone


def test_an_interrupt_of_who_waits_ends_all_threads():
    def work(job: int, place: Workplace) -> None:
        if job == 0:
            raise KeyboardInterrupt
        while True:
            place.checkpoint()

    with pytest.raises(KeyboardInterrupt):
        side_by_side(work, range(2), Workplace(threads=2))


def test_a_deadline_is_over_once_it_has_passed_and_never_without_one():
    assert not Deadline().over()
    assert not Deadline(3600).over()
    passed = Deadline(0)
    assert not passed.noticed
    assert passed.over()
    assert passed.noticed
