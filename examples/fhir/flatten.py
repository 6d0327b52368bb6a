"""From FHIR bulk exports (NDJSON) to two flat tables, for plan.toml beside this file.

    python examples/fhir/flatten.py FOLDER

FOLDER holds Patient.ndjson and Condition.ndjson, one resource a line; patients.csv and conditions.csv are written
beside them. Only what the plan speaks of is taken over: names, addresses in full, contacts and notes never leave the
resources. This is an example to be changed, not a reader of everything that FHIR can say.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Resource = dict[str, Any]


def resources(path: Path, kind: str) -> Iterator[Resource]:
    """Yield the resources of one kind; a line that is none ends it, with its number and without what it holds."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                found = json.loads(line)
            except ValueError:
                sys.exit(f"{path}, line {number}: this is no JSON.\nWrite one resource a line, as a bulk export does.")
            if not isinstance(found, dict) or found.get("resourceType") != kind:
                sys.exit(f"{path}, line {number}: this is no {kind}.\nGive each kind of resource a file of its own.")
            yield found


def patient(resource: Resource) -> dict[str, str]:
    """Return what is taken over of a patient."""
    home = next((each for each in resource.get("address", []) if each.get("use", "home") == "home"), {})
    return {
        "patient": resource["id"],
        "gender": resource.get("gender", ""),
        "birth_date": resource.get("birthDate", ""),
        "postal_code": home.get("postalCode", ""),
    }


def condition(resource: Resource) -> dict[str, str]:
    """Return what is taken over of a condition: its first code, and the day on which it began."""
    coding = next(iter(resource.get("code", {}).get("coding", [])), {})
    return {
        "patient": resource["subject"]["reference"].removeprefix("Patient/"),
        "code": coding.get("code", ""),
        "onset": resource.get("onsetDateTime", resource.get("recordedDate", ""))[:10],
    }


def write(path: Path, rows: Iterator[dict[str, str]], names: list[str]) -> None:
    """Write rows as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, names, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    people = (patient(each) for each in resources(folder / "Patient.ndjson", "Patient"))
    write(folder / "patients.csv", people, ["patient", "gender", "birth_date", "postal_code"])
    found = (condition(each) for each in resources(folder / "Condition.ndjson", "Condition"))
    write(folder / "conditions.csv", found, ["patient", "code", "onset"])
