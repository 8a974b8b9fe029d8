"""What joins the core by entry points: the three wings, each of which can be missing, and another package.

Each is installed by pip into an environment of its own, which has its dependencies from this one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.patience import HANG
from zabspec.joining import WINGS, may_have

TOP = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())
JOINED = PYPROJECT["project"]["entry-points"]
PACKAGES = ("zabcheck", "checker", "traces", "invariants", "zabspec")
HEADLINE = ("--nodes", "3", "--depth", "20", "--json")


def installed(source: Path, folder: Path, *more: Path) -> Path:
    """The Python of a new environment into which pip has installed a package.

    Args:
        more: further folders of packages.
    """
    venv.create(folder)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder), "installed_base": str(folder)}))
    # paths alone: what a .pth file of this environment sets up, such as an editable installation, is not set up there
    (site / "beside.pth").write_text("".join(f"{path}\n" for path in (*more, sysconfig.get_path("purelib"))))
    words = ["-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(site)]
    subprocess.run([sys.executable, *words, str(source)], check=True, timeout=HANG, cwd=folder)
    return folder / "bin" / "python"


def without(wings: Sequence[str], folder: Path) -> Path:
    """A copy of the tree without the folders of some names, installed."""
    source = folder / "tree"
    left_out = shutil.ignore_patterns("__pycache__", *wings)
    for package in PACKAGES:
        shutil.copytree(TOP / package, source / package, ignore=left_out)
    for name in ("docs", "examples"):
        shutil.copytree(TOP / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in TOP.glob("*"):
        if file.is_file() and not file.name.startswith("zabcheck-"):
            shutil.copy(file, source)
    return installed(source, folder / "environment")


# as `python -m zabcheck` does it, several commands in one process
COMMANDS = """
import json, sys
from click.testing import CliRunner
from checker.cli import main
for words in json.loads(sys.argv[1]):
    ended = CliRunner().invoke(main, words)
    print(json.dumps([ended.exit_code, ended.stdout, ended.stderr]))
"""


def asked(python: str | Path, *commands: Sequence[str]) -> list[tuple[int, str, str]]:
    """What each command ends with in an environment: exit code, stdout and stderr."""
    environment = {**os.environ, "COLUMNS": "110"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [str(python), "-c", COMMANDS, json.dumps(commands)],
        check=True, stdout=subprocess.PIPE, text=True, env=environment, cwd=Path(python).parent, timeout=HANG,
    )  # fmt: skip
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return without(WINGS, tmp_path_factory.mktemp("core"))


@pytest.mark.slow(seconds=12)
def test_the_core_alone_explores_as_the_whole_does(core: Path) -> None:
    (*alone, said), (_, text, _) = asked(core, HEADLINE, ("--nodes", "2", "--depth", "4"))
    ((*whole, trouble),) = asked(sys.executable, HEADLINE)
    assert (alone[0], said) == (whole[0], trouble)
    one, other = json.loads(alone[1]), json.loads(whole[1])
    explored = [[(p["name"], p["verdict"], p["witnessed_at"]) for p in said["properties"]] for said in (one, other)]
    assert explored[0] == explored[1]
    assert len(explored[0]) > 20
    assert (one["states"], one["verdict"]) == (other["states"], other["verdict"])
    assert "`evidence` needs the wing proofs, which is not installed" in " ".join(text.split())


@pytest.mark.slow(seconds=15)
def test_what_is_not_installed_is_said_in_a_sentence(core: Path) -> None:
    """By the name that was asked for: a command, a protocol, an engine, a column."""
    wings, commands = [], []
    for group in ("requests", "protocols"):
        for name, module in JOINED[group_of(group)].items():
            wings += [(name, wing) for wing in {*module.split(".")} & {*WINGS}]
            commands.append(("--protocol", name) if group == "protocols" else (name,))
    others = (("--engine", "spark"), ("--symbolic", "3"), ("walk", "ZK-4643"), ("--help",))
    *ended, (_, listed, _) = asked(core, *commands, *others)
    for (name, wing), said in zip(wings, ended, strict=False):
        assert said == (2, "", f"zabcheck: `{name}` needs the wing {wing}, which is not installed\n")
    assert {(code, trouble[-24:]) for code, _, trouble in ended} == {(2, " which is not installed\n")}
    assert "Not installed:" in listed
    assert all(f"  {name} " in listed for name in JOINED[group_of("requests")])


@pytest.mark.slow(seconds=20)
@pytest.mark.parametrize("wing", WINGS)
def test_each_wing_can_be_missing_alone(wing: str, core: Path, tmp_path: Path) -> None:
    """What pip has installed of the core, and beside it the folders of the two other wings."""
    shutil.copytree(core.parents[1], tmp_path / "environment", symlinks=True)
    python = tmp_path / "environment" / "bin" / "python"
    (site,) = python.parents[1].glob("lib/*/site-packages")
    for package in PACKAGES:
        for other in {*WINGS} - {wing}:
            for folder in (TOP / package).rglob(other):
                place = site / folder.relative_to(TOP)
                shutil.copytree(folder, place, ignore=shutil.ignore_patterns("__pycache__", wing), dirs_exist_ok=True)
    few = ("--nodes", "2", "--txns", "1", "--depth", "6", "--property", "integrity")
    (code, _, _), (_, listed, _) = asked(python, few, ("--help",))
    assert code == 3
    for name, module in JOINED[group_of("requests")].items():
        assert (f"`{name}` needs the wing {wing}, which is not installed" in listed) == (f".{wing}." in module), name


def test_a_test_of_a_wing_that_is_missing_is_skipped(core: Path) -> None:
    tree = core.parents[2] / "tree"
    left_out = shutil.ignore_patterns("__pycache__", "data", "transcripts", *WINGS)
    shutil.copytree(TOP / "tests", tree / "tests", ignore=left_out)
    words = ["-m", "pytest", "-rs", "-p", "no:cacheprovider", "tests/own/test_of_a_set.py"]
    done = subprocess.run([core, *words], check=False, capture_output=True, text=True, cwd=tree, timeout=HANG)
    assert "it needs the wing proofs" in done.stdout, done.stdout


def group_of(name: str) -> str:
    return f"zabcheck.{name}"


def test_every_entry_point_leads_somewhere_and_every_wing_has_some() -> None:
    assert {part for group in JOINED.values() for point in group.values() for part in point.split(".")} >= set(WINGS)
    for group in JOINED.values():
        for point in group.values():
            module, _, name = point.partition(":")
            file = TOP / f"{module.replace('.', '/')}.py"
            assert not name or f"def {name}(" in file.read_text(), point


# --- another package ------------------------------------------------------------------


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("joined")
    shutil.copytree(TOP / "tests/data/third_party", folder / "source")
    shutil.copy(TOP / "examples/start/tpc.py", folder / "source/acme_zab/commit.py")
    return installed(folder / "source", folder / "environment", TOP)


@pytest.mark.slow(seconds=12)
def test_a_package_adds_a_protocol_a_property_a_format_and_a_command(joined: Path) -> None:
    small = ("--nodes", "2", "--txns", "2", "--timeouts", "0", "--crashes", "0", "--losses", "0")
    judged, usual, networks, listed, mine = asked(
        joined, (*small, "--property", "counter-order", "--markdown", "out.md"), (*small, "--depth", "3"),
        ("networks", "--protocol", "db19"), ("--help",), ("--protocol", "commit", "--nodes", "2"),
    )  # fmt: skip
    assert judged[0] == 0, judged[2]
    assert "| counter-order | holds |" in joined.with_name("out.md").read_text()
    assert "counter-order" in usual[1]  # asked by default, like one of the papers
    assert networks[1].startswith("db19 runs over datagrams, ordered")
    assert "networks" in listed[1]
    assert mine[0] == 0, mine[2]
    assert mine[1].startswith("holds: ")


@pytest.mark.slow(seconds=8)
def test_no_entry_point_takes_the_place_of_what_zabcheck_has(joined: Path) -> None:
    """Another `zab` is not explored, another `prove` proves nothing, and nobody else fills the columns of evidence."""
    (_, said, _), (_, helped, _) = asked(joined, ("--nodes", "3", "--depth", "3", "--json"), ("prove", "--help"))
    (integrity,) = (p for p in json.loads(said)["properties"] if p["name"] == "integrity")
    assert {piece["kind"] for piece in integrity["evidence"]} == {"inductive", "proof", "refinement"}
    assert "Prove" in helped


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize(
    ("module", "said"),
    [
        (
            "raise OSError('no data')",
            "acme_zab.counters, by which acme-zab joins zabcheck, cannot be imported: OSError",
        ),
        ("from invariants.core import PROPERTIES", "two properties are called"),
    ],
)
def test_what_a_package_adds_is_never_left_out_in_silence(joined: Path, module: str, said: str) -> None:
    (file,) = joined.parents[1].glob("lib/*/site-packages/acme_zab/counters.py")
    kept = file.read_text()
    try:
        file.write_text(module)
        ((*ended, trouble),) = asked(joined, ("--nodes", "2", "--depth", "3"))
    finally:
        file.write_text(kept)
    assert ended == [2, ""]
    assert said in trouble
    assert trouble.count("\n") == 1


def test_entry_points_are_looked_for_wherever_they_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """importlib.metadata is slow to import: it is used only if some file or another finder may list entry points."""
    assert may_have(b"[zabcheck.requests]")
    assert not may_have(b"[zabcheck.strange]")
    folder = tmp_path / "a.egg" / "EGG-INFO"
    folder.mkdir(parents=True)
    (folder / "entry_points.txt").write_text("[zabcheck.strange]\na = b\n")
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        packed.writestr("some.dist-info/entry_points.txt", "")
    for place in (folder.parent, tmp_path / "packed.zip"):
        with monkeypatch.context() as patched:
            patched.syspath_prepend(place)
            assert may_have(b"[zabcheck.strange]")
    monkeypatch.setattr(
        sys, "meta_path", [*sys.meta_path, SimpleNamespace(find_spec=lambda *_: None, find_distributions=None)]
    )
    assert may_have(b"[zabcheck.strange]")
