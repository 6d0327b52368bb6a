"""Knowledge tables: made from events, lists, ontologies or the data themselves, and held against a plan's data."""

from sfumato.knowledge.building import Build as Build
from sfumato.knowledge.building import Built as Built
from sfumato.knowledge.building import lengths as lengths
from sfumato.knowledge.checking import Checked as Checked
from sfumato.knowledge.checking import check as check
