"""QS t-closeness: terms must not move an intruder's belief about the label behind them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.errors import DataError, PolicyError
from sfumato.models.base import Verdict, plain_number
from sfumato.models.judging.classes import classes_of
from sfumato.models.judging.linking import (
    Index,
    Judgement,
    beliefs,
    distances,
    public_inputs,
    public_knowledge,
    quoted,
    term_column,
)
from sfumato.parameters import column_names, exact_fraction

TOLERANCE = 1e-9  # distances are sums of floats; a group passes up to t plus this


@dataclass(frozen=True, kw_only=True)
class QSCloseness:
    """In every group, what an intruder believes about labels stays within a distance `t` of what was believed before.

    Beliefs follow from the released terms and the knowledge table as in `QSDiversity`. The prior is public: given with
    the knowledge table, or estimated once from the original. The distance is Euclidean, over all labels of the table,
    so no single belief moves by more than `t`. A group in which nothing is linked to any label passes.

    Source: Shi, Xiong and Fung (2010).
    Limit: what the prior gives away, it gives away; and removing as little as possible tells where removal was needed.

    >>> import pyarrow as pa
    >>> from sfumato.data.knowledge import Knowledge, PublicInputs
    >>> from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
    >>> from sfumato.models.judging.linking import with_public
    >>> schema = Schema({
    ...     "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
    ...     "symptoms": ColumnSpec(name="symptoms", role=Role.QUASI_SENSITIVE, kind=Kind.SET),
    ... })
    >>> rows = [("flu", ["cough", "fever"]), ("angina", ["fever", "sore throat"])]
    >>> knowledge = Knowledge.from_rows(rows, weight={"flu": 0.75, "angina": 0.25})
    >>> model = QSCloseness(column="symptoms", t=0.4)
    >>> def judged(*symptoms):
    ...     release = Release.from_table(pa.table({"age": ["20-29"] * len(symptoms), "symptoms": symptoms}), schema)
    ...     return model.audit(with_public(release, PublicInputs(knowledge)))
    >>> print(judged("fever", "fever"))
    qs-closeness of 'symptoms' holds: largest distance 0.3536, required at most 0.4 (1 group)
    >>> print(judged("fever|sore throat"))
    qs-closeness of 'symptoms' FAILS: largest distance 1.061, required at most 0.4 (1 of 1 group, 1 row)
    """

    name: ClassVar[str] = "qs-closeness"
    judged_role: ClassVar[Role] = Role.QUASI_SENSITIVE

    column: str | tuple[str, ...]  # several are read together
    t: float | str | Fraction  # 0..sqrt(2); becomes an exact fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", column_names(self.column, "column of qs-closeness"))
        t = exact_fraction(self.t, "t of qs-closeness")
        if t < 0 or t * t > 2:
            raise PolicyError(
                f"t of qs-closeness must be from 0 to the square root of 2, but was given as {self.t!r}: "
                "no two distributions are farther apart.\nWrite a number such as 0.4."
            )
        object.__setattr__(self, "t", t)

    @property
    def exact_t(self) -> Fraction:
        """The parameter t as it was written."""
        return Fraction(self.t)

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        return (
            f"Whoever looks up {quoted(self.judged_columns)} in the knowledge table changes their belief about "
            f"any person and any label by at most {plain_number(self.exact_t)}."
        )

    @property
    def limit(self) -> str:
        """An attack that it does not stop."""
        return (
            "The prior is taken as known to all: what it gives away, it gives away. And an intruder who matches terms "
            "in part, knows which terms a person does not have, or knows more than this table is not covered."
        )

    @property
    def judged_columns(self) -> tuple[str, ...]:
        """The columns of terms."""
        return (self.column,) if isinstance(self.column, str) else self.column

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by what its terms are linked to in each group."""
        column = term_column(release, self)
        knowledge = public_knowledge(release, self)
        prior = public_inputs(release).belief
        if prior is None:
            raise DataError(
                f"qs-closeness is asked of column {quoted(self.judged_columns)}, but nothing says what was believed "
                "before.\n"
                "Give the knowledge table a column of weights, or estimate the prior from the original."
            )
        t = float(self.exact_t)
        classes = classes_of(release)
        judgement = Judgement(classes, knowledge.unlinked)
        for found in beliefs(classes.class_of, classes.size.size, column, Index(knowledge)):
            distance = distances(found, prior, knowledge.unlinked, exact_near=t)
            judgement.add(found, distance <= t + TOLERANCE, distance)
        return judgement.verdict(
            self,
            t,
            "largest distance",
            labels=knowledge.n_labels,
            prior="given" if knowledge.weight is not None else "estimated",
            tolerance=TOLERANCE,
        )
