"""k-map and delta-presence: full-domain beside labels that are cut apart, on a sample of Adult among all of Adult.

    python benchmarks/k_map.py DATA [--rows 6000] [--seed 1]

Eight quasi-identifiers with ARX's hierarchies, occupation beside them. NCP is the share of detail lost; CPU seconds are
of the search alone.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.csv as pa_csv

from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.base import Workplace
from sfumato.data.builders import HierarchyFile
from sfumato.data.encoding import encode
from sfumato.data.knowledge import PublicInputs
from sfumato.data.recoding import Recoding
from sfumato.data.release import publish
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.metrics import Ncp
from sfumato.metrics.comparison import Comparison
from sfumato.models import DeltaPresence, KMap
from sfumato.models.base import Policy

NAME = "adult"
MODELS = (KMap(k=5, population=NAME), DeltaPresence(high="0.5", population=NAME))


def main() -> None:
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    path = given.data / "adult" / "adult_arx.csv.gz"
    table = pa_csv.read_csv(path, parse_options=pa_csv.ParseOptions(delimiter=";"))
    hierarchies = given.data / "hierarchies" / "adult"
    specs = {
        name: ColumnSpec(name=name, role=Role.QUASI_IDENTIFIER, hierarchy=HierarchyFile(hierarchies / f"{name}.csv"))
        for name in table.column_names
        if name != "occupation"
    }
    people = encode(table.select(list(specs)), Schema(specs))
    rows = np.sort(np.random.default_rng(given.seed).choice(table.num_rows, given.rows, replace=False))
    schema = Schema({**specs, "occupation": ColumnSpec(name="occupation", role=Role.SENSITIVE)})
    dataset = encode(table.take(rows), schema)
    public = PublicInputs(populations={NAME: people})
    for model in MODELS:
        for name in ("full-domain", "local-recoding", "mondrian"):
            begin = time.process_time()
            recoding = ANONYMIZERS[name]().anonymize(dataset, Policy((model,)), Recoding(), Workplace(public=public))
            seconds = time.process_time() - begin
            release = replace(publish(dataset, recoding, []), public=public)
            verdict = model.audit(release)
            assert verdict.satisfied, str(verdict)
            lost = Ncp().of(Comparison(dataset, release)).value
            print(f"{model.name}, {name}: NCP {lost:.3f}, {recoding.facts['classes']:,} classes, {seconds:.1f} CPU s")


if __name__ == "__main__":
    main()
