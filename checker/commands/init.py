"""`zabcheck init`: write a runnable protocol, or a folder of exercises or of a pipeline, to begin with."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from checker.commands import completing
from checker.commands.common import Subcommand
from checker.commands.publishing import publish
from checker.ending import Answer
from checker.errors import RequestError
from checker.report.answer import StatedAnswer
from checker.report.result import Words
from zabspec.extras import installing
from zabspec.files import folder_of

START = (folder_of("examples", "paxos.py", "examples") or Path("examples")) / "start" / "tpc.py"
CALLED = START.name  # the name of the protocol in its own text
BROKEN = "hasty"  # a variant that it declares
# The folders that it copies, by name, each with what to do next.
FOLDERS = {
    "exercises": "six exercises: zabcheck docs exercises has the tasks, zabcheck check {}/zabcheck.toml the points",
    "pipeline": f"a pipeline on Spark; python {{}}/pipeline.py runs it ({installing('spark')} installs what it needs)",
}

EXAMPLES = """\b
Examples:
  zabcheck init tpc.py
  zabcheck --protocol tpc.py
  zabcheck init mine.py --from raft         a copy of example:raft
  zabcheck init course --from exercises     a folder of exercises that zabcheck check grades
  zabcheck init lake --from pipeline        a folder: sweep, events, verdicts, rates, plots on Spark
"""


@click.command(cls=Subcommand, epilog=EXAMPLES)
@click.argument("path", metavar="NAME.py|DIR", type=click.Path(path_type=Path))
@click.option(
    "--from", "source", metavar="NAME", shell_complete=completing.examples, help="Copy this example or folder instead."
)
def init(path: Path, source: str | None) -> Answer:
    """Write a commented protocol, two-phase commit or an example, or a folder, as a starting point."""
    if path.suffix != ".py" and source not in FOLDERS:
        raise click.UsageError(
            f"{path}: a protocol is a file that ends in .py; --from {' or '.join(FOLDERS)} writes a folder"
        )
    if path.exists() or path.is_symlink():
        raise click.UsageError(f"{path} already exists")
    if not path.absolute().parent.is_dir():
        raise click.UsageError(f"{path}: there is no folder {path.parent}")
    try:
        said, files = copied_folder(path, source) if source in FOLDERS else started(path, source)
    except OSError:
        raise RequestError("the examples are not installed: share/doc/zabcheck is not there") from None
    if source in FOLDERS:
        path.mkdir()
    return publish(StatedAnswer(said, body=[Words([said])], kind="init"), more=files)


def copied_folder(path: Path, source: str) -> tuple[str, list[tuple[Path, bytes]]]:
    """Return what is written of a folder of examples: a sentence, and the files."""
    found = (START.parents[1] / source).iterdir()
    files = [(path / file.name, file.read_bytes()) for file in sorted(found) if file.is_file()]
    return f"{path} has {FOLDERS[source].format(shlex.quote(str(path)))}", files


def started(path: Path, source: str | None) -> tuple[str, list[tuple[Path, bytes]]]:
    """Return what is written of a protocol: a sentence, and the file."""
    from zabspec.authoring.sources import EXAMPLE, path_of

    explores = f"zabcheck --protocol {path} explores it"
    if source is not None:
        name = f"{EXAMPLE}{source.removeprefix(EXAMPLE)}"
        text = path_of(name).read_text(encoding="utf-8").replace(name, str(path))
        said = f"{path} is written, a copy of {name}; {explores}"
    else:
        text = START.read_text(encoding="utf-8").replace(CALLED, str(path))
        said = (
            f"{path} is written: two-phase commit, complete and runnable; {explores}, and "
            f"zabcheck --protocol {path} --variant {BROKEN} explores it with one rule changed, and shows the run to a "
            f"violation"
        )
    return said, [(path, text.encode())]
