"""Small releases with a column for every role, and requirements of every model and kind to judge them by."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa

from sfumato.data.base_rates import BaseRates
from sfumato.data.builders import Given
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.knowledge import Knowledge, PublicInputs
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.models import (
    AlphaDiversity,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    HkpCoherence,
    KAnonymity,
    KmAnonymity,
    KMap,
    LDiversity,
    LocalDifferentialPrivacy,
    MultiDiversity,
    QSCloseness,
    QSDiversity,
    RhoUncertainty,
    SensitiveQidCloseness,
    SensitiveQidDiversity,
    TCloseness,
)

ILLNESSES = {
    "flu": ("flu", "airways", "*"),
    "cold": ("cold", "airways", "*"),
    "ulcer": ("ulcer", "stomach", "*"),
    "gastritis": ("gastritis", "stomach", "*"),
}
TREE = Given(Hierarchy.from_paths(list(ILLNESSES.values())))
JOBS = ("baker", "clerk", "lawyer", "nurse", "smith")
WORK = {job: (job, "by hand" if job in ("baker", "nurse", "smith") else "at a desk", "*") for job in JOBS}
JOB_TREE = Given(Hierarchy.from_paths(list(WORK.values())))
EXPLAINED = {
    "flu": ("cough", "fever"),
    "cold": ("cough",),
    "angina": ("fever", "sore throat"),
    "migraine": ("headache", "nausea"),
    "meningitis": ("fever", "headache", "nausea"),
}
PRIOR = {"flu": 0.3, "cold": 0.4, "angina": 0.1, "migraine": 0.15, "meningitis": 0.05}
KNOWLEDGE = Knowledge.from_rows(EXPLAINED.items(), weight=PRIOR)
ORGANS = {"airways": ["flu", "cold", "angina"], "head": ["migraine", "meningitis"]}
RELATED = replace(KNOWLEDGE, hierarchy=Hierarchy.from_nested(ORGANS))
SCHEMA = Schema(
    {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
        "town": ColumnSpec(name="town", role=Role.QUASI_IDENTIFIER),
        "illness": ColumnSpec(name="illness", role=Role.SENSITIVE, hierarchy=TREE),
        "father": ColumnSpec(name="father", role=Role.SENSITIVE, hierarchy=TREE),
        "pay": ColumnSpec(name="pay", role=Role.SENSITIVE, kind=Kind.NUMBER),
        "ward": ColumnSpec(name="ward", role=Role.SENSITIVE, hierarchy=TREE),
        "symptoms": ColumnSpec(name="symptoms", role=Role.QUASI_SENSITIVE, kind=Kind.SET),
        "basket": ColumnSpec(name="basket", role=Role.ITEMS, kind=Kind.SET, sensitive_items=("wine", "pills")),
        "job": ColumnSpec(
            name="job", role=Role.SENSITIVE_QUASI_IDENTIFIER, kind=Kind.SET, domain=JOBS, hierarchy=JOB_TREE
        ),
        "note": ColumnSpec(name="note", role=Role.OTHER),
    }
)
ETA = 2
# A row that harms nobody, as long as many others do not differ from it in one column alone.
PLAIN = {
    "age": "20-29",
    "town": "*",
    "illness": "flu",
    "father": "*",
    "pay": "1500",
    "ward": "flu",
    "symptoms": "",
    "basket": "bread",
    "job": "baker|clerk",
    "note": "n",
}


def release_of(rows, *, illnesses=None, fathers=None, jobs=None, p=1.0, knowledge=KNOWLEDGE, persons=None):
    """Return rows, each a dict of what differs from a plain one, as a release.

    Base rates of what is masked or randomized are counted in the originals where these are given, else all values are
    equally common. With `persons`, one number a row says whom it is about; then there are no columns of sets.
    """
    names = [name for name, spec in SCHEMA.columns.items() if persons is None or spec.kind is not Kind.SET]
    cells = {name: [{**PLAIN, **row}[name] for row in rows] for name in names}
    table = pa.table({name: pa.array(values, pa.string()) for name, values in cells.items()})
    described = {"columns": {"job": {"domain": list(JOBS), "eta": ETA, "p": p}}}
    known = {
        name: _counted(original) if original is not None else BaseRates(weight=dict.fromkeys(ILLNESSES, 1))
        for name, original in (("illness", illnesses), ("father", fathers))
    }
    if jobs is not None:
        known["job"] = _counted(jobs)
    public = PublicInputs(knowledge, base_rates=known, populations=people())
    person_of = None if persons is None else np.array(persons, dtype=np.int32)
    schema = replace(SCHEMA, columns={name: SCHEMA.columns[name] for name in names})
    return replace(Release.from_table(table, schema, described), public=public, person_of=person_of)


# Ages and towns of all people; everybody is from the north but those of no age.
PEOPLE = {
    "people.csv": {"20-29": 10, "30-39": 6, "40-49": 2},
    "crowd.csv": {"20-29": 40, "30-39": 30, None: 35},
}


@cache
def people():
    """Return the populations."""
    schema = Schema({name: SCHEMA.columns[name] for name in ("age", "town")})
    found = {}
    for name, counts in PEOPLE.items():
        ages = [age for age, count in counts.items() for _ in range(count)]
        table = pa.table({"age": ages, "town": ["north" if age else "south" for age in ages]})
        found[name] = encode(table, schema)
    return found


def _counted(values):
    counts = Counter(value for value in values if value is not None)
    return BaseRates(weight=dict(counts), missing=sum(value is None for value in values), counted=True)


BOTH = ("illness", "father")
REQUIREMENTS = (
    KAnonymity(k=2),
    KAnonymity(k=5),
    LDiversity(sensitive="illness", l=2),
    LDiversity(sensitive="illness", l="3/2", kind="entropy"),
    LDiversity(sensitive="illness", l=2, kind="recursive", c=2),
    LDiversity(sensitive="illness", l=2, kind="frequency"),
    TCloseness(sensitive="ward", t="0.4"),
    TCloseness(sensitive="ward", t="0.3", distance="hierarchical"),
    TCloseness(sensitive="pay", t="0.25", distance="ordered"),
    BetaLikeness(sensitive="ward", beta="0.5"),
    BetaLikeness(sensitive="ward", beta="1.2", kind="enhanced"),
    DeltaDisclosure(sensitive="ward", delta="0.6"),
    KMap(k=35, population="crowd.csv"),
    DeltaPresence(low="0.01", high="0.2", population="crowd.csv"),
    QSDiversity(column="symptoms", c=1, l=2),
    QSDiversity(column=("symptoms", "illness"), c=2, l=2),
    QSCloseness(column="symptoms", t="0.4"),
    AlphaDiversity(sensitive="illness", alpha="0.5", k=1),
    AlphaDiversity(sensitive=BOTH, alpha="0.5", k=2, reading="uniform"),
    AlphaDiversity(sensitive="illness", alpha="2/3", k=1, reading="true"),
    MultiDiversity(sensitive=BOTH, alpha_sa="0.6", k=1),
    MultiDiversity(sensitive=BOTH, alpha_sa="0.6", alpha_qi="0.5", k=2, reading="uniform"),
    MultiDiversity(sensitive=BOTH, alpha_sa="0.75", k=1, reading="true"),
    SensitiveQidDiversity(l={"job": 2}),
    SensitiveQidDiversity(l={"job": 3}, kind="entropy"),
    SensitiveQidCloseness(t={"job": "0.4"}),
    SensitiveQidCloseness(t={"job": "0.2"}, distance="ordered"),
    SensitiveQidCloseness(t={"job": "0.1"}, distance="hierarchical"),
    SensitiveQidCloseness(t={"job": "0.3"}, prior="any"),
    LocalDifferentialPrivacy(epsilon={"job": "1.1"}),
    RhoUncertainty(column="basket", rho="0.5"),
    RhoUncertainty(column="basket", rho="0.3", empty_antecedent=True),
    RhoUncertainty(column="basket", rho="0.4", within="classes"),
    KmAnonymity(column="basket", k=3, m=2),
    KmAnonymity(column="basket", k=2, m=1, within="table"),
    HkpCoherence(column="basket", h="0.5", k=2, p=2),
)
