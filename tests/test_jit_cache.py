"""The cache of compiled code: a hit changes nothing, damage is repaired, and a folder that cannot be written, or is
shared by several processes at once, does no harm."""

# ruff: noqa: E501, PT018
from __future__ import annotations

import ast
import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checker.compiled import Compiled
from checker.explore import Explorer
from checker.result import Limits
from invariants import PROPERTIES
from zabspec.language import jit
from zabspec.model import Configuration, Model

TINY = Configuration(nodes=1, txns=1, timeouts=1, crashes=0, losses=0)
PROPERTY = PROPERTIES[:1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder of the test's own (which does not exist yet)."""
    path = tmp_path / "cache"
    monkeypatch.setenv("ZABCHECK_CACHE", str(path))
    return path


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by the assembly of everything that is compiled."""
    done: list[str] = []
    original = jit.compile_text

    def counted(assembly: str) -> bytes:
        done.append(assembly)
        return original(assembly)

    monkeypatch.setattr(jit, "compile_text", counted)
    return done


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


def test_another_configuration_is_another_entry(folder: Path, compilations: list[str]) -> None:
    """A constant of the configuration that changes nothing but a constant of the code gives other code."""
    one = explored()
    other = explored(Configuration(nodes=1, txns=1, timeouts=2, crashes=0, losses=0))
    assert len(compilations) == 2 and compilations[0] != compilations[1]
    assert len(list(folder.glob("*.o"))) == 2
    assert one[0] != other[0], "with two timeouts there are more states"
    assert explored() == one


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
    """Four processes start at once with the same empty folder: all give the same counts, and one whole entry is left."""
    script = "import sys; sys.path.insert(0, sys.argv[1]); from test_jit_cache import explored; print(explored()[:2])"
    here = str(Path(__file__).parent)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, here], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    said = [p.communicate(timeout=120) for p in running]
    assert [p.returncode for p in running] == [0] * 4, said
    assert len({out for out, _ in said}) == 1 and said[0][0].startswith("([1,")
    (path,) = folder.iterdir()
    assert path.suffix == ".o"
    assert explored()[0] == ast.literal_eval(said[0][0])[0]
