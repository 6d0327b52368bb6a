"""Published searches, for comparison with the house's own: each is listed or reached by an option, and says its source.

| file | after | reached by |
| --- | --- | --- |
| `drop_sensitive` | nobody: the yardstick of all others | anonymizer `drop-sensitive` |
| `global_suppression`, `td_control` | Cao, Karras, Raissi and Tan (2010) | anonymizers of that name |
| `permutation` | Ghinita, Tao and Kalnis (2008) | anonymizer `permutation` |
| `term_walks` | Shi, Xiong and Fung (2010) | `term-suppression`, search = "adaptive" or "dfs" |
| `top_down` | the two-step greedy search for several sensitive columns | `masking`, search = "paper" |

The loops are in kernels/published.
"""
