"""For each privacy model a requirement that made-up patients can meet, and what it says of their columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow.csv import write_csv

from sfumato.generators.hospital import PAYERS, SENSITIVE_DRUGS, THERAPIES, hospital, knowledge_rows
from sfumato.generators.patients import JOBS

ROWS = 400  # of `hospital`: enough for every requirement below
HIERARCHIES = {"age": {"widths": [5, 10, 20, 40]}, "sex": {"flat": True}, "zip": {"prefix": 5}}
_CLASSES = {name: {"role": "quasi-identifier"} for name in HIERARCHIES} | {
    "zip": {"role": "quasi-identifier", "kind": "category"}
}
_WARD = _CLASSES | {"ward": {"role": "sensitive"}}
_TERMS = _CLASSES | {"symptoms": {"role": "quasi-sensitive", "kind": "set"}}
_MASKS = _CLASSES | {
    "therapy": {"role": "sensitive", "hierarchy": {name: list(values) for name, values in THERAPIES.items()}},
    "payer": {"role": "sensitive", "hierarchy": {name: list(values) for name, values in PAYERS.items()}},
}
_ITEMS = {"drugs": {"role": "items", "kind": "set", "sensitive_items": list(SENSITIVE_DRUGS)}}
_CELLS = {
    "job": {"role": "sensitive-quasi-identifier", "domain": [job for group in JOBS.values() for job in group]},
    "household": {"role": "sensitive-quasi-identifier", "domain": ["1", "2", "3", "4", "5 or more"]},
}
# What each model asks, and the columns that it is about.
REQUIREMENTS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "k-anonymity": ({"k": 4}, _CLASSES),
    "l-diversity": ({"sensitive": "ward", "l": 2, "kind": "entropy"}, _WARD),
    "t-closeness": ({"sensitive": "ward", "t": 0.7}, _WARD),
    "beta-likeness": ({"sensitive": "ward", "beta": 2}, _WARD),
    "delta-disclosure": ({"sensitive": "ward", "delta": 1.5}, _WARD),
    "k-map": ({"k": 4, "population": "population.csv"}, _CLASSES),
    "delta-presence": ({"high": 0.5, "population": "population.csv"}, _CLASSES),
    "qs-diversity": ({"column": "symptoms", "c": 0.9, "l": 2}, _TERMS),
    "qs-closeness": ({"column": "symptoms", "t": 0.5}, _TERMS),
    "multi-diversity": ({"sensitive": ["therapy", "payer"], "alpha_qi": 0.6, "alpha_sa": 0.6}, _MASKS),
    "alpha-diversity": ({"sensitive": ["therapy", "payer"], "alpha": 0.6}, _MASKS),
    "sensitive-qid-diversity": ({"l": {"job": 3, "household": 2}}, _CELLS),
    "sensitive-qid-closeness": ({"t": {"job": 0.5, "household": 0.5}}, _CELLS),
    "local-differential-privacy": ({"epsilon": {"job": 2, "household": 1}}, _CELLS),
    "rho-uncertainty": ({"column": "drugs", "rho": "0.5"}, _ITEMS),
    "km-anonymity": ({"column": "drugs", "k": 4, "m": 2}, _ITEMS),
    "hkp-coherence": ({"column": "drugs", "h": "0.6", "k": 4, "p": 2}, _ITEMS),
}

BARE = ("k-anonymity", "l-diversity")  # enough of them for what is done with quasi-identifiers without hierarchies


def plan_for(models: Mapping[str, str | None], folder: Path, *, hierarchies: bool = True) -> dict[str, Any]:
    """Return a plan for `hospital`, as a document, that asks for some models of the anonymizers that are named.

    A knowledge table goes into the folder. Without `hierarchies` quasi-identifiers have none.
    """
    columns: dict[str, Any] = {
        "*": {"role": "other"},
        "name": {"role": "identifier"},
        "diagnosis": {"role": "identifier"},
    }
    require = []
    for model, anonymizer in models.items():
        asked, about = REQUIREMENTS[model]
        require.append({"model": model, **asked} | ({"anonymizer": anonymizer} if anonymizer else {}))
        columns |= about
    if hierarchies:
        columns |= {name: columns[name] | {"hierarchy": own} for name, own in HIERARCHIES.items() if name in columns}
    document = {"columns": columns, "require": require}
    if any("population" in each for each in require):
        write_csv(pa.concat_tables([hospital(ROWS)] * 2), folder / "population.csv")
    if any(column["role"] == "quasi-sensitive" for column in columns.values()):
        document["knowledge"] = _knowledge(folder / "diagnoses.csv", knowledge_rows())
    return document


def _knowledge(path: Path, rows: Iterable[tuple[str, str]]) -> dict[str, Any]:
    lines = "".join(f"{diagnosis},{symptoms}\n" for diagnosis, symptoms in rows)
    path.write_text(f"diagnosis,symptoms\n{lines}", encoding="utf-8")
    return {"path": path.name, "label": "diagnosis", "terms": "symptoms", "separator": "|"}
