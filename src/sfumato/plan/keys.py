"""Every key of a plan, as data: for the parser, `sfumato schema`, and the tables of the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.data.builders import BUILDER_KEYS
from sfumato.data.dates import DATE_LEVELS
from sfumato.data.files.source import DECIMALS, FORMATS, ORDERS
from sfumato.data.gathering import How
from sfumato.data.knowledge import ASK, UNLINKED
from sfumato.data.knowledge_reading import FROM_DATA
from sfumato.data.schema import DEFAULT_MISSING, Kind, Role
from sfumato.parameters import Parameter, Takes, parameters_of
from sfumato.plan.values import EngineOptions, MeasureOptions, PopulationOptions, ReleaseOptions, one_or_more

REST = "*"  # stands for the columns that a plan does not name


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of the plan, and the keys in it."""

    title: str
    help: str
    keys: tuple[Parameter, ...] = ()

    def names(self) -> tuple[str, ...]:
        """Return the names of the keys."""
        return tuple(key.name for key in self.keys)


def _key(name: str, takes: Takes, help: str, title: str = "", **more: Any) -> Parameter:  # noqa: A002 - as in `about`
    """Return a key; without another title it is called by its name."""
    return Parameter(name=name, takes=takes, title=title or name.replace("_", " ").capitalize(), help=help, **more)


def _form(title: str, needed: str, **properties: Any) -> dict[str, Any]:
    """Return the shape of a table that must have one of its keys, and no others."""
    titled = {"title": title} if title else {}
    return {"type": "object", **titled, "properties": properties, "required": [needed], "additionalProperties": False}


_LABELS = "Of Stata, SPSS and SAS: whether codes show their labels. Write false where labels name people or places."
_CATALOG = "Of a data set of SAS (.sas7bdat): the file with its value labels (.sas7bcat)."
_WORDS: Mapping[str, Any] = {"type": "array", "items": {"type": ["string", "number", "boolean"]}}
_ONE = {"type": ["string", "integer", "boolean"]}
_TREE = {"type": "object", "additionalProperties": {"anyOf": [_WORDS, {"$ref": "#/$defs/tree"}]}}
# Text holds numbers to the digit: 1/3, 1e-3, digits of any script. Some sign is no letter and no blank.
NUMBER_IN_TEXT = {"pattern": r"^[^A-DF-Za-df-z]*[^A-Za-z\s][^A-DF-Za-df-z]*$"}
_NUMBER = {"type": ["number", "string"], **NUMBER_IN_TEXT}
_LENGTH = {"type": "integer", "minimum": 1}
_HIERARCHY = {
    "anyOf": [
        {"type": "string", "title": "a file: value;level 1;...;*"},
        _form("leading characters of codes", "prefix", prefix=one_or_more(_LENGTH)),
        _form("ranges of numbers", "widths", widths=one_or_more({**_NUMBER, "exclusiveMinimum": 0}), origin=_NUMBER),
        _form(
            "ranges of numbers between given edges",
            "edges",
            edges={"type": "array", "minItems": 1, "items": {"anyOf": [_NUMBER, {"type": "array", "items": _NUMBER}]}},
        ),
        _form("periods of dates", "dates", dates=one_or_more({"enum": list(DATE_LEVELS)})),
        _form("the value, or *", "flat", flat={"enum": [True]}),
        {"allOf": [{"$ref": "#/$defs/tree"}, {"not": {"propertyNames": {"enum": sorted(BUILDER_KEYS)}}}]},
    ]
}
DEFINITIONS = {"tree": {**_TREE, "title": "labels with the values, or the labels, below them"}}

SOURCE = Table(
    title="Source",
    help="The table to publish. Left out when a frame is given in Python.",
    keys=(
        _key(
            "path",
            Takes.TEXT,
            "Table (.csv .tsv, plain, .gz or .zst; .parquet, file or folder; .arrow; .xlsx .ods; .dta .sav .sas7bdat), "
            "or transactions (.txt .dat).",
            title="File",
        ),
        _key(
            "database",
            Takes.TEXT,
            "In place of a file: the name of a connection (`sfumato connections`), or a file of SQLite or DuckDB "
            "(.sqlite .duckdb). Never an address or a password.",
        ),
        _key(
            "table",
            Takes.TEXT,
            "Of the database, with its schema: clinic.stays. Without a database: of Spark's catalog (--engine spark).",
        ),
        _key("query", Takes.TEXT, "In place of a table: a select, or a file that ends in .sql."),
        _key("separator", Takes.TEXT, "Between cells, or between items of a transaction; found out when left out."),
        _key("format", Takes.CHOICE, "What the file is, where its name does not tell.", choices=FORMATS),
        _key("encoding", Takes.TEXT, "Of text files, such as utf-8, windows-1252 or utf-16; found out when left out."),
        _key(
            "header",
            Takes.FLAG,
            "Whether the first line of a CSV file names the columns; without, they are column_1, column_2 ...",
        ),
        _key(
            "header_row",
            Takes.WHOLE,
            "The line of a CSV file or sheet, counted from 1, that names the columns; lines above are not read. "
            "Detected if not given.",
            title="Line of the names of columns",
            least=1,
            example=3,
        ),
        _key("labels", Takes.FLAG, _LABELS, title="Value labels", default=True),
        _key("catalog", Takes.TEXT, _CATALOG),
        _key(
            "decimal",
            Takes.CHOICE,
            "Of numbers in text; marks between thousands go with it. Found out when left out.",
            title="Decimal mark",
            choices=DECIMALS,
        ),
        _key(
            "dates",
            Takes.CHOICE,
            "Of dates in text; found out when left out, and asked for where it cannot be told.",
            title="Order of dates",
            choices=ORDERS,
        ),
        _key("sheet", Takes.TEXT, "Of a workbook; needed where it has several with content."),
        _key(
            "missing",
            Takes.TEXTS,
            "Cells that are missing; the first one is what a release shows.",
            default=DEFAULT_MISSING,
        ),
        _key(
            "normalize",
            Takes.FLAG,
            "Read spellings that differ only in case, outer blanks or Unicode form (NFC) as one value. Applies to "
            "person numbers and to columns whose values are sensitive. If false, such spellings are refused.",
            title="One spelling of a value",
            default=False,
        ),
        _key(
            "person",
            Takes.COLUMN,
            "Column that says whose row it is, so that people are counted, not rows. Its values are not published.",
        ),
        _key(
            "weight",
            Takes.COLUMN,
            "Column that says how many people a row stands for; role other. Counts, means and measures use it.",
            title="Survey weight",
        ),
        _key(
            "household",
            Takes.COLUMN,
            "Column that is equal for people who live together; role other. Risks of whole households are measured.",
        ),
    ),
)

_GATHERED = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [
            {"enum": [how.value for how in How]},
            {
                "type": "object",
                "properties": {how.value: {"type": "string", "minLength": 1} for how in How},
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": False,
            },
        ]
    },
}
_ORDER = _key("order", Takes.COLUMN, "Column that says which row is first: a date or a number, else the file.")
_ROWS_OF_A_PERSON = "What is made of a column: same, set, first, last, count, min, max, mean or sum."
GATHER = Table(
    title="Gather",
    help="How several rows of a person become one. Columns that are not named must be the same in all of them.",
    keys=(
        _key(
            "columns",
            Takes.OTHER,
            _ROWS_OF_A_PERSON,
            example={"weight": "last", "codes": {"set": "code"}},
            shape=_GATHERED,
        ),
        _ORDER,
        _key(
            "events",
            Takes.OTHER,
            "Further tables, with any number of rows for each person.",
            example=[{"path": "conditions.csv", "columns": {"codes": {"set": "code"}}}],
            shape={"type": "array"},
        ),
    ),
)
EVENTS = Table(
    title="Events",
    help="A further table. Only the columns that are named are read.",
    keys=(
        *(key for key in SOURCE.keys if key.name not in ("missing", "normalize", "person", "weight", "household")),
        _key("person", Takes.COLUMN, "Column that says whose row it is, if not that of the source."),
        _ORDER,
        _key(
            "columns",
            Takes.OTHER,
            _ROWS_OF_A_PERSON,
            required=True,
            example={"codes": {"set": "code"}},
            shape=_GATHERED,
        ),
    ),
)

COLUMN = Table(
    title="Column",
    help='One column: what it may reveal, and how it is written. [columns."*"] gives the role of all others.',
    keys=(
        _key(
            "role",
            Takes.CHOICE,
            "What the column may reveal.",
            required=True,
            choices=tuple(role.value for role in Role),
        ),
        _key(
            "kind",
            Takes.CHOICE,
            "What its cells are; found out, and said, when left out.",
            choices=tuple(kind.value for kind in Kind),
        ),
        _key(
            "hierarchy",
            Takes.OTHER,
            "How values become coarser: a file, a builder or a tree.",
            example={"widths": [5, 10]},
            shape=_HIERARCHY,
        ),
        _key("separator", Takes.TEXT, "Between the members of a set cell.", default="|"),
        _key(
            "domain",
            Takes.OTHER,
            'All values, in order: a list, or a file with one a line; "data": those that occur.',
            default=FROM_DATA,
            example=["low", "high"],
            shape={"anyOf": [{"type": "string"}, {**_WORDS, "minItems": 1}]},
        ),
        _key(
            "bins",
            Takes.OTHER,
            "Ranges that numbers are cut into: edges, or pairs of first and last number.",
            example=[0, 20, 40],
            shape={
                "type": "array",
                "minItems": 1,
                "items": {"type": ["number", "array"], "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
            },
        ),
        _key(
            "sensitive_items",
            Takes.OTHER,
            "Role items, which are secrets: a list, a file with one a line, { share = 1 } for all, or fewer to try.",
            example=["wine"],
            shape={
                "anyOf": [
                    {"type": "string"},
                    {**_WORDS, "minItems": 1},
                    _form(
                        "",
                        "share",
                        share={"type": "number", "exclusiveMinimum": 0, "maximum": 1},
                        seed={"type": "integer"},
                    ),
                ]
            },
        ),
        _key(
            "present",
            Takes.OTHER,
            "Role quasi-sensitive, binary column: the value, or values, that say yes.",
            example="yes",
            shape=one_or_more(_ONE),
        ),
        _key("term", Takes.TEXT, "Of a binary column: another name for the term than the column's."),
        _key(
            "base_rates",
            Takes.TEXT,
            'How common values are, as everybody knows it: a table (value, weight), or "data" (for randomized columns '
            "rounded to a public grid).",
            default=FROM_DATA,
        ),
        _key(
            "worth",
            Takes.TEXT,
            "Role quasi-sensitive, what terms are worth to users: a table (term, number); others are worth 1. Removing "
            "a term costs what it is worth.",
        ),
        _key(
            "weight",
            Takes.NUMBER,
            "Role quasi-identifier: what its detail counts beside that of others when the loss is minimized.",
            default=1.0,
            least=0,
            example=2.0,
        ),
    ),
)
REST_COLUMN = Table(title="All other columns", help="What the rest may reveal.", keys=COLUMN.keys[:1])

KNOWLEDGE = Table(
    title="Public knowledge",
    help="The table that turns quasi-sensitive terms into secrets: labels, and the terms that lead to them.",
    keys=(
        _key("path", Takes.TEXT, "The knowledge table.", title="File", required=True),
        _key("label", Takes.TEXT, "Its column of labels.", required=True),
        _key(
            "terms",
            Takes.COLUMNS,
            "Its column of terms, set cells or one term a row; several are joined as column=value.",
            required=True,
        ),
        _key("separator", Takes.TEXT, "Between the terms of a cell."),
        _key(
            "prior", Takes.TEXT, 'What an intruder believed before: "data", or a column of weights.', default=FROM_DATA
        ),
        _key(
            "weights",
            Takes.TEXT,
            "Column that says how often who has the label has the term, from 0 to 1: labels are as likely as the "
            "product of these for a record's terms. Left out: all labels that explain a record are equally likely.",
        ),
        _key(
            "hierarchy",
            Takes.TEXT,
            "A file (label;group;...;*): for qs-closeness with the hierarchical distance.",
            title="Hierarchy of labels",
        ),
        _key(
            "misses",
            Takes.WHOLE,
            "1: where no label has all terms of a record, an intruder takes those that lack one of them. 0: none.",
            default=0,
            least=0,
            most=1,
        ),
        _key(
            "unlinked",
            Takes.CHOICE,
            "Records that no label explains: their terms are withheld until one does (`ask`, which ends the run when "
            "there are many, and `forbid`), or published, and left out of the mean (`linked`) or counted as believing "
            "nothing (`zero`).",
            title="Unlinked records",
            default=ASK,
            choices=tuple(UNLINKED),
        ),
        _key(
            "publish_prior",
            Takes.FLAG,
            "Whether release.json shows a prior that was estimated from the data.",
            default=False,
        ),
    ),
)
DRAFT = Table(
    title="Draft",
    help="What `sfumato init` could not know. A plan with questions is a draft, and every run of it says so.",
    keys=(_key("questions", Takes.TEXTS, "Answer each in the lines of its column, then delete it here.", default=()),),
)
RELEASE = Table(title="Release", help="How the release is written.", keys=parameters_of(ReleaseOptions))
POPULATION = Table(
    title="Population",
    help="Of whom the table is a sample, for risks in the population.",
    keys=parameters_of(PopulationOptions),
)
MEASURE = Table(title="Measure", help="What is measured beyond the usual.", keys=parameters_of(MeasureOptions))
ENGINE = Table(
    title="Engine", help="Where it runs; the command line goes before it.", keys=parameters_of(EngineOptions)
)

TABLES: Mapping[str, Table] = {
    "draft": DRAFT,
    "source": SOURCE,
    "gather": GATHER,
    "columns": Table(title="Columns", help="What each column may reveal. A column that is not named is an error."),
    "population": POPULATION,
    "knowledge": KNOWLEDGE,
    "require": Table(title="Requirements", help="What must hold; all of them are met together."),
    "anonymizers": Table(title="Anonymizers", help="Options, by the anonymizer's name."),
    "release": RELEASE,
    "measure": MEASURE,
    "engine": ENGINE,
}
