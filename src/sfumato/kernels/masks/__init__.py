"""Loops of masking: labels of several sensitive columns that rise until nobody's value is too likely.

Who calls whom: `state` holds one class (entries, groups, and how far each is from its bounds) and all others stand on
it. `raising` lifts labels until every bound holds. `regions` asks it what each region of quasi-identifiers costs and
finds the cheapest cuts, and `pieces` cuts from the top where regions are too many, both for
`anonymizers/masking/regions.py`. `moves` follows the rows of each original tuple, moves them to labels that lose less,
and deals labels out to rows, for `anonymizers/masking/search.py`. What is searched (`Secrets`, `Distinct`) is made in
`anonymizers/masking/`; the published search (`kernels/published/masking.py`, `anonymizers/published/top_down.py`) has
the same.

Words: an *entry* is a tuple of labels with the rows that carry it; a *group* of a column is all entries that agree in
every other column (a sensitive equivalence class); a *flow* is some rows of one original tuple that carry one tuple of
labels; the *excess* of a leaf is how far it is above its bound. Sizes: m sensitive columns, v labels, s leaves.
"""
