"""Map names of earlier versions to their current names, with a warning for each use.

A script that uses an old name works as before and gets a warning. To remove the old names, delete the entries of these
tables; `docs/decisions/0010-names.md` lists them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = [
    "COMMANDS", "FLAGS", "GONE_VARIANTS", "KEYS", "NAMES", "REMOVED_IN", "Contradiction", "OldNameWarning",
    "current_arguments", "current_command", "current_keys", "current_name", "current_phrases", "reported_by",
    "with_old_keys",
]  # fmt: skip

REMOVED_IN = "0.3"

COMMANDS: Mapping[str, str] = {"bridge": "refine"}

# By command; `zabcheck` is the exploration, without a subcommand.
FLAGS: Mapping[str, Mapping[str, str]] = {
    "zabcheck": {"--goal": "--progress-property"},
    "induct": {"--seconds": "--query-limit"},
    "reenact": {"--text": "--variant", "--out": "--output"},
    "report": {"--again": "--rerun"},
}

# By kind of JSON object or TOML table: the path of a key, with its new name. `[]` is every entry of a list. The paths
# have the new names of the keys before the last, which is the old one.
KEYS: Mapping[str, Mapping[str, str]] = {
    "explore": {
        "coverage.all_asked": "request_covered",
        "coverage.whole_depth": "complete_depth",
        "engine.narrowed": "ample_sets",
        "properties[].symbolic.broken_within": "violated_within",
        "properties[].violation.trouble": "problem",
        "properties[].violation.words": "schedule",
    },
    "live": {
        "progress_properties[].starving.moment": "stabilization_time",
        "progress_properties[].starving.trouble": "problem",
        "progress_properties[].starving.words": "schedule",
        "stable_phase.moments": "stabilization_times",
        "assumed": "assumptions",
        "cut_short": "stopped",
        "goals": "progress_properties",
    },
    "search": {"violations[].trouble": "problem"},
    "mutate": {"asked": "requested"},
    "refine": {"failures[].broken": "violated", "failures[].words": "schedule"},
    "bmc": {"questions": "queries"},
    "induct": {"asked_alone": "requested_clauses", "premises.looked_at": "bounds", "broken": "violated"},
    "minimise": {"goal": "progress_property"},
    "realise": {"found": "reproduced"},
    "sweep": {"question": "requested_grid", "again": "spot_check"},
    "plan": {"asked": "requested", "assumed": "assumptions"},
    "audit": {"findings[].to_do": "recommendation"},
    "check": {"checks[].differences[].says": "sentence", "checks[].found": "result"},
    "zookeeper-residue": {"lines[].trouble": "problem"},
    "reenactment": {"trouble": "problem"},
    # what is read
    "request of live": {"goals": "progress_properties"},
    "request of induct": {"seconds": "query_limit"},
    "trace": {"lasso.goal": "progress_property", "lasso.moment": "stabilization_time"},
    "zabcheck.toml": {"check[].goals": "progress_properties"},
    "zabcheck.prove_inductive": {"seconds": "query_limit"},
}

# By module: a name that it exported, with the new one.
NAMES: Mapping[str, Mapping[str, str]] = {
    "zabcheck": {"QuestionError": "RequestError"},
    "zabcheck.language": {"goal": "progress"},
}

# Variants that are gone: what became of each, as the end of a sentence.
GONE_VARIANTS: Mapping[str, str] = {
    "join-acks-proposals": ": zab now does that without a variant (`acks-ignored` is the earlier behaviour)"
}

Json = Any


# Phrases of saved reports of 0.1, whose sentences are compared with those that follow from their figures.
PHRASES: Mapping[str, str] = {
    "looked at all states to depth": "explored all states to depth",
    "nothing was looked at": "nothing was explored",
    " broken, and no way there known yet": " violated, with no path to it yet",
    "and no other property was judged": "and no other property was checked",
    " judged) was put to the test": " checked) was put to the test",
    "judged where something is delivered": "checked at deliveries",
    "the text tells processes apart": "the protocol distinguishes processes",
    " channels says of no two steps that they commute": " channels declares no two steps to commute",
    "a set that contains a quorum may be none (a weight below zero)": (
        "a superset of a quorum may not be a quorum (a weight below zero)"
    ),
    "processes act by themselves (@action)": "processes take internal steps (@action)",
    "a field of the world says who is down (no is_down)": (
        "a field of the world tracks which processes are down (no is_down)"
    ),
    "the search that leaves out states did not begin, or did not decide": (
        "the reduced search did not start, or had no verdict"
    ),
}


class OldNameWarning(DeprecationWarning):
    """A name of an earlier version is in use."""


class Contradiction(ValueError):
    """An object has a key under its old and its new name, with different values."""


_reporters: list[Callable[[str], None]] = []


@contextmanager
def reported_by(report: Callable[[str], None]) -> Iterator[None]:
    """Call `report` within a block with the sentence of each old name, once, instead of issuing a Python warning.

    The command line writes it on stderr, so that the JSON on stdout stays as it is.
    """
    seen: set[str] = set()

    def once(sentence: str) -> None:
        if sentence not in seen:
            seen.add(sentence)
            report(sentence)

    _reporters.append(once)
    try:
        yield
    finally:
        _reporters.remove(once)


def warn(sentence: str, stacklevel: int = 2) -> None:
    """Report an old name: to the command line if it runs, as a Python warning otherwise."""
    if _reporters:
        _reporters[-1](sentence)
    else:
        warnings.warn(sentence, OldNameWarning, stacklevel=stacklevel + 1)


def is_now(old: str, new: str) -> str:
    """Return the sentence for an old name."""
    return f"{old} is now {new}; the old name will be removed in {REMOVED_IN}"


def current_name(module: str, name: str) -> str:
    """Return what a module's exported name is called now, with a warning if that is another one."""
    new = NAMES.get(module, {}).get(name)
    if new is None:
        return name
    warn(is_now(f"{module}.{name}", f"{module}.{new}"), stacklevel=3)
    return new


def current_command(name: str) -> str:
    """Return what a command is called now, with a warning if that is another name."""
    if name not in COMMANDS:
        return name
    warn(is_now(name, COMMANDS[name]))
    return COMMANDS[name]


def current_arguments(
    command: str, arguments: Sequence[str], takes_value: Callable[[str, str], bool], only_first: bool = False
) -> list[str]:
    """Return the arguments of a command with the new names of its flags, and warn of each old one.

    Args:
        takes_value: whether the second word, which follows the first, a flag, is its value and no flag itself.
        only_first: the first word that is neither a flag nor a value is a subcommand, whose flags are its own.
    """
    renamed = FLAGS.get(command, {})
    out: list[str] = []
    ahead = list(arguments)
    while ahead:
        flag, equals, value = ahead.pop(0).partition("=")
        if (flag == "--" and not equals) or (only_first and not flag.startswith("-")):
            return [*out, flag + equals + value, *ahead]
        if flag in renamed:
            warn(is_now(flag, renamed[flag]))
            flag = renamed[flag]
        out.append(flag + equals + value)
        if not equals and ahead and takes_value(flag, ahead[0]):
            out.append(ahead.pop(0))
    return out


# --- keys ----------------------------------------------------------------------------------------


def objects_at(value: Json, path: Sequence[str]) -> Iterator[dict[str, Json]]:
    """Yield the objects at a path of keys, in which `[]` after a key stands for every entry of its list."""
    if not path:
        if isinstance(value, dict):
            yield value
        return
    name, *rest = path
    inner = value.get(name.removesuffix("[]")) if isinstance(value, dict) else None
    for each in inner if name.endswith("[]") and isinstance(inner, list) else [inner]:
        yield from objects_at(each, rest)


def with_old_keys(kind: str, value: Json) -> Json:
    """Return a JSON value that is to be written, in which each renamed key also stands under its old name."""
    renamed = KEYS.get(kind, {})
    if not renamed:
        return value
    copied = copy_of(value)
    for path, new in renamed.items():
        *parents, old = path.split(".")
        for holder in objects_at(copied, parents):
            if new in holder:
                holder[old] = holder[new]
    return copied


def current_keys(kind: str, value: Json, name: str = "") -> Json:
    """Return a JSON or TOML value that was read, with the new names of its keys, and warn of old ones that stand alone.

    Args:
        name: what the warning calls the file; if empty, it names the kind.

    Raises:
        Contradiction: a key stands there under both names, with different values.
    """
    renamed = KEYS.get(kind, {})
    if not renamed or not isinstance(value, dict):
        return value
    copied = copy_of(value)
    said: list[str] = []
    # from the top: what a list was called is renamed before its entries are looked at
    for path, new in sorted(renamed.items(), key=lambda pair: pair[0].count(".")):
        *parents, old = path.split(".")
        for holder in objects_at(copied, parents):
            if old not in holder:
                continue
            if new not in holder:
                said += [f"{old} is now {new}"] * (f"{old} is now {new}" not in said)
                items = [(new if key == old else key, inner) for key, inner in holder.items()]
                holder.clear()
                holder.update(items)
            elif not same(holder[old], holder[new]):
                raise Contradiction(f"its {old} is the old name of {new}, and has another value")
            else:
                del holder[old]
    if said:
        warn(f"{name or kind}: {', '.join(said)}; the old names will be removed in {REMOVED_IN}", stacklevel=3)
    return copied


def current_phrases(value: Json) -> Json:
    """Return JSON values that were read, with the current phrase for each old one in their strings."""
    if isinstance(value, dict):
        return {key: current_phrases(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [current_phrases(inner) for inner in value]
    if isinstance(value, str):
        for old, new in PHRASES.items():
            value = value.replace(old, new)
    return value


def same(old: Json, new: Json) -> bool:
    """Return whether two JSON values are equal, and of one type in each place: 1, 1.0 and true differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(same(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(same, old, new))
    return type(old) is type(new) and bool(old == new)


def copy_of(value: Json) -> Json:
    """Return a copy of JSON values; whatever is no object or list is not copied."""
    if isinstance(value, Mapping):
        return {key: copy_of(inner) for key, inner in value.items()}
    return [copy_of(inner) for inner in value] if isinstance(value, list | tuple) else value
