"""Every example and every variant of it has an answer of `induct`, `bmc` and `--symbolic`, never an internal error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.report.induction import Inductive
from checker.symbolic.bmc import Bounds, check
from invariants import properties_of
from invariants.registry import TERMINAL
from tests.small_protocols import asked
from zabspec.language.symbolic_terms import forget_terms
from zabspec.model import Model
from zabspec.protocols.registry import PROTOCOLS

EXAMPLES = sorted(Path(__file__).parents[2].joinpath("examples").glob("*.py"))
COMMANDS = {
    "bmc": ["bmc", "--depth", "1", "--time-limit", "2"],
    "induct": ["induct", "--query-limit", "1", "--time-limit", "2", "--jobs", "1", "--witness-states", "0"],
    "": ["--depth", "1", "--symbolic", "2"],
}


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_z3_answers_of_every_variant(example: Path) -> None:
    """With the least room for messages and transactions, and one move of an induction: the rest is terms."""
    protocol = PROTOCOLS[str(example)]
    judged = [p for p in properties_of(str(example)) if p.default and p.of != TERMINAL]
    for variant in ("", *protocol.variants):
        given: dict[str, Any] = {"variant": variant, "network": "", "channel": 1}
        given |= {"txns": 1} if protocol.transactions else {}
        report = Inductive(asked(str(example), most=1, limit=0.05, **given), {})
        found = check(Model(report.outcome.question.configuration), judged, Bounds(1, query_seconds=1.0))
        assert found.second.difference == "", variant
        assert [len(report.as_json()["clauses"])] == [len(report.outcome.verdicts)], variant
        assert all(report.parts()), variant
        forget_terms()


@pytest.mark.slow(seconds=8)
@pytest.mark.parametrize("name", ["raft_election", "token_ring", "views"])  # connections, datagrams, an environment
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_answer(name: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = CliRunner().invoke(main, [*COMMANDS[command], "--protocol", f"example:{name}"])
    assert ran.exception is None or isinstance(ran.exception, SystemExit), ran.output
    assert "internal error" not in ran.output
    assert "a bug of zabcheck" not in ran.output
    assert ran.exit_code in (0, 1, 3) or (command, ran.exit_code) == ("induct", 2), ran.output
    assert command or "property" in ran.stdout, "the exploration's report is there"
