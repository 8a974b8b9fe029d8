/* Loaded into a ZooKeeper server before libc: threads that matter ask, over a socket, before they go on.
 *
 * Who asks: the main thread (QuorumPeer), the sync thread, the commit thread, by the names that the JVM gives them.
 * What about: opening and writing files of the database, forcing them, and of the main thread what it sends; the other
 * two also when they begin, and whenever they wake from having nothing to do. The answer is a byte: g goes on, e fails
 * with ENOSPC. Where nobody answers, all goes on. No class of ZooKeeper is changed. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* A server does not outlive whoever plays with it. */
__attribute__((constructor)) static void dies_with_us(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); }

enum { NONE, MAIN, SYNC, COMMIT };
static const char *const NAMES[] = {"", "main", "sync", "commit"};
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
         : !strncmp(name, "CommitProcessor", 15) ? COMMIT : NONE;
}

int pthread_setname_np(pthread_t thread, const char *name) {
    REAL(int, pthread_setname_np, pthread_t, const char *);
    if (pthread_equal(thread, pthread_self())) who = kind_of(name);
    return real(thread, name);
}

/* --- the JVM's tool interface: a thread begins. The numbers are of functions and events in its specification; what is
 * asked here is asked in a state in which no safepoint waits for the thread. --- */

typedef void *const *table;
struct thread_info { char *name; int priority; unsigned char daemon; void *group, *loader; };
enum { SET_NOTIFICATION = 1, THREAD_INFO = 8, DEALLOCATE = 46, SET_CALLBACKS = 121, THREAD_START = 52, FIRST_EVENT = 50 };

static void on_thread_start(table *tools, void *jni, void *thread) {
    struct thread_info info = {0};
    (void)jni;
    if (((int (*)(table *, void *, struct thread_info *))(*tools)[THREAD_INFO])(tools, thread, &info) || !info.name) return;
    who = kind_of(info.name);
    ((int (*)(table *, void *))(*tools)[DEALLOCATE])(tools, info.name);
    if (who == SYNC || who == COMMIT) ask("begin", "-");
}

int Agent_OnLoad(table *vm, char *options, void *reserved) {
    static void *callbacks[3];
    table *tools = NULL;
    (void)options, (void)reserved;
    if (((int (*)(table *, table **, int))(*vm)[6])(vm, &tools, 0x30010000)) return 1;
    callbacks[THREAD_START - FIRST_EVENT] = (void *)on_thread_start;
    if (((int (*)(table *, void *, int))(*tools)[SET_CALLBACKS])(tools, callbacks, (int)sizeof callbacks)) return 1;
    return ((int (*)(table *, int, int, void *, ...))(*tools)[SET_NOTIFICATION])(tools, 1, THREAD_START, NULL) != 0;
}

static int opened(const char *path, int flags, int fd_or_ask) {
    const char *name = base(path);
    if (!(flags & (O_WRONLY | O_RDWR)) || !matters(name)) return 1;
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
    struct stat s;
    if (who == NONE || fd < 0 || fd >= MOST_FDS || fd == fd_of_gate) return 1;
    if (is_log[fd]) return ask(what, "log.");
    if (who == MAIN && fstat(fd, &s) == 0 && S_ISSOCK(s.st_mode)) return ask("send", "-");
    return 1;
}

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, write, int, const void *, size_t);
    if (!may_write(fd, "write")) { errno = ENOSPC; return -1; }
    return real(fd, data, size);
}

ssize_t send(int fd, const void *data, size_t size, int flags) {
    REAL(ssize_t, send, int, const void *, size_t, int);
    may_write(fd, "write");
    return real(fd, data, size, flags);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
    if (!may_write(fd, "pad")) { errno = ENOSPC; return -1; } /* FilePadding, before a record is written */
    return real(fd, data, size, at);
}

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
        return real(fd); \
    }
FORCE(fsync)
FORCE(fdatasync)

/* Awake again: the mutex is given back while it asks, so that nobody waits for whoever waits. */
static void woken(pthread_mutex_t *m) {
    if (who != SYNC && who != COMMIT) return;
    pthread_mutex_unlock(m);
    ask("wake", "-");
    pthread_mutex_lock(m);
}

int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) {
    static int (*real)(pthread_cond_t *, pthread_mutex_t *);
    if (!real && !(*(void **)&real = dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2")))
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_cond_wait");
    int code = real(c, m);
    woken(m);
    return code;
}

int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until) {
    static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (!real && !(*(void **)&real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2")))
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    int code = real(c, m, until);
    woken(m);
    return code;
}
