"""`python -m sfumato.workbench PLAN`: answers questions about a plan, one JSON object a line."""

import sys
from pathlib import Path

from sfumato.data.files.databases.connections import hear
from sfumato.workbench.asking import serve

if __name__ == "__main__":
    hear()
    serve(Path(sys.argv[1]), sys.stdin, sys.stdout)
