"""A sweep at an address: interrupted anywhere it shows no half table, and the same command goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyarrow.fs import FileSelector, FileSystem, LocalFileSystem, SubTreeFileSystem

from checker.errors import RequestError
from checker.requests.sweep import SweepRequest
from tests.commands.running import run
from tests.spark import LocalSpark
from traces.sweep import remote as of_remote
from traces.sweep.block import block_table
from traces.sweep.grid import Grid
from traces.sweep.remote import RemoteSweep, join
from traces.sweep.store import open_store
from traces.tables.places import Address
from traces.tables.remote import ArrowFolder, RemoteError
from traces.tables.table import TableWriter

FEW = Grid(seeds=("1:6",), nodes=(2,), rounds=(60,), proposals=(1,))
BLOCK = 1
ADDRESS = "s3://KEYID:sec%2Fret@lake/sweep?scheme=http"
POINTS = 20


class Interrupted(Exception):
    """What a test raises in the middle of a sweep."""


class Flaky:
    """A remote folder that fails at the n-th file that is put: before it is there, or after."""

    def __init__(self, inner: ArrowFolder, at: int, after: bool) -> None:
        self.inner, self.left, self.after = inner, at, after

    def names(self, folder: str) -> list[str]:
        return self.inner.names(folder)

    def folders(self, folder: str) -> list[str]:
        return self.inner.folders(folder)

    def is_empty(self) -> bool:
        return self.inner.is_empty()

    def get(self, name: str, path: Path) -> None:
        self.inner.get(name, path)

    def put(self, path: Path, name: str) -> None:
        self.left -= 1
        if isinstance(self.inner.system, SubTreeFileSystem):  # an object store has no folders
            self.inner.system.create_dir(self.inner.place(name).rpartition("/")[0])
        if self.left >= 0 or self.after:
            self.inner.put(path, name)
        if self.left < 0:
            raise Interrupted


def attempt(address: Address, folder: Path, at: int, after: bool) -> bool:
    """Sweep at an address, interrupted at a point; return whether it came to its end."""
    folder.mkdir()
    flaky = Flaky(ArrowFolder(address), at, after)
    swept = RemoteSweep(address, flaky, folder)
    swept.fetch()
    store = open_store(folder, FEW, lambda _: BLOCK)
    try:
        missing = store.missing()
        swept.run(None, store, missing, lambda _: None)  # type: ignore[arg-type]
        assert store.missing() == []
        (folder / "report.md").write_text("report")
        (folder / "report.html").write_text("page")
        swept.publish(store)
    except Interrupted:
        return False
    return True


def shown(system: FileSystem, inner: str) -> Any:
    """What a reader of tables is shown: the rows below an address; None: no file that is not hidden."""
    found = system.get_file_info(FileSelector(inner, recursive=True, allow_not_found=True))
    under = len(inner) + 1
    names = [f.path for f in found if f.path.endswith(".parquet") and not f.path[under:].startswith("_")]
    return pq.read_table(names[0], filesystem=system) if names else None


def interrupt_everywhere(address: Address, tmp_path: Path) -> int:
    """Interrupt sweeps at every file that they put, before and after; return at how many points."""
    system, inner = address.system()
    whole = block_table(FEW, range(FEW.count))
    points = 0
    for after in (False, True):
        for at in range(100):
            points += 1
            here = Address(address.text.replace("/sweep", f"/sweep-{at}-{after}"))
            place = inner.replace("/sweep", f"/sweep-{at}-{after}")
            ended = attempt(here, tmp_path / f"{at}-{after}", at, after)
            table = shown(system, place)
            assert table is None or table.equals(whole)
            if ended:
                break
            assert attempt(here, tmp_path / f"{at}-{after}-again", 100, False)
            assert shown(system, place).equals(whole)
    return points


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks are run in this process."""

    def run_here(spark: Any, work: Any, arguments: list[tuple[Any, ...]]) -> list[Any]:
        return [work(*argument) for argument in arguments]

    monkeypatch.setattr(of_remote, "run_as_tasks", run_here)


@pytest.mark.slow(seconds=2)
@pytest.mark.usefixtures("here")
def test_an_interrupted_sweep_shows_no_half_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before and after each file that it puts."""
    (tmp_path / "store").mkdir()

    def system(address: Address) -> tuple[Any, str]:
        inner = address.text.partition("://")[2].partition("?")[0].rpartition("@")[2]
        return SubTreeFileSystem(str(tmp_path / "store"), LocalFileSystem()), inner

    monkeypatch.setattr(Address, "system", system)
    assert interrupt_everywhere(Address(ADDRESS), tmp_path) >= POINTS
    (tmp_path / "store" / "lake" / "others").mkdir(parents=True)
    with pytest.raises(RemoteError, match="s3://lake has something other than a sweep"):
        attempt(Address("s3://KEYID:sec%2Fret@lake?scheme=http"), tmp_path / "others", 100, False)


def test_what_files_say_of_all_their_rows_stays(tmp_path: Path) -> None:
    for name, observes in (("a", ("abcast", "abdeliver")), ("b", ("abcast", "abdeliver"))):
        with TableWriter(tmp_path / name, observes):
            pass
    join([tmp_path / "a", tmp_path / "b"], tmp_path / "c")
    said = pq.read_metadata(tmp_path / "c").metadata
    assert said[b"zabcheck.observes"] == b"abcast,abdeliver"
    assert said[b"zabcheck.whole"] == b"true"


def test_a_failing_file_system_says_nothing_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuses(address: Address) -> Any:
        raise OSError(f"cannot open {address.text} as KEYID with sec%2Fret")

    monkeypatch.setattr(Address, "system", refuses)
    with pytest.raises(RemoteError) as caught:
        ArrowFolder(Address(ADDRESS))
    assert "s3://lake/sweep" in str(caught.value)
    assert not any(word in str(caught.value) for word in ("KEYID", "sec%2Fret"))
    assert SweepRequest(ADDRESS).as_json()["folder"] == "s3://lake/sweep"
    with pytest.raises(RequestError, match="a table of a catalog"):
        SweepRequest("one.two.three")


@pytest.mark.skipif("ZABCHECK_EVERY" not in os.environ, reason="seconds: a sweep and its report on Spark")
def test_a_sweep_into_a_file_system_of_hadoop_s(local_spark: LocalSpark, tmp_path: Path) -> None:
    """The same tables as in a folder."""
    hadoop = local_spark.get().sparkContext._jsc.hadoopConfiguration()
    (tmp_path / "there").mkdir()
    hadoop.set("fs.viewfs.mounttable.sweeps.linkFallback", (tmp_path / "there").as_uri())
    grid = ("--seeds", "1:5", "--nodes", "2", "--rounds", "60", "--proposals", "1", "--events")
    away = "viewfs://sweeps/out"
    done = run("sweep", away, *grid, "--json")
    assert done.exit_code == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["table"], said["request"]["folder"]) == (f"{away}/runs.parquet", away)
    out = tmp_path / "there" / "out"
    wanted = Grid(seeds=("1:5",), nodes=(2,), rounds=(60,), proposals=(1,))
    assert pq.read_table(out / "runs.parquet").equals(block_table(wanted, range(4)))
    assert sorted(p.name for p in out.iterdir() if not p.name.endswith(".crc")) == [
        "_blocks", "events.parquet", "report.html", "report.md", "runs.parquet", "sweep.json",
    ]  # fmt: skip
    assert run("judge", str(out / "events.parquet")).exit_code == 0


SERVER = os.environ.get("ZABCHECK_S3", "")  # HOST:PORT of an S3 server that takes any key: `moto_server -p 5000`


@pytest.mark.skipif(not SERVER, reason="ZABCHECK_S3 names no server")
@pytest.mark.usefixtures("here")
def test_a_sweep_on_an_s3_server(tmp_path: Path) -> None:
    from pyarrow.fs import S3FileSystem

    keys: Any = {"access_key": "KEYID", "secret_key": "sec/ret", "endpoint_override": SERVER, "scheme": "http"}
    S3FileSystem(**keys, region="us-east-1", allow_bucket_creation=True).create_dir("lake")
    options = f"endpoint_override={SERVER.replace(':', '%3A')}&scheme=http&region=us-east-1"
    there = Address(f"s3://KEYID:sec%2Fret@lake/sweep?{options}")
    assert interrupt_everywhere(there, tmp_path) >= POINTS
