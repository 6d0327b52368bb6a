"""Baselines of rho-uncertainty: what gives it passes the audit, and what does not is caught."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.choosing import aiming_at
from sfumato.anonymizers.items import make_task
from sfumato.anonymizers.published.permutation import Permutation, groups, permute
from sfumato.anonymizers.published.td_control import TdControl
from sfumato.data.builders import Given
from sfumato.data.dataset import CodedSets
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema, SensitiveShare
from sfumato.errors import DataError, PolicyError, Unsatisfiable
from sfumato.metrics.item_loss import ItemLoss
from sfumato.metrics.rule_retention import RuleRetention
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

    assert verdict.satisfied or verdict.nothing_to_judge, str(verdict)
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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_td_control_hardly_loses_more_where_rho_asks_for_less(seed):
    """By at most .01 of the occurrences: types that are deleted for the rules of a coarse cut never come back."""
    rng = random.Random(seed)
    items, skew = rng.choice([40, 80, 160]), rng.choice([0, 0.5, 1])
    weight = [1 / (rank + 1) ** skew for rank in range(items)]
    labels = [f"{item:03}" for item in range(items)]
    rng.shuffle(labels)
    baskets = [set(rng.choices(labels, weight, k=rng.choice([1, 2, 3, 4, 6]))) for _ in range(1500)]
    secrets = tuple(set(rng.sample(labels, items * 2 // 5)) & set().union(*baskets))
    spec = ColumnSpec(name="basket", role=Role.ITEMS, kind=Kind.SET, sensitive_items=secrets)
    cells = pa.array([sorted(basket) for basket in baskets], pa.list_(pa.string()))
    dataset = encode(pa.table({"basket": cells}), Schema({"basket": spec}))
    loss = []
    for rho in ("0.2", "0.3", "0.5", "0.7", "0.9"):
        policy = Policy((RhoUncertainty(column="basket", rho=rho),))
        recoding = TdControl(splits=16).anonymize(dataset, policy, Recoding(), Workplace())
        loss.append(recoding.facts["basket"]["loss"])
        measured = ItemLoss(column="basket").measure(dataset, publish(dataset, recoding, []))
        assert measured.value == pytest.approx(loss[-1])
    assert all(relaxed <= strict + 0.01 for strict, relaxed in pairwise(loss))


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


def measured_td_control(baskets, hierarchy, splits=64):
    """Return what td-control says of its loss, its release as sets, and both metrics on it."""
    spec = ColumnSpec(
        name="basket",
        role=Role.ITEMS,
        kind=Kind.SET,
        sensitive_items=("b", "d", "g"),
        hierarchy=Given(hierarchy) if hierarchy is not None else None,
    )
    cells = pa.array([sorted(basket) for basket in baskets], pa.list_(pa.string()))
    dataset = encode(pa.table({"basket": cells}), Schema({"basket": spec}))
    policy = Policy((RhoUncertainty(column="basket", rho="1/2"),))
    recoding = TdControl(splits=splits).anonymize(dataset, policy, Recoding(), Workplace())
    release = publish(dataset, recoding, [])
    sets = [set(release.sets("basket").cell(row)) for row in range(release.n_rows)]
    rules = RuleRetention(column="basket", support="0.05", confidences=("0.3",), longest=3)
    return (
        recoding.facts["basket"],
        sets,
        ItemLoss(column="basket").measure(dataset, release),
        rules.measure(dataset, release),
    )


def rules_in(sets, least, confidence):
    """Return all rules of at most three items, as (antecedent, consequent)."""
    items = sorted(set().union(*sets))
    found = set()
    for size in (2, 3):
        for chosen in combinations(items, size):
            holders = sum(set(chosen) <= each for each in sets)
            if holders < least:
                continue
            for known in range(1, size):
                for antecedent in combinations(chosen, known):
                    with_it = sum(set(antecedent) <= each for each in sets)
                    if Fraction(holders, with_it) >= confidence and not set(chosen) - set(antecedent) & set("bdg"):
                        found.add((frozenset(antecedent), frozenset(chosen) - frozenset(antecedent)))
    return {rule for rule in found if not rule[1] & set("bdg")}


@pytest.mark.parametrize("hierarchy", [TREE, None], ids=["given", "stand-in"])
@pytest.mark.parametrize("splits", [0, 1, 64])
def test_the_loss_of_generalized_items_is_measured_as_such(hierarchy, splits):
    baskets = random_baskets(60, seed=3)
    facts, _, loss, _ = measured_td_control(baskets, hierarchy, splits)

    assert loss.facts["withheld"] == facts["withheld"]
    assert loss.value == pytest.approx(facts["loss"])
    assert loss.value == pytest.approx((loss.facts["withheld"] + loss.facts["generalized_loss"]) / facts["occurrences"])
    assert (loss.facts["generalized"] > 0) == (splits == 0 or facts["loss"] > facts["withheld"] / facts["occurrences"])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("splits", [0, 1, 2])
def test_rules_between_general_labels_are_specialized(seed, splits):
    """By brute force: each rule of the release stands for all rules with one item below each of its labels."""
    baskets = random_baskets(60, seed=seed)
    _, sets, _, measured = measured_td_control(baskets, TREE, splits)
    below = {"first": "ac", "last": "efh", "near": "ef", "far": "h", "*": "acefh"}
    published = set().union(*sets)
    specialized = set()
    for antecedent, consequent in rules_in(sets, 3, Fraction(3, 10)):
        ways = [
            [item for item in below.get(label, label) if item == label or item not in published]
            for label in (*antecedent, *consequent)
        ]
        for way in product(*ways):
            specialized.add((frozenset(way[: len(antecedent)]), frozenset(way[len(antecedent) :])))
    original = rules_in(baskets, 3, Fraction(3, 10))
    [row] = measured.facts["confidences"]
    found = row["consequent_not_sensitive"]

    assert (found["before"], found["after"]) == (len(original), len(specialized))
    assert found["both"] == len(original & specialized)


def rare_secrets(n, seed):
    """Baskets in which few hold a sensitive item, so that groups exist."""
    chance = random.Random(seed)
    plain = [set(chance.sample("acefh", chance.randint(0, 4))) for _ in range(n)]
    return [basket | {secret for secret in "bdg" if chance.random() < 0.12} for basket in plain]


def task_of(baskets, rho=Fraction(1, 4)):
    labels = tuple("abcdefgh")
    items = [labels.index(item) for basket in baskets for item in sorted(basket)]
    start = np.concatenate([[0], np.cumsum([len(basket) for basket in baskets])])
    sensitive = np.array([label in "bdg" for label in labels])
    column = CodedSets(
        name="basket", role=Role.ITEMS, items=np.array(items, np.int32), start=start, labels=labels, sensitive=sensitive
    )
    return make_task(column, "basket", rho)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 90))
def test_no_sensitive_item_is_in_more_than_one_of_p_records_of_a_group(seed, p, n):
    """Ghinita's bound: whoever knows the groups ties no record to a sensitive item with more than 1/p."""
    baskets = rare_secrets(n, seed)
    support = Counter(item for basket in baskets for item in basket & set("bdg"))
    if not usable(baskets) or max(support.values()) * p > n:
        return
    task = task_of(baskets)
    group_of = groups(task, p)
    moved = permute(task, group_of, np.random.default_rng(seed))
    after = [{moved.labels[item] for item in moved.items[first:last]} for first, last in pairwise(moved.start)]

    for group in range(group_of.max() + 1):
        records = np.flatnonzero(group_of == group).tolist()
        before, now = (Counter(item for record in records for item in side[record]) for side in (baskets, after))
        assert before == now  # what a group holds stays in it
        assert all(count * p <= len(records) for item, count in now.items() if item in "bdg")
        assert group == group_of.max() or len(records) == p
    assert [basket - set("bdg") for basket in after] == [basket - set("bdg") for basket in baskets]


def test_in_a_group_every_record_is_as_likely_to_have_an_item():
    """The bound is reached, not passed: over many draws, each record has the item in one of four."""
    baskets = [{"a", "b"}, {"a"}, {"a", "c"}, {"a", "d"}] + [{"e", "f"}] * 4
    task = task_of(baskets)
    group_of = groups(task, 4)
    rng = np.random.default_rng(5)
    has = np.zeros(len(baskets))
    for _ in range(2000):
        moved = permute(task, group_of, rng)
        has[np.searchsorted(moved.start, np.flatnonzero(moved.items == 1), side="right") - 1] += 1

    assert set(group_of[:4]) == {group_of[0]}
    assert has[:4] / 2000 == pytest.approx([0.25] * 4, abs=0.04)
    assert has.sum() == 2000


def test_alike_records_are_grouped():
    """Two kinds of baskets in any order: no group mixes them."""
    kinds = [{"a", "c"}, {"e", "f"}]
    baskets = [kinds[i % 2] | ({"bdg"[i // 2 % 3]} if i < 12 else set()) for i in range(48)]
    group_of = groups(task_of(baskets), 4)

    whole = [set(np.flatnonzero(group_of == group) % 2) for group in range(group_of.max())]
    assert len(whole) >= 4
    assert all(len(kind) == 1 for kind in whole)


def test_permutation_keeps_frequencies_and_does_not_give_rho_uncertainty():
    baskets = rare_secrets(200, seed=7)
    sets, verdict, facts = released(Permutation(p=4), baskets, "0.1")
    before, after = (Counter(item for basket in side for item in basket) for side in (baskets, sets))

    assert before == after
    assert sets != baskets
    assert not verdict.satisfied
    assert facts["gives_rho_uncertainty"] is False


def test_permutation_says_when_an_item_is_too_frequent_to_hide():
    with pytest.raises(Unsatisfiable, match="p = 3 at most"):
        released(Permutation(p=4), [{"a", "b"}] * 3 + [{"a"}] * 7)
    with pytest.raises(Unsatisfiable, match=r"\.\nAsk for partial-suppression"):
        released(Permutation(p=2), [{"a", "b"}] * 9 + [{"a"}])


def test_permutation_depends_on_the_seed_alone():
    baskets = rare_secrets(100, seed=7)
    one, again, other = (released(Permutation(), baskets, seed=seed)[0] for seed in (1, 1, 2))

    assert one == again
    assert one != other


@pytest.mark.parametrize(("make", "options"), [(TdControl, {"splits": -1}), (Permutation, {"p": 1})])
def test_options_out_of_range_are_refused(make, options):
    with pytest.raises(PolicyError):
        make(**options)
