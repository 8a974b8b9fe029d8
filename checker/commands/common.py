"""Parts that all commands share: the command group, and the checks of option values."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

from checker.commands import completing
from checker.ending import (
    HELD,
    INTERRUPTED,
    WRONG,
    Answer,
    Answered,
    NoVerdict,
    delivered_in_turn,
    end_where_it_stands,
    open_streams,
    settle,
    settled_answer,
)
from checker.errors import RequestError
from checker.requests.base.kinds import EXPLORE, is_command, kind_named
from checker.requests.base.request import Request
from zabspec import __version__
from zabspec.joining import joined
from zabspec.signals import SignalHandler
from zabspec.typed import near
from zabspec.worlds.steps import BUDGETS

CLOSED = Answer(WRONG, notes=["stdout is closed: the result cannot be written"])
FOLDER = Path(__file__).parent  # of subcommands
LONGEST = 1000  # characters of a command's sentence, so that it is never cut
REQUESTS = FOLDER.parent / "requests"
MARK = "\n@click.command("  # a file with this text has a command of its name
# As has a request with the first of these and not the second.
KIND, MODE = "\n    kind: ClassVar", "\n    mode: ClassVar"


class Commands(click.Group):
    """The command group: ends with one sentence for an error, silence for a closed reader, no traceback for Ctrl-C.

    A subcommand is imported when it is invoked.

    Args:
        groups: the subcommands of the core in the order of `--help`, by purpose: files of `checker.commands` or
            `checker.requests`. A further subcommand is any file there, by its name, and any entry point of requests.
        derive: makes the command of a request.
    """

    def __init__(
        self,
        *args: Any,
        groups: Mapping[str, Sequence[str]],
        derive: Callable[[type[Request]], click.Command],
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.derive = derive
        self.made: dict[str, click.Command | None] = {}
        self.groups = groups

    def list_commands(self, ctx: click.Context) -> list[str]:
        listed = [name for group in self.groups.values() for name in group]
        files = [path for folder in (FOLDER, REQUESTS) for path in sorted(folder.glob("[a-z]*.py"))]
        texts = {path.stem.replace("_", "-"): path.read_text("utf-8") for path in files if path.stem != EXPLORE}
        others = [name for name, text in texts.items() if MARK in text or (KIND in text and MODE not in text)]
        return [*dict.fromkeys((*listed, *others, *joined("requests")))]

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        return answered_by(super().get_help_option(ctx), ctx.get_help, long=True)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, which a new reader looks for, and then the many options."""
        *titles, last = self.groups
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in titles}
        ends: dict[str, list[tuple[str, str]]] = {last: [], "Not installed": []}
        of_core = {name: title for title, group in self.groups.items() for name in group}
        for name in self.list_commands(ctx):
            try:
                command = self.get_command(ctx, name)
            except RequestError as missing:
                ends["Not installed"].append((name, str(missing)))
                continue
            if command is not None:
                kind = kind_named(name)
                title = of_core.get(name) or (kind.group if kind else "Others")
                (ends if title in ends else rows).setdefault(title, []).append(
                    (name, command.get_short_help_str(LONGEST))
                )
        for title, found in (*rows.items(), *ends.items()):
            if found:
                with formatter.section(title):
                    formatter.write_dl(found)
        click.Command.format_options(self, ctx, formatter)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = cmd_name.replace("-", "_")
        full = f"{__package__}.{name}"
        if cmd_name not in self.made and (full in sys.modules or f"{name}.py" in os.listdir(FOLDER)):
            found = getattr(import_module(full), name, None)
        else:
            found = self.derived(cmd_name)
        return found if isinstance(found, click.Command) else None

    def derived(self, name: str) -> click.Command | None:
        """Return the command of the request of a kind, if it has one."""
        if name not in self.made:
            kind = kind_named(name)
            self.made[name] = self.derive(kind) if kind is not None and is_command(kind) else None
        return self.made[name]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        refuse_words(ctx, args)
        if reading := sys.modules.get("zabspec.authoring.sources"):  # else this process has read no protocol
            reading.begin_request()
        at = self.begins_command(ctx, args)  # which parses its own words
        args = [*own_budgets(self, args[:at]), *args[at:]]
        refuse_repeats(self, ctx, args)
        return super().parse_args(ctx, args)

    def begins_command(self, ctx: click.Context, args: Sequence[str]) -> int:
        """Return the index of the word that names the command; without one, the number of words."""
        valued = {flag for p in self.params if isinstance(p, click.Option) and not p.is_flag for flag in p.opts}
        for at, word in enumerate(args):
            if not word.startswith("-") and (at == 0 or args[at - 1] not in valued):
                if self.get_command(ctx, word) is not None:
                    return at
        return len(args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not ctx.resilient_parsing and not name.startswith("-") and self.get_command(ctx, name) is None:
            hint = near(name, [*self.list_commands(ctx), EXPLORE]) or "; `zabcheck --help` lists them"
            if f" {EXPLORE}" in hint:
                hint = "; `zabcheck` without a command explores, as zabcheck --nodes 3 --depth 20"
            if not joined("requests"):
                hint += "; zabcheck is not installed here as a package, and most commands join it as one"
            raise click.UsageError(f"there is no command {name!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    # click would write an empty line for an interrupt

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        try:
            return super().make_context(*args, **extra)
        except KeyboardInterrupt:
            raise NoVerdict(INTERRUPTED) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise NoVerdict(INTERRUPTED) from None

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]
        """Run the command and end the process."""
        extra["standalone_mode"] = False
        words = list(sys.argv[1:] if args is None else args)
        handler, work = SignalHandler(), super().main

        def heard() -> object:
            handler.listen()
            return work(words, prog_name or "zabcheck", **extra)

        def begun() -> object:
            open_streams()
            if sys.stdout is None:
                return CLOSED
            return completing.candidates(self) if os.environ.get(completing.ASKED) else heard()

        code = delivered_in_turn(settled_answer(begun, handler, words), handler, words)
        handler.leave()
        settle()
        end_where_it_stands(code)
        sys.exit(code)


def answered_by(option: click.Option | None, text: Callable[[], str], long: bool = False) -> click.Option | None:
    """Return an option whose text is an answer like any other; click would write it at once.

    Args:
        long: whether a pager shows it on a terminal that is too small.
    """

    def show(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            raise Answered(Answer(HELD, [text()], long=long))

    if option is not None:
        option.callback = show
    return option


def refuse_words(ctx: click.Context, args: Sequence[str]) -> None:
    """Check that every word of the command line is text.

    Raises:
        UsageError: a word has a lone surrogate, which bytes that are not UTF-8 become, or NUL.
    """
    for word in args:
        if "\0" in word or any("\ud800" <= c <= "\udfff" for c in word):
            raise click.UsageError(f"{word!a} is not text", ctx)


def refuse_repeats(command: click.Command, ctx: click.Context, args: list[str]) -> None:
    """Check that no option that takes one value is given twice.

    Raises:
        UsageError: one is.
    """
    given = command.make_parser(ctx).parse_args(list(args))[2]
    for parameter in given:
        once = isinstance(parameter, click.Option) and not parameter.multiple and not parameter.is_flag
        if once and given.count(parameter) > 1:
            raise click.UsageError(f"{parameter.opts[0]} is given twice", ctx)


def own_budgets(command: click.Command, args: Sequence[str]) -> list[str]:
    """Return a command's words with flags for what a user protocol declares rewritten to `--budget NAME=N`.

    Those for its roles and parameters become `--parameter NAME=N`.
    """
    known = {flag for p in command.params for flag in p.opts}
    words = [part for word in args for part in ([word] if not word.startswith("--") else word.split("=", 1))]
    places = [k for k, word in enumerate(words[:-1]) if word == "--protocol"]
    if not places or "--budget" not in known:
        return list(args)
    from zabspec.authoring.sources import is_elsewhere
    from zabspec.protocols.registry import NAMES, PROTOCOLS

    protocol = words[places[0] + 1]
    if not is_elsewhere(protocol) and protocol not in NAMES:
        return list(args)
    found = PROTOCOLS[protocol]
    own = {f"--{name.replace('_', '-')}": name for name in found.amounts}
    out: list[str] = []
    ahead = list(args)
    while ahead:
        flag, is_said, value = ahead.pop(0).partition("=")
        if flag in known and own.get(flag, flag) not in {flag, *BUDGETS}:  # the world's budgets are options, too
            said = f"{flag} is an option of this command and, of {protocol}, the amount of {own[flag]}"
            raise click.UsageError(f"{said}: rename that")
        if flag not in own or flag in known:
            out.append(flag + is_said + value)
            continue
        if not is_said and not ahead:
            raise click.UsageError(f"Option '{flag}' requires an argument.")
        amount = f"{own[flag]}={value if is_said else ahead.pop(0)}"
        of_model = own[flag] in found.parameters
        (found.own_parameters if of_model else found.own_budgets)(amount)
        out += ["--parameter" if of_model else "--budget", amount]
    return out


class Subcommand(click.Command):
    """A command of the group."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        return answered_by(super().get_help_option(ctx), ctx.get_help)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        args = own_budgets(self, args)
        refuse_repeats(self, ctx, args)
        return super().parse_args(ctx, args)


def version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        raise Answered(Answer(HELD, [f"zabcheck, version {__version__}"]))


VERSION = click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=version, help="Show the version and exit."
)

# Of files that are read, and of others: whether one can be used the request checks.
INPUT, PATH = click.Path(readable=False), click.Path(readable=False)
