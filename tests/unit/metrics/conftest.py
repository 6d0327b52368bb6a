"""Random tables and true releases of them, with what each label means written down in plain sets."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from types import SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from sfumato.data.builders import NestedHierarchy
from sfumato.data.encoding import encode
from sfumato.data.labels import set_label
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema

AGES = ["20", "21", "25", "30", "40.5", "60"]
JOBS = {"health": ["nurse", "doctor"], "food": {"kitchen": ["cook", "baker"], "farm": ["farmer", "fisher"]}}
COLOURS = ["blue", "green|grey", "red"]
SIZES = ["S", "M", "L, long", "XL"]
ILLNESSES = ["asthma", "flu", "ulcer"]
TERMS = ["cough", "fever", "rash", "tired"]
MISSING = ""  # as text in both tables

SCHEMA = Schema(
    {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMBER),
        "job": ColumnSpec(name="job", role=Role.QUASI_IDENTIFIER, hierarchy=NestedHierarchy(JOBS)),
        "colour": ColumnSpec(name="colour", role=Role.QUASI_IDENTIFIER),
        "size": ColumnSpec(name="size", role=Role.QUASI_IDENTIFIER, kind=Kind.ORDERED, domain=tuple(SIZES)),
        "illness": ColumnSpec(name="illness", role=Role.SENSITIVE),
        "terms": ColumnSpec(name="terms", role=Role.QUASI_SENSITIVE, kind=Kind.SET),
    }
)
QIS = ["age", "job", "colour", "size"]


def all_meanings():
    """For each quasi-identifier: label -> the set of values of its domain that the label may stand for."""
    ages = {age: {age} for age in AGES}
    for low, high in combinations(AGES, 2):
        ages[f"[{low}, {high}]"] = {age for age in AGES if float(low) <= float(age) <= float(high)}
        ages[f"[{low}, {high})"] = {age for age in AGES if float(low) <= float(age) < float(high)}
        ages[f"{{{low}|{high}|}}"] = {low, high, MISSING}
    jobs = {job: {job} for job in ["nurse", "doctor", "cook", "baker", "farmer", "fisher"]}
    jobs |= {
        "health": {"nurse", "doctor"},
        "kitchen": {"cook", "baker"},
        "farm": {"farmer", "fisher"},
        "food": {"cook", "baker", "farmer", "fisher"},
    }
    colours = {colour: {colour} for colour in COLOURS}
    colours |= {set_label(pair, 3): set(pair) for pair in combinations(COLOURS, 2)}
    sizes = {size: {size} for size in SIZES}
    for (i, low), (j, high) in combinations(enumerate(SIZES), 2):
        sizes[f"[{low}, {high}]"] = set(SIZES[i : j + 1])
        sizes[f"[{low}, {high})"] = set(SIZES[i:j])
    meanings = {"age": ages, "job": jobs, "colour": colours, "size": sizes}
    for name, labels in meanings.items():
        domain = set().union(*labels.values()) | {MISSING}
        labels["*"] = domain
        labels[MISSING] = {MISSING}
        assert domain, name
    return meanings


MEANINGS = all_meanings()


def table(rows):
    """Rows are dictionaries of text, the terms a set."""
    columns = {name: pa.array([row[name] for row in rows], pa.string()) for name in (*QIS, "illness")}
    terms = pa.array([sorted(row["terms"]) for row in rows], pa.list_(pa.string()))
    return pa.table(columns | {"terms": terms})


@dataclass
class Example:
    before: list[dict]
    after: list[dict]

    def __post_init__(self):
        self.dataset = encode(table(self.before), SCHEMA)
        self.release = Release.from_table(table(self.after), SCHEMA)

    def values(self, name):
        return {row[name] for row in self.before}

    def covered(self, name, label):
        """The occurring values that a label may stand for."""
        return MEANINGS[name][label] & self.values(name)

    def domain(self, name):
        """All values that a recipient knows of: leaves, declared values, or those that occur or are named.

        Of numbers all between the smallest and the largest one, in steps of one, or of a tenth where one has decimals.
        """
        occurring = self.values(name) - {MISSING}
        missing = {MISSING} & self.values(name)
        if name == "age":
            numbers = [Decimal(age) for age in occurring]
            step = Decimal(1) if all(number == int(number) for number in numbers) else Decimal("0.1")
            places = range(int((max(numbers) - min(numbers)) / step) + 1) if numbers else ()
            return {min(numbers) + place * step for place in places} | missing
        if name == "colour":
            named = set().union(*(MEANINGS[name][row[name]] for row in self.after if row[name] not in ("*", MISSING)))
            return occurring | (named - {MISSING}) | missing
        return MEANINGS[name]["*"] - {MISSING} | missing

    def open(self, name, label):
        """The values of the domain that a label leaves open."""
        domain = self.domain(name)
        if label == "*" or (label == MISSING and MISSING not in domain):
            return domain
        if name != "age":
            return MEANINGS[name][label] & domain
        numbers = sorted(domain - {MISSING})
        if label.startswith("["):
            low, high = (Decimal(end.strip()) for end in label[1:-1].split(","))
            return {number for number in numbers if low <= number <= high and (number < high or label[-1] == "]")}
        named = {Decimal(age) for age in MEANINGS[name][label] - {MISSING}} if numbers else set()
        nearest = {min(numbers, key=lambda number: abs(number - age)) for age in named}
        return nearest | ({MISSING} & MEANINGS[name][label] & domain)

    def classes(self, rows):
        return Counter(tuple(row[name] for name in QIS) for row in rows)

    @property
    def n_dropped(self):
        return len(self.before) - len(self.after)


@st.composite
def examples(draw, most_rows=12, changed=True):
    """An original and a true release of it: labels that cover the values, terms left out, rows dropped and mixed."""
    domain = {name: sorted(labels["*"]) for name, labels in MEANINGS.items()}
    row = st.fixed_dictionaries(
        {
            **{name: st.sampled_from(domain[name]) for name in QIS},
            "illness": st.sampled_from(ILLNESSES),
            "terms": st.frozensets(st.sampled_from(TERMS)),
        }
    )
    before = draw(st.lists(row, max_size=most_rows))
    after = []
    for original in before:
        published = dict(original)
        if changed:
            for name in QIS:
                fitting = [label for label, means in MEANINGS[name].items() if original[name] in means]
                published[name] = draw(st.sampled_from(fitting))
            published["terms"] = (
                draw(st.frozensets(st.sampled_from(sorted(original["terms"])))) if original["terms"] else frozenset()
            )
        after.append(published)
    if changed:
        keep = draw(st.lists(st.booleans(), min_size=len(after), max_size=len(after)))
        after = draw(st.permutations([published for published, kept in zip(after, keep, strict=True) if kept]))
    return Example(before, list(after))


class Tables(SimpleNamespace):
    def __repr__(self):
        return "tables"


@pytest.fixture(scope="session")
def tables():
    return Tables(Example=Example, examples=examples, table=table, SCHEMA=SCHEMA, QIS=QIS, ILLNESSES=ILLNESSES)


def make_pair(before, after, roles=None, specs=None, missing=("",)):
    """Return plain columns as a dataset and a release; a column is a quasi-identifier unless `roles` says otherwise."""
    roles, specs = roles or {}, specs or {}
    schema = Schema(
        {
            name: specs.get(name) or ColumnSpec(name=name, role=Role(roles.get(name, "quasi-identifier")))
            for name in before
        },
        missing=missing,
    )
    return encode(pa.table(before), schema), Release.from_table(pa.table(after), schema)


@pytest.fixture(scope="session")
def pair_of():
    return make_pair


@pytest.fixture
def baskets():
    return [set(random.Random(row).choices("abcde", k=3)) for row in range(50)]
