"""The option `--smt2 DIR` of the commands that use z3: every query as a file (docs/how-to/prove-a-protocol.md)."""

from __future__ import annotations

import click

from checker.commands.common import PATH
from checker.requests.queries import queries_into

__all__ = ["NO_QUERIES", "SMT2", "queries_into"]

SMT2 = click.option(
    "--smt2", type=PATH, metavar="DIR",
    help="Write every query as an SMT-LIB file into this new or empty folder, with a list of them.",
)  # fmt: skip
NO_QUERIES = "no solver is used here: both protocols are explored side by side"
