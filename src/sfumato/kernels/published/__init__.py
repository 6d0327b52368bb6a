"""Searches as they were published, kept for comparison only: what the house does by default stands elsewhere.

| file | paper | used by |
| --- | --- | --- |
| `masking` | the two-step greedy search for several sensitive columns, corrected | `masking`, search "paper" |
| `rho_repair` | PartialSuppressor of Jia, Pan, Xu, Zhu and Lo (2014) | `partial-suppression`, search "mine", "dist" |
| `rho_global` | global suppression after Cao, Karras, Raissi and Tan (2010) | `global-suppression`, `td-control` |
| `terms` | the searches of Shi and Xiong (2010) | `term-suppression`, search "adaptive", "dfs" |

They use the tables and tallies of `masks`, `items` and `terms`; nothing there uses them. What runs them stands in
`anonymizers/published/`, and for rho_repair in `anonymizers/partial_suppression.py`.
"""
