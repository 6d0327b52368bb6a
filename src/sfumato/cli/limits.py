"""Limits of memory: libraries end a process that runs into one in ways of their own, so it is watched from outside.

Arrow aborts, OpenBLAS raises Ctrl-C or waits for ever, the loader of shared objects fails. What can be foreseen is
refused at once; the work itself goes on in a child, whose end becomes words and an exit code.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType

from sfumato.cli.terminal import fail, leave, written
from sfumato.errors import InputError

# Address space that the libraries take before there is any data; with a little less, threads do not start and hang.
LIBRARIES = 1_200_000_000
_BY_MEMORY = tuple(getattr(signal, f"SIG{name}", None) for name in ("ABRT", "SEGV", "BUS", "KILL"))
_NOT_LOADED = 127  # how the loader ends a process that has no room for a library
_PR_SET_PDEATHSIG = 1


def heed(as_json: bool) -> None:
    """Return where the work may be done; under a limit of memory that is a child of this process."""
    limit = _address_space()
    if limit is None or not hasattr(os, "fork"):
        return
    shown = f"The memory of this process is limited to {limit / 1e6:,.0f} MB (ulimit -v)"
    if limit < LIBRARIES:
        fail(
            f"{shown}, but the libraries alone take {LIBRARIES / 1e6:,.0f} MB. {written()}\n"
            "Raise the limit, by several times the size of the data.",
            InputError.exit_code,
            as_json,
        )
    # A thread reserves space whether it is used or not.
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    child = os.fork()
    if not child:
        _end_with_parent()
        # Before data takes the space: OpenBLAS waits for ever for what it does not get.
        import scipy.linalg  # noqa: F401
    else:
        code = _wait_for(child)
        if -code in _BY_MEMORY or code == _NOT_LOADED:
            fail(
                f"{shown}, and the work did not get along with it: it ended with code {code}.\n"
                "Raise the limit, or use a machine with more memory.",
                InputError.exit_code,
                as_json,
            )
        leave(code if code >= 0 else 128 - code)


def _address_space() -> int | None:
    """Return how many bytes this process may take, or None when nothing limits it."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def _end_with_parent() -> None:
    """Let the system end this process with the one that waits for it."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _wait_for(child: int) -> int:
    """Return the exit code of a child, below zero for a signal; what is sent to this process is for the child."""

    def pass_on(number: int, _: FrameType | None) -> None:
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to both
    signal.signal(signal.SIGTERM, pass_on)
    hang_up = getattr(signal, "SIGHUP", None)
    if hang_up is not None and signal.getsignal(hang_up) is not signal.SIG_IGN:  # nohup
        signal.signal(hang_up, pass_on)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
