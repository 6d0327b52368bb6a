"""Made-up data for demonstrations, experiments and tests."""

from sfumato.generators.baskets import baskets
from sfumato.generators.census import CensusColumn, census
from sfumato.generators.hospital import hospital
from sfumato.generators.patients import add_demo, patients, write_demo
from sfumato.generators.quasi_sensitive import TermRecords, knowledge_table, term_records, with_terms

__all__ = [
    "CensusColumn",
    "TermRecords",
    "add_demo",
    "baskets",
    "census",
    "hospital",
    "knowledge_table",
    "patients",
    "term_records",
    "with_terms",
    "write_demo",
]
