"""Adult through every peer that pip installs, and through sfumato: same table, hierarchies, requirements, in one run.

    pip install anjana anonypy pycanon
    python benchmarks/against_peers.py DATA [--rows N] [--only anonymize verdicts] [--out FOLDER]

DATA is a folder with `adult/adult_arx.csv.gz` and `hierarchies/adult/*.csv`. All releases are judged by the same audits
and measured by the same metrics, on eight quasi-identifiers with occupation sensitive; a dropped row counts as lost.
CPU seconds are of making the release from a table in memory, sfumato's with compiled loops loaded, encoding and
publishing included. anjana and full-domain may drop up to 5 % of the rows. What is not installed is left out, with a
word. Verdicts are those of pyCANON on the same releases and on 300 random tables, beside those of the audits.
ARX stands in a benchmark of its own, against_arx.py.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

from figures import Figures
from sfumato.anonymizers.base import Anonymizer, Workplace
from sfumato.anonymizers.full_domain import FullDomain
from sfumato.anonymizers.local_recoding import LocalRecoding
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.data.builders import HierarchyFile
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
PARTS = ("anonymize", "verdicts")


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


# Releases.


def anonymize(figures: Figures, data: Path, rows: int | None) -> None:
    table, files, schema = adult(data, rows)
    levels = {name: levels_in(path) for name, path in files.items()}
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
    # anjana refuses the text columns of pandas 3: it wants arrays of numpy.
    frame, names = table.to_pandas().astype(object), list(QUASI_IDENTIFIERS)
    importlib.import_module("pandas").set_option("future.infer_string", False)
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


def levels_in(path: Path) -> dict[int, Any]:
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


if __name__ == "__main__":
    main()
