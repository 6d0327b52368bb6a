"""A plan as the text that people wrote: one thing is changed, the rest stays to the letter."""

from sfumato.editing.blocks import Place
from sfumato.editing.document import PlanDocument, named, problems
from sfumato.editing.history import History, Step

__all__ = ["History", "Place", "PlanDocument", "Step", "named", "problems"]
