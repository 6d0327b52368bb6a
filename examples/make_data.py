"""Makes the data of the examples again: python examples/make_data.py [FOLDER] [--rows N]."""

from __future__ import annotations

import argparse
from pathlib import Path

import pyarrow.csv

from sfumato.generators.hospital import PAYERS, SENSITIVE_DRUGS, THERAPIES, hospital, knowledge_rows
from sfumato.generators.patients import JOBS, hierarchy_lines


def write_hospital(folder: Path, rows: int) -> None:
    """Write the stays, their hierarchies, the knowledge table and the lists that the plan names."""
    folder.mkdir(parents=True, exist_ok=True)
    pyarrow.csv.write_csv(hospital(rows), folder / "stays.csv")
    knowledge = "".join(f"{name},{symptoms}\n" for name, symptoms in knowledge_rows())
    texts = {
        "therapies.csv": hierarchy_lines(THERAPIES),
        "payers.csv": hierarchy_lines(PAYERS),
        "diagnoses.csv": f"diagnosis,symptoms\n{knowledge}",
        "sensitive_drugs.txt": "".join(f"{drug}\n" for drug in SENSITIVE_DRUGS),
        "jobs.txt": "".join(f"{job}\n" for group in JOBS.values() for job in group),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parent)
    parser.add_argument("--rows", type=int, default=1_000)
    options = parser.parse_args()
    write_hospital(options.folder / "hospital", options.rows)
