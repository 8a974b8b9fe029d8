"""The explorer's inner loop over interned components with memoised steps, in the kernel language (docs/components.md).

A state is an entry: a word for each renaming of the processes (a lane: the xor over its components of the hash of the
renamed component where the renaming puts it), then a short number for each component, under which its bytes are
interned. What is remembered is kept under the sum of what the components it was found from add to a key:

- of a process, the steps that are possible at it: from the components that listing them reads;
- of a step, what it does: which components become which, what that is xored to the lanes, what properties say of it;
- of a set of properties, that no state breaks them whose components are these, and whose premises it meets.

Memory that all threads share is only read while states are expanded. A state of which something is not remembered is
put aside; between two rounds `resolve` runs the program on it, and it is expanded then.
"""

from __future__ import annotations

from zabspec.language.lang import Bytes, State, Words

LINE = 16  # successors between the prefetch of a table entry and its use
LINED = 6  # words that are kept of each
TOGETHER = 16
AT_ONCE = 16  # judgements that are looked up at once
MOST_PROFILES = 256
GOLDEN = -7046029254386353131
MOST_LOGGED = 1 << 13
VALUE = 3  # words kept of a value before its lanes: where it lies, its component, its number

# A record of what a step does: its key, then for each alternative: its profile (8 bits), how many components it changes
# (8), whether properties look beyond its process (1), whether they say something (1), how many alternatives are left
# (6), to how many components it appends something (8), how many words this one has (from 40); what it changes;
# what is xored to each lane; four bytes for each component that it changes, or appends to: its number, and which value
# it has then, or which is appended; what properties say is broken, what they say is met, and the step.
# A record of something appended to a value: its key, the value that this makes, and what is xored to each lane.
BEHIND = 3
LOOKS_BEYOND, SAYS = 1 << 24, 1 << 25

# Words of the memory that all threads share: where things lie, in bytes from its beginning, and how much there is.
(
    M_MEMO, M_BITS, M_ENTRIES, M_RECORDS, M_USED, M_RECORD_LIMIT, M_VALUES, M_VALUE_USED, M_VALUE_LIMIT, M_LANES,
    M_COUNT, M_COUNT_LIMIT, M_INTERN, M_INTERN_BITS, M_NUMBERED, M_WHY, M_PROFILES, M_LISTED, M_TAKEN, M_GOOD,
    M_GOOD_BITS, M_GOOD_ENTRIES, M_ADDS, M_ADD_BITS, M_ADD_ENTRIES, M_ADDED, M_ADDED_USED, M_ADDED_LIMIT,
) = range(28)  # fmt: skip
M_PROFILE = 32  # an event and the steps of the paper it enters, of each profile
M_OF = M_PROFILE + 2 * MOST_PROFILES  # how many values there are of each component
M_CASES = M_OF + 65  # how many steps of each case were taken
M_DESC = M_CASES + 64

# Why this engine gives up, in M_WHY
ERRS, JUDGING_ERRS, ESCAPES, MANY_PROFILES, MANY_VALUES, UNKNOWN_STEP = 1, 2, 3, 4, 5, 6


def hashed(key: int) -> int:
    return wrap_mul(key, GOLDEN)


def look_up(memo: Words, bits: int, records: Words, key: int) -> int:
    """The record of a key; 0: none. An entry is where its record lies (in four words), and half of the hash."""
    h = hashed(key)
    place = shr(h, 64 - bits)
    while memo[place] != 0:
        if ((memo[place] ^ h) & 4294967295) == 0:
            r = shr(memo[place], 32) << 2
            if records[r] == key:
                return r
        place = (place + 1) & ((1 << bits) - 1)
    return 0


def remember(m: Words, memo: Words, key: int, r: int) -> None:
    put_down(memo, m[M_BITS], key, r)
    m[M_ENTRIES] = m[M_ENTRIES] + 1


def put_down(memo: Words, bits: int, key: int, r: int) -> None:
    """Enter where the record of a key lies."""
    h = hashed(key)
    place = shr(h, 64 - bits)
    while memo[place] != 0:
        place = (place + 1) & ((1 << bits) - 1)
    memo[place] = shl(r >> 2, 32) | (h & 4294967295)


def is_good(good: Words, bits: int, key: int) -> bool:
    """Whether properties were asked of what a key is of, and none is broken."""
    place = shr(hashed(key), 64 - bits)
    while good[place] != 0:
        if good[place] == key:
            return True
        place = (place + 1) & ((1 << bits) - 1)
    return False


def note_good(m: Words, good: Words, key: int) -> None:
    bits = m[M_GOOD_BITS]
    place = shr(hashed(key), 64 - bits)
    while good[place] != 0 and good[place] != key:
        place = (place + 1) & ((1 << bits) - 1)
    if good[place] == 0:
        good[place] = key
        m[M_GOOD_ENTRIES] = m[M_GOOD_ENTRIES] + 1


def key_of(ids: Bytes, desc: Words, which: int) -> int:
    """The key of a list of components: what each adds is its number times a constant of its own."""
    at = desc[D_LISTS + 3 * which]
    end = desc[D_LISTS + 3 * which + 1]
    key = desc[D_LISTS + 3 * which + 2]
    while at < end:
        key = wrap_add(key, wrap_mul(load_short(ids, desc[at]), desc[at + 1]))
        at = at + 2
    return key


# --- values ------------------------------------------------------------------------------------------


def value_words(mem: Bytes) -> Words:
    m = words_at(mem, 0)
    return words_at(mem, m[M_LANES])


def scatter(value: Bytes, b: Bytes, desc: Words, k: int) -> None:
    """Put the bytes of a component where they lie in a state."""
    run = desc[D_RUNS + 2 * k]
    end = run + 2 * desc[D_RUNS + 2 * k + 1]
    at = 0
    while run < end:
        for j in range(desc[run + 1]):
            b[desc[run] + j] = value[at + j]
        at = at + desc[run + 1]
        run = run + 2


def gather(b: Bytes, value: Bytes, desc: Words, k: int) -> None:
    """The bytes of a component, whole words of them."""
    run = desc[D_RUNS + 2 * k]
    end = run + 2 * desc[D_RUNS + 2 * k + 1]
    at = 0
    store_word(value, 8 * desc[D_SIZES + k] - 8, 0)
    while run < end:
        for j in range(desc[run + 1]):
            value[at + j] = b[desc[run] + j]
        at = at + desc[run + 1]
        run = run + 2


def same_words(a: Bytes, b: Bytes, words: int) -> bool:
    for k in range(words):
        if load_word(a, 8 * k) != load_word(b, 8 * k):
            return False
    return True


def hash_of(value: Bytes, words: int, start: int) -> int:
    """The hash of a component's bytes, from a word of its own."""
    x = start
    y = wrap_mul(start, GOLDEN)
    for k in range(words):
        w = load_word(value, 8 * k)
        x = mix(x ^ w, -2401053089206453570)
        y = wrap_add(mix(y ^ w, -8425006104072183247), k)
    return mix(x ^ -7723592293110705685, y ^ 6467750352083286413) ^ y


def intern(s: State, k: int, mem: Bytes, work: Bytes, perms: Bytes) -> int:
    """The number of the bytes of a component of a state; they get one if they have none. -1: there are too many."""
    m = words_at(mem, 0)
    value = bytes_of(work, VALUE_AT)
    gather(as_bytes(s), value, words_at(mem, 8 * M_DESC), k)
    of = m[M_COUNT]
    number = intern_value(value, k, mem)
    if m[M_COUNT] > of:
        values = value_words(mem)
        for lane in range(LANES):
            values[VALUED * of + VALUE + lane] = lane_of(s, k, lane, mem, work, perms)
    return number


def intern_value(value: Bytes, k: int, mem: Bytes) -> int:
    """The same of bytes, whatever they are of."""
    m = words_at(mem, 0)
    desc = words_at(mem, 8 * M_DESC)
    size = desc[D_SIZES + k]
    h = hash_of(value, size, desc[D_STARTS + k])
    table = words_at(mem, m[M_INTERN])
    values = value_words(mem)
    mask = (1 << m[M_INTERN_BITS]) - 1
    place = h & mask
    while table[place] != 0:
        of = table[place] - 1
        if values[VALUED * of + 1] == k:
            if same_words(value, bytes_of(mem, m[M_VALUES] + values[VALUED * of]), size):
                return values[VALUED * of + 2]
        place = (place + 1) & mask
    number = m[M_OF + k]
    if number >= 65536:
        m[M_WHY] = MANY_VALUES
        return -1
    of = m[M_COUNT]
    table[place] = of + 1
    m[M_COUNT] = of + 1
    m[M_OF + k] = number + 1
    values[VALUED * of] = m[M_VALUE_USED]
    values[VALUED * of + 1] = k
    values[VALUED * of + 2] = number
    copy_bytes(bytes_of(mem, m[M_VALUES] + m[M_VALUE_USED]), value, 8 * size)
    m[M_VALUE_USED] = m[M_VALUE_USED] + 8 * size
    store_half(bytes_of(mem, m[M_NUMBERED]), 4 * ((k << 16) | number), of)
    return number


def value_at(k: int, number: int, mem: Bytes) -> int:
    """Where the words kept of a component's value begin."""
    m = words_at(mem, 0)
    return VALUED * load_half(bytes_of(mem, m[M_NUMBERED]), 4 * ((k << 16) | number))


def suffix_of(before: Bytes, after: Bytes, k: int, mem: Bytes, work: Bytes) -> int:
    """The number of what is appended to a sequence from one state to another; -1: it is not only that."""
    m = words_at(mem, 0)
    desc = words_at(mem, 8 * M_DESC)
    at = desc[desc[D_RUNS + 2 * k]]
    size = desc[D_ELEMENTS + 2 * k]
    old = before[at]
    new = after[at]
    value = bytes_of(work, VALUE_AT)
    zero_bytes(value, 8 * desc[D_SIZES + COMPONENTS])
    if new < old:
        m[M_WHY] = ESCAPES
        return -1
    for j in range(1, 1 + size * old):
        if before[at + j] != after[at + j]:
            m[M_WHY] = ESCAPES
            return -1
    value[0] = new - old
    for j in range(size * (new - old)):
        value[1 + j] = after[at + 1 + size * old + j]
    return intern_value(value, COMPONENTS, mem)


def append_key(desc: Words, k: int, number: int, what: int) -> int:
    key = wrap_add(desc[D_APPEND], wrap_mul(k, desc[D_APPEND + 1]))
    return wrap_add(wrap_add(key, wrap_mul(number, desc[D_APPEND + 2])), wrap_mul(what, desc[D_APPEND + 3]))


def append_to(k: int, number: int, what: int, key: int, mem: Bytes, work: Bytes, perms: Bytes) -> int:
    """Record what something appended to a sequence makes of it."""
    m = words_at(mem, 0)
    desc = words_at(mem, 8 * M_DESC)
    added = words_at(mem, m[M_ADDED])
    values = value_words(mem)
    held = bytes_of(mem, m[M_VALUES])
    s = state_at(work, CHILD_AT)
    b = as_bytes(s)
    zero_bytes(b, TOTAL)
    was = value_at(k, number, mem)
    scatter(bytes_of(held, values[was]), b, desc, k)
    more = bytes_of(held, values[value_at(COMPONENTS, what, mem)])
    at = desc[desc[D_RUNS + 2 * k]]
    size = desc[D_ELEMENTS + 2 * k]
    old = b[at]
    start = m[M_ADDED_USED]
    if old + more[0] > desc[D_ELEMENTS + 2 * k + 1]:
        m[M_WHY] = ERRS
        return start
    for j in range(size * more[0]):
        b[at + 1 + size * old + j] = more[1 + j]
    b[at] = old + more[0]
    now_number = intern(s, k, mem, work, perms)
    if now_number < 0:
        return start
    now = value_at(k, now_number, mem)
    added[start] = key
    added[start + 1] = now_number
    for lane in range(LANES):
        added[start + 2 + lane] = values[was + VALUE + lane] ^ values[now + VALUE + lane]
    m[M_ADDED_USED] = start + ADDITION
    return start


def lane_of(s: State, k: int, which: int, mem: Bytes, work: Bytes, perms: Bytes) -> int:
    """The hash of a component of a state under a renaming, where that puts it."""
    desc = words_at(mem, 8 * M_DESC)
    value = bytes_of(work, VALUE_AT)
    to = desc[D_RENAMED + which * COMPONENTS + k]
    if SYMMETRY:
        alone = state_at(work, ALONE_AT)
        image = state_at(work, SPARE_AT)
        zero_bytes(as_bytes(alone), TOTAL)
        gather(as_bytes(s), value, desc, k)
        scatter(value, as_bytes(alone), desc, k)
        permute(alone, image, perms, which)
        gather(as_bytes(image), value, desc, to)
    else:
        gather(as_bytes(s), value, desc, k)
    return hash_of(value, desc[D_SIZES + to], desc[D_STARTS + to])


def enter(s: State, out: Bytes, mem: Bytes, work: Bytes, perms: Bytes) -> int:
    """Write the entry of a state; returns its fingerprint."""
    zero_bytes(out, ENTRY)
    h = 0
    values = value_words(mem)
    for k in range(COMPONENTS):
        store_short(out, IDS_AT + 2 * k, intern(s, k, mem, work, perms))
    for lane in range(LANES):
        x = 0
        for k in range(COMPONENTS):
            x = x ^ values[value_at(k, load_short(out, IDS_AT + 2 * k), mem) + VALUE + lane]
        store_word(out, 8 * lane, x)
        h = wrap_add(h, x)
    return h


# --- what is not remembered --------------------------------------------------------------------------


def resolve(source: Bytes, picks: Words, first: int, count: int, mem: Bytes, work: Bytes, perms: Bytes) -> int:
    """Have all remembered that expanding some states asks for; returns how many were done before there was no room,
    or something that this engine does not do (M_WHY)."""
    m = words_at(mem, 0)
    k = first
    while k < count:
        if 2 * m[M_ENTRIES] > (1 << m[M_BITS]) or m[M_COUNT] + MOST_NEW > m[M_COUNT_LIMIT]:
            return k
        if 2 * m[M_ADD_ENTRIES] > (1 << m[M_ADD_BITS]) or m[M_ADDED_USED] + MOST_NEW > m[M_ADDED_LIMIT]:
            return k
        if m[M_USED] + MOST_RECORD > m[M_RECORD_LIMIT] or m[M_VALUE_USED] + MOST_BYTES > m[M_VALUE_LIMIT]:
            return k
        resolve_state(bytes_of(source, picks[k] * ENTRY + IDS_AT), mem, work, perms)
        if m[M_WHY] != 0:
            return k
        k = k + 1
    return k


def resolve_state(ids: Bytes, mem: Bytes, work: Bytes, perms: Bytes) -> None:
    m = words_at(mem, 0)
    desc = words_at(mem, 8 * M_DESC)
    memo = words_at(mem, m[M_MEMO])
    records = words_at(mem, m[M_RECORDS])
    parent = state_at(work, 0)
    there = False
    for p in range(NODES):
        key = key_of(ids, desc, p)
        listed = look_up(memo, m[M_BITS], records, key)
        if listed == 0:
            if not there:
                materialise(ids, parent, mem)
                there = True
            listed = list_steps(parent, p, key, mem, work)
            remember(m, memo, key, listed)
        if m[M_WHY] != 0:
            return
        for k in range(records[listed + 1]):
            word = records[listed + 2 + k]
            key = key_of(ids, desc, shr(word, 32))
            r = look_up(memo, m[M_BITS], records, key)
            if r == 0:
                if not there:
                    materialise(ids, parent, mem)
                    there = True
                r = take_step(ids, parent, word, key, mem, work, perms)
                remember(m, memo, key, r)
            if m[M_WHY] != 0:
                return
            resolve_appends(ids, r, mem, work, perms)
            if m[M_WHY] != 0:
                return


def addition(mem: Bytes, key: int) -> int:
    """The record of something appended to a value, by its key; 0: there is none."""
    m = words_at(mem, 0)
    return look_up(words_at(mem, m[M_ADDS]), m[M_ADD_BITS], words_at(mem, m[M_ADDED]), key)


def resolve_appends(ids: Bytes, r: int, mem: Bytes, work: Bytes, perms: Bytes) -> None:
    """Have remembered what a step makes of the sequences that it appends to."""
    m = words_at(mem, 0)
    desc = words_at(mem, 8 * M_DESC)
    records = words_at(mem, m[M_RECORDS])
    r = r + 1
    more = True
    while more:
        about = records[r]
        to = bytes_at(records, r + 2 + LANES)
        first = (about >> 16) & 255
        for k in range(first, first + ((about >> 32) & 255)):
            change = load_half(to, 4 * k)
            number = load_short(ids, 2 * (change >> 16))
            key = append_key(desc, change >> 16, number, change & 65535)
            if addition(mem, key) == 0:
                made = append_to(change >> 16, number, change & 65535, key, mem, work, perms)
                if m[M_WHY] != 0:
                    return
                put_down(words_at(mem, m[M_ADDS]), m[M_ADD_BITS], key, made)
                m[M_ADD_ENTRIES] = m[M_ADD_ENTRIES] + 1
        r = r + shr(about, 40)
        more = ((about >> 26) & 63) != 0


def list_steps(parent: State, p: int, key: int, mem: Bytes, work: Bytes) -> int:
    """Record which steps are possible at a process: the key, how many, then a word each with the list that its key is
    of."""
    m = words_at(mem, 0)
    desc = words_at(mem, 8 * M_DESC)
    records = words_at(mem, m[M_RECORDS])
    steps = words_at(work, STEPS_AT)
    m[M_LISTED] = m[M_LISTED] + 1
    parent.error = 0
    enabled(parent, steps)
    if parent.error != 0:
        m[M_WHY] = ERRS
    start = m[M_USED]
    records[start] = key
    count = 0
    for k in range(steps[0]):
        of = class_of_step(parent, steps[1 + k])
        case = of & 255
        a = (of >> 8) & 255
        if case >= KNOWN_CASES or a >= NODES:
            m[M_WHY] = UNKNOWN_STEP
            return start
        if a == p:
            b = (of >> 16) & 255
            b = 7 if b > 7 else b
            count = count + 1
            records[start + 1 + count] = steps[1 + k] | shl(desc[D_KEYED + 64 * case + 8 * a + b], 32)
    records[start + 1] = count
    m[M_USED] = (start + 2 + count + 3) & -4
    return start


def take_step(ids: Bytes, parent: State, word: int, key: int, mem: Bytes, work: Bytes, perms: Bytes) -> int:
    """Record what a step does, each alternative of it."""
    m = words_at(mem, 0)
    records = words_at(mem, m[M_RECORDS])
    child = state_at(work, CHILD_AT)
    note_case(m, shr(word, 32))
    start = (m[M_USED] + 7) & -8
    records[start] = key
    at = start + 1
    choice = 0
    choices = 1
    while choice < choices:
        parent.error = 0
        copy_bytes(as_bytes(child), as_bytes(parent), TOTAL)
        step = (word & 4294967295) | (choice << 32)
        apply(child, step)
        choices = max(choices, child.choices)
        if child.error != 0:
            m[M_WHY] = ERRS
            return start
        broken = judge_step(parent, child, -1)
        met = witness_step(parent, child, -1)
        if (parent.error | child.error) != 0:
            m[M_WHY] = JUDGING_ERRS
            return start
        flags = LOOKS_BEYOND
        if is_quiet(parent, child):
            flags = SAYS if (broken | met) != 0 else 0
        changed = write_change(ids, parent, child, shr(word, 32), at, mem, work, perms)
        behind = at + 2 + LANES + (((changed & 255) + (changed >> 16) + 1) >> 1)
        records[behind] = broken
        records[behind + 1] = met
        records[behind + 2] = step
        flags = flags | profile_of(m, child.event, child.steps) | ((changed & 255) << 16) | ((changed >> 16) << 32)
        if m[M_WHY] != 0:
            return start
        choice = choice + 1
        records[at] = flags | ((choices - choice) << 26) | ((behind + BEHIND - at) << 40)
        at = behind + BEHIND
    if choices > 16:
        m[M_WHY] = MANY_PROFILES
    m[M_USED] = (at + 3) & -4
    return start


def note_case(m: Words, which: int) -> None:
    """Count the steps that were taken, by their cases."""
    m[M_TAKEN] = m[M_TAKEN] + 1
    case = M_CASES + (which - NODES) // (NODES * (NODES + 1))
    m[case] = m[case] + 1


def write_change(
    ids: Bytes, parent: State, child: State, which: int, at: int, mem: Bytes, work: Bytes, perms: Bytes
) -> int:
    """Write down which components a step changed, to what, and what that is xored to the lanes, and what it appended;
    returns how many it changed, and from bit 16 to how many it appended."""
    m = words_at(mem, 0)
    desc = words_at(mem, 8 * M_DESC)
    records = words_at(mem, m[M_RECORDS])
    values = value_words(mem)
    touched = changed_components(as_bytes(parent), as_bytes(child))
    if (touched & (-1 ^ desc[D_WRITES + which])) != 0:
        m[M_WHY] = ESCAPES
        return 0
    records[at + 1] = touched
    for lane in range(LANES):
        records[at + 2 + lane] = 0
    to = bytes_at(records, at + 2 + LANES)
    changed = 0
    appended = touched & desc[D_APPENDS + which]
    left = touched & (-1 ^ appended)
    while left != 0:
        k = count_bits((left & (0 - left)) - 1)
        left = left & (left - 1)
        number = intern(child, k, mem, work, perms)
        if number < 0:
            return 0
        store_half(to, 4 * changed, (k << 16) | number)
        changed = changed + 1
        was = value_at(k, load_short(ids, 2 * k), mem) + VALUE
        now = value_at(k, number, mem) + VALUE
        for lane in range(LANES):
            records[at + 2 + lane] = records[at + 2 + lane] ^ values[was + lane] ^ values[now + lane]
    first = changed
    while appended != 0:
        k = count_bits((appended & (0 - appended)) - 1)
        appended = appended & (appended - 1)
        what = suffix_of(as_bytes(parent), as_bytes(child), k, mem, work)
        if what < 0:
            return 0
        store_half(to, 4 * changed, (k << 16) | what)
        changed = changed + 1
    return first | ((changed - first) << 16)


def profile_of(m: Words, event: int, steps: int) -> int:
    for k in range(m[M_PROFILES]):
        if m[M_PROFILE + 2 * k] == event and m[M_PROFILE + 2 * k + 1] == steps:
            return k
    k = m[M_PROFILES]
    if k == MOST_PROFILES:
        m[M_WHY] = MANY_PROFILES
        return 0
    m[M_PROFILE + 2 * k] = event
    m[M_PROFILE + 2 * k + 1] = steps
    m[M_PROFILES] = k + 1
    return k


def absorb(log: Words, mem: Bytes) -> None:
    """Remember what a thread has found out about properties."""
    m = words_at(mem, 0)
    good = words_at(mem, m[M_GOOD])
    for k in range(log[0]):
        if 2 * m[M_GOOD_ENTRIES] <= (1 << m[M_GOOD_BITS]):
            note_good(m, good, log[1 + k])
    log[0] = 0


def log_good(log: Words, key: int) -> None:
    if log[0] < MOST_LOGGED:
        log[0] = log[0] + 1
        log[log[0]] = key


def rehash_memo(old: Words, bits: int, mem: Bytes) -> None:
    """Move what is remembered into a larger, empty table, which the memory names already."""
    m = words_at(mem, 0)
    memo = words_at(mem, m[M_MEMO])
    records = words_at(mem, m[M_RECORDS])
    m[M_ENTRIES] = 0
    for k in range(1 << bits):
        if old[k] != 0:
            r = shr(old[k], 32) << 2
            remember(m, memo, records[r], r)


def rehash_adds(old: Words, bits: int, mem: Bytes) -> None:
    m = words_at(mem, 0)
    added = words_at(mem, m[M_ADDED])
    for k in range(1 << bits):
        if old[k] != 0:
            r = shr(old[k], 32) << 2
            put_down(words_at(mem, m[M_ADDS]), m[M_ADD_BITS], added[r], r)


def rehash_good(old: Words, bits: int, mem: Bytes) -> None:
    m = words_at(mem, 0)
    good = words_at(mem, m[M_GOOD])
    m[M_GOOD_ENTRIES] = 0
    for k in range(1 << bits):
        if old[k] != 0:
            note_good(m, good, old[k])


def rehash_values(mem: Bytes) -> None:
    """Enter every value into a larger, empty table."""
    m = words_at(mem, 0)
    desc = words_at(mem, 8 * M_DESC)
    table = words_at(mem, m[M_INTERN])
    values = value_words(mem)
    mask = (1 << m[M_INTERN_BITS]) - 1
    for of in range(m[M_COUNT]):
        k = values[VALUED * of + 1]
        h = hash_of(bytes_of(mem, m[M_VALUES] + values[VALUED * of]), desc[D_SIZES + k], desc[D_STARTS + k])
        place = h & mask
        while table[place] != 0:
            place = (place + 1) & mask
        table[place] = of + 1


# --- the loop ----------------------------------------------------------------------------------------


def expand_components(
    source: Bytes,
    picks: Words,
    start: int,
    count: int,
    first: int,
    tables: Words,
    where: Words,
    out: Bytes,
    section: int,
    filled: Words,
    work: Bytes,
    report: Words,
    mem: Bytes,
    log: Words,
    missed: Words,
    live: int,
    live_steps: int,
    want: int,
    want_steps: int,
) -> int:
    """Expand up to `count` entries; returns how many were, or put aside.

    Args:
        picks: the places of the entries in `source`; its first word is negative: they are `start` and those behind.
        missed: how many were put aside, and their places.
        log: what is found out about properties, to be remembered.
    The others are as in `expand`.
    """
    m = words_at(mem, 0)
    desc = words_at(mem, 8 * M_DESC)
    memo = words_at(mem, m[M_MEMO])
    bits = m[M_BITS]
    records = words_at(mem, m[M_RECORDS])
    profiles = words_at(work, PROFILES_AT)
    keys = words_at(work, KEYS_AT)
    listed = words_at(work, LISTED_AT)
    begins = words_at(work, BEGINS_AT)
    taken = words_at(work, TAKEN_AT)
    places = words_at(work, PLACES_AT)
    line = words_at(work, LINE_AT)
    judging = words_at(work, JUDGING_AT)
    asking = words_at(work, ASKING_AT)
    sums = words_at(work, SUMS_AT)
    judging[0] = 0
    asking[0] = 0
    done = 0
    head = 0
    tail = 0
    while done < count and filled[GROUPS] == 0:
        # what is asked of memory is asked of it for some states at once, and used when it is there
        size = min(TOGETHER, count - done)
        for j in range(size):
            index = start + done + j
            if picks[0] >= 0:
                index = picks[1 + index]
            places[j] = index
            ids = bytes_of(source, index * ENTRY + IDS_AT)
            view_keys(ids, keys, NODES * j)
            for p in range(NODES):
                prefetch(memo, shr(hashed(keys[NODES * j + p]), 64 - bits))
        for k in range(NODES * size):
            prefetch(records, shr(memo[shr(hashed(keys[k]), 64 - bits)], 32) << 2)
        for k in range(NODES * size):
            r = look_up(memo, bits, records, keys[k])
            listed[k] = r
        n = 0
        for j in range(size):
            begins[j] = n
            ids = bytes_of(source, places[j] * ENTRY + IDS_AT)
            for p in range(NODES):
                r = listed[NODES * j + p]
                if r == 0:
                    keys[n] = 0
                    n = n + 1
                else:
                    for k in range(records[r + 1]):
                        key = key_of(ids, desc, shr(records[r + 2 + k], 32))
                        keys[n] = key
                        n = n + 1
                        prefetch(memo, shr(hashed(key), 64 - bits))
        begins[size] = n
        for k in range(n):
            r = shr(memo[shr(hashed(keys[k]), 64 - bits)], 32) << 2
            prefetch(records, r)
            if LANES > 1:
                prefetch(records, r + 8)
        for k in range(n):
            r = 0
            if keys[k] != 0:
                r = look_up(memo, bits, records, keys[k])
            taken[k] = r
        for j in range(size):
            ids = bytes_of(source, places[j] * ENTRY + IDS_AT)
            for k in range(begins[j], begins[j + 1]):
                if taken[k] != 0:
                    if not knows_appends(ids, taken[k], mem):
                        taken[k] = 0
        j = 0
        while j < size and filled[GROUPS] == 0:
            index = places[j]
            at = index * ENTRY
            whole = True
            for k in range(begins[j], begins[j + 1]):
                if taken[k] == 0:
                    whole = False
            if not whole:
                missed[0] = missed[0] + 1
                missed[missed[0]] = index
                j = j + 1
                continue
            if begins[j] == begins[j + 1]:
                report[R_DEADLOCKS] = report[R_DEADLOCKS] + 1
            ordinal = 0
            for k in range(begins[j], begins[j + 1]):
                r = taken[k] + 1
                more = True
                while more:
                    about = records[r]
                    profiles[about & 255] = profiles[about & 255] + 1
                    if (about & (LOOKS_BEYOND | SAYS)) != 0 and (live_steps | want_steps) != 0:
                        ask_of_step(source, at, r, first + index, ordinal, mem, work)
                        if asking[0] > AT_ONCE:
                            judge_steps(source, mem, work, report, log, live_steps, want_steps)
                    h = 0
                    if ((about >> 32) & 255) == 0:
                        h = fingerprint_after(bytes_of(source, at), records, r + 2)
                    else:
                        lanes_after(bytes_of(source, at + IDS_AT), r, mem, sums)
                        h = fingerprint_after(bytes_of(source, at), sums, 0)
                    g = shr(h, 60)
                    place = where[2 * g] + mulhi(h << 4, where[2 * g + 1])
                    prefetch(tables, place)
                    slot = LINED * (head & (LINE - 1))
                    line[slot] = h
                    line[slot + 1] = place
                    line[slot + 2] = at
                    line[slot + 3] = r
                    line[slot + 4] = first + index
                    line[slot + 5] = ordinal
                    ordinal = ordinal + 1
                    head = head + 1
                    if head - tail == LINE:
                        slot = tail & (LINE - 1)
                        settle_entry(source, work, slot, tables, where, out, section, filled, mem, live, want)
                        tail = tail + 1
                        if judging[0] > AT_ONCE:
                            judge_entries(out, mem, work, report, log, live, want)
                    r = r + shr(about, 40)
                    more = ((about >> 26) & 63) != 0
            report[R_GENERATED] = report[R_GENERATED] + ordinal
            j = j + 1
        done = done + j
    while tail < head:
        settle_entry(source, work, tail & (LINE - 1), tables, where, out, section, filled, mem, live, want)
        tail = tail + 1
        if judging[0] > AT_ONCE:
            judge_entries(out, mem, work, report, log, live, want)
    judge_entries(out, mem, work, report, log, live, want)
    judge_steps(source, mem, work, report, log, live_steps, want_steps)
    return done


def knows_appends(ids: Bytes, r: int, mem: Bytes) -> bool:
    """Whether it is remembered what a step makes of the sequences that it appends to."""
    m = words_at(mem, 0)
    desc = words_at(mem, 8 * M_DESC)
    records = words_at(mem, m[M_RECORDS])
    r = r + 1
    more = True
    while more:
        about = records[r]
        first = (about >> 16) & 255
        count = (about >> 32) & 255
        if count != 0:
            to = bytes_at(records, r + 2 + LANES)
            for k in range(first, first + count):
                change = load_half(to, 4 * k)
                key = append_key(desc, change >> 16, load_short(ids, 2 * (change >> 16)), change & 65535)
                if addition(mem, key) == 0:
                    return False
        r = r + shr(about, 40)
        more = ((about >> 26) & 63) != 0
    return True


def lanes_after(ids: Bytes, r: int, mem: Bytes, sums: Words) -> None:
    """What a step that appends to sequences xors to each lane."""
    m = words_at(mem, 0)
    desc = words_at(mem, 8 * M_DESC)
    records = words_at(mem, m[M_RECORDS])
    added = words_at(mem, m[M_ADDED])
    for lane in range(LANES):
        sums[lane] = records[r + 2 + lane]
    to = bytes_at(records, r + 2 + LANES)
    first = (records[r] >> 16) & 255
    for k in range(first, first + ((records[r] >> 32) & 255)):
        change = load_half(to, 4 * k)
        key = append_key(desc, change >> 16, load_short(ids, 2 * (change >> 16)), change & 65535)
        made = addition(mem, key)
        for lane in range(LANES):
            sums[lane] = sums[lane] ^ added[made + 2 + lane]


def ask_of_step(source: Bytes, at: int, r: int, parent: int, ordinal: int, mem: Bytes, work: Bytes) -> None:
    """Have a step judged soon of which properties say something, or look beyond its process: these say what is
    remembered under all that they read."""
    asking = words_at(work, ASKING_AT)
    n = asking[0]
    m = words_at(mem, 0)
    key = 0
    if (words_at(mem, m[M_RECORDS])[r] & LOOKS_BEYOND) != 0:
        desc = words_at(mem, 8 * M_DESC)
        about = words_at(mem, m[M_RECORDS])[r]
        step = words_at(mem, m[M_RECORDS])[r + shr(about, 40) - 1]
        key = key_of(bytes_of(source, at + IDS_AT), desc, BEYOND + ((step >> 16) & 255))
        key = wrap_add(key, wrap_mul(r, desc[D_BEYOND]))
        prefetch(words_at(mem, m[M_GOOD]), shr(hashed(key), 64 - m[M_GOOD_BITS]))
    asking[5 * n + 1] = key
    asking[5 * n + 2] = at
    asking[5 * n + 3] = r
    asking[5 * n + 4] = parent
    asking[5 * n + 5] = ordinal
    asking[0] = n + 1


def judge_steps(source: Bytes, mem: Bytes, work: Bytes, report: Words, log: Words, live: int, want: int) -> None:
    """Say what steps break and whose premise they meet in the report."""
    m = words_at(mem, 0)
    asking = words_at(work, ASKING_AT)
    records = words_at(mem, m[M_RECORDS])
    good = words_at(mem, m[M_GOOD])
    for n in range(asking[0]):
        key = asking[5 * n + 1]
        r = asking[5 * n + 3]
        parent = asking[5 * n + 4]
        ordinal = asking[5 * n + 5]
        behind = r + shr(records[r], 40) - BEHIND
        broken = records[behind]
        met = records[behind + 1]
        if key != 0:
            broken = 0
            met = 0
            if not is_good(good, m[M_GOOD_BITS], key):
                before = state_at(work, 0)
                after = state_at(work, CHILD_AT)
                materialise(bytes_of(source, asking[5 * n + 2] + IDS_AT), before, mem)
                copy_bytes(as_bytes(after), as_bytes(before), TOTAL)
                apply(after, records[behind + 2])
                broken = judge_step(before, after, -1)
                met = witness_step(before, after, -1)
                if (before.error | after.error) != 0:
                    note_error(report, before.error | after.error, parent, 2 * ordinal + 1)
                elif broken == 0:
                    log_good(log, key)
        report[R_STEP_WITNESSES] = report[R_STEP_WITNESSES] | (met & want)
        broken = broken & live
        while broken != 0:
            k = count_bits((broken & (0 - broken)) - 1)
            if report[R_BROKEN + k] == 0 or report[R_BROKEN + k] > parent + 1:
                report[R_BROKEN + k] = parent + 1
                report[R_BROKEN_ORDINAL + k] = ordinal
            broken = broken & (broken - 1)
    asking[0] = 0


def settle_entry(
    source: Bytes,
    work: Bytes,
    slot: int,
    tables: Words,
    where: Words,
    out: Bytes,
    section: int,
    filled: Words,
    mem: Bytes,
    live: int,
    want: int,
) -> None:
    """Look a successor up; if it is not in the table, write it out as a candidate that is to be judged."""
    line = words_at(work, LINE_AT + 8 * LINED * slot)
    h = line[0]
    place = line[1]
    g = shr(h, 60)
    end = where[2 * g] + where[2 * g + 1]
    while tables[place] != 0:
        if tables[place] == h:
            return
        place = place + 1
        if place == end:
            place = where[2 * g]
    at = g * section + filled[g]
    entry = bytes_of(out, at + HEADER)
    m = words_at(mem, 0)
    records = words_at(mem, m[M_RECORDS])
    r = line[3]
    copy_bytes(entry, bytes_of(source, line[2]), ENTRY)
    to = bytes_at(records, r + 2 + LANES)
    for k in range((records[r] >> 16) & 255):
        change = load_half(to, 4 * k)
        store_short(entry, IDS_AT + 2 * (change >> 16), change & 65535)
    appends = (records[r] >> 32) & 255
    if appends == 0:
        same = rewrite_lanes(entry, records, r + 2)
    else:
        sums = words_at(work, SUMS_AT)
        lanes_after(bytes_of(entry, IDS_AT), r, mem, sums)
        same = rewrite_lanes(entry, sums, 0)
        first = (records[r] >> 16) & 255
        for k in range(first, first + appends):
            change = load_half(to, 4 * k)
            place = IDS_AT + 2 * (change >> 16)
            key = append_key(words_at(mem, 8 * M_DESC), change >> 16, load_short(entry, place), change & 65535)
            made = addition(mem, key)
            store_short(entry, place, words_at(mem, m[M_ADDED])[made + 1])
    store_word(out, at, h)
    store_half(out, at + 8, line[4])
    store_short(out, at + 12, line[5])
    store_short(out, at + 14, ENTRY)
    store_word(out, at + 16, same << MOST_PROPERTIES)
    filled[g] = filled[g] + HEADER + ENTRY
    if filled[g] + MARGIN > section:
        filled[GROUPS] = 1
    desc = words_at(mem, 8 * M_DESC)
    judging = words_at(work, JUDGING_AT)
    touched = records[r + 1]
    for j in range(JUDGED):
        if (touched & desc[D_JUDGED + 3 * j + 1]) != 0 and ((live | want) & desc[D_JUDGED + 3 * j + 2]) != 0:
            key = key_of(bytes_of(entry, IDS_AT), desc, desc[D_JUDGED + 3 * j])
            prefetch(words_at(mem, m[M_GOOD]), shr(hashed(key), 64 - m[M_GOOD_BITS]))
            n = judging[0]
            judging[3 * n + 1] = key
            judging[3 * n + 2] = at
            judging[3 * n + 3] = j
            judging[0] = n + 1


def judge_entries(out: Bytes, mem: Bytes, work: Bytes, report: Words, log: Words, live: int, want: int) -> None:
    """Judge candidates by the properties that read something that the step to them has changed."""
    m = words_at(mem, 0)
    desc = words_at(mem, 8 * M_DESC)
    good = words_at(mem, m[M_GOOD])
    judging = words_at(work, JUDGING_AT)
    for k in range(judging[0]):
        if not is_good(good, m[M_GOOD_BITS], judging[3 * k + 1]):
            at = judging[3 * k + 2]
            asked = desc[D_JUDGED + 3 * judging[3 * k + 3] + 2]
            s = state_at(work, CHILD_AT)
            materialise(bytes_of(out, at + HEADER + IDS_AT), s, mem)
            broken = judge(s, asked, True)
            met = witness(s, asked, True)
            if s.error != 0:
                note_error(report, s.error, load_half(out, at + 8), 2 * load_short(out, at + 12) + 1)
                broken = judge_alone(s, asked, True)
                met = witness_alone(s, asked, True)
            elif broken == 0:
                log_good(log, judging[3 * k + 1])
            store_word(out, at + 16, load_word(out, at + 16) | (broken & live))
            report[R_WITNESSES] = report[R_WITNESSES] | (met & want)
    judging[0] = 0
