"""The holder's report: one HTML page that needs nothing but itself.

Everything on it comes from the facts of a run (private/run.json) and is escaped. A part whose facts are missing is left
out; a part whose facts cannot be read says so and leaves the others alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.report import (
    again,
    attacks,
    columns,
    losses,
    making,
    masks,
    pictures,
    promises,
    randomized,
    risks,
    rows,
    verdict,
)
from sfumato.report.reading import Facts, mapping, text

if TYPE_CHECKING:
    from jinja2 import Environment


class Part(Protocol):
    """What a module of this room holds that is a part of the page."""

    TITLE: str

    def content(self, facts: Facts) -> Any:
        """Return what its template shows, or nothing when the facts have nothing to say about it."""


# The parts after the verdict, in order; each is also the name of its module, of its template and of its anchor.
PARTS: dict[str, Part] = {
    "promises": promises,
    "risks": risks,
    "attacks": attacks,
    "masks": masks,
    "randomized": randomized,
    "rows": rows,
    "losses": losses,
    "pictures": pictures,
    "columns": columns,
    "making": making,
    "again": again,
}


# Characters that would turn the text around them about, or that no page may hold, are shown as what they are: odd.
_HARMLESS = dict.fromkeys(
    (*range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(9), 0xB, 0xC, *range(0xE, 0x20), 0x7F),
    "\N{REPLACEMENT CHARACTER}",
)


@dataclass(frozen=True, kw_only=True)
class Section:
    """One part of the page."""

    id: str
    title: str
    content: Any
    broken: str = ""  # what went wrong, when its facts could not be read


def is_page(path: Path) -> bool:
    """Whether a file is a page that was made here, and may be made again."""
    with path.open("rb") as file:
        return b'<meta name="generator" content="sfumato">' in file.read(4096)


CARD = ("promises", "risks", "losses")  # the parts that tell most at a glance


def render(facts: Mapping[str, Any], parts: Collection[str] = PARTS) -> str:
    """Return the page of a run, with the verdict and some of its parts.

    >>> page = render({"verdicts": [{"model": "k-anonymity", "satisfied": True}], "release": {"rows": 12}})
    >>> "The requirement holds: 12 rows may leave the house." in page
    True
    """
    answer = verdict.content(facts)
    page = environment().get_template("page.html")
    shown = page.render(
        title=f"{answer['stamp']} · sfumato",
        version=text(mapping(facts.get("versions")).get("sfumato")),
        verdict=answer,
        warnings=verdict.warnings(facts),
        sections=[_section(name, part, facts) for name, part in PARTS.items() if name in parts],
    )
    return harmless(shown)


def harmless(page: str) -> str:
    """Return a page without characters that would turn the text around them about, and that can be written."""
    return page.translate(_HARMLESS).encode("utf-8", "replace").decode("utf-8")  # a label may hold half a character


def _section(name: str, part: Part, facts: Facts) -> Section:
    try:
        return Section(id=name, title=part.TITLE, content=part.content(facts))
    except Exception as error:  # facts of another version, say: a part of the page must not cost the whole release
        return Section(id=name, title=part.TITLE, content=True, broken=type(error).__name__)


def _code(words: object) -> str:
    """Return escaped text in which what stands between backticks is shown as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(words))))


@cache
def environment() -> Environment:
    """Return where templates come from and how they are filled: everything is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("sfumato.report"),
        autoescape=True,  # every template, whatever its name: labels may hold anything
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    loader = environment.loader
    assert loader is not None
    source, _, _ = loader.get_source(environment, "style.css")
    environment.filters["code"] = _code
    environment.globals["style"] = Markup(source)  # our own file
    return environment
