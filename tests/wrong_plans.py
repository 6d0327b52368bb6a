"""Plans with one thing wrong each, and where it is."""

from __future__ import annotations

FLAT = {"flat": True}
TERMS = {"role": "quasi-sensitive", "kind": "set"}
CELLS = {"role": "sensitive-quasi-identifier", "domain": ["a", "b", "c"]}
COLUMNS = {"age": {"role": "quasi-identifier"}, "ill": {"role": "sensitive", "hierarchy": FLAT}}
REQUIRE = [{"model": "k-anonymity", "k": 2}]
KNOWLEDGE = {"path": "k.csv", "label": "illness", "terms": "symptoms"}


def plan(**parts):
    return {"columns": COLUMNS, "require": REQUIRE, **parts}


def asking(*models, **columns):
    return plan(columns={**COLUMNS, **columns}, require=[*REQUIRE, *models])


def column(**keys):
    return plan(columns={**COLUMNS, "x": {"role": "quasi-identifier", **keys}})


def closeness(column):
    return {"model": "qs-closeness", "column": column, "t": 0.4}


def masked(name, **more):
    return {"model": "alpha-diversity", "sensitive": name, "alpha": 0.5, **more}


# Wrong in themselves: what each part may look like says so.
SHAPES = [
    ({**plan(), "sorce": {}}, "sorce"),
    (plan(columns={}), "columns"),
    (plan(columns=3), "columns"),
    (plan(require=[]), "require"),
    (plan(require={"k": 2}), "require"),
    (plan(source={"pth": "x.csv"}), "source.pth"),
    (plan(source={"path": 3}), "source.path"),
    (plan(source={"path": "x.csv", "separator": ""}), "source.separator"),
    (plan(source={"path": "x.csv", "missing": [1]}), "source.missing"),
    (plan(columns={**COLUMNS, "x": "other"}), "columns.x"),
    (plan(columns={**COLUMNS, "x": {}}), "columns.x.role"),
    (plan(columns={**COLUMNS, "*": {"role": "other", "kind": "number"}}), "columns.*.kind"),
    (column(role="quasi-identifer"), "columns.x.role"),
    (column(kind="numbr"), "columns.x.kind"),
    (column(hierachy="x.csv"), "columns.x.hierachy"),
    (column(hierarchy=3), "columns.x.hierarchy"),
    (column(hierarchy={"widths": [5], "prefix": 2}), "columns.x.hierarchy"),
    (column(hierarchy={"dates": ["mnth"]}), "columns.x.hierarchy"),
    (column(hierarchy={"prefix": 0}), "columns.x.hierarchy"),
    (column(hierarchy={"prefix": []}), "columns.x.hierarchy"),
    (column(hierarchy={"widths": [0]}), "columns.x.hierarchy"),
    (column(hierarchy={"edges": []}), "columns.x.hierarchy"),
    (column(hierarchy={"edges": ["a"]}), "columns.x.hierarchy"),
    (column(hierarchy={"edges": [[0, " "]]}), "columns.x.hierarchy"),
    (column(hierarchy={"widths": ["five"]}), "columns.x.hierarchy"),
    (column(hierarchy={"widths": [5], "origin": ""}), "columns.x.hierarchy"),
    (column(hierarchy={"flat": ["a"]}), "columns.x.hierarchy"),
    (column(hierarchy={"a": {"b": "c"}}), "columns.x.hierarchy"),
    (column(separator=1), "columns.x.separator"),
    (column(domain=3), "columns.x.domain"),
    (column(domain=[]), "columns.x.domain"),
    (column(role="items", sensitive_items=[]), "columns.x.sensitive_items"),
    (column(role="items", sensitive_items={"share": 2}), "columns.x.sensitive_items.share"),
    (column(role="items", sensitive_items={"share": 0.5, "seed": "a"}), "columns.x.sensitive_items.seed"),
    (column(role="items", sensitive_items={"share": 0.5, "sed": 1}), "columns.x.sensitive_items.sed"),
    (column(role="quasi-sensitive", present=[]), "columns.x.present"),
    (column(base_rates=3), "columns.x.base_rates"),
    (plan(require=[*REQUIRE, 3]), "require[2]"),
    (plan(require=[{"k": 5}]), "require[1].model"),
    (plan(require=[{"model": "k-anonimity", "k": 5}]), "require[1].model"),
    (plan(require=[{"model": ["k-anonymity"], "k": 5}]), "require[1].model"),
    (plan(require=[{"model": "k-anonymity", "k": 5, "anonymizer": ["mondrian"]}]), "require[1].anonymizer"),
    (plan(require=[{"model": "k-anonymity"}]), "require[1]"),
    (plan(require=[{"model": "k-anonymity", "k": 0}]), "require[1].k"),
    (plan(require=[{"model": "k-anonymity", "k": 2, "l": 2}]), "require[1].l"),
    (asking({"model": "t-closeness", "sensitive": "ill", "t": " "}), "require[2].t"),
    (plan(require=[{**REQUIRE[0], "anonymizer": "mondrain"}]), "require[1].anonymizer"),
    (plan(require=[{**REQUIRE[0], "anonymizer": "randomization"}]), "require[1].anonymizer"),
    (plan(anonymizers={"mondrain": {}}), "anonymizers.mondrain"),
    (plan(anonymizers={"mondrian": 3}), "anonymizers.mondrian"),
    (plan(anonymizers={"mondrian": {"stric": True}}), "anonymizers.mondrian.stric"),
    (plan(anonymizers={"mondrian": {"strict": "yes"}}), "anonymizers.mondrian.strict"),
    (plan(anonymizers={"masking": {"weight": 0}}), "anonymizers.masking.weight"),
    (plan(anonymizers={"drop-sensitive": {"stric": True}}), "anonymizers.drop-sensitive.stric"),
    (asking({"model": "sensitive-qid-diversity", "l": {"x": 2, "y": 1}}, x=CELLS, y=CELLS), "require[2].l.y"),
    (asking({"model": "sensitive-qid-diversity", "l": 3}, x=CELLS), "require[2].l"),
    (plan(knowledge={}), "knowledge"),
    (plan(knowledge={"path": "k.csv"}), "knowledge"),
    (plan(knowledge={**KNOWLEDGE, "unlinked": "none"}), "knowledge.unlinked"),
    (plan(knowledge={**KNOWLEDGE, "terms": []}), "knowledge.terms"),
    (plan(knowledge={**KNOWLEDGE, "publish_prior": "yes"}), "knowledge.publish_prior"),
    (column(weight=-1), "columns.x.weight"),
    (column(weight="much"), "columns.x.weight"),
    (plan(release={"format": "cvs"}), "release.format"),
    (plan(release={"shuffle": 1}), "release.shuffle"),
    (plan(measure={"tables": ["age"]}), "measure.tables"),
    (plan(measure={"query_columns": [1.5]}), "measure.query_columns"),
    (plan(measure={"rule_confidences": "high"}), "measure.rule_confidences"),
    (plan(measure={"rule_support": 0}), "measure.rule_support"),
]

# Parts that do not go together, or say what is not so: only whoever reads all of it can tell.
TOGETHER = [
    (plan(release={"dialect": "source", "format": "parquet"}), "release.dialect"),
    (plan(columns={"ill": {"role": "sensitive"}}), "columns"),
    (column(domain="no-such-file.txt"), "columns.x.domain"),
    (column(kind="ordered"), "columns.x.domain"),
    (column(hierarchy={"a": {}}), "columns.x.hierarchy"),
    (plan(columns={**COLUMNS, "age": {**COLUMNS["age"], "weight": 0}}), "columns"),
    (column(role="sensitive", weight=2), "columns.x.weight"),
    (column(kind="set"), "columns.x.role"),
    (column(bins=[3, 2]), "columns.x.bins"),
    (column(bins=[0, 2], domain=["a"]), "columns.x.bins"),
    (column(bins=[0, 2], kind="category"), "columns.x.bins"),
    (column(sensitive_items=["a"]), "columns.x.sensitive_items"),
    (column(role="items"), "columns.x.role"),
    (column(present="yes"), "columns.x.present"),
    (column(role="quasi-sensitive", term="a"), "columns.x.term"),
    (
        plan(require=[{**REQUIRE[0], "anonymizer": name} for name in ("mondrian", "local-recoding")]),
        "require[2].anonymizer",
    ),
    (asking({"model": "l-diversity", "sensitive": "ill", "l": 2.5}), "require[2].l"),
    (asking({"model": "l-diversity", "sensitive": "ill", "l": 2, "c": 1}), "require[2].c"),
    (asking({"model": "l-diversity", "sensitive": "ill", "l": 2, "kind": "recursive"}), "require[2].c"),
    (asking({"model": "l-diversity", "sensitive": "il", "l": 2}), "require[2].sensitive"),
    (asking({"model": "l-diversity", "sensitive": "age", "l": 2}), "require[2].sensitive"),
    (
        asking(
            {"model": "t-closeness", "sensitive": "x", "t": 0.2, "distance": "hierarchical"}, x={"role": "sensitive"}
        ),
        "columns.x.hierarchy",
    ),
    (asking(closeness("x"), x=TERMS), "knowledge"),
    ({**asking(closeness("x"), closeness("y"), x=TERMS, y=TERMS), "knowledge": KNOWLEDGE}, "require[2].column"),
    (
        {**asking(closeness(["x", "y"]), x=TERMS, y={"role": "quasi-sensitive"}), "knowledge": KNOWLEDGE},
        "columns.y.kind",
    ),
    ({**asking({**closeness("x"), "t": "1.41421356237309504881"}, x=TERMS), "knowledge": KNOWLEDGE}, "require[2].t"),
    (asking({"model": "sensitive-qid-diversity", "l": {"x": 2, "z": 2}}, x=CELLS), "require[2].l.z"),
    (
        asking({"model": "sensitive-qid-closeness", "t": {"x": 0.2}, "distance": "hierarchical"}, x=CELLS),
        "columns.x.hierarchy",
    ),
    (
        asking({"model": "rho-uncertainty", "column": "x", "rho": 0.3}, x={"role": "items", "kind": "set"}),
        "columns.x.sensitive_items",
    ),
    (asking(masked("x"), x={"role": "sensitive"}), "columns.x.hierarchy"),
    (asking(masked("ill"), {"model": "l-diversity", "sensitive": "ill", "l": 2}), "require[2].sensitive"),
    (asking(masked("ill"), masked("x", reading="true"), x=COLUMNS["ill"]), "require[3].reading"),
    (plan(measure={"target": "il"}), "measure.target"),
    (plan(measure={"tables": [["agee"]]}), "measure.tables"),
    (
        {
            **plan(columns={**COLUMNS, "x": TERMS}, require=[closeness("x")], knowledge=KNOWLEDGE),
            "anonymizers": {"term-suppression": {"joint": True}},
        },
        "anonymizers.term-suppression.joint",
    ),
    (
        plan(anonymizers={"term-suppression": {"joint": True, "search": "dfs"}}),
        "anonymizers.term-suppression.joint",
    ),
    (plan(anonymizers={"masking": {"avoid_vacuous": True, "search": "paper"}}), "anonymizers.masking.avoid_vacuous"),
    (
        plan(
            columns={**COLUMNS, "x": CELLS},
            require=[
                {**REQUIRE[0], "anonymizer": "full-domain"},
                {"model": "sensitive-qid-diversity", "l": {"x": 2}},
            ],
            anonymizers={"full-domain": {"drop_rows": 0.1}},
        ),
        "anonymizers.full-domain.drop_rows",
    ),
    (
        plan(
            columns={**COLUMNS, "x": CELLS},
            require=[
                {**REQUIRE[0], "anonymizer": "mondrian"},
                {"model": "sensitive-qid-diversity", "l": {"x": 2}},
            ],
            anonymizers={"mondrian": {"drop_rows": 0.1}},
        ),
        "anonymizers.mondrian.drop_rows",
    ),
]

WRONG = [*SHAPES, *TOGETHER]
