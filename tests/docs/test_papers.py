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
    columns = ("k", "release", "mean group", "T", "error qd=1", "error qd=5")
    table = figures.table("Figure 12 and joint", *columns)
    table.row(2, "two steps, t=.4", 2.2, 0.3, two, two)
    table.row(10, "two steps, t=.4", 11.0, 0.0, ten, ten)
    table.row(2, "generalization only, t=.4", 9.4, 0.0, alone, alone)
    return figures.tables


def test_a_claim_is_judged_by_the_figures_of_the_run(benchmarks):
    judge = benchmarks.claims.generalization_is_best

    assert judge(query_errors(benchmarks, alone=0.05, two=0.06, ten=0.1)).verdict == "agrees"
    found = judge(query_errors(benchmarks, alone=0.108, two=0.061, ten=0.2))
    assert found.verdict == "does not agree"
    assert "0.108" in found.words
    assert "0.061" in found.words
    assert "2.2" in found.cause


@pytest.mark.parametrize(
    ("alone", "two", "ten", "verdict"),
    [(0.2, 0.1, 0.3, "agrees"), (0.05, 0.1, 0.3, "agrees in part"), (0.2, 0.3, 0.1, "does not agree")],
)
def test_a_small_k_must_be_the_best_where_the_paper_says_so(benchmarks, alone, two, ten, verdict):
    judge = benchmarks.claims.small_k_is_best

    assert judge(query_errors(benchmarks, alone=alone, two=two, ten=ten)).verdict == verdict


def searches(benchmarks, title, *points):
    figures = benchmarks.figures.Figures()
    table = figures.table(title, "n", "search", "T")
    for n, point in enumerate(points):
        for search, cost in zip(("adaptive", "dfs", "exact"), point, strict=True):
            table.row(n, search, cost)
    return figures.tables


@pytest.mark.parametrize(
    ("points", "verdict"),
    [
        ([(0.2, 0.3, 0.1), (0.2, 0.3, 0.2)], "better"),  # ours is never behind, and ahead somewhere
        ([(0.2, 0.3, 0.2)], "agrees"),
        ([(0.2, 0.3, 0.1), (0.2, 0.2, 0.2)], "agrees in part"),  # not always ahead, though on average
        ([(0.2, 0.21, 0.1), (0.3, 0.2, 0.1)], "does not agree"),
    ],
)
def test_better_means_that_the_claim_holds_and_ours_goes_beyond_it(benchmarks, points, verdict):
    judge = benchmarks.claims.adaptive_beats_dfs("Figure 6")

    assert judge(searches(benchmarks, "Figure 6a: n", *points)).verdict == verdict


def test_every_claim_of_every_paper_is_printed_once_and_has_a_judge(benchmarks):
    for paper in benchmarks.papers.PAPERS:
        printed = [(claim.figure, claim.printed) for claim in paper.claims]
        assert len(set(printed)) == len(printed)
        assert all(callable(claim.judge) for claim in paper.claims)


@pytest.mark.parametrize(
    ("verdict", "words", "cause"),
    [
        ("does not agree", "0.2 against 0.1", ""),
        ("agrees in part", "0.2 against 0.1", ""),
        ("agrees", "0.2 against 0.1", "a cause of nothing"),
        ("agrees", "", ""),
        ("nearly agrees", "0.2 against 0.1", ""),
    ],
)
def test_a_verdict_without_figures_or_cause_is_refused(benchmarks, verdict, words, cause):
    with pytest.raises(ValueError, match=r"verdict|cause"):
        benchmarks.claims.Finding(verdict, words, cause)


def test_a_statement_names_its_cause_before_it_is_known_to_fail(benchmarks):
    with pytest.raises(ValueError, match="it falls"):
        benchmarks.claims.Part("it falls", True, "")


def test_the_verdict_follows_from_all_parts_of_a_claim(benchmarks):
    claims = benchmarks.claims
    yes, no = claims.Part("it falls", True, "noise"), claims.Part("it is small", False, "few records")

    assert claims.decided("1, 2", yes).verdict == "agrees"
    assert claims.decided("1, 2", yes, better=True).verdict == "better"
    assert claims.decided("1, 2", yes, no, better=True).verdict == "agrees in part"
    found = claims.decided("1, 2", no, better=True)
    assert found.verdict == "does not agree"
    assert "it is small" in found.cause
    assert "few records" in found.cause
    assert "noise" not in found.cause


def over_time(benchmarks, *data_sets):
    """Plant Figure 8: for each data set the costs of both searches at two times; only adaptive completes."""
    figures = benchmarks.figures.Figures()
    table = figures.table("Figure 8: cost over time, (1,30)", "seconds", "curve", "data set", "search", "T", "complete")
    for number, (adaptive, dfs) in enumerate(data_sets):
        for search, costs in (("adaptive", adaptive), ("dfs", dfs)):
            for seconds, cost in zip((0.1, 1.0), costs, strict=True):
                table.row(seconds, "", number, search, cost, seconds == 1.0 and search == "adaptive")
        table.row(0.0, "", number, "exact", adaptive[-1], True)
    return figures.tables


@pytest.mark.parametrize(
    ("data_sets", "verdict", "not_so"),
    [
        ([((0.2, 0.2), (0.4, 0.3))], "agrees", ""),
        ([((0.2, 0.2), (0.4, 0.3)), ((0.5, 0.2), (0.4, 0.3))], "agrees in part", "first answer"),  # the end is not all
        ([((0.2, 0.2), (0.4, 0.3)), ((0.3, 0.2), (0.4, 0.4))], "agrees in part", "improves"),
    ],
)
def test_figure_8_is_judged_on_all_data_sets_at_all_times(benchmarks, data_sets, verdict, not_so):
    found = benchmarks.claims.searches_over_time("(1,30)")(over_time(benchmarks, *data_sets))

    assert found.verdict == verdict
    assert not_so in found.cause


@pytest.mark.parametrize(("alone", "verdict"), [(0.3, "agrees"), (0.01, "agrees in part")])
def test_figure_9_is_judged_with_the_method_that_wins(benchmarks, alone, verdict):
    figures = benchmarks.figures.Figures()
    table = figures.table("Figure 9: l", "l", "release", "change of belief", "distance", "mean group", "T")
    for release, change in (("removal only", 0.1), ("k=2", 0.5), ("k=5", 0.4), ("k=10", 0.2)):
        table.row(10, release, change, change, 3.0, 0.3)
    table.row(10, "generalization only", alone, alone, 80.0, 0.0)

    found = benchmarks.claims.privacy_over_k(figures.tables)
    assert found.verdict == verdict
    if alone < 0.1:
        assert "generalization only" in found.cause


def over_t(benchmarks, **other):
    """Plant Figure 3 of sensitive quasi-identifiers: distances that fall from t = .1 to t = .5, and are small."""
    figures = benchmarks.figures.Figures()
    table = figures.table("Figure 3: Adult over t", "setting", "q'", "method", "L1", "L2", "Hellinger")
    for place, setting in enumerate(("t = 0.1", "t = 0.5")):
        for method, cost in (("paper", 0.2), ("auto", 0.1), ("value-adding", 1.0)):
            far = dict.fromkeys(("L1", "L2", "Hellinger"), cost / (place + 1))
            if method == "paper":
                far |= {name: values[place] for name, values in other.items()}
            table.row(setting, 2, method, *far.values())
    return figures.tables


@pytest.mark.parametrize(
    ("other", "verdict"),
    [
        ({}, "agrees"),
        ({"L2": (0.2, 0.3)}, "agrees in part"),  # one of three distances rises
        ({"Hellinger": (0.7, 0.6)}, "agrees in part"),  # not small at t = .1
        ({"L1": (0.7, 0.8)}, "does not agree"),
    ],
)
def test_distances_over_t_are_judged_by_all_three_and_by_both_halves_of_the_claim(benchmarks, other, verdict):
    assert benchmarks.sets.over_t("Figure 3")(over_t(benchmarks, **other)).verdict == verdict


def kept_rules(benchmarks, rules):
    figures = benchmarks.figures.Figures()
    columns = ("data", "method", "rho", "rules .3", "rules .7", "J .3", "J .7", "J .3 none", "J .7 none", "NS")
    table = figures.table("Figure 3: rules kept", *columns)
    for name, number, kept in (("WV", 100, 0.8), ("Syn (made up)", rules, 1.0)):
        for method in ("best", "mine", "dist", "global", "td-control"):
            of = kept if method in ("best", "mine") else 0.6 if method == "dist" else 0.05
            table.row(name, method, 0.7, number, number, of, of, 1.0, 1.0, 0.3)
    return figures.tables


def test_a_table_without_rules_has_no_say_about_rules(benchmarks):
    found = benchmarks.sets.rules(kept_rules(benchmarks, 0))
    assert found.verdict == "agrees"
    assert "Syn (made up), rho" not in found.words
    assert "no rule: Syn (made up)" in found.words
    assert "Syn (made up), rho" in benchmarks.sets.rules(kept_rules(benchmarks, 5)).words
    assert benchmarks.sets.few_rules_of_others(kept_rules(benchmarks, 0)).verdict == "agrees"


@pytest.mark.parametrize(
    ("pairs", "verdict"), [(0.9, "agrees in part"), (0.1, "does not agree"), (None, "does not agree")]
)
def test_permutation_is_compared_at_every_p_that_it_can_do(benchmarks, pairs, verdict):
    figures = benchmarks.figures.Figures()
    columns = ("data", "method", "p", "sym-KL of items", "sym-KL of pairs", "CPU s", "safe")
    table = figures.table("Figure 7: against permutation", *columns)
    for method in ("best", "best, distribution", "mine", "dist"):
        table.row("WV", method, 4, 0.1, 0.5, 1.0, "yes")
    table.row("WV", "permutation", 4, 0.0, pairs, 2.0, "no")

    assert benchmarks.sets.permutation(figures.tables).verdict == verdict


def test_the_pages_name_a_cause_wherever_a_claim_does_not_hold_in_full(benchmarks):
    for paper in benchmarks.papers.PAPERS:
        text = (ROOT / "docs" / "papers" / f"{paper.key}.md").read_text(encoding="utf-8")
        rows = [line.split(" | ") for line in text.splitlines() if line.count(" | ") == 4 and " | **" in line]
        assert len(rows) == len(paper.claims), paper.key
        for _, printed, verdict, words, cause in rows:
            benchmarks.claims.Finding(verdict.strip("*"), words, cause.strip("| ")), printed


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
