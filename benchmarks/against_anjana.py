"""Adult through anjana and through sfumato: the same table, hierarchies and requirements, in one run.

    pip install anjana
    python benchmarks/against_anjana.py DATA [--out FOLDER]

DATA is a folder with `adult/adult_arx.csv.gz` and `hierarchies/adult/*.csv`. Both releases are judged by the same
audits and measured by the same metric. CPU seconds are of making the release from a table in memory, sfumato's with
compiled loops loaded, encoding and publishing included. Anjana may drop up to 5 % of the rows; sfumato drops none.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from figures import Figures
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.local_recoding import LocalRecoding
from sfumato.data.builders import HierarchyFile
from sfumato.data.encoding import encode
from sfumato.data.files import Source, read_table
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.metrics.ncp import Ncp
from sfumato.models import KAnonymity, LDiversity, TCloseness
from sfumato.models.base import Policy, PrivacyModel

QUASI_IDENTIFIERS = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class",
)  # fmt: skip
SENSITIVE = "occupation"
MOST_DROPPED = 5  # percent of rows, for anjana


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--out", type=Path, help="folder for the table")
    options = parser.parse_args()
    try:
        import anjana.anonymity as other
    except ImportError:
        raise SystemExit("anjana is not installed: pip install anjana") from None

    source = read_table(Source(path=options.data / "adult" / "adult_arx.csv.gz", separator=";"))
    table = source.select([*QUASI_IDENTIFIERS, SENSITIVE]).cast(
        pa.schema([(name, pa.string()) for name in (*QUASI_IDENTIFIERS, SENSITIVE)])
    )
    files = {name: options.data / "hierarchies" / "adult" / f"{name}.csv" for name in QUASI_IDENTIFIERS}
    schema = Schema(
        {
            **{
                name: ColumnSpec(name=name, role=Role.QUASI_IDENTIFIER, hierarchy=HierarchyFile(path))
                for name, path in files.items()
            },
            SENSITIVE: ColumnSpec(name=SENSITIVE, role=Role.SENSITIVE),
        }
    )
    levels = {name: _levels(path) for name, path in files.items()}
    frame, names = table.to_pandas(), list(QUASI_IDENTIFIERS)
    k5 = KAnonymity(k=5)
    cases: list[tuple[str, tuple[PrivacyModel, ...], Any]] = [
        ("k = 5", (k5,), lambda: other.k_anonymity(frame, [], names, 5, MOST_DROPPED, levels)),
        ("k = 10", (KAnonymity(k=10),), lambda: other.k_anonymity(frame, [], names, 10, MOST_DROPPED, levels)),
        (
            "k = 5, distinct l = 3",
            (k5, LDiversity(sensitive=SENSITIVE, l=3)),
            lambda: other.l_diversity(frame, [], names, SENSITIVE, 5, 3, MOST_DROPPED, levels),
        ),
        (
            "k = 5, t = 0.2",
            (k5, TCloseness(sensitive=SENSITIVE, t=0.2)),
            lambda: other.t_closeness(frame, [], names, SENSITIVE, 5, 0.2, MOST_DROPPED, levels),
        ),
    ]
    shown = Figures(options.out).table(
        "Adult, eight quasi-identifiers", "work", "tool", "NCP", "rows dropped", "CPU s", "audits hold"
    )
    ours(table, schema, (k5,))  # compiled loops are loaded
    for title, models, run in cases:
        begin = time.process_time()
        theirs = run()
        spent = time.process_time() - begin
        judge(shown, title, "anjana", pa.Table.from_pandas(theirs[table.column_names]), table, schema, models, spent)
        begin = time.process_time()
        made = ours(table, schema, models)
        spent = time.process_time() - begin
        judge(shown, title, "sfumato", made, table, schema, models, spent)


def ours(table: pa.Table, schema: Schema, models: tuple[PrivacyModel, ...]) -> pa.Table:
    dataset = encode(table, schema)
    recoding = LocalRecoding().anonymize(dataset, Policy(models), Recoding(), Workplace(rng=np.random.default_rng(1)))
    return publish(dataset, recoding, ()).table()


def judge(
    shown: Any,
    title: str,
    tool: str,
    made: pa.Table,
    table: pa.Table,
    schema: Schema,
    models: tuple[PrivacyModel, ...],
    spent: float,
) -> None:
    release = Release.from_table(made, schema)
    loss = Ncp().measure(encode(table, schema), release).value
    hold = all(model.audit(release).satisfied for model in models)
    shown.row(title, tool, loss, table.num_rows - made.num_rows, spent, hold)


def _levels(path: Path) -> dict[int, Any]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter=";"))
    return {level: np.array([row[level] for row in rows]) for level in range(len(rows[0]))}


if __name__ == "__main__":
    main()
