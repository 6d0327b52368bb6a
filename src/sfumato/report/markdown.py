"""Text in a small part of Markdown as HTML: headings, paragraphs, lists, tables, quotes and code, all else escaped."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

_INLINE = re.compile(
    r"`([^`]+)`|\*\*(.+?)\*\*|(?<![\w*])\*([^*\s][^*]*)\*(?!\w)|\[((?:`[^`]*`|[^\]`])+)\]\(([^)\s]+)\)"
)
_ITEM = re.compile(r"([-*]|\d+\.) +")
_RULE = re.compile(r"\|[ :|-]+\|?")


def rendered(text: str, pages: Container[str] = ()) -> Markup:
    r"""Return text as HTML; links lead to some `pages` of help by their names, and are words only elsewhere.

    Examples in Python are left out: who reads this does not write any.

    >>> print(rendered("# A *b*\n\n- `<x>`"))
    <h1>A <em>b</em></h1>
    <ul><li><code>&lt;x&gt;</code></li></ul>
    """
    from markupsafe import Markup

    blocks = re.split(r"\n\s*\n", re.sub(r"^```python\n.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE).strip("\n"))
    return Markup("\n").join(_block(block, pages) for block in _whole(blocks))


def _whole(blocks: list[str]) -> list[str]:
    """Return blocks with those put together again that a blank line in code had divided."""
    made: list[str] = []
    for block in blocks:
        if made and made[-1].count("```") % 2:
            made[-1] += f"\n\n{block}"
        elif block.strip():
            made.append(block.strip("\n"))
    return made


def _block(block: str, pages: Container[str]) -> Markup:
    from markupsafe import Markup, escape

    lines = block.split("\n")
    if block.startswith("```"):
        return Markup('<pre tabindex="0">{}</pre>').format(escape("\n".join(lines[1:]).rstrip("`\n")))
    if heading := re.match(r"(#{1,4}) +(.*)", lines[0]):
        level, rest = len(heading[1]), "\n".join(lines[1:]).strip("\n")
        title = Markup("<h{0}>{1}</h{0}>").format(level, _inline(heading[2], pages))
        return title + Markup("\n") + _block(rest, pages) if rest else title
    if lines[0].startswith("|"):
        return _table([line for line in lines if not _RULE.fullmatch(line.strip())], pages)
    if lines[0].startswith(">"):
        return Markup("<blockquote>{}</blockquote>").format(
            _inline(" ".join(line.lstrip("> ") for line in lines), pages)
        )
    if first := next((at for at, line in enumerate(lines) if _ITEM.match(line)), None):
        return _block("\n".join(lines[:first]), pages) + Markup("\n") + _block("\n".join(lines[first:]), pages)
    if _ITEM.match(lines[0]):
        items = re.split(r"\n(?=(?:[-*]|\d+\.) )", block)
        tag = "ol" if items[0][0].isdigit() else "ul"
        shown = Markup("").join(
            Markup("<li>{}</li>").format(_inline(_ITEM.sub("", each, count=1), pages)) for each in items
        )
        return Markup("<{0}>{1}</{0}>").format(tag, shown)
    return Markup("<p>{}</p>").format(_inline(block, pages))


def _table(lines: list[str], pages: Container[str]) -> Markup:
    from markupsafe import Markup

    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] for line in lines]

    def row(cells: list[str], tag: str) -> Markup:
        made = (
            Markup("<{0}>{1}</{0}>").format(tag if cell else "td", _inline(cell.replace("\\|", "|"), pages))
            for cell in cells
        )
        return Markup("<tr>{}</tr>").format(Markup("").join(made))

    body = Markup("").join(row(cells, "td") for cells in rows[1:])
    shown = Markup("<table><thead>{}</thead><tbody>{}</tbody></table>").format(row(rows[0], "th"), body)
    return Markup('<div class="panel scroll" tabindex="0" role="region" aria-label="Table">{}</div>').format(shown)


def _inline(text: str, pages: Container[str]) -> Markup:
    """Return a line with its marks; links lead to other pages of these, or are words only."""
    from markupsafe import Markup, escape

    shown, at = Markup(""), 0
    for found in _INLINE.finditer(text):
        code, strong, light, words, target = found.groups()
        shown += escape(text[at : found.start()])
        at = found.end()
        if code is not None:
            shown += Markup("<code>{}</code>").format(code)
        elif target is None:
            tag = "strong" if strong is not None else "em"
            shown += Markup("<{0}>{1}</{0}>").format(tag, _inline(strong if strong is not None else light, pages))
        else:
            name = target.partition("#")[0].removesuffix(".md")
            inner = _inline(words, pages)
            shown += Markup('<a href="/help/{}">{}</a>').format(name, inner) if name in pages else inner
    return shown + escape(text[at:])
