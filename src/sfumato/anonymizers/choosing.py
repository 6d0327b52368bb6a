"""Which anonymizer does what: from the requirements of a plan to steps, one for each phase that they need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.base import Anonymizer, Phase, Workplace
from sfumato.data.dataset import Dataset
from sfumato.data.recoding import Recoding
from sfumato.data.schema import Role, Schema
from sfumato.errors import Problem
from sfumato.models import HkpCoherence, KAnonymity, KmAnonymity
from sfumato.models.base import Policy, PrivacyModel


@dataclass(frozen=True, kw_only=True)
class Step:
    """One anonymizer at work on some requirements, and why it was chosen."""

    anonymizer: Anonymizer
    policy: Policy
    why: str
    later: tuple[Step, ...] = ()  # which build on it, and may have a say in it

    @property
    def makes_classes(self) -> bool:
        """Whether it makes the classes: in their phase, or in a later one that took over what is asked of them."""
        return self.anonymizer.phase is Phase.CLASSES or bool(self.policy.of(KAnonymity))

    @property
    def class_size(self) -> int:
        """How many rows a class has at least when this step and those that build on it are done."""
        return max(step.policy.k() for step in (self, *self.later))

    def carry_out(self, dataset: Dataset, before: Recoding, workplace: Workplace) -> Recoding:
        """Return what the anonymizer decides, given what steps before it decided."""
        asked = self.policy
        if self.makes_classes and self.class_size > asked.k():
            asked = Policy((*asked, KAnonymity(k=self.class_size)))
        says = (step.anonymizer.crowding(dataset, step.policy, workplace) for step in self.later)
        crowding = next((say for say in says if say is not None), None)
        return self.anonymizer.anonymize(dataset, asked, before, replace(workplace, crowding=crowding))


def aiming_at(model: PrivacyModel) -> tuple[str, ...]:
    """Return the anonymizers that can meet a requirement, the default first."""
    return tuple(name for name, anonymizer in ANONYMIZERS.items() if anonymizer.aims(model))


def steps(
    schema: Schema, policy: Policy, *, chosen: Mapping[int, str], options: Mapping[str, Anonymizer]
) -> tuple[Step, ...]:
    """Return what will be done, in order of the phases: what a later one builds on is decided before it.

    chosen: the anonymizer that a plan names for the requirement at a position; options: those that it sets options of.
    """
    members: dict[Phase, list[PrivacyModel]] = {}
    named: dict[Phase, str] = {}
    for position, model in enumerate(policy):
        name = chosen.get(position) or aiming_at(model)[0]
        members.setdefault(ANONYMIZERS[name].phase, []).append(model)
        if position in chosen:
            named[ANONYMIZERS[name].phase] = name
    crowd = max(
        (model.k for model in policy if isinstance(model, KmAnonymity | HkpCoherence) and model.within_classes),
        default=1,
    )
    if crowd > 1 and Phase.CLASSES not in members and schema.named(Role.QUASI_IDENTIFIER):
        members[Phase.CLASSES] = [KAnonymity(k=crowd)]  # a promise to those who know quasi-identifiers, too
    _take_over_classes(members, named)
    found: tuple[Step, ...] = ()
    for phase in sorted(members, reverse=True):
        if phase in named:
            name, why = named[phase], "chosen in the plan"
        else:
            name, why = _default(phase, members, schema)
        anonymizer = options.get(name) or ANONYMIZERS[name]()
        step = Step(anonymizer=anonymizer, policy=Policy(tuple(members[phase])), why=why, later=found)
        if step.makes_classes and step.class_size > step.policy.k():
            why += f"; classes have {step.class_size:,} rows or more, which a later step asks for"
            step = replace(step, why=why)
        found = (step, *found)
    return found


def _take_over_classes(members: dict[Phase, list[PrivacyModel]], named: Mapping[Phase, str]) -> None:
    """Hand what is asked of classes to the first later phase that meets it as well, unless the plan names somebody."""
    classes = members.get(Phase.CLASSES, [])
    if not classes or Phase.CLASSES in named:
        return
    for phase in sorted(members)[1:]:
        taker = ANONYMIZERS[named.get(phase) or aiming_at(members[phase][0])[0]]
        if all(isinstance(model, taker.also_meets) and taker.meets(model) for model in classes):
            members[phase] = [*members.pop(Phase.CLASSES), *members[phase]]
            return


def _default(phase: Phase, members: Mapping[Phase, list[PrivacyModel]], schema: Schema) -> tuple[str, str]:
    """Return the first listed anonymizer that has a reason to do the work of a phase, and the reason.

    Where nobody meets all that is asked of a phase, it is one that meets the first of it, and `problems` says so.
    """
    for name, anonymizer in ANONYMIZERS.items():
        if anonymizer.phase is phase and all(anonymizer.meets(model) for model in members[phase]):
            why = anonymizer.why(schema, members)
            if why is not None:
                return name, why
    return aiming_at(members[phase][0])[0], "nobody meets all that is asked of it"


def problems(policy: Policy, steps: Sequence[Step], chosen: Mapping[int, str]) -> Iterator[Problem]:
    """Yield where a plan names several anonymizers for one phase, and what its anonymizers say is wrong with them."""
    for phase in Phase:
        names = sorted({name for name in chosen.values() if ANONYMIZERS[name].phase is phase})
        if len(names) > 1:
            second = max(position for position, name in chosen.items() if name in names)
            yield Problem(
                f"require[{second + 1}].anonymizer",
                f"its requirements ask for different anonymizers ({', '.join(map(repr, names))}), "
                "but one must meet all of them. Name one.",
            )
    for step in steps:
        missed = [model for model in step.policy if not step.anonymizer.meets(model)]
        unmet = [model.name for model in missed]
        named = [position for position, name in chosen.items() if name == step.anonymizer.name]
        if unmet and named:
            yield Problem(
                f"require[{named[0] + 1}].anonymizer",
                f"it asks for {step.anonymizer.name}, which cannot meet {', '.join(unmet)}, asked in the same step. "
                "Name an anonymizer that meets both, or none.",
            )
        elif unmet:
            met = [model.name for model in step.policy if step.anonymizer.meets(model)]
            yield Problem(
                f"require[{next(place for place, model in enumerate(policy, start=1) if model in missed)}].model",
                f"{', '.join(unmet)} and {', '.join(met)} are asked for together, but no search meets both. "
                "Ask for one of them.",
            )
    for position, step in enumerate(steps):
        before = [earlier.anonymizer for earlier in steps[:position]]
        found = step.anonymizer.problems(before)
        yield from (problem.within(f"anonymizers.{step.anonymizer.name}") for problem in found)
