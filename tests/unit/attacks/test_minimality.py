"""The minimality attack on classes against a plain search of all ways to deal the values of a class."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest

from sfumato.attacks import Asked, Minimality, attack_all, minimality
from sfumato.data.release import Release
from sfumato.models import BetaLikeness, DeltaDisclosure, KAnonymity, LDiversity, TCloseness
from sfumato.models.base import describe

ROLES = {"ward": "quasi-identifier", "ill": "sensitive"}
FREQUENCY = LDiversity(sensitive="ill", l=2, kind="frequency")


def tables(rows, labels, *required):
    """Return the original of pairs of ward and illness, and a release with a label for each ward."""
    original = {"ward": [ward for ward, _ in rows], "ill": [ill for _, ill in rows]}
    made = Release.of(original | {"ward": [labels.get(ward, ward) for ward, _ in rows]}, **ROLES)
    return Release.of(original, **ROLES), replace(made, description={"models": [describe(each) for each in required]})


def attacked(rows, labels, *required, threshold=0.5):
    original, release = tables(rows, labels, *required)
    [attack] = Minimality.suited_to(release, Asked(original=original, threshold=threshold))
    return attack.on(release)


def holds(model, dealt, everybody):
    """Return whether one class with these values meets a requirement; `everybody` is the whole table."""
    if isinstance(model, LDiversity):
        return model.audit(Release.of({"ward": ["a"] * len(dealt), "ill": list(dealt)}, **ROLES)).satisfied
    return near(model, Counter(dealt), Counter(everybody))


def near(model, dealt, everybody):
    n, total = sum(dealt.values()), sum(everybody.values())
    part = {value: Fraction(dealt[value], n) for value in everybody}
    share = {value: Fraction(count, total) for value, count in everybody.items()}
    if isinstance(model, TCloseness) and model.distance == "ordered":
        steps = itertools.accumulate(part[value] - share[value] for value in sorted(share, key=float))
        return sum(map(abs, steps)) / max(len(share) - 1, 1) <= model.exact_t
    if isinstance(model, TCloseness):
        return sum(max(part[value] - share[value], 0) for value in share) <= model.exact_t
    if isinstance(model, BetaLikeness):
        return all((part[value] - share[value]) / share[value] <= model.exact_beta for value in share)
    return all(part[value] and abs(math.log(part[value] / share[value])) < model.exact_delta for value in share)


def dealt_plainly(values, n, model):
    """Return the chance that n of the values break a requirement, and then that of each value for a person."""
    ways = [[values[place] for place in places] for places in itertools.combinations(range(len(values)), n)]
    broken = [way for way in ways if not holds(model, way, values)]
    found = Counter(value for way in broken for value in way)
    shares = {value: Fraction(found[value], n * len(broken)) if broken else Fraction(0) for value in set(values)}
    return Fraction(len(broken), len(ways)), shares


MODELS = [
    FREQUENCY,
    LDiversity(sensitive="ill", l=3, kind="frequency"),
    LDiversity(sensitive="ill", l=2),
    LDiversity(sensitive="ill", l=3),
    LDiversity(sensitive="ill", l=2, kind="entropy"),
    LDiversity(sensitive="ill", l=2, kind="recursive", c=2),
    TCloseness(sensitive="ill", t=0.4),
    TCloseness(sensitive="ill", t=0.2, distance="ordered"),
    BetaLikeness(sensitive="ill", beta=1),
    DeltaDisclosure(sensitive="ill", delta=1),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: " ".join(map(str, describe(model).values())))
@pytest.mark.parametrize("seed", range(3))
def test_beliefs_equal_a_plain_search_of_all_ways_to_deal(model, seed):
    rng = random.Random(seed)
    rows = [(ward, rng.choice("1123")) for ward, n in (("q1", 3), ("q2", 4)) for _ in range(n)]
    values, found = [ill for _, ill in rows], attacked(rows, {"q1": "*", "q2": "*"}, model)
    breaks = {n: dealt_plainly(values, n, model) for n in (3, 4)}
    worst, exposed = 0.0, 0
    for n in (3, 4):
        (p, if_broken), (q, _) = breaks[n], breaks[7 - n]  # q: the other group needs company
        if p == 0:
            continue
        r = p / (p + (1 - p) * q)
        share = {value: Fraction(count, 7) for value, count in Counter(values).items()}
        otherwise = {value: (share[value] - p * if_broken[value]) / (1 - p) if p < 1 else 0 for value in share}
        belief = {value: r * if_broken[value] + (1 - r) * otherwise[value] for value in share}
        worst = max(worst, *map(float, belief.values()))
        exposed += n * any(belief[value] > max(Fraction(1, 2), share[value]) for value in share)
    least = math.ceil(model.exact_l) if isinstance(model, LDiversity) else 2
    assert least <= 3
    assert found.worst == pytest.approx(worst, abs=1e-9)
    assert found.exposed == exposed


HIV = [*[("q1", "HIV")] * 2, *[("q2", ill) for ill in "abcde"]]


def test_a_pair_that_alone_could_break_the_requirement_is_certain():
    found = attacked(HIV, {"q1": "*", "q2": "*"}, FREQUENCY)
    assert (found.people, found.exposed, found.worst) == (7, 2, 1.0)
    assert found.facts == {"groups": 2, "joined": 2, "joined_people": 7}


def test_who_has_a_class_of_their_own_or_is_too_few_for_one_tells_nothing():
    assert attacked(HIV, {}, FREQUENCY).worst == 0
    assert attacked(HIV, {"q1": "*", "q2": "*"}, FREQUENCY, KAnonymity(k=6)).facts["joined"] == 0
    nobody_else = attacked(HIV, {"q1": "{q1|q0}"}, FREQUENCY)  # another label, and still nobody else in the class
    assert (nobody_else.exposed, nobody_else.worst) == (0, 0.0)


FAR = [(f"w{ward}", str((ward + place) % 4)) for ward in range(20) for place in range(24)]


def with_singles(n):
    """Return pairs with the same illness, each with two single people in a class, and their labels."""
    rows = [
        (f"{part}{ward}", ill) for ward in range(n) for part, ill in (("a", "x"), ("a", "x"), ("b", "y"), ("c", "z"))
    ]
    return rows, {f"{part}{ward}": f"{{a{ward}|b{ward}|c{ward}}}" for ward in range(n) for part in "abc"}


def test_groups_that_are_joined_without_need_make_the_attacker_doubt():
    rows, labels = with_singles(1)
    joined = {f"w{ward}": f"{{w{ward // 2 * 2}|w{ward // 2 * 2 + 1}}}" for ward in range(20)}

    assert attacked(rows + FAR, labels, FREQUENCY).worst == 1.0  # of all others none was joined
    assert attacked(rows + FAR, labels | joined, FREQUENCY).worst < 0.7


@pytest.mark.parametrize(("limit", "value"), [("WORK", 200 * 30), ("DEALT", 3_000)])
def test_many_groups_are_looked_at_in_part(monkeypatch, limit, value):
    rows, labels = with_singles(40)
    whole = attacked(rows + FAR, labels, FREQUENCY)
    monkeypatch.setattr(minimality, limit, value)
    part = attacked(rows + FAR, labels, FREQUENCY)

    assert part.facts["joined_looked_at"] < whole.facts["joined_people"] == 80
    assert part.exposed == whole.exposed == 80


def test_it_runs_by_itself_where_the_original_is_at_hand_and_says_so_where_not():
    original, release = tables(HIV, {"q1": "*", "q2": "*"}, FREQUENCY)
    [found] = [each for each in attack_all(release, original, on_demand=False) if each.attack == "minimality"]

    assert (found.before.exposed, found.after.exposed, found.control.exposed) == (0, 2, 0)
    assert any("minimality was not tried" in note for each in attack_all(release) for note in each.notes)
    assert not list(Minimality.suited_to(replace(release, description={}), Asked(original=original)))


def test_every_model_of_the_values_of_a_class_names_this_limit():
    assert all("no class of their own probably share" in model.limit for model in MODELS)
