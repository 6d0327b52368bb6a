"""Reading who a record is about, where nobody took that out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

from sfumato.attacks.base import Asked, Attack, Finding
from sfumato.data.release import Release
from sfumato.data.strays import StrayKind


@dataclass(frozen=True, kw_only=True)
class PlainSight(Attack):
    """Whoever reads the table reads identifiers: everybody in it is exposed."""

    name: ClassVar[str] = "plain-sight"
    intruder: ClassVar[str] = "Knows nothing and reads the columns that the plan would have dropped."

    columns: tuple[str, ...]

    @property
    def title(self) -> str:
        """What is attacked, in a few words."""
        return f"Reading identifiers that stand in the table: {', '.join(map(repr, self.columns))}"

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield it where identifiers are in the table."""
        if columns := _identifiers(release):
            yield cls(columns=columns, threshold=asked.threshold)

    def on(self, table: Release) -> Finding:
        """Count everybody, if the table has one of the columns."""
        shown = bool(_identifiers(table))
        return Finding(people=table.total, exposed=table.total if shown else 0, worst=float(shown))

    def guess(self, table: Release) -> Finding | None:
        """Nobody guesses names."""
        return None


def _identifiers(table: Release) -> tuple[str, ...]:
    return tuple(stray.name for stray in table.strays if stray.kind is StrayKind.IDENTIFIER)
