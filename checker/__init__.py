# One of zabcheck's five packages.
"""The command line, the Python API behind it, and every engine that checks something.

Start with `requests/`: a request is a type with one `answer()`, of which its command and its Python function are made.
`cli.py` is the command, `explore/` the explorer that most requests run, `report/` what a user reads.
"""
