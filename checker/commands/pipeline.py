"""`zabcheck pipeline init DIR`: write a runnable data pipeline on Spark to begin with."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from checker.commands.common import PATH, Subcommand
from checker.commands.init import start_text
from checker.ending import Answer
from checker.errors import HELD
from zabspec.extras import installing

FILES = ("pipeline.py", "pipeline.toml")

EXAMPLES = """\b
Examples:
  zabcheck pipeline init lake
  python lake/pipeline.py
  spark-submit --master spark://head:7077 lake/pipeline.py
"""


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.argument("what", metavar="init", type=click.Choice(["init"]))
@click.argument("folder", metavar="DIR", type=PATH)
def pipeline(what: str, folder: Path) -> Answer:
    """Write a pipeline on Spark: sweep, events, verdicts, rates, plots.

    The command writes pipeline.py and pipeline.toml to DIR. The latter sets the tables' folder and the Spark master.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise click.UsageError(f"{folder} already exists, and is not an empty folder")
    if not folder.absolute().parent.is_dir():
        raise click.UsageError(f"{folder}: there is no folder {folder.parent}")
    files = [(folder / name, start_text(name).encode()) for name in FILES]
    folder.mkdir(exist_ok=True)
    program = shlex.quote(str(folder / FILES[0]))
    said = f"{folder} has a complete pipeline. Run it: python {program} ({installing('spark')} installs what it needs)"
    return Answer(HELD, [said], files=files)
