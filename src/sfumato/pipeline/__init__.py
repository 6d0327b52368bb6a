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

from sfumato.pipeline.case import Case as Case
from sfumato.pipeline.case import Outcome as Outcome
from sfumato.pipeline.clock import Clock as Clock
from sfumato.pipeline.elsewhere import asking as asking
from sfumato.pipeline.elsewhere import columns_at as columns_at
from sfumato.pipeline.elsewhere import engine_of as engine_of
from sfumato.pipeline.elsewhere import make_elsewhere as make_elsewhere
from sfumato.pipeline.facts import read_facts as read_facts
from sfumato.pipeline.facts import versions as versions
from sfumato.pipeline.facts import without_values as without_values
from sfumato.pipeline.judging import Seen as Seen
from sfumato.pipeline.keeping import Kept as Kept
from sfumato.pipeline.keeping import asked as asked
