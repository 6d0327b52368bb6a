"""Try random plans on random tables, and stop at the first defect.

`make fuzz SECONDS=300`, or `python tests/fuzz.py --seconds 300 [--seed S] [--family classes,masks]`. A failure names
its case: `python tests/fuzz.py --case S/17` repeats it.
"""

from __future__ import annotations

import argparse
import pprint
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fuzzing.checking import DefectError, check
from fuzzing.plans import FAMILIES, make


def run(seed, seconds=None, cases=None, families=FAMILIES, keep_going=False):
    """Check cases until the time is over or so many are done; return what was tried, and what is wrong by case."""
    tried, wrong = Counter(), {}
    end = None if seconds is None else time.monotonic() + seconds
    number = 0
    while (cases is None or number < cases) and (end is None or time.monotonic() < end):
        name = f"{seed}/{number}"
        case = make(name, families)
        number += 1
        try:
            check(case, tried)
        except DefectError as found:
            wrong[name] = str(found)
            if not keep_going:
                break
    return tried, wrong


def show(case):
    """Print a case, so that somebody can look at it."""
    print(f"{case.n} rows, {', '.join(case.families)}")
    pprint.pprint({column.name: column.cells for column in case.columns}, width=150, compact=True)
    pprint.pprint(case.document(), width=150, sort_dicts=False)
    if case.knowledge:
        print(case.public_table())


def main():
    """Parse, run, show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", default=None, help="the time, when it is not given")
    parser.add_argument("--family", default=",".join(FAMILIES), help="families to combine, with commas between")
    parser.add_argument("--case", help="repeat one case of an earlier run")
    parser.add_argument("--keep-going", action="store_true", help="go on after a defect")
    given = parser.parse_args()
    families = tuple(given.family.split(","))
    if given.case:
        case = make(given.case, families)
        show(case)
        check(case, Counter())
        print("Nothing is wrong with it.")
        return 0
    seed = given.seed if given.seed is not None else str(int(time.time()))
    print(f"seed {seed}", flush=True)
    tried, wrong = run(seed, seconds=given.seconds, families=families, keep_going=given.keep_going)
    for name, found in wrong.items():
        print(f"\nWRONG, case {name} (python tests/fuzz.py --family {given.family} --case {name}):\n{found}")
    print("\n" + "\n".join(f"{count:>8,} {what}" for what, count in sorted(tried.items())))
    print(f"{len(wrong):>8,} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
