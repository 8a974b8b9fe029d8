"""Reports: what an engine returned, as text, JSON, HTML, SARIF or JUnit XML.

Start with `report.py`, the report of an exploration: the verdict line, a verdict for each property, the exit code.
`schema/` has the JSON schemas, `templates/` the pages.
"""
