"""Find and read the source of a user protocol: a file with the modules beside it, or a module of a package.

A source is read again when it, or a module beside it, was edited.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import importlib
import importlib.util
import linecache
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import ClassVar

from zabspec.authoring.checks import OURS, check_texts
from zabspec.authoring.declaration import ConfigError, Declaration, ProtocolError
from zabspec.authoring.sources import Read, current, digest_of, is_file, keep, key_of, last_read, path_of
from zabspec.files import LARGEST_SOURCE, read_bytes
from zabspec.language.layout.diagnostics import innermost, place_at
from zabspec.language.layout.place import SourcePlace
from zabspec.language.layout.source import functions_in, known_tree, read_again
from zabspec.language.python.meanings import unimported
from zabspec.typed import near


def read_file(name: str) -> Read:
    """Read what a file, or a module, declares.

    Args:
        name: `path/to/file.py` or `package.module`.

    Raises:
        ProtocolError: it does not exist, is not Python, fails when it is read, or declares no protocol.
    """
    key = key_of(name)
    known = current(name)
    if known is not None:
        return known
    module, files, named, parts = _from_file(path_of(name)) if is_file(name) else _from_package(name)
    own = declared_by(module)
    if len(own) != 1:
        said = "declares no protocol" if not own else f"declares {len(own)} protocols"
        raise ProtocolError(f"{name} {said}: it ends with PROTOCOL = declare(__name__)")
    if is_released(module):
        return Read(own[0], module, ((files[0], ""),), released=True, named=named)
    digests = tuple((f, digest_of(f)) for f in files)
    return keep(key, Read(own[0], module, digests, named=named, parts=tuple(parts)))


def declared_by(module: ModuleType) -> list[Declaration]:
    """Return the protocols that a module declares itself."""
    return [d for d in vars(module).values() if isinstance(d, Declaration) and d.module == module.__name__]


Named = dict[str, ModuleType | BaseException]


def named_by(module: ModuleType) -> Named:
    """Import the modules that a module's declaration names, which are parts of it as those that it imports are.

    One that cannot be imported is reported by the reader, with its line.
    """
    found: Named = {}
    for declared in declared_by(module):
        for name in (declared.variants, declared.oracle):
            if name and isinstance(name, str):
                try:
                    found[name] = importlib.import_module(name)
                except (Exception, SystemExit) as problem:
                    found[name] = problem
    return found


def is_released(module: ModuleType) -> bool:
    """Return whether a module is this project's, with a protocol that changes only with releases of zabcheck."""
    declared = getattr(module, "PROTOCOL", None)
    return isinstance(declared, Declaration) and declared.released and module.__name__.partition(".")[0] in OURS


_times = 0  # how often a file was read


def _from_file(path: Path) -> tuple[ModuleType, list[str], Named, list[ModuleType]]:
    """Read a file, with the modules beside it that it imports."""
    global _times
    try:
        text = read_bytes(path, LARGEST_SOURCE)
    except OSError as problem:
        raise ProtocolError(f"cannot read {path}: {problem}") from None
    file = os.path.realpath(path)
    read_again(file, text)
    stem = "".join(c if c.isalnum() else "_" for c in path.stem)
    _times += 1
    name = f"{stem}_{hashlib.sha256(file.encode() + text).hexdigest()[:12]}_{_times}"
    try:
        tree = ast.parse(text, file)
        check_texts(str(path), tree)
        check_plain_names(str(path), file, tree)
        code = compile(text, file, "exec", dont_inherit=True)
    except SyntaxError as problem:
        line, column = problem.lineno or 1, max(0, (problem.offset or 1) - 1)
        said = f"{path}:{line}: this is not Python: {problem.msg}"
        raise ProtocolError(said, SourcePlace(file, line, column, column + 1)) from None
    except ProtocolError:
        raise
    except ValueError as problem:
        raise ProtocolError(f"{path} is not Python: {problem}") from None
    module = ModuleType(name)
    module.__file__ = file
    linecache.checkcache(file)
    sys.modules[name] = module
    try:
        with _Beside(Path(file).parent, name) as beside, _as_written(beside.folder), unchanged_builtins():
            exec(code, module.__dict__)
            named = named_by(module)
    except (Exception, SystemExit) as problem:  # one that ends the command would end it as if all had held
        del sys.modules[name]
        raise failed(str(path), file, problem) from None
    for given, found in named.items():
        origin = getattr(found, "__file__", None) or ""
        if isinstance(found, ModuleType) and origin.endswith(".py") and given.partition(".")[0] not in OURS:
            beside.modules.append(found)
            if given not in beside.before:
                sys.modules.pop(given, None)
    others = sorted({str(part.__file__) for part in beside.modules})
    for other in others:
        check_texts(other, ast.parse(read_bytes(other, LARGEST_SOURCE), other))
    return module, [file, *others], named, beside.modules


@contextmanager
def unchanged_builtins() -> Iterator[None]:
    """Refuse a source that changes Python's builtins, which zabcheck uses too, and restore them.

    Raises:
        ProtocolError: it does.
    """
    known, before = vars(builtins), dict(vars(builtins))
    try:
        yield
    finally:
        changed = {name: value for name, value in before.items() if known.get(name) is not value}
        known.update(changed)
    if changed:
        raise ProtocolError(f"it changes Python's builtins: {', '.join(changed)}")


class _Beside:
    """Lets a file import the modules beside it while it is read.

    They are imported again for the next file, so that two files of one name in two folders are two; and so are those
    that a caller, or another protocol, has imported, which are its own again afterwards: they may be older than their
    files, or lie in another folder.

    Attributes:
        modules: what was imported.
        elsewhere: what some file imported from other folders, but for installed packages: it may be edited, too.
    """

    elsewhere: ClassVar[set[str]] = set()

    def __init__(self, folder: Path, own: str) -> None:
        self.folder, self.own = str(folder), own
        self.modules: list[ModuleType] = []

    def __enter__(self) -> _Beside:
        for name in self.elsewhere & sys.modules.keys():
            del sys.modules[name]
        self.before = set(sys.modules)
        self.callers = self.there() | self.hiding()
        for name in self.callers:
            del sys.modules[name]
        importlib.invalidate_caches()
        sys.path.insert(0, self.folder)
        return self

    def __exit__(self, *_: object) -> None:
        if self.folder in sys.path:
            sys.path.remove(self.folder)
        for name, module in self.there().items():
            self.modules.append(module)
            del sys.modules[name]
        for name in sys.modules.keys() - self.before:
            file, first = getattr(sys.modules[name], "__file__", None) or "", name.partition(".")[0]
            if "-packages" not in file and first not in sys.stdlib_module_names and first not in (*OURS, self.own):
                self.elsewhere.add(name)
        sys.modules.update(self.callers)

    def hiding(self) -> dict[str, ModuleType]:
        """Return the modules of other folders that have the name of a module, or of a package, of the folder."""
        names = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names - {*OURS, "__main__"}
        hiding = set()
        for name in names:
            place = os.path.join(self.folder, name)
            spread = getattr(sys.modules.get(name), "__file__", None) is None and os.path.isdir(place)  # over folders
            if spread or os.path.isfile(f"{place}.py") or os.path.isfile(f"{place}/__init__.py"):
                hiding.add(name)
        return {name: module for name, module in list(sys.modules.items()) if name.partition(".")[0] in hiding}

    def there(self) -> dict[str, ModuleType]:
        """Return the modules that were imported from the folder."""
        found, inside = {}, self.folder + os.sep
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None) or ""
            if file.startswith(inside) and file.endswith(".py") and "site-packages" not in file:
                if name.partition(".")[0] not in (*OURS, "__main__", self.own):
                    found[name] = module
        return found


class _Written(SourceFileLoader):
    """Compiles what the file contains now.

    Python's cached bytecode may be that of a source of the same size and second, while the digest is the file's.
    """

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)

    def get_data(self, path: str) -> bytes:
        text = read_bytes(path, LARGEST_SOURCE)
        read_again(path, text)
        return text


@contextmanager
def _as_written(folder: str) -> Iterator[None]:
    """Import modules of a folder, and of its packages, from their current files while sources are read."""
    hook = FileFinder.path_hook((ExtensionFileLoader, EXTENSION_SUFFIXES), (_Written, SOURCE_SUFFIXES))
    _forget_finders(folder)
    sys.path_hooks.insert(0, hook)
    try:
        yield
    finally:
        if hook in sys.path_hooks:
            sys.path_hooks.remove(hook)
        _forget_finders(folder)


def _forget_finders(folder: str) -> None:
    """Drop Python's cached finders for a folder and what is in it."""
    for path in list(sys.path_importer_cache):
        if path == folder or path.startswith(folder + os.sep):
            del sys.path_importer_cache[path]


def _from_package(name: str) -> tuple[ModuleType, list[str], Named, list[ModuleType]]:
    """Read a module of a package, with those of the package that it imports."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise ProtocolError(f"there is no module {name}")
    forget_loaded(name)
    try:
        sys.path.insert(0, os.getcwd())
        with _as_written(os.getcwd()), unchanged_builtins():
            module = importlib.import_module(name)
            named = named_by(module)
    except ModuleNotFoundError as problem:
        if problem.name and (name == problem.name or name.startswith(problem.name + ".")):
            raise ProtocolError(f"there is no module {name}") from None
        raise failed(name, "", problem) from None
    except (Exception, SystemExit) as problem:
        raise failed(name, origin_of(name), problem) from None
    finally:
        sys.path.remove(os.getcwd())
    first = name.partition(".")[0]
    own = module.__file__ or ""
    if is_released(module):
        return module, [own], named, []
    loaded = [m for n, m in list(sys.modules.items()) if n.partition(".")[0] == first]
    loaded += [m for m in named.values() if isinstance(m, ModuleType) and m.__name__.partition(".")[0] not in OURS]
    inside = {file for m in loaded if (file := getattr(m, "__file__", None))}
    folder = os.path.dirname(own) + os.sep
    others = sorted(f for f in inside - {own} if first not in OURS or f.startswith(folder))
    for file in (own, *others):
        if file.endswith(".py"):
            check_texts(file, ast.parse(read_bytes(file, LARGEST_SOURCE), file))
    return module, [own, *others], named, [m for m in loaded if getattr(m, "__file__", None) in others]


def forget_loaded(name: str) -> None:
    """Drop the loaded modules of a protocol of a package, so that Python imports their current files.

    These are the modules that it was made of when it was last read, and those in its folder, which a script or notebook
    may have imported.
    """
    first, known, loaded = name.partition(".")[0], last_read(name), sys.modules.get(name)
    if first in OURS:
        return
    files = {file for file, _ in known.files} if known is not None else set()
    folder = os.path.dirname(getattr(loaded, "__file__", None) or "")
    for other, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        beside = bool(folder) and os.path.dirname(file) == folder
        if other.partition(".")[0] == first and file.endswith(".py") and (beside or file in files):
            del sys.modules[other]


def origin_of(name: str) -> str:
    """Return the file of a module; empty if there is none, or its package fails when it is imported."""
    try:
        found = importlib.util.find_spec(name)
    except (Exception, SystemExit):
        return ""
    return (found.origin or "") if found else ""


def failed(said: str, file: str, problem: BaseException) -> ProtocolError:
    """Return the error for what went wrong while a source was read, with the responsible line."""
    if isinstance(problem, SyntaxError):
        return ProtocolError(f"{problem.filename or said}:{problem.lineno or 1}: this is not Python: {problem.msg}")
    if isinstance(problem, ProtocolError) and ":" in str(problem).split(" ")[0]:
        return ProtocolError(str(problem))
    lines = [f.lineno for f in traceback.extract_tb(problem.__traceback__) if f.filename == file and f.lineno]
    where = f"{said}:{lines[-1]}" if lines else said
    what = str(problem) if isinstance(problem, ConfigError) else f"{type(problem).__name__}: {problem}"
    what = what.replace("Declaration.__init__()", "declare()").replace(".__init__()", "()")  # as a file writes them
    if type(problem) is ImportError and problem.name == LANGUAGE[0]:
        word = what.split("'")[1]
        home = next((m for m in ("typing", "enum") if word in sys.modules[m].__all__), "")
        more = f": from {home} import {word}" if home else near(word, sys.modules[LANGUAGE[0]].__all__)
        what = f"{LANGUAGE[0]} has no {word}{more}"
    stop = innermost(problem, lambda f: f == file)
    place = stop.place if stop is not None and stop.place.file == file else None
    if isinstance(problem, NameError) and problem.name and lines:
        what = unimported(problem.name) or what
        tree = known_tree(file)
        below = defined_below(tree, problem.name, lines[-1]) if tree is not None else 0
        if below:
            what = f"{problem.name} is used here and defined only in line {below}: move its definition above this line"
    return ProtocolError(f"{where}: {what}", place)


def defined_below(tree: ast.Module, name: str, line: int) -> int:
    """Return the line below a given one in which a module defines a name that is used too early; 0 if none."""
    for x in tree.body:
        names = [x.name] if isinstance(x, (ast.FunctionDef, ast.ClassDef)) else []
        if isinstance(x, ast.Assign):
            names = [t.id for target in x.targets for t in ast.walk(target) if isinstance(t, ast.Name)]
        if name in names and x.lineno > line:
            return x.lineno
    return 0


LANGUAGE = ("zabcheck.language", "zabspec.language.python.lang")


def check_plain_names(name: str, file: str, tree: ast.Module) -> None:
    """Check that the words of the language are used by their plain names, in annotations and functions.

    Raises:
        ProtocolError: a function that takes a state uses them through a module, as `z.State`.
    """
    bound: dict[str, ast.stmt] = {}
    for x in tree.body:
        if isinstance(x, ast.Import):
            bound |= {a.asname or a.name: x for a in x.names if a.name in LANGUAGE}
        if isinstance(x, ast.ImportFrom):
            bound |= {a.asname or a.name: x for a in x.names if f"{x.module}.{a.name}" in LANGUAGE}
    for function in functions_in(tree) if bound else ():
        given = [a.annotation for a in function.args.args if a.annotation is not None]
        for node in (x for part in (*given, *function.body) for x in ast.walk(part)):
            module = ast.unparse(node.value) if isinstance(node, ast.Attribute) else ""
            if module in bound and isinstance(node, ast.Attribute) and given:
                place = place_at(file, node)
                there = (x for x in ast.walk(tree) if isinstance(x, ast.Attribute))
                used = sorted({x.attr for x in there if ast.unparse(x.value) == module})
                said = f"import it by its name, as `from zabcheck.language import {', '.join(used)}`"
                raise ProtocolError(
                    f"{name}:{place.line}: {module}.{node.attr} is not a word of the language: {said}", place
                )
