"""Define the structs on which the kernels for logs work."""

from __future__ import annotations

from zabspec.language.analysis.structs import Struct, part, size, word, words


class ByteBuffer(Struct):
    """A buffer of bytes."""

    room = size()
    data = words(room, width=1)


class Scan(Struct):
    """A part of a log file, and the records found in it.

    A record has an entry: its place in the file, zxid, kind, odd bits, a hash of what it says (see `kernel.py`), and
    where in the buffer its payload begins and its body ends.
    """

    text = part(ByteBuffer)
    most = size()  # entries
    double = size()  # twice as many
    base = word()  # where in the file the buffer begins
    filled = word()  # bytes in it
    at = word()  # the next record
    longest = word()  # the longest payload that is believed

    count = word()
    place = words(most)
    zxid = words(most)
    kind = words(most)
    odd = words(most)
    hash = words(most)
    body = words(most)  # where in the buffer its payload begins
    ends = words(most)  # where in the buffer its body ends, its digest not counted
    finish = words(most)  # and its payload
    stop = word()  # why the scan stopped

    # Of the file so far
    records = word()
    first = word()  # zxids
    last = word()
    begun = word()
    failed_multis = word()
    digests = word()
    widest = word()  # the longest payload
    recent = word()  # the place of the first record of a kind that is new in 3.5; 0: none

    # Blocks of transactions whose records have all been seen, for now
    blocks = word()
    block = words(most)
    block_count = words(most)
    block_sum = words(most)
    now = word()  # the block that is being summed up; -1: none
    now_count = word()
    now_sum = word()

    # What is not the next transaction, or odd: what, which entry, and the zxid before it
    events = word()
    event = words(double)  # a record can be both
    event_entry = words(double)
    event_before = words(double)


class Tree(Struct):
    """A data tree without its data: of each node the hash and length of its data, and its statistics.

    Nodes are found by a hash table of their paths, which lie one behind the other in a text; nodes of one owner are in
    a list, found by a hash table of owners. A node's number is given anew when it is deleted.
    """

    text = part(ByteBuffer)
    most = size()  # nodes
    slots = size()  # a power of two, above `most`
    lists = size()  # how many lists of permissions the snapshot has
    table = words(8, 256, width=4)  # of CRC-32, eight bytes at a time

    used = word()  # bytes of paths, of nodes that are gone too
    live = word()  # and of those that are there
    top = word()  # numbers given so far
    free = word()  # 1 + the number of a node that is gone; 0: none
    count = word()
    slot = words(slots, width=4)  # 1 + a node
    owned = words(slots, width=4)  # 1 + the first node of an owner

    path = words(most)
    length = words(most, width=4)
    hash = words(most)  # of its path
    path_crc = words(most, width=4)
    data_crc = words(most, width=4)  # of path and data
    data_hash = words(most)
    data_length = words(most)  # -1: null
    acl = words(most)  # a hash of its permissions
    czxid = words(most)
    mzxid = words(most)
    pzxid = words(most)
    ctime = words(most)
    mtime = words(most)
    version = words(most)
    cversion = words(most)
    aversion = words(most)
    owner = words(most)
    digest = words(most, width=4)
    outside = words(most, width=1)  # it is below /zookeeper/, and in no digest
    alive = words(most, width=1)
    next = words(most, width=4)
    before = words(most, width=4)

    list_index = words(lists)  # in order
    list_hash = words(lists)

    total = word()  # ZooKeeper's digest of the tree
    content = word()  # the sum of hashes of paths, data and owners
    zxid = word()  # the last transaction applied
    applied = word()
    checked = word()  # the number of records whose digest was compared
    delta = word()  # what the digest of the last record compared was more than the tree's

    widest = word()  # the longest path or data in its snapshot
    config = word()  # where in its text the data of /zookeeper/config is, length first; 0: not read yet

    events = word()  # the number of comparisons with another result than the one before
    most_events = size()
    event_entry = words(most_events)
    event_wanted = words(most_events)
    event_found = words(most_events)
