"""Verdicts as JUnit has test results, for whatever shows these: one case for each requirement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.cli.terminal import legible
from sfumato.disk import atomic_file
from sfumato.errors import SfumatoError

if TYPE_CHECKING:
    from sfumato.models.base import Verdict

_SUITE = "sfumato audit"


@contextmanager
def telling_junit(path: Path | None) -> Iterator[list[Verdict]]:
    """Yield a list for verdicts, and write it in the end; what cannot be judged is an error there, too.

    A file of an earlier audit would else go on to say that all is well.
    """
    verdicts: list[Verdict] = []
    try:
        yield verdicts
    except SfumatoError as error:
        if path is not None:
            _write(path, [_case(_SUITE, f"<error message={_quoted(str(error))}/>")], failures=0, errors=1)
        raise
    if path is not None:
        failures = sum(not verdict.satisfied for verdict in verdicts)
        _write(path, [*_cases(verdicts)], failures=failures, errors=0)


def _cases(verdicts: Sequence[Verdict]) -> Iterator[str]:
    for number, verdict in enumerate(verdicts, 1):
        said = _quoted(str(verdict))
        inside = "" if verdict.satisfied else f"<failure message={said}/>"
        yield _case(f"{number}. {verdict.title}", inside)


def _case(name: str, inside: str) -> str:
    head = f"  <testcase classname={_quoted(_SUITE)} name={_quoted(name)}"
    return f"{head}>{inside}</testcase>" if inside else f"{head}/>"


def _write(path: Path, cases: Sequence[str], *, failures: int, errors: int) -> None:
    counts = f'tests="{len(cases)}" failures="{failures}" errors="{errors}"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuite name={_quoted(_SUITE)} {counts}>",
        *cases,
        "</testsuite>",
    ]
    with atomic_file(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _quoted(text: str) -> str:
    r"""Return text as the value of an attribute; what XML cannot hold is written out.

    >>> print(_quoted('k of "a<b"'), _quoted(chr(1)))
    'k of "a&lt;b"' "\u0001"
    """
    from xml.sax.saxutils import quoteattr  # loads all that speaks to the web, which most commands never need

    return quoteattr(legible(text.encode("utf-8", "backslashreplace").decode()))
