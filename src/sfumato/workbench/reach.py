"""What can be met at all: the existing audits judge the release that tells least.

That release puts all people into one class (`*` for every quasi-identifier), masks every value that a requirement may
mask, withholds every term and item, and shows the whole domain for every randomized cell. What even that does not meet
is impossible; why, model by model, is in docs/concepts/reach.md. What it meets can be met, perhaps only by giving all
detail up: models say how many classes there can be at most.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from sfumato.data.bit_sets import BitSets, bit_sets_of
from sfumato.data.dataset import CodedColumn, CodedSets, Dataset, distinct_rows, visible_labels
from sfumato.data.hierarchy import ROOT
from sfumato.data.knowledge import PublicInputs
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import Role
from sfumato.errors import SfumatoError
from sfumato.models.base import Policy, PrivacyModel, Verdict, plain_number


class State(StrEnum):
    """Whether a requirement can be met."""

    IMPOSSIBLE = "impossible"  # no release meets it
    POSSIBLE = "possible"
    EMPTY = "empty"  # only one that tells nothing of the quasi-identifiers
    UNKNOWN = "unknown"  # only a run can tell


@dataclass(frozen=True)
class Reach:
    """What can be reached of one requirement."""

    position: int  # among the requirements, from 0
    model: str
    state: State
    asked: float | None  # what is asked of the measure below
    best: float | None  # what the release that tells least reaches
    measure: str
    classes: int | None  # how many there can be at most, where that is known
    words: str

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**asdict(self), "state": self.state.value}


def reach(dataset: Dataset, policy: Policy, public: PublicInputs, *, drops_rows: bool = False) -> list[Reach]:
    """Return what can be reached of each requirement, given what everybody knows.

    Where an anonymizer `drops_rows`, a release may be about fewer people, and less is known beforehand.
    """
    found = [_reach(dataset, model, public, position) for position, model in enumerate(policy)]
    words = "Rows may be dropped for it: only a run can tell what is left."
    return [
        replace(each, state=State.UNKNOWN, words=words) if drops_rows and each.state is not State.POSSIBLE else each
        for each in found
    ]


def coarsest(dataset: Dataset, model: PrivacyModel) -> Release:
    """Return the release that tells least, as far as a model looks at it, with equal rows held once."""
    judged = [dataset.columns[name] for name in model.judged_columns if name in dataset.columns]
    shown: list[CodedColumn] = []  # whose values are published whatever happens
    if not model.masks:
        shown = [each for each in judged if isinstance(each, CodedColumn) and each.role is Role.SENSITIVE]
    distinct = distinct_rows(shown, dataset.n_rows)
    n_rows = distinct.weight.size
    columns: dict[str, ReleasedColumn | CodedSets] = {
        column.name: _all_alike(column, dataset, n_rows) for column in dataset.quasi_identifiers
    }
    described: dict[str, Any] = {}
    for column in judged:
        if column in shown:
            codes = np.ascontiguousarray(distinct.codes[:, shown.index(column)])
            columns[column.name] = _released(column, dataset, codes, column.labels)
        elif column.role is Role.SENSITIVE_QUASI_IDENTIFIER and isinstance(column, CodedColumn):
            columns[column.name] = whole = _whole_domain(column, dataset, n_rows)
            size = len(whole.labels)
            described[column.name] = {"domain": list(whole.labels), "eta": size, "p": 0}
        elif isinstance(column, CodedSets):
            columns[column.name] = replace(column, items=np.empty(0, np.int32), start=np.zeros(n_rows + 1, np.int64))
        else:
            columns[column.name] = _all_alike(column, dataset, n_rows)
    return Release(
        columns=columns,
        carried=None,
        n_rows=n_rows,
        order=tuple(columns),
        description={"columns": described},
        weights=distinct.weight,
    )


def _all_alike(column: CodedColumn, dataset: Dataset, n_rows: int) -> ReleasedColumn:
    return _released(column, dataset, np.zeros(n_rows, np.int32), (ROOT,))


def _released(column: CodedColumn, dataset: Dataset, codes: Any, labels: tuple[str, ...]) -> ReleasedColumn:
    as_found = labels is column.labels
    return ReleasedColumn(
        name=column.name,
        role=column.role,
        kind=column.shown_kind,
        codes=codes,
        labels=labels,
        missing=column.missing if as_found else -1,
        type=column.type,
        spec=dataset.schema.spec(column.name),
        several=column.several if as_found else {},
    )


def _whole_domain(column: CodedColumn, dataset: Dataset, n_rows: int) -> BitSets:
    spec = dataset.schema.spec(column.name)
    declared = spec.domain if spec is not None else None
    domain = tuple(declared) if declared is not None else visible_labels(column, dataset.schema.missing)
    size = len(domain)
    packed = bit_sets_of(np.tile(np.arange(size), n_rows), np.arange(n_rows + 1) * size, size)
    return BitSets(name=column.name, role=column.role, packed=packed, labels=domain, spec=spec)


def _reach(dataset: Dataset, model: PrivacyModel, public: PublicInputs, position: int) -> Reach:
    try:
        release = replace(coarsest(dataset, model), public=public)
        verdict = model.audit(release)
        most = model.most_classes(release)
    except SfumatoError as error:  # the audit has something to say that only the holder can mend
        return Reach(position, model.name, State.UNKNOWN, None, None, "", None, str(error).split("\n")[0])
    state = State.POSSIBLE
    if not verdict.satisfied and not verdict.nothing_to_judge:  # a release that tells a little more may be judged
        # Of people with several values, the audit has a bound for what it takes, which need not grow with a class.
        bounded = any(getattr(release.columns.get(name), "several", ()) for name in model.judged_columns)
        state = State.IMPOSSIBLE if model.least_decides and not bounded else State.UNKNOWN
    elif most <= 1 < dataset.total and any(len(column.labels) > 1 for column in _hidden(dataset, model)):
        state = State.EMPTY
    classes = int(most) if math.isfinite(most) else None
    words = _words(state, verdict, dataset.total, classes)
    required = plain_number(verdict.required)
    return Reach(
        position,
        model.name,
        state,
        required if isinstance(required, int | float) else float(verdict.required),
        None if verdict.reached is None else float(verdict.reached),
        verdict.measure,
        classes,
        words,
    )


def _hidden(dataset: Dataset, model: PrivacyModel) -> list[CodedColumn]:
    """Return the columns whose detail goes where a requirement leaves one class."""
    judged = (dataset.columns[name] for name in model.judged_columns)
    cells = [each for each in judged if isinstance(each, CodedColumn) and each.role is Role.SENSITIVE_QUASI_IDENTIFIER]
    return cells or list(dataset.quasi_identifiers)


def _words(state: State, verdict: Verdict, people: int, classes: int | None) -> str:
    best = "nothing" if verdict.reached is None else f"{float(verdict.reached):,.4g}"
    asked = f"{verdict.bound} {float(verdict.required):,.4g}"
    if state is State.IMPOSSIBLE:
        return (
            f"It cannot be met: even if all {people:,} people looked alike and nothing else were shown, "
            f"the {verdict.measure} would be {best}, and {asked} is asked."
        )
    if state is State.UNKNOWN:
        return (
            f"Only a run can tell: with all {people:,} people alike and nothing else shown, the {verdict.measure} is "
            f"{best}, and {asked} is asked, but showing more may come nearer."
        )
    if state is State.EMPTY:
        return f"It can only be met by giving all detail up: {people:,} people who all look alike."
    if classes is not None:
        return f"It can be met, with at most {classes:,} group(s) of people."
    return "It can be met."
