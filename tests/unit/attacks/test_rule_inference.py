from __future__ import annotations

import itertools
import random

import pyarrow as pa
import pytest

from sfumato.attacks import RuleInference, attack_all
from sfumato.attacks import rule_inference as module
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import PolicyError


def release_of(baskets, sensitive):
    spec = ColumnSpec(name="basket", role=Role.ITEMS, kind=Kind.SET, sensitive_items=tuple(sensitive))
    cells = pa.array([sorted(basket) for basket in baskets], pa.list_(pa.string()))
    return Release.from_table(pa.table({"basket": cells}), Schema({"basket": spec}))


def slow(baskets, sensitive, known):
    """Return how sure an intruder gets of each basket with the luckiest choice of known items."""

    def confidence(basket):
        best = 0.0
        for size in range(1, known + 1):
            for chosen in itertools.combinations(sorted(basket), size):
                holders = [other for other in baskets if set(chosen) <= other]
                for item in (basket & set(sensitive)) - set(chosen):
                    best = max(best, sum(item in other for other in holders) / len(holders))
        return best

    return [confidence(basket) for basket in baskets]


@pytest.mark.parametrize("known", [1, 2, 3])
def test_exposure_equals_a_slow_search(known):
    rng = random.Random(4)
    for _ in range(40):
        baskets = [{item for item in "abcdefgh" if rng.random() < 0.4} for _ in range(rng.randint(1, 25))]
        expected = slow(baskets, "bdf", known)
        finding = RuleInference(column="basket", known=known, threshold=0.6).on(release_of(baskets, "bdf"))

        assert finding.exposed == sum(sure > 0.6 for sure in expected)
        assert finding.worst == pytest.approx(max(expected))
        assert finding.mean == pytest.approx(sum(expected) / len(baskets))


def test_in_a_very_large_table_some_people_stand_for_the_others(monkeypatch):
    rng = random.Random(9)
    baskets = [{item for item in "abcdefgh" if rng.random() < 0.4} for _ in range(600)]
    whole = [RuleInference(column="basket", known=known).on(release_of(baskets, "bdf")) for known in (1, 2, 3)]
    monkeypatch.setattr(module, "LARGE", 100)
    monkeypatch.setattr(module, "SEARCHED", 150)
    some = [RuleInference(column="basket", known=known).on(release_of(baskets, "bdf")) for known in (1, 2, 3)]

    assert some[0] == whole[0]  # one item is cheap
    assert whole[1].facts["looked_at"] == 600
    for sampled, exact in zip(some[1:], whole[1:], strict=True):
        assert sampled.facts["looked_at"] < 400
        assert sampled.people == 600
        assert sampled.exposed == pytest.approx(exact.exposed, abs=60)
        assert sampled.mean == pytest.approx(exact.mean, abs=0.05)
        assert sampled.worst <= exact.worst
    monkeypatch.setattr(module, "SEARCHED", 600)
    assert RuleInference(column="basket", known=3).on(release_of(baskets, "bdf")) == whole[2]


def test_guessing_knows_base_rates_only():
    guess = RuleInference(column="basket").guess(release_of([{"a", "e"}, {"e"}, {"b"}], "e"))

    assert guess.exposed == 2
    assert guess.worst == pytest.approx(2 / 3)


@pytest.mark.slow
def test_the_store_grows_with_what_is_asked_for():
    rng = random.Random(1)
    baskets = [{str(rng.randrange(200)) for _ in range(14)} for _ in range(150)] * 2
    finding = RuleInference(column="basket", known=2).on(release_of(baskets, [str(n) for n in range(60)]))

    assert finding.exposed == sum(sure > 0.5 for sure in slow(baskets, [str(n) for n in range(60)], 2))


def test_very_long_records_are_counted_as_cut_short(monkeypatch):
    monkeypatch.setattr(module, "_LONGEST", 3)
    finding = RuleInference(column="basket", known=1).on(release_of([{"a", "b", "c", "e"}, {"a", "e"}], "e"))

    assert finding.facts["cut_short"] == 1
    assert (finding.people, finding.exposed) == (2, 1)


def test_every_column_of_items_is_attacked_with_one_two_and_three_items():
    exposures = attack_all(release_of([{"a", "e"}], "e"))

    assert [exposure.title for exposure in exposures if exposure.attack == "rule-inference"] == [
        "Inferring a sensitive item of 'basket' from one known item",
        "Inferring a sensitive item of 'basket' from up to 2 known items",
        "Inferring a sensitive item of 'basket' from up to 3 known items",
    ]


@pytest.mark.parametrize("known", [0, 4, "two"])
def test_the_number_of_known_items_has_bounds(known):
    with pytest.raises(PolicyError, match="known items"):
        RuleInference(column="basket", known=known)
