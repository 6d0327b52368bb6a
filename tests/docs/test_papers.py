"""The page of the papers: claims are judged by the tables of a run, missing files are named, made-up data marked."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def benchmarks():
    import claims
    import claims_sets
    import figures
    import papers

    return type("Benchmarks", (), {"claims": claims, "sets": claims_sets, "figures": figures, "papers": papers})


def query_errors(benchmarks, *, alone, two, ten):
    figures = benchmarks.figures.Figures()
    table = figures.table("Figure 12 and joint", "k", "release", "error qd=1", "error qd=5")
    table.row(2, "two steps, t=.4", two, two)
    table.row(10, "two steps, t=.4", ten, ten)
    table.row(2, "generalization only, t=.4", alone, alone)
    return figures.tables


def test_a_claim_is_judged_by_the_figures_of_the_run(benchmarks):
    judge = benchmarks.claims.errors_of_queries(1, generalization_is_best=True)

    assert judge(query_errors(benchmarks, alone=0.05, two=0.06, ten=0.1)).verdict == "agrees"
    found = judge(query_errors(benchmarks, alone=0.108, two=0.061, ten=0.2))
    assert found.verdict == "does not agree"
    assert "0.108" in found.words
    assert "0.061" in found.words


def test_a_small_k_must_be_the_best_where_the_paper_says_so(benchmarks):
    judge = benchmarks.claims.errors_of_queries(5, generalization_is_best=False)

    assert judge(query_errors(benchmarks, alone=0.2, two=0.1, ten=0.3)).verdict == "agrees"
    assert judge(query_errors(benchmarks, alone=0.2, two=0.3, ten=0.1)).verdict == "does not agree"


@pytest.mark.parametrize(
    ("adaptive", "dfs", "exact", "verdict"),
    [(0.2, 0.3, 0.1, "better"), (0.2, 0.3, 0.2, "agrees"), (0.3, 0.2, 0.1, "does not agree")],
)
def test_better_means_that_the_claim_holds_and_ours_goes_beyond_it(benchmarks, adaptive, dfs, exact, verdict):
    figures = benchmarks.figures.Figures()
    table = figures.table("Figure 6a", "n", "search", "T")
    for search, cost in (("adaptive", adaptive), ("dfs", dfs), ("exact", exact)):
        table.row(5, search, cost)

    assert benchmarks.claims.adaptive_beats_dfs("Figure 6")(figures.tables).verdict == verdict


def test_without_files_it_says_which_and_where_they_can_be_had(benchmarks, tmp_path, capsys):
    code = benchmarks.papers.main([str(tmp_path), "--only", "multi-sensitive", "--out", str(tmp_path / "out")])

    shown = capsys.readouterr().out
    assert code == 1
    assert f"missing: {tmp_path / 'adult' / 'adult_train.csv.gz'}" in shown
    assert "archive.ics.uci.edu" in shown
    assert (tmp_path / "out" / "papers.html").is_file()


def test_the_page_shows_claims_tables_plots_and_what_is_made_up(benchmarks, tmp_path):
    papers = benchmarks.papers
    figures = benchmarks.figures.Figures()
    table = figures.table("Figure 6a: n", "n", "search", "T")
    for n in (5, 9):
        for search, cost in (("adaptive", 0.2), ("dfs", 0.3), ("exact", 0.1)):
            table.row(n, search, cost + n / 1000)
    table.plot(x="n", y="T", by="search")
    claim = benchmarks.claims.QUASI_SENSITIVE[0]
    paper = papers.Paper("key", "A title", "Somebody (2010)", (), (), "", lambda data: [], (claim,))
    done = papers.Reproduced(paper, figures.tables, 1.0, ("transactions/bms_pos.txt.gz",), True)
    done.write(tmp_path)
    done = papers.Reproduced.read(paper, tmp_path)  # what a later run finds

    shown = papers.page([done])
    assert claim.printed in shown
    assert '<b class="verdict better">better</b>' in shown
    assert "Made up" in shown
    assert shown.count("<polyline") == 3
    assert "<td>0.205" in shown
    text = papers.markdown(done)
    assert "| Figure 6 |" in text
    assert "| 5 | adaptive | 0.205 |" in text
    assert "quick run" in text


def test_every_paper_has_a_page_with_a_place_for_its_figures(benchmarks, tmp_path):
    papers = benchmarks.papers
    for paper in papers.PAPERS:
        page = ROOT / "docs" / "papers" / f"{paper.key}.md"
        copy = tmp_path / page.name
        copy.write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
        papers.put_into(copy, "| new |")
        assert "| new |" in copy.read_text(encoding="utf-8")
        assert "## Errata" in copy.read_text(encoding="utf-8")
        for claim in paper.claims:
            assert claim.printed in page.read_text(encoding="utf-8"), "make papers DATA=folder, with --docs docs/papers"
