"""Several sensitive columns on Adult: distortion and CPU seconds of every search, side by side in one run.

    python benchmarks/multi_sensitive.py DATA [--quick] [--out FOLDER]

DATA is a folder with `adult/adult_train.csv.gz`, `adult/adult_test.csv.gz` and `hierarchies/adult/*.csv`. The sensitive
columns are occupation and work class (two), with education (three), with relationship (four); the others of salary,
marital status, relationship, race, sex and education are quasi-identifiers. CPU seconds are those of the search on
coded data, one thread, compiled code warm. Every release is judged by its audit; a failed one ends the run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from figures import Figures
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.local_recoding import LocalRecoding
from sfumato.anonymizers.masking import Masking
from sfumato.data.base_rates import BaseRates
from sfumato.data.builders import Flat, HierarchyFile
from sfumato.data.dataset import CodedColumn, Dataset
from sfumato.data.encoding import encode
from sfumato.data.files import Source, read_table
from sfumato.data.knowledge import PublicInputs
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.metrics.distortion import Distortion
from sfumato.models import AlphaDiversity, KAnonymity, MultiDiversity
from sfumato.models.base import Policy

COLUMNS = ("income", "marital-status", "relationship", "race", "sex", "education", "occupation", "workclass")
SENSITIVE = {
    2: ("occupation", "workclass"),
    3: ("education", "occupation", "workclass"),
    4: ("relationship", "education", "occupation", "workclass"),
}
FILES = {"income": "salary-class"}
ALPHAS = (0.2, 0.3, 0.4, 0.5)
BARS = {
    (2, "prior", 0.5, "best"): 0.165, (2, "prior", 0.3, "best"): 0.235,
    (2, "prior", 0.5, "fast"): 0.205, (2, "prior", 0.3, "fast"): 0.290,
    (2, "uniform", 0.5, "best"): 0.097, (2, "uniform", 0.3, "best"): 0.210,
    (3, "prior", 0.5, "best"): 0.215, (3, "uniform", 0.5, "best"): 0.080,
    (4, "prior", 0.5, "best"): 0.320, (4, "uniform", 0.5, "best"): 0.092,
}  # fmt: skip


@cache
def adult(folder: Path, sensitive: tuple[str, ...]) -> Dataset:
    """Return Adult, 48,842 rows, in codes; `?` is a missing value."""
    parts = [
        read_table(Source(path=folder / "adult" / name, missing=("?",))).select(COLUMNS)
        for name in ("adult_train.csv.gz", "adult_test.csv.gz")
    ]
    text = pa.schema([(name, pa.string()) for name in COLUMNS])
    specs = {
        name: ColumnSpec(
            name=name,
            role=Role.SENSITIVE if name in sensitive else Role.QUASI_IDENTIFIER,
            hierarchy=HierarchyFile(folder / "hierarchies" / "adult" / f"{FILES.get(name, name)}.csv"),
        )
        for name in COLUMNS
    }
    return encode(pa.concat_tables([part.cast(text) for part in parts]), Schema(specs, missing=("?",)))


def larger(dataset: Dataset, rows: int) -> Dataset:
    """Return a table of so many rows: rows drawn again, then 5 % of each column drawn anew."""
    rng = np.random.default_rng(1)
    drawn = rng.integers(0, dataset.n_rows, rows)
    columns = {}
    for name, column in dataset.columns.items():
        assert isinstance(column, CodedColumn)
        codes = column.codes[drawn]
        anew = rng.random(rows) < 0.05
        codes[anew] = column.codes[rng.integers(0, dataset.n_rows, int(anew.sum()))]
        columns[name] = replace(column, codes=codes)
    return replace(dataset, columns=columns, n_rows=rows)


@dataclass(frozen=True)
class Result:
    quasi_identifiers: float
    sensitive: float
    cpu: float
    facts: dict[str, object]

    @property
    def total(self) -> float:
        return self.quasi_identifiers + self.sensitive


def run(
    dataset: Dataset,
    model: MultiDiversity | AlphaDiversity,
    *,
    before: Recoding | None = None,
    audit: bool = True,
    **options: object,
) -> Result:
    """Mask a table, let the audit judge it, and return what it lost."""
    rates = {name: BaseRates.of(dataset.column(name)) for name in model.judged_columns}
    place = Workplace(public=PublicInputs(base_rates=rates))
    begin = time.process_time()
    recoding = Masking(**options).anonymize(dataset, Policy((model,)), before or Recoding(), place)
    cpu = time.process_time() - begin
    release = replace(publish(dataset, recoding, []), public=place.public)
    if audit:
        seen = replace(Release.from_table(release.table(), dataset.schema), public=place.public)
        verdict = model.audit(seen)
        if not verdict.satisfied:
            raise SystemExit(f"The audit rejected a release: {verdict}")
    facts = Distortion().measure(dataset, release).facts
    return Result(facts["quasi_identifiers"], facts["sensitive"], cpu, dict(recoding.facts))


def multi(m: int, alpha: float, reading: str = "prior", alpha_qi: float | None = None) -> MultiDiversity:
    return MultiDiversity(sensitive=SENSITIVE[m], alpha_sa=alpha, alpha_qi=alpha_qi, reading=reading)


def as_published(m: int, alpha: float, alpha_qi: float | None = None) -> MultiDiversity:
    """Return the requirement in the paper's own setting: labels are read evenly, and there is no smallest class."""
    return MultiDiversity(sensitive=SENSITIVE[m], alpha_sa=alpha, alpha_qi=alpha_qi, reading="uniform", k=1)


def searches(folder: Path, figures: Figures, *, quick: bool) -> None:
    """Compare the searches at equal alpha, k and reading."""
    table = figures.table(
        "Searches", "case", "search", "total", "quasi-ids", "sensitive", "CPU s", "of paper", "vacuous", "bar", "met"
    )
    cases = [(m, reading, alpha) for m in (2, 3, 4) for reading in ("prior", "uniform") for alpha in ALPHAS]
    if quick:
        cases = [(2, "prior", 0.5), (2, "prior", 0.3), (2, "uniform", 0.5), (3, "prior", 0.5), (4, "prior", 0.5)]
    for m, reading, alpha in figures.watch(cases, "searches"):
        paper = 0.0
        for search in ("paper", "fast", "best"):
            if quick and m == 4 and search == "best":
                continue
            found = run(adult(folder, SENSITIVE[m]), multi(m, alpha, reading), search=search)
            paper = paper or found.total
            bar = BARS.get((m, reading, alpha, search))
            assert found.total <= paper + 1e-12, "worse than the published search"
            met = None if bar is None else found.total <= bar
            table.row(
                f"{m} columns, {reading} {alpha}", search, found.total, found.quasi_identifiers, found.sensitive,
                found.cpu, found.total / paper, found.facts["vacuous_share"], bar, met,
            )  # fmt: skip


def without_k(folder: Path, figures: Figures, *, quick: bool) -> None:
    """The searches as the paper has them: it knows no smallest class, and reads labels evenly."""
    table = figures.table("No smallest class", "reading", "k", "search", "total", "of paper", "CPU s")
    for reading in figures.watch(("uniform",) if quick else ("prior", "uniform"), "readings"):
        for k in (1, 2):
            model = MultiDiversity(sensitive=SENSITIVE[2], alpha_sa=0.5, reading=reading, k=k)
            paper = 0.0
            for search in ("paper", "fast") if quick else ("paper", "fast", "best"):
                found = run(adult(folder, SENSITIVE[2]), model, search=search)
                paper = paper or found.total
                table.row(reading, k, search, found.total, found.total / paper, found.cpu)


def single_and_multi(folder: Path, figures: Figures, *, quick: bool) -> None:
    """Figure 3 of the paper, in its setting: one sensitive column alone, and two that must not give each other away."""
    pairs = {"education, occupation": ("education", "occupation"), "occupation, workclass": SENSITIVE[2]}
    for title, columns in pairs.items():
        table = figures.table(
            f"Figure 3: one and two sensitive columns, {title}",
            "alpha",
            "columns",
            "search",
            "quasi-ids",
            "total",
            "CPU s",
        )
        for alpha in figures.watch((0.3, 0.5) if quick else ALPHAS, title):
            for search in ("paper", "fast") if quick else ("paper", "fast", "best"):
                one = AlphaDiversity(sensitive=columns[-1:], alpha=alpha, reading="uniform", k=1)
                both = MultiDiversity(sensitive=columns, alpha_sa=alpha, reading="uniform", k=1)
                alone = run(adult(folder, columns[-1:]), one, search=search)
                together = run(adult(folder, columns), both, search=search)
                for name, found in (("1", alone), ("2", together)):
                    table.row(alpha, f"{name}, {search}", search, found.quasi_identifiers, found.total, found.cpu)
            found = run(adult(folder, columns), both, search="fast", weight=1000.0)
            table.row(alpha, "2, few masks", "fast, weight 1000", found.quasi_identifiers, found.total, found.cpu)
        table.plot(x="alpha", y="total", by="columns", label="total distortion")


def over_alpha(folder: Path, figures: Figures, *, quick: bool) -> None:
    """Figure 4, in the paper's setting: distortion and time over alpha, of classes and of sensitive classes."""
    table = figures.table(
        "Figure 4: distortion over alpha", "alpha", "search", "quasi-ids", "sensitive", "total", "CPU s"
    )
    for alpha in figures.watch((0.2, 0.3, 0.4, 0.5) if quick else (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5), "alpha"):
        for search in ("paper", "fast") if quick else ("paper", "fast", "best"):
            found = run(adult(folder, SENSITIVE[2]), as_published(2, alpha), search=search)
            table.row(alpha, search, found.quasi_identifiers, found.sensitive, found.total, found.cpu)
    for y in ("quasi-ids", "sensitive", "total", "CPU s"):
        table.plot(x="alpha", y=y, by="search", label=y)
    table = figures.table(
        "Figure 4: distortion over alpha of classes",
        "alpha of classes",
        "alpha of secrets",
        "search",
        "quasi-ids",
        "sensitive",
        "CPU s",
    )
    for alpha_sa in figures.watch((0.2, 0.5) if quick else (0.2, 0.3, 0.4, 0.5), "alpha of secrets"):
        for alpha_qi in (0.3, 0.5) if quick else (0.2, 0.3, 0.4, 0.5):
            for search in ("paper", "fast" if quick else "best"):
                found = run(adult(folder, SENSITIVE[2]), as_published(2, alpha_sa, alpha_qi), search=search)
                table.row(alpha_qi, alpha_sa, search, found.quasi_identifiers, found.sensitive, found.cpu)
    for search in ("paper", "fast" if quick else "best"):
        for y in ("quasi-ids", "sensitive"):
            table.plot(x="alpha of classes", y=y, by="alpha of secrets", label=y, where={"search": search})


def over_columns(folder: Path, figures: Figures, *, quick: bool) -> None:
    """Figure 5, in the paper's setting: two, three and four sensitive columns."""
    table = figures.table(
        "Figure 5: number of sensitive columns", "columns", "search", "quasi-ids", "sensitive", "total", "CPU s"
    )
    for m in figures.watch((2, 3, 4), "columns"):
        for search in ("paper", "fast") if quick else ("paper", "fast", "best"):
            found = run(adult(folder, SENSITIVE[m]), as_published(m, 0.5), search=search)
            table.row(m, search, found.quasi_identifiers, found.sensitive, found.total, found.cpu)
    table.plot(x="columns", y="total", by="search", label="total distortion")
    table.plot(x="columns", y="CPU s", by="search", log="y", label="seconds")


def options(folder: Path, figures: Figures, *, quick: bool) -> None:
    """What the options cost."""
    table = figures.table("Options", "option", "alpha", "total", "sensitive", "masked", "vacuous", "CPU s")
    chosen = {
        "none": {},
        "avoid_vacuous": {"avoid_vacuous": True},
        "local_suppression": {"local_suppression": True},
        "weight = 0.2": {"weight": 0.2},
        "weight = 5": {"weight": 5.0},
    }
    for alpha in figures.watch((0.5,) if quick else (0.3, 0.5), "options"):
        for name, option in chosen.items():
            found = run(adult(folder, SENSITIVE[2]), multi(2, alpha), search="fast" if quick else "best", **option)
            table.row(
                name, alpha, found.total, found.sensitive, found.facts["masked_values"],
                found.facts["vacuous_share"], found.cpu,
            )  # fmt: skip
    missing = MultiDiversity(sensitive=SENSITIVE[2], alpha_sa=0.5, missing_is_sensitive=False)
    found = run(adult(folder, SENSITIVE[2]), missing, search="fast" if quick else "best")
    table.row(
        "missing is not sensitive", 0.5, found.total, found.sensitive, found.facts["masked_values"],
        found.facts["vacuous_share"], found.cpu,
    )  # fmt: skip


def rare_values(folder: Path, figures: Figures, *, quick: bool) -> None:
    """A made-up table with one state that a single row has, with and without classes of local recoding made before."""
    rng = np.random.default_rng(1)
    rows, sensitive = 60_000, {"illness": 12, "job": 8}
    state = np.append(rng.choice(52, rows - 1, p=rng.dirichlet(np.ones(52))), 52)
    columns = {"state": state, "sex": rng.integers(0, 2, rows)}
    columns |= {name: rng.choice(values, rows, p=rng.dirichlet(np.ones(values))) for name, values in sensitive.items()}
    specs = {
        name: ColumnSpec(
            name=name, role=Role.SENSITIVE if name in sensitive else Role.QUASI_IDENTIFIER, hierarchy=Flat()
        )
        for name in columns
    }
    dataset = encode(
        pa.table({name: pa.array(codes).cast(pa.string()) for name, codes in columns.items()}), Schema(specs)
    )
    table = figures.table("A rare value", "k", "classes", "search", "total", "quasi-ids", "sensitive", "CPU s")
    for k in figures.watch((2, 5), "k"):
        model = MultiDiversity(sensitive=tuple(sensitive), alpha_sa=0.5, k=k)
        before = LocalRecoding().anonymize(dataset, Policy((KAnonymity(k=k),)), Recoding(), Workplace())
        for search in ("fast",) if quick else ("fast", "best"):
            for name, classes in {"masking": Recoding(), "local-recoding": before}.items():
                found = run(dataset, model, before=classes, search=search)
                table.row(k, name, search, found.total, found.quasi_identifiers, found.sensitive, found.cpu)


def scale(folder: Path, figures: Figures, *, quick: bool) -> None:
    """CPU seconds over rows: the search alone, coded data in, labels of rows out."""
    table = figures.table("Rows", "columns", "rows", "total", "CPU s", "bar", "met")
    cases = [(2, 48_842, 3.0), (3, 48_842, 3.0), (4, 48_842, 3.0), (2, 1_000_000, 5.0)]
    if not quick:
        cases += [(3, 1_000_000, 5.0), (4, 1_000_000, 20.0), (2, 10_000_000, 15.0)]
    for m, rows, bar in figures.watch(cases, "rows"):
        dataset = adult(folder, SENSITIVE[m])
        if rows > dataset.n_rows:
            dataset = larger(dataset, rows)
        found = run(dataset, multi(m, 0.5), search="fast", audit=rows <= 1_000_000)
        table.row(m, rows, found.total, found.cpu, bar, found.cpu <= bar)


PARTS = {
    "searches": searches,
    "without-k": without_k,
    "single": single_and_multi,
    "alpha": over_alpha,
    "columns": over_columns,
    "options": options,
    "rare": rare_values,
    "scale": scale,
}


def main(arguments: Sequence[str] | None = None) -> Figures:
    """Run the parts that are asked for, and return their tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--quick", action="store_true", help="fewer cases: under two minutes")
    parser.add_argument("--out", type=Path, help="folder for tables (csv) and plots (svg)")
    parser.add_argument("--only", nargs="*", choices=sorted(PARTS), default=list(PARTS))
    asked = parser.parse_args(arguments)
    figures = Figures(asked.out)
    for search in ("fast", "paper"):  # compile first, so that seconds are those of the work
        run(adult(asked.data, SENSITIVE[2]), multi(2, 1.0), search=search)
    for name in asked.only:
        PARTS[name](asked.data, figures, quick=asked.quick)
    return figures


if __name__ == "__main__":
    main()
