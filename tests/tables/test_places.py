"""Tables at addresses: read where they are, and nothing said of them that is secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from checker.ending import error_report
from checker.errors import RequestError
from checker.tables.requests.sweep import SweepRequest
from tests.commands.running import run
from tests.histories import Abcast, Deliver, History, Instance, Txn
from tests.judge_tables import rows_of, written
from traces.events.places import Address, address_of
from zabspec.files import without_secrets

SECRET = "s3://KEYID:sec%2Fret@bucket/deep/t?endpoint_override=http%3A%2F%2Finside&scheme=http"
T = Txn(1, 1, 1)
BROKEN = History(2, (Abcast(Instance(1, 0, 0), T), Deliver(0, 0, T), Deliver(1, 0, Txn(1, 2, 2))))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An object store that is a folder: what pyarrow finds by an address's bucket and key."""
    folder = tmp_path / "store"
    folder.mkdir()

    def system(address: Address) -> tuple[Any, str]:
        inner = address.text.partition("://")[2].partition("?")[0].rpartition("@")[2]
        return SubTreeFileSystem(str(folder), LocalFileSystem()), inner

    monkeypatch.setattr(Address, "system", system)
    return folder


def test_a_table_in_an_object_store_is_judged_as_one_here(store: Path) -> None:
    table = store / "bucket" / "deep" / "t"
    table.mkdir(parents=True)
    for k in range(3):
        written(table / f"{k}.parquet", [rows_of(BROKEN, k)])
    (table / "_hidden").mkdir()
    (table / "_hidden" / "x.parquet").write_bytes(b"none")
    here, there = run("judge", str(table), "--json"), run("judge", SECRET, "--json")
    assert here.exit_code == there.exit_code == 1, there.stderr
    one, other = json.loads(here.stdout), json.loads(there.stdout)
    assert other["table"] == other["request"]["table"] == "s3://bucket/deep/t"
    assert one["second_opinion"].pop("seconds") + other["second_opinion"].pop("seconds") >= 0
    assert {**one, "table": 0, "request": 0} == {**other, "table": 0, "request": 0}
    assert "KEYID" not in there.stdout + there.stderr


@pytest.mark.parametrize("what", ["nothing", "no table", "damaged"])
def test_what_is_said_of_an_address_has_no_secret(store: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = store / "bucket" / "deep" / "t" / "a.parquet"
    if what != "nothing":
        file.parent.mkdir(parents=True)
    if what == "no table":
        file.write_text("none")
    if what == "damaged":
        monkeypatch.setattr(Address, "open", refuses)
        written(file, [rows_of(BROKEN, 0)])
    done = run("judge", SECRET)
    assert done.exit_code == 2
    assert "s3://bucket/deep/t" in done.stderr
    assert not any(word in done.stdout + done.stderr for word in ("KEYID", "sec%2Fret", "inside"))


def refuses(address: Address) -> Any:
    raise OSError(f"cannot open {address.text} as KEYID with sec%2Fret")


def test_which_names_are_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.b.c").touch()
    here = ("run.parquet", "run.events.parquet", "a.b.c", "file:///data", "a b.c.d", "a.b", "a..c", "1.2.3")
    assert [address_of(name) for name in here] == [None] * len(here)
    found = [a for name in ("s3://b/t", "viewfs://x/t", "cat.schema.table") if (a := address_of(name))]
    assert [(a.scheme, a.by_arrow) for a in found] == [("s3", True), ("viewfs", False), ("", False)]


def test_an_error_report_has_no_secret() -> None:
    report = error_report(ValueError(f"cannot read {SECRET}, nor 's3a://who:a/b@c/d'"), ["judge", SECRET])
    assert "s3://bucket/deep/t" in report
    assert "s3a://c/d" in report
    assert not any(word in report for word in ("KEYID", "who", "a/b@", "override"))
    assert without_secrets("s3://token@b/c s3://k:s@b/u@x") == "s3://b/c s3://b/u@x"
    assert without_secrets("see https://a.org/x@y and file:///a@b/c") == "see https://a.org/x@y and file:///a@b/c"


def test_a_sweep_names_its_folder_without_secrets() -> None:
    assert SweepRequest(SECRET, ("1",)).as_json()["folder"] == "s3://bucket/deep/t"
    with pytest.raises(RequestError, match="a table of a catalog"):
        SweepRequest("one.two.three")
