"""Lets examples in docstrings show as code: mkdocstrings takes `>>>` for a quotation otherwise."""

from __future__ import annotations

from typing import Any

import griffe


class Fenced(griffe.Extension):
    """Puts a fence around every example of every docstring."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Change one docstring (griffe calls this)."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Return text with fences around its examples, which end at an empty line."""
    lines: list[str] = []
    inside = False
    for line in text.split("\n"):
        if not inside and line.lstrip().startswith(">>>"):
            lines.append("```python")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)
