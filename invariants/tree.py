"""State properties of a small replicated tree above `abcast` and `abdeliver` (LADIS'08 1, 2).

The tree is a function of what a run shows, so that no state has it. Clients ask for writes: a set of the node /a, if it
is at an expected version or whatever that is, or the creation of a sequential node. Wherever a request is made, it is
forwarded to the primary, which turns it into an idempotent transaction: a record of the state that it leaves, computed
from the tree that the primary had when it broadcast. That tree has what the primary had delivered, and after that what
it had broadcast itself in the same leadership. The record is what a server answers when it delivers the transaction; a
server's tree is the records of what it delivered, in that order. No protocol reads a request, so every abcast may be of
any of them: a property is asked of all requests of each three abcasts, the others being refused.

`docs/explanation/case-studies.md` says more; `tests/invariants/test_tree.py` has a second judge, which runs trees.
"""

from __future__ import annotations

from invariants.core import same_instance, was_abcast
from invariants.registry import HISTORY, STATE, Property
from zabspec.language.python.lang import Node, State, broken

# A request: none, a set of /a at any version, a sequential node, and a set of /a if it is at version 0, 1 or 2.
TREE_SET, TREE_SEQUENTIAL, TREE_SET_AT, TREE_REQUESTS = 1, 2, 3, 6
TREE_WORKLOADS = TREE_REQUESTS * TREE_REQUESTS * TREE_REQUESTS
TREE_FIRST = 0 + (1 << 8) + (2 << 16)  # the first three abcasts
TREE_PAPERS = TREE_SET + (TREE_SET << 8) + ((TREE_SET_AT + 1) << 16)  # LADIS'08 2: w1, w2, and w3 if /a is at version 1

# Three abcasts, their requests and their answers are each three bytes of a number. A tree is the version of /a, the
# place (from 1) of who wrote it, and how many sequential nodes there are, a byte each.


# --- the tree -----------------------------------------------------------------------------------


def tree_byte(word: int, place: int) -> int:
    """Return one of the bytes of a number."""
    return (word >> (8 * place)) & 255


def tree_answer(tree: int, request: int) -> int:
    """Return the answer to a request in a tree: the version of /a, or the number of the sequential node, from 1.

    The answer is 0 if the request is refused.
    """
    version = tree_byte(tree, 0)
    if request == TREE_SEQUENTIAL:
        return tree_byte(tree, 2) + 1
    if request == TREE_SET or (request >= TREE_SET_AT and request - TREE_SET_AT == version):
        return version + 1
    return 0


def tree_applied(tree: int, request: int, writer: int, answer: int) -> int:
    """Return the tree with the record of a transaction, which contains its answer; repeating it changes nothing."""
    if answer == 0:
        return tree
    if request == TREE_SEQUENTIAL:
        return (tree & 65535) + (answer << 16)
    return tree - (tree & 65535) + (writer << 8) + answer


# --- the trees of a run ---------------------------------------------------------------------------


def tree_place(three: int, k: int) -> int:
    """Return which of three abcasts the k-th is; 3 if it is none of them."""
    for x in range(3):
        if tree_byte(three, x) == k:
            return x
    return 3


def tree_after(h: State, p: Node, n: int, three: int, requests: int, answers: int) -> int:
    """Return the tree of p after the first n of its deliveries."""
    tree = 0
    for j in range(n):
        x = tree_place(three, h.delivered[p][j].value - 1)
        if x < 3:
            tree = tree_applied(tree, tree_byte(requests, x), x + 1, tree_byte(answers, x))
    return tree


def tree_seen(h: State, k: int, three: int, requests: int, answers: int) -> int:
    """Return the tree of abcast k's primary: "a perfect view of the future state of the replicated database"."""
    p = h.abcast_by[k]
    tree = 0
    for j in range(len(h.delivered[p])):
        x = tree_place(three, h.delivered[p][j].value - 1)
        if x < 3 and h.delivered[p][j].value - 1 in h.abcast_after[k]:
            tree = tree_applied(tree, tree_byte(requests, x), x + 1, tree_byte(answers, x))
    for x in range(3):
        j = tree_byte(three, x)
        if j < k and same_instance(h, j, k) and j not in h.abcast_after[k]:
            tree = tree_applied(tree, tree_byte(requests, x), x + 1, tree_byte(answers, x))
    return tree


def tree_answers(h: State, three: int, requests: int) -> int:
    """Return the answers of the primaries of three abcasts to their requests."""
    answers = 0
    for x in range(3):
        k = tree_byte(three, x)
        if k < h.abcasts:
            tree = tree_seen(h, k, three, requests, answers)
            answers = answers + (tree_answer(tree, tree_byte(requests, x)) << (8 * x))
    return answers


def tree_answered(h: State, k: int) -> bool:
    """Return whether the client of abcast k may have its answer: some server delivered the transaction."""
    return any(h.delivered[p][j].value == k + 1 for p in range(h.NODES) for j in range(len(h.delivered[p])))


def tree_choices(h: State) -> int:
    """Return how many ways there are to choose three abcasts, made or not, and their requests."""
    n: int = max(3, h.abcasts)
    return (n * (n - 1) * (n - 2) // 6) * (TREE_WORKLOADS + 1)


def tree_three(h: State, w: int) -> int:
    """Return the three abcasts of the w-th choice."""
    left = w // (TREE_WORKLOADS + 1)
    for c in range(max(3, h.abcasts)):
        for b in range(c):
            for a in range(b):
                if left == 0:
                    return a + (b << 8) + (c << 16)
                left = left - 1
    return TREE_FIRST


def tree_requests(h: State, w: int, three: int) -> int:
    """Return the requests of the w-th choice, those of the paper's example first.

    The result is -1 if one of the three abcasts has not been made, though a request was chosen for it.
    """
    u = w % (TREE_WORKLOADS + 1)
    requests = TREE_PAPERS
    if u > 0:
        asked = u - 1
        requests = asked % TREE_REQUESTS
        requests = requests + ((asked // TREE_REQUESTS % TREE_REQUESTS) << 8)
        requests = requests + ((asked // (TREE_REQUESTS * TREE_REQUESTS)) << 16)
    for x in range(3):
        if tree_byte(requests, x) > 0 and tree_byte(three, x) >= h.abcasts:
            return -1
    return requests


# --- what can be said of every tree at once --------------------------------------------------------


def tree_known(h: State) -> bool:
    """Return whether the deliveries determine the tree of each server.

    Every delivery comes from a request, each pass of a server repeats the one before, and a broadcasting server has
    delivered again all that it had delivered before.
    """
    for p in range(h.NODES):
        if h.diverged[p]:
            return broken(f"p{p} delivered in one pass otherwise than in another, or the same twice in one")
        for j in range(len(h.delivered[p])):
            t = h.delivered[p][j]
            if not was_abcast(h, t):
                return broken(f"p{p} delivered {t}, for which there was no request")
        if h.abcast_in_pass[p] and h.pass_length[p] < len(h.delivered[p]):
            t = h.delivered[p][h.pass_length[p]]
            return broken(f"p{p} broadcast before it had delivered again {t}, which its tree lacked")
    return True


def tree_in_order(h: State) -> bool:
    """Return whether all servers delivered prefixes of one sequence of transactions, each computed from those before.

    Then that sequence explains every answer, whatever the requests were.
    """
    n = 0
    for k in range(h.TXNS):
        if k < h.abcasts and tree_answered(h, k):
            for p in range(h.NODES):
                if n < len(h.delivered[p]) and h.delivered[p][n].value != k + 1:
                    return False
            for j in range(k):
                seen = j in h.abcast_after[k] or same_instance(h, j, k)
                if seen != tree_answered(h, j):
                    return False
            n = n + 1
    return True


# --- one order explains every write's answer -------------------------------------------------------


def tree_gives(first: int, second: int, third: int, requests: int, answers: int, given: int) -> bool:
    """Return whether three requests, done in this order, give the answers that clients have.

    Args:
        given: the set of the requests whose clients have an answer.
    """
    tree = 0
    for n in range(3):
        x = first if n == 0 else second if n == 1 else third
        request = tree_byte(requests, x)
        answer = tree_answer(tree, request)
        if ((given >> x) & 1) == 1 and answer != tree_byte(answers, x):
            return False
        tree = tree_applied(tree, request, x + 1, answer)
    return True


def tree_explained(requests: int, answers: int, given: int) -> bool:
    """Return whether one order explains the answers to three requests.

    A request without an answer may never have been done: it is then as if it came last.
    """
    return any(i != j and tree_gives(i, j, 3 - i - j, requests, answers, given) for i in range(3) for j in range(3))


def tree_with_answer(h: State, three: int) -> int:
    """Return which of three abcasts have an answer, as a set of their places."""
    given = 0
    for x in range(3):
        if tree_byte(three, x) < h.abcasts and tree_answered(h, tree_byte(three, x)):
            given = given + (1 << x)
    return given


def tree_writes(h: State) -> bool:
    """Writes of the tree (LADIS'08 1, 2): one order of the requests, each done once, explains the answer of every
    write. Of any three transactions, whatever their requests to a tree: "[w]rite requests are transformed from
    ZooKeeper requests to idempotent transactions" by the primary, and answered when they are delivered."""
    if not tree_known(h):
        return tree_known(h)
    if tree_in_order(h):
        return True
    for w in range(tree_choices(h)):
        three = tree_three(h, w)
        requests = tree_requests(h, w, three)
        if requests >= 0 and not tree_right(h, three, requests):
            return tree_right(h, three, requests)
    return True


def tree_right(h: State, three: int, requests: int) -> bool:
    """Return whether one order explains what was answered to these requests."""
    answers = tree_answers(h, three, requests)
    if tree_explained(requests, answers, tree_with_answer(h, three)):
        return True
    return tree_wrong(h, three, requests, answers)


def tree_wrong(h: State, three: int, requests: int, answers: int) -> bool:
    """Return False with the sentence that no order explains these answers."""
    first = tree_next_request(requests, 0)
    second = tree_next_request(requests, first + 1)
    third = tree_next_request(requests, second + 1)
    if third < 3:
        return broken(
            f"no order of the writes explains their answers: {tree_described(h, three, requests, answers, first)}; "
            f"{tree_described(h, three, requests, answers, second)}; "
            f"{tree_described(h, three, requests, answers, third)}"
        )
    return broken(
        f"no order of the writes explains their answers: {tree_described(h, three, requests, answers, first)}; "
        f"{tree_described(h, three, requests, answers, second)}"
    )


def tree_next_request(requests: int, x: int) -> int:
    """Return the first of three requests, from the x-th on, that is one; 3 if there is none."""
    for y in range(3):
        if y >= x and tree_byte(requests, y) > 0:
            return y
    return 3


def tree_described(h: State, three: int, requests: int, answers: int, x: int) -> bool:
    """Return False with the sentence for what became of a request, for use within another sentence."""
    t = h.abcast_txn[tree_byte(three, x)]
    request = tree_byte(requests, x)
    answer = tree_byte(answers, x)
    if request == TREE_SEQUENTIAL:
        return broken(f"{t} created sequential node {answer}")
    if request == TREE_SET:
        return broken(f"{t} set /a, whose version became {answer}")
    if answer == 0:
        return broken(f"{t}, to set /a if at version {request - TREE_SET_AT}, was refused")
    return broken(f"{t} set /a, as it was at version {request - TREE_SET_AT}, and it became {answer}")


def tree_example(h: State) -> bool:
    """The causal example (LADIS'08 2): one order explains the answers to w1, w2 and w3. A leader proposes w1 and w2,
    each a set of /a, and fails when w1 is delivered; a new leader, which does not know w2, proposes and delivers w3,
    a set if /a is at version 1. If w2 is delivered after all, "the causal ordering of the client requests will be
    violated and the replicated state will be incorrect"."""
    if not tree_example_made(h):
        return True
    if not tree_known(h):
        return tree_known(h)
    return tree_right(h, TREE_FIRST, TREE_PAPERS)


def tree_example_made(h: State) -> bool:
    """The primary of w1 broadcasts w2 after it, and another, that delivered w1 and not w2, broadcasts w3; w1 and w3 are
    delivered."""
    if h.abcasts < 3 or not same_instance(h, 0, 1) or same_instance(h, 1, 2):
        return False
    if 0 not in h.abcast_after[2] or 1 in h.abcast_after[2]:
        return False
    return tree_answered(h, 0) and tree_answered(h, 2)


def two_answered(h: State) -> bool:
    """Two writes are answered, and the one was computed from the other."""
    for k in range(h.TXNS):
        for j in range(k):
            if k < h.abcasts and (j in h.abcast_after[k] or same_instance(h, j, k)):
                if tree_answered(h, j) and tree_answered(h, k):
                    return True
    return False


# --- each session's reads never go back ------------------------------------------------------------


def tree_moves(h: State, p: Node, i: int, q: Node) -> bool:
    """Return whether a session that read at p after i transactions may read at q now.

    It stayed there, or the last zxid that q delivered is not below the last that the session saw.
    """
    j = h.pass_length[q]
    if p == q and i <= j:
        return True
    if j == 0:
        return False
    t = h.delivered[p][i - 1]
    u = h.delivered[q][j - 1]
    behind = u.epoch < t.epoch or (u.epoch == t.epoch and u.counter < t.counter)
    return not behind


def tree_goes_back(before: int, after: int) -> bool:
    """Return whether a read shows an older tree than another.

    Its /a has a lower version, or the same version by another writer, or it has fewer sequential nodes.
    """
    version = tree_byte(before, 0)
    later = tree_byte(after, 0)
    if version == later and tree_byte(before, 1) != tree_byte(after, 1):
        return True
    return version > later or tree_byte(before, 2) > tree_byte(after, 2)


def tree_kept_in_view(h: State, anywhere: bool) -> bool:
    """Return whether no session's read goes back; with `anywhere` a server refuses no session."""
    if not tree_known(h):
        return tree_known(h)
    if tree_in_order(h) and not tree_lags(h, anywhere):
        return True
    for w in range(tree_choices(h)):
        three = tree_three(h, w)
        requests = tree_requests(h, w, three)
        if requests >= 0 and not tree_goes_on(h, three, requests, anywhere):
            return tree_goes_on(h, three, requests, anywhere)
    return True


def tree_goes_on(h: State, three: int, requests: int, anywhere: bool) -> bool:
    """Return whether no session's read goes back if three abcasts are of these requests."""
    answers = tree_answers(h, three, requests)
    for p in range(h.NODES):
        for q in range(h.NODES):
            for i in range(len(h.delivered[p]) + 1):
                if i > 0 and (anywhere or tree_moves(h, p, i, q)):
                    before = tree_after(h, p, i, three, requests, answers)
                    after = tree_after(h, q, h.pass_length[q], three, requests, answers)
                    if tree_goes_back(before, after):
                        return broken(f"{tree_went_back(h, p, i, q, before, after)}")
    return True


def tree_went_back(h: State, p: Node, i: int, q: Node, before: int, after: int) -> bool:
    """Return False with the sentence that a read goes back."""
    t = h.delivered[p][i - 1]
    version = tree_byte(before, 0)
    later = tree_byte(after, 0)
    if version == later and tree_byte(before, 1) != tree_byte(after, 1):
        return broken(
            f"a session that read at p{p} when the last delivered there was {t} reads at p{q} now, and finds another "
            f"/a under the same version {version}"
        )
    if version > later:
        return broken(
            f"a session that read at p{p} when the last delivered there was {t} reads at p{q} now, and finds /a at "
            f"version {later} after version {version}"
        )
    return broken(
        f"a session that read at p{p} when the last delivered there was {t} reads at p{q} now, and finds "
        f"{tree_byte(after, 2)} sequential nodes after {tree_byte(before, 2)}"
    )


def tree_lags(h: State, anywhere: bool) -> bool:
    """Return whether a session may read at a server that has delivered less than it saw."""
    return any(
        i > h.pass_length[q] and (anywhere or tree_moves(h, p, i, q))
        for p in range(h.NODES)
        for q in range(h.NODES)
        for i in range(len(h.delivered[p]) + 1)
    )


def tree_reads(h: State) -> bool:
    """Reads of the tree (LADIS'08 1, 2): no session's reads go back: a client "always has a consistent view of the
    ZooKeeper state". A server answers a read from its own tree, and refuses a session that saw a later zxid than
    it has delivered."""
    return tree_kept_in_view(h, False)


def tree_reads_anywhere(h: State) -> bool:
    """Reads of the tree (LADIS'08 1, 2) if no server refused a session: no session's reads go back, wherever it reads
    next. It does not hold: another server may have delivered less."""
    return tree_kept_in_view(h, True)


def a_session_moves(h: State) -> bool:
    """A session that read a write at one server may read at another that has it too."""
    return any(
        p != q and i > 0 and tree_moves(h, p, i, q)
        for p in range(h.NODES)
        for q in range(h.NODES)
        for i in range(len(h.delivered[p]) + 1)
    )


# --- requests broadcast in the place of transactions -------------------------------------------------


def tree_executed(h: State, p: Node, three: int, requests: int) -> int:
    """Return the answers of p, had the requests been broadcast as they are.

    The fourth byte has which of the three it has answered. A server then does whatever it delivers. Its tree outlives
    the pass that it gives up, in the snapshot that it reads when it recovers; the next pass delivers from the
    beginning, and it does all of that again.
    """
    tree = 0
    out = 0
    for m in range(len(h.given_up[p]) + 1):
        n = h.pass_length[p]
        if m < len(h.given_up[p]):
            n = h.given_up[p][m]
        for j in range(n):
            x = tree_place(three, h.delivered[p][j].value - 1)
            if x < 3:
                answer = tree_answer(tree, tree_byte(requests, x))
                tree = tree_applied(tree, tree_byte(requests, x), x + 1, answer)
                if ((out >> (24 + x)) & 1) == 0:
                    out = out + (1 << (24 + x)) + (answer << (8 * x))
    return out


def tree_replied(h: State, three: int, requests: int, x: int) -> int:
    """Return the largest answer that a server gave to a request, plus 1; 0 if none gave any.

    It is 256 more if two servers answered differently, so that a client gets either answer by chance.
    """
    most = 0
    least = 255
    for p in range(h.NODES):
        out = tree_executed(h, p, three, requests)
        if ((out >> (24 + x)) & 1) == 1:
            most = max(most, tree_byte(out, x) + 1)
            least = min(least, tree_byte(out, x) + 1)
    return most if most <= least else most + 256


def tree_replayed(h: State) -> bool:
    """A server delivers again what it delivered in a pass that it gave up."""
    return any(len(h.given_up[p]) > 0 and h.pass_length[p] > 0 for p in range(h.NODES))


def tree_requests_right(h: State, three: int, requests: int) -> bool:
    """Return whether one order explains the answers of all servers to requests that were broadcast as they are."""
    answers = 0
    given = 0
    for x in range(3):
        most = tree_replied(h, three, requests, x)
        if most > 255:
            t = h.abcast_txn[tree_byte(three, x)]
            answers = (most - 257) << (8 * x)
            return broken(
                f"two servers give {t} different answers, as one of them had done again what it delivered again before "
                f"it came to that: {tree_described(h, three, requests, answers, x)}"
            )
        if most > 0:
            given = given + (1 << x)
            answers = answers + ((most - 1) << (8 * x))
    if tree_explained(requests, answers, given):
        return True
    return tree_wrong(h, three, requests, answers)


def tree_writes_of_requests(h: State) -> bool:
    """Writes of the tree (LADIS'08 1, 2) if the primary broadcast requests as they are and servers did them: one
    order of the requests, each done once, explains the answer of every write. It does not hold: "multiple delivery of
    a transaction is fine" because transactions are idempotent, and requests are not."""
    if not tree_known(h):
        return tree_known(h)
    if tree_in_order(h) and not tree_replayed(h):
        return True
    for w in range(tree_choices(h)):
        three = tree_three(h, w)
        requests = tree_requests(h, w, three)
        if requests >= 0 and not tree_requests_right(h, three, requests):
            return tree_requests_right(h, three, requests)
    return True


def tree_example_of_requests(h: State) -> bool:
    """The causal example (LADIS'08 2) if the primary broadcast requests as they are and servers did them: one order
    explains the answers to w1, w2 and w3. It does not hold: a server that replays w1 refuses w3, and another does
    it."""
    if not tree_example_made(h):
        return True
    if not tree_known(h):
        return tree_known(h)
    return tree_requests_right(h, TREE_FIRST, TREE_PAPERS)


# --- snapshots with replay -----------------------------------------------------------------------------


def tree_done(h: State, p: Node, tree: int, start: int, n: int, three: int, requests: int, answers: int) -> int:
    """Return a tree after p's deliveries from the start-th up to the n-th.

    They are records of transactions, or, if `answers` is below 0, requests that are done as they come.
    """
    for j in range(n):
        x = tree_place(three, h.delivered[p][j].value - 1)
        if j >= start and x < 3:
            request = tree_byte(requests, x)
            answer = tree_answer(tree, request) if answers < 0 else tree_byte(answers, x)
            tree = tree_applied(tree, request, x + 1, answer)
    return tree


def tree_snapshot(h: State, p: Node, a: int, b: int, three: int, requests: int, answers: int) -> int:
    """Return a snapshot of p with /a as it was after a deliveries, and the sequential nodes as after b."""
    of_a = tree_done(h, p, 0, 0, a, three, requests, answers)
    of_nodes = tree_done(h, p, 0, 0, b, three, requests, answers)
    return (of_a & 65535) + (tree_byte(of_nodes, 2) << 16)


def tree_restored(h: State, three: int, requests: int, answers: int) -> bool:
    """Return whether every server regains its tree however a snapshot was made.

    It was begun after some delivery, with /a of one moment since and the sequential nodes of another, and everything is
    replayed that the server delivered since it was begun.
    """
    for p in range(h.NODES):
        n = len(h.delivered[p])
        before = tree_done(h, p, 0, 0, n, three, requests, answers)
        for start in range(n + 1):
            for a in range(n + 1):
                for b in range(n + 1):
                    if a >= start and b >= start:
                        snapshot = tree_snapshot(h, p, a, b, three, requests, answers)
                        after = tree_done(h, p, snapshot, start, n, three, requests, answers)
                        if after != before:
                            return broken(
                                f"p{p} began a snapshot when it had delivered {start}, saved /a when it had delivered "
                                f"{a} and the sequential nodes when {b}, and replayed what it delivered after {start}: "
                                f"/a is at version {tree_byte(after, 0)} and was at {tree_byte(before, 0)}, and "
                                f"there are {tree_byte(after, 2)} sequential nodes where there were "
                                f"{tree_byte(before, 2)}"
                            )
    return True


def tree_restores(h: State, transactions: bool) -> bool:
    """Return whether every server regains its tree from any snapshot, whatever the requests were."""
    for w in range(tree_choices(h)):
        three = tree_three(h, w)
        requests = tree_requests(h, w, three)
        if requests >= 0:
            answers = tree_answers(h, three, requests) if transactions else -1
            if not tree_restored(h, three, requests, answers):
                return tree_restored(h, three, requests, answers)
    return True


def tree_snapshots(h: State) -> bool:
    """Snapshots of the tree with replay (LADIS'08 2): a server that reads in its snapshot and replays "all delivered
    transactions after that snapshot" has the tree that it had, though the snapshot is of no one moment: each node may
    be of another, as long as the replay begins before them all."""
    if not tree_known(h):
        return tree_known(h)
    return tree_restores(h, True)


def tree_snapshots_of_requests(h: State) -> bool:
    """Snapshots of the tree with replay (LADIS'08 2) if the primary broadcast requests as they are and servers did
    them: a server that replays has the tree that it had. It does not hold: what is done in the snapshot already is
    done again."""
    if not tree_known(h):
        return tree_known(h)
    return tree_restores(h, False)


def a_tree_is_written(h: State) -> bool:
    """A server delivered something, so that a snapshot may have been begun before and ended after it."""
    return any(len(h.delivered[p]) > 0 for p in range(h.NODES))


PROPERTIES = (
    Property(
        "tree-writes", HISTORY, "LADIS'08 2",
        "two writes are answered, one computed from the other", tree_writes, two_answered,
        default=False, tables=False,
    ),
    Property(
        "tree-reads", HISTORY, "LADIS'08 2",
        "a session may move to a server that has what it read", tree_reads, a_session_moves,
        default=False, tables=False,
    ),
    Property(
        "tree-reads-anywhere", HISTORY, "LADIS'08 2",
        "a session may move to a server that has what it read", tree_reads_anywhere, a_session_moves,
        default=False, tables=False,
    ),
    Property(
        "tree-example", HISTORY, "LADIS'08 2",
        "w2 follows w1, w3 is broadcast with w1 and without w2, and w1 and w3 are delivered",
        tree_example, tree_example_made,
        default=False, tables=False,
    ),
    Property(
        "tree-writes-of-requests", STATE, "LADIS'08 2",
        "a server delivers again what it had delivered", tree_writes_of_requests, tree_replayed,
        default=False, tables=False, passes=True,
    ),
    Property(
        "tree-example-of-requests", STATE, "LADIS'08 2",
        "w2 follows w1, w3 is broadcast with w1 and without w2, and w1 and w3 are delivered",
        tree_example_of_requests, tree_example_made,
        default=False, tables=False, passes=True,
    ),
    Property(
        "tree-snapshots", HISTORY, "LADIS'08 2",
        "a server delivers while a snapshot may be made", tree_snapshots, a_tree_is_written,
        default=False, tables=False,
    ),
    Property(
        "tree-snapshots-of-requests", HISTORY, "LADIS'08 2",
        "a server delivers while a snapshot may be made", tree_snapshots_of_requests, a_tree_is_written,
        default=False, tables=False,
    ),
)  # fmt: skip
