"""Progress: which properties some fair run leaves somebody waiting for, in the graph of the stable phase."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from checker.explore.result import Limits
from checker.live.code import LiveCode
from checker.live.run import LiveRun
from tests.second.harness.book import Book
from tests.second.harness.differences import Difference
from tests.second.harness.question import Question
from zabspec.model import ConfigError

MOST = 400  # states of a model, each of which the stable phase may begin in


def compared(question: Question, book: Book, explore: Callable[[Mapping[str, Any]], Book]) -> Difference | str | None:
    """Hold what is said of progress against the reference."""
    if not question.model.protocol.text.goals:
        return "it has no progress property"
    if question.request.get("max_depth") is not None or len(book.keys) > MOST:
        return "the request has a depth, or its model is large"
    if book.errors:
        return "a step errs"
    try:
        code, _ = LiveCode.of(question.model, (), True)
    except ConfigError as why:
        return str(why)
    live = LiveRun(code, 1).run(Limits())
    if live.error or live.stopped or not live.complete:
        return live.error or live.stopped or "the stable phase is not complete"
    goals = explore({**question.request, "live": True}).answer["goals"]
    ours = {goal.name: "violated" if goal.name in live.found else "held" for goal in live.goals}
    wanted = {name: said["result"] for name, said in goals.items()}
    lines = [f"{name}: {ours.get(name)}, for {wanted.get(name)}" for name in sorted(ours.keys() | wanted.keys())]
    return Difference("live", "who waits for ever", lines) if ours != wanted else None
