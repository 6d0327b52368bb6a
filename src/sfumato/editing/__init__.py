"""A plan as the text that people wrote: one thing is changed, the rest stays to the letter."""

from sfumato.editing.blocks import Place
from sfumato.editing.document import PlanDocument, counted, named, problems
from sfumato.editing.history import History, Step
from sfumato.editing.lines import OnLine, on_lines

__all__ = ["History", "OnLine", "Place", "PlanDocument", "Step", "counted", "named", "on_lines", "problems"]
