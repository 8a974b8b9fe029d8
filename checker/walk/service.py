"""Answer each request: plain JSON in, plain JSON out, without HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from shlex import quote
from typing import TYPE_CHECKING, Any

from checker.requests.exploring.walked import WalkRequest, row_of
from checker.walk.continuing import Bounds
from checker.walk.jobs import GOALS, Jobs
from checker.walk.page import saved_page
from checker.walk.searching import QUANTIFIERS, words_of_search
from checker.walk.served import Served, Serving, address_of
from traces.explain.names import counted
from traces.record.file import trace_text
from traces.record.trace import text_of
from traces.walk.address import Address
from traces.walk.compare import Comparison, compared, fields, only_here
from traces.walk.cover import NEVER, POSSIBLE, RAN, CoveredFunction, covered
from traces.walk.saved import check_current, trace_of
from traces.walk.view import about, drawn, shown
from traces.walk.walker import WalkPlace

if TYPE_CHECKING:
    from zabspec.protocols.registry import Protocol


class BadRequest(Exception):
    """A request is not valid; the message says why, in one sentence."""


@dataclass(frozen=True)
class Card:
    """A model to begin with, for a command line that names none.

    Attributes:
        title: of the card.
        summary: a reason to walk there.
        request: the model.
    """

    title: str
    summary: str
    request: WalkRequest


class Service:
    """The service behind the page.

    Args:
        serving: the models.
        first: the address that is opened first; empty for the cards.
        cards: models to begin with.
        bounds: of every job.
    """

    def __init__(self, serving: Serving, first: str, cards: tuple[Card, ...], bounds: Bounds) -> None:
        self.serving, self.first, self.cards = serving, first, cards
        self.jobs = Jobs(serving, bounds)
        self.does: Mapping[str, Callable[[Fields], dict[str, Any]]] = {
            "start": self.start,
            "view": self.view,
            "trace": self.trace,
            "page": self.page,
            "cover": self.cover,
            "lines": self.lines,
            "watch": self.watch,
            "reload": self.reload,
            "compare": self.compare,
            "pair": self.pair,
            "others": self.others,
            "job": self.job,
            "search": self.search,
            "names": self.names,
            "progress": self.progress,
            "cancel": self.cancel,
        }

    def start(self, given: Fields) -> dict[str, Any]:
        """Return where a walk begins."""
        cards = [{"title": c.title, "summary": c.summary, "address": address_of(c.request).text} for c in self.cards]
        return {"address": self.first, "cards": cards}

    def view(self, given: Fields) -> dict[str, Any]:
        """Return all that is shown of a place."""
        address = Address.read(given.text("address"))
        with self.serving.at(address) as (found, here, whole):
            return {**self.places(found, here, whole), "picture": drawn(whole, address.at)}

    def places(self, found: Served, here: WalkPlace, whole: WalkPlace) -> dict[str, Any]:
        """Return a place and its address."""
        address = found.address(whole.path, len(here.path))
        return {
            "address": address.text,
            "command": f"zabcheck walk {quote(address.text)}",
            "about": about_of(found),
            "reloads": not found.walker.model.protocol.text.released,
            "place": shown(here),
            "ahead": len(whole.path) - len(here.path),
        }

    def trace(self, given: Fields) -> dict[str, Any]:
        """Return the path to a place as a trace file."""
        address = Address.read(given.text("address"))
        with self.serving.at(address) as (_, here, _):
            trace = trace_of(here)
        name = trace.property_name or "walk"
        return {
            "name": f"zabcheck-{name}.trace.json",
            "text": trace_text(trace),
            "sentence": f"{len(trace.steps)} steps, replayed in the simulator",
        }

    def page(self, given: Fields) -> dict[str, Any]:
        """Return a walk as one file."""
        address = Address.read(given.text("address"))
        levels = given.number("levels", 1, 2)
        with self.serving.at(address) as (found, _, whole):
            made = saved_page(
                found, replace(address, at=min(address.at, len(whole.path))), whole, levels, about_of(found)
            )
        return {"name": "zabcheck-walk.html", "text": made.text, "sentence": made.said}

    def cover(self, given: Fields) -> dict[str, Any]:
        """Return which lines of the protocol ran on the path to a place."""
        with self.serving.at(Address.read(given.text("address"))) as (found, here, _):
            check_current(found.walker)
            return {"functions": functions_told(covered(here))}

    def lines(self, given: Fields) -> dict[str, Any]:
        """Begin a search for lines and steps that never run."""
        return {"job": self.jobs.lines(Address.read(given.text("address")))}

    def watch(self, given: Fields) -> dict[str, Any]:
        """Return whether the source of a model has changed."""
        found = self.serving.model(Address.read(given.text("address")))
        return {"changed": text_of(found.request.model.name) != found.walker.model.protocol.text.digest}

    def reload(self, given: Fields) -> dict[str, Any]:
        """Read the source of a model again, and take the same steps as far as they are possible."""
        address = Address.read(given.text("address"))
        with self.serving.at(address) as (found, _, whole):
            fresh = self.serving.reload(found.request)
            with fresh.lock:
                result = compared(whole, fresh.walker)
            taken, steps = len(result.end.path), len(whole.path)
        said = f"reloaded: all {steps} steps are possible as before"
        if result.refused:
            said = f"reloaded: step {taken + 1} is no longer possible ({result.refused}); this is the state before it"
        elif result.first is not None:
            said = f"reloaded: all {steps} steps are possible; the first difference is after {result.first.at} steps"
        at = taken if result.refused else min(address.at, taken)
        return {"address": fresh.address(result.end.path, at).text, "sentence": said}

    def others(self, given: Fields) -> dict[str, Any]:
        """Return models that the one of an address may be compared with."""
        address = Address.read(given.text("address"))
        with self.serving.at(address) as (found, _, _):
            return {"others": [[name, other.text] for name, other in others_of(found.request)]}

    def compare(self, given: Fields) -> dict[str, Any]:
        """Return the path of an address in another model: its end there, and where both first differ."""
        address, other = Address.read(given.text("address")), Address.read(given.text("other"))
        with self.serving.both(address, replace(other, way=(), at=0)) as ((found, _, whole), (theirs, _, _)):
            if theirs is found:
                raise BadRequest("this is the same model")
            result = compared(whole, theirs.walker)
            there = theirs.address(result.end.path)
        first, taken, steps = result.first, len(result.end.path), len(whole.path)
        return {
            "address": there.text,
            "sentence": sentence_of(result, steps),
            "taken": taken,
            "first": None
            if first is None
            else {
                "at": first.at,
                "left": list(first.left),
                "right": list(first.right),
                "fields": [list(each) for each in first.fields],
                "address": theirs.address(result.end.path, min(first.at, taken)).text,
            },
            "uncompared": list(result.alone),
        }

    def pair(self, given: Fields) -> dict[str, Any]:
        """Return two models side by side: what differs at their places, and where one goes to follow the other."""
        left, right = Address.read(given.text("left")), Address.read(given.text("right"))
        leads = given.text("leads")
        if leads not in ("", "left", "right"):
            raise BadRequest("leads is left, right or empty")
        with self.serving.both(left, right) as (first, second):
            mine, theirs = (second, first) if leads == "right" else (first, second)
            result = compared(mine[2], theirs[0].walker)
            at, taken = len(mine[1].path), len(result.end.path)
            follows, refused = "", ""
            if leads:
                follows = theirs[0].address(result.end.path, min(at, taken)).text
                refused = result.refused if at > taken else ""
                theirs = (theirs[0], theirs[0].walker.place(result.end.path[: min(at, taken)]), result.end)
            here, there = (theirs[1], mine[1]) if leads == "right" else (mine[1], theirs[1])
            together = taken >= at and theirs[1].path == result.end.path[:at]
            return {
                "sentence": sentence_of_pair(result, at, together, "right" if leads == "right" else "left"),
                "first": None if result.first is None else result.first.at,
                "together": together,
                "follows": follows,
                "refused": refused,
                "marks": {
                    "left": marks_of(here, there),
                    "right": marks_of(there, here),
                },
            }

    def job(self, given: Fields) -> dict[str, Any]:
        """Begin a search for a run."""
        address = Address.read(given.text("address"))
        goal = given.text("goal")
        if goal not in GOALS:
            raise BadRequest(f"there is no goal {goal[:40]!r}; there are {', '.join(GOALS)}")
        return {"job": self.jobs.begin(address, goal, given.text("property"), given.flag("here"))}

    def search(self, given: Fields) -> dict[str, Any]:
        """Begin a search for a state in which an expression is true."""
        address = Address.read(given.text("address"))
        return {"job": self.jobs.search(address, given.text("expression"), given.flag("here"))}

    def names(self, given: Fields) -> dict[str, Any]:
        """Return the names that an expression may use."""
        with self.serving.at(Address.read(given.text("address"))) as (found, _, _):
            return {"names": words_of_search(found.walker.model), "quantifiers": list(QUANTIFIERS)}

    def progress(self, given: Fields) -> dict[str, Any]:
        """Return the progress of a job."""
        job = self.jobs.job(given.number("job", 1, 1 << 30))
        told = {"state": job.state, "sentence": job.said, "address": job.address}
        if (looked := job.looked) is None:
            return told
        lines = {"functions": functions_told(looked.functions), "steps": list(looked.never)}
        return {**told, **lines, "complete": looked.complete}

    def cancel(self, given: Fields) -> dict[str, Any]:
        """Cancel a job."""
        self.jobs.cancel(given.number("job", 1, 1 << 30))
        return {}

    def close(self) -> None:
        """End all jobs."""
        self.jobs.close()


def about_of(found: Served) -> dict[str, Any]:
    """Return the facts about a model at every place; for the release of a known bug also what happens there."""
    told, row = about(found.walker), row_of(found.walker.model.configuration)
    return told if row is None else {**told, "changed": [f"ZK-{row.issue}: {row.says.rstrip('.')}", *told["changed"]]}


def fix_said(protocol: Protocol, name: str) -> str:
    """Return a fix, and what it does."""
    return f"the fix {name}: {' '.join(protocol.variants[name].summary.split())}"


def others_of(request: WalkRequest) -> Iterator[tuple[str, Address]]:
    """Yield models to compare one with, each with its name: the unchanged one, one more fix, other releases.

    What merges steps stays, so that the steps of the others are comparable.
    """
    from traces.explain.text import parted
    from zabspec.protocols.registry import PROTOCOLS

    c = request.configuration()
    first, parts, protocol = address_of(request), parted(c), PROTOCOLS[c.protocol]
    rest = {name: value for name, value in first.options.items() if name not in ("variant", "release", "repair")}

    def model(*names: str) -> Address:
        said = ",".join(filter(None, names))
        return Address(first.protocol, rest | ({"variant": said} if said else {}))

    if not parts.release:
        if c.variant:
            yield f"{c.protocol} without {' and '.join(parts.rules + parts.fixes)}", model(*parts.merged)
        return
    of = [name for name in c.variant.split(",") if name in protocol.declared.releases]
    row = row_of(c)
    if row is not None:  # what the release of a known bug lacks
        said = fix_said(protocol, row.fix[0]) if len(row.fix) == 1 else f"the fixes {', '.join(row.fix)}"
        yield f"this release with {said}", model(*of, *parts.fixes, *row.fix, *parts.merged, *parts.rules)
    for name, variant in protocol.variants.items():
        fits = not variant.needs or {*variant.needs} & {*of, *parts.rules}
        if variant.repairs and fits and name not in parts.fixes and (row is None or (name,) != row.fix):
            named = fix_said(protocol, name)
            yield f"this release with {named}", model(*of, *parts.fixes, name, *parts.merged, *parts.rules)
    for variant_name, numbers in protocol.declared.releases.items():
        number = next((n for n in numbers if n[:1].isdigit()), variant_name)
        yield f"{number}, as it was released", model(variant_name, *parts.merged)


def sentence_of(c: Comparison, steps: int) -> str:
    """Return the result of a comparison in a sentence."""
    if c.first is None:
        return f"Both take all {steps} steps, with the same states and the same possible steps."
    what = " and ".join(
        (["the possible steps differ"] if c.first.left or c.first.right else [])
        + (["the states differ"] if c.first.fields else [])
    )
    where = f"After {c.first.at} steps {what}" if c.first.at else f"In the initial state {what}"
    if c.refused:
        return f"{where}; the other model does not take step {len(c.end.path) + 1} ({c.refused})."
    return f"{where}; both take all {steps} steps."


def sentence_of_pair(c: Comparison, at: int, together: bool, leads: str) -> str:
    """Return a sentence on two models side by side.

    Args:
        c: the steps of the leading one, taken in the other.
        at: the number of steps at which it stands.
        together: whether the other stands after the same steps.
        leads: which of them leads.
    """
    if c.first is None:
        count = len(c.end.path)
        if not together:
            return f"Each continues separately. Along the steps of the {leads} both are equal."
        return (
            f"Both are equal along the run of {counted(count, 'step')}."
            if count
            else ("Both have equal initial states.")
        )
    what = " and ".join(
        (["possible steps"] if c.first.left or c.first.right else []) + (["states"] if c.first.fields else [])
    )
    where = f"Both first differ after {counted(c.first.at, 'step')}, in their {what}"
    if c.refused and at > len(c.end.path):
        other = "left" if leads == "right" else "right"
        return (
            f"{where}. The {other} does not take step {len(c.end.path) + 1} ({c.refused}): each continues separately."
        )
    return (
        f"{where}."
        if together
        else f"Each continues separately. Along the steps of the {leads}: {where[0].lower()}{where[1:]}."
    )


def marks_of(here: WalkPlace, there: WalkPlace) -> dict[str, Any]:
    """Return what is marked at a place beside another: steps that the other does not have, and fields that differ."""
    return {
        "depth": len(here.path),
        "steps": [p.index for p in only_here(here, there)],
        "fields": [name for name, _, _ in fields(here, there)],
    }


def functions_told(functions: Iterable[CoveredFunction]) -> list[dict[str, Any]]:
    """Return functions with their lines marked, in the page's form."""
    return [{"name": f.name, "file": f.file, "lines": [list(line) for line in f.lines], **counts(f)} for f in functions]


def counts(f: CoveredFunction) -> dict[str, int]:
    """Return how many lines of a function ran, could have run, and never did."""
    return {mark: f.count(mark) for mark in (RAN, POSSIBLE, NEVER)}


class Fields:
    """The fields of a request, each read once.

    Args:
        given: the JSON of its body.

    Raises:
        BadRequest: it is not an object.
    """

    def __init__(self, given: object) -> None:
        if not isinstance(given, dict):
            raise BadRequest("a request is a JSON object")
        self.given = given

    def text(self, name: str) -> str:
        """Return a field that is a text.

        Raises:
            BadRequest: it is not a text.
        """
        value = self.given.get(name)
        if not isinstance(value, str) or any("\ud800" <= c <= "\udfff" for c in value):
            raise BadRequest(f"{name} must be a string")
        return value

    def number(self, name: str, low: int, high: int) -> int:
        """Return a field that is a whole number in a range.

        Raises:
            BadRequest: it is not.
        """
        value = self.given.get(name)
        if type(value) is not int or not low <= value <= high:
            raise BadRequest(f"{name} must be a whole number, {low} to {high}")
        return value

    def flag(self, name: str) -> bool:
        """Return a field that is a boolean; False if it is missing.

        Raises:
            BadRequest: it is neither true nor false.
        """
        value = self.given.get(name, False)
        if type(value) is not bool:
            raise BadRequest(f"{name} must be true or false")
        return value
