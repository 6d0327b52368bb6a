from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from sfumato.attacks.base import Asked, Finding
from sfumato.attacks.knowledge_linking import KnowledgeLinking, terms_of
from sfumato.data.release import Release
from sfumato.models.judging.coverage import coverage


@dataclass(frozen=True, kw_only=True)
class PartialMatching(KnowledgeLinking):
    """Look terms up as before, and where no label has all terms of somebody, take those that lack just one of them.

    This is what somebody does who takes a misspelt or a wrong term for what it is. Records that some label explains
    are looked up as before, so it tells what the others give away. A plan covers it with `misses = 1`.

    >>> from sfumato.data.knowledge import Knowledge, PublicInputs
    >>> public = PublicInputs(Knowledge.from_rows([("flu", ["cough", "fever", "ache"]), ("gout", ["joint pain"])]))
    >>> table = {"age": ["20"], "symptoms": [["cough", "fever", "joint pain"]]}
    >>> release = Release.of(table, age="quasi-identifier", symptoms="quasi-sensitive")
    >>> for attack in (KnowledgeLinking(), PartialMatching()):
    ...     print(attack.on(replace(release, public=public)))
    0 of 1 exposed, confidence up to 0 %
    1 of 1 exposed, confidence up to 100 %
    """

    name: ClassVar[str] = "partial-matching"
    answered_by: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str] = "Looking terms up, all but one of them"
    intruder: ClassVar[str] = (
        "Looks the terms of a person's group up in the knowledge table; where no label has all terms of somebody, "
        "takes those that lack one of them, and believes in the likeliest label."
    )

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield the attack where records are that no label explains, and the plan speaks of labels that do."""
        knowledge, terms = release.public.knowledge, terms_of(release)
        if knowledge is None or knowledge.misses or terms is None:
            return
        if coverage(terms, knowledge).unexplained:
            yield cls(threshold=asked.threshold)

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""
        knowledge = table.public.knowledge
        if knowledge is None:
            return super().on(table)  # which says what is missing
        overlooking = replace(knowledge, misses=1)
        return super().on(replace(table, public=replace(table.public, knowledge=overlooking)))
