"""Maintain a data tree under the transactions of a log, with ZooKeeper's digest of it, in the kernel language.

The digest of a node is the CRC-32 of path, data and statistics, that of the tree the sum over its nodes without those
below /zookeeper/ (DigestCalculator, AdHash); since 3.6 every record has the digest of the tree after it. Of the data
only the CRC so far, a hash and the length are kept. Transactions act as in `DataTree.processTxn`.
"""

from __future__ import annotations

from traces.zookeeper.disk.kernel import MIX, hashed, int_at, little_at, long_at, past_acls, past_buffer
from traces.zookeeper.disk.memory import ByteBuffer, Scan, Tree
from traces.zookeeper.disk.numbers import (
    BAD_BODY,
    CLOSE_SESSION,
    CONTAINER,
    CREATE,
    CREATE2,
    CREATE_CONTAINER,
    CREATE_TTL,
    DELETE,
    DELETE_CONTAINER,
    DIGEST_VERSION,
    FAILED_MULTI,
    HAS_DIGEST,
    MULTI,
    RECONFIG,
    SET_ACL,
    SET_DATA,
    TXN_HEAD,
    UNKNOWN_KIND,
)
from zabspec.language.layout.wrapping import shl, shr, wrap_add, wrap_mul

LOW = 0xFFFFFFFF
POLYNOMIAL = 0xEDB88320
PATHS, LISTS = 2, 3  # what the hashes of paths and of permissions begin with
TTL = -72057594037927936  # 0xFF in the top byte
STAT = 60
NODE = 76  # bytes of a node in a snapshot beside its path and data
UNLISTED = -1  # in the place of a hash: a snapshot does not list the permissions of that number
OUTSIDE = 11  # characters of /zookeeper/
NODE_READ, NODE_MORE, NODE_LAST, NODE_BAD, NODE_FULL, NODE_TWICE, NODE_ORPHAN, NODE_LOOSE = 0, 1, 2, 3, 4, 5, 6, 7


# --- CRC-32 --------------------------------------------------------------------------------------


def fill_table(t: Tree) -> None:
    """Fill the tables of CRC-32: of a byte, and of a byte that up to seven others follow."""
    for n in range(256):
        c = n
        for _ in range(8):
            c = (c >> 1) ^ POLYNOMIAL if c & 1 != 0 else c >> 1
        t.table[0][n] = c
    for n in range(256):
        for k in range(7):
            c = t.table[k][n]
            t.table[k + 1][n] = (c >> 8) ^ t.table[0][c & 255]


def crc(t: Tree, d: ByteBuffer, c: int, p: int, end: int) -> int:
    """Continue a CRC-32 over bytes; it is kept as the register, which is the CRC inverted."""
    while p + 8 <= end:
        w = little_at(d, p)
        a = c ^ (w & LOW)
        b = shr(w, 32)
        c = (
            t.table[7][a & 255]
            ^ t.table[6][(a >> 8) & 255]
            ^ t.table[5][(a >> 16) & 255]
            ^ t.table[4][a >> 24]
            ^ t.table[3][b & 255]
            ^ t.table[2][(b >> 8) & 255]
            ^ t.table[1][(b >> 16) & 255]
            ^ t.table[0][b >> 24]
        )
        p = p + 8
    while p < end:
        c = (c >> 8) ^ t.table[0][(c ^ d.data[p]) & 255]
        p = p + 1
    return c


def crc_long(t: Tree, c: int, v: int) -> int:
    """Continue a CRC-32 over a number of eight bytes, most significant first."""
    h = shr(v, 32)
    a = c ^ ((h >> 24) | ((h >> 8) & 0xFF00) | ((h & 0xFF00) << 8) | ((h & 255) << 24))
    return (
        t.table[7][a & 255]
        ^ t.table[6][(a >> 8) & 255]
        ^ t.table[5][(a >> 16) & 255]
        ^ t.table[4][a >> 24]
        ^ t.table[3][shr(v, 24) & 255]
        ^ t.table[2][shr(v, 16) & 255]
        ^ t.table[1][shr(v, 8) & 255]
        ^ t.table[0][v & 255]
    )


def crc_int(t: Tree, c: int, v: int) -> int:
    """Continue a CRC-32 over a number of four bytes, most significant first."""
    a = c ^ (((v >> 24) & 255) | ((v >> 8) & 0xFF00) | ((v & 0xFF00) << 8) | ((v & 255) << 24))
    return t.table[3][a & 255] ^ t.table[2][(a >> 8) & 255] ^ t.table[1][(a >> 16) & 255] ^ t.table[0][a >> 24]


def stat_crc(t: Tree, n: int) -> int:
    """Return the CRC-32 of a node: its statistics follow path and data."""
    c = crc_long(t, t.data_crc[n], t.czxid[n])
    c = crc_long(t, c, t.mzxid[n])
    c = crc_long(t, c, t.pzxid[n])
    c = crc_long(t, c, t.ctime[n])
    c = crc_long(t, c, t.mtime[n])
    c = crc_long(t, c, shl(t.version[n], 32) | (t.cversion[n] & LOW))
    c = crc_int(t, c, t.aversion[n])
    c = crc_long(t, c, t.owner[n])
    return c ^ LOW


def marked(owner: int) -> int:
    """Return an owner as all releases but 3.5.3 mark a time to live, which sets the highest bit alone."""
    if owner != CONTAINER and owner < CONTAINER - TTL:
        return owner | TTL
    return owner


def content_of(t: Tree, n: int) -> int:
    """Return a hash of a node's path, data and owner."""
    return wrap_mul(t.hash[n] ^ wrap_mul(t.data_hash[n] ^ marked(t.owner[n]), MIX), MIX)


# --- nodes -----------------------------------------------------------------------------------------


def home(t: Tree, h: int) -> int:
    """Return the slot where a hash is looked for first."""
    return shr(wrap_mul(h, MIX), 20) & (t.slots - 1)


def same_path(t: Tree, n: int, d: ByteBuffer, p: int, length: int) -> bool:
    """Return whether a node has the path at a place."""
    if t.length[n] != length:
        return False
    at = t.path[n]
    k = 0
    while k + 8 <= length:
        if little_at(t.text, at + k) != little_at(d, p + k):
            return False
        k = k + 8
    while k < length:
        if t.text.data[at + k] != d.data[p + k]:
            return False
        k = k + 1
    return True


def find(t: Tree, d: ByteBuffer, p: int, length: int) -> int:
    """Return the node of the path at a place; -1 if there is none."""
    h = hashed(d, PATHS, p, p + length)
    at = home(t, h)
    while t.slot[at] != 0:
        n = t.slot[at] - 1
        if t.hash[n] == h and same_path(t, n, d, p, length):
            return n
        at = (at + 1) & (t.slots - 1)
    return -1


def slot_of(t: Tree, n: int) -> int:
    """Return the slot of a node in the table of paths."""
    at = home(t, t.hash[n])
    while t.slot[at] != n + 1:
        at = (at + 1) & (t.slots - 1)
    return at


def take_slot(t: Tree, at: int) -> None:
    """Empty a slot in the table of paths; displaced entries move up."""
    mask = t.slots - 1
    to = (at + 1) & mask
    while t.slot[to] != 0:
        want = home(t, t.hash[t.slot[to] - 1])
        if ((to - want) & mask) >= ((to - at) & mask):
            t.slot[at] = t.slot[to]
            at = to
        to = (to + 1) & mask
    t.slot[at] = 0


def is_session(owner: int) -> bool:
    """Return whether an owner may be a session.

    A time to live is marked like the sessions of server 255, which no release runs with TTL nodes.
    """
    return owner != 0 and owner != CONTAINER


def owner_slot(t: Tree, owner: int) -> int:
    """Return the slot of an owner's list, or where it would be."""
    at = home(t, owner)
    while t.owned[at] != 0 and t.owner[t.owned[at] - 1] != owner:
        at = (at + 1) & (t.slots - 1)
    return at


def own(t: Tree, n: int) -> None:
    """Put a node at the head of its owner's list."""
    if not is_session(t.owner[n]):
        return
    at = owner_slot(t, t.owner[n])
    head = t.owned[at]
    t.next[n] = head
    t.before[n] = 0
    if head != 0:
        t.before[head - 1] = n + 1
    t.owned[at] = n + 1


def disown(t: Tree, n: int) -> None:
    """Remove a node from its owner's list."""
    if not is_session(t.owner[n]):
        return
    after = t.next[n]
    if after != 0:
        t.before[after - 1] = t.before[n]
    if t.before[n] != 0:
        t.next[t.before[n] - 1] = after
        return
    at = owner_slot(t, t.owner[n])
    t.owned[at] = after
    if after != 0:
        return
    mask = t.slots - 1
    to = (at + 1) & mask
    while t.owned[to] != 0:
        want = home(t, t.owner[t.owned[to] - 1])
        if ((to - want) & mask) >= ((to - at) & mask):
            t.owned[at] = t.owned[to]
            t.owned[to] = 0
            at = to
        to = (to + 1) & mask


def count_in(t: Tree, n: int) -> None:
    """Update a node's digest from its statistics."""
    if t.outside[n] != 0:
        return
    c = stat_crc(t, n)
    t.total = wrap_add(t.total, c - t.digest[n])
    t.digest[n] = c


def below_zookeeper(d: ByteBuffer, p: int, length: int) -> bool:
    """Return whether a path begins with /zookeeper/."""
    if length < OUTSIDE or long_at(d, p) != 0x2F7A6F6F6B656570:  # /zookeep
        return False
    return d.data[p + 8] == 0x65 and d.data[p + 9] == 0x72 and d.data[p + 10] == 0x2F


def is_config(d: ByteBuffer, p: int, length: int) -> bool:
    """Return whether a path is /zookeeper/config."""
    if length != OUTSIDE + 6 or not below_zookeeper(d, p, length) or int_at(d, p + OUTSIDE) != 0x636F6E66:  # conf
        return False
    return d.data[p + OUTSIDE + 4] == 0x69 and d.data[p + OUTSIDE + 5] == 0x67


def add_node(t: Tree, d: ByteBuffer, p: int, length: int) -> int:
    """Add a node with the path at a place to the table of paths only; there must be room for it."""
    n = t.free - 1
    if n >= 0:
        t.free = t.next[n]
    else:
        n = t.top
        t.top = t.top + 1
    at = t.used
    for k in range(length):
        t.text.data[at + k] = d.data[p + k]
    t.used = at + length
    t.live = t.live + length
    t.path[n] = at
    t.length[n] = length
    t.hash[n] = hashed(d, PATHS, p, p + length)
    t.path_crc[n] = crc(t, d, LOW, p, p + length)
    t.outside[n] = 1 if below_zookeeper(d, p, length) else 0
    t.alive[n] = 1
    t.digest[n] = 0
    t.next[n] = 0
    t.before[n] = 0
    slot = home(t, t.hash[n])
    while t.slot[slot] != 0:
        slot = (slot + 1) & (t.slots - 1)
    t.slot[slot] = n + 1
    t.count = t.count + 1
    return n


def put_data(t: Tree, n: int, d: ByteBuffer, p: int) -> int:
    """Set a node's data from a place, length first; return where it ends. The content's sum is not updated."""
    length = int_at(d, p)
    end = p + 4 + max(0, length)
    t.data_crc[n] = crc(t, d, t.path_crc[n], p + 4, end)
    t.data_hash[n] = hashed(d, 1, p + 4, end)
    t.data_length[n] = length
    return end


def add_content(t: Tree, n: int, sign: int) -> None:
    """Add a node to the content's sum, or subtract it."""
    if t.outside[n] == 0:
        t.content = wrap_add(t.content, content_of(t, n) if sign > 0 else 0 - content_of(t, n))


def last_slash(d: ByteBuffer, p: int, length: int) -> int:
    """Return the number of bytes before a path's last slash; -1 if it has none."""
    k = length - 1
    while k >= 0 and d.data[p + k] != 0x2F:
        k = k - 1
    return k


# --- transactions ----------------------------------------------------------------------------------


def create(t: Tree, d: ByteBuffer, kind: int, p: int, end: int, zxid: int, time: int, session: int) -> None:
    """Create a node; the parent gets the version in the transaction, if that is greater.

    Permissions are listed before nodes: one that was created meanwhile has a number that its creation lists again.
    """
    length = max(0, int_at(d, p))
    path = p + 4
    cut = last_slash(d, path, length)
    parent = find(t, d, path, cut) if cut >= 0 else -1
    if parent < 0:
        return
    data = path + length
    lists = past_buffer(d, data, end)
    rest = past_acls(d, lists, end)
    owner = 0
    if kind == CREATE or kind == CREATE2:
        owner = session if d.data[rest] != 0 else 0
        rest = rest + 1
    elif kind == CREATE_CONTAINER:
        owner = CONTAINER
    cversion = int_at(d, rest) if rest + 4 <= end else -1
    if kind == CREATE_TTL:
        owner = TTL | long_at(d, rest + 4)
    there = find(t, d, path, length)
    if there >= 0 and t.acl[there] == UNLISTED:
        t.acl[there] = hashed(d, LISTS, lists, past_acls(d, lists, end))
    if there < 0:
        n = add_node(t, d, path, length)
        t.acl[n] = hashed(d, LISTS, lists, past_acls(d, lists, end))
        t.czxid[n] = zxid
        t.mzxid[n] = zxid
        t.pzxid[n] = zxid
        t.ctime[n] = time
        t.mtime[n] = time
        t.version[n] = 0
        t.cversion[n] = 0
        t.aversion[n] = 0
        t.owner[n] = owner
        put_data(t, n, d, data)
        add_content(t, n, 1)
        own(t, n)
        count_in(t, n)
    elif kind != CREATE:
        return  # of a node that a snapshot has already, DataTree.processTxn adjusts the parent for this kind alone
    if cversion == -1:
        cversion = t.cversion[parent] + 1
    if cversion > t.cversion[parent]:
        t.cversion[parent] = cversion
        t.pzxid[parent] = zxid
        count_in(t, parent)


def remove(t: Tree, n: int) -> None:
    """Remove a node."""
    disown(t, n)
    add_content(t, n, -1)
    if t.outside[n] == 0:
        t.total = wrap_add(t.total, 0 - t.digest[n])
    take_slot(t, slot_of(t, n))
    t.live = t.live - t.length[n]
    t.alive[n] = 0
    t.next[n] = t.free
    t.free = n + 1
    t.count = t.count - 1


def delete(t: Tree, d: ByteBuffer, p: int, length: int, zxid: int) -> None:
    """Delete the node of the path at a place, if it exists; its parent's pzxid is updated."""
    cut = last_slash(d, p, length)
    parent = find(t, d, p, cut) if cut >= 0 else -1
    if parent < 0:
        return
    if zxid > t.pzxid[parent]:
        t.pzxid[parent] = zxid
        count_in(t, parent)
    n = find(t, d, p, length)
    if n >= 0 and length > 0:
        remove(t, n)


def set_data(t: Tree, d: ByteBuffer, p: int, end: int, zxid: int, time: int) -> None:
    """Set a node's data."""
    length = max(0, int_at(d, p))
    n = find(t, d, p + 4, 0 if length == 1 else length)  # "/" is the root's other name
    if n < 0:
        return
    add_content(t, n, -1)
    rest = put_data(t, n, d, p + 4 + length)
    add_content(t, n, 1)
    t.version[n] = int_at(d, rest)
    t.mzxid[n] = zxid
    t.mtime[n] = time
    count_in(t, n)


def set_acl(t: Tree, d: ByteBuffer, p: int, end: int) -> None:
    """Set a node's permissions."""
    length = max(0, int_at(d, p))
    n = find(t, d, p + 4, 0 if length == 1 else length)
    if n < 0:
        return
    rest = past_acls(d, p + 4 + length, end)
    t.acl[n] = hashed(d, LISTS, p + 4 + length, rest)
    t.aversion[n] = int_at(d, rest)
    count_in(t, n)


def close_session(t: Tree, d: ByteBuffer, p: int, end: int, zxid: int, session: int) -> None:
    """Delete the nodes that the transaction names, and those that the session still owns."""
    if p + 4 <= end:
        count = int_at(d, p)
        p = p + 4
        while count > 0:
            length = max(0, int_at(d, p))
            delete(t, d, p + 4, length, zxid)
            p = p + 4 + length
            count = count - 1
    if not is_session(session):
        return
    at = owner_slot(t, session)
    while t.owned[at] != 0 and t.owner[t.owned[at] - 1] == session:
        n = t.owned[at] - 1
        before = t.count
        delete(t, t.text, t.path[n], t.length[n], zxid)
        if t.count == before:
            remove(t, n)  # its parent is not there
        at = owner_slot(t, session)


def apply_part(t: Tree, d: ByteBuffer, kind: int, p: int, end: int, zxid: int, time: int, session: int) -> None:
    """Apply a transaction, or a part of a multi."""
    if kind == CREATE or kind == CREATE2 or kind == CREATE_CONTAINER or kind == CREATE_TTL:
        create(t, d, kind, p, end, zxid, time, session)
    elif kind == SET_DATA or kind == RECONFIG:
        set_data(t, d, p, end, zxid, time)
    elif kind == DELETE or kind == DELETE_CONTAINER:
        delete(t, d, p + 4, max(0, int_at(d, p)), zxid)
    elif kind == SET_ACL:
        set_acl(t, d, p, end)
    elif kind == CLOSE_SESSION:
        close_session(t, d, p, end, zxid, session)


def apply_record(t: Tree, s: Scan, k: int) -> None:
    """Apply an entry."""
    d = s.text
    p = s.body[k]
    session = long_at(d, p)
    time = long_at(d, p + 20)
    at = p + TXN_HEAD
    if s.kind[k] != MULTI:
        apply_part(t, d, s.kind[k], at, s.ends[k], s.zxid[k], time, session)
    elif s.odd[k] & FAILED_MULTI == 0:
        parts = int_at(d, at)
        at = at + 4
        while parts > 0:
            length = max(0, int_at(d, at + 4))
            apply_part(t, d, int_at(d, at), at + 8, at + 8 + length, s.zxid[k], time, session)
            at = at + 8 + length
            parts = parts - 1


def replay(t: Tree, s: Scan, start: int, end: int) -> int:
    """Apply the entries that follow what has been applied, and compare their digests with the tree's.

    Returns:
        The first entry that was not looked at, for want of room in the tree, or `end`.
    """
    t.events = 0
    for k in range(start, end):
        room = s.ends[k] - s.body[k]
        if t.used + room > t.text.room or t.top + room // 16 + 2 > t.most or t.events == t.most_events:
            return k
        if s.zxid[k] <= t.zxid:
            continue
        if s.odd[k] & UNSOUND == 0:
            apply_record(t, s, k)
        t.zxid = s.zxid[k]
        t.applied = t.applied + 1
        if s.odd[k] & HAS_DIGEST != 0 and int_at(s.text, s.ends[k]) == DIGEST_VERSION:
            compare(t, k, long_at(s.text, s.ends[k] + 4))
    return end


UNSOUND = BAD_BODY | UNKNOWN_KIND


def compare(t: Tree, k: int, wanted: int) -> None:
    """Compare the tree's digest with a record's; a difference other than the one before is an event."""
    t.checked = t.checked + 1
    delta = wrap_add(wanted, 0 - t.total)
    if delta != t.delta:
        t.event_entry[t.events] = k
        t.event_wanted[t.events] = wanted
        t.event_found[t.events] = t.total
        t.events = t.events + 1
        t.delta = delta


# --- snapshots ---------------------------------------------------------------------------------------


def load_node(t: Tree, d: ByteBuffer, p: int, filled: int) -> int:
    """Return where the node at a place of a snapshot ends; else -1 - NODE_... for what is there instead."""
    if p + 4 > filled:
        return -1 - NODE_MORE
    length = int_at(d, p)
    if length == -1:
        return -1 - NODE_LOOSE
    if length < 0 or length > d.room:
        return -1 - NODE_BAD
    q = p + 4 + length
    if length == 1 and q <= filled and d.data[p + 4] == 0x2F:
        return -1 - NODE_LAST
    if q + 4 > filled:
        return -1 - NODE_MORE
    n = int_at(d, q)
    if n < -1 or n > d.room:
        return -1 - NODE_BAD
    q = q + 4 + max(0, n)
    if q + 8 + STAT > filled:
        return -1 - NODE_MORE
    return q + 8 + STAT


def load_nodes(t: Tree, s: Scan) -> int:
    """Put the nodes of a part of a snapshot into the tree, from `at` on; return why it ended, as NODE_..."""
    d = s.text
    while True:
        end = load_node(t, d, s.at, s.filled)
        if end < 0:
            return -1 - end
        p = s.at
        length = int_at(d, p)
        if t.used + length > t.text.room or t.top + 2 > t.most:
            return NODE_FULL
        if find(t, d, p + 4, length) >= 0:
            return NODE_TWICE
        if length > 0:
            cut = last_slash(d, p + 4, length)
            if cut < 0:
                return NODE_LOOSE
            if find(t, d, p + 4, cut) < 0:
                return NODE_ORPHAN
        if length == 0 and t.lists > 0 and list_at(t, long_at(d, end - 8 - STAT)) == 0:
            return NODE_LOOSE
        put_node(t, d, p, length)
        if is_config(d, p + 4, length):
            t.config = p + 4 + length
        s.at = end


def put_node(t: Tree, d: ByteBuffer, p: int, length: int) -> None:
    """Put the node at a place of a snapshot into the tree."""
    n = add_node(t, d, p + 4, length)
    q = put_data(t, n, d, p + 4 + length)
    t.widest = max(t.widest, length)
    t.widest = max(t.widest, t.data_length[n])
    t.acl[n] = list_at(t, long_at(d, q))
    if t.acl[n] == 0 and t.lists > 0:
        t.acl[n] = UNLISTED
    q = q + 8
    t.czxid[n] = long_at(d, q)
    t.mzxid[n] = long_at(d, q + 8)
    t.ctime[n] = long_at(d, q + 16)
    t.mtime[n] = long_at(d, q + 24)
    t.version[n] = int_at(d, q + 32)
    t.cversion[n] = int_at(d, q + 36)
    t.aversion[n] = int_at(d, q + 40)
    t.owner[n] = long_at(d, q + 44)
    t.pzxid[n] = long_at(d, q + 52)
    add_content(t, n, 1)
    own(t, n)
    count_in(t, n)


def list_at(t: Tree, index: int) -> int:
    """Return the hash of the permissions with a number in a snapshot; 0 if there are none."""
    low = 0
    high = t.lists
    while low < high:
        middle = (low + high) >> 1
        if t.list_index[middle] < index:
            low = middle + 1
        else:
            high = middle
    if low < t.lists and t.list_index[low] == index:
        return t.list_hash[low]
    return 0


def move_all(t: Tree, to: Tree) -> None:
    """Move every node of a tree into another, which is empty and has room."""
    for n in range(t.top):
        if t.alive[n] != 0:
            m = add_node(to, t.text, t.path[n], t.length[n])
            to.data_crc[m] = t.data_crc[n]
            to.data_hash[m] = t.data_hash[n]
            to.data_length[m] = t.data_length[n]
            to.acl[m] = t.acl[n]
            to.czxid[m] = t.czxid[n]
            to.mzxid[m] = t.mzxid[n]
            to.pzxid[m] = t.pzxid[n]
            to.ctime[m] = t.ctime[n]
            to.mtime[m] = t.mtime[n]
            to.version[m] = t.version[n]
            to.cversion[m] = t.cversion[n]
            to.aversion[m] = t.aversion[n]
            to.owner[m] = t.owner[n]
            own(to, m)
            add_content(to, m, 1)
            count_in(to, m)
    to.zxid = t.zxid
    to.applied = t.applied
    to.checked = t.checked
    to.delta = t.delta
    to.widest = t.widest
    for k in range(t.lists):
        to.list_index[k] = t.list_index[k]
        to.list_hash[k] = t.list_hash[k]


def newest_zxid(t: Tree) -> int:
    """Return the largest zxid in the nodes' statistics."""
    newest = 0
    for n in range(t.top):
        if t.alive[n] != 0 and t.outside[n] == 0:
            newest = max(newest, t.czxid[n])
            newest = max(newest, t.mzxid[n])
            newest = max(newest, t.pzxid[n])
    return newest


def unlisted(t: Tree) -> int:
    """Return how many nodes have permissions that are listed nowhere."""
    count = 0
    for n in range(t.top):
        if t.alive[n] != 0 and t.acl[n] == UNLISTED:
            count = count + 1
    return count
