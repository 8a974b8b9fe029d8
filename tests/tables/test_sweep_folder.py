"""What is believed of a sweep's folder: digests, and some of what held run again. Every way tried here to make it say
that nothing broke is met."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from traces.judging.judge import judge_plainly, read_units
from traces.sweep import store
from traces.sweep.block import HOLDS, VIOLATED, block_table, properties_of
from traces.sweep.checksum import read_table, seal
from traces.sweep.findings import NotRepeated
from traces.sweep.grid import Grid
from traces.sweep.spot_check import SpotCheck, run_again
from traces.sweep.store import Store, StoreError, open_store

FEW = Grid(seeds=("1:61",), rounds=(400,), proposals=(4,), delay=("1:60",))  # every third breaks something


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """FEW, swept by a plain loop."""
    place = open_store(tmp_path_factory.mktemp("few"), FEW, lambda _: 15)
    for block in place.missing():
        place.run_block(block)
    assert place.missing() == []
    return place


@pytest.fixture
def place(few: Store, tmp_path: Path) -> Store:
    """A copy of it."""
    shutil.copytree(few.folder, tmp_path / "few")
    return open_store(tmp_path / "few", FEW, lambda _: 15)


def holding(table: pa.Table) -> pa.Table:
    """Rows with `violated` made `holds`, everything else as it was."""
    for k, name in enumerate(table.schema.names):
        if name in properties_of(FEW):
            column = [HOLDS if word == VIOLATED else word for word in table.column(name).to_pylist()]
            table = table.set_column(k, table.schema.field(name), pa.array(column, pa.string()))
    return table


def falsify(path: Path) -> None:
    table = read_table(path)
    assert holding(table) != table, "it has something to hide"
    pq.write_table(holding(table), path, write_page_checksum=True)


def other_texts(path: Path) -> None:
    """The right rows, of other texts."""
    block = int(path.stem.removeprefix("block-"))
    pq.write_table(seal(read_table(path), "0" * 64, block), path)


def retyped(path: Path) -> None:
    table = read_table(path)
    k = table.schema.names.index("seed")
    pq.write_table(table.set_column(k, "seed", table.column("seed").cast(pa.int32())), path)


MADE_UP = {
    "rows rewritten": falsify,
    "digest gone": lambda path: pq.write_table(read_table(path).replace_schema_metadata(None), path),
    "of other texts": other_texts,
    "another type": retyped,
    "a row less": lambda path: pq.write_table(read_table(path).slice(1), path),
    "a row twice": lambda path: pq.write_table(pa.concat_tables([(t := read_table(path)), t.slice(0, 1)]), path),
    "two rows exchanged": lambda path: pq.write_table((t := read_table(path)).take([1, 0, *range(2, len(t))]), path),
    "no rows": lambda path: pq.write_table(read_table(path).slice(0, 0), path),
    "no columns": lambda path: pq.write_table(pa.table({}), path),
    "another table": lambda path: pq.write_table(pa.table({"number": list(range(15))}), path),
    "another block": lambda path: shutil.copy(path.with_name("block-00000003.parquet"), path),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-7]),
    "empty": lambda path: path.write_bytes(b""),
}


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("spoil", MADE_UP.values(), ids=MADE_UP)
def test_a_block_that_is_not_what_was_written_is_run_again(place: Store, spoil: Callable[[Path], object]) -> None:
    """With the manifest, and without what it says of digests: a folder that was killed before it said so."""
    right = place.part(1).read_bytes()
    for digests in (place.recorded(), {}):
        place.write_manifest(digests)
        spoil(place.part(1))
        assert place.missing() == [1]
        place.run_block(1)
        assert (place.missing(), place.part(1).read_bytes()) == ([], right)


def test_blocks_exchanged_by_name_are_run_again(place: Store) -> None:
    os.rename(place.part(0), place.runs / "other")
    os.rename(place.part(2), place.part(0))
    os.rename(place.runs / "other", place.part(2))
    assert place.missing() == [0, 2]


def test_a_block_with_a_digest_of_its_own_is_held_against_the_manifest(place: Store) -> None:
    """Made up with its digest, it is believed by itself, and not where the manifest has another."""
    right, made = place.part(1).read_bytes(), seal(holding(read_table(place.part(1))), place.digest, 1)
    pq.write_table(made, place.part(1))
    assert place.unsealed(1) is not None
    assert place.missing() == [1]
    place.part(1).write_bytes(right)
    assert place.missing() == []


def test_who_makes_up_the_whole_folder_is_met_by_running_some_again(place: Store) -> None:
    """Every digest made anew: nothing in the folder tells, but a third of the runs that it says held did not."""
    for block in range(place.blocks):
        pq.write_table(seal(holding(read_table(place.part(block))), place.digest, block), place.part(block))
    place.write_manifest({})
    kept = place.check()
    assert sum(sealed.held for sealed in kept.values()) == FEW.count
    with pytest.raises(NotRepeated, match=r"not to be trusted: run \d+ was repeated, and its .* is violated"):
        run_again(place, kept)


def test_some_that_held_are_run_again_and_others_each_time(few: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from traces.sweep import spot_check

    kept, ran = few.check(), []
    rows = {row["number"]: row for block in range(few.blocks) for row in read_table(few.part(block)).to_pylist()}
    held = {n for n, row in rows.items() if not any(row[name] == VIOLATED for name in properties_of(FEW))}
    assert 20 < len(held) < FEW.count
    monkeypatch.setattr(spot_check, "block_table", lambda q, numbers: ran.extend(numbers) or block_table(q, numbers))
    assert run_again(few, kept) == SpotCheck(len(held), len(held)), "all of them, if they are few"
    assert {*ran} == held
    ran.clear()
    assert run_again(few, kept, 5) == run_again(few, kept, 5) == SpotCheck(5, len(held))
    assert len(ran) == 10
    assert {*ran} <= held
    assert {*ran[:5]} != {*ran[5:]}, "but once in 10,000 times"
    assert run_again(few, kept, seconds=0) == SpotCheck(1, len(held))


def test_what_running_some_again_can_miss_is_said() -> None:
    assert SpotCheck(300, 57_213).sentence == (
        "300 of 57,213 runs without a violation were repeated and agree with their rows; if more than 0.99 % of "
        "those rows were wrong, this would have shown it with probability 95 %."
    )
    assert pytest.approx(1 - (1 - SpotCheck(300, 57_213).share) ** 300) == 0.95
    assert SpotCheck(7, 7).sentence.endswith("7 of 7 runs without a violation were repeated and agree with their rows.")
    assert SpotCheck(0, 0).sentence == ""


def test_a_folder_where_a_block_should_be_and_another_sweeps_manifest(place: Store) -> None:
    place.part(1).unlink()
    place.part(1).mkdir()
    with pytest.raises(StoreError, match=r"block-00000001\.parquet is not of this sweep"):
        place.missing()
    place.part(1).rmdir()
    (place.folder / store.MANIFEST).write_text(json.dumps(place.manifest | {"block": 7, "digests": {}}))
    with pytest.raises(StoreError, match="now belongs to another sweep"):
        place.missing()
    (place.folder / store.MANIFEST).write_text(json.dumps(place.manifest | {"digests": {"x": ""}}))
    with pytest.raises(StoreError, match="has no digests of its blocks"):
        open_store(place.folder, FEW, lambda _: 15)


def test_a_worker_digests_its_own_texts(place: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not those of who sent it the folder: rows of another version are not taken for this one's."""
    sent = pickle.dumps(place)
    assert place.digest
    monkeypatch.setattr(store, "texts_digest", lambda question: "others")
    assert pickle.loads(sent).digest != place.digest


# --- events -------------------------------------------------------------------------------------------

NOTED = Grid(seeds=("1:4",), protocol=("db19", "zab"), rounds=(80,), proposals=(3,), delay=("1:9",))


def events_judged(place: Store) -> dict[str, int]:
    """How many runs hold each property, by their events."""
    tally = judge_plainly(read_units(place.folder / "events"), (), 1)
    assert tally.runs == NOTED.count
    return {name: tally.count(name, "held") for name in tally.names if tally.count(name, "held")}


@pytest.mark.slow(seconds=1)
def test_a_block_is_finished_with_its_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between the two, it is run again; what is damaged, too; the events come to what the runs came to."""
    place = open_store(tmp_path / "s", NOTED, lambda _: 4, True)
    with monkeypatch.context() as patch:
        patch.setattr(store, "block_table", dies)
        with pytest.raises(KeyboardInterrupt):
            place.run_block(0)
    assert place.part_of_events(0).exists()
    assert place.missing() == [0, 1]
    for block in place.missing():
        place.run_block(block)
    assert place.missing() == []
    rows = read_table(place.part(0)).to_pylist() + read_table(place.part(1)).to_pylist()
    judged = events_judged(place)
    assert judged["integrity"] > 0
    assert judged == {name: sum(row[name] == HOLDS for row in rows) for name in judged}
    again = open_store(tmp_path / "s", None, lambda _: 4)
    assert again == place
    file = place.part_of_events(1)
    for damage in (lambda: file.write_bytes(file.read_bytes()[:-1]), file.unlink):
        whole = file.read_bytes()
        damage()
        assert again.missing() == [1]
        again.run_block(1)
        assert file.read_bytes() == whole
    with pytest.raises(StoreError, match="keeps events"):
        open_store(tmp_path / "s", NOTED, lambda _: 4)


def dies(*_: object) -> None:
    raise KeyboardInterrupt
