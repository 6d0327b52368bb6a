"""Tables and plots of a benchmark: printed as they come, and written to a folder when one is given.

figures = Figures(out)
table = figures.table("Cost over k", "k", "method", "cost")
for k in figures.watch([2, 5, 10], "k"):
    table.row(k, "exact", 0.1 * k)
table.plot(x="k", y="cost", by="method")
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import track

Item = TypeVar("Item")


@dataclass
class Table:
    """Rows that are printed as they come, and kept for a file and for plots."""

    title: str
    columns: tuple[str, ...]
    out: Path | None
    rows: list[tuple[Any, ...]] = field(default_factory=list)

    def row(self, *cells: Any) -> None:
        """Add a row, one cell for each column; the csv file is written anew, so a stop loses nothing."""
        assert len(cells) == len(self.columns), f"{len(cells)} cells for {len(self.columns)} columns"
        self.rows.append(cells)
        print(
            " ".join(f"{_shown(cell):>14}" if i else f"{_shown(cell):32}" for i, cell in enumerate(cells)), flush=True
        )
        if self.out is not None:
            with self._file(".csv").open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([self.columns, *self.rows])

    def plot(self, *, x: str, y: str | Sequence[str], by: str | None = None, log: str = "", label: str = "") -> None:
        """Draw y over x as lines, one for each value of column `by` or each column of y; `log` holds x, y or both."""
        if self.out is None or not self.rows:
            return
        try:
            from matplotlib.figure import Figure
        except ImportError:
            print("No plot: matplotlib is not installed (pip install 'sfumato[bench]').")
            return
        names = [y] if isinstance(y, str) else list(y)
        figure = Figure(figsize=(6, 4), layout="constrained")
        axes = figure.add_subplot()
        for name in names:
            for series, points in self._series(x, name, by).items():
                text = str(series) if len(names) == 1 else name if by is None else f"{name}, {series}"
                axes.plot(*zip(*points, strict=True), marker="o", markersize=4, label=text)
        axes.set(title=self.title, xlabel=x, ylabel=label or ", ".join(names))
        axes.set_xscale("log" if "x" in log else axes.get_xscale())
        axes.set_yscale("log" if "y" in log else axes.get_yscale())
        axes.grid(visible=True, alpha=0.3)
        if by is not None or len(names) > 1:
            axes.legend(fontsize="small")
        figure.savefig(self._file(f"-{_file_name(label or names[0])}.svg"))

    def _series(self, x: str, y: str, by: str | None) -> dict[Any, list[tuple[Any, float]]]:
        series: dict[Any, list[tuple[Any, float]]] = {}
        for row in self.rows:
            cells = dict(zip(self.columns, row, strict=True))
            if cells[y] is not None:
                series.setdefault(cells[by] if by else y, []).append((cells[x], float(cells[y])))
        return series

    def _file(self, ending: str) -> Path:
        assert self.out is not None
        self.out.mkdir(parents=True, exist_ok=True)
        return self.out / f"{_file_name(self.title)}{ending}"


@dataclass(frozen=True)
class Figures:
    """Where the tables and plots of a benchmark go; nowhere but the screen when `out` is None."""

    out: Path | None = None

    def table(self, title: str, *columns: str) -> Table:
        """Begin a table."""
        print(f"\n## {title}\n")
        print(" ".join(f"{name:>14}" if i else f"{name:32}" for i, name in enumerate(columns)), flush=True)
        return Table(title, columns, self.out)

    def watch(self, items: Sequence[Item] | Iterable[Item], what: str) -> Iterator[Item]:
        """Yield items behind a progress bar on standard error, where that is a terminal."""
        console = Console(stderr=True)
        yield from track(
            list(items), description=what, console=console, transient=True, disable=not console.is_terminal
        )


def _shown(cell: Any) -> str:
    if cell is None:
        return "-"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _file_name(title: str) -> str:
    words = "".join(letter if letter.isalnum() else " " for letter in title.lower()).split()
    return "-".join(words)
