"""Read the configuration of `zabcheck check`: named checks, and their expected results.

A matrix is `zabcheck.toml`, or the table `tool.zabcheck` of a `pyproject.toml`. `keys.py` has its keys; the values of
an option are checked by the request that the check makes.
"""

from __future__ import annotations

import errno
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from checker.ci.keys import (
    KINDS,
    NOT_REACHED,
    VIOLATED,
    CheckKeys,
    Expectation,
    matrix_type,
    options_of,
)
from checker.errors import RequestError
from checker.requests.base.quorum_system import TEXTS, quorums_given
from checker.requests.explore import Explore
from zabspec.configuration import Parameters
from zabspec.files import read_bytes
from zabspec.quorums import MAJORITY
from zabspec.typed import Typed, WrongValue, read
from zabspec.zoo_cfg import dynamic_places, read_zoo_cfg

LARGEST = 1 << 20  # bytes of a file: far more than anybody writes
SIMULATE = "simulate"
LIVE = "live"
REPLAY = "replay"
OF_A_RUN = ("protocol", "engine", "trace", "properties")  # what a check of a saved run may contain
EXAMPLE = "; `zabcheck docs ci` shows one"
T = TypeVar("T", bound=Typed)


class MatrixError(RequestError):
    """The file is not a matrix of checks: one sentence says where and why."""


class Check(CheckKeys, frozen=True, kw_only=True):
    """A named request, and its expected result.

    Attributes:
        values: of the fields of its request, as `zabcheck.explore` and `zabcheck.simulate` take them.
        line: of the file, where it begins; 0 if that is not known.
        files: that its values are read from, besides its protocol's: a `zoo.cfg`, a saved run.
    """

    values: dict[str, Any]
    line: int = 0
    files: tuple[str, ...] = ()

    @property
    def engine(self) -> str:
        return str(self.values.get("engine", "compiled"))

    @property
    def simulated(self) -> bool:
        return self.engine == SIMULATE

    @property
    def live(self) -> bool:
        """Whether it checks progress properties."""
        return self.engine == LIVE

    @property
    def explores(self) -> bool:
        """Whether it explores states."""
        return self.engine not in (SIMULATE, LIVE, REPLAY)


@dataclass(frozen=True)
class Matrix:
    """The checks of a file.

    Attributes:
        path: the file.
        checks: in the file's order.
    """

    path: Path
    checks: tuple[Check, ...]


def matrix_file(given: Path) -> Path:
    """Return the path of a matrix: a file, or that in a folder.

    Raises:
        MatrixError: the folder has none.
    """
    if not given.is_dir():
        return given
    own, project = given / "zabcheck.toml", given / "pyproject.toml"
    if own.exists():
        return own
    if project.exists() and "zabcheck" in table_of(project).get("tool", {}):
        return project
    where = "here" if given == Path() else f"in {given}"
    raise MatrixError(f"there is no zabcheck.toml {where}, and no pyproject.toml with a table tool.zabcheck{EXAMPLE}")


def read_matrix(path: Path) -> Matrix:
    """Read a matrix.

    Raises:
        MatrixError: it cannot be read, or is not a matrix.
    """
    return matrix_of(table_of(path), path)


def matrix_of(table: Mapping[str, Any], path: Path, text: str | None = None) -> Matrix:
    """Build a matrix from the table of its file.

    Args:
        text: of the file; None to read it for the lines of the checks.

    Raises:
        MatrixError: it is not a matrix.
    """
    if path.name == "pyproject.toml":
        table = table.get("tool", {}).get("zabcheck", {})
        if not table:
            raise MatrixError(f"{path} has no table tool.zabcheck")
    found = typed(table, matrix_type(), path)
    lines = lines_of(read_bytes(path, LARGEST).decode(errors="replace") if text is None else text)
    defaults = table.get("defaults", {})
    pairs = zip(found.check, table["check"], strict=True)
    checks = tuple(check_of(keys, given, defaults, path, lines) for keys, given in pairs)
    names = [check.name for check in checks]
    for name in names:
        if names.count(name) > 1:
            raise MatrixError(f"{path}: two checks are called {name}")
    return Matrix(path, checks)


def table_of(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file.

    Raises:
        MatrixError: the file cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(read_bytes(path, LARGEST).decode())
    except OSError as problem:
        if problem.errno == errno.EFBIG:
            raise MatrixError(f"{path} is larger than {LARGEST >> 20} MiB: this is not a file of checks") from None
        raise MatrixError(f"cannot read {path}: {problem.strerror or problem}") from None
    except UnicodeDecodeError:
        raise MatrixError(f"{path} is not TOML: it is not UTF-8") from None
    except tomllib.TOMLDecodeError as problem:
        raise MatrixError(f"{path} is no TOML: {problem}") from None
    except RecursionError:
        raise MatrixError(f"{path} is not TOML: nested too deeply") from None
    except ValueError:  # a number with more digits than Python parses
        raise MatrixError(f"{path} is not a file of checks: a number in it is too large") from None


# --- what may stand in it --------------------------------------------------------------------------


def typed(table: Mapping[str, Any], kind: type[T], path: Path) -> T:
    """Return a table as a type.

    Raises:
        MatrixError: it is another; the message names the first wrong place.
    """
    try:
        return read(table, kind)
    except WrongValue as problem:
        raise MatrixError(f"{path}: {problem.at(place(problem.path, table))}") from None


def place(path: Sequence[str | int], table: Mapping[str, Any]) -> str:
    """Return a place in a table, as the beginning of a sentence: a check by its name, or its number."""
    words, at = [], table
    for key in path:
        at = at[key]  # type: ignore[index]
        if isinstance(key, int):
            name = at.get("name", at.get("check")) if isinstance(at, dict) else None
            words.append(f"{name}" if isinstance(name, str) else f"number {key + 1}")
        else:
            words.append(str(key))
    return " ".join(words)


def lines_of(text: str) -> dict[str, int]:
    """Return the line of each check's name, by name."""
    out: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        key, equals, value = line.partition("=")
        if equals and key.strip() == "name":
            out.setdefault(value.partition("#")[0].strip().strip("\"'"), number)
    return out


# --- a check ---------------------------------------------------------------------------------------


def check_of(
    keys: CheckKeys, given: Mapping[str, Any], defaults: Mapping[str, Any], path: Path, lines: Mapping[str, int]
) -> Check:
    """Build a check from its table and the defaults.

    Raises:
        MatrixError: what it expects contradicts itself.
    """
    name, own = keys.name, CheckKeys.__struct_fields__
    options = {k: v for k, v in ({**defaults, **given}).items() if k not in own}
    options["protocol"] = located(str(options.get("protocol", Parameters.protocol)), path)
    files = []
    if "trace" in options:
        options["trace"] = str(path.parent / str(options["trace"]))
        files.append(options["trace"])
    if "quorums" in options:
        system = str(options["quorums"])
        options["quorums"] = quorums_of(system, path, name)
        if not is_text_of_quorums(system):
            file = path.parent / system
            files += map(str, [file, *dynamic_places(file, read_zoo_cfg(file).dynamic)])
    mine = takes(str(options.get("engine", "")))  # defaults are for all
    options = {k: v for k, v in options.items() if k in given or k in mine}
    if wrong := contradiction(keys.expect, options):
        raise MatrixError(f"{path}: check {name}: {wrong}")
    said = {key: getattr(keys, key) for key in own}
    said |= {key: " ".join(value.split()) for key, value in said.items() if isinstance(value, str)}
    return Check(**said, values=options, line=lines.get(name, 0), files=tuple(files))


@cache
def takes(engine: str) -> frozenset[str]:
    """Return the options that an engine accepts: the keywords of its function that a check may contain."""
    if engine == REPLAY:
        return frozenset(OF_A_RUN)
    return frozenset(["engine", *options_of(KINDS.get(engine, Explore))])


def located(protocol: str, path: Path) -> str:
    """Return a protocol's name relative to the current folder; the matrix names a file relative to its own folder."""
    if protocol.endswith(".py") or os.sep in protocol:
        return str(path.parent / protocol)
    return protocol


def is_text_of_quorums(value: str) -> bool:
    """Return whether a value describes a quorum system itself, and names no file."""
    return value in ("", MAJORITY) or value.startswith(TEXTS)


def quorums_of(value: str, path: Path, name: str) -> str:
    """Return the text of a check's quorum system; a file's name is relative to the folder of the matrix.

    Raises:
        MatrixError: there is no such system.
    """
    try:
        return quorums_given(value if is_text_of_quorums(value) else str(path.parent / value))
    except RequestError as problem:
        raise MatrixError(f"{path}: check {name}: {problem}") from None


def contradiction(expect: Expectation, values: Mapping[str, Any]) -> str:
    """Return how an expectation contradicts itself, or the request; empty if it does not."""
    verdict, violated, engine = expect.verdict, expect.violated, values.get("engine")
    given = [key for key in ("depth", "states", "raw", "exhausted") if getattr(expect, key) is not None]
    of_run = {SIMULATE: "simulated", REPLAY: "saved"}.get(engine or "", "")
    if not expect.stated:
        return "an expectation needs a 'source' beside its verdict, or an independent engine in 'confirmed_by'"
    if (verdict == VIOLATED) != bool(violated):
        return f"the verdict {verdict!r} {'excludes' if violated else 'requires'} a list of violated properties"
    if len(set(violated.values())) > 1 and not values.get("keep_going") and engine != LIVE and not of_run:
        return "violations at several depths need keep_going = true: without it, the exploration ends at the first"
    if of_run and given:
        return f"a {of_run} run has no {given[0]} to expect"
    if (engine == REPLAY) != ("trace" in values):
        return 'a check with engine = "replay", and no other, names the trace of a saved run'
    if engine != LIVE and "progress_properties" in values:
        return 'progress_properties are for engine = "live"'
    if engine == LIVE and expect.raw is not None:
        return "states of the stable phase are not counted without symmetry, so there is no raw to expect"
    if engine != SIMULATE and expect.sha256:
        return "only a simulated run has a sha256 to expect"
    if verdict == NOT_REACHED and expect.premises:
        return f"the verdict {verdict!r} contradicts the premises to be reached"
    return ""
