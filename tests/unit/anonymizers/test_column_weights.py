"""Weights of quasi-identifiers: the loss that is minimized follows them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.base import Workplace
from sfumato.data.base_rates import BaseRates
from sfumato.data.builders import Given, Widths
from sfumato.data.dataset import weights_of
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.knowledge import PublicInputs
from sfumato.data.recoding import Recoding
from sfumato.data.release import publish
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.errors import DataError
from sfumato.metrics.ncp import Ncp
from sfumato.models import AlphaDiversity, KAnonymity
from sfumato.models.base import Policy

PLACES = Hierarchy.from_nested({f"region {i}": [f"town {i}{j}" for j in range(4)] for i in range(4)})
ILLS = Hierarchy.from_nested({"mild": ["cold", "flu"], "grave": ["stroke", "cancer"]})
RNG = np.random.default_rng(6)
TABLE = pa.table(
    {
        "age": RNG.integers(20, 60, 240),
        "place": RNG.choice(PLACES.leaves, 240),
        "ill": RNG.choice(ILLS.leaves, 240),
    }
)
ASKED = {"masking": (AlphaDiversity(sensitive="ill", alpha="0.5", k=4),)}
WAYS = [("local-recoding", True), ("mondrian", True), ("mondrian", False), ("full-domain", True), ("masking", True)]


def detail_lost(name, trees, **weights):
    """Return what is lost of each quasi-identifier, and the facts of the measure."""
    hierarchies = {"age": Widths((5, 10, 20)), "place": Given(PLACES)} if trees else {}
    schema = Schema(
        {
            each: ColumnSpec(
                name=each, role=Role.QUASI_IDENTIFIER, hierarchy=hierarchies.get(each), weight=weights.get(each, 1.0)
            )
            for each in ("age", "place")
        }
        | {"ill": ColumnSpec(name="ill", role=Role.SENSITIVE, hierarchy=Given(ILLS))}
    )
    dataset = encode(TABLE, schema)
    policy = Policy(ASKED.get(name, (KAnonymity(k=4),)))
    public = PublicInputs(base_rates={"ill": BaseRates.of(dataset.column("ill"))})
    workplace = Workplace(rng=np.random.default_rng(1), public=public)
    recoding = ANONYMIZERS[name]().anonymize(dataset, policy, Recoding(), workplace)
    found = Ncp().measure(dataset, publish(dataset, recoding, []))
    return {column["name"]: column["loss"] for column in found.facts["columns"]}, found.facts


@pytest.mark.parametrize(("name", "trees"), WAYS)
def test_what_weighs_more_loses_less(name, trees):
    age_matters, _ = detail_lost(name, trees, age=9.0)
    place_matters, _ = detail_lost(name, trees, place=9.0)

    assert age_matters["age"] < place_matters["age"]
    assert place_matters["place"] < age_matters["place"]


@pytest.mark.parametrize(("name", "trees"), WAYS)
def test_equal_weights_change_nothing_and_one_of_zero_is_fine(name, trees):
    assert detail_lost(name, trees, age=3.0, place=3.0) == detail_lost(name, trees)
    ignored, facts = detail_lost(name, trees, place=0.0)

    assert ignored["age"] <= detail_lost(name, trees)[0]["age"]
    assert facts["weighted"] == pytest.approx(ignored["age"])


def test_the_weighted_mean_is_a_fact_of_the_measure():
    lost, facts = detail_lost("full-domain", True, age=3.0)

    assert facts["weighted"] == pytest.approx((3 * lost["age"] + lost["place"]) / 4)
    assert "weighted" not in detail_lost("full-domain", True)[1]


def test_weights_are_one_on_average_and_not_all_zero():
    columns = encode(
        TABLE, Schema({"age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER, weight=0.0)}, rest=Role.OTHER)
    )
    with pytest.raises(DataError, match="each of the 1 quasi-identifiers has weight = 0"):
        weights_of(columns.quasi_identifiers)
    assert weights_of(()).size == 0
