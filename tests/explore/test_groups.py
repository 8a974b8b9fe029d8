"""More properties than one exploration judges at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from checker.cli import main

MANY = 120


HELPERS = '''

def started(s: State) -> bool:
    """There is a state."""
    return True


def agreed(s: State) -> bool:
    """No process has committed where another has aborted: it could fail, and does not."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            if s.phase[p] == COMMITTED and s.phase[q] == ABORTED:
                return False
    return True


def committed_somewhere(s: State) -> bool:
    """Some process has committed."""
    for p in range(s.NODES):
        if s.phase[p] == COMMITTED:
            return True
    return False
'''
CLAIM = '''

@safety(witness=started)
def claim_{k}(s: State) -> bool:
    """Claim {k}."""
    return {holds}
'''
BROKEN = 110  # of the third group


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The protocol that `zabcheck init` writes, with many claims more, one of which breaks."""
    path = tmp_path_factory.mktemp("many") / "tpc.py"
    assert CliRunner().invoke(main, ["init", str(path)]).exit_code == 0
    claims = [
        CLAIM.format(k=k, holds="not committed_somewhere(s)" if k == BROKEN else "agreed(s)") for k in range(MANY)
    ]
    path.write_text(path.read_text(encoding="utf-8") + HELPERS + "".join(claims), encoding="utf-8")
    return path


def report(*words: object) -> dict[str, Any]:
    r = CliRunner().invoke(main, [*map(str, words), "--json", "--no-trace"])
    assert r.exit_code in (0, 1), r.output
    answer: dict[str, Any] = json.loads(r.output)
    return answer


@pytest.mark.slow(seconds=3)
def test_a_text_with_many_properties_is_judged(text: Path) -> None:
    """What is last in the list is found, at its depth, and the rest holds as far as that."""
    question = ["--protocol", text, "--nodes", 2]
    many = report(*question)
    one = report(*question, "--property", f"claim-{BROKEN}")
    verdicts = {p["name"]: p for p in many["properties"]}
    assert len(verdicts) > MANY
    (broken,) = [name for name, p in verdicts.items() if p["violation"]]
    assert broken == f"claim-{BROKEN}"
    assert verdicts[broken]["violation"]["depth"] == one["properties"][0]["violation"]["depth"]
    assert many["states"]["levels"] == one["states"]["levels"]
    assert many["verdict"] == one["verdict"] == "violated"


@pytest.mark.slow(seconds=3)
def test_the_groups_of_what_holds_say_the_same(text: Path) -> None:
    names = [word for k in range(MANY) if k != BROKEN for word in ("--property", f"claim-{k}")]
    many, one = report("--protocol", text, *names), report("--protocol", text, "--property", "claim-0")
    assert many["states"] == one["states"]
    assert many["verdict"] == one["verdict"] == "holds"
    r = CliRunner().invoke(main, ["--protocol", str(text), "--checkpoint", str(text.parent / "kept")])
    assert r.exit_code == 2
    assert "--checkpoint supports at most 63 properties" in r.output


@pytest.mark.slow(seconds=1)
def test_a_limit_of_time_is_named_as_it_was_asked_for(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was what the groups before had left of it: `--time-limit 48.9713 s reached`."""
    asked: list[float] = []

    def ready(task: object, seconds: float) -> bool:
        asked.append(seconds)
        return len(asked) == 1

    monkeypatch.setattr("checker.requests.exploring.running.ready_in_time", ready)
    words = ["--protocol", str(text), "--nodes", "2", "--no-trace", "--time-limit", "500", "--depth", "2", "--json"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 3, result.output
    assert json.loads(result.stdout)["coverage"]["stopped"] == "--time-limit 500 s reached before the model was ready"
    assert asked[0] == 500 > asked[1], "what the first group took is spent"
