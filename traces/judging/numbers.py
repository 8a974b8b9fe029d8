"""Define the numbers that the checking kernels share with their callers: kinds of event, properties, errors, gaps."""

from __future__ import annotations

NULL = -(1 << 63)  # where a column says nothing
NEVER = (1 << 63) - 1
MOST = 64  # processes of a run
ODD = -7046029254386353131

# The kinds of event that a history is made of; OTHER are the others of event tables, UNKNOWN is none of them, and
# MISSPELT is none of them that is spelt like one. What an event of a history is lies between OTHER and BEGIN.
OTHER, ABCAST, ABDELIVER, ACCEPT, ESTABLISH, INITIAL, REVISE, ENTRY, BEGIN, MISSPELT, UNKNOWN = range(11)

# The properties that the kernels check, by the bits of every mask; each constant is named after its property.
(
    INTEGRITY, TOTAL_ORDER, AGREEMENT, LOCAL_PRIMARY_ORDER, GLOBAL_PRIMARY_ORDER, PRIMARY_INTEGRITY, PO_CAUSAL_ORDER,
    STRICT_CAUSALITY, PREFIX, CAUSAL_ORDER, ONE_PRIMARY_AN_EPOCH, ONE_LEADER_AN_EPOCH, CHOSEN_IN_LATER_HISTORIES,
    DELIVERED_IS_CHOSEN, UNIQUE_ZXID, DELIVERED_STANDS,
) = range(16)  # fmt: skip
PROPERTIES = 16

# The errors of a run that cannot be checked.
(
    NO_PROCESS, MANY_PROCESSES, NO_ZXID, OUT_OF_ORDER, PASS_BACK, TIME_BACK, TWO_BEGINS, LATE_BEGIN, NO_PROCESSES,
    ASTRAY_ENTRY,
) = range(1, 11)  # fmt: skip

# What the rows of a run leave unknown, or have that the comparisons here do not see; bits of a mask (`unknowns.py`).
(
    G_WHO, G_QUORUM, G_PRIMARY, G_ATTEMPT, G_SOME_ATTEMPTS, G_PROPOSED, G_LEADS, G_PASS, G_IDENTITY, G_DIGEST, G_TIME,
    G_OTHER_EPOCH, G_OUTSIDER, G_MANY, G_MENDED, G_KIND, G_ABSENT, G_MOMENTS,
) = range(18)  # fmt: skip
