"""A made-up hospital: one table with every kind of column that a plan can name. Nobody in here exists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.generators.patients import JOBS

_AT_ONCE = 1 << 17  # rows that are drawn together

THERAPIES = {
    "Medical": ("Infusion", "Tablets", "Inhalation"),
    "Surgical": ("Day surgery", "Major surgery"),
    "Talking": ("Single sessions", "Group sessions"),
    "Watchful": ("Observation", "Physiotherapy"),
}
PAYERS = {
    "Public": ("Statutory fund", "Public assistance"),
    "Private": ("Private insurer", "Out of pocket"),
    "Work": ("Accident fund", "Company fund"),
}
HOUSEHOLDS = ("1", "2", "3", "4", "5 or more")
SENSITIVE_DRUGS = ("Antiretroviral", "Methadone", "Lithium", "Antipsychotic", "Disulfiram")
_DRUGS = (
    *("Paracetamol", "Ibuprofen", "Aspirin", "Omeprazole", "Statin", "ACE inhibitor", "Beta blocker", "Diuretic"),
    *("Metformin", "Insulin", "Thyroxine", "Salbutamol", "Steroid inhaler", "Penicillin", "Macrolide", "Antihistamine"),
    *("Vitamin D", "Iron", "Folic acid", "Laxative", "Antidepressant", "Sleeping pill"),
)

# What everybody can look up: the symptoms of each diagnosis. How often each diagnosis is made stands beside it.
DIAGNOSES: Mapping[str, tuple[int, str]] = {
    "Influenza": (14, "fever|cough|headache|muscle ache|fatigue|sore throat|chills"),
    "Common cold": (16, "cough|runny nose|sore throat|headache|fatigue|sneezing"),
    "Bronchitis": (9, "cough|fatigue|fever|chest pain|shortness of breath"),
    "Pneumonia": (5, "fever|cough|chills|chest pain|shortness of breath|fatigue"),
    "Asthma": (8, "cough|shortness of breath|wheezing|chest pain|sleep trouble"),
    "Migraine": (8, "headache|nausea|light sensitivity|fatigue|dizziness"),
    "High blood pressure": (12, "headache|dizziness|chest pain|shortness of breath|palpitations"),
    "Diabetes": (8, "thirst|fatigue|weight loss|blurred vision|frequent urination"),
    "Thyroid disorder": (5, "fatigue|weight loss|palpitations|sleep trouble|sweating"),
    "Depression": (9, "fatigue|sleep trouble|weight loss|low mood|poor appetite|headache"),
    "Anxiety disorder": (7, "palpitations|sleep trouble|dizziness|sweating|nausea|chest pain"),
    "Hepatitis B": (2, "fatigue|nausea|fever|poor appetite|muscle ache|dark urine"),
    "HIV": (1, "fever|fatigue|rash|sore throat|weight loss|sweating|muscle ache"),
    "Measles": (2, "fever|rash|cough|runny nose|light sensitivity"),
}


def hospital(rows: int = 5_000, seed: int = 11) -> pa.Table:
    """Return a table of made-up stays with every kind of column.

    Identifiers (name, diagnosis, which stays in the house), quasi-identifiers (age, sex, zip, admission), two sensitive
    columns of which one tells about the other (therapy, payer), terms that give the diagnosis away (symptoms), items
    (drugs), two columns that identify and are sensitive (job, household), and one that is neither (ward).

    >>> stay = hospital(3).to_pylist()[0]
    >>> stay["diagnosis"], stay["symptoms"]
    ('Influenza', 'chills|fatigue|fever|headache|muscle ache|sore throat')
    """
    rng = np.random.default_rng(seed)
    names = np.array(list(DIAGNOSES))
    prevalence = np.array([often for often, _ in DIAGNOSES.values()], dtype=np.float64)
    age = np.clip(rng.gamma(6.5, 7.6, rows), 18, 97).astype(np.int64)
    diagnosis = rng.choice(names.size, rows, p=prevalence / prevalence.sum())
    towns = np.array(["101", "102", "115", "120", "130", "240", "241", "365"])
    town = towns[rng.choice(towns.size, rows, p=[0.22, 0.18, 0.16, 0.14, 0.1, 0.1, 0.06, 0.04])]
    ending = np.char.zfill((rng.zipf(1.6, rows) % 20).astype(str), 2)
    therapy = _depending(rng, diagnosis, names.size, [value for group in THERAPIES.values() for value in group], 1.2)
    payer_of = _depending(rng, therapy, 9, [value for group in PAYERS.values() for value in group], 0.8)
    jobs = np.array([job for group in JOBS.values() for job in group])
    return pa.table(
        {
            "name": [f"Person {number:07d}" for number in rng.permutation(rows)],
            "diagnosis": names[diagnosis].tolist(),
            "age": age,
            "sex": np.where(rng.random(rows) < 0.52, "female", "male").tolist(),
            "zip": np.char.add(town, ending).tolist(),
            "admission": (np.datetime64("2025-01-01") + rng.integers(0, 365, rows)).astype(str).tolist(),
            "therapy": np.array([value for group in THERAPIES.values() for value in group])[therapy].tolist(),
            "payer": np.array([value for group in PAYERS.values() for value in group])[payer_of].tolist(),
            "symptoms": _symptoms(rng, diagnosis),
            "drugs": _drugs(rng, diagnosis, names),
            "job": jobs[np.minimum(rng.zipf(1.25, rows) * 3 % (jobs.size + 1), jobs.size - 1)].tolist(),
            "household": np.array(HOUSEHOLDS)[rng.choice(5, rows, p=[0.34, 0.33, 0.15, 0.12, 0.06])].tolist(),
            "ward": [f"ward {number}" for number in rng.integers(1, 9, rows)],
        }
    )


def knowledge_rows() -> list[tuple[str, str]]:
    """Return what is public about diagnoses: their names and symptoms, as cells of a table."""
    return [(name, symptoms) for name, (_, symptoms) in DIAGNOSES.items()]


def _depending(
    rng: np.random.Generator, cause: NDArray[np.int64], n_causes: int, values: Sequence[str], strength: float
) -> NDArray[np.int64]:
    """Draw a value for each row, with weights that depend on the row's cause."""
    weight = np.exp(strength * np.random.default_rng(5).standard_normal((n_causes, len(values))))
    edges = np.cumsum(weight, axis=1) / weight.sum(axis=1, keepdims=True)
    drawn: NDArray[np.int64] = (rng.random((cause.size, 1)) > edges[cause]).sum(axis=1)
    return np.minimum(drawn, len(values) - 1)


def _symptoms(rng: np.random.Generator, diagnosis: NDArray[np.int64]) -> pa.ChunkedArray:
    """Draw most symptoms of each row's diagnosis."""
    words = sorted({word for _, symptoms in DIAGNOSES.values() for word in symptoms.split("|")})
    chance = np.array([[0.7 if word in cell.split("|") else 0.0 for word in words] for _, cell in DIAGNOSES.values()])
    return _cells(rng, chance, diagnosis, words)


def _drugs(rng: np.random.Generator, diagnosis: NDArray[np.int64], names: NDArray[np.str_]) -> pa.ChunkedArray:
    """Draw drugs, some of which go with the diagnosis."""
    words = sorted((*_DRUGS, *SENSITIVE_DRUGS))
    chance = np.random.default_rng(6).uniform(0.01, 0.16, (names.size, len(words)))
    chance[:, [words.index(word) for word in SENSITIVE_DRUGS]] = 0.01
    for name, word in (("HIV", "Antiretroviral"), ("Depression", "Lithium"), ("Anxiety disorder", "Antipsychotic")):
        chance[names.tolist().index(name), words.index(word)] = 0.5
    return _cells(rng, chance, diagnosis, words)


def _cells(
    rng: np.random.Generator, chance: NDArray[np.float64], cause: NDArray[np.int64], words: Sequence[str]
) -> pa.ChunkedArray:
    """Return set cells: word w is in the cell of row r with chance[cause[r], w]."""
    parts = []
    for first in range(0, cause.size, _AT_ONCE):
        drawn = rng.random((min(_AT_ONCE, cause.size - first), len(words))) < chance[cause[first : first + _AT_ONCE]]
        start = np.concatenate([[0], np.cumsum(drawn.sum(axis=1))]).astype(np.int32)
        members = pa.array(words).take(pa.array(np.nonzero(drawn)[1]))
        parts.append(pc.binary_join(pa.ListArray.from_arrays(pa.array(start), members), "|"))
    return pa.chunked_array(parts, pa.string())
