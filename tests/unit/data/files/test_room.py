"""Pages of memory that grow."""

import mmap

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.files import room
from sfumato.data.files.room import Growing


@given(parts=st.lists(st.integers(0, 60_000), max_size=8))
def test_what_grows_holds_all_that_was_added(parts):
    grown = Growing()
    for number, size in enumerate(parts):
        grown.add(np.full(size, number, dtype=np.int16))
    expected = np.repeat(np.arange(len(parts)), parts)

    assert (grown.array(np.int16) == expected).all()
    assert grown.buffer().size == 2 * expected.size


def test_pages_that_the_system_does_not_move_are_copied():
    class Still(mmap.mmap):
        def resize(self, size):
            raise SystemError

    held = Still(-1, 8)
    held[:] = b"abcdefgh"

    assert room._larger(held, 16)[:] == b"abcdefgh" + bytes(8)
