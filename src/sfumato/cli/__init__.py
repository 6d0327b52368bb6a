"""The command line: parses, calls, shows. Exit codes: 0 done and safe, 1 a requirement does not hold, 2 plan or data
wrong, 3 a bug in sfumato, 130 stopped.

Heavy modules are imported inside the commands, so that `sfumato --help` answers at once.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import traceback
from types import FrameType
from typing import NoReturn

import typer

from sfumato.cli import connecting, estimating, knowing, making, questions, serving
from sfumato.cli.app import app
from sfumato.cli.limits import heed
from sfumato.cli.terminal import INTERRUPTED, fail, has_written, leave, written
from sfumato.errors import InputError, SfumatoError

__all__ = ["app", "connecting", "estimating", "knowing", "main", "making", "questions", "serving"]

BUG = 3


class _NoPandas:
    """Keeps pandas out of the commands, which never hold one of its frames.

    Where it is installed, pyarrow would load it to see whether somebody hands it a frame: a third of the start-up time.
    """

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not used on the command line", name=name)


def _stop_as_ctrl_c() -> None:
    """Let a request to end (SIGTERM, SIGBREAK on Windows) and a closed terminal (SIGHUP) mean the same as Ctrl-C."""
    hung_up: list[int] = []

    def hang_up(number: int, _: FrameType | None) -> None:
        if not hung_up:  # shell and system both send it: the second one must not interrupt the tidying up
            hung_up.append(number)
            raise KeyboardInterrupt

    for name, handler in (
        ("SIGTERM", signal.default_int_handler),
        ("SIGBREAK", signal.default_int_handler),
        ("SIGHUP", hang_up),
    ):
        number = getattr(signal, name, None)
        if number is not None and (name != "SIGHUP" or signal.getsignal(number) is not signal.SIG_IGN):  # nohup
            signal.signal(number, handler)


def main() -> None:
    """Run the command line; every error becomes a message and an exit code."""
    as_json = "--json" in sys.argv
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without UTF-8 shows ? for what it cannot
    sys.meta_path.insert(0, _NoPandas())
    _stop_as_ctrl_c()
    try:
        heed(as_json)
        code = app(standalone_mode=False)
    except SfumatoError as error:
        _show_trace(error.exit_code)
        fail(f"{error}\n{written()}" if has_written() else str(error), error.exit_code, as_json)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except MemoryError:
        _fail_for_memory(as_json)
    except SystemExit:
        raise
    except BaseException as error:  # also what a library in Rust raises where it gives up, which is no Exception
        # How the system and the loader of libraries say it.
        unloaded = isinstance(error, ImportError) and "shared object" in str(error) and "No such" not in str(error)
        if unloaded or getattr(error, "errno", None) == errno.ENOMEM:
            _fail_for_memory(as_json)
        if hasattr(error, "exit_code") and hasattr(error, "format_message"):  # a wrong option or argument
            fail(error.format_message() + "\nSee `sfumato --help`.", int(error.exit_code), as_json)
        _show_trace(BUG)
        fail(
            f"Something unexpected happened ({type(error).__name__}). {written()}\n"
            "This is a bug in sfumato. Set SFUMATO_DEBUG=1 to see where (the trace may show values of your data).",
            BUG,
            as_json,
        )
    if code == INTERRUPTED:  # also what typer makes of Ctrl-C
        fail(f"Stopped. {written()}", INTERRUPTED, as_json)
    leave(code if isinstance(code, int) else 0)


def _open_what_is_closed() -> None:
    """Lead standard streams that are closed to nowhere, or else the next file that is opened would take their place."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:  # the lowest number that is free
        os.set_inheritable(opened, True)
    os.close(opened)
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode))


def _fail_for_memory(as_json: bool) -> NoReturn:
    try:
        fail(
            f"There is not enough memory for this. {written()}\n"
            "Close other programs, raise the limit (ulimit -v, the container's), or use a machine with more.",
            InputError.exit_code,
            as_json,
        )
    except MemoryError:  # not even for these words
        os.write(2, b"sfumato: There is not enough memory for this, not even for a long message.\n")
        os._exit(InputError.exit_code)


def _show_trace(exit_code: int) -> None:
    """Show where a bug is, whatever the class of its error, to who asks for it."""
    if exit_code == BUG and os.environ.get("SFUMATO_DEBUG"):
        traceback.print_exc()
