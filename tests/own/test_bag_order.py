"""A property of messages in flight may not depend on their order: two states that differ in that alone are one."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main


def written(tmp_path: Path, body: list[str]) -> Path:
    """Two-phase commit with one more property, of what is in flight."""
    path = tmp_path / "tpc.py"
    assert CliRunner().invoke(main, ["init", str(path)]).exit_code == 0
    text = path.read_text()
    lines = "\n".join(f"    {line}" for line in body)
    claim = f'@safety(witness=anything)\ndef ordered(s: State) -> bool:\n    """What is asked."""\n{lines}\n\n\n'
    witness = 'def anything(s: State) -> bool:\n    """It is asked."""\n    return True\n\n\n'
    place = text.index("PROTOCOL = declare(")
    path.write_text(text[:place] + witness + claim + text[place:])
    return path


EACH = "for k in range(len(s.in_flight)):"
VOTES = "    if s.in_flight[k].kind == VOTE"
REFUSED = {
    "first": ([EACH, "    return s.in_flight[k].kind != DECISION", "return True"], "returns"),
    "early": (
        [
            *(EACH, f"{VOTES}:", "        return True"),
            *("    if s.in_flight[k].kind == DECISION:", "        return False", "return True"),
        ],
        "ends in more than one way",
    ),
    "place": ([EACH, f"{VOTES} and k > 1:", "        return False", "return True"], "a place among messages"),
    "before": (
        [
            *(EACH, "    for j in range(k):"),
            "        if s.in_flight[j].kind == VOTE and s.in_flight[k].kind == DECISION:",
            *("            return False", "return True"),
        ],
        "a place among messages",
    ),
    "last": (
        [
            *("last = -1", EACH, f"{VOTES}:", "        last = s.in_flight[k].target"),
            *("    elif s.in_flight[k].kind == DECISION:", "        last = s.in_flight[k].source", "return last == -1"),
        ],
        "what last holds depends on the order",
    ),
}
NOBODYS = "s.in_flight[k].target == -1"
TAKEN = {
    "any": [EACH, f"{VOTES} and {NOBODYS}:", "        return False", "return True"],
    "count": ["n = 0", EACH, f"{VOTES}:", "        n = n + 1", "return n < 9"],
    "two": [
        *(EACH, "    for j in range(len(s.in_flight)):"),
        *(
            f"        if j != k and s.in_flight[j].kind == VOTE and {NOBODYS}:",
            "            return False",
            "return True",
        ),
    ],
}


@pytest.mark.parametrize("engine", ["compiled", "interpret"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_depends_on_the_order_is_refused_with_its_line(tmp_path: Path, name: str, engine: str) -> None:
    body, why = REFUSED[name]
    path = written(tmp_path, body)
    ran = CliRunner().invoke(main, ["--protocol", str(path), "--nodes", "2", "--depth", "3", "--engine", engine])
    assert ran.exit_code == 2
    assert why in " ".join(ran.stderr.split())
    assert "tpc.py:" in ran.stderr
    assert "\n" not in ran.stderr.strip()


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("name", TAKEN)
def test_what_does_not_is_judged(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, TAKEN[name])
    words = ["--protocol", str(path), "--nodes", "2", "--depth", "3", "--engine", "interpret", "--property", "ordered"]
    assert CliRunner().invoke(main, words).exit_code == 0
