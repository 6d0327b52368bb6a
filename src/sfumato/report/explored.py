"""A sweep as its holder sees it in Python: combinations, the frontier, and a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.disk import atomic_file
from sfumato.parameters import one_of
from sfumato.report.notebook import Framed
from sfumato.report.sweep import render_sweep, sweep_text


@dataclass(frozen=True, eq=False)
class Sweep:
    """What each combination of settings costs. Shows itself in a notebook."""

    facts: Mapping[str, Any]  # everything as plain data, as in sweep.json

    @property
    def cells(self) -> Sequence[Mapping[str, Any]]:
        """The combinations: their values, whether they hold or why not, verdicts, measurements, attacks."""
        return tuple(self.facts["cells"])

    @property
    def frontier(self) -> Sequence[Mapping[str, Any]]:
        """The combinations that none beats in both strictness and loss, loosest first."""
        return tuple(self.cells[place] for place in self.facts["frontier"])

    def frontier_of(self, loss: str) -> Sequence[Mapping[str, Any]]:
        """The combinations that none beats in both strictness and one of several losses, loosest first."""
        known = {entry["name"]: entry["frontier"] for entry in self.facts["losses"]}
        return tuple(self.cells[place] for place in known[one_of(loss, "The loss", known)])

    @property
    def knee(self) -> Mapping[str, Any] | None:
        """The combination where the frontier bends, if it does."""
        place = self.facts["knee"]
        return None if place is None else self.cells[place]

    def report(self, path: str | Path) -> Path:
        """Write the page, which opens without network, and return where it is."""
        with atomic_file(Path(path)) as temporary:
            temporary.write_text(render_sweep(self.facts), encoding="utf-8")
        return Path(path)

    def __str__(self) -> str:
        return sweep_text(self.facts)

    def _repr_html_(self) -> str:
        return Framed(render_sweep(self.facts), 640)._repr_html_()
