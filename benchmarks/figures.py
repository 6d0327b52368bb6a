"""Tables and plots of a benchmark: printed as they come, and written to a folder when one is given.

figures = Figures(out)
table = figures.table("Cost over k", "k", "method", "cost")
for k in figures.watch([2, 5, 10], "k"):
    table.row(k, "exact", 0.1 * k)
table.plot(x="k", y="cost", by="method")
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import track

from plotting import line_plot

Item = TypeVar("Item")


@dataclass
class Table:
    """Rows that are printed as they come, and kept for a file and for plots."""

    title: str
    columns: tuple[str, ...]
    out: Path | None
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    plots: dict[str, str] = field(default_factory=dict)  # what is drawn -> its picture

    def row(self, *cells: Any) -> None:
        """Add a row, one cell for each column; the csv file is written anew, so a stop loses nothing."""
        assert len(cells) == len(self.columns), f"{len(cells)} cells for {len(self.columns)} columns"
        self.rows.append(cells)
        print(" ".join(f"{shown(cell):>14}" if i else f"{shown(cell):32}" for i, cell in enumerate(cells)), flush=True)
        if self.out is not None:
            with self._file(".csv").open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([self.columns, *self.rows])

    def plot(
        self,
        *,
        x: str,
        y: str | Sequence[str],
        by: str | None = None,
        log: str = "",
        label: str = "",
        where: Mapping[str, Any] | None = None,
    ) -> None:
        """Draw y over x as lines, one for each value of column `by` or each column of y; `log` holds x, y or both.

        Only rows with the cells of `where` are drawn, and these are said in the name of the picture.
        """
        names = [y] if isinstance(y, str) else list(y)
        series = {
            line if len(names) == 1 else name if by is None else f"{name}, {line}": points
            for name in names
            for line, points in self._series(x, name, by, where or {}).items()
        }
        if not series:
            return
        words = label or ", ".join(names)
        drawn = ", ".join([words, *(str(value) for value in (where or {}).values())])
        self.plots[drawn] = line_plot(series, x, words, log)
        if self.out is not None:
            self._file(f"-{_file_name(drawn)}.svg").write_text(self.plots[drawn], encoding="utf-8")

    def cells(self, **wanted: Any) -> list[dict[str, Any]]:
        """Return the rows that have these cells, each by its columns."""
        found = (dict(zip(self.columns, row, strict=True)) for row in self.rows)
        return [row for row in found if all(row.get(name) == value for name, value in wanted.items())]

    def _series(self, x: str, y: str, by: str | None, where: Mapping[str, Any]) -> dict[Any, list[tuple[Any, float]]]:
        series: dict[Any, list[tuple[Any, float]]] = {}
        for row in self.cells(**where):
            if row[y] is not None:
                series.setdefault(row[by] if by else y, []).append((row[x], float(row[y])))
        return series

    def _file(self, ending: str) -> Path:
        assert self.out is not None
        self.out.mkdir(parents=True, exist_ok=True)
        return self.out / f"{_file_name(self.title)}{ending}"


@dataclass(frozen=True)
class Figures:
    """Where the tables and plots of a benchmark go; nowhere but the screen when `out` is None."""

    out: Path | None = None
    tables: dict[str, Table] = field(default_factory=dict)  # by title, as they were begun

    def table(self, title: str, *columns: str) -> Table:
        """Begin a table."""
        print(f"\n## {title}\n")
        print(" ".join(f"{name:>14}" if i else f"{name:32}" for i, name in enumerate(columns)), flush=True)
        self.tables[title] = Table(title, columns, self.out)
        return self.tables[title]

    def watch(self, items: Sequence[Item] | Iterable[Item], what: str) -> Iterator[Item]:
        """Yield items behind a progress bar on standard error, where that is a terminal."""
        console = Console(stderr=True)
        yield from track(
            list(items), description=what, console=console, transient=True, disable=not console.is_terminal
        )


def shown(cell: Any) -> str:
    if cell is None:
        return "-"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _file_name(title: str) -> str:
    words = "".join(letter if letter.isalnum() else " " for letter in title.lower()).split()
    return "-".join(words)
