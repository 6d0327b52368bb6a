"""Top-down control: generalize items that are not sensitive, delete whole types of those that are."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.items import ColumnByColumn, Kept, Task, whole_tasks_of
from sfumato.anonymizers.published.global_suppression import suppress_types
from sfumato.data.dataset import CodedSets, Dataset, starts_of
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.recoding import Recoding
from sfumato.data.schema import SensitiveShare
from sfumato.errors import DataError
from sfumato.kernels.items.supports import item_codes, make_baskets
from sfumato.models.base import Policy, PrivacyModel
from sfumato.models.rho_uncertainty import RhoUncertainty
from sfumato.parameters import Takes, parameter, parametrized


@parametrized
class TdControl(ColumnByColumn[tuple[Task, "_Tree"]]):
    """Split a hierarchy of items from the top, and publish the cut that loses least, after Cao et al. (2010).

    At first all items that are not sensitive are one, and sensitive types are deleted until no rule is unsafe. Then the
    node whose split tells most is split, further sensitive types go where that makes rules unsafe, and so on. Of all
    cuts on the way, the one with the lowest total loss is published: undoing each split that loses at first would end
    the search at the root, most often where rho asks for little. A generalized occurrence loses
    (leaves below its node - 1) / (all leaves - 1), a deleted one 1; items of a record that are published as one label
    are all generalized. Without a hierarchy of the column a balanced tree over its items in order stands in.
    """

    name: ClassVar[str] = "td-control"
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = (RhoUncertainty,)

    splits: int = parameter(
        Takes.WHOLE, "Splits", "Nodes that are tried, those that tell most first.", default=64, least=0
    )

    def jobs(self, dataset: Dataset, policy: Policy, before: Recoding) -> Iterator[tuple[Task, _Tree]]:
        """Yield each column, or raise where secrets are not known by name, or a hierarchy does not fit the others."""
        for task in whole_tasks_of(self.name, dataset, policy, before):
            yield task, _tree_of(task.column, dataset)

    def done(self, job: tuple[Task, _Tree], workplace: Workplace) -> tuple[CodedSets, dict[str, Any]]:
        """Return the column with generalized items, and without the sensitive types that had to go."""
        return _specialize(*job, self.splits, workplace)


def _tree_of(column: CodedSets, dataset: Dataset) -> _Tree:
    """Return the tree of a column, or raise where it cannot have one."""
    spec = dataset.schema.spec(column.name)
    if spec is not None and isinstance(spec.sensitive_items, SensitiveShare):
        raise DataError(
            f"td-control was asked for column {column.name!r}, whose sensitive items are drawn at random.\n"
            "It publishes new labels, which might be drawn, too: name the sensitive items."
        )
    given = spec.hierarchy if spec is not None else None
    what = f"The hierarchy of column {column.name!r}"
    return _Tree(column, given.build(_plain(column), what, secret=True) if given is not None else None)


def _plain(column: CodedSets) -> list[str]:
    assert column.sensitive is not None
    return [label for label, secret in zip(column.labels, column.sensitive, strict=True) if not secret]


class _Tree:
    """A hierarchy over the items of a column that are not sensitive; nodes are numbered as in the hierarchy."""

    def __init__(self, column: CodedSets, hierarchy: Hierarchy | None) -> None:
        plain = _plain(column)
        self.hierarchy = hierarchy if hierarchy is not None else Hierarchy.balanced(plain)
        absent = [label for label in plain if label not in self.hierarchy.node_of]
        if absent:
            raise DataError(
                f"The hierarchy of column {column.name!r} lacks {len(absent):,} of {len(plain):,} items that are not "
                "sensitive.\nAdd them to the hierarchy."
            )
        labels = self.hierarchy.labels
        taken = set(column.labels) - set(plain)
        if taken & set(labels):
            raise DataError(
                f"The hierarchy of column {column.name!r} has labels that are sensitive items.\n"
                "Leave sensitive items out of it, and give its nodes other names."
            )
        self.children: list[list[int]] = [[] for _ in labels]
        for node, above in enumerate(self.hierarchy.parent):
            if above >= 0:
                self.children[above].append(node)
        self.leaf_of = np.array([self.hierarchy.node_of.get(label, -1) for label in column.labels], dtype=np.int64)
        # What an occurrence loses that is published as a node.
        self.loss = (np.array([*map(len, self.hierarchy.below)]) - 1) / max(self.hierarchy.n_leaves - 1, 1)


def _specialize(task: Task, tree: _Tree, splits: int, workplace: Workplace) -> tuple[CodedSets, dict[str, Any]]:
    """Split from the top, and return what is published."""
    baskets = task.baskets
    node_of = np.full(len(tree.hierarchy.labels), len(tree.hierarchy.labels) - 1, dtype=np.int64)  # of leaves
    count = np.bincount(baskets.items, minlength=tree.leaf_of.size)
    weight = np.zeros(len(tree.hierarchy.labels), dtype=np.int64)  # occurrences below each node
    np.add.at(weight, tree.leaf_of[tree.leaf_of >= 0], count[tree.leaf_of >= 0])
    for node, above in enumerate(tree.hierarchy.parent):
        if above >= 0:
            weight[above] += weight[node]
    gone = np.zeros(tree.leaf_of.size, dtype=np.bool_)
    stage = workplace.stage("splitting nodes", total=splits)
    general, kept, gone = _safe(task, tree, node_of, gone, None, workplace)
    best = (_total_loss(tree, weight, node_of, count, gone), general, kept, gone, node_of)
    root = len(tree.hierarchy.labels) - 1
    heap = [(-_gain(tree, weight, root), root)]
    done = 0
    while heap and done < splits:
        _, node = heapq.heappop(heap)
        if not tree.children[node]:
            continue
        done += 1
        stage.advance()
        node_of = node_of.copy()
        for child in tree.children[node]:
            node_of[tree.hierarchy.below[child]] = child
        general, kept, gone = _safe(task, tree, node_of, gone, tree.children[node], workplace)
        loss = _total_loss(tree, weight, node_of, count, gone)
        if loss < best[0]:
            best = (loss, general, kept, gone, node_of)
        for child in tree.children[node]:
            heapq.heappush(heap, (-_gain(tree, weight, child), child))
    stage.done()
    loss, general, kept, gone, node_of = best
    facts = {
        "records": int(baskets.start.size - 1),
        "occurrences": int(baskets.items.size),
        "withheld": int(count[gone].sum()),
        "sensitive_occurrences": int(count[baskets.sensitive].sum()),
        "sensitive_withheld": int(count[gone].sum()),
        "types_deleted": int(gone.sum()),
        "nodes_published": int(np.unique(node_of[: tree.hierarchy.n_leaves]).size),
        "loss": loss / max(baskets.items.size, 1),
    }
    return _published(task, tree, general, kept), facts


def _gain(tree: _Tree, weight: NDArray[np.int64], node: int) -> float:
    after = sum(float(weight[child] * tree.loss[child]) for child in tree.children[node])
    return float(weight[node] * tree.loss[node]) - after


def _total_loss(
    tree: _Tree, weight: NDArray[np.int64], node_of: NDArray[np.int64], count: NDArray[np.int64], gone: Kept
) -> float:
    leaves = np.arange(tree.hierarchy.n_leaves)
    return float((weight[leaves] * tree.loss[node_of[leaves]]).sum() + count[gone].sum())


def _safe(
    task: Task, tree: _Tree, node_of: NDArray[np.int64], gone: Kept, changed: Sequence[int] | None, workplace: Workplace
) -> tuple[Task, Kept, Kept]:
    """Return the table under a cut of the tree, what of it is kept once it is safe, and which sensitive types go."""
    baskets = task.baskets
    n_nodes = node_of.size
    new_item = np.where(tree.leaf_of >= 0, node_of[tree.leaf_of], n_nodes + np.arange(tree.leaf_of.size))
    width = n_nodes + tree.leaf_of.size
    record = np.repeat(np.arange(baskets.start.size - 1), np.diff(baskets.start))
    left = ~gone[baskets.items]
    keys = record[left] * width + new_item[baskets.items[left]]
    keys.sort()
    keys = keys[np.append(True, keys[1:] > keys[:-1])] if keys.size else keys
    record, items = np.divmod(keys, width)
    start = starts_of(np.bincount(record, minlength=baskets.start.size - 1))
    sensitive = np.append(np.zeros(n_nodes, dtype=np.bool_), baskets.sensitive)
    general = replace(
        task, baskets=make_baskets(start, items.astype(np.int32), sensitive, item_codes(width)), in_baskets=None
    )
    involved = None
    if changed is not None:
        involved = np.zeros(width, dtype=np.bool_)
        involved[list(changed)] = True
    kept = suppress_types(general, workplace.checkpoint, changed=involved)
    lost = np.bincount(items[~kept], minlength=width)[n_nodes:] > 0
    return general, kept, gone | lost


def _published(task: Task, tree: _Tree, general: Task, kept: Kept) -> CodedSets:
    """Return the column under its new labels, in the order of their text."""
    column, baskets = task.column, general.baskets
    names = np.array([*tree.hierarchy.labels, *column.labels], dtype=object)
    used = np.flatnonzero(np.bincount(baskets.items[kept], minlength=names.size))
    used = used[np.argsort(names[used])]
    code_of = np.zeros(names.size, dtype=np.int64)
    code_of[used] = np.arange(used.size)
    record = np.repeat(np.arange(baskets.start.size - 1), np.diff(baskets.start))[kept]
    items = code_of[baskets.items[kept]]
    order = np.lexsort((items, record))
    labels, sensitive = tuple(names[used]), baskets.sensitive[used]
    return column.with_items(record[order], items[order], labels=labels, sensitive=sensitive)
