"""From a table to the first draft of its plan."""

from sfumato.drafting.roles import Guess as Guess
from sfumato.drafting.writing import Draft as Draft
from sfumato.drafting.writing import draft as draft
from sfumato.drafting.writing import draft_table as draft_table
