"""A format: one file of `checker/report/formats/`, which is found by lying there.

It is a flag of every command whose results it takes: without kinds, of all of them. `checker/report/result.py` has what
a result consists of (docs/decisions/0013).
"""

from __future__ import annotations

from recipe import new, run

new(
    "checker/report/formats/markdown.py",
    '''
"""A result as Markdown: its sentence, and a row for each verdict."""

from __future__ import annotations

from checker.report.formats.format import Format
from checker.report.result import Result


def as_markdown(result: Result) -> bytes:
    """Return the text."""
    rows = [f"| {v.name} | {v.verdict} | {'' if v.at is None else v.at} |" for v in result.said()]
    table = ["", "| property | verdict | at |", "|---|---|---|", *rows] if rows else []
    return "\\n".join([f"**{result.sentence}**", *table, ""]).encode()


FORMAT = Format("markdown", "Also write the verdicts as Markdown.", as_markdown)
''',
)
new("zoo.cfg", "".join(f"server.{k}=a:1:2\n" for k in (1, 2, 3)))
run(
    "zabcheck --nodes 2 --txns 1 --timeouts 0 --crashes 0 --losses 0 --property integrity --property agreement "
    "--markdown /dev/stdout",
    "| integrity | holds | 20 |",
    "| agreement | premise not reached | |",
)
run("zabcheck simulate --seed 14 --rounds 400 --check --markdown /dev/stdout", "| total-order | violated | 206 |")
run("zabcheck quorums zoo.cfg --markdown /dev/stdout", "**proved: any two quorums intersect")
