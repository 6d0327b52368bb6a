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
)

ROUTES = [
    *start.ROUTES,
    *opening.ROUTES,
    *connections.ROUTES,
    *plans.ROUTES,
    *columns.ROUTES,
    *hierarchies.ROUTES,
    *promises.ROUTES,
    *knowledge.ROUTES,
    *running.ROUTES,
    *judging.ROUTES,
    *jobs.ROUTES,
    *runs.ROUTES,
]
