"""The classic models on Adult: loss and CPU seconds of every variant, side by side in one run.

    python benchmarks/classic.py DATA [--quick] [--out FILE]

DATA is a folder with `adult/adult_arx.csv.gz`, `adult/adult_train.csv.gz` and `hierarchies/adult/*.csv`. CPU seconds
are those of the search on coded data, one thread, compiled code warm, the best of some runs. The column "ARX" gives
what ARX 3.9.2's local recoding was measured to lose on the same table with the same hierarchies (NCP / CPU s). Its
losses, and the bars, count the values that occur, as the column "occurs" does; "NCP" counts all values of a hierarchy.
"""

from __future__ import annotations

import argparse
import functools
import json
import resource
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.anonymizers.base import Anonymizer, Workplace
from sfumato.anonymizers.full_domain import FullDomain
from sfumato.anonymizers.local_recoding import LocalRecoding
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.data.builders import HierarchyFile, Widths
from sfumato.data.dataset import Dataset
from sfumato.data.encoding import encode
from sfumato.data.files import Source, read_table
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.metrics.ncp import Ncp
from sfumato.models import BetaLikeness, DeltaDisclosure, KAnonymity, LDiversity, TCloseness
from sfumato.models.base import Policy, PrivacyModel

QI9 = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class")
QI8 = tuple(name for name in QI9 if name != "occupation")
QI12 = (
    "age", "sex", "race", "marital-status", "education", "native-country", "workclass", "relationship", "income",
    "hours-per-week", "occupation", "capital-gain",
)  # fmt: skip
SENSITIVE = "occupation"


@dataclass
class Report:
    """Prints rows as they come and keeps them for a file."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    def section(self, title: str) -> None:
        print(f"\n## {title}\n")
        print(f"{'work':58} {'NCP':>8} {'occurs':>8} {'CPU s':>7} {'classes':>8} {'ratio':>7}  {'bar':>15}  ARX")

    def row(
        self,
        work: str,
        ncp: float | None,
        occurring: float | None,
        cpu: float,
        classes: int | None,
        ratio: float | None = None,
        bar: str = "",
        arx: str = "",
    ) -> None:
        shown = (
            *(f"{loss:8.5f}" if loss is not None else " " * 8 for loss in (ncp, occurring)),
            f"{cpu:7.2f}",
            f"{classes:8,}" if classes is not None else " " * 8,
            f"{ratio:6.2f}x" if ratio is not None else " " * 7,
        )
        print(f"{work:58} {' '.join(shown)}  {bar:>15}  {arx}", flush=True)
        self.rows.append(
            {"work": work, "ncp": ncp, "occurring": occurring, "cpu_seconds": cpu, "classes": classes, "ratio": ratio}
        )


def adult(
    data: Path, quasi_identifiers: tuple[str, ...], sensitive: tuple[str, ...] = (), hierarchies: bool = True
) -> tuple[pa.Table, Schema]:
    """ARX's Adult extract with the hierarchies that come with it."""
    table = read_table(Source(path=data / "adult" / "adult_arx.csv.gz", separator=";"))
    return table, _schema(data, quasi_identifiers, sensitive, hierarchies)


def wide_adult(data: Path, n_quasi_identifiers: int) -> tuple[pa.Table, Schema]:
    """The complete rows of Adult's training part, up to twelve quasi-identifiers."""
    table = read_table(Source(path=data / "adult" / "adult_train.csv.gz"))
    complete = [pc.not_equal(column.cast(pa.string()), "?") for column in table.columns]
    table = table.filter(functools.reduce(pc.and_, complete))
    return table, _schema(data, QI12[:n_quasi_identifiers], (), True)


def _schema(data: Path, quasi_identifiers: tuple[str, ...], sensitive: tuple[str, ...], hierarchies: bool) -> Schema:
    special = {"hours-per-week": Widths((5, 10, 50)), "capital-gain": Widths((1_000, 5_000, 50_000))}
    files = {"income": "salary-class"}

    def hierarchy(name: str) -> Any:
        if not hierarchies:
            return None
        return special.get(name) or HierarchyFile(data / "hierarchies" / "adult" / f"{files.get(name, name)}.csv")

    columns = {
        name: ColumnSpec(name=name, role=Role.QUASI_IDENTIFIER, hierarchy=hierarchy(name)) for name in quasi_identifiers
    }
    columns |= {name: ColumnSpec(name=name, role=Role.SENSITIVE) for name in sensitive}
    return Schema(columns=columns, rest=Role.IDENTIFIER)


def resampled(table: pa.Table, rows: int, seed: int = 1) -> pa.Table:
    """Rows drawn at random from a table, with 5 % of each column's cells redrawn from that column."""
    rng = np.random.default_rng(seed)
    drawn = table.take(pa.array(rng.integers(0, table.num_rows, rows)))
    columns = []
    for name in table.column_names:
        codes = drawn.column(name).combine_chunks()
        codes = codes.chunk(0) if isinstance(codes, pa.ChunkedArray) else codes
        changed = np.flatnonzero(rng.random(rows) < 0.05)
        at = np.arange(rows)
        at[changed] = rng.integers(0, rows, changed.size)
        columns.append(codes.take(pa.array(at)))
    return pa.table(dict(zip(table.column_names, columns, strict=True)))


def measured(
    dataset: Dataset, schema: Schema, anonymizer: Anonymizer, *models: PrivacyModel, runs: int = 2, audit: bool = True
) -> tuple[float, float, float, int]:
    """Return NCP, the same over occurring values, CPU seconds and classes of one variant; its release is audited."""
    policy, best = Policy(models), float("inf")
    recoding = Recoding()
    for _ in range(runs):
        start = time.process_time()
        recoding = anonymizer.anonymize(dataset, policy, Recoding(), Workplace(threads=1))
        best = min(best, time.process_time() - start)
    release = publish(dataset, recoding, [])
    if audit:
        seen = Release.from_table(release.table(), schema)
        for model in models:
            verdict = model.audit(seen)
            if not verdict.satisfied:
                sys.exit(f"The audit rejects a release: {verdict}")
    if release.n_rows < dataset.n_rows * (1 - getattr(anonymizer, "drop_rows", 0)):
        sys.exit(f"{dataset.n_rows - release.n_rows} rows were suppressed")
    assert recoding.class_of is not None
    lost = Ncp().measure(dataset, release)
    classes = int(np.unique(recoding.class_of[recoding.class_of >= 0]).size)
    return lost.value, lost.facts["loss_of_occurring"], best, classes


def acceptance(data: Path, report: Report) -> None:
    report.section("Local recoding, default mode, ARX's Adult (30,162 rows)")
    eight = encode(*adult(data, QI8))
    schema8 = adult(data, QI8)[1]
    bars = {
        2: (".0124 / .30", ".0184 / .30"),
        5: (".0305 / .30", ".0358 / .65"),
        10: (".0466 / .30", ".0512 / 1.21"),
        50: (".1012 / .30", ".1059 / 2.28"),
    }
    for k, (bar, arx) in bars.items():
        report.row(f"QI8 k={k}", *measured(eight, schema8, LocalRecoding(), KAnonymity(k=k), runs=3), None, bar, arx)
    nine, schema9 = encode(*adult(data, QI9)), adult(data, QI9)[1]
    for k, bar, arx in ((5, ".0558 / .60", ".0631 / 4.42"), (10, ".0815 / .70", ".0870 / 7.57")):
        report.row(f"QI9 k={k}", *measured(nine, schema9, LocalRecoding(), KAnonymity(k=k), runs=3), None, bar, arx)
    table, schema = adult(data, QI8, (SENSITIVE,))
    secret = encode(table, schema)
    for name, model, bar, arx in diversity_models():
        found = measured(secret, schema, LocalRecoding(), KAnonymity(k=5), model, runs=3)
        report.row(f"QI8 k=5 and {name}", *found, None, bar, arx)


def diversity_models() -> list[tuple[str, PrivacyModel, str, str]]:
    return [
        ("distinct l=3", LDiversity(sensitive=SENSITIVE, l=3), ".0335 / .35", ".0395 / 1.20"),
        ("entropy l=3", LDiversity(sensitive=SENSITIVE, l=3, kind="entropy"), ".0436 / .60", ".0727 / 4.80, 553 lost"),
        (
            "recursive (4,3)",
            LDiversity(sensitive=SENSITIVE, l=3, kind="recursive", c=4),
            ".0367 / .50",
            ".0677 / 3.47, 662 lost",
        ),
        ("t=0.2", TCloseness(sensitive=SENSITIVE, t=0.2), ".312 / 3.5", ".4468 / 78.9, 1,090 lost"),
    ]


def variants(data: Path, report: Report) -> None:
    report.section("Variants on QI8 k=5 (ratio: CPU against the default)")
    table, schema = adult(data, QI8, (SENSITIVE,))
    secret = encode(table, schema)
    base = measured(secret, schema, LocalRecoding(), KAnonymity(k=5))
    for mode in ("fast", "capped", "std", "thorough"):
        found = measured(secret, schema, LocalRecoding(mode=mode), KAnonymity(k=5))
        report.row(f"k=5, mode {mode}", *found, found[2] / base[2])
    for name, model, _, _ in diversity_models():
        apart = measured(secret, schema, LocalRecoding(), KAnonymity(k=5), model)
        together = measured(secret, schema, LocalRecoding(keep_equal_together=True), KAnonymity(k=5), model)
        report.row(f"{name}, keep_equal_together off", *apart)
        report.row(f"{name}, keep_equal_together on", *together, together[2] / apart[2])
    report.section("Two sensitive columns at once (seven quasi-identifiers, k=5)")
    names = tuple(name for name in QI8 if name != "education")
    table, schema = adult(data, names, (SENSITIVE, "education"))
    both = encode(table, schema)
    for kind, extra in (("distinct", {}), ("entropy", {}), ("recursive", {"c": 4})):
        models = [LDiversity(sensitive=name, l=3, kind=kind, **extra) for name in (SENSITIVE, "education")]
        for model in models:
            report.row(
                f"{kind} l=3 on {model.sensitive} alone",
                *measured(both, schema, LocalRecoding(), KAnonymity(k=5), model),
            )
        report.row(f"{kind} l=3 on both", *measured(both, schema, LocalRecoding(), KAnonymity(k=5), *models))
    models = [TCloseness(sensitive=name, t=0.3) for name in (SENSITIVE, "education")]
    report.row("t=0.3 on both", *measured(both, schema, LocalRecoding(), KAnonymity(k=5), *models, runs=1))


def likeness(data: Path, report: Report) -> None:
    report.section("beta-likeness and delta-disclosure, seven quasi-identifiers, k=5 (ratio: CPU against mondrian)")
    table, schema = adult(data, tuple(name for name in QI8 if name != "salary-class"), ("salary-class", SENSITIVE))
    secret = encode(table, schema)
    for model in (
        BetaLikeness(sensitive=SENSITIVE, beta=2),
        BetaLikeness(sensitive=SENSITIVE, beta=2, kind="enhanced"),
        DeltaDisclosure(sensitive="salary-class", delta=1),
    ):
        work = f"{model.name} {getattr(model, 'kind', '')}".strip()
        base = measured(secret, schema, Mondrian(), KAnonymity(k=5), model)
        report.row(f"{work}, mondrian", *base, 1.0)
        found = measured(secret, schema, LocalRecoding(), KAnonymity(k=5), model)
        report.row(f"{work}, local-recoding", *found, found[2] / base[2])


def full_domain(data: Path, report: Report) -> None:
    report.section("Full-domain, proven optima (QI9: 12,960 choices of levels; ratio: NCP against local recoding)")
    nine, schema9 = encode(*adult(data, QI9)), adult(data, QI9)[1]
    table, schema = adult(data, QI8, (SENSITIVE,))
    secret = encode(table, schema)
    for k in (5, 10):
        free = measured(nine, schema9, LocalRecoding(), KAnonymity(k=k))
        for drop_rows in (0.0, 0.05):
            for loss in ("ncp", "discernibility", "class-size"):
                found = measured(nine, schema9, FullDomain(loss=loss, drop_rows=drop_rows), KAnonymity(k=k))
                report.row(f"QI9 k={k}, {loss}, {drop_rows:.0%} may be dropped", *found, found[0] / free[0])
    for model in (
        LDiversity(sensitive=SENSITIVE, l=3),
        TCloseness(sensitive=SENSITIVE, t=0.2),
        BetaLikeness(sensitive=SENSITIVE, beta=2, kind="enhanced"),
    ):
        free = measured(secret, schema, LocalRecoding(), KAnonymity(k=5), model)
        for drop_rows in (0.0, 0.05):
            found = measured(secret, schema, FullDomain(drop_rows=drop_rows), KAnonymity(k=5), model)
            report.row(f"QI8 k=5 and {model.name}, {drop_rows:.0%} may be dropped", *found, found[0] / free[0])


def mondrian(data: Path, report: Report) -> None:
    report.section("Mondrian, QI8 k=5 (ratio: CPU against the first)")
    table, schema = adult(data, QI8, (SENSITIVE,), hierarchies=False)
    bare = encode(table, schema)
    with_trees_table, with_trees = adult(data, QI8, (SENSITIVE,))
    trees = encode(with_trees_table, with_trees)
    base = measured(bare, schema, Mondrian(value_sets=True), KAnonymity(k=5))
    report.row("value sets, no hierarchy", *base, 1.0, ".0196 / 1.00", "(anonypy: .0196 in 46 s)")
    for work, dataset, its_schema, anonymizer in (
        ("no hierarchy, strict", bare, schema, Mondrian()),
        ("no hierarchy, relaxed", bare, schema, Mondrian(strict=False)),
        ("hierarchies, labels", trees, with_trees, Mondrian()),
    ):
        found = measured(dataset, its_schema, anonymizer, KAnonymity(k=5))
        report.row(work, *found, found[2] / base[2])
    for name, model, _, _ in diversity_models():
        found = measured(bare, schema, Mondrian(value_sets=True), KAnonymity(k=5), model)
        report.row(f"value sets, {name}", *found, found[2] / base[2])


def scale(data: Path, report: Report, rows: int) -> None:
    report.section(f"{rows:,} rows (Adult resampled, 5 % of each column redrawn; ratio: CPU against fast, k=5)")
    small, schema = adult(data, QI8, (SENSITIVE,))
    dataset = encode(resampled(small, rows), schema)
    base = measured(dataset, schema, LocalRecoding(mode="fast"), KAnonymity(k=5))
    million = rows == 1_000_000
    report.row("QI8 k=5, fast", *base, 1.0, ".0034 / .60" if million else "")
    found = measured(dataset, schema, LocalRecoding(), KAnonymity(k=5))
    report.row("QI8 k=5, default", *found, found[2] / base[2])
    if rows <= 1_000_000:
        bars = ("", ".031 / 5", ".024 / 5", ".37 / 15") if million else ("",) * 4
        for (name, model, _, _), bar in zip(diversity_models(), bars, strict=True):
            found = measured(dataset, schema, LocalRecoding(), KAnonymity(k=5), model, runs=1)
            report.row(f"QI8 k=5 and {name}, default", *found, found[2] / base[2], bar)
    found = measured(dataset, schema, Mondrian(), KAnonymity(k=5), runs=1)
    report.row("QI8 k=5, mondrian", *found, found[2] / base[2])


def width(data: Path, report: Report) -> None:
    report.section("4 to 12 quasi-identifiers, k=5 (ratio: CPU against four)")
    base = None
    for count in (4, 6, 8, 10, 12):
        table, schema = wide_adult(data, count)
        dataset = encode(table, schema)
        found = measured(dataset, schema, LocalRecoding(), KAnonymity(k=5))
        base = base or found[2]
        report.row(f"{count} quasi-identifiers, local-recoding", *found, found[2] / base)
        found = measured(dataset, schema, Mondrian(), KAnonymity(k=5))
        report.row(f"{count} quasi-identifiers, mondrian", *found, found[2] / base)


def audits(data: Path, report: Report, rows: int) -> None:
    report.section(f"Audits of {rows:,} rows (ratio: against the first; bar: all together 10 s)")
    table, schema = adult(data, QI8, (SENSITIVE,), hierarchies=False)
    release = Release.from_table(resampled(table, rows), schema)
    base = None
    models = [KAnonymity(k=5), *(model for _, model, _, _ in diversity_models())]
    for model in models:
        start = time.process_time()
        verdict = model.audit(release)
        cpu = time.process_time() - start
        base = base or cpu
        report.row(f"{model.name} {getattr(model, 'kind', '')}", None, None, cpu, verdict.groups, cpu / base)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--quick", action="store_true", help="without a million and ten million rows")
    parser.add_argument("--out", type=Path, help="write all rows as JSON here")
    options = parser.parse_args()
    report = Report()
    acceptance(options.data, report)
    variants(options.data, report)
    likeness(options.data, report)
    full_domain(options.data, report)
    mondrian(options.data, report)
    width(options.data, report)
    if not options.quick:
        scale(options.data, report, 1_000_000)
        scale(options.data, report, 10_000_000)
        audits(options.data, report, 10_000_000)
    else:
        audits(options.data, report, 1_000_000)
    print(f"\nLargest memory of the whole run: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB")
    if options.out:
        options.out.write_text(json.dumps(report.rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
