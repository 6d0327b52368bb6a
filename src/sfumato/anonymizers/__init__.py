"""How a release is made: the list of anonymizers."""

from __future__ import annotations

from sfumato.anonymizers.base import Anonymizer
from sfumato.anonymizers.full_domain import FullDomain
from sfumato.anonymizers.item_generalization import ItemGeneralization
from sfumato.anonymizers.local_recoding import LocalRecoding
from sfumato.anonymizers.masking import Masking
from sfumato.anonymizers.microaggregation import Microaggregation
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.partial_suppression import PartialSuppression
from sfumato.anonymizers.pram import Pram
from sfumato.anonymizers.published.apriori_anonymization import AprioriAnonymization
from sfumato.anonymizers.published.drop_sensitive import DropSensitive
from sfumato.anonymizers.published.global_suppression import GlobalSuppression
from sfumato.anonymizers.published.permutation import Permutation
from sfumato.anonymizers.published.rating import Rating
from sfumato.anonymizers.published.td_control import TdControl
from sfumato.anonymizers.randomization import Randomization
from sfumato.anonymizers.term_suppression import TermSuppression

# The first that meets what is asked, and has a reason to be taken (`why`), is the default.
ANONYMIZERS: dict[str, type[Anonymizer]] = {
    anonymizer.name: anonymizer
    for anonymizer in (
        TermSuppression,
        PartialSuppression,
        ItemGeneralization,
        AprioriAnonymization,
        GlobalSuppression,
        TdControl,
        Permutation,
        DropSensitive,
        Randomization,
        Rating,
        Pram,
        LocalRecoding,
        Mondrian,
        FullDomain,
        Microaggregation,
        Masking,
    )
}
