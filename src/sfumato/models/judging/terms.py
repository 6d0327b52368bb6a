"""The terms that a requirement is about, and the public table that they are looked up in; refused when unfit."""

from __future__ import annotations

import numpy as np

from sfumato.data.dataset import CodedSets
from sfumato.data.knowledge import Knowledge
from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.data.terms import TermColumns
from sfumato.errors import DataError
from sfumato.models.base import PrivacyModel
from sfumato.models.judging.classes import judged_column


def public_knowledge(release: Release, model: PrivacyModel) -> Knowledge:
    """Return the knowledge table that the intruder uses, or raise."""
    knowledge = release.public.knowledge
    if knowledge is None:
        raise DataError(
            f"{', '.join(model.judged_columns)}: {model.name} was asked for, but no knowledge table was given.\n"
            "It says which labels an intruder links terms to: name one under [knowledge] in the plan."
        )
    return knowledge


def term_column(release: Release, model: PrivacyModel) -> CodedSets:
    """Return the terms that a model is about, of one column or of several, or raise when they cannot be judged."""
    for name in model.judged_columns:
        _check_column(release, name, model)
    terms = TermColumns.of_release(release, model.judged_columns)
    for name in terms.not_sets:
        raise DataError(
            f"{model.name} is asked of column {name!r}, which holds single values, not sets of terms.\n"
            'Declare kind = "set" and the separator between terms, or present = "yes" if it is binary, or ask it of '
            "another column."
        )
    return terms.sets


def _check_column(release: Release, name: str, model: PrivacyModel) -> None:
    column = judged_column(release, name, model, Role.QUASI_SENSITIVE)
    asked = f"{model.name} is asked of column {name!r}"
    if column.role is Role.QUASI_IDENTIFIER:
        raise DataError(
            f"{asked}, which is a quasi-identifier: all rows of a group have the same terms in it.\n"
            "Give it the role 'quasi-sensitive', or ask it of another column."
        )
    if isinstance(column, CodedSets):
        check_sets(column, release.n_rows)


def check_sets(column: CodedSets, n_rows: int) -> None:
    """Raise unless every row of a column of sets is there, and all its members have labels."""
    start, items = column.start, column.items
    if start.shape != (n_rows + 1,):
        raise DataError(f"Column {column.name!r} has {start.size - 1:,} rows, the release {n_rows:,}.\nRead it again.")
    whole = start[0] == 0 and start[-1] == items.size and not (np.diff(start) < 0).any()
    if not whole or (items.size and not 0 <= int(items.min()) <= int(items.max()) < len(column.labels)):
        raise DataError(f"Column {column.name!r} has rows whose terms have no label.\nMake the release again.")
