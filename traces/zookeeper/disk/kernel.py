"""Read, check and sum up the records of a log file, in the kernel language.

`scan` takes the bytes of a part of a file and finds its records: checksum, length, mark, and whether the body matches
its kind. Every length is checked against the available bytes before it is used.

Two servers' versions of a transaction are compared by a hash of 64 bits over header and body, without the digest behind
it, and for a failed multi without the kinds of its parts (ZooKeeper overwrites them while applying it). Hashes of a
block of 4,096 zxids are added up, so that servers are compared block by block, in any order.
"""

from __future__ import annotations

from traces.zookeeper.disk.memory import ByteBuffer, Scan
from traces.zookeeper.disk.numbers import (
    BAD_BODY,
    BAD_CHECKSUM,
    BAD_LENGTH,
    BAD_MARK,
    BLOCK,
    CHECK,
    CLOSE_SESSION,
    CREATE,
    CREATE2,
    CREATE_CONTAINER,
    CREATE_SESSION,
    CREATE_TTL,
    DELETE,
    DELETE_CONTAINER,
    DIGEST,
    END,
    EPOCH,
    ERROR,
    FAILED_MULTI,
    FULL,
    HAS_DIGEST,
    JUMP,
    LEFT_OVER,
    MARK,
    MORE,
    MULTI,
    ODD,
    ON_CONFIG,
    RECONFIG,
    RECORD,
    SET_ACL,
    SET_DATA,
    TXN_HEAD,
    UNKNOWN_KIND,
)
from zabspec.language.layout.wrapping import shl, shr, wrap_add, wrap_mul

BASE = 65521  # the modulus of Adler-32
SOME = 2048  # bytes after which its sums are reduced: they stay below 2**40
EVEN = 0x00FF00FF00FF00FF
ONES = 0x0001000100010001
EVEN_WEIGHTS = 0x0008000600040002  # of bytes 6, 4, 2, 0 from the top: the product's top lane is their weighted sum
ODD_WEIGHTS = 0x0007000500030001
MIX = -0x61C8864680B583EB  # 2**64 over the golden ratio
CONFIG_NAME = 17  # characters of /zookeeper/config
EVENTFUL = BAD_CHECKSUM | BAD_BODY | UNKNOWN_KIND | ON_CONFIG | LEFT_OVER


def long_at(d: ByteBuffer, p: int) -> int:
    """Return the eight bytes at a place as a signed number, most significant first."""
    return (
        shl(d.data[p], 56)
        | (d.data[p + 1] << 48)
        | (d.data[p + 2] << 40)
        | (d.data[p + 3] << 32)
        | (d.data[p + 4] << 24)
        | (d.data[p + 5] << 16)
        | (d.data[p + 6] << 8)
        | d.data[p + 7]
    )


def little_at(d: ByteBuffer, p: int) -> int:
    """Return the eight bytes at a place as a signed number, least significant first."""
    return (
        d.data[p]
        | (d.data[p + 1] << 8)
        | (d.data[p + 2] << 16)
        | (d.data[p + 3] << 24)
        | (d.data[p + 4] << 32)
        | (d.data[p + 5] << 40)
        | (d.data[p + 6] << 48)
        | shl(d.data[p + 7], 56)
    )


def int_at(d: ByteBuffer, p: int) -> int:
    """Return the four bytes at a place as a signed number, most significant first."""
    w = (d.data[p] << 24) | (d.data[p + 1] << 16) | (d.data[p + 2] << 8) | d.data[p + 3]
    return w - 4294967296 if w >= 2147483648 else w


def adler(d: ByteBuffer, p: int, end: int) -> int:
    """Return the Adler-32 of the bytes of a range (RFC 1950), computed eight at a time.

    The sum and the weighted sum of a word's bytes are lanes of a product.
    """
    a = 1
    b = 0
    while p < end:
        stop = min(end, p + SOME)
        while p + 8 <= stop:
            w = little_at(d, p)
            even = w & EVEN
            odd = shr(w, 8) & EVEN
            b = b + 8 * a + shr(wrap_mul(even, EVEN_WEIGHTS), 48) + shr(wrap_mul(odd, ODD_WEIGHTS), 48)
            a = a + shr(wrap_mul(even + odd, ONES), 48)
            p = p + 8
        while p < stop:
            a = a + d.data[p]
            b = b + a
            p = p + 1
        a = a % BASE
        b = b % BASE
    return (b << 16) | a


def hashed(d: ByteBuffer, h: int, p: int, end: int) -> int:
    """Continue a hash over the length and the bytes of a range."""
    h = wrap_add(h, end - p)
    while p + 8 <= end:
        h = wrap_mul(h ^ little_at(d, p), MIX)
        h = h ^ shr(h, 29)
        p = p + 8
    w = 1
    while p < end:
        w = shl(w, 8) | d.data[p]
        p = p + 1
    h = wrap_mul(h ^ w, MIX)
    return h ^ shr(h, 32)


# --- bodies: the end of what a kind of transaction says, or -1 where it is not that -------------------


def past_buffer(d: ByteBuffer, p: int, end: int) -> int:
    """Return the place behind a buffer or string: a length (-1 for null) and that many bytes."""
    if p < 0 or p + 4 > end:
        return -1
    n = int_at(d, p)
    p = p + 4
    if n < -1 or n > end - p:
        return -1
    return p if n < 0 else p + n


def past_path(d: ByteBuffer, p: int, end: int) -> int:
    """Return the place behind the path of a node that has a parent: a server ends at one without a slash."""
    behind = past_buffer(d, p, end)
    if behind < p + 5 or d.data[p + 4] != 0x2F:
        return -1
    return behind


def past(p: int, end: int, count: int) -> int:
    """Return the place behind a number of bytes."""
    if p < 0 or p + count > end:
        return -1
    return p + count


def past_acls(d: ByteBuffer, p: int, end: int) -> int:
    """Return the place behind a list of permissions, scheme and identity."""
    return past_list(d, p, end, True)


def past_list(d: ByteBuffer, p: int, end: int, acls: bool) -> int:
    """Return the place behind a list of strings, or of permissions with two strings each."""
    if p < 0 or p + 4 > end:
        return -1
    n = int_at(d, p)
    p = p + 4
    if n < -1:
        return -1
    while n > 0 and p >= 0:
        if acls:
            p = past_buffer(d, past(p, end, 4), end)
        p = past_buffer(d, p, end)
        n = n - 1
    return p


def past_create(d: ByteBuffer, kind: int, p: int, end: int) -> int:
    """Return the place behind a create of any kind.

    Its body is path, data, permissions, the ephemeral flag, the parent's version, and the time to live.
    """
    p = past_acls(d, past_buffer(d, past_path(d, p, end), end), end)
    if kind == CREATE or kind == CREATE2:
        p = past(p, end, 1)
    if kind == CREATE and p == end:
        return p  # as 3.3 and earlier wrote it
    p = past(p, end, 4)
    if kind == CREATE_TTL:
        p = past(p, end, 8)
    return p


def past_part(d: ByteBuffer, kind: int, p: int, end: int) -> int:
    """Return the place behind the body of a transaction other than a multi; -1 if malformed, -2 if of unknown kind."""
    if kind == CREATE or kind == CREATE2 or kind == CREATE_CONTAINER or kind == CREATE_TTL:
        return past_create(d, kind, p, end)
    if kind == SET_DATA or kind == RECONFIG:
        return past(past_buffer(d, past_buffer(d, p, end), end), end, 4)
    if kind == DELETE or kind == DELETE_CONTAINER:
        return past_path(d, p, end)
    if kind == CREATE_SESSION or kind == ERROR:
        return past(p, end, 4)
    if kind == SET_ACL:
        return past(past_acls(d, past_buffer(d, p, end), end), end, 4)
    if kind == CHECK:
        return past(past_buffer(d, p, end), end, 4)
    if kind == CLOSE_SESSION:
        return p if p == end or (p + DIGEST == end and int_at(d, p) > 1) else past_list(d, p, end, False)
    return -2


def part_of_multi(kind: int) -> bool:
    """Return whether a multi can have such a part."""
    return kind != CREATE_SESSION and kind != CLOSE_SESSION and kind != MULTI


def past_multi(d: ByteBuffer, p: int, end: int) -> int:
    """Return the place behind the parts of a multi."""
    if p + 4 > end:
        return -1
    n = int_at(d, p)
    p = p + 4
    if n < 0:
        return -1  # at a list that is null a server ends
    while n > 0:
        if p + 8 > end:
            return -1
        p = past_buffer(d, p + 4, end)
        if p < 0:
            return -1
        n = n - 1
    return p


def multi_odd(d: ByteBuffer, p: int) -> int:
    """Return the oddities of a multi that `past_multi` has passed: it failed, or a part does not match its kind."""
    n = int_at(d, p)
    p = p + 4
    failed = 0
    bad = 0
    while n > 0:
        kind = int_at(d, p)
        length = max(0, int_at(d, p + 4))
        p = p + 8
        if kind == ERROR:
            failed = FAILED_MULTI
        elif not part_of_multi(kind):
            bad = bad | BAD_BODY  # as of a kind that there is not: a start passes over it
        else:
            if past_part(d, kind, p, p + length) != p + length:
                bad = bad | BAD_BODY
            if kind == RECONFIG or kind == SET_DATA:
                bad = bad | config_bit(d, p, p + length)
        p = p + length
        n = n - 1
    return failed if failed != 0 else bad


def config_bit(d: ByteBuffer, p: int, end: int) -> int:
    """Return ON_CONFIG if the path at a place is /zookeeper/config, else 0."""
    if p + 4 + CONFIG_NAME > end:
        return 0
    if int_at(d, p) != CONFIG_NAME:
        return 0
    # "/zookeep" and "er/confi", then g
    if long_at(d, p + 4) != 0x2F7A6F6F6B656570 or long_at(d, p + 12) != 0x65722F636F6E6669 or d.data[p + 20] != 0x67:
        return 0
    return ON_CONFIG


def failed_hash(d: ByteBuffer, p: int, end: int) -> int:
    """Return the hash of a failed multi without the kinds of its parts, which `past_multi` has passed."""
    h = hashed(d, 1, p, p + TXN_HEAD)
    p = p + TXN_HEAD
    h = hashed(d, h, p, p + 4)
    n = int_at(d, p)
    p = p + 4
    while n > 0:
        length = max(0, int_at(d, p + 4))
        h = hashed(d, h, p + 4, p + 8 + length)
        p = p + 8 + length
        n = n - 1
    return hashed(d, h, p, end)


# --- records ---------------------------------------------------------------------------------------


def read_record(s: Scan, d: ByteBuffer, n: int, p: int, length: int) -> None:
    """Read the payload at a place as entry n."""
    finish = p + length
    kind = int_at(d, p + 28)
    start = p + TXN_HEAD
    odd = 0
    if kind == MULTI:
        end = past_multi(d, start, finish)
        if end >= 0:
            odd = multi_odd(d, start)
    else:
        end = past_part(d, kind, start, finish)
        if kind == SET_DATA or kind == RECONFIG:
            odd = config_bit(d, start, finish)
    if kind == CHECK:
        end = -2  # which only occurs inside a multi
    if end == -2:
        odd = odd | UNKNOWN_KIND
        end = finish
    elif end < 0:
        odd = odd | BAD_BODY
        end = finish
    elif end + DIGEST == finish:
        odd = odd | HAS_DIGEST
    elif end != finish:
        odd = odd | LEFT_OVER
        end = finish
    s.kind[n] = kind
    s.zxid[n] = long_at(d, p + 12)
    s.body[n] = p
    s.ends[n] = end
    s.finish[n] = finish
    s.odd[n] = odd
    s.hash[n] = failed_hash(d, p, end) if odd & FAILED_MULTI != 0 else hashed(d, 1, p, end)


def scan(s: Scan) -> int:
    """Read records from `at` on, as many as there is room for, and return why the scan stopped."""
    d = s.text
    n = 0
    at = s.at
    stop = MORE
    while stop == MORE:
        if n == s.most:
            stop = FULL
            break
        if at + RECORD > s.filled:
            break
        length = int_at(d, at + 8)
        if length == 0:
            stop = END
            break
        if length < TXN_HEAD or length > s.longest:
            stop = BAD_LENGTH
            break
        if at + RECORD + length + 1 > s.filled:
            break
        if d.data[at + RECORD + length] != MARK:
            stop = BAD_MARK
            break
        p = at + RECORD
        s.place[n] = s.base + at
        read_record(s, d, n, p, length)
        if adler(d, p, p + length) != long_at(d, at):
            s.odd[n] = s.odd[n] | BAD_CHECKSUM
        at = p + length + 1
        n = n + 1
    s.at = at
    s.count = n
    s.stop = stop
    return stop


def sum_up(s: Scan) -> None:
    """Sum up the entries: their sequence, and the blocks; a record with a bad checksum is only an event."""
    s.events = 0
    s.blocks = 0
    for n in range(s.count):
        odd = s.odd[n]
        s.records = s.records + 1
        s.widest = max(s.widest, s.finish[n] - s.body[n])
        if s.kind[n] >= CREATE2 and s.recent == 0:
            s.recent = s.place[n]
        s.failed_multis = s.failed_multis + (1 if odd & FAILED_MULTI != 0 else 0)
        s.digests = s.digests + (1 if odd & HAS_DIGEST != 0 else 0)
        if odd & EVENTFUL != 0:
            note(s, ODD, n, s.last)
        if odd & BAD_CHECKSUM != 0:
            continue
        zxid = s.zxid[n]
        if s.begun == 0:
            s.begun = 1
            s.first = zxid
        elif zxid != s.last + 1:
            further = zxid > s.last and zxid & 4294967295 == 1 and zxid >> 32 > s.last >> 32
            note(s, EPOCH if further else JUMP, n, s.last)
        s.last = zxid
        block = zxid >> BLOCK
        if block != s.now or s.now_count == 0:
            put_block(s)
            s.now = block
        s.now_count = s.now_count + 1
        s.now_sum = wrap_add(s.now_sum, wrap_mul(s.hash[n] ^ zxid, MIX))


def note(s: Scan, event: int, n: int, before: int) -> None:
    """Record an event of an entry."""
    s.event[s.events] = event
    s.event_entry[s.events] = n
    s.event_before[s.events] = before
    s.events = s.events + 1


def put_block(s: Scan) -> None:
    """Store the block that is being summed up."""
    if s.now_count > 0:
        s.block[s.blocks] = s.now
        s.block_count[s.blocks] = s.now_count
        s.block_sum[s.blocks] = s.now_sum
        s.blocks = s.blocks + 1
    s.now_count = 0
    s.now_sum = 0


def scan_on(s: Scan) -> int:
    """Scan and sum up records; return why the scan stopped."""
    stop = scan(s)
    sum_up(s)
    return stop


def hash_text(d: ByteBuffer, h: int, p: int, end: int) -> int:
    """Call `hashed` from outside the kernel."""
    return hashed(d, h, p, end)
