"""Loops of classes of rows that satisfy k-anonymity, l-diversity, t-closeness: local recoding, cutting, full domains.

Who calls whom: `conditions` tests one group of rows, and whatever judges here stands on it; what it tests is made in
`anonymizers/conditions.py` and `anonymizers/sets_of_values.py`, and `anonymizers/microaggregation/` needs nothing else.
For `anonymizers/local_recoding/`, `units` holds distinct rows and trees; `regions` closes regions of labels from cheap
to dear and asks `trim` for the part of a region that is safe; `store` holds the classes made so far, and `moves` places
in it what stayed open and moves units to where they cost less. For `anonymizers/mondrian/`, `cuts` finds the best cuts
of a part, and `mondrian` follows them to the end and divides parts along them; `anonymizers/boxes.py` and
`anonymizers/dropping.py` know its kinds of columns. For `anonymizers/full_domain/`, `lattice` makes and judges all
classes of a node (and `anonymizers/mondrian/secrets.py` has it judge) and asks `losing` how many rows a class has to
lose; `nodes` keeps what is known of each node and says which is next.

Words: a *unit* is a pattern of equal rows, in some number of *copies*; a *share* is copies of a unit in one class; a
*region* is the units that have the same labels at a node of the lattice of levels; a *part* is rows that are still to
be cut. Sizes: n rows, q quasi-identifiers, u units, c classes, v bars of a histogram of sensitive values.
"""
