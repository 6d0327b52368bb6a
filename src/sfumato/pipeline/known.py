"""What everybody knows besides a release: gathered in this one place, for makers, judges, measures and attacks.

An input is taken from the first of these that has it, and a verdict says which:

1. given in the plan (a knowledge table, a table of base rates);
2. kept in the run that made the release, if the run's digests match what is judged;
3. counted in the original;
4. claimed by the release itself: better than nothing, but nobody else has vouched for it.

A run is judged by what was public when it was made: where a file that the plan gives has changed since, the run's own
record of it goes before the file of today, and that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.base_rates import BaseRates, read_base_rates
from sfumato.data.dataset import CodedColumn, CodedSets, Dataset
from sfumato.data.knowledge import Knowledge, PublicInputs
from sfumato.data.population import read_population
from sfumato.data.schema import Role
from sfumato.data.terms import TermColumns
from sfumato.models.base import CLAIMED, Need, PrivacyModel
from sfumato.models.judging.beliefs import estimated_prior
from sfumato.models.judging.coverage import Coverage, coverage
from sfumato.pipeline.original import Original
from sfumato.plan import Plan
from sfumato.progress import SILENT, Progress

KNOWLEDGE, PRIOR = "knowledge", "prior"
_KEPT = ("knowledge.path", ".base_rates", "].population")  # how places of files end that a run keeps


class Origin(StrEnum):
    """Where a public input comes from."""

    GIVEN = "given in the plan"
    KEPT = "kept in the run"
    COUNTED = "counted in the original"
    CLAIMED = CLAIMED


def rates_of(column: str) -> str:
    """Return the name of a column's base rates among public inputs."""
    return f"base rates of {column!r}"


def population_of(name: str) -> str:
    """Return the name of a population among public inputs."""
    return f"population {name!r}"


@dataclass(frozen=True, eq=False)
class Known:
    """Public inputs, and where each comes from."""

    public: PublicInputs
    origins: Mapping[str, Origin] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what whoever reads a verdict should know about them
    people: bool = False  # whether the plan counts people, each of whom may have had several rows
    coverage: Coverage | None = None  # what the knowledge table knows of the terms, where a release is to be made

    def used_by(self, model: PrivacyModel) -> dict[str, str]:
        """Return where that comes from which a model needs, by name."""
        names = {
            Need.KNOWLEDGE: [KNOWLEDGE],
            Need.PRIOR: [PRIOR],
            Need.BASE_RATES: [rates_of(column) for column in model.judged_columns],
            Need.POPULATION: [population_of(str(getattr(model, "population", "")))],
        }
        wanted = (name for need in sorted(model.needs) for name in names[need])
        return {name: self.origins[name].value for name in wanted if name in self.origins}


@dataclass(frozen=True, eq=False)
class Record:
    """What a run kept: what was public when it was made, and the digests of its inputs, by their place in the plan."""

    knowledge: Knowledge | None
    prior: NDArray[np.float64] | None  # in the order of the knowledge table's labels
    base_rates: Mapping[str, BaseRates]
    origins: Mapping[str, Origin]
    inputs: Mapping[str, str]
    plan: str | None = None  # digest of the plan's text
    populations: Mapping[str, Path] = field(default_factory=dict)  # files that keep them


@dataclass(eq=False)
class Gathering:
    """Collects what the requirements of a plan need."""

    plan: Plan
    dataset: Callable[[], Dataset] | None  # the original, read when it is first asked for; None: not at hand
    record: Record | None = None
    description: Mapping[str, Any] = field(default_factory=dict)  # what the judged release says of itself
    progress: Progress = SILENT
    judging: bool = False  # gather only what audits cannot do without, not what measures and attacks like to know
    making: bool = False  # a release is to be made: what the knowledge table does not explain has to be decided
    origins: dict[str, Origin] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def known(self) -> Known:
        """Return all that can be had of what the requirements need; models say what they cannot do without."""
        knowledge = self._knowledge()
        covered = self._covered(knowledge) if self.making and knowledge is not None else None
        prior = self._prior(knowledge) if knowledge is not None and knowledge.weight is None else None
        rates = {name: found for name in self._columns() if (found := self._rates(name)) is not None}
        public = PublicInputs(knowledge, prior, rates, self._populations())
        return Known(public, dict(self.origins), tuple(self.notes), self.plan.counts_people, covered)

    def _populations(self) -> dict[str, Dataset]:
        """Return the people that rows could be about, of each file that a requirement names."""
        found: dict[str, Dataset] = {}
        for place, path in self.plan.files.items():
            position, _, key = place.removeprefix("require[").partition("].")
            if key != "population":
                continue
            name = self.plan.policy.requirements[int(position) - 1].population  # type: ignore[attr-defined]
            then = self.record.populations.get(name) if self.record is not None else None
            changed = self._kept(population_of(name), place, given=True)
            if changed and then is not None and then.is_file():
                self.notes.append(
                    f"The population {name!r} has changed since the run was made, or is gone: judged by the one of "
                    "then, which the run keeps."
                )
                path, self.origins[population_of(name)] = then, Origin.KEPT
            else:
                if changed:
                    self.notes.append(f"The population {name!r} has changed since the run was made: judged by today's.")
                self.origins[population_of(name)] = Origin.GIVEN
            found[name] = read_population(path, self.plan.schema, self.progress)
        return found

    def _columns(self) -> Iterator[str]:
        """Yield the columns of which base rates are taken as known."""
        asked = (model.judged_columns for model in self.plan.policy if Need.BASE_RATES in model.needs)
        yield from dict.fromkeys(name for columns in asked for name in columns)

    def _kept(self, name: str, place: str, *, given: bool) -> bool:
        """Whether an input is taken from the run's record: where the plan gives none, or gave another one then."""
        if self.record is None or name not in self.record.origins:
            return False
        if not given:
            return True
        if self.record.origins[name] is not Origin.GIVEN:
            return False  # the plan has learned something since
        key = place.partition("].")[2] if place.startswith("require[") else ""  # wherever that requirement stood then
        then = [
            sha256
            for at, sha256 in self.record.inputs.items()
            if at == place or (key and at.startswith("require[") and at.endswith(f"].{key}"))
        ]
        return self.plan.digests().get(place) not in then

    def _knowledge(self) -> Knowledge | None:
        given = self.plan.knowledge
        if given is None and (self.record is None or KNOWLEDGE not in self.record.origins):
            return None
        if self._kept(KNOWLEDGE, "knowledge.path", given=given is not None):
            assert self.record is not None
            if given is not None:
                self.notes.append(
                    "The knowledge table has changed since the run was made, or is gone: judged by the one of then, "
                    "which the run keeps."
                )
            self.origins[KNOWLEDGE] = Origin.KEPT
            return self.record.knowledge
        if given is None:
            return None
        self.origins[KNOWLEDGE] = Origin.GIVEN
        return given.read(self.progress)

    @cached_property
    def _terms(self) -> tuple[CodedSets, NDArray[np.int64] | None] | None:
        """The terms of the original that requirements look up, and how many records each row stands for, if not one.

        All of them are about the same: the plan sees to it.
        """
        columns = next((model.judged_columns for model in self.plan.policy if Need.KNOWLEDGE in model.needs), None)
        if columns is None or self.dataset is None:
            return None
        dataset = self.dataset()
        dataset = dataset if dataset.of_terms is None else dataset.of_terms
        if any(name not in dataset.columns for name in columns):  # too many of a table in parts to be counted
            return None
        terms = TermColumns.of_dataset(dataset, columns)
        return None if terms.not_sets else (terms.sets, dataset.weights)

    def _covered(self, knowledge: Knowledge) -> Coverage | None:
        if self._terms is None:
            return None
        terms, weights = self._terms
        found = coverage(terms, knowledge, weights)
        found.refuse_undecided()
        return found

    def _prior(self, knowledge: Knowledge) -> NDArray[np.float64] | None:
        if self._kept(PRIOR, "", given=False):
            assert self.record is not None
            kept = self.record.prior
            if kept is not None and kept.size == knowledge.n_labels:
                self.origins[PRIOR] = Origin.KEPT
                return kept
        if not any((Need.PRIOR if self.judging else Need.KNOWLEDGE) in model.needs for model in self.plan.policy):
            return None
        if self.dataset is not None:
            self.origins[PRIOR] = Origin.COUNTED
            return None if self._terms is None else estimated_prior(self._terms[0], knowledge, self._terms[1])
        claimed = self.description.get("prior")
        if isinstance(claimed, Mapping) and set(claimed) == set(knowledge.labels):
            self.origins[PRIOR] = Origin.CLAIMED
            return np.array([float(claimed[label]) for label in knowledge.labels])
        return None

    def _rates(self, name: str) -> BaseRates | None:
        spec = self.plan.schema.spec(name)
        given = spec.base_rates if spec is not None else None
        kept = self.record.base_rates.get(name) if self.record is not None else None
        if kept is not None and self._kept(rates_of(name), f"columns.{name}.base_rates", given=given is not None):
            if given is not None:
                self.notes.append(
                    f"The base rates of column {name!r} have changed since the run was made, or are gone: judged by "
                    "those of then, which the run keeps."
                )
            self.origins[rates_of(name)] = Origin.KEPT
            return kept
        if given is not None:
            self.origins[rates_of(name)] = Origin.GIVEN
            # A randomized cell shows a missing value as a value of its own.
            randomized = spec is not None and spec.role is Role.SENSITIVE_QUASI_IDENTIFIER
            return read_base_rates(given, () if randomized else self.plan.schema.missing, of_plan=True)
        if self.dataset is not None:
            column = self.dataset().columns.get(name)
            if not isinstance(column, CodedColumn):
                return None
            self.origins[rates_of(name)] = Origin.COUNTED
            if column.role is Role.SENSITIVE_QUASI_IDENTIFIER:
                return BaseRates.as_shown(column, self.plan.schema.missing)
            return BaseRates.of(column)
        return self._claimed_rates(name)

    def _claimed_rates(self, name: str) -> BaseRates | None:
        columns = self.description.get("columns", {})
        shown = columns.get(name, {}).get("base_rates") if isinstance(columns, Mapping) else None
        if not isinstance(shown, Mapping):
            return None
        self.origins[rates_of(name)] = Origin.CLAIMED
        return BaseRates.from_dict(shown)


def changed_since(record: Record, original: Original) -> list[str]:
    """Return which inputs of a run are not what they were, or are gone, by their place in the plan."""
    now = dict.fromkeys(original.plan.files) | original.plan.digests()
    if original.at_hand and not original.unreadable and original.sha256 is not None:
        now["source.path"] = original.sha256
    return sorted(place for place, sha256 in record.inputs.items() if now.get(place, sha256) != sha256)


def changes_since(record: Record, original: Original, known: Known, *, compared: bool = False) -> Iterator[str]:
    """Say what has changed since a run was made: its plan, its source, or what else was read; and what is `known` now.

    Where the release is `compared` with the source, that is with the one of today.
    """
    plan = original.plan
    if record.plan is not None and plan.sha256 is not None and record.plan != plan.sha256:
        yield "The plan has changed since the run was made."
    if original.unreadable:
        yield "The source cannot be read now, so nobody can say whether it has changed since the run was made."
    for place in changed_since(record, original):
        if place == "source.path":
            kept = "what was public then is taken from the run's own record"
            if Origin.COUNTED in known.origins.values():
                kept = "what is public and not in the run's own record was counted in the source of today"
            today = ", and the release is compared with the source of today" if compared else ""
            yield f"The source has changed since the run was made: {kept}{today}."
        elif not place.endswith(_KEPT):  # else the record of then is taken, and that is said
            yield f"{place} has changed since the run was made, or is gone."


def crowd_at(path: Path | None, plan: Plan) -> Dataset | None:
    """Return the quasi-identifiers of a larger table, else of the plan's population; what else it holds is left out."""
    of_plan = path is None
    path = path or plan.files.get("population.path")
    return read_population(path, plan.schema, of_plan=of_plan) if path is not None else None
