"""Every figure of the four papers again, from one folder of data, on one page beside what the papers print.

    python benchmarks/papers.py DATA [--quick] [--out papers] [--only KEY ...] [--docs docs/papers]

`make papers DATA=folder` runs it, `make papers DATA=folder QUICK=1` with smaller tables and fewer settings: under ten
minutes. It says which files DATA lacks and where they can be had. What is not to be had is made up with a fixed seed,
and marked as made up. OUT gets papers.html (tables, plots, and for each claim of a paper: better, agrees, agrees in
part, or does not agree, with the figures behind it and the cause where it does not hold), the tables as csv and the
plots as svg. With --only, the page has the others as earlier runs left them
in OUT. --docs also puts the figures into the pages of the
documentation.
"""

from __future__ import annotations

import argparse
import html
import importlib
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from claims import AGREES, BETTER, MULTI_SENSITIVE, NOT, PART, QUASI_SENSITIVE, Claim, Finding
from claims_sets import RHO_UNCERTAINTY, SENSITIVE_QIDS
from figures import Figures, Table, shown

UCI = "https://archive.ics.uci.edu"
ARX = "https://github.com/arx-deidentifier/arx (data)"
FILES = {  # what the papers use -> where it can be had
    "adult/adult_train.csv.gz": f"{UCI}/dataset/2/adult: adult.data with a header line, gzip",
    "adult/adult_test.csv.gz": f"{UCI}/dataset/2/adult: adult.test with a header line and no dots at the ends, gzip",
    "adult/adult_arx.csv.gz": f"{ARX}: adult.csv, gzip",
    **{
        f"hierarchies/adult/{name}.csv": f"{ARX}: adult_hierarchy_{name}.csv"
        for name in ("education", "marital-status", "occupation", "race", "salary-class", "sex", "workclass")
    },
    "hierarchies/adult/relationship.csv": "write it: value;group;* with Husband, Wife / Own-child, Other-relative / "
    "Not-in-family, Unmarried (the paper prints none)",
    "transactions/bms_webview2.txt.gz": "KDD Cup 2000, BMS-WebView-2 (research use): items of a session a line, gzip",
    "transactions/retail.txt.gz": "http://fimi.uantwerpen.be/data: retail.dat, gzip",
    "transactions/bms_pos.txt.gz": "KDD Cup 2000, BMS-POS (research use): items of a basket a line, gzip",
    "tabular/uscensus1990.csv.gz": f"{UCI}/dataset/116/us+census+data+1990: USCensus1990.data.txt, gzip",
}
_ADULT = ("adult/adult_train.csv.gz", "adult/adult_test.csv.gz")
MARKS = {AGREES: "agrees", BETTER: "better", PART: "part", NOT: "differs"}  # css classes
MOST_ROWS = 40  # of a table that the documentation shows


@dataclass(frozen=True)
class Paper:
    """One paper: what it needs, how it is run again, and what it claims."""

    key: str
    title: str
    cited: str
    needs: tuple[str, ...]
    uses: tuple[str, ...]  # else made up
    module: str  # of this folder, whose main runs it
    arguments: Callable[[str], list[str]]  # folder of data -> what is said to it
    claims: tuple[Claim, ...]


PAPERS = (
    Paper(
        "quasi-sensitive",
        "Anonymizing data with quasi-sensitive attribute values",
        "Shi, Xiong and Fung (CIKM 2010), and Shi and Xiong (technical report TR-2010-004, Emory University)",
        (),
        ("adult/adult_arx.csv.gz",),
        "quasi_sensitive",
        # A second a group of a compiled search, where the paper gave ten of its own: all of it is an hour and a half.
        lambda data: ["--data", data, "--only", "figure", "--seconds", "1"],
        QUASI_SENSITIVE,
    ),
    Paper(
        "multi-sensitive",
        "Privacy protection on multiple sensitive attributes",
        "Li and Ye (ICICS 2007)",
        (*_ADULT, *(name for name in FILES if name.startswith("hierarchies/"))),
        (),
        "multi_sensitive",
        lambda data: [data, "--only", "single", "alpha", "columns"],
        MULTI_SENSITIVE,
    ),
    Paper(
        "sensitive-qids",
        "(l1, ..., lq)-diversity and (t1, ..., tq)-closeness for sensitive quasi-identifiers",
        "Sei, Okumura, Takenouchi and Ohsuga (IEEE TDSC 2017)",
        _ADULT,
        ("tabular/uscensus1990.csv.gz",),
        "sensitive_qids",
        lambda data: [data, "--only", "adult", "census", "times", "picture"],
        SENSITIVE_QIDS,
    ),
    Paper(
        "rho-uncertainty",
        "Set-valued data anonymization by partial suppression",
        "Jia, Pan, Xu, Zhu and Lo (2014)",
        (),
        tuple(name for name in FILES if name.startswith("transactions/")),
        "rho_uncertainty",
        lambda data: ["--data", data, "--only", "figure", "table"],
        RHO_UNCERTAINTY,
    ),
)


@dataclass(frozen=True)
class Reproduced:
    """A paper that was run again."""

    paper: Paper
    tables: dict[str, Table]  # by title
    seconds: float
    made_up: tuple[str, ...]  # files that something made up stands in for
    quick: bool

    @classmethod
    def read(cls, paper: Paper, out: Path) -> Reproduced | None:
        """Return what an earlier run left, if it did."""
        path = out / f"{paper.key}.json"
        if not path.is_file():
            return None
        kept = json.loads(path.read_text(encoding="utf-8"))
        tables = [
            Table(each["title"], tuple(each["columns"]), None, list(map(tuple, each["rows"])), each["plots"])
            for each in kept["tables"]
        ]
        by_title = {table.title: table for table in tables}
        return cls(paper, by_title, kept["seconds"], tuple(kept["made_up"]), kept["quick"])

    def write(self, out: Path) -> None:
        """Keep it for the page, and for pages of later runs."""
        tables = [
            {"title": table.title, "columns": table.columns, "rows": table.rows, "plots": table.plots}
            for table in self.tables.values()
        ]
        kept = {"quick": self.quick, "seconds": self.seconds, "made_up": self.made_up, "tables": tables}
        (out / f"{self.paper.key}.json").write_text(json.dumps(kept, default=float), encoding="utf-8")

    @property
    def findings(self) -> list[tuple[Claim, Finding]]:
        return [(claim, claim.judge(self.tables)) for claim in self.paper.claims]


def reproduce(paper: Paper, data: Path, out: Path, *, quick: bool) -> bool:
    """Run a paper again and keep its tables, or say why it cannot be run."""
    missing = [name for name in (*paper.needs, *paper.uses) if not (data / name).is_file()]
    for name in missing:
        print(f"missing: {data / name}\n   from: {FILES[name]}")
    if set(missing) & set(paper.needs):
        print(f"{paper.key} is left out: it cannot be run without these files.")
        return False
    begin = time.perf_counter()
    more = ["--out", str(out / paper.key), *(["--quick"] if quick else [])]
    figures: Figures = importlib.import_module(paper.module).main([*paper.arguments(str(data)), *more])
    out.mkdir(parents=True, exist_ok=True)
    Reproduced(paper, figures.tables, time.perf_counter() - begin, tuple(missing), quick).write(out)
    return True


# The page.

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72em; margin: 2em auto; padding: 0 1em; color: #1f2328 }
table { border-collapse: collapse; margin: .5em 0; font-size: 13px } th, td { padding: 2px 10px; text-align: right }
th { border-bottom: 1px solid #d0d7de } td:first-child, th:first-child { text-align: left }
.claims td { text-align: left; vertical-align: top; border-bottom: 1px solid #eaeef2 }
.agrees { color: #1a7f37 } .better { color: #0969da } .part { color: #9a6700 } .differs { color: #cf222e }
b.verdict { white-space: nowrap }
figure { margin: 1em 0; overflow-x: auto } figcaption { font-size: 13px; color: #57606a } h3 { margin-top: 2em }
"""


def page(done: Sequence[Reproduced]) -> str:
    """Return the page as HTML that needs nothing else."""
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Four papers, again</title><style>{STYLE}</style>",
        "<h1>Four papers, again</h1><p>Each claim is one that a paper prints about a figure of its "
        "own; the verdict is computed from the tables below it. <b>Better</b> means that the claim holds and sfumato's "
        "own search is behind the published one in no setting and ahead in some; <b>agrees in part</b>, that some of "
        "its statements hold. Times are CPU seconds of one core.</p>",
    ]
    for each in done:
        said = "a quick run: smaller tables, fewer settings" if each.quick else "a full run"
        parts.append(
            f"<h2>{html.escape(each.paper.title)}</h2><p>{html.escape(each.paper.cited)}. Figures of {said}.</p>"
        )
        if each.made_up:
            parts.append(
                f"<p><b>Made up</b>, with a fixed seed, for want of: {html.escape(', '.join(each.made_up))}.</p>"
            )
        parts.append(
            "<table class=claims><tr><th>figure<th>the paper says<th>verdict<th>measured<th>where it does not hold</tr>"
        )
        for claim, finding in each.findings:
            cells = (claim.figure, claim.printed, finding.words, finding.cause)
            figure, printed, words, cause = map(html.escape, cells)
            mark = f'<b class="verdict {MARKS[finding.verdict]}">{finding.verdict}</b>'
            parts.append(f"<tr><td>{figure}<td>{printed}<td>{mark}<td>{words}<td>{cause}</tr>")
        parts.append("</table>")
        parts += [_shown_table(table) for table in each.tables.values()]
    return "\n".join([*parts, "</html>"])


def _shown_table(table: Table) -> str:
    plots = "".join(
        f"<figure><figcaption>{html.escape(name)}</figcaption>{drawn}</figure>" for name, drawn in table.plots.items()
    )
    head = "".join(f"<th>{html.escape(name)}" for name in table.columns)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(shown(cell))}" for cell in row) for row in table.rows)
    return (
        f"<h3>{html.escape(table.title)}</h3>{plots}"
        f"<details><summary>{len(table.rows)} rows</summary><table><tr>{head}</tr>{body}</table></details>"
    )


# The documentation.

BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


def markdown(each: Reproduced) -> str:
    """Return claims, verdicts and the tables of a paper for its page of the documentation."""
    command = f"make papers DATA=folder{' QUICK=1' if each.quick else ''}"
    lines = [f"`{command}` gave these figures{', of the quick run' if each.quick else ''}.", ""]
    if each.made_up:
        lines += [f"Made up with a fixed seed, for want of the original: {', '.join(each.made_up)}.", ""]
    columns = ("figure", "the paper says", "verdict", "measured", "where it does not hold")
    lines += [_row(columns), _row(["---"] * len(columns))]
    for claim, finding in each.findings:
        lines.append(_row([claim.figure, claim.printed, f"**{finding.verdict}**", finding.words, finding.cause]))
    for table in each.tables.values():
        if len(table.rows) > MOST_ROWS or not table.rows or ", q' = " in table.title:
            continue
        rows = [[shown(cell) for cell in row] for row in table.rows]
        lines += ["", f"{table.title}:", "", _row(table.columns), _row(["---"] * len(table.columns)), *map(_row, rows)]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def put_into(path: Path, text: str) -> None:
    """Replace what stands between the marks of a page."""
    old = path.read_text(encoding="utf-8")
    if BEGIN not in old:
        raise SystemExit(f"{path} has no place for figures: {BEGIN} ... {END}.")
    new = re.sub(f"{BEGIN}.*?{END}", lambda _: f"{BEGIN}\n\n{text}\n\n{END}", old, flags=re.DOTALL)
    path.write_text(new, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the papers again, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with adult/, hierarchies/, transactions/, tabular/")
    parser.add_argument("--quick", action="store_true", help="under ten minutes")
    parser.add_argument("--out", type=Path, default=Path("papers"))
    parser.add_argument(
        "--only", nargs="*", choices=[paper.key for paper in PAPERS], help="run some of the papers, or none"
    )
    parser.add_argument("--docs", type=Path, help="folder of pages of the documentation to put the figures into")
    options = parser.parse_args(arguments)
    wanted = [paper for paper in PAPERS if options.only is None or paper.key in options.only]
    ran = [reproduce(paper, options.data, options.out, quick=options.quick) for paper in wanted]
    done = [each for paper in PAPERS if (each := Reproduced.read(paper, options.out)) is not None]
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "papers.html"
    path.write_text(page(done), encoding="utf-8")
    for each in done:
        print(f"\n# {each.paper.key}, {each.seconds:.0f} s")
        for claim, finding in each.findings:
            print(f"{claim.figure}: {claim.printed}\n  {finding.verdict.upper()}: {finding.words}")
            if finding.cause:
                print(f"  {finding.cause}")
        if options.docs:
            put_into(options.docs / f"{each.paper.key}.md", markdown(each))
    print(f"\nThe page is {path}.")
    return 0 if all(ran) else 1


if __name__ == "__main__":
    sys.exit(main())
