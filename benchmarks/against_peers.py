"""Adult through every peer that pip installs, and through sfumato: same table, hierarchies, requirements, in one run.

    pip install anjana anonypy pycanon
    python benchmarks/against_peers.py DATA [--rows N] [--only anonymize verdicts arx] [--out FOLDER]

DATA is a folder with `adult/adult_arx.csv.gz` and `hierarchies/adult/*.csv`. All releases are judged by the same audits
and measured by the same metrics, on eight quasi-identifiers with occupation sensitive; a dropped row counts as lost.
CPU seconds are of making the release from a table in memory, sfumato's with compiled loops loaded, encoding and
publishing included. anjana and full-domain may drop up to 5 % of the rows. What is not installed is left out, with a
word. Verdicts are those of pyCANON on the same releases and on 300 random tables, beside those of the audits.

ARX is not on PyPI, and is not run: what is set beside full-domain are the optima that its own tests expect on Adult
(TestAnonymizationTCloseness of version 3.9). Its other tests on Adult minimize an entropy that full-domain does not
offer (TestAnonymizationKAnonymity, TestAnonymizationLDiversity): there all choices of levels are put in the order of
that entropy here, and the first that full-domain's own judge lets pass is set beside ARX's.

Its authors have published times of their own: those of the benchmark of Prasser, Kohlmayer and Kuhn (CBMS 2014;
repository anonbench: results/results.csv, optima in TestAnonBench), of the one of risk-based anonymization (repository
risk-benchmark, results/results1-k-anonymity.txt, ARX 3.0) and of pruning (repository pruning-benchmark,
results/results-low-execution-3.2.csv, ARX 3.2). They are of the search alone, elapsed, once Java is warm, the first on
a Core i5 of 3.1 GHz; beside them is the CPU time of full-domain's search alone, and that from coded rows to a decision,
the lowest of several runs. docs/comparison.md says what is not sure.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

from figures import Figures
from sfumato.anonymizers.base import Anonymizer, Workplace
from sfumato.anonymizers.conditions import conditions_for
from sfumato.anonymizers.dropping import rows_to_drop
from sfumato.anonymizers.full_domain import FullDomain
from sfumato.anonymizers.full_domain.cells import cells_of, ladder_of
from sfumato.anonymizers.full_domain.judging import Judge
from sfumato.anonymizers.full_domain.search import Discernibility as Squares
from sfumato.anonymizers.full_domain.search import Ncp as Loss
from sfumato.anonymizers.full_domain.search import Search
from sfumato.anonymizers.local_recoding import LocalRecoding
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.data.builders import HierarchyFile
from sfumato.data.dataset import Dataset
from sfumato.data.encoding import encode
from sfumato.data.files import Source, read_table
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.metrics.average_class_size import AverageClassSize
from sfumato.metrics.discernibility import Discernibility
from sfumato.metrics.ncp import Ncp
from sfumato.models import BetaLikeness, DeltaDisclosure, KAnonymity, LDiversity, TCloseness
from sfumato.models.base import Policy, PrivacyModel

QUASI_IDENTIFIERS = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class",
)  # fmt: skip
SENSITIVE = "occupation"
NAMES = [*QUASI_IDENTIFIERS, SENSITIVE]
MOST_DROPPED = 5  # percent of rows, for anjana and full-domain
TABLES = 300  # random ones, for verdicts
PARTS = ("anonymize", "verdicts", "arx")
# Discernibility, k = 5 (and 100: the same), equal-distance t = 0.2 of occupation: share of rows that may be dropped ->
# loss and levels in the order of the columns. ARX's monotone variant counts a dropped class by its squared size.
ARX_OPTIMA = {0.0: (456_853_172, (1, 4, 1, 1, 3, 2, 2, 1)), 0.04: (311_880_088, (1, 4, 1, 0, 3, 2, 2, 1))}

# The same of ARX's monotone entropy: k of all nine columns, or entropy l of occupation; share that may be dropped, loss
# and levels in the order of NAMES.
ARX_ENTROPIES: list[tuple[int | None, float, float, tuple[int, ...]]] = [
    (5, 0.0, 407289.5388925293, (1, 2, 1, 1, 3, 2, 2, 1, 1)),
    (5, 0.04, 255559.85455731067, (1, 0, 1, 1, 3, 2, 2, 1, 0)),
    (100, 0.0, 453196.8932458743, (0, 4, 1, 1, 3, 2, 2, 1, 1)),
    (100, 0.04, 379417.3460570988, (1, 1, 1, 1, 3, 2, 2, 1, 1)),
    (None, 0.0, 324620.5269918695, (1, 1, 1, 1, 3, 2, 2, 1)),
]
RUNS = 7  # of which the fastest counts


@dataclass(frozen=True)
class Published:
    """A search whose time ARX's authors have published, in milliseconds, and perhaps its optimum."""

    title: str
    models: tuple[PrivacyModel, ...]
    milliseconds: float
    loss: str = "discernibility"
    drop_rows: float = 0.0
    squares: int | None = None
    levels: tuple[int, ...] | None = None  # None: all nine columns are quasi-identifiers; no optimum is compared


_TREE = TCloseness(sensitive=SENSITIVE, t=0.2, distance="hierarchical")
_RECURSIVE = LDiversity(sensitive=SENSITIVE, l=3, kind="recursive", c=4)
_LEVELS = (1, 1, 1, 1, 3, 2, 2, 1)
ARX_TIMES = (
    Published("k = 5", (KAnonymity(k=5),), 28.4, squares=55_170_356, levels=_LEVELS),
    Published("recursive (4, 3)-diversity", (_RECURSIVE,), 36.5, squares=55_170_356, levels=_LEVELS),
    Published("both", (KAnonymity(k=5), _RECURSIVE), 29.5, squares=55_170_356, levels=_LEVELS),
    Published("hierarchical t = 0.2", (_TREE,), 10.9, squares=290_180_796, levels=(0, 4, 1, 1, 3, 2, 2, 1)),
    Published("k = 5, that t", (KAnonymity(k=5), _TREE), 10.4, squares=290_180_796, levels=(0, 4, 1, 1, 3, 2, 2, 1)),
    Published("nine columns, k = 5, loss, all may go (3.0)", (KAnonymity(k=5),), 1052, loss="ncp", drop_rows=0.99999),
    Published("nine columns, k = 5, loss, 5 % may go (3.2)", (KAnonymity(k=5),), 1234, loss="ncp", drop_rows=0.05),
)


@dataclass(frozen=True)
class Case:
    """Requirements, as each tool takes them: k, then perhaps distinct l or t of the sensitive column."""

    title: str
    k: int
    l: int | None = None
    t: float | None = None

    @property
    def models(self) -> tuple[PrivacyModel, ...]:
        """What sfumato is asked for."""
        found: list[PrivacyModel] = [KAnonymity(k=self.k)]
        found += [LDiversity(sensitive=SENSITIVE, l=self.l)] if self.l else []
        found += [TCloseness(sensitive=SENSITIVE, t=self.t)] if self.t else []
        return tuple(found)


CASES = (Case("k = 5", 5), Case("k = 10", 10), Case("k = 5, distinct l = 3", 5, l=3), Case("k = 5, t = 0.2", 5, t=0.2))


def peer(name: str) -> ModuleType | None:
    """Return a package, or say that it is left out."""
    try:
        found = importlib.import_module(name)
    except ImportError:
        print(f"{name} is not installed, so that it is left out: pip install {name.partition('.')[0]}")
        return None
    print(f"{name.partition('.')[0]} {version(name.partition('.')[0])}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--rows", type=int, help="of Adult, the first ones; all when left out")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--out", type=Path, help="folder for the tables")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=FutureWarning)  # of peers, about pandas
    figures = Figures(options.out)
    if "anonymize" in options.only:
        anonymize(figures, options.data, options.rows)
    if "verdicts" in options.only:
        verdicts(figures)
    if "arx" in options.only:
        optima(figures, options.data)
        entropies(figures, options.data)
        times(figures, options.data)


# Releases.


def anonymize(figures: Figures, data: Path, rows: int | None) -> None:
    table, files, schema = adult(data, rows)
    levels = {name: _levels(path) for name, path in files.items()}
    anjana, anonypy, pycanon = peer("anjana.anonymity"), peer("anonypy"), peer("pycanon.anonymity")
    tools: dict[str, Callable[[Case], pa.Table]] = {}
    if anjana is not None:
        tools["anjana"] = lambda case: by_anjana(anjana, table, levels, case)
    if anonypy is not None:
        tools["anonypy"] = lambda case: by_anonypy(anonypy, table, case)
    bare = schema_of({})
    for name, anonymizer, columns in (
        ("full-domain", FullDomain(drop_rows=MOST_DROPPED / 100), schema),
        ("mondrian, ranges and sets", Mondrian(), bare),
        ("local-recoding", LocalRecoding(), schema),
    ):
        run = partial(by_sfumato, anonymizer, table, columns)
        run(CASES[-1])  # compiled loops are loaded
        tools[f"sfumato {name}"] = run
    shown = figures.table(
        "Adult, eight quasi-identifiers",
        *("work", "tool", "NCP", "discernibility", "class size", "dropped", "CPU s", "audits hold", "pyCANON agrees"),
    )
    original = encode(table, schema)
    for case in CASES:
        for name, run in tools.items():
            begin = time.process_time()
            made = run(case)
            spent = time.process_time() - begin
            release = Release.from_table(made, schema)
            losses = [
                metric.measure(original, release).value for metric in (Ncp(), Discernibility(), AverageClassSize())
            ]
            hold = all(model.audit(release).satisfied for model in case.models)
            agrees = "" if pycanon is None else judged_by_pycanon(pycanon, made, case) == hold
            shown.row(case.title, name, *losses, table.num_rows - made.num_rows, spent, hold, agrees)


def adult(data: Path, rows: int | None = None) -> tuple[pa.Table, dict[str, Path], Schema]:
    source = read_table(Source(path=data / "adult" / "adult_arx.csv.gz", separator=";")).slice(0, rows)
    table = source.select(NAMES).cast(pa.schema([(name, pa.string()) for name in NAMES]))
    files = {name: data / "hierarchies" / "adult" / f"{name}.csv" for name in QUASI_IDENTIFIERS}
    return table, files, schema_of({name: HierarchyFile(path) for name, path in files.items()})


def schema_of(hierarchies: dict[str, HierarchyFile]) -> Schema:
    columns = {
        name: ColumnSpec(name=name, role=Role.QUASI_IDENTIFIER, hierarchy=hierarchies.get(name))
        for name in QUASI_IDENTIFIERS
    }
    return Schema({**columns, SENSITIVE: ColumnSpec(name=SENSITIVE, role=Role.SENSITIVE)})


def by_sfumato(anonymizer: Anonymizer, table: pa.Table, schema: Schema, case: Case) -> pa.Table:
    dataset = encode(table, schema)
    place = Workplace(rng=np.random.default_rng(1))
    recoding = anonymizer.anonymize(dataset, Policy(case.models), Recoding(), place)
    return publish(dataset, recoding, ()).table()


def by_anjana(anjana: ModuleType, table: pa.Table, levels: dict[str, Any], case: Case) -> pa.Table:
    """Full-domain generalization, then classes that fail are dropped."""
    frame, names = table.to_pandas(), list(QUASI_IDENTIFIERS)
    if case.l:
        made = anjana.l_diversity(frame, [], names, SENSITIVE, case.k, case.l, MOST_DROPPED, levels)
    elif case.t:
        made = anjana.t_closeness(frame, [], names, SENSITIVE, case.k, case.t, MOST_DROPPED, levels)
    else:
        made = anjana.k_anonymity(frame, [], names, case.k, MOST_DROPPED, levels)
    return pa.Table.from_pandas(made[NAMES], preserve_index=False)


def by_anonypy(anonypy: ModuleType, table: pa.Table, case: Case) -> pa.Table:
    """Mondrian: ranges of numbers and sets of words, given back as one row for each class and sensitive value."""
    frame = table.to_pandas()
    frame["age"] = frame["age"].astype(int)
    for name in NAMES:
        frame[name] = frame[name] if name == "age" else frame[name].astype("category")
    preserver = anonypy.Preserver(frame, list(QUASI_IDENTIFIERS), SENSITIVE)
    if case.l:
        rows = preserver.anonymize_l_diversity(k=case.k, l=case.l)
    elif case.t:
        rows = preserver.anonymize_t_closeness(k=case.k, p=case.t)
    else:
        rows = preserver.anonymize_k_anonymity(k=case.k)
    counts = [int(row["count"]) for row in rows]
    return pa.table(
        {name: np.repeat([_as_label(name, _one(row[name])) for row in rows], counts).tolist() for name in NAMES}
    )


def _one(cell: Any) -> str:
    return str(cell[0] if isinstance(cell, list) else cell)


def _as_label(name: str, cell: str) -> str:
    """Return what anonypy shows as sfumato would write it: 20-29 as [20, 29], a,b as {a|b}."""
    if name == "age":
        return f"[{cell.replace('-', ', ')}]" if "-" in cell else cell
    return "{" + "|".join(sorted(cell.split(","))) + "}" if "," in cell else cell


def judged_by_pycanon(pycanon: ModuleType, made: pa.Table, case: Case) -> bool:
    frame, names = made.to_pandas(), list(QUASI_IDENTIFIERS)
    holds = pycanon.k_anonymity(frame, names) >= case.k
    if case.l:
        holds &= pycanon.l_diversity(frame, names, [SENSITIVE]) >= case.l
    if case.t:
        holds &= pycanon.t_closeness(frame, names, [SENSITIVE]) <= case.t
    return bool(holds)


def _levels(path: Path) -> dict[int, Any]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter=";"))
    return {level: np.array([row[level] for row in rows]) for level in range(len(rows[0]))}


# Verdicts.


def verdicts(figures: Figures) -> None:
    """Count on how many random tables pyCANON and the audits come to the same verdict."""
    pycanon = peer("pycanon.anonymity")
    if pycanon is None:
        return
    schema = Schema(
        {
            **{name: ColumnSpec(name=name, role=Role.QUASI_IDENTIFIER) for name in ("a", "b")},
            **{name: ColumnSpec(name=name, role=Role.SENSITIVE) for name in ("s", "n")},
        }
    )
    equal: dict[str, list[bool]] = {}
    for seed in range(TABLES):
        frame = random_frame(seed)
        release = Release.from_table(pa.Table.from_pandas(frame, preserve_index=False), schema)
        for name, theirs, model in asked(pycanon, frame):
            equal.setdefault(name, []).append(theirs == model.audit(release).satisfied)
    shown = figures.table("Verdicts equal to pyCANON's", "requirement", "tables", "equal")
    for name, found in equal.items():
        shown.row(name, len(found), sum(found))


def random_frame(seed: int) -> Any:
    """Return a table of two quasi-identifiers and two sensitive columns, one of words and one of numbers."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    rows = int(rng.integers(8, 60))
    return pd.DataFrame(
        {
            "a": rng.choice(["x", "y"], rows),
            "b": rng.choice(["u", "v", "w"][: int(rng.integers(1, 4))], rows),
            "s": rng.choice(["flu", "gout", "none"][: int(rng.integers(2, 4))], rows),
            "n": rng.choice([10, 20, 30, 40], rows),
        }
    )


def asked(pycanon: ModuleType, frame: Any) -> Iterator[tuple[str, bool, PrivacyModel]]:
    """Yield what pyCANON says and who is to say the same; thresholds are such that no table meets one exactly."""
    names = ["a", "b"]
    yield "k = 3", pycanon.k_anonymity(frame, names) >= 3, KAnonymity(k=3)
    yield "distinct l = 2", pycanon.l_diversity(frame, names, ["s"]) >= 2, LDiversity(sensitive="s", l=2)
    t = pycanon.t_closeness(frame, names, ["s"])
    yield "t = 0.2371, equal", t <= 0.2371, TCloseness(sensitive="s", t=0.2371)
    t = pycanon.t_closeness(frame, names, ["n"])
    yield "t = 0.1371, ordered", t <= 0.1371, TCloseness(sensitive="n", t=0.1371, distance="ordered")
    beta = pycanon.basic_beta_likeness(frame, names, ["s"])
    yield "basic beta = 0.6137", beta <= 0.6137, BetaLikeness(sensitive="s", beta=0.6137)
    delta = pycanon.delta_disclosure(frame, names, ["s"])
    every = frame.groupby(names)["s"].nunique().min() == frame["s"].nunique()
    title = f"delta = 0.7137, classes {'show every value' if every else 'lack values'}"
    yield title, delta < 0.7137, DeltaDisclosure(sensitive="s", delta=0.7137)


# Optima.


def optima(figures: Figures, data: Path) -> None:
    """Set full-domain's proven optima beside those that ARX's tests expect."""
    table, _, schema = adult(data)
    dataset = encode(table, schema)
    shown = figures.table(
        "Full-domain and ARX's optimum: discernibility, t = 0.2",
        *("k", "may be dropped", "dropped", "sum of squares", "ARX", "levels as ARX's", "proven", "CPU s"),
    )
    for k in (5, 100):
        for most, (loss, levels) in ARX_OPTIMA.items():
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
    for k, most, loss, levels in ARX_ENTROPIES:
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


def times(figures: Figures, data: Path) -> None:
    """Set full-domain's time beside those that ARX's authors have published, and its optimum where they state one."""
    table, _, schema = adult(data)
    nine = nine_columns(schema, data)
    eight = Schema({**schema.columns, SENSITIVE: replace(nine.columns[SENSITIVE], role=Role.SENSITIVE)})
    shown = figures.table(
        "Times that ARX's authors have published",
        *("work", "ARX, ms", "search, CPU ms", "rows to decision", "choices", "judged", "as ARX's", "proven"),
    )
    for each in ARX_TIMES:
        dataset = encode(table, nine if each.levels is None else eight)
        anonymizer, policy = FullDomain(loss=each.loss, drop_rows=each.drop_rows), Policy(each.models)
        place = Workplace(rng=np.random.default_rng(1))
        rows, columns = dataset.n_rows, len(dataset.quasi_identifiers)
        loss = Loss(rows, columns) if each.loss == "ncp" else Squares(rows)
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
            own = tuple(found["levels"][name] for name in QUASI_IDENTIFIERS)
            same = str(own == each.levels and squared_sizes(table, found["levels"], data) == each.squares)
        counts = (found["choices_of_levels"], found["choices_judged"])
        shown.row(each.title, each.milliseconds, min(spent), min(whole), *counts, same, found["proven_to_be_best"])


def judge_of(dataset: Dataset, policy: Policy, limit: int, *, bounded: bool = True) -> Judge:
    """Return full-domain's judge of choices of levels."""
    columns = dataset.quasi_identifiers
    ladders = [ladder_of(column, 1.0, every_level=True) for column in columns]
    asked = conditions_for(dataset, policy, np.arange(dataset.n_rows))
    cells = cells_of(ladders, [column.codes for column in columns], asked.cell_of)
    return Judge(cells, asked.conditions, asked.among, limit=limit, bounded=bounded)


def _first_that_passes(dataset: Dataset, model: PrivacyModel, most: float) -> tuple[float, tuple[int, ...]]:
    limit = int(most * dataset.n_rows)
    judge = judge_of(dataset, Policy((model,)), limit)
    lost: list[list[float]] = []
    for column, ladder in zip(dataset.quasi_identifiers, judge.cells.ladders, strict=True):
        count = np.bincount(column.codes, minlength=len(column.labels)).astype(np.float64)
        at = [np.bincount(first, weights=count, minlength=count.size)[first] for first in ladder.first]
        lost.append([float((-count * np.log2(count / together)).sum()) for together in at])

    def entropy(node: tuple[int, ...]) -> float:
        return sum(each[level] for each, level in zip(lost, node, strict=True))

    every = sorted(enumerate(product(*map(range, judge.cells.shape))), key=lambda each: entropy(each[1]))
    found = next(node for number, node in every if judge(number).allowed)
    return entropy(found), found


def squared_sizes(table: pa.Table, levels: dict[str, int], data: Path) -> int:
    """Return the sum of squared class sizes at a choice of levels, all rows counted: ARX's monotone discernibility."""
    codes = np.zeros(table.num_rows, dtype=np.int64)
    for name, level in levels.items():
        labels = _levels(data / "hierarchies" / "adult" / f"{name}.csv")
        label_of = dict(zip(labels[0].tolist(), labels[level].tolist(), strict=True))
        shown = np.array([label_of[value] for value in table[name].to_pylist()])
        codes = np.unique(np.stack([codes, np.unique(shown, return_inverse=True)[1]]), axis=1, return_inverse=True)[1]
    return int((np.bincount(codes.ravel()) ** 2).sum())


if __name__ == "__main__":
    main()
