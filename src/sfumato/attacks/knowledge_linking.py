from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sfumato.attacks.base import Asked, Attack, Finding, believing
from sfumato.data.dataset import CodedSets
from sfumato.data.knowledge import Knowledge
from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.data.terms import TermColumns
from sfumato.errors import DataError
from sfumato.models.judging.belief_measures import largest_and_rest
from sfumato.models.judging.beliefs import beliefs
from sfumato.models.judging.classes import classes_of
from sfumato.models.judging.links import Index

NEAR = 1e-9  # beliefs are sums of floats: one that is no farther above the threshold than this does not exceed it


@dataclass(frozen=True, kw_only=True)
class KnowledgeLinking(Attack):
    """Look up the quasi-sensitive terms of a person's group in a public table, and believe in the likeliest label.

    A record is linked to every label that explains all its terms, all equally likely; a person may be any record of
    their group that some label explains. After Shi, Xiong and Fung (2010). A guess takes the likeliest label for all.

    >>> from dataclasses import replace
    >>> from sfumato.data.knowledge import PublicInputs
    >>> public = PublicInputs(Knowledge.from_rows([("flu", ["cough", "fever"]), ("angina", ["fever", "sore throat"])]))
    >>> table = {"age": ["20", "20", "30"], "symptoms": [["cough"], ["fever"], ["fever"]]}
    >>> release = Release.of(table, age="quasi-identifier", symptoms="quasi-sensitive")
    >>> print(KnowledgeLinking().on(replace(release, public=public)))
    2 of 3 exposed, confidence up to 75 %
    """

    name: ClassVar[str] = "knowledge-linking"
    answered_by: ClassVar[tuple[str, ...]] = ("qs-diversity", "qs-closeness")
    title: ClassVar[str] = "Looking terms up in public knowledge"
    intruder: ClassVar[str] = (
        "Knows that a person is in the table and all their quasi-identifiers, finds the group, looks its terms up "
        "in the knowledge table, and believes in the likeliest label."
    )

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield one attack where there are terms and a table to look them up in."""
        if release.public.knowledge is not None and terms_of(release) is not None:
            yield cls(threshold=asked.threshold)

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""
        knowledge, terms = known_terms(table, "looked up")
        classes = classes_of(table)
        sure = np.zeros(classes.size.size)
        unlinked = 0
        for found in beliefs(classes.class_of, classes.size.size, terms, Index(knowledge)):
            sure[found.group] = largest_and_rest(found, 1)[0] / found.divisor("linked")
            unlinked += int((found.rows - found.linked).sum())
        return Finding.of(
            sure,
            sure > self.threshold + NEAR,
            classes.size,
            labels=knowledge.n_labels,
            groups=int(classes.size.size),
            certain=int(classes.size[sure >= 1 - NEAR].sum()),
            records_without_link=unlinked,
        )

    def guess(self, table: Release) -> Finding | None:
        """Take the likeliest label for everybody."""
        belief = table.public.belief
        if belief is None:
            return None
        sure = float(belief.max())
        return believing(self, sure, table.total, slack=NEAR)


def terms_of(table: Release) -> CodedSets | None:
    """Return the terms of all quasi-sensitive columns, read together; None when there are none."""
    names = [column.name for column in table.columns.values() if column.role is Role.QUASI_SENSITIVE]
    if not names:
        return None
    terms = TermColumns.of_release(table, names)
    return None if terms.not_sets else terms.sets


def known_terms(table: Release, what: str) -> tuple[Knowledge, CodedSets]:
    """Return the knowledge that comes with a table, and its terms, or raise where it lacks one of them."""
    knowledge, terms = table.public.knowledge, terms_of(table)
    if knowledge is None or terms is None:
        raise DataError(
            f"Terms were to be {what}, but the table has no quasi-sensitive terms, or comes without knowledge.\n"
            "Give a column the role 'quasi-sensitive' and name a table under [knowledge] in the plan."
        )
    return knowledge, terms
