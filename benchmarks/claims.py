"""What four papers print about their figures, each claim with a judge that reads the tables of a run.

A judge says `agrees`, `better` (the claim holds, and sfumato's own search goes beyond it) or `does not agree`, and why
in words with the figures that it read. The figures of the papers themselves are not in their texts; their claims are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from figures import Table

AGREES, BETTER, NOT = "agrees", "better", "does not agree"

Row = dict[str, Any]
Tables = Mapping[str, Table]


class Finding(NamedTuple):
    """What a judge found."""

    verdict: str
    words: str


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper about one of its figures."""

    figure: str  # how titles of its tables begin
    printed: str
    judge: Callable[[Tables], Finding]

    def tables(self, tables: Tables) -> list[Table]:
        """Return the tables of the figure."""
        return [table for title, table in tables.items() if title.startswith(self.figure)]


def rows_of(tables: Tables, title: str, **wanted: Any) -> list[Row]:
    """Return rows of all tables whose title begins so."""
    return [row for name, table in tables.items() if name.startswith(title) for row in table.cells(**wanted)]


def decided(holds: bool, words: str, *, better: bool = False) -> Finding:
    """Return a finding; where a claim holds, sfumato may be better still."""
    return Finding((BETTER if better else AGREES) if holds else NOT, words)


def mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / max(len(found), 1)


def rises(values: Sequence[float]) -> bool:
    return all(a <= b + 1e-9 for a, b in pairwise(values)) and values[-1] > values[0]


def falls(values: Sequence[float]) -> bool:
    return rises([-value for value in values])


def said(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.3g}" for value in values)


# Quasi-sensitive terms.


def adaptive_beats_dfs(figure: str) -> Callable[[Tables], Finding]:
    def judge(tables: Tables) -> Finding:
        by_point: dict[tuple[str, Any], dict[str, float]] = {}
        for title, table in tables.items():
            if title.startswith(figure):
                for row in table.cells():
                    by_point.setdefault((title, row[table.columns[0]]), {})[row["search"]] = row["T"]
        less = sum(point["adaptive"] < point["dfs"] - 1e-9 for point in by_point.values())
        more = sum(point["adaptive"] > point["dfs"] + 1e-9 for point in by_point.values())
        cost = {search: mean(point[search] for point in by_point.values()) for search in ("adaptive", "dfs", "exact")}
        return decided(
            less > 0 and more == 0,
            f"Adaptive removes less than plain depth-first search in {less} of {len(by_point)} settings and more in "
            f"{more} (mean T {cost['adaptive']:.3f} against {cost['dfs']:.3f}); the exact search, which ends with a "
            f"proof, needs {cost['exact']:.3f}.",
            better=cost["exact"] < cost["adaptive"] - 1e-9,
        )

    return judge


def trend_of_searches(parts: Mapping[str, Callable[[Sequence[float]], bool]]) -> Callable[[Tables], Finding]:
    def judge(tables: Tables) -> Finding:
        holds, words = True, []
        for title, goes in parts.items():
            for search in ("adaptive", "exact"):
                cost = [row["T"] for row in rows_of(tables, title, search=search)]
                fits = all(a <= b + 1e-9 for a, b in pairwise(cost if goes is rises else cost[::-1]))
                holds &= fits
                if search == "exact" or not fits:
                    words.append(f"{title.split(':')[0]}, {search}: {said(cost)}")
        return decided(holds, "T along the axis. " + "; ".join(words) + ".")

    return judge


def searches_over_time(tables: Tables) -> Finding:
    title = "Figure 8: cost over time, (1,30)"
    adaptive, dfs, ours = (
        {row["data set"]: row["T"] for row in rows_of(tables, title, search=search)}  # the last row of each counts
        for search in ("adaptive", "dfs", "exact")
    )
    lower = sum(adaptive[each] <= dfs[each] + 1e-9 for each in dfs)
    return decided(
        lower == len(dfs),
        f"(1,30): at the end adaptive is at or below depth-first search on {lower} of {len(dfs)} data sets (T "
        f"{mean(adaptive.values()):.3f} against {mean(dfs.values()):.3f}); the exact search ends within a millisecond "
        f"or two at {mean(ours.values()):.3f}. Neither published search completes: the tree has 2^45 nodes.",
        better=mean(ours.values()) < mean(adaptive.values()) - 1e-9,
    )


def removal_falls_with_k(tables: Tables) -> Finding:
    holds, words = True, []
    for figure in ("Figure 9", "Figure 10", "Figure 11"):
        rows = rows_of(tables, figure)
        axis = next(iter(rows[0]))
        for value in dict.fromkeys(row[axis] for row in rows):
            cost = [row["T"] for row in rows if row[axis] == value]
            holds &= falls(cost)
            words.append(f"{figure}, {axis} = {value:g}: {said(cost)}")
    return decided(holds, "T of removal only, k = 2, 5, 10, generalization only. " + "; ".join(words) + ".")


def privacy_over_k(tables: Tables) -> Finding:
    rows = rows_of(tables, "Figure 9")
    largest = max(row["l"] for row in rows)
    change = {row["release"]: row["change of belief"] for row in rows if row["l"] == largest}
    phases = {name: value for name, value in change.items() if name != "generalization only"}
    best, worst = min(phases, key=phases.__getitem__), max(phases, key=phases.__getitem__)
    return decided(
        best == "removal only" and worst == "k=2",
        f"Mean change of belief at l = {largest:g}: "
        + ", ".join(f"{name} {value:.3f}" for name, value in change.items())
        + ".",
    )


def privacy_by_t(tables: Tables) -> Finding:
    rows = rows_of(tables, "Figure 11")
    lowest, highest = min(row["t squared"] for row in rows), max(row["t squared"] for row in rows)
    by_t = {
        value: {row["release"]: row["change of belief"] for row in rows if row["t squared"] == value}
        for value in (lowest, highest)
    }
    fell = {name: (by_t[highest][name], by_t[lowest][name]) for name in by_t[lowest] if name != "generalization only"}
    return decided(
        all(b < a + 1e-9 for a, b in fell.values()),
        f"Mean change of belief from t² = {highest:g} to {lowest:g}: "
        + ", ".join(f"{name} {a:.3f} to {b:.3f}" for name, (a, b) in fell.items())
        + ".",
    )


def errors_of_queries(dimension: int, *, generalization_is_best: bool) -> Callable[[Tables], Finding]:
    def judge(tables: Tables) -> Finding:
        rows = rows_of(tables, "Figure 12")
        name = f"error qd={dimension}"
        alone = next(row[name] for row in rows if row["release"] == "generalization only, t=.4")
        steps = {row["k"]: row[name] for row in rows if row["release"] == "two steps, t=.4" and row["k"] > 1}
        best = min(steps, key=steps.__getitem__)
        holds = alone <= steps[best] if generalization_is_best else steps[best] < alone and best == min(steps)
        return decided(
            holds,
            f"Mean relative error at qd = {dimension}, t = .4: generalization only {alone:.3f}, two steps "
            + ", ".join(f"k = {k} {error:.3f}" for k, error in steps.items())
            + ".",
        )

    return judge


QUASI_SENSITIVE = (
    Claim(
        "Figure 6",
        "Adaptive term removal significantly outperforms depth-first search for (c,l)-diversity in all four graphs.",
        adaptive_beats_dfs("Figure 6"),
    ),
    Claim(
        "Figure 6",
        "The cost rises with the terms of a record and with l, and falls with the records of a group and with c.",
        trend_of_searches({"Figure 6a": rises, "Figure 6b": falls, "Figure 6c": falls, "Figure 6d": rises}),
    ),
    Claim("Figure 7", "The same for t-closeness.", adaptive_beats_dfs("Figure 7")),
    Claim("Figure 7", "The cost falls with t.", trend_of_searches({"Figure 7c": falls})),
    Claim(
        "Figure 8",
        "On six data sets adaptive search begins lower, completes earlier, and hardly improves its first answer.",
        searches_over_time,
    ),
    Claim(
        "Figure 9", "The larger k, the fewer terms are removed; generalization only removes none.", removal_falls_with_k
    ),
    Claim(
        "Figure 9", "Under (c,l)-diversity removal only is the best for privacy and k = 2 the worst.", privacy_over_k
    ),
    Claim("Figure 11", "With t-closeness, whatever k is, the privacy that is asked for is reached by t.", privacy_by_t),
    Claim("Figure 12", "Generalization only is the best at qd = 1.", errors_of_queries(1, generalization_is_best=True)),
    Claim(
        "Figure 12",
        "At qd = 5 two steps with a small k are better than with a larger one, and than generalization only.",
        errors_of_queries(5, generalization_is_best=False),
    ),
)


# Several sensitive columns.


def one_and_two(tables: Tables) -> Finding:
    ratios: dict[str, list[float]] = {}
    for title, table in tables.items():
        if title.startswith("Figure 3"):
            for search in dict.fromkeys(row["search"] for row in table.cells()):
                for alpha in dict.fromkeys(row["alpha"] for row in table.cells()):
                    alone, both = (
                        next(iter(table.cells(alpha=alpha, columns=f"{n}, {search}")))["total"] for n in (1, 2)
                    )
                    ratios.setdefault(search, []).append(both / alone)
    published, ours = ratios["paper"], ratios["best" if "best" in ratios else "fast"]
    return decided(
        max(ours) <= 1.5,
        f"Two columns lose {min(published):.2f} to {max(published):.2f} times what one does with the published search, "
        f"{min(ours):.2f} to {max(ours):.2f} times with ours.",
        better=max(ours) < max(published),
    )


def over_alpha(tables: Tables) -> Finding:
    rows = rows_of(tables, "Figure 4: distortion over alpha", search="paper")
    quasi, secret = [row["quasi-ids"] for row in rows], [row["sensitive"] for row in rows]
    ours = rows_of(tables, "Figure 4: distortion over alpha", search="fast")
    return decided(
        falls(quasi) and rises(secret),
        f"Published search, alpha {said(row['alpha'] for row in rows)}: quasi-identifiers {said(quasi)}, sensitive "
        f"columns {said(secret)}. Both fall: less is asked for. Ours: {said(row['total'] for row in ours)} in total.",
    )


def strict_alpha(tables: Tables) -> Finding:
    rows = rows_of(tables, "Figure 4: distortion over alpha of classes")
    strict, loose = (
        [row["quasi-ids"] + row["sensitive"] for row in rows if row["alpha of secrets"] == edge]
        for edge in (min(row["alpha of secrets"] for row in rows), max(row["alpha of secrets"] for row in rows))
    )
    lowest = min(row["alpha of secrets"] for row in rows)
    return decided(
        min(strict) > 2 * max(loose),
        f"Ours in total, by alpha of classes: {said(strict)} at alpha of secrets {lowest:g}; {said(loose)} at the "
        "loosest.",
    )


def over_columns(tables: Tables) -> Finding:
    rows = rows_of(tables, "Figure 5")
    words, holds = [], True
    for search in dict.fromkeys(row["search"] for row in rows):
        of = [row for row in rows if row["search"] == search]
        if search == "paper":
            holds = all(rises([row[name] for row in of]) for name in ("quasi-ids", "sensitive", "CPU s"))
        words.append(
            f"{search}: quasi-identifiers {said(row['quasi-ids'] for row in of)}, sensitive "
            f"{said(row['sensitive'] for row in of)}, {said(row['CPU s'] for row in of)} CPU s"
        )
    return decided(holds, "Two, three, four columns. " + "; ".join(words) + ". A column that becomes sensitive is one "
                   "quasi-identifier less.")  # fmt: skip


MULTI_SENSITIVE = (
    Claim("Figure 3", "Diversity of two sensitive columns costs not so much more than of one.", one_and_two),
    Claim("Figure 4", "The loss of quasi-identifiers falls with alpha; that of sensitive columns rises.", over_alpha),
    Claim("Figure 4", "A strict alpha of secrets (0.2) makes both losses terrible.", strict_alpha),
    Claim("Figure 5", "With more sensitive columns both losses and the time rise.", over_columns),
)
