"""Baselines of rho-uncertainty: what gives it passes the audit, and what does not is caught."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.choosing import aiming_at
from sfumato.anonymizers.published.permutation import Permutation
from sfumato.anonymizers.published.td_control import TdControl
from sfumato.data.builders import Given
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema, SensitiveShare
from sfumato.errors import DataError, PolicyError
from sfumato.models import RhoUncertainty
from sfumato.models.base import Policy

TREE = Hierarchy.from_nested({"first": ["a", "c"], "last": {"near": ["e", "f"], "far": ["h"]}})
SAFE = [name for name in aiming_at(RhoUncertainty(column="basket", rho="1/2")) if name != "permutation"]

baskets_of = st.lists(st.sets(st.sampled_from("abcdefgh"), max_size=6), min_size=1, max_size=30)
shares = st.sampled_from([Fraction(3, 10), Fraction(1, 2), Fraction(7, 10), Fraction(1, 3)])


def released(anonymizer, baskets, rho="1/2", *, empty=False, hierarchy=TREE, seed=0):
    spec = ColumnSpec(
        name="basket",
        role=Role.ITEMS,
        kind=Kind.SET,
        sensitive_items=("b", "d", "g"),
        hierarchy=Given(hierarchy) if hierarchy is not None else None,
    )
    schema = Schema({"basket": spec})
    cells = pa.array([sorted(basket) for basket in baskets], pa.list_(pa.string()))
    dataset = encode(pa.table({"basket": cells}), schema)
    model = RhoUncertainty(column="basket", rho=rho, empty_antecedent=empty)
    recoding = anonymizer.anonymize(dataset, Policy((model,)), Recoding(), Workplace(rng=np.random.default_rng(seed)))
    release = publish(dataset, recoding, [])
    sets = [set(release.sets("basket").cell(row)) for row in range(release.n_rows)]
    return sets, model.audit(Release.from_table(release.table(), schema)), recoding.facts["basket"]


def usable(baskets):
    found = set().union(*baskets)
    return found & set("bdg") and found - set("bdg")


def random_baskets(n, seed):
    rng = random.Random(seed)
    return [set(rng.choices("abcdefgh", [8, 5, 6, 4, 3, 3, 2, 2], k=rng.choice([1, 2, 3]))) for _ in range(n)]


@pytest.mark.slow
@pytest.mark.parametrize("name", SAFE)
@settings(max_examples=50, deadline=None)
@given(baskets=baskets_of, rho=shares, empty=st.booleans())
def test_every_release_passes_the_audit(name, baskets, rho, empty):
    if not usable(baskets):
        return
    sets, verdict, _ = released(ANONYMIZERS[name](), baskets, rho, empty=empty)

    assert verdict.satisfied, str(verdict)
    if name != "td-control":
        assert all(after <= before for after, before in zip(sets, baskets, strict=True))


def test_global_suppression_takes_all_of_a_type_or_nothing():
    baskets = [*random_baskets(200, seed=2), {"a", "b", "c"}]
    sets, _, facts = released(ANONYMIZERS["global-suppression"](), baskets, "0.45")
    before, after = (Counter(item for basket in side for item in basket) for side in (baskets, sets))

    assert all(after[item] in (0, count) for item, count in before.items())
    assert facts["types_deleted"] == sum(item not in after for item in before)
    assert 0 < facts["withheld"] <= facts["sensitive_occurrences"]


def test_dropping_all_sensitive_items_leaves_the_rest():
    baskets = random_baskets(50, seed=3)
    sets, _, facts = released(ANONYMIZERS["drop-sensitive"](), baskets)

    assert sets == [basket - set("bdg") for basket in baskets]
    assert facts["relative_to_dropping_all_sensitive"] == 1


def test_td_control_publishes_what_covers_the_original():
    baskets = random_baskets(300, seed=5)
    sets, verdict, facts = released(TdControl(), baskets, "0.45")
    assert verdict.satisfied
    labels = set().union(*sets)
    assert facts["nodes_published"] >= 2
    for before, after in zip(baskets, sets, strict=True):
        assert after & set("bdg") == before & labels & set("bdg")
        for item in before - set("bdg"):
            assert after & set(TREE.ancestors(item))


def test_td_control_splits_no_more_than_asked_for_and_works_without_a_hierarchy():
    baskets = random_baskets(300, seed=5)
    coarse, verdict, _ = released(TdControl(splits=0), baskets, "0.45", hierarchy=None)
    fine, verdict_of_fine, _ = released(TdControl(), baskets, "0.45", hierarchy=None)

    assert verdict.satisfied
    assert verdict_of_fine.satisfied
    assert set().union(*coarse) - set("bdg") == {"*"}
    assert len(set().union(*fine)) > len(set().union(*coarse))


def test_td_control_refuses_hierarchies_that_do_not_fit():
    with pytest.raises(DataError, match="lacks 1 of"):
        released(TdControl(), [{"a", "b"}, {"z"}])
    with pytest.raises(DataError, match="labels that are sensitive items"):
        released(TdControl(), [{"a", "b"}], hierarchy=Hierarchy.from_nested({"b": ["a", "c"], "x": ["e"]}))


def test_td_control_refuses_sensitive_items_that_are_drawn():
    spec = ColumnSpec(name="basket", role=Role.ITEMS, sensitive_items=SensitiveShare(share=0.5))
    labels = [f"i{number}" for number in range(40)]
    dataset = encode(pa.table({"basket": ["|".join(labels)]}), Schema({"basket": spec}))
    policy = Policy((RhoUncertainty(column="basket", rho="0.5"),))
    with pytest.raises(DataError, match="drawn at random"):
        TdControl().anonymize(dataset, policy, Recoding(), Workplace())


def test_permutation_keeps_frequencies_and_does_not_give_rho_uncertainty():
    baskets = random_baskets(200, seed=7) + [{"a", "b", "d"}] * 6
    sets, verdict, facts = released(Permutation(p=4), baskets, "0.1")
    before, after = (Counter(item for basket in side for item in basket) for side in (baskets, sets))

    assert before == after
    assert sets != baskets
    assert [basket - set("bdg") for basket in sets] == [basket - set("bdg") for basket in baskets]
    assert not verdict.satisfied
    assert facts["gives_rho_uncertainty"] is False


def test_permutation_depends_on_the_seed_alone():
    baskets = random_baskets(100, seed=7)
    one, again, other = (released(Permutation(), baskets, seed=seed)[0] for seed in (1, 1, 2))

    assert one == again
    assert one != other


@pytest.mark.parametrize(("make", "options"), [(TdControl, {"splits": -1}), (Permutation, {"p": 1})])
def test_options_out_of_range_are_refused(make, options):
    with pytest.raises(PolicyError):
        make(**options)
