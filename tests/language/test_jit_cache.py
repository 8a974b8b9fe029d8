"""The cache of compiled code: a hit changes nothing, damage is repaired, and a folder that cannot be written, or is
shared by several processes at once, does no harm."""

# ruff: noqa: E501, PT018
from __future__ import annotations

import ast
import ctypes
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Limits
from invariants import PROPERTIES
from tests.models import import_text
from tests.patience import HANG
from tests.transcript import file_of
from zabspec.language.analysis import scalarset
from zabspec.language.front import statements
from zabspec.language.layout import cache_key, kinds, source
from zabspec.language.layout.cache_key import compiler_digest, digest_of, program_digest
from zabspec.language.layout.source import LanguageError
from zabspec.language.native import jit, llvm_flow
from zabspec.language.python import lang
from zabspec.model import Configuration, Model

TINY = Configuration(nodes=1, txns=1, timeouts=1, crashes=0, losses=0)
PROPERTY = PROPERTIES[:1]


def explored(configuration: Configuration = TINY) -> tuple[list[int], int, list[str], list[str]]:
    """What an exploration shows, and what was kept beside the code."""
    code = Compiled(Model(configuration), PROPERTY, False)
    result = Explorer(code, 1).run(Limits())
    return result.levels, result.generated, code.sites, code.steps


def test_a_hit_gives_the_same_results(folder: Path, compilations: list[str]) -> None:
    """The second time nothing is compiled, and counts, error sites and steps are those of the first."""
    first = explored()
    assert len(compilations) == 1 and len(list(folder.glob("*.o"))) == 1
    assert explored() == first
    assert len(compilations) == 1
    assert [p.name for p in folder.iterdir() if p.name.startswith(".new-")] == [], "no temporary file is left"


@pytest.mark.slow(seconds=1)
def test_another_configuration_is_another_entry(folder: Path, compilations: list[str]) -> None:
    """A constant of the configuration that changes nothing but a constant of the code gives other code."""
    one = explored()
    other = explored(Configuration(nodes=1, txns=1, timeouts=2, crashes=0, losses=0))
    assert len(compilations) == 2 and compilations[0] != compilations[1]
    assert len(list(folder.glob("*.o"))) == 2
    assert one[0] != other[0], "with two timeouts there are more states"
    assert explored() == one


def test_another_compiler_is_another_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a compiler that is mended runs what was compiled wrongly before."""

    def digest() -> str:
        cache_key.module_digest.cache_clear()
        return compiler_digest.__wrapped__("checker.explore.compiled")

    found = {digest()}
    for module in (statements, scalarset, kinds, llvm_flow):
        monkeypatch.setattr(module, "MENDED", 1, raising=False)
        found.add(digest())
    monkeypatch.undo()
    assert len(found) == 5 and digest() in found


def test_what_else_was_loaded_changes_no_function_of_the_language() -> None:
    """Else each order of loading would have entries of its own, and a program's names could reach another's."""
    before = {name: dict(vars(f)) for name, f in vars(lang).items() if isinstance(f, FunctionType)}
    for name in ("example:lease", "example:work_queue", "example:two_phase_commit"):
        assert Model(Configuration(name)).program
    assert {name: dict(vars(f)) for name, f in vars(lang).items() if isinstance(f, FunctionType)} == before


def test_the_same_text_in_another_folder_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of where a file is, the digest has what is said of it in an error: a project that is elsewhere, as on a worker of
    a cluster, finds what was compiled here."""

    def read(*folders: str, text: str = "def f(x):\n    return [x for _ in 'abc']\n") -> str:
        (tmp_path.joinpath(*folders)).mkdir(parents=True, exist_ok=True)
        return digest_of(import_text(tmp_path.joinpath(*folders), "text", text).f)

    assert read("one", "inner") == read("two", "inner") != read("two", "other")
    assert read("one", "inner") != read("three", "inner", text="def f(x):\n    return [x for _ in 'abd']\n")
    found = set()
    for top in ("here", "there"):
        monkeypatch.setattr(source, "_TOP", f"{tmp_path / top}{os.sep}")
        found.add(read(top, "ours", "inner"))
        assert source.said_file(str(tmp_path / top / "ours" / "inner" / "text.py")) == "ours/inner/text.py"
    assert len(found) == 1
    found.clear()
    for name in ("first", "second"):  # a protocol, whose functions hold its class of fields
        path = tmp_path / name / "inner" / "log.py"
        path.parent.mkdir(parents=True)
        path.write_text(file_of("own/disks", "log.py"), encoding="utf-8")
        program = Model(Configuration(str(path))).program
        found.add(program_digest(program.layout, program.namespace, program.types, program.handlers, program.steps))
    assert len(found) == 1


def test_one_entry_of_a_long_map_that_functions_share_decides() -> None:
    """A digest stands for a long map of plain values: it follows from every key and value and their types, and not from
    whether two functions have one map or equal ones; one that holds a function is read into."""

    def with_map(*maps: dict[str, object]) -> str:
        functions = []
        for held in maps:
            exec("def f(): pass", (names := {"__name__": "text"}))
            vars(names["f"])["apart"] = held
            functions.append(names["f"])
        return digest_of({"functions": functions})

    usual: dict[str, object] = {f"name{k}": k for k in range(40)}
    assert with_map(usual, usual) == with_map(usual, dict(usual))
    others = [usual | {"name7": 8}, usual | {"name1": True}, usual | {"name7": "7"}, usual | {"other": 1}]
    others += [{f"name{k}": k for k in reversed(range(40))}, usual | {"name7": test_a_hit_gives_the_same_results}]
    others += [usual | {"name7": digest_of}]
    assert len({with_map(usual, map_) for map_ in [usual, *others]}) == 8
    before = with_map(usual)
    usual["name39"] = 40
    assert with_map(usual) != before


def test_a_kept_place_is_named_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept with machine code says `folder/mine.py`, wherever that folder is; a message says where it is from
    here."""
    kept = source.said_file(str(tmp_path / "mine.py"))
    said = f"x would leave its range in f ({kept}:3), (not/known.py:4)"
    monkeypatch.chdir(tmp_path)
    assert source.from_here(said) == "x would leave its range in f (mine.py:3), (not/known.py:4)"
    monkeypatch.chdir(tmp_path.parent)
    assert source.from_here(said) == said


def damages(data: bytes) -> dict[str, bytes]:
    middle = len(data) // 2
    return {
        "empty": b"",
        "head only": data[: len(jit.MAGIC)],
        "cut short": data[:middle],
        "a bit turned": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
        "another file": b"not code\n" * 100,
        "longer": data + b"\0",
        "checksum turned": data[: len(jit.MAGIC)] + bytes([data[len(jit.MAGIC)] ^ 1]) + data[len(jit.MAGIC) + 1 :],
    }


def test_a_damaged_entry_is_made_again(folder: Path, compilations: list[str]) -> None:
    """Whatever happened to the file, the code is compiled anew, works, and the file is whole again."""
    key, text = "damage", "define i64 @f() {\n  ret i64 7\n}\n"

    def call() -> int:
        code = jit.compile_cached(key, lambda: (text, {"a": [1]}), lambda code: {})  # a function does not keep its code
        return int(code.function("f", ctypes.c_int64)())

    assert call() == 7
    (path,) = folder.glob("*.o")
    whole = path.read_bytes()
    for k, (what, damaged) in enumerate(damages(whole).items()):
        path.write_bytes(damaged)
        assert call() == 7, what
        assert len(compilations) == k + 2, what
        assert path.read_bytes() == whole, what
    assert jit.compile_cached(key, lambda: ("", {}), lambda code: {}).facts == {"a": [1]}


def test_a_damaged_entry_of_a_model_is_made_again(folder: Path, compilations: list[str]) -> None:
    """The same of a whole model: the same counts as before."""
    first = explored()
    (path,) = folder.glob("*.o")
    path.write_bytes(path.read_bytes()[:-1000])
    assert explored() == first
    assert len(compilations) == 2


PROMISES = """from __future__ import annotations

from zabspec.language.python.lang import Node, State

LEAST = {least}


def promises(s: State, f: Node, epoch: int) -> bool:
    return epoch > LEAST{more}
"""


def levels_of(module: ModuleType) -> list[int]:
    """The levels of a tiny model in which a function of a module outside the package stands for the protocol's."""
    model = Model(TINY)
    model.program.overrides = {"promises": module.promises}
    model.program.extra = {"LEAST": module.LEAST}
    return Explorer(Compiled(model, PROPERTY, False), 1).run(Limits()).levels


@pytest.mark.slow(seconds=1)
def test_a_text_outside_the_package_that_is_edited_is_compiled_anew(
    folder: Path, tmp_path: Path, compilations: list[str]
) -> None:
    """The same file, module and function with another text, or another constant, are other code; the same again is not."""
    texts = [PROMISES.format(least=least, more=more) for least, more in ((0, ""), (5, ""), (0, " + 5"), (0, ""))]
    found = [levels_of(import_text(tmp_path, "outside", text)) for text in texts]
    assert found[0] == found[3] != found[1] == found[2]
    assert len(compilations) == 3
    assert max(map(len, found)) > 2


def test_a_text_that_was_changed_after_it_was_loaded_is_refused(folder: Path, tmp_path: Path) -> None:
    """What Python runs and what the compiler would read are not the same: nothing is compiled of it."""
    module = import_text(tmp_path, "outside", PROMISES.format(least=0, more=""))
    for changed in (PROMISES.format(least=0, more=" + 5"), "\n" + PROMISES.format(least=0, more=""), "not a text ("):
        (tmp_path / "outside.py").write_text(changed)
        with pytest.raises(LanguageError, match="the source of promises was changed after it was loaded"):
            levels_of(module)
    (tmp_path / "outside.py").unlink()
    with pytest.raises(LanguageError, match="the source of promises cannot be read"):
        levels_of(module)
    assert not list(folder.glob("*.o"))


def two_entries() -> list[int]:
    """What two pieces of code say, each from the cache if it is there."""
    texts = {k: f"define i64 @f() {{\n  ret i64 {k}\n}}\n" for k in (7, 8)}
    codes = [jit.compile_cached(f"key {k}", lambda text=text: (text, {}), lambda code: {}) for k, text in texts.items()]
    return [code.function("f", ctypes.c_int64)() for code in codes]


def test_an_entry_under_the_name_of_another_is_made_again(folder: Path, compilations: list[str]) -> None:
    """Swapped files, and one whose code is of another assembly than it says, are whole files of this user's."""
    assert two_entries() == two_entries() == [7, 8]
    assert len(compilations) == 2
    one, other = folder.glob("*.o")
    whole = one.read_bytes(), other.read_bytes()
    one.write_bytes(whole[1])
    other.write_bytes(whole[0])
    assert two_entries() == [7, 8] and len(compilations) == 4
    head = len(jit.MAGIC) + jit.DIGEST
    mixed = whole[0][head : head + 2 * jit.DIGEST] + whole[1][head + 2 * jit.DIGEST :]
    one.write_bytes(jit.MAGIC + hashlib.sha256(mixed).digest() + mixed)
    assert two_entries() == [7, 8] and len(compilations) == 5


def test_no_code_from_what_others_can_write(folder: Path, tmp_path: Path, compilations: list[str]) -> None:
    """A file or a folder that the group or all may write, one of another user, a link, a pipe: none is read."""
    assert two_entries() == [7, 8] and len(compilations) == 2
    assert folder.stat().st_mode & 0o777 == 0o700
    paths = sorted(folder.glob("*.o"))
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in paths)
    for mode in (0o620, 0o602):
        paths[0].chmod(mode)
        before = len(compilations)
        assert two_entries() == [7, 8] and len(compilations) == before + 1
    for mode in (0o770, 0o777):
        folder.chmod(mode)
        before = len(compilations)
        assert two_entries() == [7, 8] and len(compilations) == before + 2
    folder.chmod(0o700)
    aside = tmp_path / "aside.o"
    paths[0].rename(aside)
    paths[0].symlink_to(aside)
    before = len(compilations)
    assert two_entries() == [7, 8] and len(compilations) == before + 1
    paths[0].unlink()
    os.mkfifo(paths[0], 0o600)
    assert two_entries() == [7, 8] and len(compilations) == before + 2
    assert two_entries() == [7, 8] and len(compilations) == before + 2


def test_no_code_of_another_user(folder: Path, monkeypatch: pytest.MonkeyPatch, compilations: list[str]) -> None:
    assert two_entries() == [7, 8] and len(compilations) == 2
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert two_entries() == [7, 8] and len(compilations) == 4


@pytest.mark.slow(seconds=1)
def test_a_folder_that_cannot_be_made_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compilations: list[str]
) -> None:
    """Where the folder lies below a file it cannot be made: the code is compiled each time."""
    below = tmp_path / "file"
    below.write_text("not a folder")
    monkeypatch.setenv("ZABCHECK_CACHE", str(below / "cache"))
    assert explored() == explored()
    assert len(compilations) == 2
    assert below.read_text() == "not a folder"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_does_no_harm(folder: Path, compilations: list[str]) -> None:
    """The same of a folder without the permission to write."""
    folder.mkdir()
    folder.chmod(0o500)
    assert explored() == explored()
    assert len(compilations) == 2


def test_where_the_folder_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """ZABCHECK_CACHE, else below XDG_CACHE_HOME, else below the home folder's .cache."""
    monkeypatch.setenv("ZABCHECK_CACHE", "/a/b")
    assert jit.cache_folder() == Path("/a/b")
    monkeypatch.delenv("ZABCHECK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert jit.cache_folder() == Path("/c/zabcheck")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/h")
    assert jit.cache_folder() == Path("/h/.cache/zabcheck")


@pytest.mark.slow
def test_processes_may_share_an_empty_folder(folder: Path) -> None:
    """Two processes start at once with the same empty folder: all give the same counts, and one whole entry is left."""
    script = "from tests.language.test_jit_cache import explored; print(explored()[:2])"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = [p.communicate(timeout=HANG) for p in running]
    assert [p.returncode for p in running] == [0] * 2, said
    assert len({out for out, _ in said}) == 1 and said[0][0].startswith("([1,")
    (path,) = folder.iterdir()
    assert path.suffix == ".o"
    assert explored()[0] == ast.literal_eval(said[0][0])[0]
