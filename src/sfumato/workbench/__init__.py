"""What somebody asks of data and a plan before anything is made: answers for the holder's eyes, nothing is written.

| file | answers |
| --- | --- |
| `bench.py` | holds the table and the plan as they are now, and takes the questions |
| `columns.py` | what each column is, and what it looks like |
| `uniqueness.py` | how many people are alone with what they show |
| `coverage.py` | whether a hierarchy knows all values |
| `reach.py` | what can be met at all, and what only by giving everything up |
| `trial.py` | what a run would cost, in memory, on the table or a sample of it |
| `asking.py` | the same questions to another process, which may be killed and begin again |
"""

from sfumato.workbench.asking import Asking, Lost

__all__ = ["Asking", "Lost"]  # what the process that is asked does itself, only that one loads
