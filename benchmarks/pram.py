"""pram beside randomization at the same t: what tables lose as published and computed back, and what drawing costs.

    python benchmarks/pram.py DATA [--runs 5] [--rows 1000000]

Adult with work class, marital status and race as sensitive quasi-identifiers; the sex is published as it is. Errors are
L1 distances of shares, mean of tables and runs.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

import sfumato as sf

COLUMNS = ("workclass", "marital-status", "race")
TABLES = [(name,) for name in COLUMNS] + list(combinations((*COLUMNS, "sex"), 2))


def plan_of(table: pa.Table, t: float, anonymizer: str) -> sf.Plan:
    """Return a plan that asks the same closeness of all three columns."""
    domains = {name: sorted(set(table[name].to_pylist())) for name in COLUMNS}
    return sf.Plan.from_dict(
        {
            "columns": {
                **{name: {"role": "sensitive-quasi-identifier", "domain": domains[name]} for name in COLUMNS},
                "*": {"role": "other"},
            },
            "require": [{"model": "sensitive-qid-closeness", "t": dict.fromkeys(COLUMNS, t), "anonymizer": anonymizer}],
            "anonymizers": {anonymizer: {"dependence": "allow"}},
        }
    )


def shares(table: Any, names: tuple[str, ...], labels: list[list[str]]) -> np.ndarray:
    """Return the shares of all combinations of values."""
    found = Counter(zip(*(table[name].to_pylist() for name in names), strict=True))
    return np.array([found[each] for each in product(*labels)]) / table.num_rows


def compare(table: pa.Table, t: float, runs: int) -> None:
    """Print the errors of both for one t."""
    for anonymizer in ("randomization", "pram"):
        errors: dict[str, list[float]] = {"1": [], "2": [], "1 as published": [], "2 as published": []}
        for run in range(runs):
            made = sf.anonymize(table, plan_of(table, t, anonymizer), seed=run)
            assert all(verdict.satisfied for verdict in made.verdicts)
            for names in TABLES:
                answer = sf.reconstruct(made.release, list(names))
                labels = [list(axis.labels) for axis in answer.axes]
                truth = shares(table, names, labels)
                estimate = answer.counts.ravel() / table.num_rows
                errors[f"{len(names)}"].append(float(np.abs(estimate - truth).sum()))
                if anonymizer == "pram":
                    shown = shares(made.release.data, names, labels)
                    errors[f"{len(names)} as published"].append(float(np.abs(shown - truth).sum()))
        about = made.release.description["columns"]
        p = ", ".join(f"{about[name]['p']:.2f}" for name in COLUMNS)
        figures = "; ".join(f"{what} {np.mean(found):.3f}" for what, found in errors.items() if found)
        print(f"t = {t}, {anonymizer} (p {p}): L1 of tables of {figures}")


def drawing(rows: int) -> None:
    """Print what drawing costs, a cell."""
    from fractions import Fraction

    from sfumato.anonymizers.base import Workplace
    from sfumato.anonymizers.pram import Matrix, draw
    from sfumato.data.keystream import system_keys

    rng = np.random.default_rng(1)
    codes, matrix = (
        rng.integers(0, 14, rows).astype(np.int32),
        Matrix(Fraction(2, 5), rng.multinomial(10_000, [1 / 14] * 14)),
    )
    begin = time.process_time()
    draw(codes, np.arange(14, dtype=np.int32), matrix, system_keys, Workplace())
    print(f"{rows:,} cells drawn in {time.process_time() - begin:.2f} CPU s")


def main() -> None:
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    given = parser.parse_args()
    path = given.data / "adult" / "adult_arx.csv.gz"
    table = pa_csv.read_csv(path, parse_options=pa_csv.ParseOptions(delimiter=";")).select([*COLUMNS, "sex"])
    for t in (0.2, 0.4):
        compare(table, t, given.runs)
    drawing(given.rows)


if __name__ == "__main__":
    main()
