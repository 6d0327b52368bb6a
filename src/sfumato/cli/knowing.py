"""Commands about knowledge tables: build one, and hold it against the data of a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.app import Json, Overwrite, PlanOption, app
from sfumato.cli.terminal import print_json, reply, say, telling, watching, wrote

knowledge = typer.Typer(no_args_is_help=True, help="Build knowledge tables, and hold them against data.")
app.add_typer(knowledge, name="knowledge")


Out = Annotated[
    Path, typer.Option(metavar="FILE", help="Where the table goes, .csv; FILE.json says where it came from.")
]
MinCount = Annotated[
    int | None, typer.Option(help="Lines, or people, that have to say so. Default: 1; 5 with --insider.", min=1)
]
Person = Annotated[str | None, typer.Option(metavar="COLUMN", help="Whose line it is: people are counted, not lines.")]
Where = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=VALUE", help="Only lines with this value, or != without it; may be repeated."),
]
Aliases = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Other spellings of terms: columns spelling and term.")
]
Ontology = Annotated[
    Path | None, typer.Option(metavar="FILE", help="OBO file, or a table of terms and their `parents`.")
]
Ancestors = Annotated[
    bool, typer.Option("--ancestors", help="Who has a term has all that is above it in the ontology.")
]
Names = Annotated[bool, typer.Option("--names", help="Write terms by the ontology's names, not its codes.")]
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="How often who has the label has the term: 1/2, 45%, an HPO frequency; `count`: the share of lines.",
    ),
]
MissingWeight = Annotated[str | None, typer.Option(metavar="SHARE", help="The weight of lines that have none.")]
LabelPrefix = Annotated[int | None, typer.Option(metavar="N", help="The first N characters of a code are its label.")]
TermsPrefix = Annotated[
    str, typer.Option(metavar="N,M", help="The first N characters of a code are its term; several: all of them.")
]


@knowledge.command()
def build(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE", help="Events, a list of labels and terms, annotations (.hpoa), or the data themselves."
        ),
    ],
    label: Annotated[str, typer.Option(metavar="COLUMN", help="Its column of labels.", show_default=False)],
    terms: Annotated[str, typer.Option(metavar="COLUMN", help="Its column of terms.", show_default=False)],
    out: Out,
    separator: Annotated[str | None, typer.Option(help="Between the terms of a cell; one term a cell without.")] = None,
    min_count: MinCount = None,
    min_share: Annotated[str, typer.Option(help="Share of the label's lines, or people, that have the term.")] = "0",
    person: Person = None,
    insider: Annotated[bool, typer.Option("--insider", help="The source is the data: what an insider knows.")] = False,
    where: Where = None,
    aliases: Aliases = None,
    ontology: Ontology = None,
    ancestors: Ancestors = False,
    names: Names = False,
    weights: Weights = None,
    missing_weight: MissingWeight = None,
    label_prefix: LabelPrefix = None,
    terms_prefix: TermsPrefix = "",
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Make a knowledge table: labels, terms, counts, and nothing that fewer than --min-count lines or people say."""
    from sfumato.knowledge import Build, lengths

    asked = Build(
        source=source,
        label=label,
        terms=terms,
        separator=separator,
        min_count=min_count,
        min_share=min_share,
        person=person,
        insider=insider,
        where=tuple(where or ()),
        aliases=aliases,
        ontology=ontology,
        ancestors=ancestors,
        names=names,
        weights=weights,
        missing_weight=missing_weight,
        label_prefix=label_prefix,
        terms_prefix=lengths(terms_prefix),
    )
    with watching() as progress:
        built = asked.make(progress)
        beside = built.write(out, overwrite=overwrite)
    wrote(out)
    places = f"\nTable: {out}\nFrom:  {beside}\nIn the plan:\n\n{built.as_toml(out)}"
    reply(as_json, {"table": str(out), **built.provenance}, "\n".join((*built.sentences(), places)))


@knowledge.command()
def check(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The table: its file, or its name in knowledge/ beside the plan.")
    ],
    plan: PlanOption,
    merge: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write spellings of the data beside the known terms they are near. Private."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Say what a knowledge table and the data know of each other, and what looking terms up gives away now.

    Exit 1 if a run by this table would end and ask what becomes of records that no label explains.
    """
    from sfumato.disk import atomic_file
    from sfumato.knowledge import check as check_table
    from sfumato.knowledge.aliases import aliases_text
    from sfumato.plan import Plan

    with watching() as progress:
        checked = check_table(name, Plan.load(plan), progress=progress)
    if merge is not None:
        with atomic_file(merge, overwrite=overwrite) as temporary:
            temporary.write_text(aliases_text(checked.merges), encoding="utf-8")
        wrote(merge)
    exit_code = int(checked.covered.asks)
    with telling(exit_code):
        if as_json:
            print_json({"satisfied": not exit_code, **checked.as_dict()})
        else:
            say("\n".join(checked.sentences()))
            say(f"Looking terms up gives away now, with the quasi-identifiers as they are: {checked.exposure.after}.")
            if exit_code:
                say(
                    "A run by this table would end and ask: mend spellings, or say `unlinked` in the plan.",
                    style="bold red",
                )
    raise typer.Exit(exit_code)
