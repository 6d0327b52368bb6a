"""Every privacy model as its page in docs/concepts states it: slow, exact, and written for these checks alone.

A judge takes a case, what is published (a list of cells for each column) and a requirement, as the plan writes it. It
returns whether the requirement holds, None where rounding may decide.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, product

from fuzzing.columns import ROOT, Column
from fuzzing.covering import covers, leaves_of, value_of

SLACK = Fraction(1, 10**9)  # by which a distance that needs a root may be off


def judge(case, shown, required, description):
    """Return whether a requirement holds."""
    return JUDGES[required["model"]](case, shown, required, description)


def classes(case, shown, names=None):
    """Return the rows of each class: those that are published with equal quasi-identifiers."""
    names = names or [column.name for column in case.columns if column.role == "quasi-identifier"]
    found = defaultdict(list)
    for row in range(case.n):
        found[tuple(str(shown[name][row]) if shown[name][row] is not None else None for name in names)].append(row)
    return list(found.values())


def known_classes(case, shown, required):
    """Return the rows of each class of people of whom some sensitive values are known besides."""
    clues = [column.name for column in case.columns if column.role == "quasi-identifier"]
    return classes(case, shown, [*clues, *as_list(required.get("known", ()))])


def k_anonymity(case, shown, required, description):
    """Every class has at least k rows."""
    return min(map(len, classes(case, shown))) >= required["k"]


def l_diversity(case, shown, required, description):
    """The sensitive values of every class are spread well, in one of four ways."""
    column = case.column(required["sensitive"])
    l, kind = Fraction(str(required["l"])), required.get("kind", "distinct")
    for rows in known_classes(case, shown, required):
        counts = Counter(value_of(column, shown[column.name][row]) for row in rows)
        withheld = counts.pop(ROOT, 0)  # may be any value: read as the most frequent one
        r = sorted(counts.values(), reverse=True) or [0]
        r[0] += withheld
        if not spread(r, l, kind, required.get("c")):
            return False
    return True


def spread(r, l, kind, c):
    """Whether counts, the largest first, are as spread as a kind of l-diversity asks for."""
    n = sum(r)
    if kind == "distinct":
        return len(r) >= l
    if kind == "frequency":
        return r[0] * l <= n
    if kind == "recursive":
        return len(r) >= l and r[0] < Fraction(str(c)) * sum(r[int(l) - 1 :])
    # The entropy is at least log l: n^n / (r1^r1 ... rm^rm) is at least l^n.
    return n**n * l.denominator**n >= l.numerator**n * math.prod(count**count for count in r)


def t_closeness(case, shown, required, description):
    """The distribution of every class is within t of that of the whole release."""
    column = case.column(required["sensitive"])
    cells = [value_of(column, cell) for cell in shown[column.name]]
    whole = shares(cells)
    t = Fraction(str(required["t"]))
    return all(
        earth_movers(column, shares([cells[row] for row in rows]), whole, required.get("distance", "equal")) <= t
        for rows in known_classes(case, shown, required)
    )


def beta_likeness(case, shown, required, description):
    """No class makes a value much likelier than the whole release does."""
    beta = Fraction(str(required["beta"]))
    for q, p in shares_in_classes(case, shown, required["sensitive"]):
        gain = (q - p) / p
        if gain > beta or (required.get("kind") == "enhanced" and above_logarithm(gain, 1 / p)):
            return False
    return True


def delta_disclosure(case, shown, required, description):
    """No class moves the logarithm of a share by delta or more; a value that a class lacks is moved without bound."""
    delta = Fraction(str(required["delta"]))
    return all(
        q > 0 and above_logarithm(delta, max(q / p, p / q))
        for q, p in shares_in_classes(case, shown, required["sensitive"])
    )


def shares_in_classes(case, shown, name):
    """Yield the share of each value in each class, and in the whole release."""
    cells = [value_of(case.column(name), cell) for cell in shown[name]]
    whole = shares(cells)
    for rows in classes(case, shown):
        here = shares([cells[row] for row in rows])
        yield from ((here.get(value, Fraction(0)), p) for value, p in whole.items())


def above_logarithm(number, ratio):
    """Whether a fraction is above the natural logarithm of another; they are equal at 0 and 1 only."""
    with localcontext() as context:
        context.prec = 60
        logarithm = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        return Decimal(number.numerator) / Decimal(number.denominator) > logarithm


def shares(values):
    """Return how common each value is."""
    return {value: Fraction(count, len(values)) for value, count in Counter(values).items()}


def earth_movers(column, one, other, distance):
    """Return the least work that turns one distribution over a column's values into the other."""
    gap = {value: one.get(value, Fraction(0)) - other.get(value, Fraction(0)) for value in {*one, *other}}
    if distance == "equal":
        return sum(abs(difference) for difference in gap.values()) / 2
    if distance == "ordered":
        line = in_order(column, gap)
        moved, work = Fraction(0), Fraction(0)
        for value in line[:-1]:
            moved += gap.get(value, 0)
            work += abs(moved)
        return work / max(len(line) - 1, 1)
    return hierarchical(column, gap)


def in_order(column, gap):
    """Return all values of a column in order: declared ones, or those that occur; missing comes last."""
    known = [value for value in gap if value is not None]
    if column.domain is not None:
        known = [value_of(column, value) for value in column.domain]
    elif column.paths is not None and column.kind != "number":
        known = [value for value in column.paths if value in gap]
    line = sorted(set(known)) if column.kind in ("number", "date") else known
    return [*line, None] if None in gap else line


def hierarchical(column, gap):
    """Return the work when a way costs the level of the lowest common group, over the level of the root."""
    paths = column.paths or {value: () for value in gap if value is not None}
    level, below = Counter(), defaultdict(set)
    for value, groups in paths.items():
        for place, group in enumerate((*groups, ROOT)):
            level[group] = max(level[group], place + 1)
            below[group].add(value)
    level[ROOT] = max(level[ROOT], 1)
    work, above = Fraction(0), {}
    for value, groups in [*paths.items(), *([(None, ())] if None in gap else [])]:
        chain = [group for group in groups if below[group] != below[ROOT]]  # what holds everything is the root
        above[value] = (*chain, ROOT)
    # From the lowest groups up: what meets in a group with a surplus and a lack is settled there.
    rest = {value: gap.get(value, Fraction(0)) for value in above}
    for group in sorted({group for groups in above.values() for group in groups}, key=lambda each: level[each]):
        inside = [value for value, groups in above.items() if group in groups]
        surplus = sum((rest[value] for value in inside if rest[value] > 0), Fraction(0))
        lack = -sum((rest[value] for value in inside if rest[value] < 0), Fraction(0))
        settled = min(surplus, lack)
        work += settled * Fraction(level[group], level[ROOT])
        for value in inside:
            side = surplus if rest[value] > 0 else lack
            if rest[value]:
                rest[value] -= rest[value] * settled / side
    return work


def alpha_diversity(case, shown, required, description):
    """In every class, each value is at most as likely as alpha, or than it is anyway."""
    names = as_list(required["sensitive"])
    alpha = Fraction(str(required["alpha"]))
    sizes = min(map(len, classes(case, shown))) >= (required.get("k") or math.ceil(1 / alpha))
    return sizes and all(bounded(case, shown, name, alpha, required, ()) for name in names)


def multi_diversity(case, shown, required, description):
    """The same in classes of people who also show equal labels in all other sensitive columns."""
    names = as_list(required["sensitive"])
    alpha = Fraction(str(required["alpha_sa"]))
    in_class = Fraction(str(required.get("alpha_qi") or required["alpha_sa"]))
    sizes = min(map(len, classes(case, shown))) >= (required.get("k") or math.ceil(1 / in_class))
    return sizes and all(
        bounded(case, shown, name, in_class, required, ())
        and bounded(case, shown, name, alpha, required, [other for other in names if other != name])
        for name in names
    )


def as_list(names):
    """Return one name or several as a list."""
    return [names] if isinstance(names, str) else list(names)


def bounded(case, shown, name, alpha, required, others):
    """Whether no value of a column is too likely for who knows the class and the labels of other columns."""
    column, reading = case.column(name), required.get("reading", "prior")
    leaves = leaves_of(column)
    count = Counter(value_of(column, cell) for cell in column.cells)
    weight = {leaf: 1 if reading == "uniform" else count[value_of(column, leaf)] for leaf in leaves}
    total = sum(weight.values())
    seen = Counter(value_of(column, cell) for cell in shown[name])
    counted = all(seen[value_of(column, leaf)] <= count[value_of(column, leaf)] for leaf in leaves)
    keys = [each.name for each in case.columns if each.role == "quasi-identifier"]
    for rows in classes(case, shown, [*keys, *others]):
        labels = Counter(shown[name][row] for row in rows)
        for leaf in leaves:
            if leaf is None and not required.get("missing_is_sensitive", True):
                continue
            same = value_of(column, leaf)
            if reading == "true":
                visible = sum(times for label, times in labels.items() if value_of(column, label) == same)
                masked = sum(times for label, times in labels.items() if covers(column, label, leaf)) - visible
                hidden = count[same] - seen[same] if counted else masked  # no other rows can have the value
                chance = Fraction(visible + min(masked, hidden), len(rows))
                bound = alpha
            else:
                chance = sum(
                    Fraction(times * weight[leaf], sum(weight[each] for each in leaves if covers(column, label, each)))
                    for label, times in labels.items()
                    if covers(column, label, leaf) and weight[leaf]
                ) / len(rows)
                bound = max(alpha, Fraction(weight[leaf], total))
            if chance > bound:
                return False
    return True


def terms_of(case, shown, names):
    """Return the terms that each row shows in some columns, joined as column=value when there are several."""
    found = []
    for row in range(case.n):
        terms = set()
        for name in names:
            cell = shown[name][row]
            values = [] if cell is None else cell if isinstance(cell, list) else [cell]
            terms |= {value if len(names) == 1 else f"{name}={value}" for value in values}
        found.append(frozenset(terms))
    return found


def belief(case, records):
    """Return the mean belief in each label over records, None when nothing is explained, and how many are not."""
    labels = sorted({label for label, _ in case.knowledge})
    total, linked = dict.fromkeys(labels, Fraction(0)), 0
    for terms in records:
        believed = {label for label, known in case.explained if terms <= known}
        linked += bool(believed)
        for label in believed:
            total[label] += Fraction(1, len(believed))
    over = len(records) if case.unlinked == "zero" else linked
    means = {label: share / over for label, share in total.items()} if linked else None
    return means, len(records) - linked


def prior_of(case, names):
    """Return what was believed of each label before: given, or what the original tells."""
    if case.prior is not None:
        return case.prior
    means, _ = belief(case, terms_of(case, case.original, names))
    return means or {label: Fraction(0) for label, _ in case.knowledge}


def over_groups(case, shown, required, passes):
    """Judge the beliefs of every group of equal quasi-identifiers."""
    records = terms_of(case, shown, as_list(required["column"]))
    found = True
    for rows in classes(case, shown):
        means, unexplained = belief(case, [records[row] for row in rows])
        if case.unlinked == "forbid" and unexplained:
            return False
        held = True if means is None else passes(means)
        if held is False:
            return False
        found = None if held is None else found
    return found


def qs_diversity(case, shown, required, description):
    """The most likely label is at most c times as likely as the rare ones together."""

    def passes(means):
        p = sorted((share for share in means.values() if share), reverse=True)
        return len(p) >= required["l"] and p[0] <= Fraction(str(required["c"])) * sum(p[required["l"] - 1 :])

    return over_groups(case, shown, required, passes)


def qs_closeness(case, shown, required, description):
    """Beliefs are within a distance t of the prior: Euclidean, or over the hierarchy of labels."""
    prior, t = prior_of(case, as_list(required["column"])), Fraction(str(required["t"]))

    def passes(means):
        if required.get("distance") == "hierarchical":
            labels = Column("labels", "", "category", [], paths=case.groups)
            return hierarchical(labels, {label: means[label] - prior[label] for label in means}) <= t
        squared = sum((means[label] - prior[label]) ** 2 for label in means)
        if abs(squared - t**2) <= 4 * (t + SLACK) * SLACK + SLACK**2:
            return None
        return squared <= t**2

    return over_groups(case, shown, required, passes)


def rho_uncertainty(case, shown, required, description):
    """No set of known items makes a further sensitive one more likely than rho."""
    rho = Fraction(str(required["rho"]))
    records = [frozenset(cell or ()) for cell in shown[required["column"]]]
    if required.get("within") == "classes":
        once = {key: value for key, value in required.items() if key != "within"} | {"empty_antecedent": True}
        return all(
            rho_uncertainty(case, {required["column"]: [records[row] for row in rows]}, once, description)
            for rows in classes(case, shown)
        )
    support = Counter()
    for record in records:
        for size in range(len(record) + 1):
            support.update(map(frozenset, combinations(sorted(record), size)))
    secret = set(case.column(required["column"]).extra["sensitive_items"])
    for both, together in support.items():
        for item in both & secret:
            known = both - {item}
            if (known or required.get("empty_antecedent", False)) and together > rho * support[known]:
                return False
    return True


def small_sets(case, shown, required, known, most):
    """Yield the records of each set of known items that occurs in a class, or in the whole table.

    An attacker who knows the quasi-identifiers may know no item.
    """
    records = [frozenset(cell or ()) for cell in shown[required["column"]]]
    within = required.get("within", "classes") == "classes"
    least = 0 if within and any(column.role == "quasi-identifier" for column in case.columns) else 1
    for members in classes(case, shown) if within else [range(case.n)]:
        holders = {}
        for row in members:
            for size in range(least, most + 1):
                for items in combinations(sorted(item for item in records[row] if known(item)), size):
                    holders.setdefault(items, []).append(records[row])
        yield from holders.values()


def km_anonymity(case, shown, required, description):
    """Up to m items that occur together do so in k records."""
    found = small_sets(case, shown, required, lambda item: True, required["m"])
    return all(len(holders) >= required["k"] for holders in found)


def hkp_coherence(case, shown, required, description):
    """Up to p public items are in k records, of which few have the same sensitive one."""
    secret = set(case.column(required["column"]).extra["sensitive_items"])
    for holders in small_sets(case, shown, required, lambda item: item not in secret, required["p"]):
        most = max(Counter(item for record in holders for item in record & secret).values(), default=0)
        if len(holders) < required["k"] or most > Fraction(str(required["h"])) * len(holders):
            return False
    return True


def cells_of(shown, name, row):
    """Return the values that a randomized cell shows."""
    cell = shown[name][row]
    return tuple(cell) if isinstance(cell, list) else (cell,)


def qid_diversity(case, shown, required, description):
    """In the table of all combinations, classes that agree in all columns but one are spread as asked."""
    columns = [column.name for column in case.columns if column.role != "identifier"]
    for name, l in required["l"].items():
        stated = description["columns"][name]
        if l >= len(stated["domain"]):
            l = len(stated["domain"]) - (required.get("small_domain") == "lower")
        found = defaultdict(Counter)
        others = [each for each in columns if each != name]
        for row in range(case.n):
            cells = [
                cells_of(shown, each, row) if case.column(each).role == "sensitive-quasi-identifier"
                else (str(shown[each][row]),)
                for each in others
            ]  # fmt: skip
            for known in product(*cells):
                found[known].update(cells_of(shown, name, row))
        kind = required.get("kind", "frequency")
        if not all(spread(sorted(counts.values(), reverse=True), Fraction(l), kind, None) for counts in found.values()):
            return False
    return True


def public_prior(counts):
    """How common values are as far as it is public: each begun step of sqrt(n) rows counts one."""
    step = max(10, math.isqrt(sum(counts)))
    weights = [Fraction(count // step + 1) for count in counts]
    return [weight / sum(weights) for weight in weights]


def qid_closeness(case, shown, required, description):
    """No set that may be drawn moves the belief about a cell farther than t from the prior."""
    for name, t in required["t"].items():
        stated = description["columns"][name]
        domain, eta, p = stated["domain"], stated.get("eta", 1), Fraction(str(stated["p"]))
        drawn = [Fraction(str(share)) for share in stated.get("shares", ())]
        column = case.column(name)
        count = Counter("" if cell is None else cell for cell in column.cells)
        table = public_prior([count[value] for value in domain])
        priors = [table] if required.get("prior", "table") == "table" else [table, *corners(len(domain))]
        t, distance = Fraction(str(t)), required.get("distance", "equal")
        for some in combinations(range(len(domain)), eta):
            for prior in priors:
                after = replaced(prior, some[0], drawn, p) if drawn else posterior(prior, some, len(domain), eta, p)
                one = dict(zip(domain, after, strict=True))
                if earth_movers(column, one, dict(zip(domain, prior, strict=True)), distance) > t:
                    return False
    return True


def local_differential_privacy(case, shown, required, description):
    """No set that may be drawn is more than e^epsilon times as likely for one value as for another."""
    for name, epsilon in required["epsilon"].items():
        stated = description["columns"][name]
        d, eta, p = len(stated["domain"]), stated["eta"], Fraction(str(stated["p"]))
        chances = [p / math.comb(d - 1, eta - 1) * inside + (1 - p) / math.comb(d, eta) for inside in (0, 1)]
        if eta < d and chances[1] > Fraction(math.exp(float(Fraction(str(epsilon))))) * chances[0]:
            return False
    return True


def posterior(prior, some, d, eta, p):
    """Return the belief in each value after a set was seen, by the chance that it is drawn for each value."""
    within, anyway = p / math.comb(d - 1, eta - 1), (1 - p) / math.comb(d, eta)
    joint = [belief * (within * (value in some) + anyway) for value, belief in enumerate(prior)]
    return [share / sum(joint) for share in joint] if sum(joint) else list(prior)


def replaced(prior, shown, drawn, p):
    """Return the belief in each value after one was seen that is the true one, or drawn by shares."""
    joint = [belief * (p * (value == shown) + (1 - p) * drawn[shown]) for value, belief in enumerate(prior)]
    return [share / sum(joint) for share in joint] if sum(joint) else list(prior)


def corners(d):
    """Yield priors that sets move far: all on two values, in several proportions."""
    for one, other in combinations(range(d), 2):
        for share in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)):
            prior = [Fraction(0)] * d
            prior[one], prior[other] = share, 1 - share
            yield prior


JUDGES = {
    "k-anonymity": k_anonymity,
    "l-diversity": l_diversity,
    "t-closeness": t_closeness,
    "beta-likeness": beta_likeness,
    "delta-disclosure": delta_disclosure,
    "alpha-diversity": alpha_diversity,
    "multi-diversity": multi_diversity,
    "qs-diversity": qs_diversity,
    "qs-closeness": qs_closeness,
    "rho-uncertainty": rho_uncertainty,
    "km-anonymity": km_anonymity,
    "hkp-coherence": hkp_coherence,
    "sensitive-qid-diversity": qid_diversity,
    "sensitive-qid-closeness": qid_closeness,
    "local-differential-privacy": local_differential_privacy,
}
