"""Where hierarchies come from: files, trees in the plan, and builders that derive them from the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sfumato.data.hierarchy import Hierarchy


class HierarchySource(Protocol):
    """Something that yields a hierarchy for the values of a column."""

    def build(self, labels: Sequence[str], name: str, *, secret: bool = False) -> Hierarchy:
        """Return the hierarchy; `name` opens error messages, `secret` keeps values out of them."""
