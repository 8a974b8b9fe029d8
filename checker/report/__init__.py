"""Reports: what came of a request.

Start with `result.py`, the model. A file for each kind of result makes one: `report.py` of an exploration, which has
the verdict line, a verdict for each property and the exit code. `formats/` writes them, `claimed.py` checks what was
written. `schema/` has the JSON schemas, `templates/` the pages.
"""
