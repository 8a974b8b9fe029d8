/* Loaded into a ZooKeeper server before libc, and as an agent of the JVM: threads that matter ask, over a socket, before
 * they go on.
 *
 * Who asks: the main thread (QuorumPeer), the sync thread, the commit thread, that of a periodic snapshot, by the names
 * that the JVM gives them.
 * What about: the main thread before it opens, writes and cuts files of the database, and where it begins to send;
 * the sync thread at each transaction before it appends it, and about room for it; the commit thread at each that is
 * committed, before it takes it from its queue; that of a snapshot before it does anything, and before it opens its
 * file, whose name it knows then. The answer is a byte: g goes on, e fails with ENOSPC. Where nobody
 * answers, all goes on. Of what any thread forces a copy is kept, if asked for (ZABCHECK_FORCED). No class of ZooKeeper is changed: where a method begins is a breakpoint, as a debugger's. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifdef SOURCE_DIGEST
const char zabcheck_shim_source[] = SOURCE_DIGEST; /* of a library that is shipped built */
#endif

static volatile const long long *skipped; /* nanoseconds that the main thread's clock is ahead: ZABCHECK_CLOCK */
static volatile const char *stalled;      /* while it is 1, nothing is forced to the disk: ZABCHECK_STALL */
static int forced = -1;                   /* a folder of what was forced, as it was then: ZABCHECK_FORCED */

static void *mapped(const char *path, size_t size) {
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0) : -1;
    if (fd < 0) return NULL;
    void *at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    return at != MAP_FAILED ? at : NULL;
}

/* A server does not outlive whoever plays with it. */
__attribute__((constructor)) static void begins(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    skipped = mapped(getenv("ZABCHECK_CLOCK"), sizeof *skipped);
    stalled = mapped(getenv("ZABCHECK_STALL"), sizeof *stalled);
    if (getenv("ZABCHECK_FORCED"))
        forced = (int)syscall(SYS_openat, AT_FDCWD, getenv("ZABCHECK_FORCED"), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

enum { NONE, MAIN, SYNC, COMMIT, PERIODIC };
static const char *const NAMES[] = {"", "main", "sync", "commit", "snapshot"};
static __thread int who, fd_of_gate = -1;
#define MOST_FDS 65536
static char is_log[MOST_FDS];

/* Returns whether the call is to go on. */
static int ask(const char *what, const char *name) {
    const char *path = getenv("ZABCHECK_GATE");
    char said[300], answer = 'g';
    int kept = errno;
    if (!path) return 1;
    if (fd_of_gate < 0) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        if (strlen(path) >= sizeof a.sun_path) return 1;
        strcpy(a.sun_path, path);
        fd_of_gate = (int)syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd_of_gate < 0) return 1;
        if (syscall(SYS_connect, fd_of_gate, &a, sizeof a) != 0) {
            syscall(SYS_close, fd_of_gate);
            fd_of_gate = -1;
            errno = kept;
            return 1;
        }
    }
    int size = snprintf(said, sizeof said, "%ld %s %s %.200s\n", syscall(SYS_gettid), NAMES[who], what, name);
    if (syscall(SYS_sendto, fd_of_gate, said, (size_t)size, MSG_NOSIGNAL, NULL, 0) == size) {
        long got;
        while ((got = syscall(SYS_read, fd_of_gate, &answer, 1)) < 0 && errno == EINTR) {}
        if (got <= 0) answer = 'g';
    }
    errno = kept;
    return answer != 'e';
}

static const char *base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int matters(const char *name) {
    return !strncmp(name, "log.", 4) || !strncmp(name, "snapshot.", 9) || !strncmp(name, "currentEpoch", 12) ||
           !strncmp(name, "acceptedEpoch", 13);
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name)

static int kind_of(const char *name) {
    return !strncmp(name, "QuorumPeer[", 11) ? MAIN : !strncmp(name, "SyncThread:", 11) ? SYNC
         : !strncmp(name, "CommitProcessor", 15) ? COMMIT : !strcmp(name, "Snapshot Thread") ? PERIODIC : NONE;
}

int pthread_setname_np(pthread_t thread, const char *name) {
    REAL(int, pthread_setname_np, pthread_t, const char *);
    if (pthread_equal(thread, pthread_self())) who = kind_of(name);
    return real(thread, name);
}

/* --- the JVM's tool interface and its native one: a thread begins, a class is there, a breakpoint is reached. Numbers
 * are of functions, events and capabilities in their specifications. What is asked here is asked in a state in which no
 * safepoint waits for the thread. --- */

typedef void *const *table;
struct thread_info { char *name; int priority; unsigned char daemon; void *group, *loader; };
enum { SET_NOTIFICATION = 1, THREAD_INFO = 8, LOCAL_OBJECT = 20, SET_BREAKPOINT = 37, DEALLOCATE = 46, SIGNATURE = 47,
       CLASS_METHODS = 51, METHOD_NAME = 63, SET_CALLBACKS = 121, ADD_CAPABILITIES = 141 };
enum { THREAD_START = 52, CLASS_PREPARE = 56, BREAKPOINT = 62, FIRST_EVENT = 50, EVENTS = 13 };
enum { LOCAL_VARIABLES = 1 << 14, BREAKPOINTS = 1 << 19 };
enum { EXCEPTION_CLEAR = 17, OBJECT_CLASS = 31, METHOD_ID = 33, CALL_OBJECT = 34, FIELD_ID = 94, OBJECT_FIELD = 95,
       LONG_FIELD = 101 };
#define IN(tools, number, type, ...) ((type (*)(table *, ##__VA_ARGS__))(*tools)[number])

/* Where who asks what. */
static const struct point { const char *class, *method; int who; const char *what; } POINTS[] = {
    {"Lorg/apache/zookeeper/server/quorum/Learner;", "writePacket", MAIN, "send"},
    {"Lorg/apache/zookeeper/server/ZKDatabase;", "append", SYNC, "append"},
    {"Lorg/apache/zookeeper/server/quorum/CommitProcessor;", "waitForEmptyPool", COMMIT, "commit"}, /* since 3.6.0 */
    {"Lorg/apache/zookeeper/server/quorum/CommitProcessor;", "processCommitted", COMMIT, "commit"}, /* 3.5 */
    {"Lorg/apache/zookeeper/server/FinalRequestProcessor;", "processRequest", COMMIT, "commit"}, /* 3.4: it is taken */
};
enum { COUNT = sizeof POINTS / sizeof *POINTS, SINCE_36 = 2, OF_35, OF_34 };
static void *methods[COUNT];

static void on_thread_start(table *tools, table *jni, void *thread) {
    struct thread_info info = {0};
    (void)jni;
    if (IN(tools, THREAD_INFO, int, void *, struct thread_info *)(tools, thread, &info) || !info.name) return;
    who = kind_of(info.name);
    IN(tools, DEALLOCATE, int, void *)(tools, info.name);
    if (who == SYNC || who == PERIODIC) ask("begin", "-");
}

static void find_methods(table *tools, void *class, const char *signature) {
    void **all = NULL;
    int count = 0;
    if (IN(tools, CLASS_METHODS, int, void *, int *, void ***)(tools, class, &count, &all)) return;
    for (int k = 0; k < count; k++) {
        char *name = NULL;
        if (IN(tools, METHOD_NAME, int, void *, char **, char **, char **)(tools, all[k], &name, NULL, NULL)) continue;
        for (int n = 0; n < COUNT; n++)
            if (!methods[n] && !strcmp(POINTS[n].class, signature) && !strcmp(POINTS[n].method, name)) {
                methods[n] = all[k];
                IN(tools, SET_BREAKPOINT, int, void *, long long)(tools, all[k], 0);
            }
        IN(tools, DEALLOCATE, int, void *)(tools, name);
    }
    IN(tools, DEALLOCATE, int, void *)(tools, all);
}

static void on_class_prepare(table *tools, table *jni, void *thread, void *class) {
    char *signature = NULL;
    (void)jni, (void)thread;
    if (IN(tools, SIGNATURE, int, void *, char **, char **)(tools, class, &signature, NULL)) return;
    for (int n = 0; n < COUNT; n++)
        if (!strcmp(POINTS[n].class, signature)) {
            find_methods(tools, class, signature);
            break;
        }
    IN(tools, DEALLOCATE, int, void *)(tools, signature);
}

static void *field(table *jni, void *object, const char *name, const char *type) {
    void *class = IN(jni, OBJECT_CLASS, void *, void *)(jni, object);
    void *id = IN(jni, FIELD_ID, void *, void *, const char *, const char *)(jni, class, name, type);
    if (!id) IN(jni, EXCEPTION_CLEAR, void)(jni);
    return id;
}

/* The first of what is committed and not applied; null: nothing is. */
static void *first_committed(table *jni, void *processor) {
    void *id = field(jni, processor, "committedRequests", "Ljava/util/concurrent/LinkedBlockingQueue;");
    void *queue = id ? IN(jni, OBJECT_FIELD, void *, void *, void *)(jni, processor, id) : NULL;
    if (!queue) return NULL;
    void *class = IN(jni, OBJECT_CLASS, void *, void *)(jni, queue);
    void *peek = IN(jni, METHOD_ID, void *, void *, const char *, const char *)(jni, class, "peek", "()Ljava/lang/Object;");
    if (!peek) {
        IN(jni, EXCEPTION_CLEAR, void)(jni);
        return NULL;
    }
    return ((void *(*)(table *, void *, void *, ...))(*jni)[CALL_OBJECT])(jni, queue, peek);
}

/* Asks for a transaction by the zxid of its header; what has none (reads) does not ask. Until 3.6 the request that an
 * observer makes of an INFORM has no zxid but that (Observer.processPacket). */
static void ask_for(table *jni, const char *what, void *request) {
    char zxid[20];
    void *of_request = request ? field(jni, request, "hdr", "Lorg/apache/zookeeper/txn/TxnHeader;") : NULL;
    void *hdr = of_request ? IN(jni, OBJECT_FIELD, void *, void *, void *)(jni, request, of_request) : NULL;
    void *id = hdr ? field(jni, hdr, "zxid", "J") : NULL;
    if (!id) return;
    snprintf(zxid, sizeof zxid, "%llx", (unsigned long long)IN(jni, LONG_FIELD, long long, void *, void *)(jni, hdr, id));
    ask(what, zxid);
}

static void on_breakpoint(table *tools, table *jni, void *thread, void *method, long long location) {
    void *object = NULL;
    (void)location;
    for (int n = 0; n < COUNT; n++) {
        const int given = who == SYNC || n == OF_34; /* the transaction is the method's argument */
        if (methods[n] != method || POINTS[n].who != who) continue;
        if (n == OF_34 && (methods[SINCE_36] || methods[OF_35])) continue;
        if (who == MAIN) ask(POINTS[n].what, "-");
        else if (!IN(tools, LOCAL_OBJECT, int, void *, int, int, void **)(tools, thread, 0, given, &object))
            ask_for(jni, POINTS[n].what, given ? object : first_committed(jni, object));
    }
}

int Agent_OnLoad(table *vm, char *options, void *reserved) {
    static void *callbacks[EVENTS];
    static const int on[] = {THREAD_START, CLASS_PREPARE, BREAKPOINT};
    const unsigned capabilities[4] = {LOCAL_VARIABLES | BREAKPOINTS};
    table *tools = NULL;
    (void)options, (void)reserved;
    if (IN(vm, 6, int, table **, int)(vm, &tools, 0x30010000)) return 1;
    if (IN(tools, ADD_CAPABILITIES, int, const unsigned *)(tools, capabilities)) return 1;
    callbacks[THREAD_START - FIRST_EVENT] = (void *)on_thread_start;
    callbacks[CLASS_PREPARE - FIRST_EVENT] = (void *)on_class_prepare;
    callbacks[BREAKPOINT - FIRST_EVENT] = (void *)on_breakpoint;
    if (IN(tools, SET_CALLBACKS, int, void **, int)(tools, callbacks, (int)sizeof callbacks)) return 1;
    for (int k = 0; k < 3; k++)
        if (((int (*)(table *, int, int, void *, ...))(*tools)[SET_NOTIFICATION])(tools, 1, on[k], NULL)) return 1;
    return 0;
}

/* --- what a loss of power leaves: each file of the database as it was when it was last forced. A file has the name that
 * it was given since, forced or not, as the epochs' files rely on. That one is deleted, or made shorter, is not forced by
 * itself; a snapshot that is begun anew is gone until it is forced. --- */

enum { PIECE = 1 << 16 };

static int copied(int from, int to) {
    static __thread char data[PIECE];
    off64_t at = 0;
    long got;
    while ((got = syscall(SYS_pread64, from, data, (size_t)PIECE, at)) > 0) {
        const int empty = !data[0] && !memcmp(data, data + 1, (size_t)got - 1); /* room for records, left out */
        if (!empty && syscall(SYS_pwrite64, to, data, (size_t)got, at) != got) return 0;
        at += got;
    }
    return got == 0 && !syscall(SYS_ftruncate, to, at);
}

static void keep_forced(int fd) {
    char link[40], path[4096], new[40];
    int kept = errno, from, to;
    long size;
    struct stat found;
    if (forced < 0) return;
    if (!fstat(fd, &found) && !found.st_nlink) { /* deleted, and forced with it: no name would lead to it */
        errno = kept;
        return;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    snprintf(new, sizeof new, ".new%ld", syscall(SYS_gettid));
    if ((size = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1)) > 0 && (path[size] = 0, matters(base(path)))) {
        from = (int)syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC, 0);
        to = (int)syscall(SYS_openat, forced, new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (from < 0 || to < 0 || !copied(from, to) || syscall(SYS_renameat2, forced, new, forced, base(path), 0))
            abort(); /* no run may go on without it */
        syscall(SYS_close, from);
        syscall(SYS_close, to);
    }
    errno = kept;
}

int rename(const char *from, const char *to) {
    REAL(int, rename, const char *, const char *);
    const int code = real(from, to), kept = errno;
    if (!code && forced >= 0 && matters(base(to)) && syscall(SYS_renameat2, forced, base(from), forced, base(to), 0))
        syscall(SYS_unlinkat, forced, base(to), 0);
    errno = kept;
    return code;
}

static int opened(const char *path, int flags, int fd_or_ask) {
    const char *name = base(path);
    if (!(flags & (O_WRONLY | O_RDWR)) || !matters(name)) return 1;
    if (fd_or_ask >= 0 && forced >= 0 && flags & O_TRUNC && !strncmp(name, "snapshot.", 9))
        syscall(SYS_unlinkat, forced, name, 0);
    if (fd_or_ask < 0) return who == NONE || ask("open", name);
    if (fd_or_ask < MOST_FDS) is_log[fd_or_ask] = !strncmp(name, "log.", 4);
    return 1;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(int, name, const char *, int, ...); \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        if (!opened(path, flags, -1)) { errno = ENOSPC; return -1; } \
        int fd = real(path, flags, mode); \
        if (fd >= 0) { if (fd < MOST_FDS) is_log[fd] = 0; opened(path, flags, fd); } \
        return fd; \
    }
OPEN(open)
OPEN(open64)

static int may_write(int fd, const char *what) {
    if (who == NONE || fd < 0 || fd >= MOST_FDS || fd == fd_of_gate || !is_log[fd]) return 1;
    return ask(what, "log.");
}

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, write, int, const void *, size_t);
    if (!may_write(fd, "write")) { errno = ENOSPC; return -1; }
    return real(fd, data, size);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
    if (!may_write(fd, "pad")) { errno = ENOSPC; return -1; } /* FilePadding, before a record is written */
    return real(fd, data, size, at);
}

#define CUT(name, type) \
    int name(int fd, type size) { \
        REAL(int, name, int, type); \
        if (who == MAIN && fd >= 0 && fd < MOST_FDS && is_log[fd] && !ask("cut", "log.")) { errno = ENOSPC; return -1; } \
        return real(fd, size); \
    }
CUT(ftruncate, off_t)
CUT(ftruncate64, off64_t)

/* Who connects to another server's port gets its own proxy for it: ZABCHECK_PORTS is port>proxy, and so on. The servers'
 * configurations stay the same, as they must: a leader whose address another server knows otherwise commits nothing. */
int connect(int fd, const struct sockaddr *to, socklen_t size) {
    REAL(int, connect, int, const struct sockaddr *, socklen_t);
    const char *at = getenv("ZABCHECK_PORTS");
    if (at && (to->sa_family == AF_INET || to->sa_family == AF_INET6) && size <= sizeof(struct sockaddr_in6)) {
        struct sockaddr_in6 copy;
        int port, proxy, used;
        memcpy(&copy, to, size); /* both kinds have the port in one place */
        for (; sscanf(at, "%d>%d,%n", &port, &proxy, &used) == 2; at += used)
            if (ntohs(copy.sin6_port) == port) {
                copy.sin6_port = htons((unsigned short)proxy);
                return real(fd, (struct sockaddr *)&copy, size);
            }
    }
    return real(fd, to, size);
}

#define FORCE(name) \
    int name(int fd) { \
        REAL(int, name, int); \
        if (who != NONE && fd >= 0 && fd < MOST_FDS && is_log[fd] && !ask("force", "log.")) { errno = EIO; return -1; } \
        while (stalled && *stalled == '1') usleep(5000); \
        const int code = real(fd); \
        if (!code) keep_forced(fd); \
        return code; \
    }
FORCE(fsync)
FORCE(fdatasync)

/* --- the main thread's clock, which may be put ahead: what it waits for is over then (initLimit, and the like) --- */

enum { SECOND = 1000000000, GLANCE = 25000000 }; /* it looks so often whether it was put ahead */

static int real_clock(clockid_t id, struct timespec *t) {
    REAL(int, clock_gettime, clockid_t, struct timespec *);
    return real(id, t);
}

static long long now(void) {
    struct timespec t;
    real_clock(CLOCK_MONOTONIC, &t);
    return t.tv_sec * (long long)SECOND + t.tv_nsec;
}

static struct timespec spec(long long ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};
}

int clock_gettime(clockid_t id, struct timespec *t) {
    int code = real_clock(id, t);
    /* 3.4 waits by the time of day */
    if (!code && who == MAIN && (id == CLOCK_MONOTONIC || id == CLOCK_REALTIME) && skipped && *skipped)
        *t = spec(t->tv_sec * (long long)SECOND + t->tv_nsec + *skipped);
    return code;
}

int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until) {
    static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (!real && !(*(void **)&real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2")))
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    if (who != MAIN || !skipped || until->tv_sec > SECOND) return real(c, m, until); /* the last: of the other clock */
    const long long before = *skipped, end = until->tv_sec * (long long)SECOND + until->tv_nsec - before;
    while (1) {
        const long long more = *skipped - before, at = now(), left = end - at - (more > 0 ? more : 0);
        struct timespec next = spec(at + (left > GLANCE ? GLANCE : left > 0 ? left : 0));
        int code = real(c, m, &next);
        if (code != ETIMEDOUT || left <= GLANCE) return code;
    }
}

int poll(struct pollfd *fds, nfds_t count, int timeout) {
    REAL(int, poll, struct pollfd *, nfds_t, int);
    if (who != MAIN || !skipped || timeout <= 0) return real(fds, count, timeout);
    const long long before = *skipped, end = now() + timeout * 1000000LL;
    while (1) {
        const long long more = *skipped - before, left = end - now() - (more > 0 ? more : 0);
        int code = real(fds, count, (int)((left > GLANCE ? GLANCE : left > 0 ? left : 0) / 1000000));
        if (code || left <= GLANCE) return code;
    }
}
