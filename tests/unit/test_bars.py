"""Progress on a terminal: only what takes long, and nothing where nobody watches."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from sfumato import bars
from sfumato.bars import Bars


def shown(*, terminal, patience, monkeypatch):
    monkeypatch.setattr(bars, "PATIENCE", patience)
    screen = io.StringIO()
    with Bars(Console(file=screen, force_terminal=terminal, width=80)) as listening:
        stage = listening.stage("read", total=4)
        stage.advance(2)
        time.sleep(0.3)
        stage.done()
    return screen.getvalue()


@pytest.mark.slow
def test_long_work_shows_a_bar(monkeypatch):
    assert "read" in shown(terminal=True, patience=0.01, monkeypatch=monkeypatch)


@pytest.mark.slow
def test_short_work_shows_nothing(monkeypatch):
    assert "read" not in shown(terminal=True, patience=60, monkeypatch=monkeypatch)


@pytest.mark.slow
def test_nothing_is_shown_where_it_is_not_a_terminal(monkeypatch):
    assert shown(terminal=False, patience=0.01, monkeypatch=monkeypatch).strip() == ""
