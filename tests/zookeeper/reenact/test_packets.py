"""The parsers of the quorum protocol and of the election, held against what servers of four releases sent to each other
(recorded with a DIFF, a TRUNC and a SNAP each), and fed with nonsense (issue 15, acceptance 4)."""

from __future__ import annotations

import json
import lzma
import struct
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traces.zookeeper.reenact.wire.notifications import Greeting, NotificationReader, Vote
from traces.zookeeper.reenact.wire.packets import ACKEPOCH, SNAP, Malformed, PacketReader

RELEASES = ("3.4.10", "3.6.0", "3.8.6", "3.9.5")
HERE = Path(__file__).parent


@cache
def streams(release: str) -> dict[tuple[str, int], bytes]:
    """What came in each direction of each connection."""
    out: dict[tuple[str, int], bytes] = {}
    with lzma.open(HERE / f"recorded-{release}.jsonl.xz", "rt") as lines:
        for line in lines:
            _, place, connection, data = json.loads(line)
            out[place, connection] = out.get((place, connection), b"") + bytes.fromhex(data)
    return out


@pytest.mark.parametrize("release", RELEASES)
def test_every_recorded_packet_is_read_and_is_its_own_bytes(release: str) -> None:
    kinds: Counter[str] = Counter()
    for (place, _), data in streams(release).items():
        if not place.startswith("quorum"):
            continue
        reader = PacketReader()
        packets = reader.feed(data)
        assert b"".join(p.raw for p in packets) + bytes(reader.rest) == data
        assert len(reader.rest) < 40  # servers were killed: the last may be cut short
        kinds.update(p.name for p in packets)
        for p in packets:
            assert p.told().startswith(p.name)
            assert (p.number is not None) or p.kind != ACKEPOCH
            assert p.kind != SNAP or p.raw.endswith(b"BenWasHere")
    for name in ("FOLLOWERINFO", "LEADERINFO", "ACKEPOCH", "DIFF", "TRUNC", "SNAP", "NEWLEADER", "UPTODATE", "ACK"):
        assert kinds[name] > 0, (release, name)
    assert kinds["PROPOSAL"] >= kinds["COMMIT"] > 3


@pytest.mark.parametrize("release", RELEASES)
def test_every_recorded_vote_is_read(release: str) -> None:
    votes, greetings = 0, set()
    for (place, _), data in streams(release).items():
        if not place.startswith("election"):
            continue
        reader = NotificationReader("->" in place)
        found = reader.feed(data)
        assert b"".join(m.raw for m in found) + reader.rest == data
        votes += sum(isinstance(m, Vote) for m in found)
        greetings |= {m.server for m in found if isinstance(m, Greeting)}
    assert votes > 10
    assert greetings == {1, 2, 3}


def test_an_epoch_and_a_greeting_say_what_servers_mean() -> None:
    raw = struct.pack(">iqi4si", ACKEPOCH, 0x200000003, 4, struct.pack(">i", -1), -1)
    (packet,) = PacketReader().feed(raw)
    assert (packet.name, packet.zxid, packet.number, packet.auth) == ("ACKEPOCH", 0x200000003, -1, ())
    said = b"127.0.0.1:1234"
    (greeting,) = NotificationReader(True).feed(struct.pack(">qqi", -65536, 2, len(said)) + said)
    assert isinstance(greeting, Greeting)
    assert (greeting.server, greeting.address) == (2, "127.0.0.1:1234")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_pieces_do_not_matter(data: st.DataObject) -> None:
    recorded = streams(data.draw(st.sampled_from(RELEASES)))
    key = data.draw(st.sampled_from(sorted(k for k in recorded if len(recorded[k]) < 4000)))
    whole, votes = recorded[key], key[0].startswith("election")

    def make() -> PacketReader | NotificationReader:
        return NotificationReader("->" in key[0]) if votes else PacketReader()

    expected = [m.raw for m in make().feed(whole)]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    reader, got = make(), []
    for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        got += [m.raw for m in reader.feed(whole[a:b])]
    assert got == expected


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_nonsense_is_refused_or_waited_for_and_no_byte_is_made_up(data: st.DataObject) -> None:
    recorded = streams("3.9.5")
    key = data.draw(st.sampled_from(sorted(k for k in recorded if 0 < len(recorded[k]) < 4000)))
    broken = bytearray(recorded[key])
    for _ in range(data.draw(st.integers(1, 4))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    given_bytes = data.draw(st.sampled_from([bytes(broken), data.draw(st.binary(max_size=200))]))
    for make in (PacketReader, lambda: NotificationReader(True), lambda: NotificationReader(False)):
        reader = make()
        try:
            found = reader.feed(given_bytes)
        except Malformed:
            continue
        assert b"".join(m.raw for m in found) + bytes(reader.rest) == given_bytes


@pytest.mark.parametrize(
    "raw", [struct.pack(">iq", 99, 0), struct.pack(">iqi", 2, 0, 1 << 30), struct.pack(">iqii", 2, 0, 0, 1 << 20)]
)
def test_what_is_no_packet_is_said(raw: bytes) -> None:
    with pytest.raises(Malformed):
        PacketReader().feed(raw)
