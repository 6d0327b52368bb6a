"""From a plan to an audited release, and what can be asked about any table: the order of work.

| file | holds |
| --- | --- |
| `case.py` | a plan and its original, read at most once: make, audit, measure, attack |
| `clock.py` | where the time goes |
| `original.py` | the table that a plan is about, read, digested and encoded at most once |
| `known.py` | what everybody knows besides a release, gathered in this one place |
| `making.py` | from coded data to a release |
| `judging.py` | which table is judged, and by whom |
| `elsewhere.py` | which engine a plan runs on, or looks at a table; frames of a cluster |
| `facts.py` | the facts of a run as plain data: what run.json holds |
| `keeping.py` | what a run keeps in private/, and completes later |
"""

from sfumato.pipeline.case import Case, Outcome
from sfumato.pipeline.clock import Clock
from sfumato.pipeline.elsewhere import asking, columns_at, engine_of, make_elsewhere
from sfumato.pipeline.facts import read_facts, versions, without_values
from sfumato.pipeline.judging import Seen
from sfumato.pipeline.keeping import Kept, asked

__all__ = [
    "Case",
    "Clock",
    "Kept",
    "Outcome",
    "Seen",
    "asked",
    "asking",
    "columns_at",
    "engine_of",
    "make_elsewhere",
    "read_facts",
    "versions",
    "without_values",
]
