"""One screen a file: what is asked, what is shown."""

from sfumato.webapp.pages import columns, hierarchies, jobs, judging, opening, plans, promises, running, runs, start

ROUTES = [
    *start.ROUTES,
    *opening.ROUTES,
    *plans.ROUTES,
    *columns.ROUTES,
    *hierarchies.ROUTES,
    *promises.ROUTES,
    *running.ROUTES,
    *judging.ROUTES,
    *jobs.ROUTES,
    *runs.ROUTES,
]
