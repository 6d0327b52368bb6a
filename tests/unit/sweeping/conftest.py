"""A small table with a secret, and a plan for it."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import sfumato as sf
from sweeps import SECRET


@pytest.fixture
def people():
    chance = random.Random(6)
    n = 60
    return pa.table(
        {
            "name": [f"Somebody {row}" for row in range(n)],
            "age": [chance.randint(20, 70) for _ in range(n)],
            "disease": [chance.choice(["flu", "cold", SECRET]) for _ in range(n)],
        }
    )


@pytest.fixture
def plan():
    return sf.Plan.from_dict(
        {
            "columns": {
                "name": {"role": "identifier"},
                "age": {"role": "quasi-identifier"},
                "disease": {"role": "sensitive"},
            },
            "require": [
                {"model": "k-anonymity", "k": 2},
                {"model": "l-diversity", "sensitive": "disease", "l": 2},
            ],
        }
    )
