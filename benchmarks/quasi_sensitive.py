"""Quasi-sensitive terms: the exact search against the published ones, on the same groups in the same process.

    python benchmarks/quasi_sensitive.py [--quick] [--million] [--seconds 10] [--threads 2] [--out FOLDER]

Prints the acceptance rows of the specification, then the settings of the papers' Figures 6 to 12 as tables; with --out
every table is also written as a csv file. Times are CPU seconds. Groups of whole tables are cut from made-up
quasi-identifiers; figures use groups of k records in order, as a stand-in for generalization.
"""

from __future__ import annotations

import argparse
import csv
import resource
import sys
import time
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.data.knowledge import Knowledge
from sfumato.generators import knowledge_table, term_records
from sfumato.kernels import term_suppression as kernels
from sfumato.kernels.term_suppression_compared import solve_published


@dataclass
class Report:
    """Prints rows as they come and keeps them for files."""

    out: Path | None
    title: str = ""
    rows: list[list[str]] = field(default_factory=list)

    def section(self, title: str, *columns: str) -> None:
        self._write()
        self.title, self.rows = title, [list(columns)]
        print(f"\n## {title}\n")
        self._show(list(columns))

    def row(self, *cells: Any) -> None:
        shown = [f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in cells]
        self.rows.append(shown)
        self._show(shown)

    def _show(self, cells: list[str]) -> None:
        print(" ".join(f"{cell:>12}" if i else f"{cell:38}" for i, cell in enumerate(cells)), flush=True)

    def _write(self) -> None:
        if self.out and len(self.rows) > 1:
            self.out.mkdir(parents=True, exist_ok=True)
            name = "".join(letter if letter.isalnum() else "-" for letter in self.title.split(":")[0].lower())
            with (self.out / f"{name}.csv").open("w", newline="") as file:
                csv.writer(file).writerows(self.rows)

    def close(self) -> None:
        self._write()


@dataclass
class Case:
    """Records with a prior, ready to be cut into groups."""

    records: kernels.Records
    prior: np.ndarray
    seconds: float  # of preparation

    @classmethod
    def make(cls, knowledge: Knowledge, rows: int, unlinked: str = "linked", **options: Any) -> Case:
        drawn = term_records(knowledge, rows, **options)
        begin = time.process_time()
        records = kernels.code_records(
            drawn.start,
            drawn.items,
            knowledge.start,
            knowledge.items,
            knowledge.label_of_row,
            len(knowledge.terms),
            len(knowledge.labels),
        )
        prior = kernels.estimate_prior(records, unlinked)
        return cls(records, prior, time.process_time() - begin)

    def solve(self, order: Any, start: Any, threads: int = 1, **required: Any) -> tuple[kernels.Found, float, float]:
        """Return the answers, CPU seconds and elapsed seconds."""
        requirement = kernels.make_requirement(self.prior, "linked", **required)
        begin, clock = time.process_time(), time.perf_counter()
        found = kernels.solve_all(self.records, order, start, self.prior, requirement, threads=threads)
        return found, time.process_time() - begin, time.perf_counter() - clock

    def published(self, order: Any, start: Any, seconds: float, adaptive: bool, **required: Any) -> tuple[Any, float]:
        requirement = kernels.make_requirement(self.prior, "linked", **required)
        done = [0]

        def advance(groups: int) -> None:
            done[0] += groups
            if sys.stderr.isatty():
                print(f"\r{done[0]} of {start.size - 1} groups", end="\r", file=sys.stderr, flush=True)

        begin = time.process_time()
        found = solve_published(
            self.records, order, start, self.prior, requirement, adaptive=adaptive, seconds=seconds, advance=advance
        )
        return found, time.process_time() - begin


def groups_of(size: int, count: int) -> tuple[Any, Any]:
    return np.arange(size * count), np.arange(0, size * count + 1, size)


def mondrian_like(rows: int, k: int, seed: int = 5) -> tuple[Any, Any]:
    """Return groups of k to 2k - 1 records: made-up quasi-identifiers halved while both halves have k records."""
    order = np.random.default_rng(seed).permutation(rows)
    sizes = [rows]
    while max(sizes) >= 2 * k:
        sizes = [part for size in sizes for part in ([size // 2, size - size // 2] if size >= 2 * k else [size])]
    return order, np.concatenate([[0], np.cumsum(sizes)])


def micro(found: kernels.Found) -> float:
    return float(found.cost.sum() / found.total.sum())


def macro(found: kernels.Found) -> float:
    return float((found.cost / found.total).mean())


T4, CL30 = {"t": 0.4}, {"c": Fraction(1), "l": 30}


def warm_up(case: Case) -> None:
    """Compile and load everything outside the timings."""
    order, start = groups_of(5, 4)
    for required in (T4, CL30, {"t": 0.05}):
        case.solve(order, start, **required)
        case.published(order, start, 0.01, True, **required)


def default_groups(report: Report, case: Case, correlated: Case, seconds: float, count: int, compared: int) -> None:
    report.section(
        "Default groups: d = 5, n = 9", "requirement", "T exact", "accepted", "proven", "ms/group", "T adaptive",
        "T dfs", "T ratio", "accepted", "worse", "time ratio",
    )  # fmt: skip
    rows = (
        ("(1,30)", case, CL30, 0.262, 1.0),
        ("t=.4", case, T4, 0.125, 0.80),
        ("t=.2", case, {"t": 0.2}, None, 0.70),
        ("(1,30) correlated", correlated, CL30, None, 0.85),
        ("t=.4 correlated", correlated, T4, None, None),
    )
    for name, source, required, most, ratio in rows:
        order, start = groups_of(5, count)
        found, cpu, _ = source.solve(order, start, **required)
        part, part_start = groups_of(5, compared)
        adaptive, adaptive_cpu = source.published(part, part_start, seconds, True, **required)
        dfs, _ = source.published(part, part_start, seconds, False, **required)
        unsolved = adaptive.status == kernels.UNREACHABLE
        ours = found.cost[:compared]
        theirs = np.where(unsolved, adaptive.total, adaptive.cost)
        own, other = float((ours / adaptive.total).mean()), float((theirs / adaptive.total).mean())
        faster = (adaptive_cpu / compared) / (cpu / count)
        report.row(
            name, macro(found), f"<= {most}" if most else "", float(found.proven.mean()), 1e3 * cpu / count,
            other, macro(dfs), own / other, f"<= {ratio:.2f}" if ratio else "", int((ours > theirs).sum()),
            f"1/{faster:,.0f}",
        )  # fmt: skip


def whole_tables(report: Report, table: Knowledge, correlated: Knowledge, sizes: list[int], threads: int) -> None:
    report.section(
        "Whole tables: groups of k to 2k - 1", "table", "k", "mean d", "requirement", "CPU s", "elapsed", "T micro",
        "T macro", "bound", "proven", "unreachable",
    )  # fmt: skip
    for rows in sizes:
        for name, knowledge in (("independent", table), ("correlated", correlated)):
            if rows > 100_000 and name == "correlated":
                continue
            case = Case.make(knowledge, rows)
            for k in (2, 5, 10) if rows < 100_000 else (5,):
                order, start = mondrian_like(rows, k)
                for shown, required in (("(1,30)", CL30), ("t=.4", T4)):
                    found, cpu, clock = case.solve(order, start, threads, **required)
                    report.row(
                        f"{rows:,} {name}", k, rows / (start.size - 1), shown, cpu, clock, micro(found), macro(found),
                        float(found.bound.sum() / found.total.sum()), float(found.proven.mean()),
                        int((found.status == kernels.UNREACHABLE).sum()),
                    )  # fmt: skip
            report.row(f"{rows:,} {name}: coding and prior", "", "", "", case.seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\nPeak memory so far: {peak:.2f} GB")


def skewed(report: Report, table: Knowledge, quick: bool) -> None:
    report.section(
        "Skewed prior: Zipf, 3,000 rows", "prior, k", "t", "CPU s", "T micro", "bound", "proven", "unreachable"
    )
    for exponent in (1.0,) if quick else (1.0, 1.5):
        case = Case.make(table, 3000, zipf=exponent)
        for k in (5, 10):
            order, start = mondrian_like(3000, k)
            for t in (0.4, 0.3, 0.2) if quick else (0.4, 0.3, 0.2, 0.15):
                found, cpu, _ = case.solve(order, start, t=t)
                report.row(
                    f"Zipf {exponent}, k={k}", t, cpu, micro(found), float(found.bound.sum() / found.total.sum()),
                    float(found.proven.mean()), int((found.status == kernels.UNREACHABLE).sum()),
                )  # fmt: skip


def figures(report: Report, table: Knowledge, case: Case, seconds: float, count: int) -> None:
    """Sweeps of the papers' figures: mean cost of each search over some groups."""

    def sweep(title: str, points: list[tuple[str, Case, int, dict[str, Any]]]) -> None:
        report.section(title, "setting", "T exact", "T adaptive", "T dfs", "ms exact")
        for name, source, d, required in points:
            order, start = groups_of(d, count)
            found, cpu, _ = source.solve(order, start, **required)
            row: list[Any] = [name, macro(found)]
            for adaptive in (True, False):
                other, _ = source.published(order, start, seconds, adaptive, **required)
                unsolved = other.status == kernels.UNREACHABLE
                row.append(float((np.where(unsolved, other.total, other.cost) / other.total).mean()))
            report.row(*row, 1e3 * cpu / count)

    sweep(
        "Figure 6: cost against c", [(f"c={c}", case, 5, {"c": Fraction(c), "l": 30}) for c in ("1/2", "1", "2", "4")]
    )
    sweep("Figure 7: cost against l", [(f"l={l}", case, 5, {"c": Fraction(1), "l": l}) for l in (10, 20, 30, 40, 60)])
    sweep("Figure 8: cost against t", [(f"t={t}", case, 5, {"t": t}) for t in (0.1, 0.2, 0.3, 0.4, 0.5)])
    both = (("(1,30)", CL30), ("t=.4", T4))
    sweep("Figure 9: cost against d", [(f"{n}, d={d}", case, d, r) for n, r in both for d in (1, 2, 3, 5, 7, 9)])
    by_terms = {n: Case.make(table, 3000, terms=n) for n in (5, 7, 9, 11)}
    sweep("Figure 10: cost against n", [(f"{s}, n={n}", by_terms[n], 5, r) for s, r in both for n in by_terms])

    report.section("Figure 11: cost against time of adaptive", "seconds", "T adaptive (1,30)", "T adaptive t=.4")
    order, start = groups_of(5, count)
    for limit in (0.01, 0.1, *((1.0,) if seconds > 0.1 else ()), *((seconds,) if seconds > 1 else ())):
        shown = []
        for required in (CL30, T4):
            found, _ = case.published(order, start, limit, True, **required)
            unsolved = found.status == kernels.UNREACHABLE
            shown.append(float((np.where(unsolved, found.total, found.cost) / found.total).mean()))
        report.row(limit, *shown)

    report.section("Figure 12: privacy and cost against k", "requirement, k", "T micro", "mean d", "max d", "changed")
    for name, required in both:
        for k in (1, 2, 5, 10, 20):
            order, start = mondrian_like(3000, k)
            found, _, _ = case.solve(order, start, **required)
            distance, size = np.sqrt(found.distance), np.diff(start)
            report.row(
                f"{name}, k={k}", micro(found), float((distance * size).sum() / size.sum()), float(distance.max()),
                float((found.cost > 0).mean()),
            )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer groups and shorter published searches")
    parser.add_argument("--million", action="store_true", help="also 1,000,000 rows")
    parser.add_argument("--seconds", type=float, default=10.0, help="of a published search in one group")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    seconds = 0.2 if options.quick else options.seconds
    report = Report(options.out)
    begin = time.perf_counter()
    table, correlated = knowledge_table(), knowledge_table(correlated=True)
    case, other = Case.make(table, 3000), Case.make(correlated, 3000)
    warm_up(case)
    print(f"Set up and compiled in {time.perf_counter() - begin:.1f} s", flush=True)
    default_groups(report, case, other, seconds, 100, 5 if options.quick else 20)
    sizes = [3000, 30_162, *([1_000_000] if options.million else [])]
    whole_tables(report, table, correlated, sizes[:1] if options.quick else sizes, options.threads)
    skewed(report, table, options.quick)
    figures(report, table, case, 0.05 if options.quick else min(seconds, 1.0), 3)
    report.close()
    print(f"\nDone in {time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
