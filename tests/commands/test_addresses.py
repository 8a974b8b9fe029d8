"""Names of files that are addresses: a `file:` one is its path, another is refused, and no folder is made for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.errors import RequestError
from checker.requests.explore import Explore
from tests.commands.running import assert_refused, run
from zabspec.files import Unreadable, place_of

AWAY = "s3a://bucket/x"


@pytest.mark.parametrize(
    "words",
    [
        ("replay", AWAY),
        ("simulate", "--table", AWAY),
        ("--checkpoint", AWAY, "--depth", "1"),
        ("--trace", AWAY, "--depth", "1"),
    ],
    ids=" ".join,
)
def test_an_address_is_refused_and_nothing_is_made(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_refused(run(*words), f"{AWAY}: this is an address")
    with_key = [word.replace("s3a://", "s3a://key:secret@") for word in words]
    assert_refused(run(*with_key), f"{AWAY}: this is an address")
    assert list(tmp_path.iterdir()) == []


def test_a_request_refuses_one_too() -> None:
    with pytest.raises(RequestError, match="--checkpoint s3a://bucket/x: this is an address"):
        Explore(checkpoint=AWAY)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("file:///data/run%201.parquet", "/data/run 1.parquet"),
        ("file://localhost/data", "/data"),
        ("a/b:c//d", "a/b:c/d"),
        ("c://d", "c:/d"),
    ],
)
def test_what_is_of_this_machine_is_its_path(name: str, path: str) -> None:
    assert place_of(name) == Path(path)


@pytest.mark.parametrize("name", ["file://other/data", "hdfs:///data", "S3://x"])
def test_what_is_elsewhere_is_not(name: str) -> None:
    with pytest.raises(Unreadable, match="this is an address"):
        place_of(name)
