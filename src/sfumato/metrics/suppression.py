from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.data.dataset import CodedColumn, CodedSets, visible_labels
from sfumato.data.schema import Role
from sfumato.metrics.base import Measurement, Metric, amount, ratio
from sfumato.metrics.comparison import Comparison


@dataclass(frozen=True, kw_only=True)
class Suppression(Metric):
    """How many rows were dropped, and how many cells of each column no longer show what they showed.

    A cell is generalized when its label is no single original value, and randomized when the release says how likely it
    is to show the true one. A column is empty when every row shows the same although rows differed. Rows of a release
    have no link to those of the original, so replaced values show only where some value occurs more often than before:
    `replaced` is a lower bound.

    >>> before, after = {"age": [20, 25, 30, 40]}, {"age": ["[20, 25]", "[20, 25]", "30"]}
    >>> measured = Suppression().of(Comparison.of_tables(before, after, age="quasi-identifier"))
    >>> measured.value, measured.facts["columns"][0]["changed"]
    (0.25, 0.75)
    """

    name: ClassVar[str] = "suppression"
    main: ClassVar[bool] = True
    by_rows: ClassVar[str] = "it counts rows and cells of the table"

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        dataset, release = comparison.dataset, comparison.release
        columns = [_column(comparison, column) for column in dataset.columns.values()]
        value = ratio(comparison.n_dropped, dataset.total)
        empty, partly = _emptied(columns)
        return Measurement.of_share(
            title=f"{comparison.counted.capitalize()} dropped",
            value=value,
            worst=1.0,
            empty=" and ".join(empty),
            warning=" ".join(f"Nothing is left of {what}: every row shows the same." for what in (*empty, *partly)),
            explanation=f"{amount(comparison.n_dropped)} of {amount(dataset.total)} {comparison.counted} are not in "
            "the release.",
            facts={
                "rows_before": dataset.total,
                "rows": release.total,
                "rows_dropped": comparison.n_dropped,
                "columns": columns,
            },
        )


def _column(comparison: Comparison, column: CodedColumn | CodedSets) -> dict[str, Any]:
    dropped = comparison.n_dropped
    facts: dict[str, Any] = {"name": column.name, "role": column.role.value, "kind": column.kind.value}
    published = comparison.release.columns.get(column.name)
    if isinstance(column, CodedSets):
        n_before = column.items.size
        n_after = published.items.size if isinstance(published, CodedSets) else 0
        return facts | {
            "items_before": n_before,
            "items": n_after,
            "changed": ratio(max(0, n_before - n_after), n_before),
            "empty": bool(n_before and not n_after),
        }
    about = comparison.release.description.get("columns", {}).get(column.name, {})
    if {"domain", "shares", "p"} <= set(about) and about["p"] < 1:
        return facts | _replaced(comparison, column, about)
    if {"domain", "eta", "p"} <= set(about) and (about["eta"] > 1 or about["p"] < 1):
        return facts | _randomized(comparison, len(about["domain"]), about["eta"], about["p"])
    if isinstance(published, CodedSets):  # several values where there was one
        generalized = int((np.diff(published.start) != 1).sum())
        replaced, empty = 0, len(about.get("groups", ())) == 1
    else:
        pair = comparison.pair(column.name)
        shown = pair.cover.value_of >= 0
        before, shown_by = pair.by_rows
        generalized = int(shown_by[~shown].sum())
        after = np.bincount(pair.cover.value_of[shown], shown_by[shown], minlength=len(column.labels))
        replaced = int(np.maximum(after - before, 0).sum())
        empty = len(column.labels) > 1 and len(pair.released.labels) <= 1
    return facts | {
        "generalized": generalized,
        "replaced": replaced,
        "changed": ratio(dropped + generalized + replaced, comparison.n_rows),
        "empty": empty,
    }


def _randomized(comparison: Comparison, values: int, eta: int, p: float) -> dict[str, Any]:
    """What is known of a randomized column: how many values a cell shows, and how likely the true one is among them."""
    true = p + (1 - p) * eta / values
    return {
        "randomized": {"values": values, "shown": eta, "true": true},
        "changed": ratio(comparison.n_dropped + comparison.release.total * (1 - true / eta), comparison.n_rows),
        "empty": eta == values or p == 0,
    }


def _replaced(comparison: Comparison, column: CodedColumn, about: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of a column some of whose values were replaced: how likely a cell shows the true one."""
    p, share_of = about["p"], dict(zip(map(str, about["domain"]), about["shares"], strict=True))
    labels = visible_labels(column, comparison.dataset.schema.missing)
    drawn = np.array([share_of.get(label, 0.0) for label in labels])
    true = p + (1 - p) * float(column.occurrences @ drawn) / max(int(column.occurrences.sum()), 1)
    return {
        "randomized": {"values": len(share_of), "shown": 1, "true": true},
        "changed": ratio(comparison.n_dropped + comparison.release.total * (1 - true), comparison.n_rows),
        "empty": p == 0,
    }


def _emptied(columns: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the roles that no column keeps anything of, and the empty columns of the other roles, for people."""
    wholly, partly = [], []
    for role in dict.fromkeys(column["role"] for column in columns):
        own = [column for column in columns if column["role"] == role]
        empty = [repr(column["name"]) for column in own if column["empty"]]
        if empty and len(empty) == len(own):
            noun = "columns" if len(own) > 1 else "column"
            wholly.append(f"the {role}s" if role == Role.QUASI_IDENTIFIER else f"the {role} {noun} {', '.join(empty)}")
        elif empty:
            partly.append(f"{'column' if len(empty) == 1 else 'columns'} {', '.join(empty)}")
    return wholly, partly
