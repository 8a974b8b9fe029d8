"""The real data sets get what their manifest says, and healthy ones nothing (issue 13, acceptance 1)."""

from __future__ import annotations

import csv
import hashlib
import json
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from tests.zookeeper.written import DATA, data_sets

# of each set the codes that its findings must have, and in the order of the manifest's words the notes
CODES = {
    "bad_a_silent_divergence": ["DIVERGENT_TXN"],
    "bad_b_bitflip_body": ["CRC"],
    "bad_b4_bitflip_eor": ["BAD_EOR"],
    "bad_c_missing_txn": ["GAP", "MISSING"],
    "bad_d_out_of_order": ["GAP", "ZXID_DECREASE"],
    "bad_f2_zombie_in_live_history": ["ABANDONED_APPLIED"],
    "bad_g_random_bytes": ["BAD_MAGIC"],
    "bad_h_epoch_file_behind": ["EPOCH_BEHIND_LOG"],
}
NOTES = {
    "healthy_small": ["DUP_ZXID", "SNAP_BRIDGED", "ABANDONED", "FAILED_MULTI"],
    "trap_torn_tail": ["TORN_TAIL", "BEHIND"],
    "trap_uncommitted_tail": ["UNCOMMITTED_TAIL"],
    "trap_purged": ["PURGED"],
    "trap_lagging_server": ["BEHIND"],
}


def manifest() -> list[dict[str, str]]:
    with (DATA / "ensembles.tsv").open() as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def run(*words: str | Path) -> tuple[int, dict[str, object]]:
    answer = CliRunner().invoke(main, ["audit", *map(str, words), "--json"])
    return answer.exit_code, json.loads(answer.output)


def digest(folder: Path) -> str:
    """Every name, byte and time of a folder."""
    out = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        out.update(f"{path} {path.stat().st_mtime_ns} {path.stat().st_mode}".encode())
        out.update(path.read_bytes() if path.is_file() else b"")
    return out.hexdigest()


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("row", manifest(), ids=lambda row: row["dataset"])
def test_a_real_data_set_gets_its_verdict_and_its_place(row: dict[str, str]) -> None:
    folder = data_sets() / row["dataset"]
    before = digest(folder)
    code, answer = run(*sorted(folder.glob("server*")))
    assert digest(folder) == before  # acceptance 6
    assert (answer["verdict"], code) == (row["verdict"], {"OK": 0, "VIOLATION": 1}[row["verdict"]])
    findings, notes = answer["findings"], answer["notes"]
    assert isinstance(findings, list) and isinstance(notes, list)  # noqa: PT018
    assert sorted(f["code"] for f in findings) == CODES.get(row["dataset"], [])
    assert {n["code"] for n in notes} >= set(NOTES.get(row["dataset"], []))
    if row["server"] == "-":
        return
    said = [f for f in (findings or notes) if f["server"] == f"server{row['server']}"]
    places = {(f["file"] or "-", "-" if f["offset"] is None else str(f["offset"]), f["zxid_hex"] or "-") for f in said}
    assert (row["file"], row["offset"], row["zxid"]) in places


def test_a_divergence_that_a_real_ensemble_made(tmp_path: Path) -> None:
    """ZooKeeper 3.5.3, live, after its leader was killed and had come back: DIFF moved lastProcessedZxid before the
    transactions came (ZOOKEEPER-2355), and a snapshot of that moment says 2:34 and holds no more than 2:10. Started
    from these directories, server2 showed clients 45 nodes and the others 67."""
    with tarfile.open(Path(__file__).parent / "diverged-3.5.3.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    code, answer = run(*sorted(tmp_path.glob("server*")))
    findings = answer["findings"]
    assert isinstance(findings, list)
    assert (code, [(f["code"], f["server"], f["file"], f["zxid"]) for f in findings]) == (
        1,
        [("RESTART_DIFFERS", "server2", "snapshot.200000034", "2:34")],
    )
