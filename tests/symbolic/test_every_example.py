"""Every example and every variant of it goes through `induct`, `bmc` and `--symbolic` without an internal error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from zabspec.protocols.registry import PROTOCOLS

EXAMPLES = sorted(Path(__file__).parents[2].joinpath("examples").glob("*.py"))
OURS = ("zab", "ladis", "db19")
CASES = [(str(path), name) for path in (*EXAMPLES, *OURS) for name in ("", *PROTOCOLS[str(path)].variants)]
CHOSEN = CASES if os.environ.get("ZABCHECK_EVERY") else CASES[:: len(CASES) // 3]  # of each kind, a few

COMMANDS = {
    "bmc": ["bmc", "--depth", "2", "--time-limit", "10"],
    "induct": ["induct", "--query-limit", "1", "--time-limit", "10", "--jobs", "1", "--witness-states", "0"],
    "symbolic": ["--depth", "2", "--symbolic", "10"],
}


@pytest.mark.slow(seconds=15)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("protocol", "variant"), CHOSEN)
def test_z3_answers(protocol: str, variant: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = ["--protocol", protocol, *(["--variant", variant] if variant else [])]
    small = ["--nodes", "2"] if protocol in OURS else []
    ran = CliRunner().invoke(main, [*COMMANDS[command], *given, *small])
    assert ran.exception is None or isinstance(ran.exception, SystemExit), ran.output
    assert "internal error" not in ran.output
    assert "a bug of zabcheck" not in ran.output
    assert ran.exit_code in (0, 1, 3) or (command, ran.exit_code) == ("induct", 2), ran.output
    assert command != "symbolic" or "property" in ran.stdout, ran.output  # the exploration's report is there
