"""Cross tables as an analyst computes them back from a randomized release, against those of the original."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedColumn, visible_labels
from sfumato.data.release import Release
from sfumato.errors import DataError, PolicyError
from sfumato.metrics.base import Asked, Estimate, Measurement, Metric, amount
from sfumato.metrics.comparison import Comparison

MANY = 500_000  # records: computing one table back takes as long as randomizing them all


@dataclass(frozen=True, kw_only=True)
class CrossTables(Metric):
    """How far reconstructed tables are from the true ones: L1, L2 and Hellinger distance of their shares.

    Tables are those named, or some random ones of one, two and three randomized columns. `estimate` computes a table
    back from a release.
    """

    name: ClassVar[str] = "cross-tables"
    main: ClassVar[bool] = True
    by_rows: ClassVar[str] = "tables are computed back from random sets record by record"

    estimate: Estimate | None = None
    tables: tuple[tuple[str, ...], ...] = ()
    most_columns: int = 3
    of_each: int = 3  # random tables of each number of columns; of a release of very many records only one
    most_cells: int = 5_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.most_columns < 1 or self.of_each < 1:
            raise PolicyError("Cross tables need at least one column and one table of each number of columns.")

    @classmethod
    def suited_to(cls, comparison: Comparison, asked: Asked) -> Iterator[Self]:
        """Yield the metric where columns are randomized, or tables named, and something can compute them back."""
        if asked.estimate is not None and (asked.tables or randomized_columns(comparison.release)):
            yield cls(estimate=asked.estimate, tables=asked.tables, seed=asked.seed)

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        chosen = self.tables or tuple(self._random(comparison))
        found = [self._distances(comparison, names) for names in chosen]
        value, worst = (float(np.mean([table[key] for table in found] or [0.0])) for key in ("l1", "even_l1"))
        return Measurement.of_share(
            title="Error of reconstructed tables",
            value=value,
            worst=worst,
            note=f"{amount(worst, 'share')} for tables that say nothing",
            explanation=f"An analyst's {len(found)} tables of {_columns(found)} are off by {amount(value, 'share')} "
            f"of the {comparison.those} on average, all cells together (L1). Tables that say the same for every cell "
            f"are off by {amount(worst, 'share')}.",
            facts={"tables": found},
        )

    def _random(self, comparison: Comparison) -> Iterator[tuple[str, ...]]:
        """Yield different random tables that are not too large, of few columns first."""
        rng = np.random.default_rng(self.seed)
        names = randomized_columns(comparison.release)
        domain = comparison.release.description["columns"]
        of_each = self.of_each if comparison.release.total <= MANY else 1
        for size in range(1, min(self.most_columns, len(names)) + 1):
            seen: set[tuple[str, ...]] = set()
            for _ in range(20 * self.of_each):
                picked = tuple(sorted(rng.choice(len(names), size, replace=False).tolist()))
                table = tuple(names[place] for place in picked)
                if table in seen or math.prod(len(domain[name]["domain"]) for name in table) > self.most_cells:
                    continue
                seen.add(table)
                yield table
                if len(seen) == of_each:
                    break

    def _distances(self, comparison: Comparison, names: Sequence[str]) -> dict[str, Any]:
        if self.estimate is None:
            raise PolicyError("Cross tables were to be measured, but nothing says how they are computed back.")
        answer = self.estimate(comparison.release, names)
        truth = true_table(comparison, names, [axis.labels for axis in answer.axes])
        return {
            "columns": list(names),
            "cells": int(truth.size),
            **distances(answer.counts, truth),
            "even_l1": distances(np.ones(truth.shape), truth)["l1"],
            "expected_l2": answer.expected.l2,
        }


def randomized_columns(release: Release) -> list[str]:
    """Return the columns that tell more than nothing and less than everything, by what the release states."""
    found = []
    for name, about in release.description.get("columns", {}).items():
        if name in release.columns and {"domain", "groups"} <= set(about):
            if 1 < len(about["groups"]) < len(about["domain"]):
                found.append(name)
        elif name in release.columns and {"domain", "shares", "p"} <= set(about):
            if 0 < about["p"] < 1:
                found.append(name)
        elif name in release.columns and {"domain", "eta", "p"} <= set(about):
            informative = about["p"] > 0 and about["eta"] < len(about["domain"])
            if informative and (about["eta"] > 1 or about["p"] < 1):
                found.append(name)
    return found


def true_table(comparison: Comparison, names: Sequence[str], labels: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Return how often each combination of labels occurs in the original."""
    place = np.zeros(comparison.dataset.n_rows, dtype=np.int64)
    for name, shown in zip(names, labels, strict=True):
        column = comparison.dataset.columns.get(name)
        if not isinstance(column, CodedColumn):
            raise DataError(f"A table of column {name!r} was to be compared, which has no single values to count.")
        place_of = {label: code for code, label in enumerate(shown)}
        found = visible_labels(column, comparison.dataset.schema.missing)
        if any(label not in place_of for label in found):
            raise DataError(
                f"A table of column {name!r} was to be compared, but the release shows it with other labels.\n"
                "Compare tables of randomized columns, or of columns that are published as they are."
            )
        place = place * len(shown) + np.array([place_of[label] for label in found], dtype=np.int64)[column.codes]
    shape = [len(shown) for shown in labels]
    counts = np.bincount(place, comparison.dataset.weights, minlength=math.prod(shape))
    return counts.reshape(shape).astype(np.float64)


def distances(estimate: NDArray[np.float64], truth: NDArray[np.float64]) -> dict[str, float]:
    """Return L1, L2 and Hellinger distance of two tables as shares of their totals.

    >>> distances(np.array([1.0, 1.0]), np.array([2.0, 0.0]))["l1"]
    1.0
    """
    p, q = (table / max(float(table.sum()), 1e-300) for table in (np.asarray(estimate), np.asarray(truth)))
    return {
        "l1": float(np.abs(p - q).sum()),
        "l2": float(np.sqrt(((p - q) ** 2).sum())),
        "hellinger": float(np.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2)),
    }


def _columns(tables: Sequence[dict[str, Any]]) -> str:
    sizes = sorted({len(table["columns"]) for table in tables})
    return f"{', '.join(map(str, sizes))} column(s)" if sizes else "no columns"
