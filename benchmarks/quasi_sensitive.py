"""Quasi-sensitive terms: the papers' experiments, with the exact search against the published ones.

    python benchmarks/quasi_sensitive.py [--quick] [--out FOLDER] [--data FOLDER] [--seconds 10] [--groups 10]
                                         [--million] [--threads 2] [--only WORD]

The settings of Figures 6 to 12 of the technical report of Shi and Xiong (2010), then what they did not measure: groups
proven optimal, whole tables, skewed priors, real knowledge tables. All searches run in one process on the same groups.
With --out every table is also a csv file and every figure a plot. Quasi-identifiers are those of Adult when --data
names a folder with adult/adult_arx.csv.gz, else made up; real knowledge tables are taken from its folder medical.
Times are CPU seconds unless they are called elapsed.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from figures import Figures
from made_up_terms import knowledge_table, term_records
from quasi_sensitive_tables import (
    cuts_of_2006,
    default_people,
    privacy_and_loss,
    query_errors,
    real_tables,
    whole_tables,
)
from sfumato.anonymizers.published.term_walks import solve_published
from sfumato.anonymizers.term_suppression import search as searching
from sfumato.anonymizers.term_suppression.records import Records, code_records, estimate_prior
from sfumato.data.knowledge import Knowledge
from sfumato.models.qs_closeness import QSCloseness
from sfumato.models.qs_diversity import QSDiversity

T4, CL30 = {"t": 0.4}, {"c": Fraction(1), "l": 30}
SEARCHES = ("exact", "adaptive", "dfs")


@dataclass
class Case:
    """Records with a prior, ready to be cut into groups."""

    records: Records
    prior: np.ndarray

    @classmethod
    def make(cls, knowledge: Knowledge, rows: int, unlinked: str = "linked", **options: Any) -> Case:
        drawn = term_records(knowledge, rows, **options)
        records = code_records(
            drawn.start,
            drawn.items,
            knowledge.start,
            knowledge.items,
            knowledge.label_of_row,
            len(knowledge.terms),
            len(knowledge.labels),
        )
        return cls(records, estimate_prior(records, unlinked))

    def solve(self, order: Any, start: Any, search: str = "exact", seconds: float = 10, **required: Any) -> Answer:
        """Solve groups with one of the searches; `seconds` bounds a published one in each group."""
        requirement = searching.make_requirement(self.prior, "linked", **required)
        begin = time.process_time()
        if search == "exact":
            found = searching.solve_all(self.records, order, start, self.prior, requirement)
        else:
            adaptive = search == "adaptive"
            found = solve_published(
                self.records, order, start, self.prior, requirement, adaptive=adaptive, seconds=seconds
            )
        return Answer(found, time.process_time() - begin)


@dataclass
class Answer:
    """What a search found for some groups."""

    found: searching.Found
    seconds: float

    @property
    def shares(self) -> np.ndarray:
        """The cost T of each group; a search that found nothing safe would have to remove everything."""
        cost = np.where(self.found.status == searching.UNREACHABLE, self.found.total, self.found.cost)
        return np.asarray(cost / self.found.total)

    @property
    def macro(self) -> float:
        return float(self.shares.mean())

    @property
    def micro(self) -> float:
        return float(self.found.cost.sum() / self.found.total.sum())

    @property
    def bound(self) -> float:
        return float(self.found.bound.sum() / self.found.total.sum())

    @property
    def proven(self) -> float:
        return float(self.found.proven.mean())


def groups_of(size: int, count: int) -> tuple[Any, Any]:
    """Return groups of so many records in order."""
    return np.arange(size * count), np.arange(0, size * count + 1, size)


def warm_up(case: Case) -> None:
    """Compile and load everything outside the timings."""
    order, start = groups_of(5, 4)
    for required in (T4, CL30, {"t": 0.05}):
        for search in SEARCHES:
            case.solve(order, start, search, 0.01, **required)


def default_groups(figures: Figures, case: Case, correlated: Case, seconds: float, count: int, compared: int) -> None:
    """The acceptance numbers: every group proven, never worse than the published search, far cheaper and faster."""
    table = figures.table(
        "Default groups, 5 records of 9 terms", "requirement", "T exact", "at most", "proven", "ms/group",
        "T adaptive", "T dfs", "T ratio", "at most ", "groups worse", "times faster",
    )  # fmt: skip
    rows = (
        ("(1,30)", case, CL30, 0.262, 1.0),
        ("t=.4", case, T4, 0.125, 0.80),
        ("t=.2", case, {"t": 0.2}, None, 0.70),
        ("(1,30) correlated", correlated, CL30, None, 0.85),
        ("t=.4 correlated", correlated, T4, None, None),
    )
    for name, source, required, most, ratio in figures.watch(rows, "default groups"):
        exact = source.solve(*groups_of(5, count), **required)
        adaptive, dfs = (source.solve(*groups_of(5, compared), search, seconds, **required) for search in SEARCHES[1:])
        ours = exact.shares[:compared]
        table.row(
            name, exact.macro, most, exact.proven, 1e3 * exact.seconds / count, adaptive.macro, dfs.macro,
            float(ours.mean()) / adaptive.macro, ratio, int((ours > adaptive.shares + 1e-12).sum()),
            round((adaptive.seconds / compared) / (exact.seconds / count)),
        )  # fmt: skip


def sweeps(figures: Figures, knowledge: Knowledge, case: Case, seconds: float, count: int, quick: bool) -> None:
    """Figures 6 and 7: the mean cost of each search over one parameter."""
    some = slice(None, None, 2) if quick else slice(None)
    lengths = (5, 7, 9, 11)[some]
    by_terms = {n: Case.make(knowledge, 3000, terms=n) for n in lengths}
    sizes, cs, ls = (1, 2, 3, 5, 7, 9)[some], ("1/2", "1", "2", "4")[some], (10, 20, 30, 40, 60)[some]
    points: dict[str, list[tuple[float, Case, int, dict[str, Any]]]] = {}
    for figure, of, required in (("Figure 6", "(1,30)", CL30), ("Figure 7", "t=.4", T4)):
        points[f"{figure}a {of}: n, terms of a record"] = [(n, by_terms[n], 5, required) for n in lengths]
        points[f"{figure}b {of}: d, records of a group"] = [(d, case, d, required) for d in sizes]
    points["Figure 6c l=30: c"] = [(float(Fraction(c)), case, 5, {"c": Fraction(c), "l": 30}) for c in cs]
    points["Figure 6d c=1: l"] = [(l, case, 5, {"c": Fraction(1), "l": l}) for l in ls]
    points["Figure 7c closeness: t"] = [(t, case, 5, {"t": t}) for t in (0.1, 0.2, 0.3, 0.4, 0.5)[some]]
    for title in sorted(points):
        x = title.split(": ")[1].split(",")[0]
        table = figures.table(title, x, "search", "T", "to exact", "ms/group", "unsolved")
        for value, source, d, required in figures.watch(points[title], x):
            answers = {name: source.solve(*groups_of(d, count), name, seconds, **required) for name in SEARCHES}
            for name, answer in answers.items():
                ratio = answer.macro / answers["exact"].macro if answers["exact"].macro else None
                unsolved = int((answer.found.status == searching.UNREACHABLE).sum())
                table.row(value, name, answer.macro, ratio, 1e3 * answer.seconds / count, unsolved)
        table.plot(x=x, y="T", by="search")


def cost_over_time(figures: Figures, case: Case, seconds: float, count: int) -> None:
    """Figure 8: the cost that each search has reached after some time, for each data set; the exact one ends itself."""
    limits = [limit for limit in (0.001, 0.01, 0.1, 1.0, 10.0, 100.0) if limit <= 10 * seconds]
    for name, required in (("(1,30)", CL30), ("t=.4", T4)):
        table = figures.table(
            f"Figure 8: cost over time, {name}", "seconds", "curve", "data set", "search", "T", "complete"
        )
        order, start = groups_of(5, count)
        for number in figures.watch(range(count), name):
            one = order[start[number] : start[number + 1]], np.array([0, 5])
            exact = case.solve(*one, **required)
            for limit in limits:
                for search in SEARCHES[1:]:
                    found = case.solve(*one, search, limit, **required)
                    table.row(limit, f"{search}, {number + 1}", number + 1, search, found.macro, found.proven == 1)
            for limit in (max(exact.seconds, 1e-4), limits[-1]):
                table.row(limit, f"exact, {number + 1}", number + 1, "exact", exact.macro, exact.proven == 1)
        table.plot(x="seconds", y="T", by="curve", log="x")


def main(arguments: Sequence[str] | None = None) -> Figures:
    """Run the parts that are asked for, and return their tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer groups, settings and seconds")
    parser.add_argument("--million", action="store_true", help="also 1,000,000 rows")
    parser.add_argument("--seconds", type=float, default=10.0, help="of a published search in one group")
    parser.add_argument("--groups", type=int, default=10, help="of each setting of Figures 6 to 8")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, help="folder for tables and plots")
    parser.add_argument("--data", type=Path, help="folder with adult/ and medical/")
    parser.add_argument("--only", default="", help="parts whose name has this word: " + ", ".join(PARTS))
    options = parser.parse_args(arguments)
    if options.quick:
        options.seconds, options.groups = 0.02, 3
    begin, figures = time.perf_counter(), Figures(options.out)
    knowledge = knowledge_table()
    case = Case.make(knowledge, 3000)
    warm_up(case)
    print(f"Set up and compiled in {time.perf_counter() - begin:.1f} s", flush=True)
    for name, part in PARTS.items():
        if options.only in name:
            part(figures, knowledge, case, options)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\nDone in {time.perf_counter() - begin:.0f} s, {peak:.2f} GB at most")
    return figures


def _default_groups(figures: Figures, knowledge: Knowledge, case: Case, options: Any) -> None:
    correlated = Case.make(knowledge_table(correlated=True), 3000)
    default_groups(figures, case, correlated, options.seconds, 100, 5 if options.quick else 2 * options.groups)


def _figures_9_to_11(figures: Figures, knowledge: Knowledge, case: Case, options: Any) -> None:
    people = default_people(3000, options.data, options.threads)
    ls, cs, ts = (10, 30, 60), (0.5, 1, 2, 4), (0.2, 0.3, 0.4, 0.5)
    if options.quick:
        ls, cs, ts = (10, 60), (1, 4), (0.2, 0.4)
    by_l = {float(l): QSDiversity(column="terms", c=1, l=l) for l in ls}
    by_c = {float(c): QSDiversity(column="terms", c=c, l=60) for c in cs}
    by_t = {t * t: QSCloseness(column="terms", t=t) for t in ts}
    privacy_and_loss(figures, people, "Figure 9: privacy and loss over l", "l", by_l)
    privacy_and_loss(figures, people, "Figure 10: privacy and loss over c", "c", by_c)
    privacy_and_loss(figures, people, "Figure 11: privacy and loss over t squared", "t squared", by_t)


def _whole_tables(figures: Figures, knowledge: Knowledge, case: Case, options: Any) -> None:
    correlated = knowledge_table(correlated=True)
    sizes = {"3,000 independent": (knowledge, 3000), "3,000 correlated": (correlated, 3000)}
    if not options.quick:
        sizes |= {"30,162 independent": (knowledge, 30_162), "30,162 correlated": (correlated, 30_162)}
    if options.million:
        sizes["1,000,000 independent"] = (knowledge, 1_000_000)
    whole_tables(figures, sizes, options.data, options.threads)


def _real_tables(figures: Figures, knowledge: Knowledge, case: Case, options: Any) -> None:
    if options.data is None:
        print("\nReal knowledge tables are left out: --data names their folder.")
        return
    real_tables(figures, options.data, options.threads, quick=options.quick)


PARTS = {
    "groups": _default_groups,
    "figures 6 and 7": lambda figures, knowledge, case, options: sweeps(
        figures, knowledge, case, options.seconds, options.groups, options.quick
    ),
    "figure 8": lambda figures, knowledge, case, options: cost_over_time(
        figures, case, min(options.seconds, 10), min(options.groups, 6)
    ),
    "figures 9 to 11": _figures_9_to_11,
    "figure 12": lambda figures, knowledge, case, options: query_errors(
        figures,
        default_people(3000, options.data, options.threads),
        *((200, (1, 5, 10), (1,)) if options.quick else (10_000, (1, 2, 5, 10, 20), (1, 3))),
    ),
    "tables": _whole_tables,
    "cuts of 2006": lambda figures, knowledge, case, options: cuts_of_2006(
        figures, options.data, options.threads, options.quick
    ),
    "real": _real_tables,
}

if __name__ == "__main__":
    main()
