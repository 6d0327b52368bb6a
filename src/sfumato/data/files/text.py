"""The bytes of text files as UTF-8: unpacked, decoded, in blocks, checked for what no text file holds."""

from __future__ import annotations

import codecs
import errno
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sfumato.data.files.blanks import Blanks
from sfumato.data.files.room import pages
from sfumato.data.files.source import COMPRESSIONS, Found, Source, unreadable
from sfumato.errors import DataError
from sfumato.progress import Stage

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

BLOCK = 4 << 20  # bytes read at once, at most; a record of a CSV file must fit
SMALL = 1 << 19  # bytes of a CSV file that are parsed at once, unless a record is longer
HEAD = 1 << 20  # bytes looked at to find out how a file is written
BOM = codecs.BOM_UTF8
MOST_TIMES = 500  # what unpacks to more times its size, and to more bytes than this, was made to fill a machine
MOST_UNPACKED = 1 << 30
_NOTICED = 0.05  # seconds
_PATIENCE = 0.1  # seconds after which a block is read that nobody asked for: blocks without any record give no batch
UTF_8 = "utf-8"
WINDOWS = "windows-1252"
_NO_WINDOWS = bytes.fromhex("818d8f909d9fa4ff")  # nothing, or a letter or sign that hardly any text has
_FOREIGN = re.compile(rb"[\xa1-\xff]{4}")  # letters and signs there, of which no word has as many in a row
_SEVERAL_BYTES = re.compile(rb"[\xc3-\xc5][\x80-\xbf]|\xe2\x80[\x80-\xbf]")  # letters and signs as UTF-8 has them
# Signs inside words, other than apostrophes and hyphens: letters of another encoding.
_IN_WORDS = re.compile("[A-Za-z][\u0192\u02c6\u02dc\u201a-\u2122\xa1-\xac\xae-\xb3\xb5-\xb6\xb8-\xbf][a-z]")


class _Raw:
    """The bytes of a file as they lie on disk, digested on their way where somebody asks for it."""

    def __init__(self, path: Path, digest: Hash | None) -> None:
        try:
            self.file = pa.OSFile(os.fsencode(path), "rb")
        except (OSError, pa.ArrowException) as error:
            raise unreadable(path, error) from None
        self.digest = digest
        self.closed = False

    def read(self, size: int) -> pa.Buffer:
        """Return up to `size` bytes, nothing at the end."""
        room = pa.py_buffer(pages(size))  # which Arrow's memory would not give back at once
        block = room.slice(0, self.file.readinto(room))
        if self.digest is not None:
            self.digest.update(block)
        return block

    def readable(self) -> bool:
        """Whether bytes can be read: pyarrow asks."""
        return True

    def close(self) -> None:
        """Close the file."""
        self.file.close()
        self.closed = True


class TextBytes:
    """The bytes of a text file, unpacked, as pyarrow and we read them: checked for what no text file holds."""

    def __init__(self, path: Path, raw: _Raw, encoding: str) -> None:
        compression = COMPRESSIONS.get(path.suffix.lower())
        self.path = path
        self.raw = raw
        self.unpacked = pa.CompressedInputStream(pa.PythonFile(raw, "r"), compression) if compression else None
        self.encoding = encoding
        self.decoder = None if encoding == UTF_8 else codecs.getincrementaldecoder(encoding)()
        self.closed = False
        self.taken = 0  # bytes unpacked
        self.at = 0  # bytes given out
        self.told = 0  # bytes of the file reported as progress
        self.ahead = pa.py_buffer(b"")  # given out before anything else
        self.last = b"\n"  # the last byte given out
        self.trailer = b""  # given out behind the last byte, on a line of its own
        self.blanks: Blanks | None = None  # left out from here on
        self.escapes = False  # whether a backslash before a quote was seen
        self.reading = threading.Lock()
        self.ended = False
        self.exhausted = threading.Event()
        self.wanted: threading.Semaphore | None = None  # blocks that may be read ahead, where somebody says so

    def read(self, size: int = BLOCK) -> pa.Buffer:
        """Return up to `size` bytes, nothing at the end; pyarrow calls this from a thread that reads ahead."""
        if self.wanted is not None and not self.ended:
            self.wanted.acquire(timeout=_PATIENCE)
        with self.reading:
            block = pa.py_buffer(b"") if self.ended else self._read(size)
            if not block.size:
                self.exhausted.set()
        return block

    def end(self) -> None:
        """Let nobody read any more, and wait a moment for whoever reads ahead to notice.

        A thread that still reads when the interpreter ends waits for it for ever.
        """
        with self.reading:
            self.ended = True
        if self.wanted is not None:
            self.wanted.release()
        self.exhausted.wait(_NOTICED)

    def _read(self, size: int) -> pa.Buffer:
        block = self._taken(size)
        while self.blanks is not None and block.size:
            if shown := self.blanks.left_out(block.to_pybytes()):
                return pa.py_buffer(shown)
            block = self._taken(size)
        return block

    def _taken(self, size: int) -> pa.Buffer:
        if self.ahead.size:
            block, self.ahead = self.ahead[:size], self.ahead[size:]
        else:
            block = self._next(size)
        if not block.size and self.trailer:
            block = pa.py_buffer((b"" if self.last in (b"\n", b"\r") else b"\n") + self.trailer)
            self.trailer = b""
        self.at += block.size
        if block.size and not self.escapes:
            content = block.to_pybytes()  # in which one byte is found faster than two
            self.escapes = (b"\\" in content or self.last == b"\\") and b'\\"' in self.last + content
        if block.size:
            self.last = block[-1:].to_pybytes()
        return block

    def _next(self, size: int) -> pa.Buffer:
        block = self._unpacked(size) if self.decoder is None else self._decoded(size)
        characters = np.frombuffer(block, dtype=np.uint8)
        if not characters.all():
            line = _line_at(self.path, self.at + int(np.argmin(characters)), self.encoding)
            raise DataError(
                f"{self.path} has zero bytes, the first on line {line:,}, so it is no plain text file.\n"
                "Save the file as UTF-8 text."
            )
        return block

    def _unpacked(self, size: int) -> pa.Buffer:
        """Return the next bytes as the file has them."""
        try:
            block = self.raw.read(size) if self.unpacked is None else self.unpacked.read_buffer(size)
        except MemoryError:
            raise
        except (OSError, pa.ArrowException) as error:
            if getattr(error, "errno", None) == errno.ENOMEM:
                raise MemoryError from None
            raise DataError(
                f"{self.path} cannot be unpacked: it is damaged or cut off.\nCopy or download the file again."
            ) from None
        self.taken += block.size
        if self.taken > MOST_UNPACKED and self.taken > MOST_TIMES * self.raw.file.tell():
            raise DataError(
                f"{self.path} was asked for as a table, but unpacks to more than {MOST_TIMES:,} times its size, which "
                "is no people's data.\nUnpack it yourself and look at it."
            )
        return block

    def _decoded(self, size: int) -> pa.Buffer:
        """Return the next characters as UTF-8; at most three bytes of it for one of the file."""
        assert self.decoder is not None
        decoded = ""
        try:
            while not decoded:
                block = self._unpacked(max(size // 3, 4))
                decoded = self.decoder.decode(block, final=not block.size)
                if not block.size:
                    break
        except UnicodeError:  # UTF-16 without its mark has an error of its own
            raise DataError(
                f"{self.path} was to be read as {self.encoding}, but has bytes that do not belong there.\n"
                "Correct encoding under [source], or save the file as UTF-8."
            ) from None
        found = pa.py_buffer(decoded.removeprefix("\ufeff" if not self.at else "").encode())
        block, self.ahead = found[:size], found[size:]
        return block

    def blocks(self, size: int | None = None) -> Iterator[bytes]:
        """Yield all bytes from where we are, or the next `size` of them."""
        while (size is None or size > 0) and (block := self.read(BLOCK if size is None else min(size, BLOCK))).size:
            yield block.to_pybytes()
            size = None if size is None else size - block.size

    def head(self, size: int) -> bytes:
        """Return up to `size` bytes from where we are, and let them be read once more."""
        head = b"".join(self.blocks(size))
        self.ahead = pa.py_buffer(head + self.ahead.to_pybytes())
        self.at -= len(head)
        return head

    def raw_head(self, size: int) -> bytes:
        """Return up to `size` bytes as the file has them; nothing else is to be read afterwards."""
        blocks = []
        while size > 0 and (block := self._unpacked(size)).size:
            blocks.append(block.to_pybytes())
            size -= block.size
        return b"".join(blocks)

    def skip(self, size: int) -> None:
        """Leave out the next bytes."""
        for _ in self.blocks(size):
            pass

    def tell_progress(self, stage: Stage) -> None:
        """Report how much of the file was read since the last report."""
        at = self.raw.file.tell()
        stage.advance(at - self.told)
        self.told = at

    # What else pyarrow asks of a file.

    def readable(self) -> bool:
        """Whether bytes can be read."""
        return True

    def close(self) -> None:
        """Note that nobody reads any more."""
        self.closed = True


@contextmanager
def opened(path: Path, digest: Hash | None = None, encoding: str = UTF_8) -> Iterator[TextBytes]:
    """Yield the unpacked bytes of a file as UTF-8; `digest` takes all bytes of the file as it is."""
    raw = _Raw(path, digest)
    try:
        yield TextBytes(path, raw, encoding)
        while digest is not None and raw.read(BLOCK).size:  # whatever a reader left
            pass
    finally:
        raw.close()


def _line_at(path: Path, offset: int, encoding: str) -> int:
    """Return the number of the line that holds a byte of the unpacked file."""
    line = 1
    with opened(path, encoding=encoding) as stream:
        for block in stream.blocks(offset):
            line += block.count(b"\n")
    return line


def not_utf8(path: Path) -> DataError:
    """Return the error for a file with bytes that are no UTF-8, after looking for the first of them."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    with opened(path) as stream:
        try:
            for block in stream.blocks():
                decoder.decode(block)
                line += block.count(b"\n")
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
    return DataError(
        f"{path} is not UTF-8 text: line {line:,} has a byte that does not belong there.\n"
        f'Save it as UTF-8; of a source you can also say what it is: [source] encoding = "{WINDOWS}", "cp850" ...'
    )


def encoding_of(source: Source) -> Found:
    """Return in which encoding a text file is written, from its first part."""
    path, given = source.path, source.encoding
    if given is not None:
        try:
            codecs.lookup(given)
            "".encode(given)  # which raises where it is a codec of something else than text
            return Found("encoding", given, "the plan says so")
        except (LookupError, ValueError):
            raise DataError(
                f"{path} was to be read in an unknown encoding, {given!r}.\n"
                f'Name one that Python knows, such as "{UTF_8}", "{WINDOWS}" or "utf-16".'
            ) from None
    with opened(path) as stream:
        return Found("encoding", *_encoding_in(stream.raw_head(HEAD)))


def whole_text(path: Path) -> str:
    """Return all of a text file, packed or not, in whatever encoding it is found to be."""
    with opened(path, encoding=str(encoding_of(Source(path)).value)) as stream:
        content = b"".join(stream.blocks())
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise not_utf8(path) from None


def _encoding_in(head: bytes) -> tuple[str, str]:
    """Return an encoding and the reason for it."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16", "it begins with its mark"
    if head[:4].count(0) == 2 and head[0] != head[1] and 0 in head[:2]:  # every other byte of plain letters is zero
        return ("utf-16-le" if head[1] == 0 else "utf-16-be"), "every other byte is zero"
    try:
        codecs.getincrementaldecoder(UTF_8)().decode(head)
        return UTF_8, "its first part is" + (" plain letters" if head.isascii() else "")
    except UnicodeDecodeError:
        pass
    odd = _SEVERAL_BYTES.search(head) or _FOREIGN.search(head) or any(byte in head for byte in _NO_WINDOWS)
    if odd or _IN_WORDS.search(head.decode(WINDOWS)):
        return UTF_8, "nothing else fits better; columns with other bytes cannot be read"
    return WINDOWS, "it is not UTF-8, and its bytes beyond plain letters are letters and signs there"


def whole_lines(stream: TextBytes) -> Iterator[bytes]:
    r"""Yield blocks that end with a line; `\r\n` and `\r` become `\n`."""
    rest: list[bytes] = []
    for block in stream.blocks():
        end = block.rfind(b"\n") + 1
        if not end:
            rest.append(block)
            continue
        yield _unix(b"".join([*rest, block[:end]]))
        rest = [block[end:]]
    if last := b"".join(rest):
        yield _unix(last + b"\n" if not last.endswith(b"\r") else last)


def _unix(block: bytes) -> bytes:
    return block.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in block else block


def unpacks_within(path: Path, most: int) -> bool:
    """Whether a packed file holds at most so many bytes; one that is damaged does, which whoever reads it will say."""
    compression = COMPRESSIONS.get(path.suffix.lower())
    if compression is None:
        return True
    with suppress(OSError, pa.ArrowException), pa.OSFile(os.fsencode(path), "rb") as raw:
        unpacked = pa.CompressedInputStream(raw, compression)
        while most >= 0 and (block := unpacked.read_buffer(BLOCK)).size:
            most -= block.size
    return most >= 0
