"""An engine that works on a table in parts as a cluster would, and a small table for it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

import sfumato as sf
from anonymizing import DOMAINS, QUASI_IDENTIFIERS, ROLES, SENSITIVE, Job
from anonymizing import ROWS as HOSPITAL
from sfumato.engines.dividing import DividedEngine
from sfumato.generators import hospital
from sfumato.generators.hospital import SENSITIVE_DRUGS, knowledge_rows
from sfumato.models.base import Need, describe


class Here:
    """Runs tasks here, the last first; each goes through bytes, and is done so many times."""

    times = 1

    def each(self, work: Callable[[Any], Any], jobs: Sequence[Any], what: str) -> list[Any]:
        sent = [pickle.dumps((work, job)) for job in jobs]
        done = []
        for _ in range(self.times):
            done = [call(job) for call, job in map(pickle.loads, reversed(sent))]
        return [pickle.loads(pickle.dumps(found)) for found in reversed(done)]


class Repeating(Here):
    """Runs every task twice."""

    times = 2


def in_parts(rows: int, **options: Any) -> DividedEngine:
    """Return an engine with parts, and files, of so many rows."""
    return DividedEngine(Repeating(), rows_a_part=-(-rows // 7), rows_a_file=-(-rows // 3), **options)


ROWS = 230
TREE = {"north": ["n1", "n2"], "south": ["s1", "s2", "s3"]}
ILLS = {"mild": ["cold", "flu"], "grave": ["stroke", "cancer"]}


def people() -> pa.Table:
    rng = np.random.default_rng(4)
    region = rng.choice([value for values in TREE.values() for value in values], ROWS)
    return pa.table(
        {
            "name": [f"person {number}" for number in range(ROWS)],
            "age": rng.integers(20, 40, ROWS).astype(str),
            "region": region,
            "illness": rng.choice(
                [value for values in ILLS.values() for value in values], ROWS, p=[0.4, 0.3, 0.2, 0.1]
            ),
            "note": [f"note {number % 50}" for number in range(ROWS)],
        }
    )


def written_in_files(folder: Path) -> Path:
    """Write the table in three files, each with several row groups, and return where."""
    table = people()
    for number in range(3):
        part = table.slice(number * 80, 80)
        pa_parquet.write_table(part, folder / f"part-{number}.parquet", row_group_size=30)
    return folder


def plan_of(folder, *requirements, **more) -> sf.Plan:
    return sf.Plan.from_dict(
        {
            "source": {"path": str(folder)},
            "columns": {
                "name": {"role": "identifier"},
                "age": {"role": "quasi-identifier", "kind": "number", "hierarchy": {"widths": [5, 10]}},
                "region": {"role": "quasi-identifier", "hierarchy": TREE},
                "illness": {"role": "sensitive", "hierarchy": ILLS},
                "note": {"role": "other"},
            },
            "require": list(requirements),
            **more,
        }
    )


K, T = {"model": "k-anonymity", "k": 4}, {"model": "t-closeness", "sensitive": "illness", "t": 0.4}
MULTI = {"model": "alpha-diversity", "sensitive": ["illness"], "alpha": 0.6}


def plan_for(job: Job, folder: Path) -> sf.Plan:
    """Put the table of a job into a folder, as two Parquet files and with all that is public, and return its plan."""
    judged = {name for model in job.models for name in model.judged_columns}
    columns: dict[str, Any] = {
        name: {"role": "quasi-identifier", "kind": "number" if name == "age" else "category", "hierarchy": given}
        for name, given in QUASI_IDENTIFIERS.items()
    }
    for name in sorted(judged & SENSITIVE.keys()):
        tree = {group: list(values) for group, values in SENSITIVE[name].items()}
        columns[name] = {"role": "sensitive", "hierarchy": tree}
    for name in sorted(judged & ROLES.keys()):
        columns[name] = {"role": ROLES[name].value, "kind": "category" if name in DOMAINS else "set"}
        columns[name] |= {"domain": list(DOMAINS[name])} if name in DOMAINS else {}
        columns[name] |= {"sensitive_items": list(SENSITIVE_DRUGS)} if name == "drugs" else {}
    (folder / "table").mkdir(parents=True)
    table = hospital(HOSPITAL).select(list(columns))
    for number in range(2):
        part = table.slice(number * HOSPITAL // 2, HOSPITAL // 2)
        pa_parquet.write_table(part, folder / "table" / f"part-{number}.parquet", row_group_size=30)
    people = pa.concat_tables([table.select(list(QUASI_IDENTIFIERS))] * 2)
    pa_csv.write_csv(people, folder / "people.csv")
    required = [describe(model) for model in job.models]
    required[0] |= {"anonymizer": job.anonymizer}
    document: dict[str, Any] = {
        "source": {"path": "table"},
        "columns": columns,
        "require": required,
        "anonymizers": {job.anonymizer: dict(job.options)},
    }
    if any(Need.KNOWLEDGE in model.needs for model in job.models):
        names, terms = zip(*knowledge_rows(), strict=True)
        pa_csv.write_csv(pa.table({"label": names, "terms": terms}), folder / "known.csv")
        document["knowledge"] = {"path": "known.csv", "label": "label", "terms": "terms", "separator": "|"}
    return sf.Plan.from_dict(document, folder)


def may_publish(job: Job) -> bool:
    """Whether an anonymizer promises what is required, and leaves something to judge: not all that are compared do.

    `apriori-anonymization` suppresses all items where types of items are generalized as a whole without a hierarchy.
    """
    return job.anonymizer not in ("permutation", "drop-sensitive", "apriori-anonymization")
