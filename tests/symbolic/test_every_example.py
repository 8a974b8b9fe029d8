"""Every example goes through `induct`, `bmc` and `--symbolic` without an internal error."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main

EXAMPLES = sorted(Path(__file__).parents[2].joinpath("examples").glob("*.py"))
# Of `bmc` the terms of every step are made: where the limit of time cuts that short, a larger one would find no more.
COMMANDS = {
    "bmc": ["bmc", "--depth", "1", "--time-limit", "2"],
    "induct": ["induct", "--query-limit", "1", "--time-limit", "2", "--jobs", "1", "--witness-states", "0"],
}
# One of each kind: over connections, over datagrams, with an environment.
SYMBOLIC = ("raft_election", "token_ring", "views")


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_z3_answers(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command, words in COMMANDS.items():
        answers(command, *words, "--protocol", str(example))
    if example.stem in SYMBOLIC:
        report = answers("", "--depth", "1", "--symbolic", "2", "--protocol", str(example))
        assert "property" in report, "the exploration's report is there"


def answers(command: str, *words: str) -> str:
    ran = CliRunner().invoke(main, words)
    assert ran.exception is None or isinstance(ran.exception, SystemExit), ran.output
    assert "internal error" not in ran.output
    assert "a bug of zabcheck" not in ran.output
    assert ran.exit_code in (0, 1, 3) or (command, ran.exit_code) == ("induct", 2), ran.output
    return ran.stdout
