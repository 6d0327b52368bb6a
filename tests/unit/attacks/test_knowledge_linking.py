"""Terms looked up in public knowledge, against the definition written out."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.attacks import Asked, KnowledgeLinking, attack_all
from sfumato.data.knowledge import Knowledge, PublicInputs
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, PolicyError

SCHEMA = Schema(
    {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
        "symptoms": ColumnSpec(name="symptoms", role=Role.QUASI_SENSITIVE, kind=Kind.SET),
    }
)
TABLE = [("flu", ["a", "b"]), ("cold", ["b", "c"]), ("angina", ["a", "c", "d"])]
PRIOR = np.array([0.2, 0.3, 0.5])  # angina, cold, flu


def released(people, public=PublicInputs(Knowledge.from_rows(TABLE), PRIOR)):  # noqa: B008
    ages = pa.array([str(age) for age, _ in people], pa.string())
    symptoms = pa.array(["|".join(terms) for _, terms in people], pa.string())
    return replace(Release.from_table(pa.table({"age": ages, "symptoms": symptoms}), SCHEMA), public=public)


def confidence(group):
    """The likeliest label of a group, by the definition."""
    belief, linked = defaultdict(Fraction), 0
    for terms in group:
        labels = [label for label, known in TABLE if set(terms) <= set(known)]
        linked += bool(labels)
        for label in labels:
            belief[label] += Fraction(1, len(labels))
    return max(belief.values()) / linked if linked else Fraction(0)


@settings(deadline=None)  # the first look-up loads scipy
@given(
    people=st.lists(st.tuples(st.integers(1, 3), st.frozensets(st.sampled_from("abcde"), max_size=3)), min_size=1),
    threshold=st.sampled_from([0.0, 0.4, 0.5, 0.75]),
)
def test_exposed_are_those_of_whom_a_label_is_likely(people, threshold):
    found = KnowledgeLinking(threshold=threshold).on(released(people))

    groups = defaultdict(list)
    for age, terms in people:
        groups[age].append(terms)
    sure = {age: confidence(group) for age, group in groups.items()}
    assert found.people == len(people)
    assert found.exposed == sum(sure[age] > threshold for age, _ in people)
    assert found.worst == pytest.approx(float(max(sure.values())))
    assert found.mean == pytest.approx(float(sum(sure[age] for age, _ in people) / len(people)))
    assert found.facts["certain"] == sum(sure[age] == 1 for age, _ in people)


def test_a_guess_takes_the_likeliest_label_of_the_prior():
    found = attack_all(released([(1, "a"), (1, "d")]))
    [exposure] = [each for each in found if each.attack == "knowledge-linking"]

    assert (exposure.control.exposed, exposure.control.worst) == (0, 0.5)
    assert (exposure.after.exposed, exposure.after.worst) == (2, 0.75)
    assert KnowledgeLinking(threshold=0.4).guess(released([(1, "a")])).exposed == 1


def test_without_knowledge_or_terms_there_is_nothing_to_look_up():
    bare = released([(1, "a")], PublicInputs())
    assert not list(KnowledgeLinking.suited_to(bare, Asked()))
    with pytest.raises(DataError, match="knowledge"):
        KnowledgeLinking().on(bare)
    with pytest.raises(PolicyError, match="threshold"):
        KnowledgeLinking(threshold=1.5)
