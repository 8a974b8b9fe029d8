"""Servers at addresses are audited as copies of them here: the same report, by the names of the originals."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from tests.commands.running import run
from tests.spark import LocalSpark
from tests.zookeeper.healthy import healthy, missing_one
from tests.zookeeper.written import ensemble
from traces.events.places import Address
from traces.events.remote import ArrowFolder
from traces.zookeeper.audit.remote import turn

KEYS = "s3://KEYID:sec%2Fret@lake/{}?endpoint_override=hidden-host"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An object store that is a folder."""
    folder = tmp_path / "store"
    (folder / "lake").mkdir(parents=True)

    def system(address: Address) -> tuple[Any, str]:
        inner = address.text.partition("://")[2].partition("?")[0].rpartition("@")[2]
        return SubTreeFileSystem(str(folder), LocalFileSystem()), inner

    monkeypatch.setattr(Address, "system", system)
    return folder / "lake"


@pytest.fixture
def servers(store: Path) -> list[Path]:
    """Three servers, one of which lacks a transaction, with their numbers, last changed an hour ago."""
    s = healthy()
    made = ensemble(store, *s[:2], missing_one(s))
    for number, folder in zip((7, 8, 9), made, strict=True):
        (folder / "myid").write_text(str(number))
    then = time.time() - 3600  # or they look as if servers were writing them
    for path in [store, *store.rglob("*")]:
        os.utime(path, (then, then))
    return made


def test_servers_at_an_address_are_audited_as_here(servers: list[Path]) -> None:
    here = run("audit", *map(str, servers), "--json")
    there = run("audit", *(KEYS.format(path.name) for path in servers), "--json")
    assert here.exit_code == there.exit_code == 1, there.stderr
    one, other = json.loads(here.stdout), json.loads(there.stdout)
    assert other["servers"][0]["folders"] == ["s3://lake/server1/version-2"]
    assert [s["number"] for s in other["servers"]] == [7, 8, 9]
    assert other["request"]["servers"] == [f"s3://lake/server{n}" for n in (1, 2, 3)]
    for said in (one, other):
        del said["request"]
        for server in said["servers"]:
            del server["folders"]
    assert one == other
    assert not any(word in there.output for word in ("KEYID", "sec%2Fret", "hidden-host"))


def test_a_version_folder_and_two_folders_of_a_server(servers: list[Path], tmp_path: Path) -> None:
    """The number lies beside version-2; a server may have its logs elsewhere."""
    logs = servers[1].parent / "logs" / "version-2"
    logs.mkdir(parents=True)
    for log in (servers[1] / "version-2").glob("log.*"):
        shutil.move(log, logs / log.name)
    words = (KEYS.format("server1/version-2"), f"{KEYS.format('server2')},{KEYS.format('logs')}", str(servers[2]))
    found = json.loads(run("audit", *words, "--json").stdout)["servers"]
    assert [s["number"] for s in found] == [7, 8, 9]
    assert found[1]["folders"] == ["s3://lake/server2/version-2", "s3://lake/logs/version-2"]
    assert found[1]["records"] == found[0]["records"] > found[2]["records"] > 0


def test_a_copy_has_the_times_of_its_original(servers: list[Path], tmp_path: Path) -> None:
    """By them an audit sees whether a server may be running."""
    ArrowFolder(Address(KEYS.format("server1"))).get("version-2/currentEpoch", tmp_path / "copy")
    assert (tmp_path / "copy").stat().st_mtime_ns == (servers[0] / "version-2" / "currentEpoch").stat().st_mtime_ns


def test_files_of_a_running_server_are_copied_in_order() -> None:
    """Read the other way round, a server that goes on meanwhile has joined an epoch that it never promised."""
    names = ["acceptedEpoch", "currentEpoch", "log.1", "log.200", "myid", "snapshot.0"]
    assert sorted(names, key=turn) == ["currentEpoch", "acceptedEpoch", "myid", "snapshot.0", "log.1", "log.200"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["gone"], "s3://lake/gone: there is no folder"),
        (["none"], "s3://lake/none has no version-2"),
        (["server1", "server1/"], "s3://lake/server1 and server1#1 are one directory"),
    ],
)
def test_what_is_no_server_is_refused_by_its_address(
    servers: list[Path], store: Path, words: list[str], sentence: str
) -> None:
    (store / "none").mkdir()
    (store / "none" / "file").touch()
    done = run("audit", *map(KEYS.format, words))
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert not any(word in done.stderr for word in ("KEYID", "sec%2Fret", "hidden-host"))


def test_watching_an_address_is_refused(servers: list[Path]) -> None:
    done = run("audit", KEYS.format("server1"), "--watch", "5")
    assert done.exit_code == 2
    assert "--watch reads directories of this machine" in done.stderr


@pytest.mark.skipif("ZABCHECK_EVERY" not in os.environ, reason="seconds: a session of Spark")
def test_servers_in_a_file_system_of_hadoop_s(servers: list[Path], local_spark: LocalSpark) -> None:
    hadoop = local_spark.get().sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.disks.linkFallback", servers[0].parent.as_uri())
    here = run("audit", *map(str, servers), "--json")
    for engine in ("local", "spark"):
        there = run("audit", *(f"viewfs://disks/{path.name}" for path in servers), "--json", "--engine", engine)
        assert there.exit_code == 1, there.stderr
        one, other = (json.loads(done.stdout) for done in (here, there))
        assert one["findings"] == other["findings"]
        assert other["servers"][2]["folders"] == ["viewfs://disks/server3/version-2"]
        assert "is not changed" not in there.stderr


SERVER = os.environ.get("ZABCHECK_S3", "")  # HOST:PORT of an S3 server that takes any key: `moto_server -p 5000`


@pytest.mark.skipif(not SERVER, reason="ZABCHECK_S3 names no server")
def test_servers_on_an_s3_server(tmp_path: Path) -> None:
    from pyarrow.fs import FileSelector, S3FileSystem, copy_files

    keys: Any = {"access_key": "KEYID", "secret_key": "sec/ret", "endpoint_override": SERVER, "scheme": "http"}
    system = S3FileSystem(**keys, region="us-east-1", allow_bucket_creation=True)
    system.create_dir("disks")
    s = healthy()
    folders = ensemble(tmp_path, *s[:2], missing_one(s))
    for folder in folders:
        (folder / "myid").write_text(folder.name[-1])
        copy_files(str(folder), f"disks/{folder.name}", LocalFileSystem(), system)
    assert system.get_file_info(FileSelector("disks/server1"))
    options = f"endpoint_override={SERVER.replace(':', '%3A')}&scheme=http&region=us-east-1"
    here = run("audit", *map(str, folders), "--json")
    there = run("audit", *(f"s3://KEYID:sec%2Fret@disks/{f.name}?{options}" for f in folders), "--json")
    assert here.exit_code == there.exit_code == 1, there.stderr
    assert json.loads(here.stdout)["findings"] == json.loads(there.stdout)["findings"]
    assert "KEYID" not in there.output
