"""`tests/unit` mirrors `src/sfumato`: who changes a file knows where its tests are."""

from __future__ import annotations

import ast

import pytest

from house import FILES, ROOT, SOURCE

UNIT = ROOT / "tests" / "unit"
BASELINES = "unit/anonymizers/test_item_baselines.py"
ESTIMATORS = "unit/estimators/test_estimators.py"
LIKENESS = "unit/models/test_likeness_and_disclosure.py"
POPULATIONS = "unit/models/test_population_models.py"
QUASI_SENSITIVE = "unit/models/test_qs_models.py"
RANDOMIZED = "unit/models/test_sensitive_qids.py"
SMALL_SETS = "unit/models/test_small_sets.py"
# What is tested together with something else stands here, with where. Kernels have a law of their own.
ELSEWHERE = {
    "anonymizers/base.py": "conformance/test_stopping.py",
    "anonymizers/boxes.py": "unit/anonymizers/test_mondrian.py",
    "anonymizers/items/growth.py": "unit/anonymizers/test_partial_suppression.py",
    "anonymizers/items/crowds.py": "unit/anonymizers/test_item_generalization.py",
    "anonymizers/published/apriori_anonymization.py": "unit/anonymizers/test_item_generalization.py",
    "anonymizers/published/drop_sensitive.py": BASELINES,
    "anonymizers/published/global_suppression.py": BASELINES,
    "anonymizers/published/permutation.py": BASELINES,
    "anonymizers/published/rating.py": "unit/anonymizers/test_rating.py",
    "anonymizers/published/td_control.py": BASELINES,
    "anonymizers/published/term_walks.py": "unit/kernels/test_term_suppression.py",
    "anonymizers/published/top_down.py": "unit/anonymizers/test_masking.py",
    "cli/app.py": "system/test_command_line.py",
    "cli/knowing.py": "unit/knowledge/test_building.py",
    "cli/estimating.py": "unit/receiving/test_estimates.py",
    "cli/connecting.py": "system/test_databases.py",
    "cli/junit.py": "system/test_gates.py",
    "cli/limits.py": "system/test_hostile_input.py",
    "cli/making.py": "system/test_command_line.py",
    "cli/questions.py": "system/test_command_line.py",
    "cli/serving.py": "system/test_web_server.py",
    "cli/terminal.py": "system/test_terminal.py",
    "data/bins.py": "unit/data/test_bins_and_bit_sets.py",
    "data/bit_sets.py": "unit/data/test_bins_and_bit_sets.py",
    "data/population.py": POPULATIONS,
    "data/files/stat_apart.py": "unit/data/files/test_stat.py",
    "data/recoding.py": "unit/data/test_release.py",
    "engines/base.py": "unit/engines/test_local.py",
    "engines/region_tasks.py": "unit/engines/test_regions.py",
    "engines/tasks.py": "unit/engines/test_dividing.py",
    "engines/workroom.py": "unit/engines/test_dividing.py",
    "report/explored.py": "unit/sweeping/test_facts.py",
    "errors.py": "conformance/test_public_names.py",
    "estimators/auto.py": ESTIMATORS,
    "estimators/base.py": ESTIMATORS,
    "estimators/inverse.py": ESTIMATORS,
    "estimators/kronecker.py": ESTIMATORS,
    "estimators/likelihood.py": ESTIMATORS,
    "estimators/mle.py": ESTIMATORS,
    "estimators/paper.py": ESTIMATORS,
    "estimators/records.py": ESTIMATORS,
    "estimators/value_adding.py": ESTIMATORS,
    "generators/requirements.py": "unit/pipeline/test_warming.py",
    "knowledge/aliases.py": "unit/knowledge/test_building.py",
    "knowledge/ontology.py": "unit/knowledge/test_sources.py",
    "models/alpha_diversity.py": "unit/models/test_multi_diversity.py",
    "models/beta_likeness.py": LIKENESS,
    "models/delta_disclosure.py": LIKENESS,
    "models/delta_presence.py": POPULATIONS,
    "models/hkp_coherence.py": SMALL_SETS,
    "models/km_anonymity.py": SMALL_SETS,
    "models/judging/small_sets.py": SMALL_SETS,
    "models/k_map.py": POPULATIONS,
    "models/judging/belief_measures.py": QUASI_SENSITIVE,
    "models/judging/belief_verdict.py": QUASI_SENSITIVE,
    "models/judging/beliefs.py": QUASI_SENSITIVE,
    "models/judging/closed_sets.py": "unit/models/test_rho_uncertainty.py",
    "models/judging/logarithms.py": LIKENESS,
    "models/judging/links.py": QUASI_SENSITIVE,
    "models/judging/population.py": POPULATIONS,
    "models/judging/randomized.py": RANDOMIZED,
    "models/judging/shares.py": LIKENESS,
    "models/judging/worst_sets.py": RANDOMIZED,
    "models/judging/worst_values.py": "unit/anonymizers/test_pram.py",
    "models/qs_closeness.py": QUASI_SENSITIVE,
    "models/qs_diversity.py": QUASI_SENSITIVE,
    "models/sensitive_qid_closeness.py": RANDOMIZED,
    "models/sensitive_qid_diversity.py": RANDOMIZED,
    "pipeline/clock.py": "unit/pipeline/test_case.py",
    "pipeline/facts.py": "unit/pipeline/test_known.py",
    "pipeline/making.py": "unit/pipeline/test_case.py",
    "pipeline/original.py": "conformance/test_the_house.py",
    "plan/members.py": "unit/webapp/test_pages.py",
    "processes.py": "unit/webapp/test_jobs.py",
}
NAMED = [path for path in FILES if not path.stem.startswith("__") and "kernels" not in path.parts]


def own_test(path):
    """The test that bears a file's name, or that of the folder which the file is a part of; None when there is none."""
    parts = path.relative_to(SOURCE)
    candidates = [UNIT / parts.parent / f"test_{path.stem}.py"]
    if parts.parent.name:
        candidates.append(UNIT / parts.parent.parent / f"test_{parts.parent.name}.py")
    return next((each for each in candidates if each.is_file()), None)


def test_every_file_has_a_test_of_its_name_or_is_listed_as_tested_elsewhere():
    without = {path.relative_to(SOURCE).as_posix() for path in NAMED if own_test(path) is None}

    assert without == set(ELSEWHERE)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_where_a_file_is_said_to_be_tested_something_of_it_is_named(name):
    tree = ast.parse((SOURCE / name).read_text(encoding="utf-8"))
    text = (ROOT / "tests" / ELSEWHERE[name]).read_text(encoding="utf-8")

    assert any(word in text for word in words_of(name, tree))


def words_of(name, tree):
    """What a test that is about a file would say: its module, what it defines, or the name of its member."""
    yield "sfumato." + name.removesuffix(".py").replace("/", ".")
    if name.startswith("cli/"):
        yield 'sys.executable, "-m", "sfumato"'  # as a user types it
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "name" and node.value is not None:
            yield str(ast.literal_eval(node.value))
