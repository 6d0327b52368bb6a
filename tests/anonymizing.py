"""Small jobs for every anonymizer: one for each model that it aims at or also meets, on a table made for the family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.choosing import Step, steps
from sfumato.data.base_rates import BaseRates
from sfumato.data.builders import hierarchy_source
from sfumato.data.dataset import Dataset
from sfumato.data.encoding import encode
from sfumato.data.knowledge import Knowledge, PublicInputs
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.generators import hospital
from sfumato.generators.hospital import HOUSEHOLDS, PAYERS, SENSITIVE_DRUGS, THERAPIES, knowledge_rows
from sfumato.generators.patients import JOBS as OCCUPATIONS
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
from sfumato.models.base import Need, Policy, PrivacyModel
from sfumato.models.judging.beliefs import estimated_prior

ROWS = 160
K = KAnonymity(k=3)
QUASI_IDENTIFIERS = {"age": {"widths": [5, 10, 20, 40]}, "sex": {"flat": True}, "zip": {"prefix": 5}}
WARDS = {floor: [f"ward {4 * at + number}" for number in range(1, 5)] for at, floor in enumerate(("lower", "upper"))}
SENSITIVE = {"therapy": THERAPIES, "payer": PAYERS, "ward": WARDS}
ROLES = {
    "symptoms": Role.QUASI_SENSITIVE,
    "drugs": Role.ITEMS,
    "job": Role.SENSITIVE_QUASI_IDENTIFIER,
    "household": Role.SENSITIVE_QUASI_IDENTIFIER,
}
DOMAINS = {"job": tuple(job for group in OCCUPATIONS.values() for job in group), "household": HOUSEHOLDS}
KNOWLEDGE = Knowledge.from_rows([(name, terms.split("|")) for name, terms in knowledge_rows()])


@cache
def dataset_of(judged: frozenset[str]) -> Dataset:
    """Return a made-up hospital in which these columns have the role that models judge; the others are left out."""
    specs = {
        name: ColumnSpec(name=name, role=Role.QUASI_IDENTIFIER, hierarchy=hierarchy_source(given, "."))
        for name, given in QUASI_IDENTIFIERS.items()
    }
    for name in sorted(judged & SENSITIVE.keys()):
        tree = hierarchy_source({group: list(values) for group, values in SENSITIVE[name].items()}, ".")
        specs[name] = ColumnSpec(name=name, role=Role.SENSITIVE, hierarchy=tree)
    for name in sorted(judged & ROLES.keys()):
        single = name in DOMAINS
        specs[name] = ColumnSpec(
            name=name,
            role=ROLES[name],
            kind=Kind.CATEGORY if single else Kind.SET,
            domain=DOMAINS.get(name),
            sensitive_items=SENSITIVE_DRUGS if name == "drugs" else None,
        )
    return encode(hospital(ROWS).select(list(specs)), Schema(specs))


@cache
def people() -> Dataset:
    """Return the quasi-identifiers of a population that contains the hospital twice."""
    schema = dataset_of(frozenset()).schema
    return encode(pa.concat_tables([hospital(ROWS).select(list(QUASI_IDENTIFIERS))] * 2), schema)


@dataclass(frozen=True)
class Job:
    """Requirements, the anonymizer that meets the first of them, and options."""

    anonymizer: str
    models: tuple[PrivacyModel, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dataset(self) -> Dataset:
        """The table."""
        return dataset_of(frozenset(name for model in self.models for name in model.judged_columns))

    @property
    def public(self) -> PublicInputs:
        """What everybody knows."""
        rates = {
            name: BaseRates.of(self.dataset.column(name))
            for model in self.models
            if Need.BASE_RATES in model.needs
            for name in model.judged_columns
        }
        if any(Need.POPULATION in model.needs for model in self.models):
            return PublicInputs(populations={"people.csv": people()})
        if not any(Need.KNOWLEDGE in model.needs for model in self.models):
            return PublicInputs(base_rates=rates)
        return PublicInputs(KNOWLEDGE, estimated_prior(self.dataset.columns["symptoms"], KNOWLEDGE), rates)

    @property
    def steps(self) -> tuple[Step, ...]:
        """What is done, as for a plan that names the anonymizer for the first requirement."""
        made = ANONYMIZERS[self.anonymizer](**self.options)
        return steps(
            self.dataset.schema,
            Policy(self.models),
            chosen={0: self.anonymizer},
            options={self.anonymizer: made},
        )

    @property
    def met(self) -> tuple[PrivacyModel, ...]:
        """The requirements that the named anonymizer itself meets."""
        (own,) = [step for step in self.steps if step.anonymizer.name == self.anonymizer]
        return tuple(own.policy)

    def workplace(self, **given: Any) -> Workplace:
        """Return where it is done: seeded, and with what everybody knows."""
        return Workplace(rng=np.random.default_rng(5), seeded=True, public=self.public, **given)

    def decisions(
        self, carry: Callable[[Recoding], Recoding] = lambda decided: decided, first: int | None = None, **given: Any
    ) -> list[Recoding]:
        """Return what each step decides, or the first few; `carry` takes a decision to the next step."""
        workplace, found = self.workplace(**given), [Recoding()]
        for step in self.steps[:first]:
            found.append(step.carry_out(self.dataset, carry(found[-1]), workplace))
        return found[1:]

    def release(self, recoding: Recoding) -> Release:
        """Return what is published of a decision, as an outsider gets it."""
        shown = publish(self.dataset, recoding, [])
        read_back = Release.from_table(shown.table(), self.dataset.schema)
        return replace(read_back, public=self.public, description=shown.description)

    def __str__(self) -> str:
        models = "+".join(model.name for model in self.models)
        return f"{self.anonymizer}:{models}" + "".join(f",{name}={value}" for name, value in self.options.items())


L, T = LDiversity(sensitive="ward", l=2), TCloseness(sensitive="ward", t="0.7")
BETA, DELTA = BetaLikeness(sensitive="ward", beta=2), DeltaDisclosure(sensitive="ward", delta="1.5")
DIVERSE, CLOSE = QSDiversity(column="symptoms", c=1, l=3), QSCloseness(column="symptoms", t="0.4")
MULTI = MultiDiversity(sensitive=["therapy", "payer"], alpha_qi="0.6", alpha_sa="0.6")
ALPHA = AlphaDiversity(sensitive="therapy", alpha="0.5")
RHO = RhoUncertainty(column="drugs", rho="0.5")
SETS = SensitiveQidDiversity(l={"job": 3, "household": 2})
RHO_IN_CLASSES = RhoUncertainty(column="drugs", rho="0.5", within="classes")
ODDS = LocalDifferentialPrivacy(epsilon={"job": "1.5", "household": 1})
BELIEFS = SensitiveQidCloseness(t={"job": "0.3", "household": "0.3"})

JOBS = (
    Job("local-recoding", (K,)),
    Job("local-recoding", (L, K)),
    Job("local-recoding", (T, K)),
    Job("local-recoding", (BETA, K)),
    Job("local-recoding", (DELTA, K)),
    Job("full-domain", (K,)),
    Job("full-domain", (L, T, K), {"loss": "discernibility"}),
    Job("full-domain", (BETA, DELTA), {"loss": "class-size"}),
    Job("full-domain", (KMap(k=4, population="people.csv"), L)),
    Job("full-domain", (DeltaPresence(low="0.1", high="0.6", population="people.csv"),)),
    Job("local-recoding", (KMap(k=4, population="people.csv"), L)),
    Job("local-recoding", (DeltaPresence(low="0.1", high="0.6", population="people.csv"), K)),
    Job("mondrian", (KMap(k=4, population="people.csv"), T)),
    Job("mondrian", (DeltaPresence(low="0.1", high="0.6", population="people.csv"),)),
    Job("microaggregation", (K,)),
    Job("microaggregation", (L, K), {"shown": "median"}),
    Job("microaggregation", (T, K)),
    Job("microaggregation", (BETA, K)),
    Job("microaggregation", (DELTA, K)),
    Job("mondrian", (K,)),
    Job("mondrian", (L, K), {"strict": False}),
    Job("mondrian", (T, K), {"value_sets": True}),
    Job("mondrian", (BETA, K)),
    Job("mondrian", (DELTA, K)),
    Job("mondrian", (DIVERSE, K)),
    Job("mondrian", (CLOSE, K)),
    Job("term-suppression", (DIVERSE, K)),
    Job("term-suppression", (CLOSE, K), {"joint": True}),
    Job("term-suppression", (CLOSE,), {"search": "adaptive", "time_limit": 3600}),  # ends long before: no clock decides
    Job("term-suppression", (CLOSE, L, MULTI, RHO, SETS), {"joint": True}),
    Job("masking", (MULTI, K)),
    Job("masking", (ALPHA,), {"search": "fast", "avoid_vacuous": True}),
    Job("masking", (ALPHA,), {"search": "paper"}),
    Job("masking", (MULTI, CLOSE, L)),
    Job("partial-suppression", (RHO,)),
    Job("partial-suppression", (RHO,), {"goal": "distribution", "parts": 3}),
    Job("partial-suppression", (RHO,), {"search": "mine", "restore": True}),
    Job("global-suppression", (RHO,)),
    Job("td-control", (RHO,)),
    Job("permutation", (RHO,)),
    Job("drop-sensitive", (RHO,)),
    Job("partial-suppression", (RHO_IN_CLASSES, K)),
    Job("item-generalization", (KmAnonymity(column="drugs", k=2, m=1),)),
    Job("item-generalization", (HkpCoherence(column="drugs", h="0.5", k=2, p=1), L, SETS)),
    Job("apriori-anonymization", (KmAnonymity(column="drugs", k=3, m=2),)),
    Job("randomization", (SETS,)),
    Job("randomization", (BELIEFS,)),
    Job("rating", (SETS,)),
    Job("pram", (BELIEFS,)),
    Job("pram", (BELIEFS, K), {"dependence": "allow"}),
    Job("rating", (SETS, K)),
    Job("randomization", (ODDS, SETS)),
)
