"""What every command shares: how it ends, what it says, and how it checks what it is given."""

from __future__ import annotations

import contextlib
import difflib
import errno
import math
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

__all__ = [
    "HELD",
    "NO_VERDICT",
    "PATH",
    "VIOLATED",
    "WRONG",
    "Cannot",
    "Commands",
    "Subcommand",
    "at_least",
    "check_writable",
    "complain",
    "near",
    "say",
    "seconds",
    "size",
    "table",
    "write_file",
]

HELD, VIOLATED, WRONG, NO_VERDICT = 0, 1, 2, 3
UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


class Cannot(click.ClickException):
    """The answer is there and could not be given: exit 3, with a sentence."""

    exit_code = NO_VERDICT


class Commands(click.Group):
    """The group, with the house's ways to end: one sentence for an error, silence where nobody
    reads on, and no traceback for Ctrl-C. A subcommand is imported when it is asked for.

    Args:
        lazy: the subcommands, each with its module in `checker.commands`.
    """

    def __init__(self, *args: Any, lazy: Mapping[str, str], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.lazy:
            return None
        found = getattr(import_module(f"checker.commands.{self.lazy[cmd_name]}"), cmd_name)
        assert isinstance(found, click.Command)
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        refuse_repeats(self, ctx, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Cannot("interrupted; there is no verdict") from None

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]
        """Run the command; ends the process."""
        extra["standalone_mode"] = False
        if sys.stdout is None:
            complain("stdout is closed: there is nowhere to answer")
            sys.exit(WRONG)
        try:
            code = super().main(args, prog_name or "zabcheck", **extra)
            sys.stdout.flush()
        except click.ClickException as problem:
            complain(problem.format_message())
            code = problem.exit_code
        except (click.Abort, KeyboardInterrupt):
            complain("interrupted; there is no verdict")
            code = NO_VERDICT
        except MemoryError:
            complain("out of memory")
            code = NO_VERDICT
        except BrokenPipeError:
            hush()
            code = NO_VERDICT
        except OSError as problem:
            if problem.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG, errno.ENOMEM):
                raise
            hush()
            complain(problem.strerror or "the system refused")
            code = NO_VERDICT
        sys.exit(code if isinstance(code, int) else HELD)


def complain(sentence: str) -> None:
    """One sentence on stderr."""
    with contextlib.suppress(OSError):
        click.echo(f"zabcheck: {' '.join(sentence.split())}", err=True)


def hush() -> None:
    """Stop writing to stdout: what the interpreter would flush at its end goes nowhere."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str, code: int) -> int:
    """Write the answer on stdout; returns the exit code.

    A reader that has gone away (`| head`) changes nothing; a full disk is exit 3.
    """
    try:
        click.echo(text, nl=not text.endswith("\n"))
        sys.stdout.flush()
    except BrokenPipeError:
        hush()
    except OSError as problem:
        hush()
        found = f"; what was found: {text.splitlines()[0]}" if not text.startswith(("{\n", "[\n")) else ""
        complain(f"cannot write to stdout: {problem.strerror}{found}")
        return NO_VERDICT
    return code


def refuse_repeats(command: click.Command, ctx: click.Context, args: list[str]) -> None:
    """Two values for one option contradict each other.

    Raises:
        UsageError: an option that takes one value is given twice.
    """
    given = command.make_parser(ctx).parse_args(list(args))[2]
    for parameter in given:
        once = isinstance(parameter, click.Option) and not parameter.multiple and not parameter.is_flag
        if once and given.count(parameter) > 1:
            raise click.UsageError(f"{parameter.opts[0]} is given twice", ctx)


class Subcommand(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        refuse_repeats(self, ctx, args)
        return super().parse_args(ctx, args)


# --- values of options -------------------------------------------------------------------------


def at_least(least: int) -> Callable[[click.Context, click.Parameter, int | None], int | None]:
    """Checks a whole number; errors name the option."""

    def check(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
        if value is not None and value < least:
            raise click.UsageError(f"{param.opts[0]} must be {least} or more, not {value}", ctx)
        return value

    return check


def size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """An amount of memory, in bytes: 4G, 512M, or bytes."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMGT]?)(?:i?B)?", value.strip(), re.IGNORECASE | re.ASCII)
    amount = int(float(found[1]) * (1 << UNITS[found[2].upper()])) if found and len(value) < 30 else 0
    if amount < 1:
        raise click.UsageError(f"{param.opts[0]} must be a size like 512M or 4G, not {value!r}", ctx)
    return amount


def seconds(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """A time that can be waited for."""
    if value is not None and not (math.isfinite(value) and value > 0):
        raise click.UsageError(f"{param.opts[0]} must be a number of seconds above 0, not {value:g}", ctx)
    return value


PATH = click.Path(path_type=Path)


def near(name: str, names: Iterable[str]) -> str:
    """What a wrong name may have meant, as the end of a sentence."""
    found = difflib.get_close_matches(name, list(names), 3, 0.5)
    return f"; did you mean {' or '.join(found)}?" if found else ""


# --- files -------------------------------------------------------------------------------------


def check_writable(path: Path, option: str, regular: bool = False) -> None:
    """
    Args:
        regular: it is written beside its place and moved there, which would replace a device.

    Raises:
        UsageError: the file cannot be written, as far as can be known without writing it.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        folder = path.parent
        if not folder.is_dir():
            raise click.UsageError(f"{option} {path}: there is no folder {folder}") from None
        if not os.access(folder, os.W_OK):
            raise click.UsageError(f"{option} {path}: the folder {folder} cannot be written") from None
        return
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise click.UsageError(f"{option} {path}: {reason}") from None
    if stat.S_ISDIR(mode):
        raise click.UsageError(f"{option} {path}: this is a folder")
    if regular and not stat.S_ISREG(mode):
        raise click.UsageError(f"{option} {path}: this is not a regular file")
    if not os.access(path, os.W_OK):
        raise click.UsageError(f"{option} {path}: permission denied")


def write_file(path: Path, data: bytes) -> str:
    """Write a file, whole or not at all where it is a regular one; returns what went wrong."""
    regular = not path.exists() or path.is_file()
    target = path.with_name(f".{path.name}.{os.getpid()}.new") if regular else path
    try:
        target.write_bytes(data)
        if regular:
            os.replace(target, path)
    except OSError as problem:
        if regular:
            with contextlib.suppress(OSError):
                target.unlink(missing_ok=True)
        return f"cannot write {path}: {problem.strerror}"
    return ""


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> int:
    """Print rows: as a table on a terminal, aligned otherwise."""
    if not sys.stdout.isatty():
        from checker.report import aligned

        return say(aligned([head, *rows]), HELD)
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    out = Table(*head, box=SIMPLE_HEAD)
    for row in rows:
        out.add_row(*(Text(cell) for cell in row))
    Console().print(out)
    return HELD
