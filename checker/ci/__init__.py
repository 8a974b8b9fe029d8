"""`zabcheck check`: a matrix of named checks, each compared with its expected result.

Start with `configuration.py`, what a matrix may contain, then `running.py` and `judging.py`. `shipped.py` and
`gallery/` are the matrix that comes with the package.
"""
