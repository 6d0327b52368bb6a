"""From models to what kernels test: k-anonymity, l-diversity, t-closeness and their kin, of classes of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.sets_of_values import tests_of_sets
from sfumato.data.dataset import CodedColumn, Dataset, counted, starts_of
from sfumato.data.hierarchy import ROOT
from sfumato.data.kinds import as_number, exact_number
from sfumato.data.schema import Kind, Role
from sfumato.errors import DataError, PolicyError, Unsatisfiable
from sfumato.kernels.classes.conditions import (
    DISTINCT,
    ENTROPY,
    EQUAL,
    FREQUENCY,
    HIERARCHICAL,
    LIMITED,
    MARGIN,
    ORDERED,
    RECURSIVE,
    Condition,
    Conditions,
    first_failing,
    make_conditions,
)
from sfumato.models import BetaLikeness, DeltaDisclosure, KAnonymity, LDiversity, TCloseness
from sfumato.models.base import Policy, PrivacyModel, describe

SensitiveModel: TypeAlias = LDiversity | TCloseness | BetaLikeness | DeltaDisclosure

CLASS_MODELS: tuple[type[Any], ...] = (KAnonymity, LDiversity, TCloseness, BetaLikeness, DeltaDisclosure)
OR_MONDRIAN = ', or choose anonymizer = "mondrian"'  # what else may be done where hierarchies are missing


def knows_secrets(model: PrivacyModel) -> bool:
    """Whether something is asked for who knows other sensitive columns of a person."""
    return isinstance(model, LDiversity | TCloseness) and bool(model.known)


@dataclass(frozen=True, eq=False)
class Asked:
    """What a policy asks of every class, in the arrays of kernels/conditions.py."""

    conditions: Conditions
    bar_of: NDArray[np.int32]  # (s, n): each row's place in a histogram, for each sensitive column
    models: tuple[SensitiveModel, ...]  # (q,): where each condition comes from
    among: Callable[[NDArray[np.int64], int], Conditions]  # what is asked of so many rows with this histogram
    weights: NDArray[np.int64] | None = None  # (n,): how many rows of the table each row stands for
    # Where these are a region of a table, whose histogram is the reference: their own histogram and number.
    own: tuple[NDArray[np.int64], int] | None = None


def conditions_for(dataset: Dataset, policy: Policy, rows: NDArray[np.int64] | None = None) -> Asked:
    """Return what a policy asks of every class of the dataset, or of some of its rows; raise what is wrong with it."""
    strange = sorted({model.name for model in policy if not isinstance(model, CLASS_MODELS) or knows_secrets(model)})
    if strange:
        raise PolicyError(
            f"Classes of rows cannot be tested for {', '.join(strange)}.\n"
            f"They can be tested for {', '.join(model.name for model in CLASS_MODELS)}.\n"
            "Name another anonymizer for the requirement."
        )
    models: tuple[SensitiveModel, ...] = policy.of(LDiversity, TCloseness, BetaLikeness, DeltaDisclosure)
    names = judged_in_classes(policy)
    columns = [_sensitive(dataset, name, models) for name in names]
    codes = [column.codes if rows is None else column.codes[rows] for column in columns]
    sizes = [len(column.labels) for column in columns]
    n_rows, weights = dataset.n_rows if rows is None else rows.size, dataset.weights_in(rows)
    k, of_sets = policy.k(), list[tuple[SensitiveModel, Condition]]()
    plain = []
    for model in models:
        at = names.index(model.sensitive)
        tests = tests_of_sets(columns[at], codes[at], model, k)
        if tests is None:
            plain.append((model, at))
            continue
        k = max(k, tests.least)
        for code, size, condition in tests.columns:
            of_sets.append((model, condition._replace(column=len(codes))))
            codes.append(code)
            sizes.append(size)

    def among(reference: NDArray[np.int64], n_left: int) -> Conditions:
        counts = np.split(reference, np.cumsum(sizes)[:-1]) if sizes else []
        wanted = [_condition(dataset, model, place, counts[place]) for model, place in plain]
        return make_conditions(k, n_left, counts, [*wanted, *(condition for _, condition in of_sets)])

    counts = [counted(code, size, weights) for code, size in zip(codes, sizes, strict=True)]
    reference = np.concatenate([np.zeros(0, dtype=np.int64), *counts])
    total = n_rows if weights is None else int(weights.sum())
    own = None
    if dataset.whole is not None:
        own = reference, total
        reference = np.concatenate([np.zeros(0, dtype=np.int64), *(column.occurrences for column in columns)])
        total = dataset.whole
    asked = tuple(model for model, _ in (*plain, *of_sets))
    return Asked(among(reference, total), bars_of(codes, sizes, n_rows), asked, among, weights, own)


def bars_of(codes: Sequence[NDArray[np.int32]], sizes: Sequence[int], rows: int) -> NDArray[np.int32]:
    """Return each row's bar in the histogram for each sensitive column, shape (columns, rows)."""
    offset = starts_of(sizes)
    bar_of = np.empty((len(codes), rows), dtype=np.int32)
    for column, values in enumerate(codes):
        bar_of[column] = values + offset[column]
    return bar_of


def refuse_bare(name: str, columns: Sequence[CodedColumn], shown: str = "labels", otherwise: str = "") -> None:
    """Raise where a quasi-identifier has no hierarchy, for an anonymizer that publishes labels or levels of these."""
    bare = [column.name for column in columns if column.tree is None]
    if bare:
        raise DataError(
            f"{name} publishes {shown} of hierarchies, but {len(bare)} quasi-identifier(s) have none: "
            f"{', '.join(repr(each) for each in bare)}.\nGive each a hierarchy: {{ widths = [5, 10, 20] }} puts "
            f"numbers into bins, {{ flat = true }} is the simplest{otherwise}."
        )


def refuse_hopeless(dataset: Dataset, asked: Asked, drop_rows: float = 0) -> None:
    """Raise Unsatisfiable when not even the whole table as one class has what is asked of every class.

    Who may drop a share of the rows, but drops them for the sake of detail only, is refused as well.
    """
    conditions = asked.conditions
    histogram, rows = asked.own or (conditions.reference, conditions.rows)
    if not rows:
        return
    who = "rows" if dataset.rows is None else "people"
    if rows < conditions.k:
        raise Unsatisfiable(
            f"Classes of at least {conditions.k:,} {who} are asked for; the table has {rows:,}.\n"
            f"Lower k, or gather more {who}."
        )
    failing = first_failing(conditions, 0, conditions.table.shape[0], histogram, rows)
    if failing >= 0:
        model = asked.models[failing]
        _, first, last = conditions.table[failing, :3]
        values = int(np.count_nonzero(conditions.reference[first:last]))
        raise Unsatisfiable(
            f"{in_words(model)} does not even hold for all {rows:,} {who} as one class: column {model.sensitive!r} "
            + (
                "has too few values to tell people apart who have several.\n"
                if dataset.column(model.sensitive).several
                else f"has {values:,} different value(s), too few or too unevenly spread.\n"
            )
            + (
                f"No way to form classes of all {who} can satisfy it, and drop_rows takes {who} out only where others "
                "keep more detail so. Ask for less, take out some of the most frequent value yourself, or use "
                "full-domain, which drops classes that fail."
                if drop_rows and getattr(model, "kind", None) != "distinct"
                else "No way to form classes can satisfy it. Ask for less, or leave the requirement out."
            )
        )


def hold_together(dataset: Dataset, policy: Policy) -> Callable[[NDArray[np.int64], int], bool]:
    """Return whether some rows of a table hold as one class, given their histogram and their number.

    A histogram holds the counts of each column of `judged_in_classes`, one after the other. What no class of rows can
    be tested for is left out.
    """
    alone = (model for model in policy if isinstance(model, CLASS_MODELS) and not knows_secrets(model))
    conditions = conditions_for(dataset, Policy(tuple(alone))).conditions

    return partial(holds, conditions)


def holds(conditions: Conditions, histogram: NDArray[np.int64], rows: int) -> bool:
    """Whether so many rows with this histogram of sensitive values have, as one class, what is asked of every class."""
    if rows < conditions.k:
        return False
    return conditions.size_only or bool(first_failing(conditions, 0, len(conditions.table), histogram, rows) < 0)


def judged_in_classes(policy: Policy) -> tuple[str, ...]:
    """Return the columns whose values are counted in classes."""
    models: tuple[SensitiveModel, ...] = policy.of(LDiversity, TCloseness, BetaLikeness, DeltaDisclosure)
    return tuple(dict.fromkeys(model.sensitive for model in models))


def is_hopeless(conditions: Conditions) -> bool:
    """Whether not even all rows as one class have what is asked of every class."""
    return not holds(conditions, conditions.reference, conditions.rows)


def in_words(model: PrivacyModel) -> str:
    """Return a requirement with its parameters."""
    given = describe(model)
    name = given.pop("model")
    return f"{name} ({', '.join(f'{key}={value}' for key, value in given.items())})"


def _sensitive(dataset: Dataset, name: str, models: tuple[SensitiveModel, ...]) -> CodedColumn:
    column = dataset.column(name)
    if column.role is Role.QUASI_IDENTIFIER:
        raise DataError(
            f"A requirement is about column {name!r}, which is a quasi-identifier: it is the same throughout a class.\n"
            "Give it the role 'sensitive', or ask it of another column."
        )
    if any(label == ROOT for code, label in enumerate(column.labels) if code != column.missing):
        asked = ", ".join(sorted({model.name for model in models if model.sensitive == name}))
        raise DataError(
            f"{asked} is asked of column {name!r}, which holds {ROOT!r}: readers of a release take that for withheld.\n"
            f"Give these cells another spelling, or list {ROOT!r} under missing = [...]."
        )
    return column


def _condition(dataset: Dataset, model: SensitiveModel, at: int, counts: NDArray[np.int64]) -> Condition:
    if isinstance(model, BetaLikeness | DeltaDisclosure):
        rows = int(counts.sum())
        return Condition(LIMITED, at, shares=[_shares(model, count, rows) for count in counts.tolist()])
    if isinstance(model, LDiversity):
        if model.kind == "distinct":
            return Condition(DISTINCT, at, l=int(model.exact_l))
        if model.kind == "recursive":
            return Condition(RECURSIVE, at, l=int(model.exact_l), bound=model.exact_c)
        return Condition(ENTROPY if model.kind == "entropy" else FREQUENCY, at, bound=model.exact_l)
    column = dataset.column(model.sensitive)
    if model.distance == "equal":
        return Condition(EQUAL, at, bound=model.exact_t)
    if model.distance == "ordered":
        rank, places = _ranks(dataset, column, counts)
        return Condition(ORDERED, at, bound=model.exact_t, rank=rank, places=places)
    if column.tree is None:
        raise DataError(
            f"The hierarchical distance is asked of column {column.name!r}, which has no hierarchy.\n"
            'Give it one in the plan, or ask for distance = "equal".'
        )
    return Condition(
        HIERARCHICAL, at, bound=model.exact_t, parent=column.tree.parent.tolist(), level=column.tree.level.tolist()
    )


def _shares(model: BetaLikeness | DeltaDisclosure, count: int, rows: int) -> tuple[Fraction | float, Fraction | float]:
    """Return the lowest and the highest share that a value may have in a class; floats are logarithms' neighbours."""
    if count in (0, rows):
        return Fraction(0), Fraction(1)  # what is in no row, or in all of them, is so in every class
    share = Fraction(count, rows)
    if isinstance(model, DeltaDisclosure):
        times = math.exp(min(float(model.exact_delta), 700.0))
        low: Fraction | float = float(share) / times
        high: Fraction | float = float(share) * times
    else:
        low, gain = Fraction(0), -math.log(share)
        enhanced = model.kind == "enhanced" and gain < float(model.exact_beta) * (1 + MARGIN)
        high = float(share) * (1 + gain) if enhanced else share * (1 + model.exact_beta)
    return low, min(high, Fraction(1))


def _ranks(dataset: Dataset, column: CodedColumn, counts: NDArray[np.int64]) -> tuple[list[int], int]:
    """Return the place of each code in the order of values, and how many places there are; missing comes last.

    Without a domain, what counts is what occurs.
    """
    spec = dataset.schema.spec(column.name)
    domain = spec.domain if spec is not None else None
    declared: list[Any] | None = None if domain is None else list(domain)
    known: list[Any] = [label for code, label in enumerate(column.labels) if code != column.missing]
    if column.kind is Kind.NUMBER:
        if domain is not None and any(math.isnan(as_number(label)) for label in domain):
            raise DataError(
                f"Column {column.name!r} holds numbers, but its declared domain has values that are none.\n"
                'Correct the domain, or ask for distance = "equal".'
            )
        known = [exact_number(label) for label in known]
        declared = sorted({exact_number(label) for label in domain}) if domain is not None else None
    elif domain is None and column.hierarchy is None:
        raise DataError(
            f"The ordered distance is asked of column {column.name!r}, but nothing says in which order its values "
            'stand.\nGive it domain = [lowest, ..., highest], or ask for distance = "equal".'
        )
    # Codes stand in order already, unless a domain says otherwise.
    occurring = [value for value, count in zip(known, counts.tolist(), strict=False) if count]
    order = dict.fromkeys(occurring if declared is None else declared)
    place = {value: rank for rank, value in enumerate(order)}
    rank = [place.get(value, 0) for value in known]
    if column.missing < 0:
        return rank, len(order)
    return [*rank, len(order)], len(order) + bool(counts[column.missing])
