"""Which hypotheses each query needs. Written by `checker.proof.find_needs`; do not edit."""

from __future__ import annotations

__all__ = ["NEEDS"]

# fmt: off
NEEDS: dict[str, tuple[str, ...]] = {
    "initiation | promised is the latest": (
    ),
    "initiation | one promise an epoch": (
    ),
    "initiation | acknowledged at most promised": (
        "the beginning is before all",
    ),
    "initiation | f.a at most f.p": (
        "epochs are ordered",
    ),
    "initiation | ACK-E is of an earlier epoch": (
    ),
    "initiation | chosen with promises": (
    ),
    "initiation | one leader an epoch": (
        "histories are a tree",
    ),
    "initiation | histories are closed": (
        "histories are a tree",
    ),
    "initiation | histories are sequences": (
        "histories are a tree",
    ),
    "initiation | histories in ACK-E are sequences": (
        "histories are a tree",
    ),
    "initiation | logs are sequences": (
        "histories are a tree",
    ),
    "initiation | initial histories are closed": (
        "histories are a tree",
    ),
    "initiation | logs begin with the initial history": (
    ),
    "initiation | logs go on with what was abcast": (
    ),
    "initiation | abcast is of the epoch": (
    ),
    "initiation | initial histories are older": (
    ),
    "initiation | histories are of f.a's epoch or older": (
        "the beginning is before all",
    ),
    "initiation | only what was abcast": (
        "histories are a tree",
    ),
    "initiation | abcast after what precedes it": (
        "histories are a tree",
    ),
    "initiation | zxid order": (
        "histories are a tree",
    ),
    "initiation | the root is in all": (
        "histories are a tree",
    ),
    "initiation | NEWLEADER carries the log": (
        "histories are a tree",
    ),
    "initiation | acknowledged a chosen one": (
    ),
    "initiation | histories follow the log": (
    ),
    "initiation | histories in ACK-E follow the log": (
    ),
    "initiation | every f.a was set by a NEWLEADER": (
    ),
    "initiation | accepted of the log": (
        "histories are a tree",
    ),
    "initiation | accepted without gaps": (
        "histories are a tree",
    ),
    "initiation | the initial history is accepted": (
    ),
    "initiation | the history is what was accepted": (
    ),
    "initiation | ACK-E tells of the latest": (
    ),
    "initiation | ACK-E tells all": (
    ),
    "initiation | chosen in later histories": (
        "the beginning is before all",
    ),
    "initiation | later histories add nothing older": (
        "epochs are ordered",
        "the beginning is before all",
    ),
    "initiation | established with acknowledgements": (
    ),
    "initiation | committed is accepted by a quorum": (
    ),
    "initiation | committed is accepted by all of a quorum": (
    ),
    "initiation | committed of the log": (
        "histories are a tree",
    ),
    "initiation | established commits the initial history": (
    ),
    "initiation | commits to joiners are of what is committed": (
    ),
    "initiation | committed is in later histories": (
    ),
    "initiation | nothing older after established": (
    ),
    "initiation | ready has delivered": (
    ),
    "initiation | delivered is committed": (
    ),
    "initiation | delivered without gaps": (
        "histories are a tree",
    ),
    "initiation | delivered in order": (
        "histories are a tree",
    ),
    "initiation | abcast in order": (
    ),
    "initiation | abcast after delivery": (
    ),
    "consecution f.1.2 | promised is the latest": (
        "epochs are ordered",
        "promised is the latest",
    ),
    "consecution f.1.2 | one promise an epoch": (
        "promised is the latest",
        "one promise an epoch",
    ),
    "consecution f.1.2 | f.a at most f.p": (
        "epochs are ordered",
        "f.a at most f.p",
    ),
    "consecution f.1.2 | ACK-E is of an earlier epoch": (
        "epochs are ordered",
        "f.a at most f.p",
        "ACK-E is of an earlier epoch",
    ),
    "consecution f.1.2 | chosen with promises": (
        "chosen with promises",
    ),
    "consecution f.1.2 | histories in ACK-E are sequences": (
        "histories are closed",
        "histories are sequences",
        "histories in ACK-E are sequences",
    ),
    "consecution f.1.2 | histories are of f.a's epoch or older": (
        "histories are of f.a's epoch or older",
    ),
    "consecution f.1.2 | only what was abcast": (
        "only what was abcast",
    ),
    "consecution f.1.2 | the root is in all": (
        "the root is in all",
    ),
    "consecution f.1.2 | histories in ACK-E follow the log": (
        "histories follow the log",
        "histories in ACK-E follow the log",
    ),
    "consecution f.1.2 | every f.a was set by a NEWLEADER": (
        "every f.a was set by a NEWLEADER",
    ),
    "consecution f.1.2 | ACK-E tells of the latest": (
        "acknowledged at most promised",
        "ACK-E tells of the latest",
    ),
    "consecution f.1.2 | ACK-E tells all": (
        "the history is what was accepted",
        "ACK-E tells all",
    ),
    "consecution f.1.2 | chosen in later histories": (
        "epochs are ordered",
        "chosen in later histories",
    ),
    "consecution f.1.2 | later histories add nothing older": (
        "epochs are ordered",
        "later histories add nothing older",
    ),
    "lemma l.1.2 | one of the cases holds": (
        "every f.a was set by a NEWLEADER",
    ),
    "lemma l.1.2 | nobody of Q has a later f.a": (
        "epochs are ordered",
        "the root is in all",
        "ACK-E tells of the latest",
    ),
    "lemma l.1.2 | Q accepted nothing else of its epoch": (
        "histories in ACK-E are sequences",
        "logs are sequences",
        "only what was abcast",
        "zxid order",
        "the root is in all",
        "histories in ACK-E follow the log",
        "accepted of the log",
        "ACK-E tells of the latest",
        "ACK-E tells all",
    ),
    "lemma l.1.2 | what is older than that epoch was in its initial history": (
        "epochs are ordered",
        "logs go on with what was abcast",
        "abcast is of the epoch",
        "histories in ACK-E follow the log",
    ),
    "consecution l.1.2 | chosen with promises": (
        "quorums intersect",
        "chosen with promises",
    ),
    "consecution l.1.2 | one leader an epoch": (
        "the beginning is before all",
        "one promise an epoch",
        "ACK-E is of an earlier epoch",
        "chosen with promises",
        "one leader an epoch",
    ),
    "consecution l.1.2 | logs are sequences": (
        "histories in ACK-E are sequences",
        "logs are sequences",
        "logs begin with the initial history",
    ),
    "consecution l.1.2 | initial histories are closed": (
        "histories in ACK-E are sequences",
        "initial histories are closed",
    ),
    "consecution l.1.2 | logs begin with the initial history": (
        "logs begin with the initial history",
    ),
    "consecution l.1.2 | logs go on with what was abcast": (
        "logs go on with what was abcast",
    ),
    "consecution l.1.2 | abcast is of the epoch": (
        "abcast is of the epoch",
    ),
    "consecution l.1.2 | initial histories are older": (
        "epochs are ordered",
        "ACK-E is of an earlier epoch",
        "logs go on with what was abcast",
        "abcast is of the epoch",
        "initial histories are older",
        "histories in ACK-E follow the log",
        "every f.a was set by a NEWLEADER",
    ),
    "consecution l.1.2 | only what was abcast": (
        "only what was abcast",
    ),
    "consecution l.1.2 | the root is in all": (
        "the root is in all",
    ),
    "consecution l.1.2 | NEWLEADER carries the log": (
        "histories are a tree",
        "logs begin with the initial history",
        "NEWLEADER carries the log",
    ),
    "consecution l.1.2 | acknowledged a chosen one": (
        "acknowledged a chosen one",
    ),
    "consecution l.1.2 | histories follow the log": (
        "logs begin with the initial history",
        "the root is in all",
        "histories follow the log",
    ),
    "consecution l.1.2 | histories in ACK-E follow the log": (
        "logs begin with the initial history",
        "the root is in all",
        "histories in ACK-E follow the log",
    ),
    "consecution l.1.2 | accepted of the log": (
        "accepted of the log",
    ),
    "consecution l.1.2 | the initial history is accepted": (
        "acknowledged a chosen one",
        "the initial history is accepted",
    ),
    "consecution l.1.2 | chosen in later histories": (
        "quorums intersect",
        "epochs are ordered",
        "promised is the latest",
        "one leader an epoch",
        "acknowledged a chosen one",
        "histories in ACK-E follow the log",
        "accepted of the log",
        "chosen in later histories",
        "nobody of Q has a later f.a",
        "Q accepted nothing else of its epoch",
    ),
    "consecution l.1.2 | later histories add nothing older": (
        "quorums intersect",
        "epochs are ordered",
        "promised is the latest",
        "one leader an epoch",
        "logs begin with the initial history",
        "acknowledged a chosen one",
        "later histories add nothing older",
        "nobody of Q has a later f.a",
        "what is older than that epoch was in its initial history",
    ),
    "consecution l.1.2 | established with acknowledgements": (
        "established with acknowledgements",
    ),
    "consecution l.1.2 | committed of the log": (
        "committed of the log",
    ),
    "consecution l.1.2 | established commits the initial history": (
        "established with acknowledgements",
        "established commits the initial history",
    ),
    "consecution l.1.2 | committed is in later histories": (
        "epochs are ordered",
        "one leader an epoch",
        "the root is in all",
        "acknowledged a chosen one",
        "histories in ACK-E follow the log",
        "accepted of the log",
        "committed is accepted by a quorum",
        "committed is in later histories",
        "nobody of Q has a later f.a",
        "Q accepted nothing else of its epoch",
    ),
    "consecution l.1.2 | nothing older after established": (
        "epochs are ordered",
        "one leader an epoch",
        "logs begin with the initial history",
        "acknowledged a chosen one",
        "established with acknowledgements",
        "nothing older after established",
        "nobody of Q has a later f.a",
        "what is older than that epoch was in its initial history",
    ),
    "consecution l.1.2 | ready has delivered": (
        "established with acknowledgements",
        "ready has delivered",
    ),
    "consecution l.1.2 | abcast after delivery": (
        "logs begin with the initial history",
        "abcast is of the epoch",
        "abcast after delivery",
    ),
    "consecution f.2.1 | acknowledged at most promised": (
        "epochs are ordered",
        "acknowledged at most promised",
        "f.a at most f.p",
    ),
    "consecution f.2.1 | f.a at most f.p": (
        "epochs are ordered",
        "f.a at most f.p",
    ),
    "consecution f.2.1 | histories are closed": (
        "histories are a tree",
        "histories are closed",
    ),
    "consecution f.2.1 | histories are sequences": (
        "histories are a tree",
        "histories are sequences",
    ),
    "consecution f.2.1 | histories are of f.a's epoch or older": (
        "epochs are ordered",
        "f.a at most f.p",
        "initial histories are closed",
        "logs go on with what was abcast",
        "abcast is of the epoch",
        "initial histories are older",
        "histories are of f.a's epoch or older",
        "only what was abcast",
        "zxid order",
        "the root is in all",
        "NEWLEADER carries the log",
        "every f.a was set by a NEWLEADER",
        "delivered without gaps",
    ),
    "consecution f.2.1 | only what was abcast": (
        "only what was abcast",
        "abcast after what precedes it",
        "NEWLEADER carries the log",
    ),
    "consecution f.2.1 | the root is in all": (
        "histories are a tree",
        "the root is in all",
    ),
    "consecution f.2.1 | acknowledged a chosen one": (
        "NEWLEADER carries the log",
        "acknowledged a chosen one",
    ),
    "consecution f.2.1 | histories follow the log": (
        "epochs are ordered",
        "acknowledged at most promised",
        "f.a at most f.p",
        "one leader an epoch",
        "logs are sequences",
        "logs begin with the initial history",
        "NEWLEADER carries the log",
        "acknowledged a chosen one",
        "histories follow the log",
        "every f.a was set by a NEWLEADER",
    ),
    "consecution f.2.1 | histories in ACK-E follow the log": (
        "promised is the latest",
        "ACK-E is of an earlier epoch",
        "logs begin with the initial history",
        "histories in ACK-E follow the log",
    ),
    "consecution f.2.1 | every f.a was set by a NEWLEADER": (
        "every f.a was set by a NEWLEADER",
    ),
    "consecution f.2.1 | accepted of the log": (
        "logs are sequences",
        "NEWLEADER carries the log",
        "accepted of the log",
    ),
    "consecution f.2.1 | accepted without gaps": (
        "histories are a tree",
        "accepted without gaps",
    ),
    "consecution f.2.1 | the initial history is accepted": (
        "NEWLEADER carries the log",
        "the initial history is accepted",
    ),
    "consecution f.2.1 | the history is what was accepted": (
        "epochs are ordered",
        "acknowledged at most promised",
        "f.a at most f.p",
        "one leader an epoch",
        "NEWLEADER carries the log",
        "acknowledged a chosen one",
        "accepted of the log",
        "the history is what was accepted",
    ),
    "consecution f.2.1 | ACK-E tells of the latest": (
        "promised is the latest",
        "ACK-E tells of the latest",
    ),
    "consecution f.2.1 | ACK-E tells all": (
        "promised is the latest",
        "ACK-E is of an earlier epoch",
        "ACK-E tells all",
    ),
    "consecution f.2.1 | chosen in later histories": (
        "epochs are ordered",
        "chosen in later histories",
    ),
    "consecution f.2.1 | later histories add nothing older": (
        "epochs are ordered",
        "later histories add nothing older",
    ),
    "consecution f.2.1 | established with acknowledgements": (
        "established with acknowledgements",
    ),
    "consecution f.2.1 | committed is accepted by a quorum": (
        "committed is accepted by a quorum",
    ),
    "consecution f.2.1 | committed is accepted by all of a quorum": (
        "committed is accepted by all of a quorum",
    ),
    "consecution f.2.1 | delivered without gaps": (
        "histories are a tree",
        "delivered without gaps",
    ),
    "consecution l.2.2 | established with acknowledgements": (
        "quorums intersect",
        "established with acknowledgements",
    ),
    "consecution l.2.2 | committed is accepted by a quorum": (
        "quorums intersect",
        "the initial history is accepted",
        "committed is accepted by a quorum",
    ),
    "consecution l.2.2 | committed is accepted by all of a quorum": (
        "the initial history is accepted",
        "committed is accepted by all of a quorum",
    ),
    "consecution l.2.2 | committed of the log": (
        "initial histories are closed",
        "logs begin with the initial history",
        "committed of the log",
    ),
    "consecution l.2.2 | established commits the initial history": (
        "established commits the initial history",
    ),
    "consecution l.2.2 | commits to joiners are of what is committed": (
        "commits to joiners are of what is committed",
    ),
    "consecution l.2.2 | committed is in later histories": (
        "the initial history is accepted",
        "chosen in later histories",
        "committed is in later histories",
    ),
    "consecution l.2.2 | nothing older after established": (
        "later histories add nothing older",
        "nothing older after established",
    ),
    "consecution l.2.2 | ready has delivered": (
        "ready has delivered",
    ),
    "consecution l.2.2 | delivered is committed": (
        "delivered is committed",
    ),
    "consecution f.2.2 | the root is in all": (
        "the root is in all",
    ),
    "consecution f.2.2 | ready has delivered": (
        "ready has delivered",
    ),
    "consecution f.2.2 | delivered is committed": (
        "committed of the log",
        "commits to joiners are of what is committed",
        "delivered is committed",
    ),
    "consecution f.2.2 | delivered without gaps": (
        "histories are a tree",
        "histories are closed",
        "delivered without gaps",
    ),
    "consecution f.2.2 | delivered in order": (
        "histories are a tree",
        "histories are closed",
        "histories are sequences",
        "delivered without gaps",
        "delivered in order",
    ),
    "consecution f.3.1 | abcast is of the epoch": (
        "abcast is of the epoch",
    ),
    "consecution f.3.1 | ready has delivered": (
        "an attempt has one leader",
        "ready has delivered",
        "delivered without gaps",
    ),
    "consecution l.3.1 | logs are sequences": (
        "histories are a tree",
        "logs are sequences",
    ),
    "consecution l.3.1 | logs begin with the initial history": (
        "histories are a tree",
        "logs begin with the initial history",
        "only what was abcast",
        "the root is in all",
    ),
    "consecution l.3.1 | logs go on with what was abcast": (
        "logs go on with what was abcast",
    ),
    "consecution l.3.1 | abcast is of the epoch": (
        "abcast is of the epoch",
    ),
    "consecution l.3.1 | only what was abcast": (
        "only what was abcast",
    ),
    "consecution l.3.1 | abcast after what precedes it": (
        "only what was abcast",
        "abcast after what precedes it",
    ),
    "consecution l.3.1 | zxid order": (
        "epochs are ordered",
        "the beginning is before all",
        "logs go on with what was abcast",
        "abcast is of the epoch",
        "initial histories are older",
        "zxid order",
    ),
    "consecution l.3.1 | NEWLEADER carries the log": (
        "NEWLEADER carries the log",
    ),
    "consecution l.3.1 | histories follow the log": (
        "histories follow the log",
    ),
    "consecution l.3.1 | histories in ACK-E follow the log": (
        "histories in ACK-E follow the log",
    ),
    "consecution l.3.1 | accepted of the log": (
        "accepted of the log",
    ),
    "consecution l.3.1 | committed of the log": (
        "committed of the log",
    ),
    "consecution l.3.1 | abcast in order": (
        "abcast is of the epoch",
        "abcast in order",
    ),
    "consecution l.3.1 | abcast after delivery": (
        "ready has delivered",
        "abcast after delivery",
    ),
    "consecution f.3.2 | histories are closed": (
        "histories are closed",
    ),
    "consecution f.3.2 | histories are sequences": (
        "histories are a tree",
        "one leader an epoch",
        "histories are sequences",
        "logs are sequences",
        "abcast is of the epoch",
        "acknowledged a chosen one",
        "histories follow the log",
        "every f.a was set by a NEWLEADER",
    ),
    "consecution f.3.2 | histories are of f.a's epoch or older": (
        "epochs are ordered",
        "abcast is of the epoch",
        "histories are of f.a's epoch or older",
    ),
    "consecution f.3.2 | only what was abcast": (
        "abcast is of the epoch",
        "only what was abcast",
    ),
    "consecution f.3.2 | the root is in all": (
        "the root is in all",
    ),
    "consecution f.3.2 | histories follow the log": (
        "one leader an epoch",
        "logs begin with the initial history",
        "abcast is of the epoch",
        "the root is in all",
        "acknowledged a chosen one",
        "histories follow the log",
        "every f.a was set by a NEWLEADER",
    ),
    "consecution f.3.2 | accepted of the log": (
        "abcast is of the epoch",
        "accepted of the log",
    ),
    "consecution f.3.2 | accepted without gaps": (
        "accepted without gaps",
        "the history is what was accepted",
    ),
    "consecution f.3.2 | the initial history is accepted": (
        "the initial history is accepted",
    ),
    "consecution f.3.2 | the history is what was accepted": (
        "one leader an epoch",
        "acknowledged a chosen one",
        "the history is what was accepted",
    ),
    "consecution f.3.2 | ACK-E tells all": (
        "promised is the latest",
        "ACK-E is of an earlier epoch",
        "ACK-E tells all",
    ),
    "consecution f.3.2 | chosen in later histories": (
        "epochs are ordered",
        "chosen in later histories",
    ),
    "consecution f.3.2 | committed is accepted by a quorum": (
        "committed is accepted by a quorum",
    ),
    "consecution f.3.2 | committed is accepted by all of a quorum": (
        "committed is accepted by all of a quorum",
    ),
    "consecution f.3.2 | delivered without gaps": (
        "delivered without gaps",
    ),
    "consecution l.3.2 | committed is accepted by a quorum": (
        "quorums intersect",
        "accepted without gaps",
        "committed is accepted by a quorum",
    ),
    "consecution l.3.2 | committed is accepted by all of a quorum": (
        "accepted without gaps",
        "committed is accepted by all of a quorum",
    ),
    "consecution l.3.2 | committed of the log": (
        "histories are a tree",
        "logs are sequences",
        "abcast is of the epoch",
        "committed of the log",
    ),
    "consecution l.3.2 | established commits the initial history": (
        "established commits the initial history",
    ),
    "consecution l.3.2 | commits to joiners are of what is committed": (
        "commits to joiners are of what is committed",
    ),
    "consecution l.3.2 | committed is in later histories": (
        "initial histories are closed",
        "chosen in later histories",
        "committed is in later histories",
    ),
    "consecution l.3.2 | delivered is committed": (
        "delivered is committed",
    ),
    "consecution f.3.3 | the root is in all": (
        "the root is in all",
    ),
    "consecution f.3.3 | ready has delivered": (
        "ready has delivered",
    ),
    "consecution f.3.3 | delivered is committed": (
        "committed of the log",
        "delivered is committed",
    ),
    "consecution f.3.3 | delivered without gaps": (
        "histories are a tree",
        "histories are closed",
        "delivered without gaps",
    ),
    "consecution f.3.3 | delivered in order": (
        "histories are a tree",
        "histories are closed",
        "histories are sequences",
        "delivered without gaps",
        "delivered in order",
    ),
    "consecution l.3.3 | NEWLEADER carries the log": (
        "histories are a tree",
        "logs begin with the initial history",
        "NEWLEADER carries the log",
    ),
    "consecution l.3.4 | commits to joiners are of what is committed": (
        "commits to joiners are of what is committed",
    ),
    "consecution restart | the root is in all": (
        "the root is in all",
    ),
    "consecution restart | delivered without gaps": (
        "histories are a tree",
        "the root is in all",
        "delivered without gaps",
    ),
    "implied | integrity": (
        "only what was abcast",
        "the root is in all",
        "accepted of the log",
        "committed is accepted by a quorum",
        "delivered is committed",
    ),
    "implied | total-order": (
        "histories are a tree",
        "delivered in order",
    ),
    "implied | agreement": (
        "epochs are ordered",
        "one leader an epoch",
        "logs are sequences",
        "logs begin with the initial history",
        "committed of the log",
        "committed is in later histories",
        "delivered is committed",
        "delivered without gaps",
    ),
    "implied | local-primary-order": (
        "delivered in order",
        "abcast in order",
    ),
    "implied | global-primary-order": (
        "epochs are ordered",
        "one leader an epoch",
        "logs are sequences",
        "logs begin with the initial history",
        "only what was abcast",
        "zxid order",
        "committed of the log",
        "committed is in later histories",
        "delivered is committed",
        "delivered in order",
    ),
    "implied | primary-integrity": (
        "epochs are ordered",
        "histories are a tree",
        "one leader an epoch",
        "logs are sequences",
        "logs begin with the initial history",
        "logs go on with what was abcast",
        "abcast is of the epoch",
        "established with acknowledgements",
        "committed of the log",
        "committed is in later histories",
        "nothing older after established",
        "ready has delivered",
        "delivered is committed",
        "abcast after delivery",
    ),
    "implied | one-leader-an-epoch": (
        "one leader an epoch",
        "established with acknowledgements",
    ),
    "implied | delivered-is-chosen": (
        "delivered is committed",
    ),
    "implied | durability": (
        "epochs are ordered",
        "acknowledged at most promised",
        "the root is in all",
        "acknowledged a chosen one",
        "histories follow the log",
        "every f.a was set by a NEWLEADER",
        "accepted of the log",
        "the history is what was accepted",
        "committed is accepted by all of a quorum",
        "committed is in later histories",
        "delivered is committed",
    ),
    "initiation | one connection at a time": (
    ),
    "initiation | a connection is its follower's": (
    ),
    "initiation | NEWLEADER is sent once": (
    ),
    "initiation | NEWLEADER is sent first": (
    ),
    "initiation | connections carry what was sent": (
    ),
    "initiation | NEWLEADER and proposals are all of the log": (
    ),
    "initiation | proposed in the order of the log": (
    ),
    "initiation | what was received is in the history": (
    ),
    "initiation | NEWLEADER has all that came before": (
    ),
    "consecution l.1.2 | connections carry what was sent": (
        "connections carry what was sent",
    ),
    "consecution l.1.2 | NEWLEADER and proposals are all of the log": (
        "NEWLEADER carries the log",
        "connections carry what was sent",
        "NEWLEADER and proposals are all of the log",
    ),
    "consecution f.2.1 | NEWLEADER is sent first": (
        "NEWLEADER is sent once",
        "NEWLEADER is sent first",
    ),
    "consecution f.2.1 | what was received is in the history": (
        "one connection at a time",
        "a connection is its follower's",
        "NEWLEADER is sent once",
        "NEWLEADER is sent first",
        "what was received is in the history",
    ),
    "consecution f.2.1 | NEWLEADER has all that came before": (
        "one connection at a time",
        "NEWLEADER has all that came before",
    ),
    "derived f.2.1 | sent": (
        "connections carry what was sent",
    ),
    "derived f.2.1 | fifo": (
        "one leader an epoch",
        "NEWLEADER carries the log",
        "acknowledged a chosen one",
        "every f.a was set by a NEWLEADER",
        "NEWLEADER is sent once",
        "NEWLEADER is sent first",
        "connections carry what was sent",
        "NEWLEADER has all that came before",
    ),
    "consecution l.3.1 | NEWLEADER is sent first": (
        "NEWLEADER is sent first",
    ),
    "consecution l.3.1 | connections carry what was sent": (
        "a connection has two ends",
        "connections carry what was sent",
    ),
    "consecution l.3.1 | NEWLEADER and proposals are all of the log": (
        "NEWLEADER is sent once",
        "NEWLEADER and proposals are all of the log",
    ),
    "consecution l.3.1 | proposed in the order of the log": (
        "NEWLEADER and proposals are all of the log",
        "proposed in the order of the log",
    ),
    "consecution f.3.2 | NEWLEADER is sent first": (
        "NEWLEADER is sent first",
    ),
    "consecution f.3.2 | what was received is in the history": (
        "a connection is its follower's",
        "what was received is in the history",
    ),
    "consecution f.3.2 | NEWLEADER has all that came before": (
        "one connection at a time",
        "NEWLEADER has all that came before",
    ),
    "derived f.3.2 | sent": (
        "connections carry what was sent",
    ),
    "derived f.3.2 | fifo": (
        "histories are a tree",
        "histories are closed",
        "NEWLEADER is sent first",
        "proposed in the order of the log",
        "what was received is in the history",
    ),
    "consecution l.3.3 | connections carry what was sent": (
        "connections carry what was sent",
    ),
    "consecution restart | one connection at a time": (
        "one connection at a time",
    ),
    "consecution restart | a connection is its follower's": (
        "a connection is its follower's",
    ),
    "consecution restart | what was received is in the history": (
        "what was received is in the history",
    ),
    "consecution restart | NEWLEADER has all that came before": (
        "NEWLEADER has all that came before",
    ),
    "consecution connect | one connection at a time": (
        "one connection at a time",
    ),
    "consecution connect | a connection is its follower's": (
        "a connection has two ends",
        "a connection is its follower's",
    ),
    "consecution connect | NEWLEADER is sent once": (
        "NEWLEADER is sent once",
    ),
    "consecution connect | what was received is in the history": (
        "NEWLEADER is sent once",
        "NEWLEADER is sent first",
        "what was received is in the history",
    ),
    "consecution connect | NEWLEADER has all that came before": (
        "NEWLEADER is sent once",
        "NEWLEADER has all that came before",
    ),
    "consecution l.2.1 | NEWLEADER is sent once": (
        "NEWLEADER is sent once",
    ),
    "consecution l.2.1 | NEWLEADER is sent first": (
        "NEWLEADER is sent first",
    ),
    "consecution l.2.1 | connections carry what was sent": (
        "a connection has two ends",
        "connections carry what was sent",
    ),
    "consecution l.2.1 | NEWLEADER and proposals are all of the log": (
        "a connection has two ends",
        "NEWLEADER and proposals are all of the log",
    ),
    "consecution l.2.1 | proposed in the order of the log": (
        "NEWLEADER is sent first",
        "proposed in the order of the log",
    ),
    "consecution l.2.1 | what was received is in the history": (
        "NEWLEADER is sent first",
        "what was received is in the history",
    ),
    "consecution l.2.1 | NEWLEADER has all that came before": (
        "a connection has two ends",
        "histories follow the log",
        "NEWLEADER has all that came before",
    ),
}
