"""How long commands take to answer with warm caches: `python benchmarks/start_up.py`.

Prints the best and the median of some runs of each, wall and CPU seconds. The aims: `--help` below 0.6 s, an audit of a
small file below 2 s.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PLAN = """
[columns.age]
role = "quasi-identifier"
[columns.job]
role = "sensitive"
[[require]]
model = "k-anonymity"
k = 5
"""


def spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(folder: Path, *words: str) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), spent()
    subprocess.run([sys.executable, "-m", "sfumato", *words], cwd=folder, capture_output=True, check=True)
    return time.perf_counter() - wall, spent() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [f"{age},{chance.choice(['nurse', 'cook'])}" for age in range(20, 60) for _ in range(25)]
        (folder / "people.csv").write_text("\n".join(["age,job", *rows]) + "\n", encoding="utf-8")
        (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
        print(f"{'command':<28}{'wall best':>10}{'median':>8}{'CPU best':>10}{'median':>8}")
        for words in (["--help"], ["audit", "people.csv", "--plan", "plan.toml"]):
            timed(folder, *words)  # the first one warms the caches
            wall, cpu = zip(*(timed(folder, *words) for _ in range(runs)), strict=True)
            figures = (min(wall), statistics.median(wall), min(cpu), statistics.median(cpu))
            print(
                f"{' '.join(words)[:26]:<28}{figures[0]:>10.2f}{figures[1]:>8.2f}{figures[2]:>10.2f}{figures[3]:>8.2f}"
            )


if __name__ == "__main__":
    main()
