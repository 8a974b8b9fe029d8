"""The option `--html` of every command that finds a run: a page that draws it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from checker.commands.common import PATH, check_writable
from checker.output_files import is_one_file

if TYPE_CHECKING:
    from traces import Trace

HTML = click.option(
    "--html", "page", type=PATH, metavar="FILE", help="Also draw the run, as a page with all its steps."
)


def check_page(page: Path | None, others: Sequence[Path | None]) -> None:
    """Check that the page of `--html` can be written, before the work.

    Raises:
        UsageError: it cannot, or it is another file that the command reads or writes.
    """
    if page is None:
        return
    check_writable(page, "--html", regular=True)
    for other in filter(None, others):
        if is_one_file(page, other):
            raise click.UsageError(f"--html {page} is also read or written by this command")


def page_files(page: Path | None, trace: Trace | None) -> list[tuple[Path, bytes]]:
    """Return the page that draws a run, if one is requested and there is a run.

    Raises:
        TraceError: the trace does not violate the property that it is recorded to violate.
    """
    if page is None or trace is None:
        return []
    from traces.pictures import to_html

    return [(page, to_html(trace).encode())]
