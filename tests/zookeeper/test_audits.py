"""Ensembles of written directories, and what the audit says of each: recorded in `tests/zookeeper/audits/`.

A case has a line of words for each server (`directories.py`), `N: WORDS`. Servers of three without a line are healthy,
unless it says `alone`. Lines with `| ` are the zoo.cfg. `release R`, `option NAME=VALUE` and `forecast` are given
to the audit; `history E:N ...` is another history, of N transactions of each epoch. Below them are the first line of
the report, each finding that is more than a note, the notes, and the forecast.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from checker.zookeeper.report.audit import Audited, headline
from checker.zookeeper.report.audit_forecast import forecast_lines
from tests.faces import unlike
from tests.transcript import compare_cases
from tests.zookeeper.directories import directory, words_of
from tests.zookeeper.written import ensemble, history
from traces.zookeeper.audit.audit import audit
from traces.zookeeper.audit.findings import NOTE
from traces.zookeeper.disk.decode import zxid_text
from traces.zookeeper.disk.server import find_directory
from zabspec.zoo_cfg import parse

FOLDER = Path(__file__).with_name("audits")


def said(lines: list[str], folder: Path) -> Iterator[str]:
    """Yield what the audit says of a case."""
    told = dict(line.partition(" ")[::2] for line in lines)
    config = "".join(f"{line[2:]}\n" for line in lines if line[0] == "|")
    release = told.get("release", "")
    options = dict([told["option"].split("=", 1)]) if "option" in told else {}
    spans = [tuple(map(int, span.split(":"))) for span in told.get("history", "1:14 2:10 3:6").split()]
    folders = ensemble(folder, *(directory(one, history(*spans)) for one in words_of(lines)))
    for n, one in enumerate(folders if config or "forecast" in lines else [], 1):
        (one / "myid").write_text(str(n))
    found = audit(
        [find_directory([f], f.name) for f in folders], parse(config.encode(), release) if config else None,
        release=release, forecast="forecast" in lines, options=options,
    )  # fmt: skip
    assert unlike(Audited(found)) == []
    yield f"{headline(found)} ({found.code})"
    for f in found.findings:
        if f.severity != NOTE:
            last = f"..{zxid_text(f.last)}" if f.last >= 0 else ""
            place = f"{f.file}@{f.offset}" if f.file and f.offset >= 0 else f.file
            where = [f.server or ",".join(f.servers), place, zxid_text(f.zxid) + last if f.zxid >= 0 else ""]
            yield f"{f.severity} {f.code} {' '.join(filter(None, where))}: {f.sentence}"
            yield from [f"  do: {f.advice}"] if f.advice else []
    notes = {f"{f.code} {f.server or ','.join(f.servers)}".rstrip() for f in found.findings if f.severity == NOTE}
    yield f"notes: {', '.join(sorted(notes))}"
    if found.forecast is not None:
        yield from (f"  {line}".rstrip() for line in forecast_lines(found.forecast))


@pytest.mark.slow(seconds=11)
@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.txt")))
def test_the_audit_says_what_is_recorded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr("traces.zookeeper.audit.audit.PAUSE", 0)
    monkeypatch.setattr("traces.zookeeper.audit.forecast.AT_ONCE", 0)
    folders = (tmp_path / str(number) for number in count())
    compare_cases(FOLDER / f"{name}.txt", lambda title, lines: said(lines, next(folders)), request)
