"""Loops of term suppression: which terms of each record stay, so that a group tells little and loses little.

Who calls whom: `anonymizers/term_suppression/` numbers records (`sets`), looks up which labels terms lead to (`links`),
lists what each can be published with (`options`, out of `subsets` of its terms), and then, group by group, asks for a
first answer and for a better one. Under closeness these are `greedy` (moves of single records) and `closeness` (branch
and bound over records, bounded by `frontier`); under diversity `levels` (by sizes alone), `repair` (moves, where sizes
were not enough) and `diversity` (vectors of levels, then options). All that look at labels judge by `measures`, which
imports none of the others; the published searches (`kernels/published/terms.py`, `anonymizers/published/term_walks.py`)
do so, too. Closeness over a hierarchy of labels has a search and a measure of its own (`hierarchy`).

Words: a *set* is the known terms of a record; an *option* is one way to publish it, with the labels it is then linked
to; a *menu* is the options of many sets; a *level* is a number of kept terms; a *tally* is the mass of every label in a
group; the *excess* is how far a group is above (c, l)-diversity. Sizes: n records, s sets, d records of a group,
e terms and r rows of the knowledge table.
"""
