"""How a release is made: the list of anonymizers."""

from __future__ import annotations

from sfumato.anonymizers.base import Anonymizer
from sfumato.anonymizers.drop_sensitive import DropSensitive
from sfumato.anonymizers.global_suppression import GlobalSuppression
from sfumato.anonymizers.local_recoding import LocalRecoding
from sfumato.anonymizers.masking import Masking
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.partial_suppression import PartialSuppression
from sfumato.anonymizers.permutation import Permutation
from sfumato.anonymizers.randomization import Randomization
from sfumato.anonymizers.td_control import TdControl
from sfumato.anonymizers.term_suppression import TermSuppression
from sfumato.data.schema import Role, Schema
from sfumato.models.base import PrivacyModel

# The first that aims at a model is the model's default.
ANONYMIZERS: dict[str, type[Anonymizer]] = {
    anonymizer.name: anonymizer
    for anonymizer in (
        TermSuppression,
        PartialSuppression,
        GlobalSuppression,
        TdControl,
        Permutation,
        DropSensitive,
        Randomization,
        LocalRecoding,
        Mondrian,
        Masking,
    )
}


def aiming_at(model: PrivacyModel) -> tuple[str, ...]:
    """Return the anonymizers that can meet a requirement, the default first."""
    return tuple(name for name, anonymizer in ANONYMIZERS.items() if isinstance(model, anonymizer.aims_at))


def default_of_classes(schema: Schema, *, with_terms: bool = False) -> tuple[str, str]:
    """Return the anonymizer of quasi-identifiers, and why: labels of hierarchies where there are any, else ranges.

    Before terms are removed (`with_terms`) it is always the one whose groups can be merged again.
    """
    if with_terms:
        return Mondrian.name, "terms are removed afterwards, and its groups can be merged where that fails"
    quasi_identifiers = [spec for spec in schema if spec.role is Role.QUASI_IDENTIFIER]
    bare = [spec.name for spec in quasi_identifiers if spec.hierarchy is None]
    if bare or schema.rest is Role.QUASI_IDENTIFIER:
        which = f"no hierarchy for {', '.join(bare)}" if bare else "some quasi-identifiers are not named"
        return Mondrian.name, f"{which}, so ranges and value sets are published"
    return LocalRecoding.name, "every quasi-identifier has a hierarchy, so its labels are published"
