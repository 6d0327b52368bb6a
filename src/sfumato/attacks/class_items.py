"""What somebody infers of sensitive items who finds a person's class, and perhaps knows some items besides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import Asked, AttackOfColumn, Finding
from sfumato.attacks.rule_inference import MOST_KNOWN, RuleInference
from sfumato.data.dataset import CodedSets
from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.models.judging.classes import classes_of
from sfumato.models.rho_uncertainty import with_class


@dataclass(frozen=True, kw_only=True)
class ClassItems(AttackOfColumn):
    """Infer a sensitive item of a person from the class that their quasi-identifiers lead to.

    Of all records of the class, some hold the item: their share is the confidence. With `known`, items may be known
    besides, as in rule-inference: up to two and the class, or three items; each person is attacked with the luckiest
    choice. rho-uncertainty within classes bounds both. hkp-coherence within classes bounds the attack without known
    items.

    >>> table = {"age": ["20-29"] * 2 + ["30-39"] * 2, "basket": ["bread|wine", "milk|wine", "bread", "milk"]}
    >>> release = Release.of(table, age="quasi-identifier", basket={"role": "items", "sensitive_items": ("wine",)})
    >>> print(ClassItems(column="basket").on(release))
    2 of 4 exposed, confidence up to 100 %
    """

    name: ClassVar[str] = "class-items"
    answered_by: ClassVar[tuple[str, ...]] = ("rho-uncertainty",)
    answered_when: ClassVar[Mapping[str, str]] = {"within": "classes"}

    known: bool = False  # whether items are known, too

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.known:
            object.__setattr__(self, "answered_by", (*type(self).answered_by, "hkp-coherence"))

    @property
    def title(self) -> str:
        """What is attacked."""
        besides = " and up to two known items" if self.known else ""
        return f"Inferring a sensitive item of {self.column!r} from a person's class{besides}"

    @property
    def intruder(self) -> str:
        """What the intruder knows."""
        besides = f" and up to two items of a person in {self.column!r}, or three items" if self.known else ""
        return (
            f"Knows all quasi-identifiers{besides}, looks at all who share what is known, and names the "
            "sensitive item that most of these have."
        )

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield two attacks for each column of items, where there is something to find a class by."""
        for column in release.columns.values() if release.quasi_identifiers else ():
            if isinstance(column, CodedSets) and column.role is Role.ITEMS and column.sensitive is not None:
                for known in (False, True):
                    yield cls(column=column.name, known=known, threshold=asked.threshold)

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""
        column, class_of = table.sets(self.column), classes_of(table).class_of
        if self.known:
            few = RuleInference(column=self.column, known=MOST_KNOWN, threshold=self.threshold)
            return few.on_sets(with_class(column, class_of))
        sure = _shares(column, class_of)
        return Finding.of(sure, sure > self.threshold, None, known_items=0, certain=int((sure == 1).sum()))

    def guess(self, table: Release) -> Finding | None:
        """Name the most frequent sensitive item that the person has, from base rates alone."""
        return RuleInference(column=self.column, threshold=self.threshold).guess(table)


def _shares(column: CodedSets, class_of: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return for each record the largest share that one of its sensitive items has of its class, (n,)."""
    assert column.sensitive is not None
    secret = column.sensitive[column.items]
    row = column.row_of[secret]
    key = class_of[row].astype(np.int64) * len(column.labels) + column.items[secret]
    _, pair, count = np.unique(key, return_inverse=True, return_counts=True)
    size = np.bincount(class_of)
    sure = np.zeros(class_of.size)
    np.maximum.at(sure, row, count[pair] / size[class_of[row]])
    return sure
