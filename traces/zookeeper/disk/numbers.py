"""Define the numbers of ZooKeeper's files: kinds of transaction, marks, and why a scan of a log stops."""

from __future__ import annotations

# Kinds of transaction (ZooDefs.OpCode)
ERROR = -1
CREATE_SESSION = -10
CLOSE_SESSION = -11
CREATE = 1
DELETE = 2
SET_DATA = 5
SET_ACL = 7
CHECK = 13
MULTI = 14
CREATE2 = 15
RECONFIG = 16
CREATE_CONTAINER = 19
DELETE_CONTAINER = 20
CREATE_TTL = 21

LOG_MAGIC = 0x5A4B4C47  # ZKLG
SNAP_MAGIC = 0x5A4B534E  # ZKSN
LOG_VERSION = 2
HEAD = 16  # bytes of a file's header
RECORD = 12  # bytes before a payload: checksum and length
TXN_HEAD = 32  # bytes of a transaction's header
DIGEST = 12  # bytes of a transaction's digest: version and digest
MARK = 0x42  # the byte behind a record
DIGEST_VERSION = 2

# Why a scan stops
MORE = 0  # what follows is not in the buffer
FULL = 1  # there is no room for another record
END = 2  # a length of 0: the end of the log
BAD_LENGTH = 3
BAD_MARK = 4

# What is odd about a record, as bits
BAD_CHECKSUM = 1
BAD_BODY = 2  # it is not what its kind says
UNKNOWN_KIND = 4
FAILED_MULTI = 8
HAS_DIGEST = 16
ON_CONFIG = 32  # it is about /zookeeper/config
LEFT_OVER = 128  # bytes behind the body that are no digest

# What is not the next transaction, as an event of a file
JUMP = 1  # from one transaction to another that is not next
EPOCH = 2  # to the first of a later epoch
ODD = 3  # a record with odd bits

CONFIG_NODE = "/zookeeper/config"
CONTAINER = -(1 << 63)  # the owner of a container
BLOCK = 12  # bits of a counter within a block
