"""What is believed of masked values, against every leaf of every group spelled out in fractions."""

import random
from fractions import Fraction

import numpy as np
import pytest

from sfumato.data.base_rates import BaseRates
from sfumato.models.judging.posteriors import READINGS, Domain, Secrets, judge


def groups_over(leaves, chance):
    """Return nested groups of leaves as (first, last, number of the group around it), the root first."""
    groups = [(0, leaves - 1, -1)]
    for number, (first, last, _) in enumerate(groups):
        while first <= last:
            end = min(last, first + chance.randint(0, 3))
            if end > first and (first, end) != groups[number][:2] and chance.random() < 0.7:
                groups.append((first, end, number))
            first = end + 1
    return groups


def domain_with(values, groups, weights, missing, counted):
    leaves = values + bool(missing)
    inner = len(groups)
    label_of = [leaves + inner - 1 - number for number in range(inner)]  # parents after children
    around = [
        label_of[max(g for g, (low, high, _) in enumerate(groups) if low <= leaf <= high)] for leaf in range(values)
    ]
    first, last, above = list(range(leaves)), list(range(leaves)), [*around, *([label_of[0]] if missing else [])]
    for low, high, outer in reversed(groups):
        first.append(low)
        last.append(high if outer >= 0 else leaves - 1)
        above.append(label_of[outer] if outer >= 0 else -1)
    return Domain(
        names=(*(f"v{leaf}" for leaf in range(values)), *([None] if missing else []), *(f"g{n}" for n in range(inner))),
        first=np.array(first),
        last=np.array(last),
        above=np.array(above),
        rates=BaseRates(weight={f"v{leaf}": w for leaf, w in enumerate(weights)}, missing=missing, counted=counted),
        n_leaves=leaves,
    )


def slow_judge(secrets, alpha, reading, knowing_others, missing_is_sensitive):
    """Return how many groups there are and how many fail, the worst chance reported, and the highest at all."""
    groups = failing = 0
    kept, broken, highest = [Fraction(0)], [], Fraction(0)
    for i, domain in enumerate(secrets.domains):
        weight, leaves = domain.weight, range(domain.n_leaves)
        total = {"prior": sum(weight), "uniform": domain.n_leaves, "true": None}[reading]
        own = {"prior": weight, "uniform": [1] * domain.n_leaves, "true": None}[reading]
        members = {}
        for row, found in enumerate(secrets.class_of.tolist()):
            others = [labels[row] for j, labels in enumerate(secrets.labels) if knowing_others and j != i]
            members.setdefault((found, *others), []).append(secrets.labels[i][row])
        groups += len(members)
        labels_of_all = secrets.labels[i].tolist()
        hidden = [weight[leaf] - labels_of_all.count(leaf) for leaf in leaves]
        if not domain.rates.counted or domain.rates.total != len(labels_of_all) or min(hidden) < 0:
            hidden = [len(labels_of_all)] * domain.n_leaves
        for labels in members.values():
            fails = False
            for leaf in leaves:
                over = [label for label in labels if domain.first[label] <= leaf <= domain.last[label]]
                if reading == "true":
                    shown = over.count(leaf)
                    chance = Fraction(shown + min(len(over) - shown, hidden[leaf]), len(labels))
                else:
                    below = {label: sum(own[domain.first[label] : domain.last[label] + 1]) for label in over}
                    chance = sum((Fraction(own[leaf], below[label]) for label in over), Fraction(0)) / len(labels)
                bound = alpha if reading == "true" else max(alpha, Fraction(own[leaf], total))
                if domain.names[leaf] is None and not missing_is_sensitive:
                    bound = Fraction(1)
                highest = max(highest, chance)
                if chance > bound:
                    fails = True
                    broken.append(chance)
                elif chance > (bound if bound > alpha else 0):
                    kept.append(chance)
            failing += fails
    return groups, failing, max(broken or kept), highest


@pytest.mark.slow
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("knowing_others", [False, True])
def test_leaves_that_others_stand_for_change_no_verdict(reading, knowing_others):
    chance = random.Random(f"{reading} {knowing_others}")
    for _ in range(150):
        values, rows = chance.randint(2, 12), chance.randint(1, 14)
        missing = chance.choice([0, 0, 1, 3])
        groups = groups_over(values, chance)
        weights = [chance.choice([1, 1, 1, 2, 5, 9]) for _ in range(values)]
        domain = domain_with(values, groups, weights, missing, counted=chance.random() < 0.5)
        labels = tuple(np.array([chance.randrange(len(domain.names)) for _ in range(rows)]) for _ in range(2))
        class_of = np.array([chance.randrange(3) for _ in range(rows)], dtype=np.int32)
        secrets = Secrets(class_of, ("a", "b"), (domain, domain), labels)
        alpha = Fraction(chance.choice(["1/10", "1/4", "1/3", "1/2", "2/3"]))
        sensitive = chance.random() < 0.5

        found = judge(secrets, alpha, reading, knowing_others=knowing_others, missing_is_sensitive=sensitive)

        n_groups, failing, worst, highest = slow_judge(secrets, alpha, reading, knowing_others, sensitive)
        assert (found.groups, found.failing) == (n_groups, failing)
        assert found.worst == pytest.approx(float(worst))
        assert found.highest == pytest.approx(float(highest))
