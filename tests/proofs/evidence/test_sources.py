"""Which files evidence depends on: none that the code imports is left out, and a byte changed in one is noticed."""

from __future__ import annotations

import re
import shutil
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.record_evidence import main
from checker.proofs.evidence import sources
from checker.report.evidence import INDUCTIVE, PROOF, REFINEMENT

ROOTS = {
    INDUCTIVE: ("checker.proofs.requests.induct",),
    PROOF: ("checker.proofs.requests.prove",),
    REFINEMENT: ("checker.proofs.requests.refine",),
}
# What is imported and decides nothing that evidence claims, by why.
BESIDE = (
    "checker.report", "checker.proofs.report", "checker.proofs.evidence", "checker.output_files", "checker.plain_text",
    "checker.errors",
    "traces",  # how answers are shown and saved
    "checker.requests.base.watch", "checker.terminal",  # progress
    "checker.zookeeper.requests.audit",  # the releases of another command
    "checker.requests.base.counterexamples", "zabspec.simulator.run",  # runs of explorations, whose words nobody takes
    "checker.proofs.symbolic.extension",  # what --symbolic asks beside an exploration
    "checker.requests.exploring.opinions", "checker.opinion.searched",  # opinions of searches, which no evidence asks
    "checker.explore.checkpoints", "checker.tables.distributed",  # what is saved, and Spark
    "checker.zookeeper", "zabspec.zookeeper",  # another protocol
)  # fmt: skip
# The proof imports the model of an exploration to name a mutant that is misspelt, and what words the errors of a
# protocol's source: nothing of it is proved.
OF_NAMES = (
    "checker.requests.base.model", "checker.requests.base.quorum_system", "zabspec.authoring", "zabspec.language",
)  # fmt: skip

IMPORT = re.compile(
    r"^ *(?:from (?P<module>[\w.]+) import (?P<names>\([^)]*\)|.*)|import (?P<plain>.*))$", re.MULTILINE
)
FOR_TYPES = re.compile(r"^( *)if TYPE_CHECKING:\n(?:\1 +.*\n|\n)+", re.MULTILINE)


@cache
def imports(module: str) -> frozenset[str]:
    """The modules of ours that a module imports at any place but for types."""
    found: set[str] = set()
    for line in IMPORT.finditer(FOR_TYPES.sub("", file_of(module).read_text(encoding="utf-8"))):
        found.update(re.findall(r"[\w.]+", line["plain"] or ""))
        if line["module"]:
            names = re.findall(r"\w+", line["names"])
            found.update([line["module"], *(f"{line['module']}.{name}" for name in names)])
    parents = {name.rsplit(".", k)[0] for name in found for k in range(name.count(".") + 1)}
    return frozenset(name for name in parents if file_of(name).is_file())


def file_of(module: str) -> Path:
    """The file of a module, if it is one of ours."""
    base = sources.TOP / module.replace(".", "/")
    return base / "__init__.py" if (base / "__init__.py").is_file() else base.with_suffix(".py")


def closure(roots: tuple[str, ...], beside: tuple[str, ...]) -> set[str]:
    """The modules that are imported from roots, those beside left out with all that only they import."""
    seen: set[str] = set()
    ahead = list(roots)
    while ahead:
        module = ahead.pop()
        out = any(module == name or module.startswith(f"{name}.") for name in beside) and module not in roots
        if module not in seen and not out:
            seen.add(module)
            ahead += imports(module)
    return seen


def test_what_evidence_imports_is_in_its_digest() -> None:
    for kind, roots in ROOTS.items():
        covered = set(sources.files(kind))
        beside = (*BESIDE, *(OF_NAMES if kind == PROOF else ()))
        needed = {file_of(module) for module in closure(roots, beside)}
        left = [str(path.relative_to(sources.TOP)) for path in needed - covered if path.name != "__init__.py"]
        assert len(needed) > 20
        assert not left, (kind, left)


def tree(tmp_path: Path) -> Path:
    """A copy of what the proof depends on."""
    for path in sources.files(PROOF):
        copy = tmp_path / path.relative_to(sources.TOP)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return tmp_path


def digest(top: Path) -> str:
    return sources.digest.__wrapped__(PROOF, top)


def test_a_byte_in_any_file_changes_the_digest(tmp_path: Path) -> None:
    top = tree(tmp_path)
    before = digest(top)
    assert before == digest(sources.TOP)  # wherever the packages lie
    for path in sources.files(PROOF, top):
        content = path.read_bytes()
        path.write_bytes(content + b"\n")
        assert digest(top) != before, path
        path.write_bytes(content)
    assert digest(top) == before
    (top / "zabspec/proofs/abstract/another.py").write_bytes(b"")
    assert digest(top) != before


def test_every_kind_depends_on_other_sources() -> None:
    digests = [sources.digest(kind) for kind in sources.SOURCES]
    assert all(len(each) == 64 for each in digests)
    assert len(set(digests)) == 3


def test_another_solver_has_another_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = tree(tmp_path)
    before = digest(top)
    monkeypatch.setattr(sources, "solver_version", lambda: "0.0.0")
    assert digest(top) not in ("", before)
    monkeypatch.setattr(sources, "solver_version", lambda: "")
    assert digest(top) == ""


def test_what_was_computed_of_other_sources_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    before = sources.digest(PROOF)
    assert sources.still(PROOF, before)
    assert not sources.still(PROOF, "0" * 64)
    monkeypatch.setitem(sys.modules, "z3", SimpleNamespace(get_version_string=lambda: "0.1"))
    assert not sources.still(PROOF, before)


def test_what_cannot_be_read_has_no_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = tree(tmp_path)
    shutil.rmtree(top / "checker/proofs/prove")
    assert digest(top) == ""


def test_packages_from_elsewhere_have_no_digest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The files that are hashed are those of this tree: where another `zabspec` is imported, nothing is known."""
    import zabspec

    monkeypatch.setattr(zabspec, "__file__", str(tmp_path / "zabspec/__init__.py"))
    assert digest(sources.TOP) == ""


def test_the_check_names_what_is_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "recorded.json"
    empty.write_text("{}", encoding="utf-8")
    assert main(["--check", "--file", str(empty)]) == 1
    said = capsys.readouterr().err
    assert "inductive" in said
    assert "refinement" in said
    assert "zabcheck induct --nodes 3 --txns 2" in said
