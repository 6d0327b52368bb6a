"""full-domain beside ARX on Adult: its optima, and its times.

    python benchmarks/against_arx.py DATA [--only tests published measured] [--out FOLDER]

DATA is a folder with `adult/adult_arx.csv.gz` and `hierarchies/adult/*.csv`. ARX is not on PyPI, and this command does
not run it; its figures stand here with where they come from, and docs/comparison.md says what is not sure of them.

tests: the optima that ARX's own tests expect (TestAnonymizationTCloseness of version 3.9). Its other tests on Adult
minimize an entropy that full-domain does not offer (TestAnonymizationKAnonymity, TestAnonymizationLDiversity): there
all choices of levels are put in the order of that entropy here, and the first that full-domain's own judge lets pass is
set beside ARX's.

published: times of the benchmark of Prasser, Kohlmayer and Kuhn (CBMS 2014; repository anonbench: results/results.csv,
optima in TestAnonBench), of the one of risk-based anonymization (repository risk-benchmark,
results/results1-k-anonymity.txt, ARX 3.0) and of pruning (repository pruning-benchmark,
results/results-low-execution-3.2.csv, ARX 3.2). They are of the search alone, elapsed, once Java is warm, the first on
a Core i5 of 3.1 GHz.

measured: ARX's search as its sources of early 2015 have it (generation 2.3), compiled and run once on the machine of
docs/comparison.md (OpenJDK 17, serial collector): the CPU time of its process from coded rows to the optimum, the
lowest of 16 to 200 searches once Java is warm. Levels, sums of squares and rows dropped are what it found.

Beside them is the CPU time of full-domain, of its search alone and from coded rows to a decision, the lowest of several
runs with compiled loops loaded.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa

from against_peers import NAMES, QUASI_IDENTIFIERS, SENSITIVE, Case, adult, levels_in
from figures import Figures
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.conditions import conditions_for
from sfumato.anonymizers.dropping import rows_to_drop
from sfumato.anonymizers.full_domain import FullDomain
from sfumato.anonymizers.full_domain.judging import Judge
from sfumato.anonymizers.full_domain.lattice import ladder_of, lattice_of
from sfumato.anonymizers.full_domain.search import Discernibility, Ncp, Search
from sfumato.data.builders import HierarchyFile
from sfumato.data.dataset import Dataset
from sfumato.data.encoding import encode
from sfumato.data.recoding import Recoding
from sfumato.data.schema import Role, Schema
from sfumato.models import KAnonymity, LDiversity, TCloseness
from sfumato.models.base import Policy, PrivacyModel

PARTS = ("tests", "published", "measured")
# Discernibility, k = 5 (and 100: the same), equal-distance t = 0.2 of occupation: share of rows that may be dropped ->
# loss and levels in the order of the columns. ARX's monotone variant counts a dropped class by its squared size.
OPTIMA = {0.0: (456_853_172, (1, 4, 1, 1, 3, 2, 2, 1)), 0.04: (311_880_088, (1, 4, 1, 0, 3, 2, 2, 1))}

# The same of ARX's monotone entropy: k of all nine columns, or entropy l of occupation; share that may be dropped, loss
# and levels in the order of NAMES.
ENTROPIES: list[tuple[int | None, float, float, tuple[int, ...]]] = [
    (5, 0.0, 407289.5388925293, (1, 2, 1, 1, 3, 2, 2, 1, 1)),
    (5, 0.04, 255559.85455731067, (1, 0, 1, 1, 3, 2, 2, 1, 0)),
    (100, 0.0, 453196.8932458743, (0, 4, 1, 1, 3, 2, 2, 1, 1)),
    (100, 0.04, 379417.3460570988, (1, 1, 1, 1, 3, 2, 2, 1, 1)),
    (None, 0.0, 324620.5269918695, (1, 1, 1, 1, 3, 2, 2, 1)),
]
RUNS = 7  # of which the fastest counts


@dataclass(frozen=True)
class Theirs:
    """A search of ARX with its milliseconds, and its optimum where that is known."""

    title: str
    models: tuple[PrivacyModel, ...]
    milliseconds: float
    squares: int | None = None  # of class sizes, all rows counted
    levels: tuple[int, ...] | None = None  # in the order of NAMES: nine where occupation is a quasi-identifier
    dropped: int = 0
    drop_rows: float = 0.0
    loss: str = "discernibility"
    nine: bool = False


_K5, _K10 = KAnonymity(k=5), KAnonymity(k=10)
_TREE = TCloseness(sensitive=SENSITIVE, t=0.2, distance="hierarchical")
_EQUAL = TCloseness(sensitive=SENSITIVE, t=0.2)
_RECURSIVE = LDiversity(sensitive=SENSITIVE, l=3, kind="recursive", c=4)
_DISTINCT = LDiversity(sensitive=SENSITIVE, l=3)
_LEVELS, _OF_TREE = (1, 1, 1, 1, 3, 2, 2, 1), (0, 4, 1, 1, 3, 2, 2, 1)
PUBLISHED = (
    Theirs("k = 5", (_K5,), 28.4, 55_170_356, _LEVELS),
    Theirs("recursive (4, 3)-diversity", (_RECURSIVE,), 36.5, 55_170_356, _LEVELS),
    Theirs("both", (_K5, _RECURSIVE), 29.5, 55_170_356, _LEVELS),
    Theirs("hierarchical t = 0.2", (_TREE,), 10.9, 290_180_796, _OF_TREE),
    Theirs("k = 5, that t", (_K5, _TREE), 10.4, 290_180_796, _OF_TREE),
    Theirs("nine columns, k = 5, loss, all may go (3.0)", (_K5,), 1052, loss="ncp", drop_rows=0.99999, nine=True),
    Theirs("nine columns, k = 5, loss, 5 % may go (3.2)", (_K5,), 1234, loss="ncp", drop_rows=0.05, nine=True),
)
_NONE = (
    Theirs("k = 5", (_K5,), 12.8, 55_170_356, _LEVELS),
    Theirs("k = 10", (_K10,), 11.9, 55_170_356, _LEVELS),
    Theirs("nine columns, k = 5", (_K5,), 21.5, 33_627_534, (1, 1, 1, 2, 3, 2, 2, 1, 1), nine=True),
    Theirs("nine columns, k = 10", (_K10,), 20.5, 55_170_356, (1, 1, 1, 1, 3, 2, 2, 1, 2), nine=True),
    Theirs("k = 5, distinct l = 3", (_K5, _DISTINCT), 21.3, 55_170_356, _LEVELS),
    Theirs("recursive (4, 3)-diversity", (_RECURSIVE,), 20.9, 55_170_356, _LEVELS),
    Theirs("k = 5, recursive (4, 3)-diversity", (_K5, _RECURSIVE), 18.0, 55_170_356, _LEVELS),
    Theirs("hierarchical t = 0.2", (_TREE,), 8.9, 290_180_796, _OF_TREE),
    Theirs("k = 5, hierarchical t = 0.2", (_K5, _TREE), 8.6, 290_180_796, _OF_TREE),
    Theirs("k = 5, equal t = 0.2", (_K5, _EQUAL), 7.9, 456_853_172, (1, 4, 1, 1, 3, 2, 2, 1)),
    Theirs("k = 5, loss", (_K5,), 13.5, 180_946_394, (0, 4, 1, 2, 3, 2, 0, 0), loss="ncp"),
    Theirs("nine columns, k = 5, loss", (_K5,), 22.2, 70_009_068, (0, 4, 1, 1, 3, 2, 2, 0, 1), loss="ncp", nine=True),
)
_SOME = (
    Theirs("k = 5", (_K5,), 248, 7_459_382, (0, 0, 1, 2, 3, 2, 2, 0), 60),
    Theirs("k = 10", (_K10,), 222, 11_336_916, (0, 0, 1, 2, 3, 2, 2, 1), 67),
    Theirs("nine columns, k = 5", (_K5,), 907, 4_053_800, (0, 0, 1, 2, 3, 2, 2, 1, 1), 105, nine=True),
    Theirs("nine columns, k = 10", (_K10,), 631, 6_892_796, (1, 0, 1, 2, 3, 2, 2, 1, 1), 121, nine=True),
    Theirs("k = 5, distinct l = 3", (_K5, _DISTINCT), 729, 7_459_382, (0, 0, 1, 2, 3, 2, 2, 0), 60),
    Theirs("recursive (4, 3)-diversity", (_RECURSIVE,), 1122, 7_237_306, (0, 0, 1, 1, 3, 2, 2, 1), 54),
    Theirs("hierarchical t = 0.2", (_TREE,), 1612, 224_439_312, (1, 4, 1, 1, 2, 2, 2, 1), 484),
    Theirs("k = 5, equal t = 0.2", (_K5, _EQUAL), 974, 311_880_088, (1, 4, 1, 0, 3, 2, 2, 1), 848),
    Theirs("k = 5, loss", (_K5,), 182, 18_604_376, (0, 3, 0, 0, 2, 1, 1, 0), 1346, loss="ncp"),
    Theirs(
        *("nine columns, k = 5, loss", (_K5,), 737, 18_604_376, (0, 3, 0, 0, 2, 1, 1, 0, 2), 1346),
        loss="ncp",
        nine=True,
    ),
)
MEASURED = (*_NONE, *(replace(each, title=f"5 %: {each.title}", drop_rows=0.05) for each in _SOME))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--out", type=Path, help="folder for the tables")
    options = parser.parse_args()
    figures = Figures(options.out)
    if "tests" in options.only:
        optima(figures, options.data)
        entropies(figures, options.data)
    if "published" in options.only:
        times(figures, options.data, "Times that ARX's authors have published", PUBLISHED)
    if "measured" in options.only:
        times(figures, options.data, "ARX's search of 2015, compiled and run", MEASURED)


def optima(figures: Figures, data: Path) -> None:
    """Set full-domain's proven optima beside those that ARX's tests expect."""
    table, _, schema = adult(data)
    dataset = encode(table, schema)
    shown = figures.table(
        "Full-domain and ARX's optimum: discernibility, t = 0.2",
        *("k", "may be dropped", "dropped", "sum of squares", "ARX", "levels as ARX's", "proven", "CPU s"),
    )
    for k in (5, 100):
        for most, (loss, levels) in OPTIMA.items():
            anonymizer = FullDomain(loss="discernibility", drop_rows=most)
            policy = Policy(Case("", k, t=0.2).models)
            for _ in range(2):  # the second one has compiled loops
                begin = time.process_time()
                recoding = anonymizer.anonymize(dataset, policy, Recoding(), Workplace(rng=np.random.default_rng(1)))
                spent = time.process_time() - begin
            found = recoding.facts
            own = tuple(found["levels"][name] for name in QUASI_IDENTIFIERS)
            squares = squared_sizes(table, found["levels"], data)
            shown.row(k, most, found["rows_dropped"], squares, loss, own == levels, found["proven_to_be_best"], spent)


def entropies(figures: Figures, data: Path) -> None:
    """Set the lowest entropy of all choices of levels that pass beside the one that ARX's tests expect."""
    table, _, schema = adult(data)
    shown = figures.table(
        "What passes, in the order of ARX's entropy",
        *("k or entropy l", "may be dropped", "lowest entropy that passes", "ARX", "levels as ARX's", "CPU s"),
    )
    for k, most, loss, levels in ENTROPIES:
        dataset = encode(table, schema if k is None else nine_columns(schema, data))
        model = LDiversity(sensitive=SENSITIVE, l=5, kind="entropy") if k is None else KAnonymity(k=k)
        begin = time.process_time()
        entropy, node = _first_that_passes(dataset, model, most)
        spent = time.process_time() - begin
        shown.row(k or "l = 5", most, f"{entropy:.5f}", f"{loss:.5f}", node == levels, spent)


def nine_columns(schema: Schema, data: Path) -> Schema:
    """Return the schema with occupation as one more quasi-identifier."""
    columns = {name: replace(spec, role=Role.QUASI_IDENTIFIER) for name, spec in schema.columns.items()}
    path = data / "hierarchies" / "adult" / f"{SENSITIVE}.csv"
    return Schema({**columns, SENSITIVE: replace(columns[SENSITIVE], hierarchy=HierarchyFile(path))})


def times(figures: Figures, data: Path, title: str, theirs: tuple[Theirs, ...]) -> None:
    """Set full-domain's time beside ARX's, and its optimum where theirs is known."""
    table, _, schema = adult(data)
    nine = nine_columns(schema, data)
    eight = Schema({**schema.columns, SENSITIVE: replace(nine.columns[SENSITIVE], role=Role.SENSITIVE)})
    shown = figures.table(
        title, *("work", "ARX, ms", "search, CPU ms", "rows to decision", "choices", "judged", "as ARX's", "proven")
    )
    for each in theirs:
        dataset = encode(table, nine if each.nine else eight)
        anonymizer, policy = FullDomain(loss=each.loss, drop_rows=each.drop_rows), Policy(each.models)
        place = Workplace(rng=np.random.default_rng(1))
        rows, columns = dataset.n_rows, len(dataset.quasi_identifiers)
        loss = Ncp(rows, columns) if each.loss == "ncp" else Discernibility(rows)
        found = anonymizer.anonymize(dataset, policy, Recoding(), place).facts
        spent, whole = [], []
        for _ in range(RUNS):
            judge = judge_of(dataset, policy, rows_to_drop(each.drop_rows, rows), bounded=loss.base_is_known)
            begin = time.process_time()
            Search(judge, loss, anonymizer.checks, lambda: None).run()
            spent.append(1000 * (time.process_time() - begin))
            begin = time.process_time()
            anonymizer.anonymize(dataset, policy, Recoding(), place)
            whole.append(1000 * (time.process_time() - begin))
        same = ""
        if each.levels is not None:
            own = tuple(found["levels"][name] for name in NAMES[:columns])
            squares = squared_sizes(table, found["levels"], data)
            same = str((own, squares, found["rows_dropped"]) == (each.levels, each.squares, each.dropped))
        counts = (found["choices_of_levels"], found["choices_judged"])
        shown.row(each.title, each.milliseconds, min(spent), min(whole), *counts, same, found["proven_to_be_best"])


def judge_of(dataset: Dataset, policy: Policy, limit: int, *, bounded: bool = True) -> Judge:
    """Return full-domain's judge of choices of levels."""
    columns = dataset.quasi_identifiers
    ladders = [ladder_of(column, 1.0, every_level=True) for column in columns]
    asked = conditions_for(dataset, policy, np.arange(dataset.n_rows))
    lattice = lattice_of(ladders, [column.codes for column in columns], asked.bar_of)
    return Judge(lattice, asked.conditions, asked.among, limit=limit, bounded=bounded)


def _first_that_passes(dataset: Dataset, model: PrivacyModel, most: float) -> tuple[float, tuple[int, ...]]:
    limit = int(most * dataset.n_rows)
    judge = judge_of(dataset, Policy((model,)), limit)
    lost: list[list[float]] = []
    for column, ladder in zip(dataset.quasi_identifiers, judge.lattice.ladders, strict=True):
        count = np.bincount(column.codes, minlength=len(column.labels)).astype(np.float64)
        at = [np.bincount(first, weights=count, minlength=count.size)[first] for first in ladder.first]
        lost.append([float((-count * np.log2(count / together)).sum()) for together in at])

    def entropy(node: tuple[int, ...]) -> float:
        return sum(each[level] for each, level in zip(lost, node, strict=True))

    every = sorted(enumerate(product(*map(range, judge.lattice.shape))), key=lambda each: entropy(each[1]))
    found = next(node for number, node in every if judge(number).allowed)
    return entropy(found), found


def squared_sizes(table: pa.Table, levels: dict[str, int], data: Path) -> int:
    """Return the sum of squared class sizes at a choice of levels, all rows counted: ARX's monotone discernibility."""
    codes = np.zeros(table.num_rows, dtype=np.int64)
    for name, level in levels.items():
        labels = levels_in(data / "hierarchies" / "adult" / f"{name}.csv")
        label_of = dict(zip(labels[0].tolist(), labels[level].tolist(), strict=True))
        shown = np.array([label_of[value] for value in table[name].to_pylist()])
        codes = np.unique(np.stack([codes, np.unique(shown, return_inverse=True)[1]]), axis=1, return_inverse=True)[1]
    return int((np.bincount(codes.ravel()) ** 2).sum())


if __name__ == "__main__":
    main()
