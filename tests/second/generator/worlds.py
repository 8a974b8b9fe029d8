"""What a generated protocol says because of its world: receipts, timers, elections, what is done on a loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.second.generator.kinds import Mail, Number
from tests.second.generator.scope import GUARD, Scope
from tests.second.generator.statements import INDENT, Lines, indented

if TYPE_CHECKING:
    from tests.second.generator.text import Builder


def hooks(b: Builder) -> None:
    """What processes do when they start, crash and start again."""
    if b.chance(0.25):
        body = b.draw.body(b.handler_scope((), False), 1, 1)
        b.parts.append(["def on_start(s: State, p: Node) -> None:", *indented(body)])
    if b.chance(0.2):
        body = b.draw.body(b.handler_scope((), False), 1, 0)
        if b.chance(0.6):
            body.append("forget(s, p)")
        b.parts.append(["def on_crash(s: State, p: Node) -> None:", *indented(body)])
    if b.chance(0.3):
        may_send = tuple(b.words.mails) if b.words.world == "datagrams" and b.chance(0.4) else ()
        b.parts.append(["def on_recovery(s: State, p: Node) -> None:", *b.handled(b.handler_scope(may_send, False))])
    if b.chance(0.06):
        b.parts.append(["def starts_at_once(s: State, p: Node) -> bool:", f"    return {guard(b)}"])


def guard(b: Builder) -> str:
    return b.draw.truth(Scope(GUARD, own="p"), 1)


def receipt(b: Builder, k: int, mail: Mail, own: str, source: str) -> None:
    """What is done with a message."""
    scope = b.handler_scope(may_answer(b, k), b.chance(0.12), own)
    scope.names.mail["m"] = mail
    given = f"s: State, {own}: Node"
    if source:
        given += f", {source}: Node"
        scope.names.processes.append(source)
    if b.words.world == "datagrams" and b.chance(0.15):  # it hands something on, or does nothing
        body = indented(b.draw.send(scope) if scope.may_send else []) or ["    pass"]
    else:
        body = b.handled(scope)
    if b.words.world == "connections" and scope.may_send and b.chance(0.6):
        body += indented(b.draw.send(scope))
    b.parts.append(["@receives", f"def {mail.handler}({given}, m: {mail.name}) -> None:", *body])


def may_answer(b: Builder, k: int) -> tuple[Mail, ...]:
    later = b.later(k)
    if b.words.world == "datagrams":
        return later
    return tuple(m for m in later if m.up != b.words.mails[k].up)


def over_datagrams(b: Builder) -> None:
    """Receipts and timers."""
    words = b.words
    if b.chance(0.15):
        one_receiver(b)
    else:
        for k, mail in enumerate(words.mails):
            receipt(b, k, mail, "p", "source" if b.chance(0.75) else "")
    hooks(b)
    if b.chance(0.3):
        timers(b)
    drawn = b.random.getstate()  # what follows is as without it
    if b.chance(0.2):
        waits(b)
    b.random.setstate(drawn)


def waits(b: Builder) -> None:
    """What a process leaves in flight."""
    kinds = [mail.name for mail in b.words.mails if b.chance(0.6)]
    said = " or ".join([*(f"m.kind == {kind}" for kind in kinds), *(["source == p"] if b.chance(0.2) else [])])
    test = f"({said}) or {guard(b)}" if said else guard(b)
    b.parts.append(["def receivable(s: State, p: Node, source: Node, m: AnyMessage) -> bool:", f"    return {test}"])


def one_receiver(b: Builder) -> None:
    """`on_message` receives all messages; it hands each on by its kind, or treats the first itself."""
    drawn = b.random.getstate()  # what follows is as without it
    itself = b.chance(0.5)
    b.random.setstate(drawn)
    lines = ["def on_message(s: State, p: Node, source: Node, m: AnyMessage) -> None:"]
    for k, mail in enumerate(b.words.mails):
        scope = b.handler_scope(may_answer(b, k), False)
        scope.names.mail["m"] = mail
        scope.names.processes.append("source")
        name, taken = f"take_{mail.name.lower()}", b.handled(scope)
        lines.append(f"    {'if' if k == 0 else 'elif'} m.kind == {mail.name}:")
        if k == 0 and itself:
            lines += [f"    {line}" for part in taken for line in part.split("\n")]
        else:
            b.parts.append([f"def {name}(s: State, p: Node, source: Node, m: {mail.name}) -> None:", *taken])
            lines.append(f"        {name}(s, p, source, m)")
    b.parts.append(lines)


def timers(b: Builder) -> None:
    """A timer, or two."""
    words = b.words
    words.budgets["timeouts"] = 1
    two = b.chance(0.5)
    if two:
        words.budgets["heartbeats"] = 1
    armed = [f"    if timer == 1:\n        return {guard(b)}"] if two else []
    b.parts.append(["def timer_armed(s: State, p: Node, timer: int) -> bool:", *armed, f"    return {guard(b)}"])
    scope = b.handler_scope(tuple(words.mails), b.chance(0.2))
    scope.bind("timer", Number(0, 1))
    again = ["    arm_timer(s, p, 0)"] if b.chance(0.4) else []
    b.parts.append(["def on_timer(s: State, p: Node, timer: int) -> None:", *b.handled(scope), *again])


# --- over connections ---------------------------------------------------------------------------------


def over_connections(b: Builder) -> None:
    """Leaders and followers: an oracle or elections, receipts at either end, losses."""
    words = b.words
    up = tuple(m for m in words.mails if m.up)
    down = tuple(m for m in words.mails if not m.up)
    numbers = [
        c.name for c in words.cells if isinstance(c.kind, Number) and c.of_process and not c.axes and c.name != "role"
    ]
    elects = numbers[: b.random.choice((1, 1, 2))] if numbers and b.chance(0.5) else []
    leads = [f"{INDENT}s.role[l] = LEADING", *indented(part(b, "l", down if not elects else ()))]
    follows = [f"{INDENT}s.role[f] = FOLLOWING", f"{INDENT}s.leader[f] = l", f"{INDENT}connect(s, f, l)"]
    greeting = b.draw.message(b.handler_scope((), False, "f"), up[0]) if up else None
    hello = [f"{INDENT}send_to_leader(s, f, {greeting})"] if greeting else []
    if elects:
        b.declared.append(f"elects={tuple(elects)!r}")
        words.budgets["elections"] = b.random.choice((1, 2))
        b.parts.append(["def on_elected(s: State, l: Node) -> None:", *leads])
        b.parts.append(
            ["def on_follow(s: State, f: Node, l: Node) -> None:", *follows, *indented(part(b, "f", ())), *hello]
        )
    else:
        lead = [line.replace("[l]", "[p]") for line in [f"{INDENT}s.role[p] = LEADING", *indented(part(b, "p", ()))]]
        follow = [line.replace("[f]", "[p]").replace("(s, f,", "(s, p,") for line in [*follows, *hello_of(b, up)]]
        b.parts.append(
            [
                "def on_oracle(s: State, p: Node, l: Node) -> None:",
                "    if l == p:",
                *indented(lead),
                "    else:",
                *indented(follow),
            ]
        )
    for k, mail in enumerate(words.mails):
        receipt(b, k, mail, "l" if mail.up else "f", "f" if mail.up else "")
    losses(b)
    hooks(b)
    asks(b)
    for fault in ("losses", "crashes"):
        words.budgets.setdefault(fault, 0)


def hello_of(b: Builder, up: tuple[Mail, ...]) -> Lines:
    made = b.draw.message(b.handler_scope((), False, "p"), up[0]) if up else None
    return [f"{INDENT}send_to_leader(s, p, {made})"] if made else []


def part(b: Builder, own: str, may_send: tuple[Mail, ...]) -> Lines:
    """What a process does besides, at times nothing."""
    return b.draw.body(b.handler_scope(may_send, False, own), 1, 1) if b.chance(0.6) else []


def losses(b: Builder) -> None:
    """Each end gives up when it learns of a loss; a leader may go on without a follower."""
    give_up = ["    disconnect(s, {0})", "    forget(s, {0})"]
    if b.chance(0.15):  # it looks for a leader again without closing its end
        give_up = ["    s.role[{0}] = LOOKING"]
    b.parts.append(
        [
            "def on_leader_lost(s: State, f: Node) -> None:",
            *indented(part(b, "f", ())),
            *(line.format("f") for line in give_up),
        ]
    )
    test = b.draw.truth(b.handler_scope((), False, "l"), 1)
    give_up = ["    disconnect(s, {0})", "    forget(s, {0})"]
    lines = [line.format("l") for line in give_up]
    lines = [f"    if {test}:", *indented(lines)] if b.chance(0.6) else lines
    b.parts.append(["def on_follower_lost(s: State, l: Node, f: Node) -> None:", *lines])
    if b.chance(0.5):
        b.words.budgets["timeouts"] = 1
        more = ["def may_time_out(s: State, p: Node) -> bool:", f"    return {guard(b)}"] if b.chance(0.4) else []
        b.parts += [more] if more else []
        b.parts.append(["def on_timeout(s: State, p: Node) -> None:", *(line.format("p") for line in give_up)])


def asks(b: Builder) -> None:
    """Hooks that only look."""
    if b.chance(0.15):
        b.parts.append(["def receivable(s: State, p: Node, f: Node, m: AnyMessage) -> bool:", f"    return {guard(b)}"])
    if b.chance(0.1):
        b.parts.append(["def may_receive(s: State, p: Node) -> bool:", f"    return {guard(b)}"])
    if any(d.startswith("elects") for d in b.declared) and b.chance(0.2):
        b.parts.append(["def may_vote(s: State, p: Node) -> bool:", f"    return {guard(b)}"])
    if any(d.startswith("elects") for d in b.declared) and b.chance(0.2):
        b.parts.append(["def may_lead(s: State, p: Node) -> bool:", f"    return {guard(b)}"])
