"""One screen a file: what is asked, what is shown."""

from sfumato.webapp.pages import (
    columns,
    connections,
    hierarchies,
    jobs,
    judging,
    knowledge,
    opening,
    plans,
    promises,
    running,
    runs,
    start,
    tables,
)

_PAGES = (
    *(start, opening, connections, plans, columns, hierarchies),
    *(promises, knowledge, running, judging, jobs, runs, tables),
)
ROUTES = [route for each in _PAGES for route in each.ROUTES]
