"""What we hold: schema, hierarchies, coded data, decisions and releases."""
