"""Loops over arrays, compiled by numba: a folder for each family of requirements, and one for published searches.

Arrays in, arrays out: loops check nothing, raise nothing and know no data class. Beside them stand the named tuples of
arrays that they share, and the functions that make these; what decides which loop to run when stands beside the
anonymizer, metric or estimator that it serves. Compiler options are in `sfumato/compiling/`.
"""
