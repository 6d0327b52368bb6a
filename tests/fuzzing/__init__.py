"""Random plans and tables, judged by slow definitions that share nothing with sfumato.

| module | holds |
| --- | --- |
| `columns` | columns with ties, skew, gaps, huge numbers and odd hierarchies |
| `plans` | requirements of all families and their combinations |
| `covering` | what a published label may stand for |
| `definitions` | every privacy model, as its page in docs/concepts states it |
| `searching` | whether any release exists: all of them, on tiny tables |
| `checking` | one case, from its number to what is wrong with it |
"""
