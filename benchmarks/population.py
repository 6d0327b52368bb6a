"""Risk in a population and special uniques: Adult with ARX's figures beside ours, made-up populations, and times.

    python benchmarks/population.py DATA [--out FOLDER]

DATA is a folder with `adult/adult_arx.csv.gz`. ARX's figures are those that its own test of risk metrics expects
(TestRiskMetrics, version 3.9), where it has one. With the package `suda` installed, the size of each record's smallest
set is compared, too; its scores are not, as it counts every set that singles a record out, minimal or not.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

from figures import Figures
from sfumato.data.dataset import DistinctRows, distinct_codes, distinct_rows
from sfumato.data.encoding import encode
from sfumato.data.files import Source, read_table
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.metrics.individual_risk import individual_risk
from sfumato.metrics.minimal_uniques import minimal_uniques
from sfumato.metrics.superpopulation import Sizes, estimated_uniques

COLUMNS = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip
ARX = {0.01: "pitman .14461", 0.1: "pitman .27685", 0.2: "zayatz .35771", 1.0: "counted .51429"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--out", type=Path, help="folder for the tables")
    options = parser.parse_args()
    table = read_table(Source(path=options.data / "adult" / "adult_arx.csv.gz", separator=";")).select(list(COLUMNS))
    figures = Figures(options.out)
    distinct = distinct_in(table, COLUMNS)
    uniques(figures, distinct)
    made_up(figures)
    approximation(figures)
    special(figures, table)


def distinct_in(table, names) -> DistinctRows:
    schema = Schema({name: ColumnSpec(name=name, role=Role.QUASI_IDENTIFIER) for name in names})
    dataset = encode(table.select(list(names)), schema)
    return distinct_rows(dataset.quasi_identifiers, dataset.n_rows)


def uniques(figures: Figures, distinct: DistinctRows) -> None:
    shown = figures.table(
        "Adult: unique in the population", "fraction", "chosen", "share", "pitman", "zayatz", "snb", "ARX", "CPU s"
    )
    sizes = Sizes.of(distinct.weight)
    for fraction in (0.01, 0.05, 0.1, 0.2, 0.5, 1.0):
        population = round(sizes.rows / fraction)
        begin = time.process_time()
        found = estimated_uniques(sizes, population)
        spent = time.process_time() - begin
        models = (each / population if each is not None else "" for each in found.by_model.values())
        shown.row(fraction, found.model, found.people / population, *models, ARX.get(fraction, ""), spent)


def made_up(figures: Figures) -> None:
    """Populations of 100,000 people, of whom the truth is known, with few and many kinds of people."""
    shown = figures.table("Estimated over true uniques", "fraction", "populations", "a quarter", "median", "3 quarters")
    for fraction in (0.02, 0.1, 0.3):
        rng = np.random.default_rng(1)
        found = []
        for _ in range(40):
            kinds = int(np.exp(rng.uniform(np.log(2_000), np.log(200_000))))
            people = rng.choice(kinds, 100_000, p=rng.dirichlet(np.full(kinds, rng.uniform(0.05, 1))))
            truth = int((np.bincount(people) == 1).sum())
            sample = np.bincount(people[: round(100_000 * fraction)])
            found.append(estimated_uniques(Sizes.of(sample[sample > 0]), 100_000).people / max(truth, 1))
        shown.row(fraction, len(found), *np.quantile(found, [0.25, 0.5, 0.75]).tolist())


def approximation(figures: Figures) -> None:
    """By how much p / (f - 1 + p), which sdcMicro takes for more than two rows, differs from the expectation."""
    shown = figures.table("Individual risk: sdcMicro's approximation over the expectation", "rows", "p", "ratio")
    for rows in (3, 5, 10, 50):
        for p in (0.001, 0.1, 0.5):
            exact = float(individual_risk(np.array([rows]), np.array([rows / p]))[0])
            shown.row(rows, p, p / (rows - 1 + p) / exact)


def special(figures: Figures, table) -> None:
    shown = figures.table(
        "Minimal sample uniques", "table", "distinct rows", "columns", "up to", "visits", "by 3 or fewer", "CPU s"
    )
    rng = np.random.default_rng(1)
    values = [20, 3, 8, 5, 10, 2, 6, 4, 40]
    random = distinct_codes([(rng.integers(0, n, 1_000_000).astype(np.int32), n) for n in values], 1_000_000)
    for name, distinct, size in (
        ("Adult", distinct_in(table, COLUMNS[:8]), None),
        ("Adult", distinct_in(table, COLUMNS), None),
        ("Adult", distinct_in(table, COLUMNS), 3),
        ("random, 1,000,000 rows", random, None),
    ):
        begin = time.process_time()
        found = minimal_uniques(distinct, size)
        spent = time.process_time() - begin
        few = int(((found.smallest > 0) & (found.smallest <= 3)).sum())
        shown.row(name, distinct.weight.size, found.columns, found.size, found.visits, few, spent)
    try:
        from suda import suda
    except ImportError:
        print("suda is not installed, so that it is not compared: pip install suda")
        return
    warnings.filterwarnings("ignore", category=FutureWarning)  # of suda, about pandas
    begin = time.process_time()
    other = suda(table.select(list(COLUMNS[:8])).to_pandas(), max_msu=3)
    spent = time.process_time() - begin
    distinct = distinct_in(table, COLUMNS[:8])
    ours = minimal_uniques(distinct, 3).smallest[distinct.distinct_of]
    theirs = other["msu"].to_numpy()
    shown.row("Adult, by suda", "", 8, 3, "", int((theirs > 0).sum()), spent)
    print(f"records whose smallest set has the size that suda finds: {float((ours == theirs).mean()):.1%}")


if __name__ == "__main__":
    main()
