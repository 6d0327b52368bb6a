"""Made-up people, for demonstrations, examples and tests. Nobody in here exists."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from sfumato.disk import atomic_file
from sfumato.errors import OutputError

JOBS = {
    "Health": ("Nurse", "Doctor", "Carer", "Pharmacist"),
    "Trade": ("Shop assistant", "Cashier", "Buyer"),
    "Crafts": ("Carpenter", "Electrician", "Plumber", "Painter"),
    "Office": ("Clerk", "Accountant", "Lawyer", "Programmer"),
    "Teaching": ("Teacher", "Lecturer"),
}
DISEASES = {
    "Respiratory": ("Asthma", "Bronchitis", "Pneumonia"),
    "Heart and circulation": ("High blood pressure", "Heart failure", "Angina"),
    "Metabolic": ("Diabetes", "Thyroid disorder", "Gout"),
    "Infectious": ("Influenza", "Hepatitis B", "HIV"),
    "Mental health": ("Depression", "Anxiety disorder"),
}
# What everybody can look up: the symptoms that go with a disease.
SYMPTOMS = {
    "Asthma": ("cough", "wheezing", "short breath", "tight chest"),
    "Bronchitis": ("cough", "phlegm", "fatigue", "short breath", "fever"),
    "Pneumonia": ("cough", "phlegm", "fever", "chills", "short breath", "chest pain"),
    "High blood pressure": ("headache", "dizziness", "nosebleed", "fatigue"),
    "Heart failure": ("short breath", "swollen legs", "fatigue", "palpitations", "cough"),
    "Angina": ("chest pain", "short breath", "sweating", "fatigue"),
    "Diabetes": ("thirst", "weight loss", "fatigue", "blurred vision", "frequent urination"),
    "Thyroid disorder": ("weight loss", "palpitations", "sweating", "fatigue", "trembling"),
    "Gout": ("joint pain", "swollen joints", "fever"),
    "Influenza": ("fever", "chills", "cough", "headache", "muscle pain", "fatigue"),
    "Hepatitis B": ("fatigue", "dark urine", "nausea", "joint pain", "fever"),
    "HIV": ("fever", "rash", "weight loss", "night sweats", "fatigue", "swollen glands"),
    "Depression": ("fatigue", "sleeplessness", "weight loss", "low mood"),
    "Anxiety disorder": ("palpitations", "trembling", "sleeplessness", "sweating", "dizziness"),
}
_PREVALENCE = (9, 8, 5, 14, 3, 3, 9, 6, 3, 12, 1, 1, 12, 9)


def patients(rows: int = 5_000, seed: int = 7) -> pa.Table:
    """Return a table of made-up patients: name, age, sex, zip, job, admission, symptoms, disease.

    Ages, jobs, diseases and symptoms depend on one another as they do in real life, and a few cells are missing.

    >>> patients(3).column_names
    ['name', 'age', 'sex', 'zip', 'job', 'admission', 'symptoms', 'disease']
    """
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(7.0, 7.2, rows), 18, 95).astype(np.int64)
    sex = np.where(rng.random(rows) < 0.52, "female", "male")
    towns = rng.choice(
        ["101", "102", "115", "120", "130", "240", "241", "365"], rows, p=[0.22, 0.18, 0.16, 0.14, 0.1, 0.1, 0.06, 0.04]
    )
    zip_code = [f"{town}{ending:02d}" for town, ending in zip(towns, rng.zipf(1.6, rows) % 30, strict=True)]
    jobs = np.array([job for group in JOBS.values() for job in group])
    job = jobs[np.minimum(rng.zipf(1.25, rows) * 3 % len(jobs) + (sex == "female"), len(jobs) - 1)]
    diseases = np.array([disease for group in DISEASES.values() for disease in group])
    weight = np.tile(np.array(_PREVALENCE, dtype=float), (rows, 1))
    old = (age > 55)[:, None]
    weight *= np.where(old & np.isin(diseases, DISEASES["Heart and circulation"]), 2.5, 1.0)
    weight *= np.where(~old & np.isin(diseases, DISEASES["Mental health"]), 1.6, 1.0)
    chosen = (rng.random((rows, 1)) * weight.sum(axis=1, keepdims=True) > np.cumsum(weight, axis=1)).sum(axis=1)
    admission = np.datetime64("2024-01-01") + rng.integers(0, 730, rows)
    return pa.table(
        {
            "name": [f"Person {number:05d}" for number in rng.permutation(rows)],
            "age": age,
            "sex": sex.tolist(),
            "zip": zip_code,
            "job": pa.array(job.tolist(), mask=rng.random(rows) < 0.01),
            "admission": admission.astype(str).tolist(),
            "symptoms": _symptoms(diseases[chosen].tolist(), rng),
            "disease": diseases[chosen].tolist(),
        }
    )


def _symptoms(disease_of: list[str], rng: np.random.Generator) -> list[str]:
    """Return one to four symptoms of each disease, as the text of a set cell."""
    counts = rng.integers(1, 5, len(disease_of)).tolist()
    return [
        "|".join(sorted(rng.permutation(SYMPTOMS[disease])[:count].tolist()))
        for disease, count in zip(disease_of, counts, strict=True)
    ]


DEMO_PLAN = """\
# Made by `sfumato demo`. What each column may reveal, and what must hold.
[source]
path = "patients.csv"
missing = [""]                    # an empty cell is missing, a value of its own

[columns.name]
role = "identifier"               # dropped
[columns.age]
role = "quasi-identifier"
hierarchy = { widths = [5, 10, 20, 40] }
[columns.sex]
role = "quasi-identifier"
hierarchy = { flat = true }
[columns.zip]
role = "quasi-identifier"
kind = "category"
hierarchy = { prefix = 5 }        # 10123, 1012*, 101**, 10***, 1****, *
[columns.job]
role = "quasi-identifier"
hierarchy = "jobs.csv"
[columns.admission]
role = "quasi-identifier"
hierarchy = { dates = ["month", "quarter", "year"] }
[columns.symptoms]
role = "quasi-sensitive"          # harmless, until the table below turns symptoms into a disease
kind = "set"
[columns.disease]
role = "sensitive"
hierarchy = "diseases.csv"

[knowledge]                       # what everybody can look up
path = "symptoms.csv"
label = "disease"
terms = "symptoms"
separator = "|"

[[require]]
model = "k-anonymity"
k = 5
[[require]]
model = "l-diversity"
sensitive = "disease"
l = 3
kind = "entropy"
[[require]]
model = "t-closeness"
sensitive = "disease"
t = 0.45
distance = "hierarchical"

[[require]]
model = "qs-closeness"            # looking symptoms up moves nobody's belief in a disease by more than t
column = "symptoms"
t = 0.4

[measure]
target = "disease"
"""


def hierarchy_lines(groups: dict[str, tuple[str, ...]]) -> str:
    """Return a hierarchy file: one line for each value with its group and the root."""
    return "".join(f"{value};{group};*\n" for group, values in groups.items() for value in values)


def write_demo(folder: Path, rows: int, *, overwrite: bool = False) -> Path:
    """Write made-up patients, their hierarchies, public knowledge and a plan into a folder; return the plan's path."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"The example was to go into {folder}, which is a file.\nName another folder with --out.")
    if not overwrite and folder.is_dir() and any(folder.iterdir()):
        raise OutputError(f"The folder {folder} holds something already.\nName another with --out, or say --overwrite.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"The folder {folder} cannot be made: {error.strerror}.\nName another with --out.") from None
    _write(folder, rows, "plan.toml")
    return folder / "plan.toml"


def add_demo(folder: Path, rows: int, plan: str) -> None:
    """Put the same, with another name for the plan, beside what a folder holds; nothing of that is overwritten."""
    if there := [name for name in (*_FILES, plan) if (folder / name).exists()]:
        raise OutputError(
            f"The example was to go into this project, but it has files of the same names: {', '.join(there)}.\n"
            "Open another folder for it: sfumato web FOLDER."
        )
    _write(folder, rows, plan)


_FILES = ("patients.csv", "jobs.csv", "diseases.csv", "symptoms.csv")


def _write(folder: Path, rows: int, plan: str) -> None:
    table, *_ = _FILES
    with atomic_file(folder / table, overwrite=True) as temporary:
        pyarrow.csv.write_csv(patients(rows), temporary)
    texts = {
        plan: DEMO_PLAN,
        "jobs.csv": hierarchy_lines(JOBS),
        "diseases.csv": hierarchy_lines(DISEASES),
        "symptoms.csv": "disease,symptoms\n" + "".join(f"{name},{'|'.join(of)}\n" for name, of in SYMPTOMS.items()),
    }
    for name, text in texts.items():
        with atomic_file(folder / name, overwrite=True) as temporary:
            temporary.write_text(text, encoding="utf-8")
