"""A loss of power leaves what was forced: observed in a process that writes files as a server does, without a JVM."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import nowhere
from tests.zookeeper.reenact.compared import End
from traces.zookeeper.reenact.aftermath import Aftermath, harm
from traces.zookeeper.reenact.disks import keep_forced, lose_power, loses_power, written_back
from traces.zookeeper.reenact.distributions import Cannot
from traces.zookeeper.reenact.ensemble import place_shim
from traces.zookeeper.reenact.player import Played, Write
from traces.zookeeper.reenact.random_schedules import drawn
from traces.zookeeper.reenact.servers import Server
from traces.zookeeper.reenact.wire.gates import LOG, Ask, Gates
from traces.zookeeper.reenact.wire.links import Recording
from zabspec.temporary import temporary_folder

# What FileTxnLog, FileSnap and AtomicFileOutputStream do to files.
WRITES = """
import os, sys
os.chdir(sys.argv[1])
def write(name, data, forced, flags=os.O_TRUNC):
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | flags)
    os.write(fd, data)
    if forced:
        (os.fdatasync if name.startswith("log.") else os.fsync)(fd)
    os.close(fd)
write("log.1", b"one" + bytes(200000) + b"two", True)
write("log.1", b", not forced", False, os.O_APPEND)
write("log.2", b"never forced", False)
write("log.3", b"kept and cut", True)
os.truncate("log.3", 4)
write("log.4", b"deleted", True)
os.unlink("log.4")
fd = os.open("log.6", os.O_WRONLY | os.O_CREAT)
os.unlink("log.6")
os.write(fd, b"forced without a name")
os.fdatasync(fd)
write("log.5", b"one" + bytes(200000), True)
write("currentEpoch.tmp", b"2", True)
os.rename("currentEpoch.tmp", "currentEpoch")
write("acceptedEpoch.tmp", b"3", False)
os.rename("acceptedEpoch.tmp", "acceptedEpoch")
write("snapshot.5", b"forced", True)
write("snapshot.6", b"never forced", False)
write("snapshot.7", b"forced", True)
write("snapshot.7", b"written over", False)
"""
LEFT = {
    "log.1": b"one" + bytes(200000) + b"two", "log.3": b"kept and cut", "log.4": b"deleted",
    "log.5": b"one" + bytes(200000), "currentEpoch": b"2", "snapshot.5": b"forced",
}  # fmt: skip


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def server(tmp_path: Path) -> Server:
    made = Server(tmp_path, 1, nowhere("3.9.5"), (1, 2, 3), {}, {}, tmp_path / "shim.so", None)
    (made.data / "version-2").mkdir()
    keep_forced(made)
    return made


@pytest.mark.parametrize("name", ["a b", "a:b", "a\tb"])
def test_a_library_that_the_loader_would_not_find_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Cannot, match="a blank or a colon"):
        place_shim(tmp_path / name)


def test_a_loss_of_power_leaves_what_was_forced_and_no_more(server: Server) -> None:
    database = server.data / "version-2"
    with temporary_folder("shim") as folder:  # the name of pytest's may have blanks in it
        preloaded = os.environ | {"LD_PRELOAD": str(place_shim(folder)), "ZABCHECK_FORCED": str(server.forced)}
        subprocess.run([sys.executable, "-IS", "-c", WRITES, str(database)], env=preloaded, check=True)
    written = contents(database)
    assert len(written["log.1"]) == 200018
    lost = ["acceptedEpoch", "log.1", "log.2", "log.3", "log.4", "snapshot.6", "snapshot.7"]
    assert lose_power(server) == lost
    assert contents(database) == LEFT
    assert lose_power(server) == []


def test_what_was_written_back_is_not_lost(server: Server) -> None:
    database = server.data / "version-2"
    assert server.forced is not None
    (server.forced / "log.1").write_bytes(b"before the cut")
    (database / "log.1").write_bytes(b"before")
    (database / "snapshot.5").write_bytes(b"a tree")
    written_back(server)
    assert lose_power(server) == []
    assert contents(database) == {"log.1": b"before", "snapshot.5": b"a tree"}


def test_power_is_lost_only_where_the_variant_says_so() -> None:
    assert all(map(loses_power, ("power", "3.5.3,power,before-2872")))
    assert not any(map(loses_power, ("", "3.9.2,walk")))
    labels = [s.label for s in drawn("3.9.2,power", 0).steps]
    assert {"crash", "written back"} <= set(labels)
    assert "written back" not in [s.label for s in drawn("3.9.2", 0).steps]


def test_only_the_writes_of_a_full_disk_fail(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    gates = Gates(tmp_path / "gate", "server 1", recording)
    asked = [
        ("main", "open", "acceptedEpoch.tmp", b"e"), ("main", "cut", "log.", b"e"), ("main", "open", "log.5", b"g"),
        ("main", "open", "currentEpoch.tmp", b"g"), ("main", "open", "snapshot.5", b"g"), ("sync", "pad", "log.", b"g"),
    ]  # fmt: skip
    for full in (True, False):
        gates.full = full
        for kind, what, name, expected in asked:
            end = End()
            gates.asked(Ask(7, kind, what, name, end))
            assert end.answers == [expected if full else b"g"], (full, kind, what, name)
    gates.close(LOG)  # as between NEWLEADER and its acknowledgement: a TRUNC of the next term does not wait there
    end = End()
    gates.asked(Ask(7, "main", "cut", "log.", end))
    assert end.answers == [b"g"]
    gates.end()
    recording.close()


def test_what_a_leader_served_and_no_server_has_is_harm() -> None:
    write = Write(13, "/zabcheck/2-1", None, served=36)
    everywhere_gone = Aftermath(trees={1: (), 2: (), 3: ()})
    said = harm(everywhere_gone, Played(writes=[write]))
    assert said == [
        "a client read /zabcheck/2-1 (<2,1>) from the leader at step 36, and it is on none of the 3 servers that serve"
    ]
    write.served = 0  # nobody read it: it may be gone
    assert harm(everywhere_gone, Played(writes=[write])) == []
