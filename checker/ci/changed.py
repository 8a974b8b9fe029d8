"""Select the checks that a change can affect: `--changed-since REV`.

A check is skipped only if nothing that its verdict depends on can have changed: its own table, the files that this
names, the source of its protocol with its imports, zabcheck itself, and the files that pin the installed zabcheck. A
check of a file that git does not follow (ignored, in a submodule, outside the repository), or of a protocol that may
read more than its imports, is run.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence, Set
from difflib import SequenceMatcher
from fnmatch import fnmatch
from pathlib import Path

from checker.ci.configuration import Check, Matrix, MatrixError, matrix_of
from zabspec.authoring.sources import is_file, path_of
from zabspec.files import LARGEST_SOURCE, read_bytes

# Files that may pin the installed version of zabcheck or of its dependencies, and folders of such files.
PINS = (
    "pyproject.toml", "setup.py", "setup.cfg", "*.lock", "*requirements*", "*constraints*",
    "Pipfile", "*.yml", "*.yaml", ".python-version", ".tool-versions", "Dockerfile*", "Containerfile*", "tox.ini",
    "noxfile.py", "Makefile", "*.nix",
)  # fmt: skip
# Modules that read nothing, and names of Python by which code reads more than it imports.
PURE = frozenset({"__future__", "typing", "collections", "dataclasses", "enum", "functools", "itertools", "math"})
READERS = frozenset(
    {"open", "eval", "exec", "compile", "input", "getattr", "vars", "globals", "locals", "breakpoint", "help"}
    | {"get_type_hints", "ForwardRef", "register"}  # these evaluate annotations that are text
)
OF_MODULES = frozenset({"__name__", "__doc__", "__post_init__"})  # harmless names with two underscores
WORDS = "zabcheck.language"
PACKAGES = ("zabcheck", "zabspec", "checker", "invariants", "traces")


def touched(matrix: Matrix, revision: str) -> tuple[Check, ...]:
    """Return the checks of a matrix that changes since a revision may affect, uncommitted changes included.

    Raises:
        MatrixError: there is no git, no repository or no such revision.
    """
    top = Path(git(matrix.path.parent, "rev-parse", "--show-toplevel").rstrip("\n"))
    commit = git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
    listed = git(top, "diff", "--name-only", "--no-renames", "-z", commit, "--")
    listed += git(top, "ls-files", "--others", "--exclude-standard", "-z")
    names = [top / name for name in listed.split("\0") if name]
    changed = {Path(os.path.realpath(name)) for name in names}
    if any(name.is_symlink() for name in names):  # behind one of a folder are files that did not change
        return matrix.checks
    if any(fnmatch(part, pattern) for name in names for part in name.relative_to(top).parts for pattern in PINS):
        return matrix.checks
    if any(is_below(path, package_folders()) for path in changed):
        return matrix.checks
    known = followed(top)
    before = {check.name: check for check in matrix.checks}
    own = Path(os.path.realpath(matrix.path))
    if own in changed or own not in known:
        before = earlier(matrix, top, commit)
    return tuple(c for c in matrix.checks if not same(c, before.get(c.name)) or rests_on(c, changed, known))


def followed(top: Path) -> set[Path]:
    """Return the files of a repository whose changes git reports.

    Not the files of submodules, nor those that it is told to take for unchanged.
    """
    listed = git(top, "ls-files", "--cached", "-v", "-z").split("\0")
    listed += [f"H {name}" for name in git(top, "ls-files", "--others", "--exclude-standard", "-z").split("\0")]
    return {Path(os.path.realpath(top / line[2:])) for line in listed if line[:2] == "H " and line[2:]}


def changed_lines(matrix: Matrix, revision: str) -> dict[str, set[int]]:
    """Return the lines of protocols that changed since a revision, by real path of the file.

    For lines that were removed, they are the lines around the removal.

    Raises:
        MatrixError: there is no git, no repository or no such revision.
    """
    from zabspec.authoring.files import read_file

    top = Path(os.path.realpath(git(matrix.path.parent, "rev-parse", "--show-toplevel").rstrip("\n")))
    commit = git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
    protocols = {str(c.values["protocol"]) for c in matrix.checks}
    files = {file for p in protocols if is_file(p) for file, _ in read_file(p).files}
    out = {}
    for file in sorted({os.path.realpath(file) for file in files}):
        if not Path(file).is_relative_to(top):
            continue
        now = read_bytes(file, LARGEST_SOURCE).decode(errors="replace").splitlines()
        try:
            before = git(top, "show", f"{commit}:{Path(file).relative_to(top).as_posix()}").splitlines()
        except MatrixError:  # the file did not exist
            before = []
        out[file] = lines_that_differ(before, now)
    return out


def lines_that_differ(before: Sequence[str], now: Sequence[str]) -> set[int]:
    """Return the numbers of new or changed lines, from 1; for removed lines, the number of the line that follows."""
    out: set[int] = set()
    for what, _, _, first, last in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        if what != "equal":
            out.update(range(first + 1, max(last, first + 1) + 1))
    return out


def same(check: Check, before: Check | None) -> bool:
    """Return whether a check has the same request and expectation in two versions of a matrix."""
    return before is not None and (check.values, check.expect) == (before.values, before.expect)


def package_folders() -> list[Path]:
    """Return the folders of zabcheck's own packages."""
    here = Path(os.path.realpath(__file__)).parents[2]
    return [here / name for name in PACKAGES]


def is_below(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def rests_on(check: Check, changed: set[Path], known: set[Path]) -> bool:
    """Return whether a check may rest on a file that changed, or on one of which git does not know whether it did.

    A protocol that is a module of a package may rest on any file: what it imports is not followed. Where a module was
    removed, Python may find another one of its name.
    """
    files = {Path(os.path.realpath(file)) for file in check.files}
    protocol = str(check.values["protocol"])
    if is_file(protocol):
        from zabspec.authoring.files import read_file

        read = read_file(protocol)
        sources = {Path(os.path.realpath(file)) for file, _ in read.files}
        beside = Path(os.path.realpath(path_of(protocol))).parent
        removed = (path for path in changed if path.suffix == ".py" and not path.exists())
        here = PURE | {part.__name__ for part in read.parts}
        if any(reads_more(file, here) for file in sources) or any(is_below(path, [beside]) for path in removed):
            return True
        files |= sources
    elif "." in protocol:
        return True
    return bool(files & changed) or not files <= known


def reads_more(file: Path, here: Set[str]) -> bool:
    """Return whether Python code may read more than the sources that it imports: a file of data, another program.

    Whatever has the name of a module, or of something that leads to any object, may be one.

    Args:
        here: the modules that may be imported: those that are sources, and those that read nothing.
    """
    nodes = [*ast.walk(ast.parse(read_bytes(str(file), LARGEST_SOURCE)))]
    given = {node.arg for node in nodes if isinstance(node, ast.arg)}
    given -= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    given -= {node.asname or node.name for node in nodes if isinstance(node, ast.alias)}
    for node in nodes:
        match node:
            case ast.Import(names=names) if any(one.name not in here for one in names):
                if [one.name for one in names] != [WORDS]:
                    return True
            case ast.ImportFrom(module=str(module), level=0) if module not in here:
                if module != WORDS and (module, [one.name for one in node.names]) != ("zabcheck", ["language"]):
                    return True
            case ast.ImportFrom(module=str(module), names=names) if any(leads_out(one.name) for one in names):
                return True
            case ast.Attribute(value=ast.Name(id=base), attr=name) if base in given and not is_dunder(name):
                continue  # a field of the state, or of a message
            case ast.Attribute(attr=name) if leads_out(name):
                return True
            case ast.Name(id=name) if name in READERS or is_dunder(name):
                return True
    return False


def leads_out(name: str) -> bool:
    """Return whether an attribute of this name, or what is imported by it, may be a module or lead to one."""
    return name in READERS or is_dunder(name) or name.strip("_") in sys.stdlib_module_names or name in ("*", "bltns")


def is_dunder(name: str) -> bool:
    return name.startswith("__") and name not in OF_MODULES


def earlier(matrix: Matrix, top: Path, commit: str) -> dict[str, Check]:
    """Return the checks by name as a commit has their file; empty if it was not there or was not a matrix."""
    try:
        inside = Path(os.path.realpath(matrix.path)).relative_to(os.path.realpath(top)).as_posix()
        text = git(top, "show", f"{commit}:{inside}")
        found = matrix_of(tomllib.loads(text), matrix.path, text)
    except (MatrixError, ValueError, RecursionError):
        return {}
    return {check.name: check for check in found.checks}


def git(folder: Path, *words: str) -> str:
    """Run git in a folder and return its output.

    Raises:
        MatrixError: git fails, or is not installed.
    """
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, check=False, stdin=subprocess.DEVNULL
        )
    except OSError as problem:
        raise MatrixError(f"--changed-since needs git, which cannot be run: {problem.strerror}") from None
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split()) or f"it does not know {words[-1]!r}"
        raise MatrixError(f"--changed-since needs git, which reports: {said}")
    return done.stdout.decode(errors="surrogateescape")
