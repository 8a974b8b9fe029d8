"""Read the configuration of `zabcheck check`: named checks, their expected results, and known differences.

A matrix is `zabcheck.toml`, or the table `tool.zabcheck` of a `pyproject.toml`. `keys.py` has its keys; the values of
an option are checked by the request that the check makes.
"""

from __future__ import annotations

import datetime
import errno
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.ci.keys import KINDS, options_of, schema
from checker.errors import RequestError
from checker.requests.explore import Explore
from checker.requests.quorum_system import TEXTS, quorums_given
from checker.requests.request import near
from zabspec.configuration import Parameters
from zabspec.files import read_bytes
from zabspec.quorums import MAJORITY

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

LARGEST = 1 << 20  # bytes of a file: far more than anybody writes
ABOUT = ("name", "claim", "where", "story", "why", "seconds", "expect")  # keys that are not options
SIMULATE = "simulate"
LIVE = "live"
REPLAY = "replay"
OF_A_RUN = ("protocol", "engine", "trace", "properties")  # what a check of a saved run may contain
HOLDS, VIOLATED, NOT_REACHED = "holds", "violated", "not reached"
ALL = "all"


class MatrixError(RequestError):
    """The file is not a matrix of checks: one sentence says where and why."""


@dataclass(frozen=True)
class Expectation:
    """The expected result of a check.

    Attributes:
        verdict: `holds`, `violated` or `not reached`.
        violated: every property that is violated, with the length of its shortest run (simulated: the tick); for
            progress properties, with the length of the run that is shown.
        premises: the properties whose premise must be reached, each with the depth at which it is reached first, or
            None for any; None: those of all that are judged.
        depth, states, raw, exhausted: of the exploration, if they are expected; of a liveness check the depth of the
            fault phase, and the states of the stable one.
        sha256: of a simulated run.
        source: where it is stated, or which independent engine found the same.
    """

    verdict: str
    violated: Mapping[str, int] = field(default_factory=dict)
    premises: Mapping[str, int | None] | None = None
    depth: int | None = None
    states: int | None = None
    raw: int | None = None
    exhausted: bool | None = None
    sha256: str = ""
    source: str = ""


@dataclass(frozen=True)
class Check:
    """A named request, and its expected result.

    Attributes:
        name: of letters, digits, dots and dashes: it is part of file names.
        values: of the fields of its request, as `zabcheck.explore` and `zabcheck.simulate` take them.
        expect: the expected result.
        claim, where, story: for the gallery: the claim, its place in the source, and what happens.
        why: of a variant, why it violates a property, or why it does no harm.
        seconds: the CPU seconds that it took when it was last measured; 0 if it was not measured.
        line: of the file, where it begins; 0 if that is not known.
        files: that its values are read from, besides its protocol's: a `zoo.cfg`, a saved run.
    """

    name: str
    values: Mapping[str, Any]
    expect: Expectation
    claim: str = ""
    where: str = ""
    story: str = ""
    why: str = ""
    seconds: float = 0.0
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
class Known:
    """A known difference, which is accepted until a day.

    Attributes:
        check: the check's name.
        what: the kind of difference.
        name: the property; empty if it is not about one.
        depth: the length of its shortest run; None for any.
        reason: why it is accepted.
        until: the last day on which it is accepted.
    """

    check: str
    what: str
    name: str
    depth: int | None
    reason: str
    until: datetime.date


@dataclass(frozen=True)
class Matrix:
    """The checks of a file.

    Attributes:
        path: the file.
        checks: in the file's order.
        known: the known differences of its baseline.
        baseline: the file of the baseline, or None.
    """

    path: Path
    checks: tuple[Check, ...]
    known: tuple[Known, ...] = ()
    baseline: Path | None = None


def default_file() -> Path:
    """Return the path of the matrix in the current folder.

    Raises:
        MatrixError: there is none.
    """
    own, project = Path("zabcheck.toml"), Path("pyproject.toml")
    if own.exists():
        return own
    if project.exists() and "zabcheck" in table_of(project).get("tool", {}):
        return project
    raise MatrixError("there is no zabcheck.toml here, and no pyproject.toml with a table tool.zabcheck")


def read_matrix(path: Path, shipped: bool = False) -> Matrix:
    """Read a matrix, with its baseline.

    Args:
        shipped: whether it comes with the package; tests check it against the schema then.

    Raises:
        MatrixError: it cannot be read, or is not a matrix.
    """
    return matrix_of(table_of(path), path, shipped=shipped)


def matrix_of(table: Mapping[str, Any], path: Path, text: str | None = None, shipped: bool = False) -> Matrix:
    """Build a matrix from the table of its file.

    Args:
        text: of the file; None to read it for the lines of the checks.
        shipped: whether to skip the check against the schema.

    Raises:
        MatrixError: it is not a matrix.
    """
    if path.name == "pyproject.toml":
        table = table.get("tool", {}).get("zabcheck", {})
        if not table:
            raise MatrixError(f"{path} has no table tool.zabcheck")
    if not shipped:
        keep_schema("zabcheck", table, path)
    lines = lines_of(read_bytes(path, LARGEST).decode(errors="replace") if text is None else text)
    defaults = table.get("defaults", {})
    checks = tuple(check_of(given, defaults, path, lines) for given in table["check"])
    names = [check.name for check in checks]
    for name in names:
        if names.count(name) > 1:
            raise MatrixError(f"{path}: two checks are called {name}")
    if "baseline" not in table:
        return Matrix(path, checks)
    baseline = path.parent / table["baseline"]
    return Matrix(path, checks, known_of(baseline, checks), baseline)


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


def keep_schema(name: str, table: Mapping[str, Any], path: Path) -> None:
    """Check a table against the JSON schema of a name.

    Raises:
        MatrixError: it does not conform; the message names the first place.
    """
    from jsonschema import Draft202012Validator

    found = sorted(Draft202012Validator(schema(name)).iter_errors(table), key=lambda e: [str(k) for k in e.path])
    if found:
        raise MatrixError(f"{path}: {wrong_at(found[0], table)}")


def wrong_at(problem: ValidationError, table: Mapping[str, Any]) -> str:
    """Return a sentence that says what is wrong, and in which check."""
    where, value = place(list(problem.absolute_path), table), problem.instance
    if problem.validator == "additionalProperties" and isinstance(value, dict):
        known = problem.schema.get("properties", {})
        unknown = next(key for key in value if key not in known)
        hint = near(unknown, known) or f"; there are {', '.join(known)}"
        return f"{where}there is no key {unknown!r}{hint}"
    if problem.validator == "required":
        missing = next(key for key in problem.validator_value if key not in value)
        return f"{where}{missing!r} is missing"
    if problem.validator == "anyOf" and "source" in str(problem.validator_value):
        return f"{where}an expectation needs a 'source', or an independent engine in 'confirmed_by'"
    if problem.validator in ("enum", "const"):
        there = problem.validator_value if problem.validator == "enum" else [problem.validator_value]
        hint = near(str(value), there) or f"; there are {', '.join(there)}"
        return f"{where}there is no {value!r}{hint}"
    wanted = {"type": f"a {problem.validator_value}", "minLength": "above 0", "minItems": "one or more"}
    said = wanted.get(str(problem.validator)) or str((problem.schema or {}).get("description") or problem.message)
    return f"{where}{str(value)[:60]!r} is wrong: it must be {said}"


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
    return f"{' '.join(words)}: " if words else ""


def lines_of(text: str) -> dict[str, int]:
    """Return the line of each check's name, by name."""
    out: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        key, equals, value = line.partition("=")
        if equals and key.strip() == "name":
            out.setdefault(value.partition("#")[0].strip().strip("\"'"), number)
    return out


# --- a check ---------------------------------------------------------------------------------------


def check_of(given: Mapping[str, Any], defaults: Mapping[str, Any], path: Path, lines: Mapping[str, int]) -> Check:
    """Build a check from its table and the defaults.

    Raises:
        MatrixError: what it expects contradicts itself.
    """
    name = given["name"]
    options = {k: v for k, v in ({**defaults, **given}).items() if k not in ABOUT}
    options["protocol"] = located(str(options.get("protocol", Parameters.protocol)), path)
    files = []
    if "trace" in options:
        options["trace"] = str(path.parent / str(options["trace"]))
        files.append(options["trace"])
    if "quorums" in options:
        if not is_text_of_quorums(str(options["quorums"])):
            files.append(str(path.parent / str(options["quorums"])))
        options["quorums"] = quorums_of(str(options["quorums"]), path, name)
    mine = takes(str(options.get("engine", "")))  # defaults are for all
    options = {k: v for k, v in options.items() if k in given or k in mine}
    try:
        expect = expectation(given["expect"], options)
    except MatrixError as problem:
        raise MatrixError(f"{path}: check {name}: {problem}") from None
    said = {key: " ".join(given.get(key, "").split()) for key in ("claim", "where", "story", "why")}
    return Check(
        name,
        options,
        expect,
        **said,
        seconds=float(given.get("seconds", 0.0)),
        line=lines.get(name, 0),
        files=tuple(files),
    )


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


def expectation(given: Mapping[str, Any], values: Mapping[str, Any]) -> Expectation:
    """Build an expectation from its table.

    Raises:
        MatrixError: it contradicts itself, or the request.
    """
    verdict, violated = given["verdict"], given.get("violated", {})
    if (verdict == VIOLATED) != bool(violated):
        raise MatrixError(
            f"the verdict {verdict!r} {'excludes' if violated else 'requires'} a list of violated properties"
        )
    engine = values.get("engine")
    ends = engine not in (SIMULATE, LIVE, REPLAY)
    if len(set(violated.values())) > 1 and not values.get("keep_going") and ends:
        raise MatrixError(
            "violations at several depths need keep_going = true: without it, the exploration ends at the first"
        )
    of_states = [key for key in ("depth", "states", "raw", "exhausted") if key in given]
    if engine in (SIMULATE, REPLAY) and of_states:
        raise MatrixError(f"a {'simulated' if engine == SIMULATE else 'saved'} run has no {of_states[0]} to expect")
    if (engine == REPLAY) != ("trace" in values):
        raise MatrixError('a check with engine = "replay", and no other, names the trace of a saved run')
    if engine != LIVE and "progress_properties" in values:
        raise MatrixError('progress_properties are for engine = "live"')
    if engine == LIVE and "raw" in given:
        raise MatrixError("states of the stable phase are not counted without symmetry, so there is no raw to expect")
    if engine != SIMULATE and "sha256" in given:
        raise MatrixError("only a simulated run has a sha256 to expect")
    premises: Any = given.get("premises", ALL if verdict == HOLDS else [])
    if verdict == NOT_REACHED and premises:
        raise MatrixError(f"the verdict {verdict!r} contradicts the premises to be reached")
    if premises == ALL:
        premises = None
    elif not isinstance(premises, dict):
        premises = dict.fromkeys(premises)
    source = given.get("source") or f"confirmed by {given['confirmed_by']}"
    figures = {key: given.get(key) for key in ("depth", "states", "raw", "exhausted")}
    return Expectation(verdict, violated, premises, **figures, sha256=given.get("sha256", ""), source=source)


# --- the baseline ----------------------------------------------------------------------------------


def known_of(path: Path, checks: Iterable[Check]) -> tuple[Known, ...]:
    """Read the known differences of a baseline.

    Raises:
        MatrixError: it cannot be read, or is not a baseline of these checks.
    """
    table, names = table_of(path), [check.name for check in checks]
    keep_schema("baseline", table, path)
    out: list[Known] = []
    for given in table.get("known", []):
        what, name = given.get("what", "violated"), given.get("property", "")
        if given["check"] not in names:
            raise MatrixError(f"{path}: there is no check {given['check']!r}{near(given['check'], names)}")
        if not isinstance(given["until"], datetime.date) or isinstance(given["until"], datetime.datetime):
            said = f"{str(given['until'])[:40]!r} is not a date: write it as 2026-12-31, without quotes"
            raise MatrixError(f"{path}: known {given['check']} until: {said}")
        if what == "violated" and not name:
            raise MatrixError(f"{path}: known {given['check']}: 'property' is missing: which one is violated?")
        known = Known(given["check"], what, name, given.get("depth"), given["reason"].strip(), given["until"])
        if not known.reason:
            raise MatrixError(f"{path}: known {given['check']}: the reason is empty")
        if any((k.check, k.what, k.name, k.depth) == (known.check, what, name, known.depth) for k in out):
            raise MatrixError(f"{path}: known {known.check}: {name or what} is listed twice")
        out.append(known)
    return tuple(out)
