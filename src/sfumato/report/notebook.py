"""Pages inside a notebook: in a frame of their own, so that neither page nor notebook changes the other's looks."""

from __future__ import annotations

import html
from dataclasses import dataclass


@dataclass(frozen=True, repr=False)
class Framed:
    """A page that a notebook shows where it is the value of a cell."""

    page: str
    height: int  # in pixels of the screen

    def __repr__(self) -> str:
        return f"<Framed: a page of {len(self.page):,} characters, for notebooks; run.report(path) writes it to a file>"

    def _repr_html_(self) -> str:
        # Without rights: no script, no form, no way out of the frame.
        return (
            f'<iframe sandbox="" srcdoc="{html.escape(self.page)}" title="sfumato" '
            f'style="width:100%;height:{self.height}px;border:0"></iframe>'
        )
