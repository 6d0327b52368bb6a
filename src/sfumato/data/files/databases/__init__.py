"""Tables of databases, in and out: PostgreSQL by ADBC, SQLite by the standard library, DuckDB files by
its library, anything else by ODBC.

What a driver says is never passed on: it prints passwords and cells. Each failure becomes words of our own.
"""
