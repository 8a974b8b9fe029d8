"""The command line, the Python API behind it, and every engine that checks something.

Start with `requests/`: a request is a type with one `answer()`. `cli.py` is the command, `api.py` the Python functions,
`explore/` the explorer that most requests run, `report/` what a user reads.
"""
