"""Loops over cells that are published as random sets: drawing them, and reading tables out of them.

Who calls whom: `randomization` draws the sets for `anonymizers/randomization/` and finds the worst one for its
parameters. `reconstruction` counts combinations and takes steps of the likelihood, for `estimators/`. Neither uses the
other: the analyst's side needs nothing of what made the release.

Sizes: n rows, d values of a domain, q columns of a table, c cells of it.
"""
