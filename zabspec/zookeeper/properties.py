"""What must hold of ZooKeeper. Delivered means: applied to the tree of a server that serves. A transferred tree is
delivered when its server begins to serve."""

from __future__ import annotations

from zabspec.authoring.declaration import safety
from zabspec.language.python.lang import broken
from zabspec.worlds.actor import is_down
from zabspec.zookeeper.state import State, FOLLOWING, SERVING


def two_founded(s: State) -> bool:
    """Two leaders have been established."""
    count = 0
    for e in range(s.ELECTIONS + 2):
        if s.founded[e] != 0:
            count = count + 1
    return count > 1


@safety(over="history", witness=two_founded)
def acknowledged_survives(s: State) -> bool:
    """What a server that serves has applied is in the tree of every leader established in a later epoch."""
    for e in range(s.ELECTIONS + 2):
        for d in range(s.ELECTIONS + 2):
            if d < e and s.founded[e] != 0 and (s.exposed[d] | s.founded[e]) != s.founded[e]:
                return broken(f"the leader of epoch {e} lacks what was served in epoch {d}")
    return True


def two_serve(s: State) -> bool:
    """A leader and a follower of it serve."""
    for p in range(s.NODES):
        if s.phase[p] == SERVING and s.role[p] == FOLLOWING:
            return True
    return False


@safety(witness=two_serve)
def trees_agree(s: State) -> bool:
    """Of two servers that serve, one has applied all that the other has, and nothing before it."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            if s.phase[p] == SERVING and s.phase[q] == SERVING and not is_prefix(s.tree[p], s.tree[q]):
                return broken(f"p{p} and p{q} serve, and neither tree is a beginning of the other")
    return True


def is_prefix(a: int, b: int) -> bool:
    """Whether one of two sets of transactions is a beginning of the other: whoever lacks the first that is not in
    both has none after it."""
    d = a ^ b
    low = d & (0 - d)
    return d == 0 or a < low or b < low


@safety(witness=two_serve)
def initial_history(s: State) -> bool:
    """A server serves only in an epoch whose leader is established, and has applied what that leader began with."""
    for p in range(s.NODES):
        if s.phase[p] == SERVING and s.founded[s.term[p]] == 0:
            return broken(f"p{p} serves in epoch {s.term[p]}, whose leader is not established")
        if s.phase[p] == SERVING and (s.founded[s.term[p]] | s.tree[p] | 1) != (s.tree[p] | 1):
            return broken(f"p{p} serves in epoch {s.term[p]} without all of its initial history")
    return True


def one_founded(s: State) -> bool:
    """A leader has been established."""
    for e in range(s.ELECTIONS + 2):
        if s.founded[e] != 0:
            return True
    return False


@safety(over="history", witness=one_founded)
def one_leader_an_epoch(s: State) -> bool:
    """No two leaders are established in one epoch."""
    if s.twice:
        return broken("two leaders were established in one epoch")
    return True


@safety(over="history", witness=one_founded)
def zxids_are_of_their_epoch(s: State) -> bool:
    """A leader proposes zxids of its own epoch, as no other leader does."""
    if s.strayed:
        return broken("a leader has proposed a zxid of another epoch than its own")
    return True


@safety(over="history", witness=one_founded)
def no_stop(s: State) -> bool:
    """No server stops for a packet that its peer may send."""
    if s.threw:
        return broken("a server has stopped for a packet that its peer may send")
    return True


@safety(over="history", witness=one_founded)
def answers_count(s: State) -> bool:
    """What a leader reads as the answer to NEWLEADER is one."""
    if s.swallowed:
        return broken("an acknowledgement of a transaction was read as the answer to NEWLEADER")
    return True


def one_reads_its_log(s: State) -> bool:
    """A leader has read its log for a learner: only where it does (`walk`)."""
    return s.walked


@safety(over="history", witness=one_reads_its_log)
def sync_is_whole(s: State) -> bool:
    """What a leader reads from its log for a learner has all that the learner lacks of its tree."""
    if s.skipped:
        return broken("a leader has sent a learner what comes behind transactions that it has left out")
    return True


def one_has_crashed(s: State) -> bool:
    """A server has crashed."""
    if s.crashes_left < s.CRASHES:  # also where it starts again in the same step
        return True
    for p in range(s.NODES):
        if is_down(s, p):
            return True
    return False


@safety(witness=one_has_crashed)
def starts_again(s: State) -> bool:
    """Every server that has crashed can start."""
    for p in range(s.NODES):
        if s.refused[p]:
            return broken(f"p{p} refuses to start, with what is on its disk")
    return True
