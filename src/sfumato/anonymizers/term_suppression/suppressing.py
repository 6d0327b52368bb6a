"""Removing terms from groups of records, some of which may be joined: what is kept, and what there is to say of it.

Sizes: n rows, g groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Deadline, Workplace
from sfumato.anonymizers.boxes import of_all_rows
from sfumato.anonymizers.published.term_walks import solve_published
from sfumato.anonymizers.term_suppression import search as searching
from sfumato.anonymizers.term_suppression.conditions import TermModel, TermsAsked, in_words
from sfumato.anonymizers.term_suppression.hierarchical import solve_tower
from sfumato.anonymizers.term_suppression.margin import add_margin, drawn
from sfumato.anonymizers.term_suppression.merging import Grove, Solve
from sfumato.anonymizers.term_suppression.records import Ints, Records
from sfumato.data.dataset import CodedSets, Codes
from sfumato.data.terms import without
from sfumato.errors import PolicyError, Unsatisfiable
from sfumato.kernels.terms.subsets import SMALL
from sfumato.progress import Stage

SECONDS = 10.0  # per group for the published searches, as in the paper


@dataclass(frozen=True, eq=False, kw_only=True)
class Said:
    """What there is to say of groups of records."""

    node: NDArray[Any]  # (g,): the node of the split tree, or the class, that each group is
    found: searching.Found  # without records
    in_margin: NDArray[np.bool_]  # (g,): whether it was made safer than asked
    terms: Ints  # (g,) in its records
    removed: Ints  # (g,) of these
    unlinked: Ints  # (g,): records that no label explains as they are
    unit: int  # of costs: how many make one

    def of(self, chosen: NDArray[np.bool_]) -> Said:
        """Return what there is to say of some of the groups, (g,)."""
        by_group = ("node", "in_margin", "terms", "removed", "unlinked")
        return replace(self, found=self.found.of(chosen), **{name: getattr(self, name)[chosen] for name in by_group})


def require_safe(said: Sequence[Said], column: str, requirements: Sequence[TermModel]) -> None:
    """Raise when some group could not be made safe."""
    status, distance = (np.concatenate([getattr(each.found, name) for each in said]) for name in ("status", "distance"))
    bad = np.flatnonzero(status == searching.UNREACHABLE)
    if not bad.size:
        return
    asked = ", ".join(in_words(model) for model in requirements)
    near = np.sqrt(distance[bad].max())
    reach = f"The worst of them comes no closer to the prior than {near:.4g}. " if math.isfinite(near) else ""
    raise Unsatisfiable(
        f"{asked} was asked of column {column!r}, but {bad.size:,} of {status.size:,} groups "
        f"do not reach it, whichever terms are removed.\n{reach}Ask for larger groups (a larger k), raise t, or "
        "give a prior that is nearer to the data."
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Suppressed:
    """What became of a column."""

    sets: CodedSets  # what is published
    class_of: Codes  # (n,) the group of each row, after merging; -1: the row is not published
    node_of: NDArray[np.int64] | None  # (n,) the node of the split tree that each row ended in, when there is one
    merged: int  # how many groups were joined with others
    said: Said


def suppress_terms(
    sets: CodedSets,
    class_of: NDArray[Any],
    asked: TermsAsked,
    *,
    keep_row: NDArray[np.bool_] | None = None,
    parent: NDArray[Any] | None = None,
    loss: NDArray[np.float64] | None = None,
    weight: float = 1.0,
    search: str = "exact",
    node_budget: int = searching.NODES,
    time_limit: float | None = None,
    margin: float = 0.0,
    workplace: Workplace | None = None,
    key: bytes | None = None,
) -> Suppressed:
    """Choose which terms stay so that every group satisfies the requirements at the least cost.

    class_of[row] is the group of a row. With `parent`, class_of holds leaves of a split tree, parent[node] the node
    that each came from (-1 for the root), and groups that cannot be made safe are merged with their siblings;
    `node_of` then tells where each row ended. With `loss`, what is lost on quasi-identifiers when a node is a group,
    siblings are also merged where loss + weight * share of the terms' worth is lower for the union. A share of groups,
    the `margin`, is made safer than asked: drawn by the key, if one is given, each by its node.
    """
    workplace = workplace or Workplace()
    rows = np.arange(class_of.size) if keep_row is None else np.flatnonzero(keep_row)
    home: NDArray[Any]
    home, group_of = np.unique(class_of[rows], return_inverse=True)
    stage = workplace.stage("removing terms", home.size)
    solve = _solver(sets, asked, search, node_budget, time_limit, workplace, stage)
    node_of, merged = None, 0
    if parent is None:
        order, start = searching.groups_as_ranges(group_of, home.size)
        found = solve(rows[order], start)
    else:
        grove = Grove.plant(asked.records, rows, class_of[rows], parent, solve)
        grove.merge_unreachable()
        if loss is not None:
            grove.merge_cheaper(loss, weight)
        found, group_of = grove.found, grove.group_at
        merged, home = int((~np.isin(home, grove.home)).sum()), grove.home
        node_of = of_all_rows(grove.node_at, rows, class_of.size).astype(np.int64)
    safer = np.zeros(home.size, dtype=np.bool_)
    if margin:
        strictly = _solver(sets, asked.stricter, search, node_budget, time_limit, workplace, stage)
        chosen = drawn(int(home.max(initial=-1)) + 1, margin, key or workplace.keys())[home]
        found, safer = add_margin(found, rows, group_of, chosen, strictly)
    stage.done()
    keep = searching.kept_items(asked.records, found)
    new_class = of_all_rows(group_of, rows, class_of.size)

    return Suppressed(
        sets=without(sets, keep),
        class_of=new_class,
        node_of=node_of,
        merged=merged,
        said=_said(asked.records, found, home, new_class, keep, safer),
    )


def _solver(
    sets: CodedSets,
    asked: TermsAsked,
    search: str,
    node_budget: int,
    time_limit: float | None,
    workplace: Workplace,
    stage: Stage,
) -> Solve:
    """Return what solves groups of rows: the exact search, or a published one if records are short enough for it."""
    options: dict[str, Any] = {"advance": stage.advance}
    if search == "exact":
        options |= {"nodes": node_budget, "deadline": Deadline(time_limit), "workplace": workplace}
        if (over := asked.over) is not None:
            return lambda order, start: solve_tower(
                asked.records, order, start, over.unlinked, over.limit, over.tower, **options
            )
        return lambda order, start: searching.solve_all(
            asked.records, order, start, asked.belief, asked.requirement, **options
        )
    links = asked.records.links
    if links.likelihood.size or links.misses or links.worth.size or asked.over is not None:
        raise PolicyError(
            f"search = {search!r} was asked for, but the plan gives weights, misses, worth or a hierarchy: the "
            "published searches take labels that have all terms of a record for equally likely and alike, and terms "
            "for equally useful.\n"
            'Use search = "exact", or leave these out.'
        )
    most = int(np.diff(sets.start).max(initial=0))
    if most > SMALL:
        raise PolicyError(
            f"search = {search!r} was asked for, but a record of column {sets.name!r} has {most} terms.\n"
            f'The published searches stop at {SMALL}. Use search = "exact".'
        )
    options |= {"adaptive": search == "adaptive", "seconds": SECONDS if time_limit is None else time_limit}
    return lambda order, start: solve_published(
        asked.records, order, start, asked.belief, asked.requirement, checkpoint=workplace.checkpoint, **options
    )


def _said(
    records: Records,
    found: searching.Found,
    home: NDArray[Any],
    group_of: Codes,
    keep: NDArray[np.bool_],
    safer: NDArray[np.bool_],
) -> Said:
    """Return what there is to say of groups; group_of[row] is -1 where a row takes no part."""

    def count(of: NDArray[Any], weights: NDArray[Any] | None = None) -> Ints:
        return np.bincount(of, weights, minlength=home.size + 1)[1:].astype(np.int64)

    group_of_item = np.repeat(group_of, np.diff(records.start)) + 1
    return Said(
        node=home,
        found=found._replace(kept_bits=found.kept_bits[:0]),
        in_margin=safer,
        terms=count(group_of_item),
        removed=count(group_of_item, ~keep),
        unlinked=count(group_of + 1, ~records.linked),
        unit=records.unit,
    )


def facts_of(said: Sequence[Said], merged: int, search: str, *, margin: bool) -> dict[str, Any]:
    """Return what the holder's report says, of groups that were worked on in one place or in several."""
    unit = math.lcm(*(each.unit for each in said))
    by_node = np.argsort(np.concatenate([each.node for each in said]), kind="stable")

    def whole(name: str) -> int:
        return sum(int(getattr(each.found, name).sum()) * (unit // each.unit) for each in said)

    def every(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(each.found, name) for each in said])[by_node]

    cost, own = every("cost"), every("total")
    own = np.divide(cost, own, out=np.zeros(cost.size), where=own > 0)
    status, proven, total = every("status"), every("proven"), max(whole("total"), 1)
    facts = {
        "search": search,
        "cost": whole("cost") / total,
        "cost_mean_over_groups": float(own.mean()) if own.size else 0.0,
        "lower_bound": whole("bound") / total,
        "proven": float(proven.mean()) if proven.size else 1.0,
        "groups": int(status.size),
        "groups_changed": int(((status == searching.SOLVED) & (cost > 0)).sum()),
        "groups_merged": merged,
        "groups_unreachable": int((status == searching.UNREACHABLE).sum()),
        "terms": sum(int(each.terms.sum()) for each in said),
        "terms_removed": sum(int(each.removed.sum()) for each in said),
        "unlinked_records": sum(int(each.unlinked.sum()) for each in said),
        "nodes": int(every("nodes").sum()),
    }
    return facts | ({"groups_in_margin": sum(int(each.in_margin.sum()) for each in said)} if margin else {})
