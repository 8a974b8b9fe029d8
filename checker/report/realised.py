"""Report the result of the search for a plain run that violates what a counterexample violates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from checker.ending import NO_VERDICT
from checker.report.result import StatedResult

if TYPE_CHECKING:
    from traces import Trace
    from traces.shorten.realise import Realised


def realised_result(request: Mapping[str, Any], given: Trace, found: Realised | int) -> StatedResult:
    """Return the result of the search.

    Args:
        request: the one that it answers, as JSON.
        given: the counterexample.
        found: the run, or the number of runs tried in vain.
    """
    name = given.property_name
    if isinstance(found, int):
        content = {"request": dict(request), "property": name, "reproduced": False, "attempts": found}
        lost = any(step.word.row.spends == "power_losses" for step in given.steps)
        more = "; a plain run loses no power, as the counterexample does" if lost else ""
        said = f"none of {found:,} runs violated {name}; --attempts and --time-limit allow more{more}"
        return StatedResult(said, NO_VERDICT, content, troubles=[said], kind="realise", indent=None)
    from traces.shorten.realise import command_line

    command = command_line(found.run)
    content = {
        "request": dict(request), "property": name, "reproduced": True, "attempts": found.attempts,
        "command": command, "tick": found.tick,
    }  # fmt: skip
    text = [f"{command}\nviolates {name} at tick {found.tick}; {found.attempts:,} runs tried"]
    sentence = f"{name} is violated at tick {found.tick} by: {command}"
    return StatedResult(sentence, content=content, text=text, kind="realise")
