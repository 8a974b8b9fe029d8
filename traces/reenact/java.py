"""Write a run as a Java test that does not need this project: each step a call, each state assertions.

It is a skeleton: holding packets and stopping threads is left to the reader, who has ZooKeeper's own test classes.
"""

from __future__ import annotations

import re

from traces.record.trace import JsonState, Step
from traces.reenact.compare import is_down
from traces.reenact.plan import ReenactmentPlan
from traces.reenact.starts import STARTS
from traces.reenact.zxids import Zxids

HEAD = """\
import java.util.Arrays;
import java.util.List;

/**
 * {title}
 *
 * {servers} {begins}.
 * <e,n> is the n-th transaction of epoch e. No packet is received and no thread goes on but as a step says.
 *
 * To be filled in: the methods that are abstract, over ZooKeeper's QuorumPeerTestBase or over processes. With JUnit,
 * put @Test on replay().
 */
public abstract class {name} {{
    /** SIGKILL, and a start of the same server with what is on its disk. */
    abstract void crash(int server) throws Exception;
    abstract void start(int server) throws Exception;
    /** A leader is elected by these servers alone; a server joins a leader that there is. */
    abstract void elect(int leader, int... followers) throws Exception;
    abstract void join(int server, int leader) throws Exception;
    /** The first packet that waits from one server to another is received, and it is of this type. */
    abstract void receive(int server, int from, String type) throws Exception;
    /** What these servers send each other from now on is lost. */
    abstract void cut(int server, int other) throws Exception;
    /** A server reads the end of its connection to another. */
    abstract void learnsOfLoss(int server, int other) throws Exception;
    /** A client of this server writes; its answer is not waited for. */
    abstract void propose(int server) throws Exception;
    /** The named thread of a server does its next piece of work, and stops. */
    abstract void goesOn(int server, String work) throws Exception;
    /** What is on its disk, and its lastProcessedZxid. */
    abstract List<String> log(int server) throws Exception;
    abstract int currentEpoch(int server) throws Exception;
    abstract int acceptedEpoch(int server) throws Exception;
    abstract String lastProcessed(int server) throws Exception;

    static void same(Object model, Object server, String what) {{
        if (!model.equals(server)) {{
            throw new AssertionError(what + ": expected " + model + ", found " + server);
        }}
    }}

    void disk(int server, int current, int accepted, String... zxids) throws Exception {{
        same(Arrays.asList(zxids), log(server), "log of server " + server);
        same(current, currentEpoch(server), "currentEpoch of server " + server);
        same(accepted, acceptedEpoch(server), "acceptedEpoch of server " + server);
    }}

    public void replay() throws Exception {{
"""
DISK = ("log", "current_epoch", "accepted_epoch")


def as_java(plan: ReenactmentPlan, title: str, harm: list[str]) -> str:
    """Return the source of the Java test.

    Args:
        plan: the run.
        title: what the run shows; it names the class.
        harm: what is broken at its end.
    """
    observers = "".join(f", and server {plan.ids[p]}, which observes" for p in plan.observers)
    out = [
        HEAD.format(
            title=comment(title), name=class_name(title), leader=plan.ids[0],
            begins=STARTS[plan.configuration.start].said.format(leader=plan.ids[0]),
            servers=f"Three servers that vote{observers}," if observers else "Three servers",
        )
    ]  # fmt: skip
    before = plan.initial
    for step in plan.steps:
        out.append(f"        {call(step, plan.ids)}; // {step.number}\n")
        out += [f"        {line};\n" for line in asserted(before, step.state, plan.ids)]
        before = step.state
    out += [f"        // then: {comment(line)}\n" for line in harm]
    return "".join(out) + "    }\n}\n"


def class_name(title: str) -> str:
    """Return the name of the class and its file."""
    return "Reenact" + "".join(w.capitalize() for w in re.findall(r"[A-Za-z0-9]+", title))


def comment(said: str) -> str:
    """Return text that cannot end a Java comment."""
    return " ".join(said.split()).replace("*/", "* /").replace("\\u", "\\ u")


def call(step: Step, ids: tuple[int, ...]) -> str:
    """Return a step as a Java call."""
    o, kind = step.word.operands, step.word.kind
    if kind in ("crash", "recover"):
        return f"{'crash' if kind == 'crash' else 'start'}({ids[o['process']]})"
    if kind == "elect":
        members = [o["leader"], *(f for f in range(len(ids)) if o["quorum"] >> f & 1)]
        return f"elect({', '.join(str(ids[p]) for p in members)})"
    if kind == "join":
        return f"join({ids[o['process']]}, {ids[o['leader']]})"
    if kind in ("to_leader", "to_follower"):
        ends = (o["leader"], o["follower"]) if kind == "to_leader" else (o["follower"], o["leader"])
        assert step.message is not None
        return f'receive({ids[ends[0]]}, {ids[ends[1]]}, "{step.message.kind}")'
    if kind in ("follower_learns", "leader_learns"):
        ends = (o["follower"], o["leader"]) if kind == "follower_learns" else (o["leader"], o["follower"])
        return f"learnsOfLoss({ids[ends[0]]}, {ids[ends[1]]})"
    if kind == "lose_connection":
        return f"cut({ids[o['follower']]}, {ids[o['leader']]})"
    if kind == "partition":
        return "; ".join(f"cut({ids[a]}, {ids[b]})" for a, b in parted(step, len(ids)))
    assert step.process is not None
    if step.label == "propose":
        return f"propose({ids[step.process]})"
    return f'goesOn({ids[step.process]}, "{step.label}")'


def parted(step: Step, count: int) -> list[tuple[int, int]]:
    """Return the pairs of servers between which a partition cuts the network."""
    return [(a, b) for a in range(count) for b in range(a + 1, count) if side(step, a) != side(step, b)]


def side(step: Step, p: int) -> bool:
    masks = [v for k, v in step.word.operands.items() if k != "choice"]
    return bool(masks and masks[0] >> p & 1)


def asserted(before: JsonState, after: JsonState, ids: tuple[int, ...]) -> list[str]:
    """Return assertions about what a step changed on disks, and in the last processed zxid of running servers."""
    out = []
    for p, n in enumerate(ids):
        if any(before[k][p] != after[k][p] for k in DISK):
            zxids = "".join(f', "{Zxids.said(z)}"' for z in after["log"][p])
            out.append(f"disk({n}, {after['current_epoch'][p]}, {after['accepted_epoch'][p]}{zxids})")
        if before["last_processed"][p] != after["last_processed"][p] and not is_down(after, p):
            out.append(f'same("{Zxids.said(after["last_processed"][p])}", lastProcessed({n}), "server {n}")')
    return out
