"""A knowledge table held against the data of a plan: what each knows of the other, and what looking up gives away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.attacks import ATTACKS, Exposure, expose
from sfumato.attacks.base import as_if_published
from sfumato.data.files import digest
from sfumato.data.knowledge import PublicInputs
from sfumato.data.knowledge_reading import KnowledgeSource
from sfumato.data.schema import Role
from sfumato.data.terms import TermColumns
from sfumato.disk import read_numbered
from sfumato.errors import DataError, PlanError, Problem
from sfumato.knowledge.building import FORMAT, INSIDER_COUNT, WEIGHT, provenance_of
from sfumato.models.judging.coverage import Coverage, Reach, coverage, reach
from sfumato.pipeline import Case
from sfumato.plan import Plan
from sfumato.progress import SILENT, Progress

LOOKING_UP = "knowledge-linking"
FOLDER = "knowledge"  # beside the plan: where names are looked for


@dataclass(frozen=True, eq=False, kw_only=True)
class Checked:
    """What a knowledge table and the data of a plan know of each other."""

    table: Path
    provenance: Mapping[str, Any] | None  # where the table came from, if that is kept beside it
    changed: bool  # whether the table is not the one that was built
    covered: Coverage
    reached: Reach
    exposure: Exposure

    @property
    def merges(self) -> dict[str, str]:
        """Spellings of the data that are very near a known term, and the term; none that few records have."""
        return {
            each.term: each.nearest
            for each in self.covered.unknown
            if each.near and each.nearest is not None and each.records >= INSIDER_COUNT
        }

    def sentences(self) -> Iterator[str]:
        """Yield what is to be known: names of columns, counts and known terms."""
        covered = self.covered
        known = covered.terms - len(covered.unknown)
        yield (
            f"{known:,} of {covered.terms:,} terms in {covered.column!r} are known to the table; it explains "
            f"{covered.records - covered.unexplained:,} of {covered.records:,} records."
        )
        yield from covered.sentences()
        yield from self.reached.sentences()
        if self.merges:
            yield (
                f"{len(self.merges):,} spellings are very near a known term, each in {INSIDER_COUNT} records or more: "
                "--merge FILE lists them, for `sfumato knowledge build --aliases FILE`."
            )
        if self.provenance is None:
            yield "Nothing beside the table says where it came from."
        elif self.changed:
            yield "The table is not the one that was built: it has changed since."

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data: counts and known terms, no spelling of the data."""
        shown = self.covered.as_dict()
        shown["nearest"] = sorted({each["nearest"] for each in shown.pop("unknown") if each["nearest"] is not None})
        return {
            "table": self.table.name,
            "provenance": self.provenance,
            "changed": self.changed,
            "coverage": shown,
            "reach": self.reached.as_dict(),
            "merges": len(self.merges),
            "asks": self.covered.asks,
            "sentences": list(self.sentences()),
            "looking_up": self.exposure.as_dict(),
        }


def check(name: str, plan: Plan, *, progress: Progress = SILENT) -> Checked:
    """Hold a knowledge table, by its file or by its name beside the plan, against the data of a plan."""
    path = _found(name, plan)
    provenance = _provenance(path)
    knowledge = _source(path, plan, provenance).read(progress)
    case = Case(plan, progress=progress)
    dataset = case.original.dataset
    columns = [column.name for column in dataset.columns.values() if column.role is Role.QUASI_SENSITIVE]
    terms = TermColumns.of_dataset(dataset, columns)
    attack = ATTACKS[LOOKING_UP]()
    shown = replace(as_if_published(dataset), public=PublicInputs(knowledge))
    return Checked(
        table=path,
        provenance=provenance,
        changed=provenance is not None and provenance.get("sha256") != digest(path),
        covered=coverage(terms.sets, knowledge),
        reached=reach(terms.sets, knowledge),
        exposure=expose(attack, shown),
    )


def _found(name: str, plan: Plan) -> Path:
    """Return the file of a table: as it is named, or by its name in a folder beside the plan."""
    beside = plan.path.parent if plan.path is not None else Path()
    ways = [Path(name), beside / name, *(folder / f"{name}.csv" for folder in (beside / FOLDER, beside))]
    for path in ways:
        if path.is_file():
            return path
    raise DataError(
        f"The knowledge table {name!r} was to be checked, but there is no such file, neither here nor in {FOLDER}/ "
        "beside the plan.\nName its file, or build it with `sfumato knowledge build`."
    )


def _provenance(path: Path) -> dict[str, Any] | None:
    beside = provenance_of(path)
    if not beside.is_file():
        return None
    return read_numbered(
        beside, FORMAT, "does not say where the knowledge table came from.\nBuild it again, or move this file away."
    )


def _source(path: Path, plan: Plan, provenance: Mapping[str, Any] | None) -> KnowledgeSource:
    """Return how a table is to be read: as the plan says of this one, else as it was built."""
    given = plan.knowledge
    if given is None:
        raise PlanError([Problem("knowledge", "it has no [knowledge], so nothing in it is looked up anywhere.")])
    if provenance is None or (given.path.exists() and given.path.samefile(path)):
        return replace(given, path=path)
    weights = None if provenance.get("weights") is None else WEIGHT
    label, terms, separator = (provenance[key] for key in ("label", "terms", "separator"))
    return KnowledgeSource(
        path=path, label=label, terms=terms, separator=separator, weights=weights, unlinked=given.unlinked
    )
