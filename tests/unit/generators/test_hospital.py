import pyarrow.compute as pc
import pytest

from sfumato.generators import hospital
from sfumato.generators.hospital import DIAGNOSES, SENSITIVE_DRUGS


def test_the_same_seed_makes_the_same_table_and_another_one_another():
    assert hospital(200).equals(hospital(200))
    assert not hospital(200).equals(hospital(200, seed=12))


def test_symptoms_are_those_of_the_diagnosis():
    for stay in hospital(500).to_pylist():
        known = set(DIAGNOSES[stay["diagnosis"]][1].split("|"))
        assert set(stay["symptoms"].split("|")) - {""} <= known


@pytest.mark.slow
def test_sensitive_drugs_tell_about_a_diagnosis():
    table = hospital(20_000)
    given = pc.match_substring(table["drugs"], SENSITIVE_DRUGS[0])
    with_hiv = pc.equal(table["diagnosis"], "HIV")

    share = pc.mean(pc.filter(given, with_hiv).cast("float64")).as_py()
    others = pc.mean(pc.filter(given, pc.invert(with_hiv)).cast("float64")).as_py()
    assert share > 0.35
    assert others < 0.03


def test_therapy_and_payer_depend_on_each_other():
    table = hospital(20_000)
    pairs = table.group_by(["therapy", "payer"]).aggregate([([], "count_all")]).to_pylist()
    payers = {
        row["payer"]: row["count_all"] for row in table.group_by("payer").aggregate([([], "count_all")]).to_pylist()
    }
    therapies = {
        row["therapy"]: row["count_all"] for row in table.group_by("therapy").aggregate([([], "count_all")]).to_pylist()
    }

    moved = sum(
        abs(row["count_all"] - payers[row["payer"]] * therapies[row["therapy"]] / table.num_rows) for row in pairs
    )
    assert moved / (2 * table.num_rows) > 0.1
