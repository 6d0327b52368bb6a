"""How a release is made: the list of anonymizers."""
