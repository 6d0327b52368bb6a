"""How long work tells that it goes on, without knowing who listens.

Work calls `stage`; a command line shows a bar, a test counts, a library call stays silent.
"""

from __future__ import annotations

from typing import Protocol


class Stage(Protocol):
    """One named piece of work under way."""

    def advance(self, steps: float = 1) -> None:
        """Say that `steps` of the announced total are done."""

    def done(self) -> None:
        """Say that the piece is finished."""


class Progress(Protocol):
    """Somebody who wants to know how work goes on."""

    def stage(self, name: str, total: float | None = None) -> Stage:
        """Begin a piece of work with `total` steps (None: not known)."""


class _SilentStage:
    def advance(self, steps: float = 1) -> None:
        pass

    def done(self) -> None:
        pass


class Silent:
    """Nobody listens: the default in Python."""

    def stage(self, name: str, total: float | None = None) -> Stage:
        """Begin a piece of work that nobody watches."""
        return _SilentStage()


SILENT = Silent()
