"""The change of belief against its definition, written down slowly."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.encoding import encode
from sfumato.data.knowledge import UNLINKED, Knowledge, PublicInputs
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, PolicyError
from sfumato.metrics.belief import BeliefChange

SCHEMA = Schema(
    {
        "group": ColumnSpec(name="group", role=Role.QUASI_IDENTIFIER, kind=Kind.CATEGORY),
        "terms": ColumnSpec(name="terms", role=Role.QUASI_SENSITIVE, kind=Kind.SET),
    }
)


def table_of(rows):
    return pa.table(
        {
            "group": pa.array([group for group, _ in rows], pa.string()),
            "terms": pa.array([sorted(terms) for _, terms in rows], pa.list_(pa.string())),
        }
    )


def measured(before, after, public, **options):
    release = replace(Release.from_table(table_of(after), SCHEMA), public=public)
    return BeliefChange(**options).measure(encode(table_of(before), SCHEMA), release)


def slow(rows, table, prior, labels, unlinked):
    """For each group with a link: (records, changes of all labels, beliefs of all labels)."""
    groups = defaultdict(list)
    for group, terms in rows:
        groups[group].append({label for label, known in table if set(terms) <= set(known)})
    found = []
    for links in groups.values():
        linked = [link for link in links if link]
        if not linked:
            continue
        divisor = len(links) if unlinked == "zero" else len(linked)
        belief = np.array([sum(1 / len(link) for link in linked if label in link) / divisor for label in labels])
        found.append((len(links), belief - prior, belief))
    return found


term_sets = st.frozensets(st.sampled_from("abcd"), max_size=3)
records = st.lists(
    st.tuples(st.sampled_from("pqr"), st.frozensets(st.sampled_from("abcd?"), max_size=3)), min_size=1, max_size=10
)
tables = st.lists(st.tuples(st.sampled_from("XYZUV"), term_sets), min_size=1, max_size=8).filter(
    lambda table: any(terms for _, terms in table)
)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(tables, records, records, st.sampled_from(UNLINKED), st.data())
def test_every_measure_follows_its_definition(table, before, after, unlinked, data):
    knowledge = Knowledge.from_rows(table, unlinked=unlinked)
    parts = np.array(data.draw(st.lists(st.integers(0, 4), min_size=knowledge.n_labels, max_size=knowledge.n_labels)))
    prior = (parts + 1e-3) / (parts + 1e-3).sum()
    measurement = measured(before, after, PublicInputs(knowledge, prior))
    for side, rows in (("before", before), ("after", after)):
        facts = measurement.facts[side]
        expected = slow(rows, table, prior, knowledge.labels, unlinked)
        assert facts["groups"] == len(expected)
        assert facts["records"] == sum(size for size, _, _ in expected)
        if not expected:
            continue
        weights = [size for size, _, _ in expected]
        for name, values in {
            "change": [np.abs(change).max() for _, change, _ in expected],
            "rise": [change.max() for _, change, _ in expected],
            "distance": [math.sqrt((change**2).sum()) for _, change, _ in expected],
            "total_variation": [np.abs(change).sum() / 2 for _, change, _ in expected],
            "largest_belief": [belief.max() for _, _, belief in expected],
            "diversity": [_largest_l(belief) for _, _, belief in expected],
        }.items():
            assert facts[name]["mean"] == pytest.approx(np.average(values, weights=weights), abs=1e-9), name
            assert facts[name]["max"] == pytest.approx(max(values), abs=1e-9), name
            assert facts[name]["min"] == pytest.approx(min(values), abs=1e-9), name
            assert facts[name]["sd"] == pytest.approx(np.std(values), abs=1e-9), name
            assert facts[name]["q95"] == pytest.approx(np.quantile(values, 0.95), abs=1e-9), name
    assert measurement.value == measurement.facts["after"]["change"]["mean"]
    assert measurement.before == measurement.facts["before"]["change"]["mean"]
    json.dumps(measurement.as_dict(), allow_nan=False)


def _largest_l(belief):
    falling = np.sort(belief[belief > 0])[::-1]
    return max((l for l in range(1, falling.size + 1) if falling[0] <= falling[l - 1 :].sum() + 1e-9), default=0)


KNOWLEDGE = Knowledge.from_rows([("A", ["a", "x"]), ("B", ["b", "x"])])


def test_without_a_public_prior_the_original_gives_it():
    before = [("p", {"a"}), ("q", {"a"}), ("r", {"a"}), ("s", {"b"})]
    after = [("*", {"a"})] * 3 + [("*", {"b"})]
    measurement = measured(before, after, PublicInputs(KNOWLEDGE))
    assert measurement.value == pytest.approx(0)
    assert measurement.before == pytest.approx((3 * 0.25 + 0.75) / 4)
    assert measurement.facts["prior"] == "estimated"
    assert measurement.facts["terms"] == {"before": 4, "after": 4, "kept": 1.0}
    assert "Change of belief: 0 %" in str(measurement)


def test_removed_terms_and_records_without_links_are_counted():
    before = [("p", {"a", "x"}), ("q", {"b", "x"}), ("r", {"typo"})]
    after = [("p", {"x"}), ("q", set()), ("r", {"typo"})]
    facts = measured(before, after, PublicInputs(KNOWLEDGE)).facts
    assert facts["terms"] == {"before": 5, "after": 2, "kept": 0.4}
    assert facts["after"]["records"] == 2
    assert facts["after"]["records_without_link"] == 1
    assert facts["after"]["groups_without_link"] == 1
    assert facts["after"]["change"]["max"] == 0
    assert facts["before"]["change"]["max"] == pytest.approx(0.5)


def test_what_cannot_be_measured_is_refused():
    rows = [("p", {"a"})]
    with pytest.raises(DataError, match="no knowledge table"):
        measured(rows, rows, PublicInputs())
    with pytest.raises(DataError, match="these columns of sets: terms"):
        measured(rows, rows, PublicInputs(KNOWLEDGE), column="term")
    with pytest.raises(PolicyError, match="c of belief-change"):
        BeliefChange(c=0)
    assert measured(rows, rows, PublicInputs(KNOWLEDGE), column="terms").value == 0
