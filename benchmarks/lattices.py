"""full-domain against every choice of levels on random small lattices: the loss must be the same each time.

    python benchmarks/lattices.py [--tables 500] [--seed 1]

Tables of 8 to 60 rows, one to four quasi-identifiers with random hierarchies of one to three levels above the values,
k-anonymity alone or with distinct l-diversity, none or a fifth of the rows dropped, each of the three losses in turn.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.full_domain import FullDomain
from sfumato.data.builders import Given
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.recoding import Recoding
from sfumato.data.release import publish
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.errors import Unsatisfiable
from sfumato.models import KAnonymity, LDiversity
from sfumato.models.base import Policy, PrivacyModel

Paths = dict[str, tuple[str, ...]]  # of each value: its labels, level by level
LOSSES = ("ncp", "discernibility", "class-size")


def random_paths(rng: np.random.Generator, name: str) -> Paths:
    """Return a hierarchy in which each level joins some groups of the one below."""
    values = [f"{name}{number}" for number in range(rng.integers(2, 6))]
    paths: dict[str, list[str]] = {value: [value] for value in values}
    for level in range(1, int(rng.integers(1, 4))):
        groups = sorted({path[-1] for path in paths.values()})
        joined = {group: f"{name}:{level}:{rng.integers(0, max(len(groups) // 2, 1))}" for group in groups}
        for path in paths.values():
            path.append(joined[path[-1]])
    return {value: (*path, "*") for value, path in paths.items()}


def losses(table: pa.Table, trees: dict[str, Paths], node: tuple[int, ...], models: tuple[PrivacyModel, ...]) -> Any:
    """Return which share of rows must go at a choice of levels, and the losses when they do."""
    n_rows, secrets = table.num_rows, table["s"].to_pylist()
    columns = {name: table[name].to_pylist() for name in trees}
    shown = {
        name: [trees[name][value][level] for value in columns[name]] for name, level in zip(trees, node, strict=True)
    }
    classes: dict[tuple[str, ...], list[int]] = {}
    for row, label in enumerate(zip(*shown.values(), strict=True)):
        classes.setdefault(label, []).append(row)
    k = max(model.k for model in models if isinstance(model, KAnonymity))
    l = max((int(model.l) for model in models if isinstance(model, LDiversity)), default=1)
    kept = [rows for rows in classes.values() if len(rows) >= k and len({secrets[row] for row in rows}) >= l]
    gone = n_rows - sum(map(len, kept))
    lost = float(gone * len(trees))
    for name, labels in shown.items():
        occurring = set(columns[name])
        below = Counter(trees[name][value][node[list(trees).index(name)]] for value in occurring)
        lost += sum((below[labels[row]] - 1) / max(len(occurring) - 1, 1) for rows in kept for row in rows)
    return gone / n_rows, {
        "ncp": lost / (n_rows * len(trees)),
        "discernibility": sum(len(rows) ** 2 for rows in kept) + gone * n_rows,
        "class-size": n_rows / max(len(kept), 1),
    }


def main() -> None:
    """Compare, and end with an error at the first difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng, begin, nodes, met = np.random.default_rng(given.seed), time.process_time(), 0, 0
    for number in range(given.tables):
        trees = {name: random_paths(rng, name) for name in "abcd"[: rng.integers(1, 5)]}
        n_rows = int(rng.integers(8, 60))
        cells = {name: rng.choice(list(paths), n_rows).tolist() for name, paths in trees.items()}
        table = pa.table(cells | {"s": rng.choice(["flu", "flu", "gout"], n_rows).tolist()})
        models: tuple[PrivacyModel, ...] = (KAnonymity(k=int(rng.integers(2, 7))),)
        models += (LDiversity(sensitive="s", l=2),) if number % 2 else ()
        loss, drop_rows = LOSSES[number % 3], 0.2 * (number % 4 > 1)
        every = [losses(table, trees, node, models) for node in product(*(range(_depth(t)) for t in trees.values()))]
        allowed = [found[loss] for gone, found in every if gone <= drop_rows]
        nodes += len(every)
        schema = {name: _spec(name, paths) for name, paths in trees.items()}
        dataset = encode(table, Schema(schema | {"s": ColumnSpec(name="s", role=Role.SENSITIVE)}))
        try:
            search = FullDomain(loss=loss, drop_rows=drop_rows)
            decided = search.anonymize(dataset, Policy(models), Recoding(), Workplace())
        except Unsatisfiable:
            assert not allowed, f"table {number}: refused, though {len(allowed)} choices of levels are allowed"
            continue
        met += 1
        release = publish(dataset, decided, [])
        assert all(model.audit(release).satisfied for model in models), f"table {number}: not safe"
        found = min(allowed)
        reached = _reached(table, trees, release.table(), loss)
        assert abs(reached - found) < 1e-9, f"table {number}: {loss} {reached}, but {found} can be had"
    seconds = time.process_time() - begin
    print(f"{given.tables} lattices, {nodes:,} nodes: {met} met, all as good as the best node, {seconds:.0f} CPU s")


def _depth(paths: Paths) -> int:
    return len(next(iter(paths.values())))


def _spec(name: str, paths: Paths) -> ColumnSpec:
    return ColumnSpec(
        name=name, role=Role.QUASI_IDENTIFIER, hierarchy=Given(Hierarchy.from_paths(list(paths.values())))
    )


def _reached(table: pa.Table, trees: dict[str, Paths], shown: pa.Table, loss: str) -> float:
    """Return the loss of a release, from its labels alone."""
    n_rows, gone = table.num_rows, table.num_rows - shown.num_rows
    sizes = Counter(zip(*(shown[name].to_pylist() for name in trees), strict=True)).values()
    if loss == "discernibility":
        return float(sum(size**2 for size in sizes) + gone * n_rows)
    if loss == "class-size":
        return n_rows / max(len(sizes), 1)
    lost = float(gone * len(trees))
    for name, paths in trees.items():
        occurring = set(table[name].to_pylist())
        for label in shown[name].to_pylist():
            lost += (sum(label in paths[value] for value in occurring) - 1) / max(len(occurring) - 1, 1)
    return lost / (n_rows * len(trees))


if __name__ == "__main__":
    main()
