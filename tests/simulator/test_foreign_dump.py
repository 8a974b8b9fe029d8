"""`simulate --compare`: the first node and field in which a dump of another program differs, and `cmp`'s byte."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from pathlib import Path

from click.testing import CliRunner, Result

from checker.cli import main
from zabspec.simulator.dump import difference

RUN = ("--seed", "7", "--nodes", "3", "--rounds", "1000", "--proposals", "3")


def simulated(*words: str) -> Result:
    return CliRunner().invoke(main, ["simulate", *RUN, *words], prog_name="zabcheck")


def written(nodes: list[tuple[tuple[int, ...], list[tuple[int, int, bytes]]]]) -> tuple[bytes, list[str]]:
    """A dump as the lab's page states it, and the name of each of its bytes."""
    out, names = b"DSEZAB01" + struct.pack("<I", len(nodes)), ["magic"] * 8 + ["node_count"] * 4
    fields = ("current_epoch", "accepted_epoch", "last_zxid.epoch", "last_zxid.counter", "last_committed.epoch",
              "last_committed.counter", "history_len")  # fmt: skip
    for p, ((role, *numbers), history) in enumerate(nodes):
        out += struct.pack("<IB7I", p, role, *numbers, len(history))
        names += [f"p{p} id"] * 4 + [f"p{p} role"] + [f"p{p} {name}" for name in fields for _ in range(4)]
        for k, (epoch, counter, payload) in enumerate(history):
            out += struct.pack("<3I", epoch, counter, len(payload)) + payload
            parts = ("zxid.epoch", 4), ("zxid.counter", 4), ("payload_len", 4), ("payload", len(payload))
            names += [f"p{p} history[{k}].{name}" for name, size in parts for _ in range(size)]
    return out, names


def test_each_byte_has_its_node_and_field() -> None:
    history = [(1, 1, b"zab-0"), (1, 2, b"zab-10"), (2, 1, b"zab-11")]
    dump, names = written([((2, 2, 2, 2, 1, 1, 2), history), ((1, 1, 2, 0, 0, 0, 0), []), ((0,) * 7, history[:1])])
    assert len(dump) == len(names)
    assert difference(dump, dump) is None
    for at, name in enumerate(names):
        foreign = bytearray(dump)
        foreign[at] ^= 0x41
        found = difference(dump, bytes(foreign))
        assert found is not None
        assert (found.byte, f"p{found.node} {found.field}".removeprefix("pNone ")) == (at + 1, name)
        assert found.here != found.there
        cut = difference(dump, dump[:at])
        assert cut is not None
        assert (cut.byte, cut.field, cut.there) == (at + 1, found.field, None)
    longer = difference(dump, dump + b"x")
    assert longer is not None
    assert (longer.byte, longer.field) == (len(dump) + 1, "")


def test_the_dump_of_a_run_is_compared_and_the_byte_is_cmps(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine.bin", tmp_path / "other.bin"
    assert simulated("--dump", str(mine)).exit_code == 0
    same = simulated("--compare", str(mine))
    assert (same.exit_code, "the other dump is equal" in same.stdout) == (0, True)
    dump = bytearray(mine.read_bytes())
    at = 8 + 4 + 4 + 1 + 4  # the first node's accepted epoch
    dump[at] += 2
    other.write_bytes(dump)
    said = simulated("--compare", str(other))
    epoch = struct.unpack_from("<I", mine.read_bytes(), at)[0]
    assert said.exit_code == 1
    assert f"differs at byte {at + 1}: p0's accepted_epoch is {epoch} here, {epoch + 2} there" in said.stdout
    found = json.loads(simulated("--compare", str(other), "--json").stdout)["difference"]
    assert found == {"byte": at + 1, "node": 0, "field": "accepted_epoch", "here": epoch, "there": epoch + 2}
    if shutil.which("cmp"):
        named = subprocess.run(["cmp", "-l", mine, other], capture_output=True, text=True, check=False).stdout.split()
        assert int(named[0]) == found["byte"]
