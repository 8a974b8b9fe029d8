"""What `zabcheck` answers to who asks nothing but the model: its verdicts, and the second opinion that it then has."""

from __future__ import annotations

from checker.requests.base.model import MODEL, ModelRequest
from checker.requests.explore import Explore
from tests.second.harness.book import Book
from tests.second.harness.differences import Difference, Undecided
from tests.second.harness.question import Question

STATES = 20_000


def compared(question: Question, book: Book) -> Difference | Undecided | str | None:
    """Hold the command's violations against the reference, and hear its second opinion."""
    model, names = ModelRequest.of(question.configuration), [p.name for p in question.properties]
    if not names:
        return "nothing is judged"
    for engine in ("compiled", "interpret"):
        answer = Explore(
            **{name: getattr(model, name) for name in MODEL}, properties=names, keep_going=True, evidence="explored",
            depth=question.request.get("max_depth"), max_states=STATES, engine=engine,
        ).answer()  # fmt: skip
        if answer.second.none:
            return answer.second.none
        if answer.second.difference:
            return Difference("asked", "the second opinion differs", [answer.second.difference])
        r, depths = answer.exploration, {n: v["depth"] for n, v in book.verdicts.items() if v["result"] == "violated"}
        if r.error or r.failed:
            return None
        if r.stopped or not (book.complete or question.request["max_depth"]):
            return Undecided("one of the searches was ended")
        found = {name: violation.depth for name, violation in r.violations.items()}
        wrong = [
            f"{name}: {found.get(name)}, {depths.get(name)}" for name in names if found.get(name) != depths.get(name)
        ]
        if wrong:
            return Difference("asked", "violated at other depths", wrong)
    return None
