"""km-anonymity on BMS-WebView-2: what an occurrence loses, and how long it takes, beside the published greedy.

    python benchmarks/small_sets.py DATA [--k 5] [--m 2]

DATA holds `transactions/bms_webview2.txt.gz` and `hierarchies/bms_webview2/items.csv`. CPU seconds are of one core with
compiled loops: each run is made twice, and the second one counts.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import sfumato as sf
from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.base import Workplace
from sfumato.data.encoding import encode
from sfumato.data.files import read_table
from sfumato.data.recoding import Recoding
from sfumato.data.release import publish


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--m", type=int, default=2)
    given = parser.parse_args()
    document = {
        "source": {"path": str(given.data / "transactions" / "bms_webview2.txt.gz"), "separator": " "},
        "columns": {
            "items": {"role": "items", "hierarchy": str(given.data / "hierarchies" / "bms_webview2" / "items.csv")}
        },
        "require": [{"model": "km-anonymity", "column": "items", "k": given.k, "m": given.m}],
    }
    plan = sf.Plan.from_dict(document)
    assert plan.source is not None
    dataset = encode(read_table(plan.source), plan.schema)
    (model,) = plan.policy
    print("| anonymizer | loss | withheld | CPU s | audit |\n| --- | --- | --- | --- | --- |")
    for name in ("apriori-anonymization", "item-generalization"):
        for _ in range(2):
            begin = time.process_time()
            recoding = ANONYMIZERS[name]().anonymize(dataset, plan.policy, Recoding(), Workplace())
            seconds = time.process_time() - begin
        facts = recoding.facts["items"]
        verdict = model.audit(publish(dataset, recoding, []))
        holds = "holds" if verdict.satisfied else "FAILS"
        print(f"| {name} | {facts['loss']:.4f} | {facts['withheld']:,} | {seconds:.1f} | {holds} |")


if __name__ == "__main__":
    main()
