"""How a release is made: the list of anonymizers."""

from __future__ import annotations

from sfumato.anonymizers.base import Anonymizer
from sfumato.anonymizers.local_recoding import LocalRecoding
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.data.schema import Role, Schema

ANONYMIZERS: dict[str, type[Anonymizer]] = {anonymizer.name: anonymizer for anonymizer in (LocalRecoding, Mondrian)}


def default_anonymizer(schema: Schema) -> tuple[str, str]:
    """Return the anonymizer for the classic models, and why: labels of hierarchies where there are any, else ranges."""
    quasi_identifiers = [spec for spec in schema if spec.role is Role.QUASI_IDENTIFIER]
    bare = [spec.name for spec in quasi_identifiers if spec.hierarchy is None]
    if bare or schema.rest is Role.QUASI_IDENTIFIER:
        which = f"no hierarchy for {', '.join(bare)}" if bare else "some quasi-identifiers are not named"
        return Mondrian.name, f"{which}, so ranges and value sets are published"
    return LocalRecoding.name, "every quasi-identifier has a hierarchy, so its labels are published"
