"""The pages about concepts, as the documentation has them, for who asks in the app: nothing is fetched for them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path


@cache
def concepts() -> dict[str, str]:
    """Return the text of every page by its name: those of the wheel, else those that lie beside the source."""
    packed = files("sfumato.webapp") / "documentation"
    folder = packed if packed.is_dir() else Path(__file__).parents[3] / "docs" / "concepts"
    found = folder.iterdir() if folder.is_dir() else ()
    pages = {each.name.removesuffix(".md"): each for each in found if each.name.endswith(".md")}
    return {name: pages[name].read_text(encoding="utf-8") for name in sorted(pages)}


@cache
def page_about(word: str) -> str:
    """Return the name of the page that speaks of a model most, or bears its name; nothing where none does."""
    pages = concepts()
    if word in pages:
        return word
    most = max(pages, key=lambda name: pages[name].count(word), default="")
    return most if most and word in pages[most] else ""
