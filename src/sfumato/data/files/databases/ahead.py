"""Reading ahead: a driver waits for its server in a thread of its own while what came before is worked on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from queue import Empty, Queue
from typing import Final, TypeAlias, TypeVar

_Item = TypeVar("_Item")
_End: TypeAlias = BaseException | None  # how an iterator ended: with what it raised, or with nothing more to say
_AHEAD: Final = 2  # items that may wait
_LISTENING: Final = 0.5  # seconds after which Ctrl-C is heard where a library keeps it from ending a wait


def ahead(items: Iterator[_Item], cancel: Callable[[], None]) -> Generator[_Item, None, None]:
    """Yield what an iterator yields, and raise what it raises, while a thread is a few items ahead.

    However this ends, the thread is gone then; `cancel` makes an iterator that waits for something give up.

    >>> list(ahead(iter("abc"), cancel=lambda: None))
    ['a', 'b', 'c']
    """
    waiting: Queue[tuple[_Item] | _End] = Queue(_AHEAD)
    unwanted = threading.Event()

    def follow() -> None:
        end: _End = None
        try:
            for item in items:
                waiting.put((item,))
                if unwanted.is_set():
                    return
        except BaseException as error:
            end = error
        waiting.put(end)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        while isinstance(found := _next(waiting), tuple):
            yield found[0]
    except BaseException:
        unwanted.set()
        if thread.is_alive():
            cancel()
        with suppress(Empty):
            while True:  # so that there is room for what the thread puts down last
                waiting.get_nowait()
        raise
    finally:
        thread.join()
    if found is not None:
        raise found


def _next(waiting: Queue[_Item]) -> _Item:
    while True:
        with suppress(Empty):
            return waiting.get(timeout=_LISTENING)
