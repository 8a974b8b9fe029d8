"""A protocol's file, or module of a package, and what it reads, is executed again for each request of one process."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import zabcheck
from checker.cli import main
from zabspec.authoring import sources

TEXT = """from __future__ import annotations
from pathlib import Path
from typing import Annotated

from zabcheck.language import Each, Fields, Range, Node, Size, action, declare, safety, stored
HERE


class State(Fields):
    x: Each[Node, Annotated[int, Range(0, MOST)]] = stored("x")


@action(budget="begins")
def begin(s: State, p: Node) -> None:
    s.x[p] = LIMIT
def begun(s: State) -> bool:
    \"\"\"One has begun.\"\"\"
    return s.begins_left == 0
@safety(witness=begun)
def small(s: State) -> bool:
    \"\"\"x is at most 1.\"\"\"
    for p in range(s.NODES):
        if s.x[p] == 2:
            return False
    return True
PROTOCOL = declare(__name__, nodes=2, budgets={"begins": 1})
"""
READ = 'int(Path(__file__).with_name("limit.txt").read_text())'
WAYS = {
    "a constant": f"LIMIT, MOST = {READ}, 3",
    "a module beside": "MOST = 3\nfrom beside import LIMIT",
    "the environment": "import os\nLIMIT, MOST = int(os.environ['FRESH']), 3",
}


@pytest.mark.parametrize(
    ("way", "asked", "packaged"),
    [
        *((way, "explore", False) for way in WAYS),
        ("a module beside", "explore", True),
        ("a constant", "main", True),
    ],
)
def test_each_request_reads_what_is_there_then(
    folder: Path, monkeypatch: pytest.MonkeyPatch, way: str, asked: str, packaged: bool
) -> None:
    where = folder / "ours_that_reads" if packaged else folder
    where.mkdir(exist_ok=True)
    (where / "__init__.py").touch()
    (where / "beside.py").write_text(f"from pathlib import Path\nLIMIT = {READ}\n")
    (where / "mine.py").write_text(
        TEXT.replace("HERE", WAYS[way].replace("from b", "from .b" if packaged else "from b"))
    )
    name = "ours_that_reads.mine" if packaged else "mine.py"
    for limit, holds in (("1", True), ("2", False), ("1", True)):
        (where / "limit.txt").write_text(limit)
        monkeypatch.setenv("FRESH", limit)
        if asked == "main":
            result = CliRunner().invoke(main, ["--protocol", name, "--engine", "interpret"])
            assert result.exit_code == (0 if holds else 1)
        else:
            assert ("small" in zabcheck.explore(protocol=name, engine="interpret").sentence) is not holds


def test_a_range_that_is_read_when_the_size_is_known(folder: Path) -> None:
    text = TEXT.replace("HERE", "LIMIT = 2").replace("MOST", READ)
    (folder / "mine.py").write_text(text)
    for most, sentence in (("3", "small at depth 1"), ("1", "no-runtime-error"), ("2", "small at depth 1")):
        (folder / "limit.txt").write_text(most)
        assert sentence in zabcheck.explore(protocol="mine.py", engine="interpret").sentence


def test_a_module_that_the_caller_imported_is_read_again_and_stays_the_callers(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a test or a notebook does that uses the same constant."""
    (folder / "mine.py").write_text(TEXT.replace("HERE", "MOST = 3\nfrom of_a_caller import LIMIT"))
    monkeypatch.syspath_prepend(folder)
    for limit, holds in (("1", True), ("2", False)):
        (folder / "of_a_caller.py").write_text(f"LIMIT = {limit}\n")
        import of_a_caller  # type: ignore[import-not-found]

        assert ("small" in zabcheck.explore(protocol="mine.py", engine="interpret").sentence) is not holds
        assert sys.modules["of_a_caller"] is of_a_caller
        assert of_a_caller.LIMIT == 1
    del sys.modules["of_a_caller"]


@pytest.mark.parametrize("packaged", ["", "put/__init__.py", "put/it.py"])
def test_a_module_beside_comes_before_one_of_its_name_elsewhere(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, packaged: str
) -> None:
    """Also where another protocol has imported that one: Python looks beside first."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.syspath_prepend(elsewhere)
    for where, limit in ((elsewhere, 1), (folder, 2)):
        module = where / (packaged or "put.py")
        module.parent.mkdir(exist_ok=True)
        module.write_text(f"LIMIT = {limit}\n")
    name = "put.it" if packaged == "put/it.py" else "put"
    other = __import__(name, fromlist=["LIMIT"])
    assert other.LIMIT == 1
    (folder / "mine.py").write_text(TEXT.replace("HERE", f"MOST = 3\nfrom {name} import LIMIT"))
    assert "small" in zabcheck.explore(protocol="mine.py", engine="interpret").sentence
    assert sys.modules.pop(name) is other
    sys.modules.pop("put", None)


def test_a_module_of_another_folder_is_read_again(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.syspath_prepend(elsewhere)
    (folder / "mine.py").write_text(TEXT.replace("HERE", "MOST = 3\nfrom of_a_library import LIMIT"))
    for limit, holds in (("1", True), ("1 + 1", False), ("2 - 1 * 1", True)):
        (elsewhere / "of_a_library.py").write_text(f"LIMIT = {limit}\n")
        assert ("small" in zabcheck.explore(protocol="mine.py", engine="interpret").sentence) is not holds


def test_a_constant_of_a_function_from_beside_is_named_with_its_import(folder: Path) -> None:
    head = "from __future__ import annotations\nfrom zabcheck.language import Node, State\nLIMIT = 1\n"
    (folder / "put.py").write_text(f"{head}def put(s: State, p: Node) -> None:\n    s.x[p] = LIMIT\n")
    text = TEXT.replace("HERE", "MOST = 3\nfrom put import put").replace("    s.x[p] = LIMIT", "    put(s, p)")
    (folder / "mine.py").write_text(text)
    result = CliRunner().invoke(main, ["--protocol", "mine.py"])
    assert result.exit_code == 2
    assert "LIMIT is not imported where put is: import it there too" in result.stderr


def test_a_counterexample_is_of_the_file_in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not of an equal file that was in another one, which is gone."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.py").write_text(TEXT.replace("HERE", "LIMIT, MOST = 2, 3"))
        monkeypatch.chdir(tmp_path / name)
        assert zabcheck.explore(protocol="mine.py", engine="interpret")["small"].trace
        shutil.rmtree(tmp_path / name)


def test_a_file_that_may_have_changed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was just written may be written again within the same tick; what has settled is known by its times."""
    path = tmp_path / "mine.py"
    path.write_text("x = 1")
    looked: list[Path] = []
    real = sources.read_bytes
    monkeypatch.setattr(sources, "read_bytes", lambda file, most: looked.append(file) or real(file, most))
    monkeypatch.setattr(sources, "SETTLED", 10**15)
    young = {sources.digest_of(str(path)) for _ in "12"}
    assert (len(young), looked) == (1, [path, path])
    monkeypatch.setattr(sources, "SETTLED", -1)
    assert {sources.digest_of(str(path)) for _ in "12"} == young
    assert len(looked) == 3
    times = path.stat()
    while path.stat().st_ctime_ns == times.st_ctime_ns:  # a tick later
        path.write_text("x = 2")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # nobody sets the time of the change itself
    assert sources.digest_of(str(path)) not in young
    path.unlink()
    assert sources.digest_of(str(path)) == ""
