"""`zabcheck lint`: report all mistakes of a protocol's file at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from checker.commands.check import for_machines
from checker.commands.common import INPUT, Answer, Subcommand
from checker.commands.publishing import files_of, format_options, publish
from checker.errors import RequestError

EXAMPLES = """\b
Examples:
  zabcheck init tpc.py
  zabcheck lint tpc.py --json
  zabcheck lint tpc.py --sarif tpc.sarif
  zabcheck lint tpc.py --github
"""


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.argument("file", type=INPUT)
@click.option("--json", "as_json", is_flag=True, help="The mistakes, or the error of the request, as JSON.")
@click.option("--github", is_flag=True, help="Print annotations for GitHub Actions.")
@format_options("lint")
def lint(file: Path, as_json: bool, github: bool, **outputs: Any) -> Answer:
    """Report all mistakes in a protocol's file: the line, what is wrong, and what to write.

    Exit codes: 0 no mistakes; 1 mistakes; 2 the file cannot be read.
    """
    return for_machines(lambda: linted(file, as_json, github, outputs), as_json)


def linted(file: Path, as_json: bool, github: bool, outputs: dict[str, Any]) -> Answer:
    """Find the mistakes in a protocol's file.

    Raises:
        RequestError, UsageError: the file or the request is wrong.
    """
    from checker.report.formats.github import annotation_lines
    from checker.report.linted import LintReport
    from checker.requests.lint import lint as search

    if as_json and github:
        raise RequestError("--json and --github both write to stdout")
    files = files_of("lint", outputs)
    if file.suffix != ".py":
        raise RequestError(f"{file}: a protocol is a file that ends in .py")
    result = LintReport(search(file))
    answer = publish(result, as_json, files)
    return replace(answer, texts=[*answer.texts, *annotation_lines(result)]) if github else answer
