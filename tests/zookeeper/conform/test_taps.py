"""The passive proxies: what passes is noted before it does, and so is who closes a connection."""

from __future__ import annotations

import json
import os
import random
import socket
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from traces.zookeeper.conform.chaos import ChaosPlan, dealt
from traces.zookeeper.conform.record import read_record
from traces.zookeeper.conform.taps import Recorder, Tap
from traces.zookeeper.reenact.ensemble import place_shim
from traces.zookeeper.reenact.wire.packets import ACK, FOLLOWERINFO
from zabspec.temporary import temporary_folder

Pair = tuple[Recorder, Tap, socket.socket, socket.socket]


def packet(kind: int, zxid: int) -> bytes:
    """A packet without data and ids, as jute writes it."""
    return struct.pack(">iqii", kind, zxid, -1, 0)


@pytest.fixture
def joined(tmp_path: Path) -> Iterator[Pair]:
    """A proxy of server 1 for server 2, with both ends of one connection through it."""
    recorder = Recorder(tmp_path / "record.jsonl", "3.9.5", [1, 2], 7)
    listener = socket.create_server(("127.0.0.1", 0))
    tap = Tap(1, 2, listener.getsockname()[1], True, recorder)
    near = socket.create_connection(("127.0.0.1", tap.port))
    far, _ = listener.accept()
    for end in (near, far):
        end.settimeout(20)
    yield recorder, tap, near, far
    for thing in (near, far, listener):
        thing.close()
    tap.end()
    recorder.close()


def noted(recorder: Recorder) -> list[tuple[object, ...]]:
    lines = [json.loads(line) for line in Path(recorder.out.name).read_text().splitlines()[1:]]
    return [(x["what"], x.get("kind", x.get("by", x.get("observations")))) for x in lines]


def test_a_packet_is_noted_before_it_passes(joined: Pair) -> None:
    recorder, _, near, far = joined
    near.sendall(packet(FOLLOWERINFO, 1 << 32)[:9])
    near.sendall(packet(FOLLOWERINFO, 1 << 32)[9:] + packet(5, 0))
    whole = packet(FOLLOWERINFO, 1 << 32) + packet(5, 0)
    got = b""
    while len(got) < len(whole):
        got += far.recv(100)
    assert got == whole
    assert noted(recorder) == [("packet", "FOLLOWERINFO")]
    far.sendall(packet(ACK, 3))
    assert near.recv(100) == packet(ACK, 3)
    assert noted(recorder)[1:] == [("packet", "ACK")]


def test_who_closes_first_is_noted_first(joined: Pair) -> None:
    recorder, _, near, far = joined
    far.close()
    assert near.recv(100) == b""
    assert noted(recorder) == [("closed", 2)]
    near.close()
    assert recorder.wait_until_dead(1, 20)
    recorder.end()
    assert noted(recorder) == [("closed", 2), ("closed", 1), ("end", 2)]


def test_what_a_killed_server_had_sent_comes_before_its_death(joined: Pair) -> None:
    """The other end learns of it only when the record says that it is dead."""
    recorder, _, near, far = joined
    near.sendall(packet(5, 0))  # the proxy has begun to read when this has passed; it is not noted
    assert far.recv(100) == packet(5, 0)
    with recorder.changed:
        recorder.dying.add(1)
    near.sendall(packet(ACK, 3))
    near.close()
    assert recorder.wait_until_dead(1, 20)
    assert noted(recorder) == [("packet", "ACK"), ("closed", 1)]
    assert far.recv(100) == packet(ACK, 3)
    far.settimeout(0.05)
    with pytest.raises(TimeoutError):
        far.recv(100)
    with recorder.changed:
        recorder.dying.clear()
        recorder.changed.notify_all()
    far.settimeout(20)
    assert far.recv(100) == b""


def test_a_cut_is_the_networks_and_of_no_server(joined: Pair) -> None:
    recorder, tap, near, far = joined
    near.sendall(packet(ACK, 3))
    assert far.recv(100) == packet(ACK, 3)
    tap.cut = True
    tap.lose()
    assert noted(recorder) == [("packet", "ACK"), ("lost", None)]
    assert near.recv(100) == far.recv(100) == b""
    assert noted(recorder)[1:] == [("lost", None)]


def test_nonsense_is_said_not_to_have_been_read(joined: Pair) -> None:
    recorder, _, near, far = joined
    near.sendall(struct.pack(">i", 999) + bytes(40))
    assert far.recv(100)
    assert noted(recorder) == [("unread", None)]


def test_what_is_held_is_as_if_never_sent_if_it_is_cut(joined: Pair) -> None:
    """And what passes again is noted before it does, behind what was held."""
    recorder, tap, near, far = joined
    far.sendall(packet(ACK, 1))
    assert near.recv(100) == packet(ACK, 1)
    tap.hold(2, True)
    far.sendall(packet(ACK, 2))
    near.sendall(packet(FOLLOWERINFO, 5))
    assert far.recv(100) == packet(FOLLOWERINFO, 5)  # the other direction is not held
    with recorder.changed:
        direction = next(d for _, pair in tap.live for d in pair if d.sender == 2)
        assert recorder.changed.wait_for(lambda: direction.waits, 20)
    assert noted(recorder) == [("packet", "ACK"), ("packet", "FOLLOWERINFO")]
    tap.hold(2, False)
    assert near.recv(100) == packet(ACK, 2)
    tap.hold(2, True)
    far.sendall(packet(ACK, 3))
    with recorder.changed:
        assert recorder.changed.wait_for(lambda: direction.waits, 20)
    tap.lose()
    assert near.recv(100) == b""
    assert noted(recorder)[2:] == [("packet", "ACK"), ("lost", None)]


def test_each_kind_of_fault_comes_as_often_as_the_others() -> None:
    kinds = dealt(("kill", "stop", "tail"), random.Random(7))
    assert Counter(next(kinds) for _ in range(30)) == {"kill": 10, "stop": 10, "tail": 10}


def test_a_record_says_what_was_done(tmp_path: Path) -> None:
    plan = ChaosPlan(2.0, 7, faults=("tail",)).as_json()
    Recorder(tmp_path / "record.jsonl", "3.9.5", [1, 2], 7, plan).end()
    first = json.loads((tmp_path / "record.jsonl").read_text().splitlines()[0])
    assert (first["plan"]["faults"], first["plan"]["seconds"], first["seed"]) == (["tail"], 2.0, 7)
    assert read_record(tmp_path / "record.jsonl").seed == 7


FORCES = """
import os, sys, threading, time
disk, said, begins = sys.argv[1], [], threading.Event()

def goes_on():
    begins.wait()
    time.sleep(0.1)
    said.append("goes on")
    with open(disk, "r+b") as f:
        f.write(b"0")

threading.Thread(target=goes_on).start()
with open(disk + ".log", "wb") as f:
    begins.set()
    os.fsync(f.fileno())
    said.append("forced")
print(said)
"""


def test_a_disk_that_stalls_forces_nothing_until_it_goes_on(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.write_bytes(b"1")
    with temporary_folder("shim") as folder:  # the name of pytest's may have blanks in it
        env = os.environ | {"LD_PRELOAD": str(place_shim(folder)), "ZABCHECK_STALL": str(disk)}
        done = subprocess.run(
            [sys.executable, "-c", FORCES, str(disk)], env=env, capture_output=True, text=True, check=True
        )
    assert done.stdout == "['goes on', 'forced']\n"
