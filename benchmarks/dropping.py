"""Rows that may be dropped: what is lost with them counted in full, and how many go.

    python benchmarks/dropping.py DATA [--quick]

DATA is a folder as for benchmarks/classic.py. CPU seconds are those of the search on coded data, one thread, warm.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import classic
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.full_domain import FullDomain
from sfumato.anonymizers.local_recoding import LocalRecoding
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.data.encoding import encode
from sfumato.data.recoding import Recoding
from sfumato.data.release import publish
from sfumato.metrics.ncp import Ncp
from sfumato.models import KAnonymity, TCloseness
from sfumato.models.base import Policy

SHARE = 0.05
WORK = (
    ("k = 5", (KAnonymity(k=5),), ()),
    ("k = 20", (KAnonymity(k=20),), ()),
    ("k = 5, t = 0.2", (KAnonymity(k=5), TCloseness(sensitive=classic.SENSITIVE, t="0.2")), (classic.SENSITIVE,)),
)


def main() -> None:
    """Print a line for each requirement, anonymizer and share."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--quick", action="store_true", help="the first requirement only")
    given = parser.parse_args()
    print(f"{'work':18} {'anonymizer':16} {'drop_rows':>9} {'NCP':>8} {'dropped':>8} {'CPU s':>7}")
    for work, models, sensitive in WORK[:1] if given.quick else WORK:
        table, schema = classic.adult(given.data, classic.QI8 if sensitive else classic.QI9, sensitive)
        dataset = encode(table, schema)
        for anonymizer in (LocalRecoding, Mondrian, FullDomain):
            for share in (0.0, SHARE):
                begun = time.process_time()
                decided = anonymizer(drop_rows=share).anonymize(
                    dataset, Policy(models), Recoding(), Workplace(np.random.default_rng(1))
                )
                cpu = time.process_time() - begun
                release = publish(dataset, decided, [])
                assert all(model.audit(release).satisfied for model in models)
                ncp, dropped = Ncp().measure(dataset, release).value, dataset.n_rows - release.n_rows
                print(f"{work:18} {anonymizer.name:16} {share:9} {ncp:8.4f} {dropped:8,} {cpu:7.2f}", flush=True)


if __name__ == "__main__":
    main()
