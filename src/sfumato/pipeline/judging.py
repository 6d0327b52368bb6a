"""Which table is judged, and the judges: every model of a policy, on what an outsider sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.data.files import Source, digest
from sfumato.data.files.metadata import needless_with
from sfumato.data.files.release import DESCRIPTION, read_release, release_folder, schema_for
from sfumato.data.people import by_person
from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.data.strays import Stray, StrayKind, stray_entries
from sfumato.errors import DataError, InputError, SfumatoError, Unsatisfiable
from sfumato.models import PRIVACY_MODELS
from sfumato.models.base import NothingElse, Policy, Verdict
from sfumato.pipeline.facts import RUN_FILE, read_facts, record_of
from sfumato.pipeline.known import Known, Record
from sfumato.plan import Plan
from sfumato.progress import SILENT, Progress

# What a release says of a column whose cells hide values: how sets or values were drawn, or which groups they are.
STATED = (frozenset({"domain", "eta", "p"}), frozenset({"domain", "shares", "p"}), frozenset({"domain", "groups"}))


ROWS_HERE = 20_000_000  # of a release of many parts that are looked at one by one on this machine


@dataclass(frozen=True, eq=False)
class Seen:
    """A table as an outsider sees it, and the record of the run that made it, if that is at hand and matches."""

    release: Release
    record: Record | None = None
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def at(
        cls, path: Path | Source, plan: Plan, progress: Progress = SILENT, *, look: Callable[[], Release] | None = None
    ) -> Seen:
        """Look at a run's folder, at the release folder in it, or at a file or a table of any tool.

        `look` is another way to see the release, where somebody else has one.
        """
        source = plan.source
        like = source if source is not None and source.database is None and not source.in_catalog else None
        if look is not None:
            release = look()
        else:
            release = read_release(path, plan.schema, like=like, stored=plan.target, progress=progress)
        release = replace(release, strays=(*release.strays, *_foreign_models(release.description)))
        judged = None if isinstance(path, Source) else release_folder(path)
        beside = (judged.absolute().parent, judged.resolve().parent) if judged is not None else ()
        run = next((folder for folder in beside if (folder / RUN_FILE).is_file()), None)
        if judged is None or run is None:
            return cls(release)
        facts = read_facts(run)
        if _is_about(facts, judged):
            return cls(release, record_of(facts, run))
        note = "The run's record beside the release is of another release (digests differ): it was not used."
        return cls(release, None, (note,))

    @classmethod
    def in_memory(
        cls,
        table: pa.Table,
        plan: Plan,
        description: Mapping[str, Any] | None = None,
        facts: Mapping[str, Any] | None = None,
        frame: Any = None,
    ) -> Seen:
        """Look at a table, with the public description and the facts of the run that made it where they are known.

        `frame` is what the table was made of: it may hold more than the table does.
        """
        schema = schema_for(description, plan.schema) if description else plan.schema
        release = Release.from_table(table, schema, description)
        beside = stray_entries(StrayKind.METADATA, "the frame", needless_with(frame, plan.schema.columns))
        release = replace(release, strays=(*release.strays, *beside))
        return cls(release, record_of(facts) if facts is not None else None)


def _foreign_models(description: Mapping[str, Any]) -> tuple[Stray, ...]:
    """Return that a description lists requirements that no plan could ask for of its columns."""
    columns = set(description.get("columns", {}))
    wrong = 0
    for told in description.get("models", ()):
        make = PRIVACY_MODELS.get(str(told.get("model")))
        try:
            model = make(**{name: value for name, value in told.items() if name != "model"}) if make else None
        except (TypeError, InputError):
            model = None
        wrong += model is None or not columns.issuperset(model.judged_columns)
    return stray_entries(StrayKind.ENTRIES, DESCRIPTION, wrong)


def refuse_unstated(release: Release) -> None:
    """Raise when randomized columns come without what is needed to measure or attack them; audits decide themselves."""
    described = release.description.get("columns", {})
    unstated = [
        column.name
        for column in release.columns.values()
        if column.role is Role.SENSITIVE_QUASI_IDENTIFIER
        and not any(set(described.get(column.name, ())) >= stated for stated in STATED)
    ]
    if unstated:
        raise DataError(
            f"The plan randomizes {', '.join(map(repr, unstated))}, but the table comes without a description of how: "
            "domain, eta and p.\nGive the folder that `sfumato anonymize` wrote, with its release.json, or in Python "
            "the `release` of a run."
        )


def refuse_those_who_need_rows(plan: Plan, rows: int) -> None:
    """Raise where more rows than this machine takes would have to be looked at one by one: no part of them will do."""
    named = {"survey weights": plan.weight or plan.sampling.weight, "households": plan.sampling.household}
    found = [f"{what} (column {column!r})" for what, column in named.items() if column is not None]
    if found and rows > ROWS_HERE:
        raise DataError(
            f"A release of {rows:,} rows was to be measured with {' and '.join(found)}, for which every row is looked "
            f"at on the driver, which takes {ROWS_HERE:,}.\n"
            "Measure a sample of the source and of the release, leave these out, or audit it: that takes any size."
        )


def _is_about(facts: Mapping[str, Any], folder: Path) -> bool:
    """Whether the facts of a run are about the release in a folder; those of version 0.1 do not say."""
    files = facts["release"].get("files")
    if files is None:
        return bool(facts["format"] == 1)
    return DESCRIPTION in files and all(
        (folder / name).is_file() and digest(folder / name) == sha256 for name, sha256 in files.items()
    )


def judge(
    release: Release, policy: Policy, known: Known, progress: Progress = SILENT, *, name_items: bool = False
) -> tuple[Verdict, ...]:
    """Let every model of the policy judge the release; an audit that breaks counts as failed and is a bug.

    Where something came along that does not belong to the release, a verdict more says so. With `name_items`, verdicts
    that can do so name the items that break them: for the holder only.
    """
    if release.parts is not None:
        found = _judged_in_parts(release, release.parts, policy, known, progress)
        return tuple(_unless_respelled(verdict, release) for verdict in found)
    models = (*policy, NothingElse()) if release.strays else tuple(policy)
    if release.person_of is not None:
        refuse_those_who_count_rows(policy)
        release = by_person(release)
    stage = progress.stage("audit", total=len(models))
    release = replace(release, public=known.public)
    verdicts = []
    for model in models:
        try:
            verdict = model.audit(release, name_items=name_items)
            if verdict.satisfied or verdict.nothing_to_judge:
                reason = model.nothing_to_judge(release) or verdict.nothing_to_judge
                verdict = replace(verdict, nothing_to_judge=reason)
        except (SfumatoError, MemoryError):
            raise
        except Exception as error:
            raise SfumatoError(
                f"The audit of {model.name} broke ({type(error).__name__}), so nothing can be said about the release.\n"
                "No release was written. This is a bug in sfumato: please report it."
            ) from error
        verdict = replace(
            _unless_respelled(verdict, release), known_from=known.used_by(model), notes=(*verdict.notes, *known.notes)
        )
        verdicts.append(verdict.of_people() if known.people else verdict)
        stage.advance()
    stage.done()
    return tuple(verdicts)


def _unless_respelled(verdict: Verdict, release: Release) -> Verdict:
    """Return a verdict, which fails where values of a column that it judges have several spellings."""
    columns = verdict.model.judged_columns
    found = [stray for stray in release.strays if stray.kind is StrayKind.SPELLINGS and stray.name in columns]
    return replace(verdict, satisfied=False, finding="; ".join(map(str, found))) if found else verdict


def _judged_in_parts(
    release: Release, parts: Iterable[Release], policy: Policy, known: Known, progress: Progress
) -> tuple[Verdict, ...]:
    """Judge part by part, each with all rows of some classes, and return what holds for all of them together.

    Who has to see everything at once is shown the release itself, which holds what they look at.
    """
    apart = Policy(tuple(model for model in policy if model.judges_apart))
    verdicts: tuple[Verdict, ...] = ()
    for part in parts:
        found = judge(replace(part, strays=()), apart, known, progress)
        verdicts = tuple(map(Verdict.merged, verdicts, found)) if verdicts else found
    assert verdicts, "a release has rows"
    together = Policy(tuple(model for model in policy if not model.judges_apart))
    rest = judge(replace(release, parts=None), together, known, progress)  # and what does not belong there
    by_part, at_once = iter(verdicts), iter(rest)
    return (*(next(by_part if model.judges_apart else at_once) for model in policy), *at_once)


def refuse_those_who_count_rows(policy: Policy) -> None:
    """Raise where a model cannot judge people of whom all rows stay."""
    able = [model.name for model in policy if not model.counts_people]
    if able:
        raise DataError(
            f"People with several rows are judged, but {', '.join(sorted(set(able)))} counts rows.\n"
            "Gather the rows of a person ([gather]), or leave the requirement out."
        )


def refuse_unless_all_hold(verdicts: tuple[Verdict, ...]) -> None:
    """Raise when a requirement does not hold: nothing unsafe is written."""
    failed = [verdict for verdict in verdicts if not verdict.satisfied]
    if failed:
        lines = "\n".join(f"- {verdict}" for verdict in failed)
        if all(verdict.nothing_to_judge for verdict in failed):
            raise Unsatisfiable(
                f"The audit found nothing left to judge for {len(failed)} of {len(verdicts)} requirements.\n{lines}\n"
                "Nothing was written. Relax the requirement, or drop the column."
            )
        raise Unsatisfiable(
            f"The audit rejected the release: {len(failed)} of {len(verdicts)} requirements do not hold.\n{lines}\n"
            "Nothing was written. Relax the requirement, or choose another anonymizer."
        )
