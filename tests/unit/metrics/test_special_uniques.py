from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.data.encoding import encode
from sfumato.data.release import Release
from sfumato.data.sampling import Sampling
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.metrics.special_uniques import SpecialUniques

NAMES = ("residence", "gender", "education", "labor")
SCHEMA = Schema({name: ColumnSpec(name=name, role=Role.QUASI_IDENTIFIER) for name in NAMES})
# Table 4.5 of the World Bank's practice guide on disclosure control: see test_minimal_uniques.py.
GUIDE = pa.table(
    {
        "residence": ["U", "U", "U", "U", "R", "U", "U", "U", "U", "U"],
        "gender": ["F", "F", "F", "M", "F", "M", "F", "M", "F", "F"],
        "education": ["si", "si", "pi", "sc", "sc", "sc", "pc", "ps", "si", "si"],
        "labor": ["e", "e", "n", "e", "u", "e", "n", "u", "n", "n"],
    }
)


def measured(release, **more):
    return SpecialUniques(**more).measure(encode(GUIDE, SCHEMA), Release.from_table(release, SCHEMA))


def test_records_get_their_scores_in_order():
    assert SpecialUniques(size=3).scores(encode(GUIDE, SCHEMA)).tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]


def test_both_sides_are_counted_by_the_fewest_columns():
    found = measured(GUIDE.set_column(2, "education", pa.array(["*"] * 10)))

    before, after = found.facts["before"], found.facts["after"]
    assert (before["unique"], before["special"], before["by_size"]) == (4, 4, [4, 0, 0, 0])
    assert (before["highest_score"], before["sets"]) == (12, [4, 5, 0, 0])
    assert after["by_size"] == [1, 1, 0, 0]  # who lives in the country; the unemployed man
    assert (found.before, found.value) == (0.4, 0.2)
    assert after["columns"]["education"] == 0
    assert "'education'" in found.explanation


def test_a_release_without_uniques_has_no_scores():
    found = measured(pa.concat_tables([GUIDE, GUIDE]))

    assert (found.value, found.facts["after"]["highest_score"], found.facts["after"]["mean_score"]) == (0, 0, 0)
    assert set(found.facts["after"]["columns"].values()) == {0.0}


def test_scores_become_chances_where_the_population_is_known():
    assert measured(GUIDE).facts["before"]["calibrated"] is None

    found = measured(GUIDE, size=3, sampling=Sampling(fraction=0.01)).facts["before"]["calibrated"]

    assert found["match"] == pytest.approx(0.04 / (0.04 + 6 * 0.99))
    raised = np.array([6, 12, 6, 10]) ** 1.2
    slow = 1 / (1 + (4 / found["match"] - 4) / (raised * (1 / raised).sum()))
    assert (found["max"], found["mean"]) == (pytest.approx(slow.max()), pytest.approx(slow.sum() / 10))


def test_facts_hold_names_and_counts_but_no_values():
    told = str(measured(GUIDE).facts)

    assert not [value for value in ("'si'", "'sc'", "'R'") if value in told]
