"""For each bug of the track record: the rule that its mechanism breaks, and the releases that have it by fix versions.

A property may be violated by the mechanism of another bug. The matrix therefore has two questions about a release:
whether the mechanism occurs, and whether the property is violated in a run in which it occurs. The results are compared
with the fix versions of the tickets, and `EXPLAINED` has every difference.
"""

from __future__ import annotations

# Of each row the rule of `zabspec/zookeeper/variants/mechanisms.py`, by the name that it has as a property.
RULES = {
    "3911": "acknowledges-with-lists-empty",
    "4643": "writes-epoch-after-log",
    "4646": "acknowledges-with-queue-empty",
    "4685": "newleader-is-acknowledged-first",
    "4394": "commit-finds-its-proposal",
    "3023": "serves-with-history-applied",
    "4712": "sync-thread-ends-with-its-term",
    "late-drain": "queue-is-drained-before-the-replay",
    "4541": "what-was-logged-in-sync-is-applied",
    "4925": "what-is-applied-in-sync-is-remembered",
    "2355": "diff-leaves-last-processed",
    "2845": "log-is-replayed-at-the-end",
    "4837": "snapshots-hold-nothing-that-is-cut",
    "4837-here": "snapshots-hold-nothing-that-is-cut",
    "1558": "leader-waits-for-a-quorum-to-save",
    "2354": "snapshot-is-no-later-than-the-epoch",
    "log-epoch": "log-is-no-later-than-the-epoch",
    "4882": "tree-is-not-ahead-of-the-log",
    "4785": "queue-is-empty-in-the-new-epoch",
    "1291": "epoch-is-stored-before-it-is-proposed",
    "5094": "interrupted-truncate-clears-the-tree",
    "1282": "epoch-is-written-first",
    "trunc": "truncate-keeps-what-is-committed",
    "2832": "snapshot-keeps-the-running-epoch",
    "forward": "forwarded-without-a-gap",
    "cut": "truncate-leaves-nothing-behind",
    "snap-tail": "snapshot-cuts-the-tail",
    "trunc-snap": "truncate-finds-a-log",
    "trunc-epoch": "truncate-finds-a-log",
    "2872": "snapshot-is-forced-before-epoch",
    "cut-power": "what-was-cut-stays-cut",
    "2307": "accepted-epoch-is-written-first",
    "3701": "snapshot-is-saved-before-epoch",
    "hole": "log-is-replayed-without-a-hole",
    "2418": "log-reaches-committed-log",
    "2099": "log-has-no-hole",
    "2846": "log-has-no-hole",
    "3104": "snapshot-has-what-names-it",
    "late-snapshot": "periodic-snapshot-has-what-was-served",
    "2959": "quorum-has-heard-of-the-epoch",
    "observer-sync": "serves-with-history-applied",
    "log-overwritten": "log-file-is-not-written-over",
    "log-overwritten-here": "log-file-is-not-written-over",
}

ALL = ("3.9.4", "3.9.3", "3.9.2", "3.9.1", "3.6.0", "3.5.10", "3.5.3", "3.4.14", "3.4.10")
FIXED_EVERYWHERE: tuple[str, ...] = ()  # of a bug that was mended before every release that is asked

# Which of the releases asked have the bug, by the fix versions of its ticket and by the tags that contain its fix
# (`git tag --contains`, of the commits that name the ticket). Tags alone mislead once: 3.5.9 contains the fix of 3911
# and its revert (31032cf98, 049ac3322). What has no ticket, or whose ticket names no version (5094), is not here.
HAD: dict[str, tuple[str, ...]] = {
    "3911": ("3.6.0", "3.5.3", "3.4.14", "3.4.10"),
    "4643": ("3.9.1", "3.6.0", "3.5.10", "3.5.3", "3.4.14", "3.4.10"),
    "4646": ("3.9.1", "3.5.10"),
    "4685": ("3.9.1", "3.5.10"),
    "4394": ("3.9.2", "3.9.1", "3.5.10"),
    "3023": ("3.9.2", "3.9.1", "3.6.0", "3.5.10", "3.5.3", "3.4.14", "3.4.10"),
    "4712": ("3.9.2", "3.9.1", "3.5.10"),
    "4541": ("3.9.2", "3.9.1", "3.5.10"),
    "4925": ("3.9.3",),
    "2355": ("3.5.3", "3.4.10"),
    "2845": ("3.5.3", "3.4.10"),
    "4837": ALL,
    "1558": tuple(r for r in ALL if not r.startswith("3.4")),
    "2354": tuple(r for r in ALL if not r.startswith("3.4")),
    "4882": ALL,
    "4785": ("3.9.1", "3.5.10"),
    "1291": FIXED_EVERYWHERE,
    "1282": FIXED_EVERYWHERE,
    "2832": ("3.4.14", "3.4.10"),
    "2872": ("3.5.3", "3.4.14", "3.4.10"),
    "2307": ("3.6.0", "3.5.3", "3.4.14", "3.4.10"),
    "3701": ("3.5.3", "3.4.14", "3.4.10"),
    "2418": ("3.5.10", "3.5.3"),
    "2099": tuple(r for r in ALL if not r.startswith("3.4")),
    "2846": tuple(r for r in ALL if not r.startswith("3.4")),
    "3104": ("3.5.3", "3.4.14", "3.4.10"),
    "2959": ("3.5.3", "3.4.10"),
}

# Where the mechanism occurs and the fix versions say that the release has it not, or the other way round: why.
BEHIND_TRUNC = (
    "before 3.9.3 a learner applies in the synchronization only what is committed behind a TRUNC or a SNAP, and leaves "
    "that out of committedLog as 3.9.3 leaves out what came by a DIFF"
)
NO_SNAPSHOT = (
    "a leader of 3.4.6 and later takes no snapshot before discovery (1558), so that only a periodic snapshot can hold "
    "what a TRUNC cuts, and those are in the model with `snapshots` alone (late-snapshot)"
)
EXPLAINED: dict[tuple[str, str], str] = {
    **{("4925", release): BEHIND_TRUNC for release in ALL if release not in ("3.9.4", "3.9.3")},
    **{("4837", release): NO_SNAPSHOT for release in ("3.4.14", "3.4.10")},
}
