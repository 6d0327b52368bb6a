"""What reading takes beyond the table that comes of it: a few batches, however many rows there are."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

STATUS = Path("/proc/self/status")
MOST = 28  # MB, of which what allocators keep and code that is loaded on first use are the larger part
NOISE = 8  # MB
FEEDS = """
import json, re, sys
from pathlib import Path
import numpy as np
import pyarrow as pa
from sfumato.data.dataset import as_arrow
from sfumato.data.files import Source, read_table
from sfumato.data.files.columns import Columns

def most():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text(encoding="utf-8"))[1]) / 1024

def batch(rows):
    chance = np.random.default_rng(rows)
    words = pa.array([f"word {number:05}" for number in range(9_000)])
    return pa.record_batch({
        "number": as_arrow(chance.integers(0, 1 << 40, rows)),
        "word": words.take(as_arrow(chance.integers(0, 9_000, rows))),
        "few": words.take(as_arrow(chance.integers(0, 4, rows))),
    })

what, rows = sys.argv[1], int(sys.argv[2])
if what == "batches":
    batch(10)
    before = most()
    columns = Columns({"number": pa.int64(), "word": pa.string(), "few": pa.string()}, Path("x"), lent=True)
    for _ in range(rows // 10_000):
        columns.add(batch(10_000))
    table = columns.finish()
else:
    before = most()
    table = read_table(Source(Path(what)))
assert table.num_rows == rows
print(json.dumps(most() - before - table.nbytes / 2**20))
"""


def beyond(what, rows):
    """Return how far memory grew beyond the table, in MB, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", FEEDS, str(what), str(rows)], capture_output=True, encoding="utf-8", check=False
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not STATUS.exists(), reason="only Linux tells the most memory that a process had")
@pytest.mark.parametrize("form", ["batches", "csv"])
def test_what_reading_takes_beyond_the_table_does_not_grow_with_its_rows(form, tmp_path):
    found = {}
    for rows in (300_000, 1_500_000):
        what = form
        if form == "csv":
            what = tmp_path / f"{rows}.csv"
            with what.open("w", encoding="utf-8") as file:
                file.write("word,few,day\n")
                file.writelines(
                    f"word {row * 7919 % 9_000:05},few {row % 4},day {row % 365:03}\n" for row in range(rows)
                )
        found[rows] = beyond(what, rows)

    assert max(found.values()) < MOST
    assert found[1_500_000] < found[300_000] + NOISE
