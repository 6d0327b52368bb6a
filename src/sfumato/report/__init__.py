"""Facts of a run, shown to people: `page.render` for the browser, `text.summary` for the terminal.

Both read the plain dictionary that private/run.json holds and nothing else. They show facts and compute none.
"""
