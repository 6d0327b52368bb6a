"""Sensitive quasi-identifiers: the published figures on Adult and a made-up census, and variants against one another.

    python benchmarks/sensitive_qids.py DATA [--quick] [--only WORD] [--queries 20] [--rows 2458285] [--out FOLDER]

DATA is a folder with adult/adult_train.csv.gz and adult/adult_test.csv.gz (UCI Adult with a header line); the census of
1990 is tabular/uscensus1990.csv.gz there, else made up. Prints the acceptance
rows first, then the settings of the paper's Figures 1 to 7; with --out every table is also a csv file and a plot. Times
are CPU seconds of this process.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv

from figures import Figures
from made_up_census import CensusColumn, census
from rating import dataset_of, grouped, rated, truth
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.randomization import draw
from sfumato.anonymizers.randomization.parameters import Closeness, Parameters, choose
from sfumato.data.bit_sets import BitSets
from sfumato.data.dataset import counted
from sfumato.data.keystream import seeded_keys, system_keys
from sfumato.data.schema import Role
from sfumato.estimators import BUDGET, Auto, Axis, Inverse, Paper, ValueAdding
from sfumato.estimators.kronecker import combinations_shown
from sfumato.estimators.paper import bayes_step
from sfumato.estimators.records import Cells, Records
from sfumato.metrics.cross_tables import distances

WORDS = ("ratios", "adult", "census", "times", "picture")
LS, TS = (2, 5, 10), (0.1, 0.3, 0.5)
THREADS = 2


# Data.


def adult(folder: Path) -> list[CensusColumn]:
    """Return the 45,222 complete records of Adult, numbers in bins."""
    rows: list[list[str]] = []
    names: list[str] = []
    for part in ("train", "test"):
        with gzip.open(folder / "adult" / f"adult_{part}.csv.gz", "rt", encoding="utf-8", newline="") as file:
            reader = csv.reader(file)
            names = next(reader)
            rows += [row for row in reader if "?" not in row]
    bins: dict[str, Callable[[float], float]] = {
        "age": lambda value: value // 2,
        "fnlwgt": lambda value: value // 50_000,
        "hours-per-week": lambda value: value // 5,
        "capital-gain": lambda value: 0 if not value else 1 + 2 * math.log10(value) // 1,
        "capital-loss": lambda value: 0 if not value else 1 + 2 * math.log10(value) // 1,
    }
    found = []
    for place, name in enumerate(names):
        values = [bins[name](float(row[place])) if name in bins else row[place] for row in rows]
        code_of = {value: code for code, value in enumerate(sorted(set(values)))}  # type: ignore[type-var]
        found.append(CensusColumn(name, np.array([code_of[value] for value in values], dtype=np.int32), len(code_of)))
    return found


def people(folder: Path, rows: int, columns: int) -> tuple[str, list[CensusColumn]]:
    """Return the US Census of 1990 where its file is in the folder, else one that is made up; the name says which."""
    path = folder / "tabular" / "uscensus1990.csv.gz"
    if not path.is_file():
        return "census (made up)", census(rows, columns)
    with gzip.open(path, "rb") as file:
        table = pyarrow.csv.read_csv(file)
    found = []
    for name in [each for each in table.column_names if each != "caseid"][:columns]:
        coded = table[name].slice(0, rows).combine_chunks().dictionary_encode()
        codes = coded.indices.to_numpy().astype(np.int32)
        found.append(CensusColumn(name, codes, len(coded.dictionary)))
    return "census", found


def parameters(column: CensusColumn, setting: tuple[str, float]) -> Parameters:
    """Return the parameters of a column, small domains by the paper's rule."""
    kind, value = setting
    if kind == "l":
        return choose(column.d, min(int(value), column.d - 1), [])
    return choose(column.d, 1, [Closeness(Fraction(str(value)), counted(column.codes, column.d))])


def randomized(columns: Sequence[CensusColumn], setting: tuple[str, float], seed: int = 1) -> dict[str, Cells]:
    """Return all columns as published."""
    keys, found = seeded_keys(np.random.default_rng(seed)), {}
    place = Workplace(threads=THREADS)
    for column in columns:
        chosen = parameters(column, setting)
        axis = Axis(column.name, tuple(map(str, range(column.d))), chosen.eta, float(chosen.p))
        if chosen.in_clear:
            found[column.name] = Cells.of_values(axis, column.codes)
            continue
        packed = draw(column.codes, np.arange(column.d, dtype=np.int32), chosen, keys, place)
        sets = BitSets(name=column.name, role=Role.OTHER, packed=packed, labels=axis.labels)
        found[column.name] = Cells.of_sets(axis, sets)
    return found


# Baselines of the paper.


def random_table(shape: Sequence[int], n: int, rng: np.random.Generator) -> Any:
    table = rng.random(tuple(shape))
    return table * n / table.sum()


METHODS: dict[str, Any] = {"auto": Auto(), "paper": Paper(), "inverse": Inverse(), "value-adding": ValueAdding()}


@dataclass
class Queries:
    """Random queries to one table in one setting."""

    columns: Sequence[CensusColumn]
    cells: dict[str, Cells]
    setting: tuple[str, float]
    most_cells: int
    most_shown: int
    rated: dict[str, Cells]  # the same by Rating; empty where t is asked
    left_out: float = (
        0.0  # share of the queries drawn last that were too large: of more cells, or combinations a record
    )

    def choose(self, q: int, count: int, rng: np.random.Generator) -> list[list[CensusColumn]]:
        """Return different queries of q columns, at least one of them randomized, that are not too large."""
        found: dict[tuple[str, ...], list[CensusColumn]] = {}
        drawn = too_large = 0
        for _ in range(400 * count):
            places = sorted(rng.choice(len(self.columns), q, replace=False).tolist())
            chosen = [self.columns[place] for place in places]
            axes = [self.cells[column.name].axis for column in chosen]
            if not any(axis.randomized for axis in axes):
                continue
            drawn += 1
            cells = math.prod(column.d for column in chosen)
            if cells > self.most_cells or combinations_shown(axes) > self.most_shown:
                too_large += 1
                continue
            found[tuple(column.name for column in chosen)] = chosen
            if len(found) == count:
                break
        self.left_out = too_large / max(drawn, 1)
        return list(found.values())

    def answer(self, chosen: Sequence[CensusColumn], method: str) -> tuple[Any, float]:
        """Return an estimate and its CPU seconds."""
        n = chosen[0].codes.size
        cells, method = (self.rated, "value-adding") if method == "rating" else (self.cells, method)
        records = Records(tuple(cells[column.name] for column in chosen), n)
        begin = time.process_time()
        counts = METHODS[method].estimate(records, BUDGET).counts
        return counts, time.process_time() - begin


def figure_distances(
    figures: Figures, title: str, columns: Sequence[CensusColumn], kind: str, options: argparse.Namespace
) -> dict[str, list[float]]:
    """Distances over l or t and q' for all estimators; return the L1 of each by cell, for the acceptance rows."""
    table = figures.table(title, "setting", "q'", "method", "L1", "L2", "Hellinger", "seconds", "left out")
    mean_l1: dict[str, list[float]] = {}
    for value in figures.watch(LS if kind == "l" else TS, title):
        setting = (kind, value)
        by_rating = rated(columns, int(value)) if kind == "l" else {}
        queries = Queries(columns, randomized(columns, setting), setting, options.cells, options.shown, by_rating)
        rng = np.random.default_rng((7, int(10 * value)))
        for q in range(1, options.columns + 1):
            found: dict[str, list[dict[str, float]]] = {}
            seconds: dict[str, float] = {}
            chosen_queries = queries.choose(q, options.queries, rng)
            left_out = queries.left_out
            for chosen in chosen_queries:
                exact = truth(chosen)
                tables = {method: queries.answer(chosen, method) for method in METHODS}
                if kind == "l":
                    tables["rating"] = queries.answer(chosen, "rating")
                tables["random"] = (random_table(exact.shape, int(exact.sum()), rng), 0.0)
                for method, (counts, spent) in tables.items():
                    assert counts.min() >= 0
                    assert abs(counts.sum() - exact.sum()) <= 1e-6 * exact.sum() + 1e-3
                    found.setdefault(method, []).append(distances(counts, exact))
                    seconds[method] = seconds.get(method, 0.0) + spent
            for method, each in found.items():
                mean = {name: float(np.mean([one[name] for one in each])) for name in ("l1", "l2", "hellinger")}
                table.row(
                    f"{kind} = {value}", q, method, *mean.values(), seconds.get(method, 0.0) / len(each), left_out
                )
                mean_l1.setdefault(method, []).append(mean["l1"])
    for q in range(1, options.columns + 1):
        part = figures.table(f"{title}, q' = {q}", kind, "method", "L1", "L2", "Hellinger")
        for row in table.rows:
            if row[1] == q:
                part.row(float(row[0].split("= ")[1]), row[2], *row[3:6])
        for name in ("L1", "L2", "Hellinger"):
            part.plot(x=kind, y=name, by="method", log="y")
    return mean_l1


def quality(figures: Figures, by_kind: dict[str, dict[str, list[float]]], columns: int) -> None:
    """The acceptance rows of quality, from Figures 1 and 3."""
    table = figures.table("Quality on Adult, L1 of auto over L1 of paper", "what", "measured", "asked")
    ratios = {
        (kind, value, q): found["auto"][i * columns + q - 1] / found["paper"][i * columns + q - 1]
        for kind, found in by_kind.items()
        for i, value in enumerate(LS if kind == "l" else TS)
        for q in range(1, columns + 1)
    }
    auto, paper = (sum(sum(found[method]) for found in by_kind.values()) for method in ("auto", "paper"))
    table.row("overall", auto / paper, "<= 0.85")
    worst = max(ratios, key=ratios.__getitem__)
    table.row(f"worst cell ({worst[0]} = {worst[1]}, q' = {worst[2]})", ratios[worst], "<= 1.10")
    if "l" in by_kind:
        table.row("mean at l = 2", float(np.mean([ratios["l", 2, q] for q in range(1, columns + 1)])), "<= 0.75")
    far = [
        found["value-adding"][i * columns + q] / found["auto"][i * columns + q]
        for kind, found in by_kind.items()
        for i, value in enumerate(LS if kind == "l" else TS)
        if (kind == "l" and value <= 5) or (kind == "t" and value >= 0.3)
        for q in range(columns)
    ]
    table.row("value-adding over auto, least", min(far), ">= 2")


# Speed.


def random_keys(codes: Any, d: int, eta: int, rng: np.random.Generator) -> Any:
    """The vectorized way that comes to mind: random keys, the eta smallest with the true value first."""
    keys = rng.random((codes.size, d), dtype=np.float32)
    keys[np.arange(codes.size), codes] = -1
    chosen = np.argpartition(keys, eta - 1, axis=1)[:, :eta]
    return np.bitwise_or.reduce(np.left_shift(np.uint32(1), chosen.astype(np.uint32)), axis=1)


def cpu(work: Callable[[], Any], least: float = 0.5) -> float:
    """Return the CPU seconds of a piece of work, the best of some runs."""
    best, spent = math.inf, 0.0
    while spent < least:
        begin = time.process_time()
        work()
        took = time.process_time() - begin
        best, spent = min(best, took), spent + took
    return best


def ratios(figures: Figures) -> None:
    """Each variant against the obvious one, in one run."""
    table = figures.table("Variants, CPU seconds", "what", "ours", "other", "ratio", "asked")
    rng = np.random.default_rng(0)
    n, d, eta = 1 << 18, 18, 5
    codes, place_of = rng.integers(0, d, n).astype(np.int32), np.arange(d, dtype=np.int32)
    place = Workplace(threads=1)
    work = Parameters(d, eta, Fraction(1))
    draw(codes, place_of, work, system_keys, place)
    ours = cpu(lambda: draw(codes, place_of, work, system_keys, place))
    other = cpu(lambda: random_keys(codes[: n // 8], d, eta, rng)) * 8
    table.row("sampler, against random keys", ours, other, other / ours, ">= 40")

    axes = (Axis("a", tuple("ab" * 5), 3, 0.6), Axis("b", tuple("a" * 20), 4, 1.0), Axis("c", tuple("a" * 25), 5, 0.5))
    seen = rng.random(tuple(axis.d for axis in axes)) * 100
    matrix = np.ones((1, 1))
    for axis in axes:
        matrix = np.kron(matrix, (axis.g - axis.h) * np.eye(axis.d) + axis.h)
    start, flat = seen.copy(), seen.ravel()
    ours = cpu(lambda: bayes_step(start, seen, axes))
    other = cpu(lambda: flat * (matrix @ (flat / (matrix @ flat))))
    table.row("Kronecker step, 5,000 cells, against dense", ours, other, other / ours, ">= 50")

    columns = [
        CensusColumn(str(i), rng.integers(0, d, 1 << 20).astype(np.int32), d) for i, d in enumerate((13, 12, 14, 12))
    ]
    cells = randomized(columns, ("l", 5))
    records = Records(tuple(cells.values()), 1 << 20)
    assert np.array_equal(records.seen_by_planes(), records.seen_by_records())
    ours, other = cpu(records.seen_by_planes), cpu(records.seen_by_records)
    table.row("bit planes, 625 shown of 26,208, against increments", ours, other, other / ours, ">= 4")


def figure_anonymization(figures: Figures, name: str, columns: Sequence[CensusColumn]) -> None:
    """Figure 5: how long a census takes, without reading and writing."""
    n = columns[0].codes.size
    size = f"{n:,} x {len(columns)}"
    table = figures.table(
        f"Figure 5: anonymization of a {name}, {size}, CPU seconds",
        "setting",
        "counts",
        "parameters",
        "draws",
        "total",
        "rating",
        "GB more",
    )
    few = [CensusColumn(column.name, column.codes[:100], column.d) for column in columns[:8]]
    for setting in (("l", 2.0), ("t", 0.1)):  # loads everything outside the timings
        randomized(few, setting)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    place = Workplace(threads=THREADS)
    for setting in figures.watch([*(("l", l) for l in LS), *(("t", t) for t in TS)], "Figure 5"):
        begin = time.process_time()
        if setting[0] == "t":
            for column in columns:
                counted(column.codes, column.d)
        counts = time.process_time() - begin
        begin = time.process_time()
        chosen = [parameters(column, setting) for column in columns]
        middle = time.process_time()
        packed = [
            draw(column.codes, np.arange(column.d, dtype=np.int32), each, system_keys, place)
            for column, each in zip(columns, chosen, strict=True)
            if not each.in_clear
        ]
        end = time.process_time()
        more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e6
        search = max(middle - begin - counts, 0.0)  # the parameters count as well
        of_rating = None
        if setting[0] == "l":
            dataset = dataset_of(columns)
            grouping = grouped(dataset, int(setting[1]))
            start = time.process_time()
            grouping.draw(dataset, system_keys, place)
            of_rating = time.process_time() - start
        table.row(f"{setting[0]} = {setting[1]}", counts, search, end - middle, end - begin, of_rating, more)
        del packed


def figure_reconstruction(
    figures: Figures, name: str, columns: Sequence[CensusColumn], options: argparse.Namespace
) -> None:
    """Figure 6: how long a table takes, by l and number of columns."""
    n = columns[0].codes.size
    table = figures.table(
        f"Figure 6: reconstruction from a {name}, {n:,} records, CPU seconds",
        "l",
        "q'",
        "cells",
        "method",
        "seconds",
        "L1",
    )
    for l in figures.watch(LS, "Figure 6"):
        cells = randomized(columns, ("l", l))
        queries = Queries(columns, cells, ("l", l), 60_000, 10**6, rated(columns, l))
        rng = np.random.default_rng((8, l))
        for q in range(1, 5):
            for chosen in queries.choose(q, 1 if options.quick else 2, rng):
                exact = truth(chosen)
                for method in ("paper", "auto", "value-adding", "rating"):
                    counts, spent = queries.answer(chosen, method)
                    table.row(l, q, exact.size, method, spent, distances(counts, exact)["l1"])


def figure_picture(figures: Figures, columns: Sequence[CensusColumn]) -> None:
    """Figure 7: age by occupation at l = 5, as it was and as each method gives it back."""
    chosen = [column for column in columns if column.name in ("age", "occupation")]
    queries = Queries(columns, randomized(chosen, ("l", 5)), ("l", 5), 10**6, 10**6, rated(chosen, 5))
    exact = truth(chosen)
    tables = {"original": exact, **{method: queries.answer(chosen, method)[0] for method in (*METHODS, "rating")}}
    table = figures.table("Figure 7: age by occupation, l = 5", "cell", "method", "count")
    order = np.argsort(-exact.ravel(), kind="stable")
    for method, counts in tables.items():
        for rank, cell in enumerate(order):
            table.row(rank, method, float(counts.ravel()[cell]))
    table.plot(x="cell", y="count", by="method")


def main(arguments: Sequence[str] | None = None) -> Figures:
    """Run the parts that are asked for, and return their tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with adult/adult_train.csv.gz")
    parser.add_argument("--quick", action="store_true", help="under two minutes: fewer and smaller queries and rows")
    parser.add_argument("--only", nargs="*", choices=WORDS, default=WORDS)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--rows", type=int, default=2_458_285)
    parser.add_argument("--columns", type=int, default=4, help="columns of a query, at most")
    parser.add_argument("--cells", type=int, default=5_000)
    parser.add_argument("--shown", type=int, default=600, help="combinations that a record shows, at most")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    if options.quick:
        options.queries, options.rows, options.columns, options.cells = 3, 200_000, 3, 2_000
    figures = Figures(options.out)

    def wanted(word: str) -> bool:
        return word in options.only

    if wanted("ratios"):
        ratios(figures)
    if wanted("adult"):
        columns = adult(options.data)
        by_kind = {
            kind: figure_distances(figures, f"{name}: Adult over {kind}", columns, kind, options)
            for kind, name in (("l", "Figure 1"), ("t", "Figure 3"))
        }
        quality(figures, by_kind, options.columns)
    if wanted("picture"):
        figure_picture(figures, adult(options.data))
    if wanted("census") or wanted("times"):
        name, table = people(options.data, options.rows, 12 if options.quick else 68)
        if wanted("times"):
            figure_anonymization(figures, name, table)
            figure_reconstruction(figures, name, table, options)
        if wanted("census"):
            few = argparse.Namespace(**{**vars(options), "queries": min(options.queries, 3)})
            figure_distances(figures, f"Figure 2: {name} over l", table, "l", few)
            figure_distances(figures, f"Figure 4: {name} over t", table, "t", few)
    return figures


if __name__ == "__main__":
    main()
