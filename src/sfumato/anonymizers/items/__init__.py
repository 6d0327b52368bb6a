"""What all anonymizers of item columns share: the column as a table of sets, and the way back to a recoding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Anonymizer, Divides, Phase, Workplace, side_by_side
from sfumato.anonymizers.dependence import HidesCells
from sfumato.data.dataset import CodedSets, Codes, Dataset, distinct_rows, starts_of
from sfumato.data.recoding import Recoding
from sfumato.data.terms import without
from sfumato.errors import DataError, PolicyError
from sfumato.kernels.items.supports import Baskets, Bound, item_codes, make_baskets, make_bound
from sfumato.models.base import Policy, PrivacyModel
from sfumato.models.hkp_coherence import HkpCoherence
from sfumato.models.km_anonymity import KmAnonymity
from sfumato.models.rho_uncertainty import RhoUncertainty
from sfumato.parameters import parametrized

Kept = NDArray[np.bool_]  # (o,): which occurrences of a column are published
Job = TypeVar("Job")  # what is to be done with a column


@dataclass(frozen=True, eq=False)
class Task:
    """A column of items to make safe. Rows that an earlier step dropped are not in it."""

    column: CodedSets
    baskets: Baskets
    bound: Bound
    rho: Fraction
    in_baskets: NDArray[np.int64] | None  # where in the column each occurrence of the baskets stands; None: there
    classes: NDArray[np.int64] | None = None  # where classes begin, and the end, when each must be safe by itself


@parametrized
class ColumnByColumn(HidesCells, Protocol[Job]):
    """An anonymizer of columns of items, one after the other."""

    phase: ClassVar[Phase] = Phase.ITEMS
    divides: ClassVar[Divides] = Divides.NOT

    def jobs(self, dataset: Dataset, policy: Policy, before: Recoding) -> Iterator[Job]:
        """Yield what is to be done with each column, or raise what is wrong with it."""

    def done(self, job: Job, workplace: Workplace) -> tuple[CodedSets, dict[str, Any]]:
        """Return a column as it is published, and what there is to say about it."""

    def bound(self, policy: Policy) -> Fraction:
        """Return the smallest rho, h, or share of one record in k."""
        rhos = [model.exact_rho for model in policy.of(RhoUncertainty)]
        shares = [model.exact_h for model in policy.of(HkpCoherence)]
        return min([*rhos, *shares, *(Fraction(1, model.k) for model in policy.of(KmAnonymity))])

    def refuse_unfit(self, dataset: Dataset, policy: Policy, before: Sequence[Anonymizer] = ()) -> None:
        """Raise what is wrong with a column."""
        for _ in self.jobs(dataset, policy, Recoding()):
            pass

    def anonymize(self, dataset: Dataset, policy: Policy, before: Recoding, workplace: Workplace) -> Recoding:
        """Return a recoding in which every column of items is as it is published."""
        recoding = replace(before, facts={})
        for job in self.jobs(dataset, policy, before):
            sets, facts = self.done(job, workplace)
            recoding = recoding.with_columns({sets.name: sets}, facts={**recoding.facts, sets.name: facts})
        return recoding


class ItemSuppression(ColumnByColumn[Task], Protocol):
    """An anonymizer that withholds items until no rule about a sensitive one is unsafe."""

    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = (RhoUncertainty,)
    by_class: ClassVar[bool] = False  # whether it can make each class safe by itself

    def facts_of_parts(self, parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return what there is to say of all parts together."""
        return facts_together(parts)

    def jobs(self, dataset: Dataset, policy: Policy, before: Recoding) -> Iterator[Task]:
        """Yield each column, or raise where nothing says which items are sensitive, or none of them is."""
        yield from tasks_of(policy, dataset, before, by_class=self.by_class)

    def done(self, job: Task, workplace: Workplace) -> tuple[CodedSets, dict[str, Any]]:
        """Return the column without what is withheld."""
        kept, facts = self.suppress(job, workplace)
        if job.in_baskets is not None:
            whole = np.zeros(job.column.items.size, dtype=np.bool_)
            whole[job.in_baskets] = kept
            kept = whole
        return without(job.column, kept), facts

    def suppress(self, task: Task, workplace: Workplace) -> tuple[Kept, dict[str, Any]]:
        """Return which occurrences of a column stay, and what there is to say about it."""


def whole_tasks_of(name: str, dataset: Dataset, policy: Policy, before: Recoding) -> Iterator[Task]:
    """Yield the tasks of an anonymizer that looks at all rows, or raise where some are gone."""
    for task in tasks_of(policy, dataset, before):
        if task.in_baskets is not None:
            raise DataError(
                f"{name} was asked for column {task.column.name!r} after rows had been dropped.\nAsk for it alone."
            )
        yield task


def tasks_of(policy: Policy, dataset: Dataset, before: Recoding, *, by_class: bool = False) -> Iterator[Task]:
    """Yield one task for each column that rho-uncertainty is required of; the strictest requirement counts.

    by_class: whether the anonymizer can make each class safe by itself.
    """
    required = policy.of(RhoUncertainty)
    for name in dict.fromkeys(model.column for model in required):
        models = [model for model in required if model.column == name]
        within = any(model.within == "classes" for model in models)
        if within and not by_class:
            raise PolicyError(
                f'rho-uncertainty of column {name!r} is asked for within = "classes", which the anonymizer that the '
                "plan names cannot give: it looks at the whole table.\nLet partial-suppression do it."
            )
        yield make_task(
            before.columns.get(name, dataset.columns.get(name)),
            name,
            min(model.exact_rho for model in models),
            empty=any(model.empty_antecedent for model in models),
            keep_row=before.keep_row,
            class_of=row_classes(dataset, before) if within else None,
        )


def row_classes(dataset: Dataset, before: Recoding) -> Codes:
    """Return a class for each row, such that rows that share one are published alike: finer ones are safe as well."""
    if before.class_of is not None:
        return before.class_of
    return distinct_rows(dataset.quasi_identifiers, dataset.n_rows).distinct_of


def make_task(
    column: Any,
    name: str,
    rho: Fraction,
    *,
    empty: bool = False,
    keep_row: NDArray[np.bool_] | None = None,
    class_of: Codes | None = None,
) -> Task:
    """Return a column of items as a task, or raise when it cannot be one."""
    if not isinstance(column, CodedSets) or column.sensitive is None:
        raise DataError(
            f"Items were to be withheld from column {name!r}, but nothing says which of them are sensitive.\n"
            f"Name them in the plan: [columns.{name}] sensitive_items = [...], or a file with one a line."
        )
    n_sensitive, n_items = int(column.sensitive.sum()), len(column.labels)
    if n_items and n_sensitive == 0:
        raise DataError(
            f"rho-uncertainty was asked of column {name!r}, but none of its {n_items:,} items are sensitive.\n"
            "Check how sensitive_items are written: they must be as in the data."
        )
    start, items, inside, classes = column.start, column.items, None, None
    if keep_row is not None or class_of is not None:
        rows = np.arange(start.size - 1) if keep_row is None else np.flatnonzero(keep_row)
        if class_of is not None:
            rows = rows[np.argsort(class_of[rows], kind="stable")]
            changes = np.flatnonzero(np.diff(class_of[rows])) + 1
            classes = np.concatenate([[0], changes, [rows.size]]).astype(np.int64)
        size = np.diff(start)[rows]
        first, start = start[rows], starts_of(size)
        inside = np.repeat(first - start[:-1], size) + np.arange(int(start[-1]))
        items = items[inside]
    baskets = make_baskets(
        start.astype(np.int64), items.astype(np.int32), column.sensitive.astype(np.bool_), item_codes(n_items)
    )
    most = limits(rho, start.size - 1)
    bound = make_bound(most, empty=empty or classes is not None)  # who knows the class knows something
    return Task(column=column, baskets=baskets, bound=bound, rho=rho, in_baskets=inside, classes=classes)


def limits(rho: Fraction, n_records: int) -> NDArray[np.int64]:
    """Return how many of s records may hold a sensitive item, for s = 0 to n.

    >>> limits(Fraction(1, 3), 7).tolist()
    [0, 0, 0, 1, 1, 1, 2, 2]
    """
    return np.array([s * rho.numerator // rho.denominator for s in range(n_records + 1)], dtype=np.int64)


def in_parts(
    task: Task,
    kept: Kept,
    cuts: NDArray[np.int64],
    workplace: Workplace,
    work: Callable[[Task, Kept, int, Workplace], None],
) -> None:
    """Let `work` change `kept` part by part, side by side: a union of safe parts is safe.

    Part i is the records cuts[i]:cuts[i + 1]; `work` hears its number, too, and where it is done.
    """
    start = task.baskets.start

    def work_on(number: int, place: Workplace) -> None:
        first, last = int(cuts[number]), int(cuts[number + 1])
        of_part = slice(int(start[first]), int(start[last]))
        baskets = make_baskets(
            start[first : last + 1] - start[first],
            task.baskets.items[of_part],
            task.baskets.sensitive,
            task.baskets.code,
        )
        bound = make_bound(task.bound.most[: last - first + 1], empty=task.bound.empty)
        work(replace(task, baskets=baskets, bound=bound, in_baskets=None, classes=None), kept[of_part], number, place)

    side_by_side(work_on, range(cuts.size - 1), workplace)


def facts_together(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what there is to say of columns that were made safe part by part: counts add up.

    >>> parts = [{"items": {"withheld": 1, "sensitive_occurrences": 2, "relative_to_dropping_all_sensitive": 0.5}}] * 2
    >>> facts_together(parts)["items"]["withheld"], facts_together(parts)["items"]["relative_to_dropping_all_sensitive"]
    (2, 0.5)
    """
    found: dict[str, Any] = {}
    for name in parts[0]:
        told = [part[name] for part in parts]
        summed = {key: _summed([each[key] for each in told]) for key in told[0]}
        summed["relative_to_dropping_all_sensitive"] = summed["withheld"] / max(summed["sensitive_occurrences"], 1)
        found[name] = summed
    return found


def _summed(values: Sequence[Any]) -> Any:
    if isinstance(values[0], bool):
        return any(values)
    return sum(values) if isinstance(values[0], int) else values[0]


def withheld_facts(task: Task, kept: Kept) -> dict[str, Any]:
    """Return what the holder's report says: how many occurrences were withheld, and of which sort."""
    secret = task.baskets.sensitive[task.baskets.items]
    withheld = int((~kept).sum())
    n_secret = int(secret.sum())
    return {
        "records": int(task.baskets.start.size - 1),
        "occurrences": int(kept.size),
        "withheld": withheld,
        "sensitive_occurrences": n_secret,
        "sensitive_withheld": int((~kept & secret).sum()),
        "relative_to_dropping_all_sensitive": withheld / n_secret if n_secret else 0.0,
    }
