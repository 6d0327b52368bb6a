from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.attacks import Linking, attack_all
from sfumato.data.encoding import encode
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.errors import PolicyError

SCHEMA = Schema(
    {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
        "job": ColumnSpec(name="job", role=Role.QUASI_IDENTIFIER),
        "disease": ColumnSpec(name="disease", role=Role.SENSITIVE),
    }
)


def release(people):
    ages, jobs, diseases = zip(*people, strict=True)
    return Release.from_table(pa.table({"age": list(ages), "job": list(jobs), "disease": list(diseases)}), SCHEMA)


@given(
    people=st.lists(st.tuples(st.integers(1, 3), st.sampled_from("ab"), st.just("flu")), min_size=1),
    threshold=st.sampled_from([0.0, 0.2, 0.25, 0.5, 0.9]),
)
def test_exposed_are_those_whose_class_is_small(people, threshold):
    found = Linking(threshold=threshold).on(release(people))

    sizes = Counter(people)
    assert found.exposed == sum(size for size in sizes.values() if 1 / size > threshold)
    assert found.worst == 1 / min(sizes.values())
    assert found.mean == pytest.approx(sum(1 / sizes[person] for person in people) / len(people))
    assert found.facts["unique"] == sum(size == 1 for size in sizes.values())


def test_before_after_and_a_guess_stand_side_by_side():
    original = release([(20, "cook", "flu"), (21, "cook", "cold"), (40, "nurse", "flu"), (41, "nurse", "flu")])
    made = release([("[20, 21]", "cook", "flu"), ("[20, 21]", "cook", "cold")] + [("[40, 41]", "nurse", "flu")] * 2)

    (exposure,) = [found for found in attack_all(made, original) if found.attack == "linking"]

    assert (exposure.before.exposed, exposure.after.exposed, exposure.control.exposed) == (4, 0, 0)
    assert (exposure.before.worst, exposure.after.worst, exposure.control.worst) == (1.0, 0.5, 0.25)
    assert "original  4 of 4 exposed" in str(exposure)


@pytest.mark.parametrize("threshold", [-0.1, 1, 2.0, True, "often"])
def test_a_threshold_that_is_no_confidence_is_refused(threshold):
    with pytest.raises(PolicyError, match="threshold"):
        attack_all(release([(1, "a", "flu")]), threshold=threshold)


def test_a_journalist_searches_the_population():
    crowd = encode(
        pa.table({"age": ["20", "21", "22", "40", "41"], "job": ["cook", "cook", "cook", "nurse", "nurse"]}),
        Schema({name: SCHEMA.columns[name] for name in ("age", "job")}),
    )
    made = release([("[20, 21]", "cook", "flu")] + [("[40, 41]", "nurse", "flu")] * 2)

    found = Linking(population=crowd).on(made)

    assert found.facts["prosecutor"] == 1.0  # one cook in the table
    assert found.facts["journalist"] == 0.5  # but two in town
