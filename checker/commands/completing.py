"""Complete the words of a command line in a shell: `zabcheck completion` prints the script that requests candidates.

Candidate values are those of the protocol on the line. An unfinished line never causes an error, and nothing but the
candidates is written.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING

import click

from checker.ending import HELD, Answer
from zabspec.configuration import Parameters
from zabspec.extras import is_there

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem, ShellComplete

    from zabspec.protocols.registry import Protocol

ASKED = "_ZABCHECK_COMPLETE"  # the environment variable by which a shell requests candidates, as click names it
SHELLS = ("bash", "zsh", "fish")

Completed = list["CompletionItem"]
Completer = Callable[[click.Context, click.Parameter, str], Completed]


def shell_named(name: str, command: click.Command) -> ShellComplete:
    """Return click's completion for the shell of a name.

    Raises:
        UsageError: there is no such shell.
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(name) if name in SHELLS else None
    if found is None:
        raise click.UsageError(f"there is no completion for {name!r}; there is for {', '.join(SHELLS)}")
    return found(command, {}, "zabcheck", ASKED)


def script(name: str, command: click.Command) -> Answer:
    """Return the completion script of a shell.

    Raises:
        UsageError: there is no such shell.
    """
    from click.shell_completion import ShellComplete

    shell = shell_named(name, command)
    return Answer(HELD, [ShellComplete.source(shell)])  # bash's own would first run bash, to see how old it is


def candidates(command: click.Command) -> Answer:
    """Return the candidates for the word at the cursor, for the shell that requests them through `ASKED`."""
    name, _, instruction = os.environ.get(ASKED, "").partition("_")
    try:
        shell = shell_named(name, command)
        if instruction == "source":
            return script(name, command)
        if instruction != "complete":
            return Answer(HELD)
        with contextlib.redirect_stdout(io.StringIO()):  # a protocol's source may print
            text = shell.complete()
    except Exception:  # the line is unfinished: its mistakes are reported once it is run
        return Answer(HELD)
    return Answer(HELD, [text] if text else [])


def choice(names: Callable[[click.Context], Iterable[str]], commas: bool = False, files: str = "") -> Completer:
    """Return a callback that completes one of some names.

    Args:
        names: returns the names, given the rest of the line.
        commas: whether one word may hold several, with commas between them.
        files: whether a `file` or a `dir` is possible as well.
    """

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> Completed:
        from click.shell_completion import CompletionItem

        before, comma, last = incomplete.rpartition(",") if commas else ("", "", incomplete)
        taken = before.split(",")
        out = [CompletionItem(before + comma + n) for n in names(ctx) if n.startswith(last) and n not in taken]
        # the shells complete files if no name fits, if that is requested first
        return [CompletionItem(incomplete, type=files), *out] if files else out

    return complete


def protocol_on_line(ctx: click.Context) -> str:
    """Return the name of the protocol on the line, or else the command's own."""
    name = ctx.params.get("protocol")
    if not isinstance(name, str) or not name:
        name = next((p.default for p in ctx.command.params if p.name == "protocol"), None)
    if not isinstance(name, str) or not name:
        return Parameters.protocol
    return name


def protocol_of(ctx: click.Context) -> Protocol:
    """Return the protocol on the line.

    Raises:
        ConfigError: its source is wrong.
        KeyError: there is no such protocol.
    """
    from zabspec.protocols.registry import PROTOCOLS

    return PROTOCOLS[protocol_on_line(ctx)]


def of_registry(ctx: click.Context) -> Iterable[str]:
    from zabspec.authoring.sources import EXAMPLE, examples
    from zabspec.protocols.registry import NAMES

    return [*NAMES, *(f"{EXAMPLE}{name}" for name in examples())]


def of_examples(ctx: click.Context) -> Iterable[str]:
    from zabspec.authoring.sources import examples

    return examples()


def of_properties(ctx: click.Context) -> Iterable[str]:
    from invariants import properties_of

    name = protocol_on_line(ctx)
    return (p.name for p in properties_of(name) if p.judges(name))


def of_progress(ctx: click.Context) -> Iterable[str]:
    from zabspec.live.phase import stable_phase
    from zabspec.model import Configuration, Model

    return (p.name for p in stable_phase(Model(Configuration(protocol=protocol_on_line(ctx)))).goals)


def of_entries(ctx: click.Context) -> Iterable[str]:
    from checker.ci.shipped import gallery

    there = gallery()
    return (*there.groups, *(check.name for check in there.matrix.checks))


def of_docs(ctx: click.Context) -> Iterable[str]:
    from checker.errors import RequestError
    from checker.manual import folder, pages

    try:
        return [page.topic for page in pages(folder())]
    except RequestError:  # an installation without pages
        return []


def of_releases(protocol: Protocol) -> Iterable[str]:
    return (number for numbers in protocol.declared.releases.values() for number in numbers)


def of_zookeeper(ctx: click.Context) -> Iterable[str]:
    from zabspec.zoo_cfg import SAME

    return (number for numbers in SAME.values() for number in numbers)


def named(completer: str) -> Completer:
    """Return the completer with a name: one of this module, or `WING/NAME` of `checker/WING/completing.py`."""
    wing, _, own = completer.rpartition("/")
    if not wing:
        found: Completer = globals()[own]
        return found
    module = f"checker.{wing}.completing"
    return choice(lambda ctx: getattr(import_module(module), own)() if is_there(module) else (), commas=True)


def of_formats(ctx: click.Context) -> Iterable[str]:
    from checker.requests.export import FORMATS

    return FORMATS


def one_of(*names: str) -> Completer:
    """Complete one of some names."""
    return choice(lambda ctx: names)


protocols = choice(of_registry, files="file")
variants = choice(lambda ctx: protocol_of(ctx).variants, commas=True)
repairs = choice(lambda ctx: (name for name, v in protocol_of(ctx).variants.items() if v.repairs), commas=True)
releases = choice(lambda ctx: of_releases(protocol_of(ctx)))
starts = choice(lambda ctx: protocol_of(ctx).starts)
networks = choice(lambda ctx: protocol_of(ctx).world.networks)
budgets = choice(lambda ctx: (f"{name}=" for name in protocol_of(ctx).budgets))
parameters = choice(lambda ctx: (f"{name}=" for name in protocol_of(ctx).parameters))
properties = choice(of_properties)
progress = choice(of_progress)
entries = choice(of_entries)
docs_topics = choice(of_docs)
zookeeper_releases = choice(of_zookeeper, commas=True)
examples = choice(of_examples)
formats = choice(of_formats)
