"""Random plans: requirements of all families and their combinations, over columns made for them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from fractions import Fraction

import pyarrow as pa

from fuzzing.columns import (
    WORDS,
    Column,
    category_column,
    nested,
    number_column,
    ordered_column,
    set_column,
    single_values,
)

FAMILIES = ("classes", "masks", "terms", "items", "cells")
KNOWLEDGE = "knowledge.csv"


@dataclass
class Case:
    """A table and a plan, and what is public besides."""

    number: str
    families: tuple[str, ...]
    n: int
    shuffle: bool = False
    in_files: str | None = None  # the format of a run from file to file, beside the one in memory
    columns: list = field(default_factory=list)
    require: list = field(default_factory=list)
    options: dict = field(default_factory=dict)  # by anonymizer
    knowledge: list = field(default_factory=list)  # label, terms
    prior: dict | None = None  # label -> share, when it is given
    unlinked: str = "linked"
    groups: dict | None = None  # label -> groups above it, the lowest first, where labels have a hierarchy

    def column(self, name):
        """Return a column by its name."""
        return next(column for column in self.columns if column.name == name)

    @property
    def original(self):
        """The original cells of each column."""
        return {column.name: column.cells for column in self.columns}

    def document(self):
        """Return the plan as a dictionary."""
        found = {
            "columns": {column.name: column.document() for column in self.columns},
            "require": self.require,
            "anonymizers": self.options,
            "release": {"shuffle": self.shuffle},
        }
        if self.knowledge:
            found["knowledge"] = {
                "path": KNOWLEDGE, "label": "label", "terms": "terms", "separator": "|", "unlinked": self.unlinked,
                "prior": "data" if self.prior is None else "weight",
            }  # fmt: skip
        return found

    def public_table(self):
        """Return the text of the knowledge table."""
        rows = "".join(
            f"{label},{'|'.join(sorted(terms))},{float(self.prior[label]) if self.prior else 0}\n"
            for label, terms in self.knowledge
        )
        return f"label,terms,weight\n{rows}"

    @property
    def explained(self):
        """The rows of the knowledge table; where each has one term, all of a label are one row."""
        if any(len(terms) > 1 for _, terms in self.knowledge):
            return self.knowledge
        labels = {label for label, _ in self.knowledge}
        return [
            (label, frozenset().union(*(terms for other, terms in self.knowledge if other == label)))
            for label in labels
        ]

    def draws(self, required):
        """Return the columns of a requirement on randomized cells, none of any other."""
        return [name for key in ("l", "t", "epsilon") if isinstance(required.get(key), dict) for name in required[key]]

    def table(self):
        """Return the original as somebody might hand it over."""
        rng = random.Random(self.number)
        return pa.table({column.name: column.arrow(rng) for column in self.columns})


def make(number, families=FAMILIES):
    """Return the case of a number: the same one, whenever and wherever."""
    rng = random.Random(number)
    some = tuple(sorted(rng.sample(families, min(len(families), rng.choice([1, 1, 1, 2, 2, 3]))), key=FAMILIES.index))
    n = rng.choice([*range(1, 7), *range(2, 7), 10, 20, 40, 90])
    case = Case(number, some, n, rng.random() < 0.2, rng.choice([None, None, None, None, "csv", "parquet"]))
    labelled = "masks" in some or rng.random() < 0.5
    if set(some) & {"classes", "masks", "terms"} or rng.random() < 0.3:
        for at in range(rng.choice([1, 1, 2, 3])):
            tree = True if labelled else None
            case.columns.append(single_values(rng, f"q{at}", n, "quasi-identifier", tree=tree))
    for family in some:
        MAKERS[family](rng, case)
    if case.shuffle:
        case.columns.append(Column("row", "other", "number", [str(row) for row in range(n)]))
    rng.shuffle(case.columns)
    return case


def fraction(rng, *values):
    """Return one of some fractions, as a number or as text."""
    value = rng.choice(values)
    return value if isinstance(value, str) or rng.random() < 0.6 else str(value)


def add_classes(rng, case):
    """Ask for what judges classes, of one or two columns."""
    some = [single_values(rng, f"s{at}", case.n, "sensitive") for at in range(rng.choice([1, 1, 2]))]
    case.columns += some
    asked = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        column, kind = rng.choice(some), rng.choice(["k", "l", "t", "beta", "delta"])
        if kind == "k":
            asked.append({"model": "k-anonymity", "k": rng.choice([1, 2, 2, 3, 5])})
        elif kind == "beta":
            beta, which = fraction(rng, 0.25, "1/3", 1, 2, 5), rng.choice(["basic", "enhanced"])
            asked.append({"model": "beta-likeness", "sensitive": column.name, "beta": beta, "kind": which})
        elif kind == "delta":
            delta = fraction(rng, 0.1, "1/3", 0.7, 1, 2)
            asked.append({"model": "delta-disclosure", "sensitive": column.name, "delta": delta})
        elif kind == "l":
            asked.append({"model": "l-diversity", "sensitive": column.name, **variety(rng)})
        else:
            distances = ["equal"]
            if column.kind in ("number", "ordered") or column.paths is not None:
                distances.append("ordered")
            if column.paths is not None or column.hierarchy == {"flat": True}:
                distances.append("hierarchical")
            t = fraction(rng, 0, 0.1, 0.25, "1/3", 0.5, "1e-19", 1)
            asked.append({"model": "t-closeness", "sensitive": column.name, "t": t, "distance": rng.choice(distances)})
    name = rng.choice([None, "mondrian", "local-recoding"])
    if name == "local-recoding" and any(
        column.hierarchy is None for column in case.columns if column.role == "quasi-identifier"
    ):
        name = None
    if name is not None:
        asked[0]["anonymizer"] = name
    case.require += asked
    case.options["mondrian"] = {
        "strict": rng.random() < 0.6, "categories": rng.choice(["hierarchy", "order"]),
        "value_sets": rng.random() < 0.3, "cut": rng.choice(["loss", "loss", "width"]), "lookahead": rng.choice([1, 8]),
    }  # fmt: skip
    case.options["local-recoding"] = {
        "mode": rng.choice(["fast", "capped", "std", "thorough"]), "keep_equal_together": rng.random() < 0.3,
    }  # fmt: skip


def variety(rng):
    """Return what l-diversity asks for, in one of its kinds."""
    kind = rng.choice(["distinct", "entropy", "recursive", "frequency"])
    if kind in ("distinct", "recursive"):
        c = {"c": fraction(rng, 0.5, 1, "4/3", 2, 3)} if kind == "recursive" else {}
        return {"kind": kind, "l": rng.choice([2, 2, 3, 4]), **c}
    return {"kind": kind, "l": fraction(rng, 1.5, "4/3", 2, 2.1, 3)}


def add_masks(rng, case):
    """Ask for alpha- or multi-diversity of columns that are masked."""
    some = []
    for at in range(rng.choice([1, 2, 2, 3])):
        make = rng.choice([category_column, category_column, number_column])
        some.append(make(rng, f"m{at}", case.n, "sensitive", tree=True))
    case.columns += some
    names = [column.name for column in some]
    shared = {
        "reading": rng.choice(["prior", "prior", "uniform", "true"]),
        "missing_is_sensitive": rng.random() < 0.7,
        **({"k": rng.choice([1, 2, 3])} if rng.random() < 0.4 else {}),
    }
    alpha = fraction(rng, 0.2, "1/3", 0.5, 0.6, 0.75, "0.9")
    if rng.random() < 0.4:
        case.require.append(
            {"model": "alpha-diversity", "sensitive": rng.choice([names, names[0]]), "alpha": alpha, **shared}
        )
    else:
        inner = {"alpha_qi": fraction(rng, 0.3, 0.5, 0.75)} if rng.random() < 0.4 else {}
        case.require.append({"model": "multi-diversity", "sensitive": names, "alpha_sa": alpha, **inner, **shared})
    search = rng.choice(["best", "best", "fast", "paper"])
    case.options["masking"] = {
        "search": search, "weight": rng.choice([0.1, 1, 5]), "local_suppression": rng.random() < 0.2,
        "avoid_vacuous": search != "paper" and rng.random() < 0.3,
    }  # fmt: skip
    if rng.random() < 0.3:
        case.require.append({"model": "k-anonymity", "k": rng.choice([2, 3])})


def add_terms(rng, case):
    """Ask for qs-diversity or qs-closeness of one set column, or of two columns that are read together."""
    words = rng.sample(["cough", "fever", "rash", "ache", "chill"], rng.choice([2, 3, 5]))
    case.columns.append(set_column(rng, "terms", case.n, "quasi-sensitive", words, rng.choice([1, 3, 4])))
    names, known = ["terms"], words
    if rng.random() < 0.3:
        blood = category_column(rng, "blood", case.n, "quasi-sensitive", tree=False)
        case.columns.append(blood)
        names = ["terms", "blood"]
        known = [*(f"terms={word}" for word in words), *(f"blood={word}" for word in WORDS if "," not in word)]
        known = [word for word in known if "|" not in word]
    labels = [f"ill{at}" for at in range(rng.choice([2, 3, 6]))]
    case.knowledge = [
        (label, frozenset(rng.sample(known, rng.randrange(1, min(len(known), 4) + 1))))
        for label in labels
        for _ in range(rng.choice([1, 1, 2]))
    ]
    case.unlinked = rng.choice(["linked", "linked", "zero", "forbid"])
    if rng.random() < 0.4:
        weights = [rng.choice([1, 1, 2, 4]) for _ in labels]
        shares = [round(weight / sum(weights), 3) for weight in weights]
        shares[-1] = round(1 - sum(shares[:-1]), 3)
        case.prior = {label: Fraction(str(share)) for label, share in zip(labels, shares, strict=True)}
    else:  # estimated from the data, in which some record must be explained
        case.column("terms").cells[0] = []
        if len(names) > 1:
            case.column("blood").cells[0] = None
    column = names if len(names) > 1 else names[0]
    asked = []
    if rng.random() < 0.5:
        l = rng.randrange(1, len(labels) + 1)
        c = rng.choice([value for value in (0.5, 1, 2, 3) if value * (len(labels) - l + 1) >= 1])
        asked.append({"model": "qs-diversity", "column": column, "l": l, "c": c})
    if not asked or rng.random() < 0.5:
        asked.append({"model": "qs-closeness", "column": column, "t": fraction(rng, 0.1, 0.25, 0.4, "1/2", 0.8)})
    named = {each.get("anonymizer") for each in case.require}
    if rng.random() < 0.15 and "masks" not in case.families and "local-recoding" not in named:
        for each in asked:
            each["anonymizer"] = "mondrian"
    elif case.n <= 6 and rng.random() < 0.2:
        case.options["term-suppression"] = {"search": rng.choice(["adaptive", "dfs"])}
    else:
        case.options["term-suppression"] = {"node_budget": rng.choice([400_000, 400_000, 0, 50])}
    case.require += asked
    if rng.random() < 0.6:
        maker = rng.choice([None, None, "mondrian", "local-recoding"])
        labelled = all(each.hierarchy is not None for each in case.columns if each.role == "quasi-identifier")
        named = {"anonymizer": maker} if maker == "mondrian" or (maker and labelled) else {}
        if {each.get("anonymizer") for each in case.require} & {"mondrian", "local-recoding"}:
            named = {}
        case.require.append({"model": "k-anonymity", "k": rng.choice([2, 2, 3]), **named})


def add_items(rng, case):
    """Ask for a model of items of a column of baskets."""
    goods = rng.sample(["beer", "bread", "condom", "fish", "milk", "pill", "wine"], rng.choice([2, 4, 7]))
    secret = rng.sample(goods, rng.randrange(1, len(goods)))
    column = set_column(rng, "basket", case.n, "items", goods, rng.choice([2, 4, 6]))
    needed = {secret[0], next(item for item in goods if item not in secret)}  # one of each kind must occur
    column.cells[0] = sorted({*column.cells[0], *needed})
    column.extra = {"sensitive_items": secret}
    case.columns.append(column)
    if rng.random() < 0.6:
        add_crowds(rng, case, column, goods, secret)
        return
    name = rng.choice([None, None, "partial-suppression", "global-suppression", "td-control", "drop-sensitive"])
    plain = [item for item in goods if item not in secret]
    if name == "td-control":
        column.hierarchy, column.paths = nested(rng, plain)
    rho = fraction(rng, 0.2, "1/3", 0.5, 0.7, "0.9")
    asked = {"model": "rho-uncertainty", "column": "basket", "rho": rho, "empty_antecedent": rng.random() < 0.3}
    classes = any(each.role == "quasi-identifier" for each in case.columns)
    if classes and name not in ("global-suppression", "td-control") and rng.random() < 0.5:
        asked["within"] = "classes"
    case.require.append(asked | ({"anonymizer": name} if name else {}))
    search = rng.choice(["best", "best", "best", "mine", "dist"])
    case.options["partial-suppression"] = {
        "search": search, "goal": rng.choice(["loss", "rules", "distribution"]) if search == "best" else "loss",
    } | ({"parts": rng.choice([1, 2, 3])} if search == "best" else {"restore": rng.random() < 0.5})  # fmt: skip


def add_crowds(rng, case, column, goods, secret):
    """Ask that few known items find many baskets; of a small table only little, else hardly any release is left."""
    k, m = (2, rng.choice([1, 1, 2])) if case.n < 10 else (rng.choice([2, 2, 3]), rng.choice([1, 2, 3]))
    asked = {"column": "basket", "k": k, "within": rng.choice(["classes", "table"])}
    if rng.random() < 0.5:
        asked |= {"model": "hkp-coherence", "h": fraction(rng, 0.5, "1/2", 0.8), "p": m}
        goods = [item for item in goods if item not in secret]
    else:
        maker = rng.choice([None, None, "apriori-anonymization"])
        asked |= {"model": "km-anonymity", "m": m} | ({"anonymizer": maker} if maker else {})
    if rng.random() < 0.6:
        column.hierarchy, column.paths = nested(rng, goods)
    case.require.append(asked)


def add_cells(rng, case):
    """Ask for diversity or closeness of columns whose cells are drawn by chance."""
    some, sizes = [], {}
    for at in range(rng.choice([1, 1, 2])):
        column = ordered_column(rng, f"c{at}", case.n, "sensitive-quasi-identifier", tree=False)
        column.kind = "category"
        if None in column.cells:
            column.cells = [cell or column.domain[0] for cell in column.cells]
        if rng.random() < 0.3:
            column.hierarchy, column.paths = nested(rng, column.domain)
            column.domain = list(column.paths or column.domain)
        some.append(column)
        sizes[column.name] = len(column.domain)
    case.columns += some
    if rng.random() < 0.6:
        l = {name: rng.randrange(2, max(d, 3)) for name, d in sizes.items()}
        small = rng.choice(["suppress", "lower"]) if any(l[name] >= d for name, d in sizes.items()) else "error"
        kind = rng.choice(["frequency", "entropy"])
        case.require.append({"model": "sensitive-qid-diversity", "l": l, "kind": kind, "small_domain": small})
    if not case.require or case.require[-1]["model"] != "sensitive-qid-diversity" or rng.random() < 0.4:
        distances = ["equal", "ordered"] + (["hierarchical"] if all(column.paths for column in some) else [])
        case.require.append(
            {
                "model": "sensitive-qid-closeness",
                "t": {name: fraction(rng, 0.1, 0.3, "1/2", 0.8) for name in sizes},
                "distance": rng.choice(distances),
                "prior": rng.choice(["table", "any"]),
            }
        )
    if rng.random() < 0.3:
        epsilon = {name: fraction(rng, 0.5, 1, "3/2", 4) for name in sizes}
        case.require.append({"model": "local-differential-privacy", "epsilon": epsilon})
    maker = "randomization"
    if {each["model"] for each in case.require if "anonymizer" not in each} == {"sensitive-qid-diversity"}:
        maker = rng.choice(["randomization", "rating"])
        case.require[-1]["anonymizer"] = maker
    elif not any(each["model"] in OTHER_CELLS or each.get("prior") == "any" for each in case.require):
        maker = rng.choice(["randomization", "pram"])
        case.require[-1]["anonymizer"] = maker
    case.options[maker] = {"dependence": "allow"}


OTHER_CELLS = ("sensitive-qid-diversity", "local-differential-privacy")  # which pram does not aim at
MAKERS = {"classes": add_classes, "masks": add_masks, "terms": add_terms, "items": add_items, "cells": add_cells}
