"""Makes the data of the examples again: python examples/make_data.py [FOLDER] [--rows N]."""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

import numpy as np
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


def write_staff(folder: Path, rows: int) -> None:
    """Write people whose job says much about their contract: agencies send nurses and cashiers."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(5)
    jobs, contracts = ("Nurse", "Doctor", "Cashier", "Buyer", "Baker", "Smith"), ("Full time", "Part time", "Limited")
    with (folder / "staff.csv").open("w", newline="", encoding="utf-8") as file:
        write = csv.writer(file)
        write.writerow(["age", "sex", "job", "contract"])
        for _ in range(rows):
            job = rng.choice(jobs, p=(0.3, 0.1, 0.25, 0.1, 0.15, 0.1))
            contract = rng.choice(contracts, p=(0.6, 0.3, 0.1))
            if job in ("Nurse", "Cashier") and rng.random() < 0.35:
                contract = "Agency"
            if rng.random() < 0.02:
                contract = "?"
            write.writerow([rng.integers(18, 66), rng.choice(("f", "m")), job, contract])


def write_omop(folder: Path, people: int) -> None:
    """Write two tables as the OMOP model has them: people, and the conditions that each of them had."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(11)
    codes = ("I10", "E11.9", "J45.0", "M54.5", "K21.9", "J06.9", "F32.1", "B20")
    with (folder / "person.csv").open("w", newline="", encoding="utf-8") as file:
        write = csv.writer(file)
        write.writerow(["person_id", "gender_source_value", "year_of_birth", "zip", "person_source_value"])
        for person in range(people):
            zip_code = rng.choice(("10115", "10117", "10119", "80331", "80333"))
            born = rng.integers(1935, 2006)
            write.writerow([70_000 + person, rng.choice(("F", "M")), born, zip_code, f"Person {person:04d}"])
    with (folder / "condition_occurrence.csv").open("w", newline="", encoding="utf-8") as file:
        write = csv.writer(file)
        write.writerow(["condition_occurrence_id", "person_id", "condition_source_value", "condition_start_date"])
        number = 0
        for person in range(people):
            for code in rng.choice(codes, rng.integers(0, 6), p=(0.24, 0.16, 0.12, 0.14, 0.1, 0.14, 0.07, 0.03)):
                day = np.datetime64("2021-01-01") + rng.integers(0, 1400)
                write.writerow([900_000 + number, 70_000 + person, code, day])
                number += 1


def write_fhir(folder: Path, people: int) -> None:
    """Write patients and conditions as a FHIR bulk export has them, one resource a line."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(13)
    codes = ("I10", "E11.9", "J45.0", "M54.5", "F32.1", "B20")
    patients, conditions = [], []
    for person in range(people):
        number = f"p{person:04d}"
        born = np.datetime64("1935-01-01") + rng.integers(0, 26_000)
        address = {
            "use": "home",
            "line": [f"Lane {person}"],
            "postalCode": str(rng.choice(("10115", "10117", "80331"))),
        }
        about = {"gender": str(rng.choice(("female", "male"))), "birthDate": str(born), "address": [address]}
        patients.append(
            {"resourceType": "Patient", "id": number, "name": [{"family": f"Person {person:04d}"}], **about}
        )
        for code in rng.choice(codes, rng.integers(0, 4), p=(0.3, 0.2, 0.2, 0.2, 0.07, 0.03)):
            day = np.datetime64("2021-01-01") + rng.integers(0, 1400)
            conditions.append(
                {
                    "resourceType": "Condition",
                    "subject": {"reference": f"Patient/{number}"},
                    "code": {"coding": [{"system": "http://hl7.org/fhir/sid/icd-10", "code": str(code)}]},
                    "onsetDateTime": f"{day}T08:30:00Z",
                }
            )
    for name, resources in (("Patient", patients), ("Condition", conditions)):
        lines = "".join(f"{json.dumps(resource)}\n" for resource in resources)
        (folder / f"{name}.ndjson").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parent)
    parser.add_argument("--rows", type=int, default=1_000)
    options = parser.parse_args()
    write_hospital(options.folder / "hospital", options.rows)
    write_staff(options.folder / "staff", options.rows)
    write_omop(options.folder / "omop", options.rows)
    write_fhir(options.folder / "fhir", options.rows // 2)
