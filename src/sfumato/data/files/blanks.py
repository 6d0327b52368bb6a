"""Blanks behind separators, as in `39, State-gov, 77516`: they belong to how a file is written, not to its cells."""

from __future__ import annotations

import re

_INSIDE = rb'[^"]*(?:""[^"]*)*'  # quotes inside are written twice


def _cells(separator: str) -> re.Pattern[bytes]:
    """Return what finds cells one after the other: what stands before, blanks, the cell with its quotes."""
    mark = re.escape(separator.encode())
    return re.compile(rb'([%b\r\n])( *)((?:"%b"?)?[^%b\r\n]*)' % (mark, _INSIDE, mark))


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
            if not found[2] and (found[3] or content[found.end() : found.end() + 1] not in b"\r\n"):
                return False
    return told


class Blanks:
    """Leaves out blanks at the beginning of cells, block by block; a block may end anywhere."""

    def __init__(self, separator: str) -> None:
        self.pairs = [(mark + b" ", mark) for mark in (separator.encode(), b"\n", b"\r")]
        mark = re.escape(separator.encode())
        self.blanks = re.compile(rb"([%b\r\n]) +" % mark)
        self.quoted = re.compile(rb'([%b\r\n]) *("%b)("?)' % (mark, _INSIDE))
        self.before = b"\n"  # something after which a cell goes on as the last block left it

    def left_out(self, block: bytes) -> bytes:
        """Return the next bytes without these blanks."""
        parts = self.quoted.split(self.before + block)  # cells without quotes; then mark, cell, its end, and so on
        parts[::4] = map(self._plain, parts[::4])
        shown = b"".join(parts)[len(self.before) :]
        if not parts[-1]:
            mark, _, end, _ = parts[-4:]
            self.before = mark + (b'""' if end else b'"')
        else:
            last = parts[-1][-1:]
            self.before = last if self.blanks.match(last + b" ") else b"\nx"
        return shown

    def _plain(self, cells: bytes) -> bytes:
        """Return cells without quotes; most have one blank before them, which is faster than any number."""
        for pair, mark in self.pairs:
            cells = cells.replace(pair, mark)
        return self.blanks.sub(rb"\1", cells) if any(pair in cells for pair, _ in self.pairs) else cells
