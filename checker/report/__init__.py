"""Reports: the results of requests.

Start with `result.py`, the model. A file for each kind of result builds one: `report.py` that of an exploration, with
the verdict line, a verdict for each property and the exit code. `documents.py` has the types of their JSON, `formats/`
writes them. `templates/` has the pages.
"""
