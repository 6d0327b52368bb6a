"""Loops over sets of items: supports of itemsets, growth under rho-uncertainty, rules and what they give away.

Who calls whom: `supports` holds the table (`Baskets`), what of it is kept (`Published`) and the store of supports; all
others but `crowds` and `linking` stand on it. `growth` puts occurrences back record by record, `together` type by type
and in several records at once, for `anonymizers/items/` and through it for `anonymizers/partial_suppression.py`.
`crowds` shows labels in crowds, for `anonymizers/item_generalization.py`. `itemsets` finds frequent sets and rules, for
`metrics/itemsets.py` and `metrics/rule_retention.py`. `inference` finds the best rule for each record, for
`attacks/rule_inference.py`, and `linking` how few records fit what is known, for `attacks/item_linking.py`. The
published searches (`kernels/published/`, `anonymizers/published/`) use the table, not the store.

Words: an *occurrence* is one item in one record; a *rule* leads from some items of a record to a sensitive one; a *key*
is the exclusive-or of the codes of a set's items. Sizes: n records, v items, o occurrences.
"""
