"""`zabcheck init NAME.py`: write a runnable protocol to begin with."""

from __future__ import annotations

from pathlib import Path

import click

from checker.commands import completing
from checker.commands.common import PATH, Subcommand
from checker.commands.publishing import publish
from checker.ending import Answer
from checker.errors import RequestError
from checker.report.result import StatedResult, Words
from zabspec.files import folder_of

START = (folder_of("examples", "paxos.py", "examples") or Path("examples")) / "start" / "tpc.py"
CALLED = START.name  # the name of the protocol in its own text
BROKEN = "hasty"  # a variant that it declares

EXAMPLES = """\b
Examples:
  zabcheck init tpc.py
  zabcheck --protocol tpc.py
  zabcheck init mine.py --from raft         a copy of example:raft
"""


def start_text(name: str) -> str:
    """Return a file that a user starts with.

    Raises:
        RequestError: the examples are not installed.
    """
    try:
        return (START.parent / name).read_text(encoding="utf-8")
    except OSError:
        raise RequestError("the examples are not installed: share/doc/zabcheck is not there") from None


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.argument("path", metavar="NAME.py", type=PATH)
@click.option("--from", "source", metavar="NAME", shell_complete=completing.examples, help="Copy this example instead.")
def init(path: Path, source: str | None) -> Answer:
    """Write a commented protocol, two-phase commit or an example, as a starting point."""
    if path.suffix != ".py":
        raise click.UsageError(f"{path}: a protocol is a file that ends in .py")
    if path.exists() or path.is_symlink():
        raise click.UsageError(f"{path} already exists")
    if not path.parent.is_dir():
        raise click.UsageError(f"{path}: there is no folder {path.parent}")
    from zabspec.authoring.sources import EXAMPLE, path_of

    explores = f"zabcheck --protocol {path} explores it"
    if source is not None:
        name = f"{EXAMPLE}{source.removeprefix(EXAMPLE)}"
        text = path_of(name).read_text(encoding="utf-8").replace(name, str(path))
        said = f"{path} is written, a copy of {name}; {explores}"
    else:
        text = start_text(CALLED).replace(CALLED, str(path))
        said = (
            f"{path} is written: two-phase commit, complete and runnable; {explores}, and "
            f"zabcheck --protocol {path} --variant {BROKEN} explores it with one rule changed, and shows the run to a "
            f"violation"
        )
    result = StatedResult(said, body=[Words([said])], kind="init")
    return publish(result, more=[(path, text.encode())])
