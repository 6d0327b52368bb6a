"""Trials: one a plan, worked out elsewhere, ended by the next change."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import ClassVar

from sfumato.errors import DataError
from sfumato.webapp.showing import TRYING
from sfumato.webapp.trials import Trials
from sfumato.workbench import Lost

ENDED = Lost("gone")


class Slow:
    """Answers when it is let go."""

    made: ClassVar[list] = []

    def __init__(self, path):
        self.go, self.answer = threading.Event(), {"made": True}
        Slow.made.append(self)

    def ask(self, what):
        self.go.wait(10)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def abandon(self):
        self.answer = ENDED
        self.go.set()


def plan(digest, problems=()):
    return SimpleNamespace(name="p", path=None, digest=digest, problems=problems, requirements=[1])


async def settled(trials, given):
    for _ in range(200):
        found = trials.ask(given)
        if found[1] != TRYING:
            return found
        await asyncio.sleep(0.01)
    raise AssertionError


def story(tell):
    Slow.made = []

    async def told():
        trials = Trials(Slow)
        try:
            return await tell(trials)
        finally:
            trials.close()

    return asyncio.run(told())


def test_the_next_change_ends_the_trial_before():
    async def tell(trials):
        assert trials.ask(plan("one")) == (None, TRYING)
        assert trials.ask(plan("one")) == (None, TRYING)
        assert len(Slow.made) == 1
        assert trials.ask(plan("two")) == (None, TRYING)
        first, second = Slow.made
        assert first.answer is ENDED
        second.go.set()
        return await settled(trials, plan("two"))

    assert story(tell) == ({"made": True}, "")


def test_what_goes_wrong_is_said_and_a_lost_one_may_be_asked_for_again():
    async def tell(trials):
        trials.ask(plan("one"))
        Slow.made[0].answer = DataError("The table is gone.")
        Slow.made[0].go.set()
        wrong = await settled(trials, plan("one"))
        trials.ask(plan("two"))
        Slow.made[1].abandon()
        lost = await settled(trials, plan("two"))
        return wrong, lost, trials.ask(plan("two"))

    wrong, lost, again = story(tell)

    assert wrong == (None, "The table is gone.")
    assert "ended" in lost[1]
    assert again == (None, TRYING)


def test_a_plan_with_problems_is_not_tried():
    async def tell(trials):
        return trials.ask(plan("one", {"require": ["wrong"]}))

    assert story(tell)[0] is None
    assert Slow.made == []
