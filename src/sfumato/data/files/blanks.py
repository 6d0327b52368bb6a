"""Blanks behind separators, as in `39, State-gov, 77516`: they belong to how a file is written, not to its cells."""

from __future__ import annotations

import re


def _cells(separator: str) -> re.Pattern[bytes]:
    """Return what finds cells one after the other: what stands before, blanks, the part in quotes, its end, the rest.

    Quotes mean something at the beginning of a cell only, and those inside are written twice.
    """
    mark = re.escape(separator.encode())
    return re.compile(rb'([%b\r\n])( *)("[^"]*(?:""[^"]*)*("?))?([^%b\r\n]*)' % (mark, mark))


def follow_separators(content: bytes, separator: str) -> bool:
    r"""Whether blanks follow every separator of the records behind the first line, but for those at the end of a line.

    >>> follow_separators(b'a,b\n1, "x,y"\n2,\n', ","), follow_separators(b"a, b\n1, x\n2,y\n", ",")
    (True, False)
    """
    if separator == " ":
        return False
    content = b"\n" + content.lstrip(b"\r\n")
    lines, told = 0, False
    for found in _cells(separator).finditer(content):
        if found[1] in b"\r\n":
            lines += 1
        elif lines > 1:
            told = told or bool(found[2])
            if not found[2] and (found[3] or found[5] or content[found.end() : found.end() + 1] not in b"\r\n"):
                return False
    return told


class Blanks:
    """Leaves out blanks at the beginning of cells, block by block; a block may end anywhere."""

    def __init__(self, separator: str) -> None:
        self.cells = _cells(separator)
        self.before = b"\n"  # something after which a cell goes on as the last block left it

    def left_out(self, block: bytes) -> bytes:
        """Return the next bytes without these blanks."""
        found = self.cells.findall(self.before + block)
        shown = b"".join([mark + quoted + rest for mark, _, quoted, _, rest in found])[len(self.before) :]
        mark, _, quoted, closed, rest = found[-1]
        self.before = mark + (b"x" if rest else b'""' if closed else b'"' if quoted else b"")
        return shown
