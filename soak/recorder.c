/* Records what a process does to the files below one folder, and kills it at a chosen operation.

   Loaded with LD_PRELOAD, so that it sees all of Python, Rust and SQLite that goes through the C
   library.  It does nothing until recorder_arm() is called.  soak/instrument.py reads the log: per
   operation one line of fields between tabs, then the bytes that a write wrote. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t turn = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static char folder[PATH_MAX];
static size_t folder_length;
static int log_fd = -1;
static long count, kill_at, delay_us, jump_seconds;

/* Begin: kill before operation `at` (from 1; 0 never), of which a write is half done; wait `delay`
   microseconds at each operation; log to `log` unless it is empty. */
void recorder_arm(const char *below, const char *log, long at, long delay) {
    snprintf(folder, sizeof folder, "%s", below);
    folder_length = strlen(folder);
    count = 0;
    kill_at = at;
    delay_us = delay;
    log_fd = *log ? open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static ssize_t write_whole(int fd, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    size_t done = 0;
    while (done < size) {
        ssize_t wrote = real(fd, (const char *)data + done, size - done);
        if (wrote < 0) return -1;
        done += wrote;
    }
    return size;
}

static int below(const char *path) {
    return folder_length && !strncmp(path, folder, folder_length)
        && (path[folder_length] == '/' || !path[folder_length]);
}

/* The absolute path of `name` in the directory `at`, and whether it is below the folder. */
static int located(int at, const char *name, char *path) {
    if (!folder_length || !name) return 0;
    if (*name == '/') {
        snprintf(path, PATH_MAX, "%s", name);
        return below(path);
    }
    char link[64], base[PATH_MAX];
    if (at == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", at);
    ssize_t length = readlink(link, base, sizeof base - 1);
    if (length < 0) return 0;
    base[length] = 0;
    if (snprintf(path, PATH_MAX, "%s/%s", base, name) >= PATH_MAX) return 0;
    return below(path);
}

static int opened(int fd, char *path) {
    char link[64];
    if (!folder_length || fd == log_fd) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

static unsigned long inode(int fd) {
    struct stat found;
    return fstat(fd, &found) ? 0 : found.st_ino;
}

/* Count an operation; die here if it is the chosen one.  True if it is, for a write to do half. */
static int reached(void) {
    count++;
    if (delay_us) {
        struct timespec pause = {delay_us / 1000000, delay_us % 1000000 * 1000};
        nanosleep(&pause, NULL);
    }
    return kill_at && count == kill_at;
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static void note(const char *what, unsigned long node, long offset, const char *path,
                 const char *other, const void *data, size_t size) {
    if (log_fd < 0) return;
    char line[2 * PATH_MAX + 128];
    int length = snprintf(line, sizeof line, "%s\t%lu\t%ld\t%zu\t%s\t%s\n", what, node, offset, size,
                          path, other);
    int kept = errno;
    char *whole = malloc(length + size);
    memcpy(whole, line, length);
    if (size) memcpy(whole + length, data, size);
    write_whole(log_fd, whole, length + size); /* at once: other processes may log too */
    free(whole);
    errno = kept;
}

#define LOCKED pthread_mutex_lock(&turn)
#define UNLOCKED pthread_mutex_unlock(&turn)

/* The names of files ------------------------------------------------------------------------- */

static int open_at(int at, const char *name, int flags, mode_t mode) {
    REAL(int, "openat", int, const char *, int, ...);
    char path[PATH_MAX];
    int changes = flags & (O_CREAT | O_TRUNC);
    if (!changes || (flags & O_TMPFILE) == O_TMPFILE || !located(at, name, path))
        return real(at, name, flags, mode);
    LOCKED;
    struct stat before;
    int was = !fstatat(at, name, &before, 0);
    if (was && !((flags & O_TRUNC) && before.st_size)) { /* neither makes nor changes anything */
        int fd = real(at, name, flags, mode);
        UNLOCKED;
        return fd;
    }
    if (reached()) die();
    int fd = real(at, name, flags, mode);
    if (fd >= 0) note(was ? "truncate" : "create", inode(fd), 0, path, "", NULL, 0);
    UNLOCKED;
    return fd;
}

#define MODE \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list rest; va_start(rest, flags); mode = va_arg(rest, int); va_end(rest); \
    }
int open(const char *name, int flags, ...) { MODE return open_at(AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE return open_at(AT_FDCWD, name, flags, mode); }
int openat(int at, const char *name, int flags, ...) { MODE return open_at(at, name, flags, mode); }
int openat64(int at, const char *name, int flags, ...) { MODE return open_at(at, name, flags, mode); }

static int rename_at(int from, const char *old, int to, const char *new) {
    REAL(int, "renameat", int, const char *, int, const char *);
    char path[PATH_MAX], other[PATH_MAX];
    if (!(located(from, old, path) & located(to, new, other))) return real(from, old, to, new);
    LOCKED;
    if (reached()) die();
    int result = real(from, old, to, new);
    if (!result) note("rename", 0, 0, path, other, NULL, 0);
    UNLOCKED;
    return result;
}
int rename(const char *old, const char *new) { return rename_at(AT_FDCWD, old, AT_FDCWD, new); }
int renameat(int from, const char *old, int to, const char *new) { return rename_at(from, old, to, new); }

static int unlink_at(int at, const char *name, int flags) {
    REAL(int, "unlinkat", int, const char *, int);
    char path[PATH_MAX];
    if (!located(at, name, path)) return real(at, name, flags);
    LOCKED;
    if (reached()) die();
    int result = real(at, name, flags);
    if (!result) note(flags & AT_REMOVEDIR ? "rmdir" : "unlink", 0, 0, path, "", NULL, 0);
    UNLOCKED;
    return result;
}
int unlink(const char *name) { return unlink_at(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlink_at(AT_FDCWD, name, AT_REMOVEDIR); }
int unlinkat(int at, const char *name, int flags) { return unlink_at(at, name, flags); }

static int mkdir_at(int at, const char *name, mode_t mode) {
    REAL(int, "mkdirat", int, const char *, mode_t);
    char path[PATH_MAX];
    if (!located(at, name, path)) return real(at, name, mode);
    LOCKED;
    if (reached()) die();
    int result = real(at, name, mode);
    struct stat made;
    if (!result && !fstatat(at, name, &made, 0)) note("mkdir", made.st_ino, 0, path, "", NULL, 0);
    UNLOCKED;
    return result;
}
int mkdir(const char *name, mode_t mode) { return mkdir_at(AT_FDCWD, name, mode); }
int mkdirat(int at, const char *name, mode_t mode) { return mkdir_at(at, name, mode); }

static int symlink_at(const char *target, int at, const char *name) {
    REAL(int, "symlinkat", const char *, int, const char *);
    char path[PATH_MAX];
    if (!located(at, name, path)) return real(target, at, name);
    LOCKED;
    if (reached()) die();
    int result = real(target, at, name);
    if (!result) note("symlink", 0, 0, path, target, NULL, 0);
    UNLOCKED;
    return result;
}
int symlink(const char *target, const char *name) { return symlink_at(target, AT_FDCWD, name); }
int symlinkat(const char *target, int at, const char *name) { return symlink_at(target, at, name); }

/* Their content ------------------------------------------------------------------------------ */

static long place(int fd) {
    struct stat found;
    if ((fcntl(fd, F_GETFL) & O_APPEND) && !fstat(fd, &found)) return found.st_size;
    return lseek(fd, 0, SEEK_CUR);
}

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    char path[PATH_MAX];
    if (!opened(fd, path)) return real(fd, data, size);
    LOCKED;
    long offset = place(fd);
    if (reached()) {
        real(fd, data, size / 2);
        die();
    }
    ssize_t wrote = real(fd, data, size);
    if (wrote > 0) note("write", inode(fd), offset, path, "", data, wrote);
    UNLOCKED;
    return wrote;
}

static ssize_t write_at(int fd, const void *data, size_t size, off_t offset) {
    REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
    char path[PATH_MAX];
    if (!opened(fd, path)) return real(fd, data, size, offset);
    LOCKED;
    if (reached()) {
        real(fd, data, size / 2, offset);
        die();
    }
    ssize_t wrote = real(fd, data, size, offset);
    if (wrote > 0) note("write", inode(fd), offset, path, "", data, wrote);
    UNLOCKED;
    return wrote;
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return write_at(fd, data, size, offset); }
ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset) { return write_at(fd, data, size, offset); }

ssize_t writev(int fd, const struct iovec *parts, int number) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    char path[PATH_MAX];
    if (!opened(fd, path)) return real(fd, parts, number);
    ssize_t sum = 0; /* part by part, so that each counts */
    for (int i = 0; i < number; i++) {
        ssize_t wrote = write(fd, parts[i].iov_base, parts[i].iov_len);
        if (wrote < 0) return sum ? sum : -1;
        sum += wrote;
        if ((size_t)wrote < parts[i].iov_len) break;
    }
    return sum;
}

/* Whoever copies within the kernel falls back to reading and writing. */
ssize_t sendfile(int to, int from, off_t *offset, size_t size) {
    REAL(ssize_t, "sendfile", int, int, off_t *, size_t);
    char path[PATH_MAX];
    if (!opened(to, path)) return real(to, from, offset, size);
    errno = EINVAL;
    return -1;
}
ssize_t sendfile64(int to, int from, off_t *offset, size_t size) { return sendfile(to, from, offset, size); }
ssize_t copy_file_range(int from, off64_t *in, int to, off64_t *out, size_t size, unsigned flags) {
    REAL(ssize_t, "copy_file_range", int, off64_t *, int, off64_t *, size_t, unsigned);
    char path[PATH_MAX];
    if (!opened(to, path)) return real(from, in, to, out, size, flags);
    errno = EINVAL;
    return -1;
}

static int truncate_fd(int fd, off_t size) {
    REAL(int, "ftruncate", int, off_t);
    char path[PATH_MAX];
    if (!opened(fd, path)) return real(fd, size);
    LOCKED;
    if (reached()) die();
    int result = real(fd, size);
    if (!result) note("truncate", inode(fd), size, path, "", NULL, 0);
    UNLOCKED;
    return result;
}
int ftruncate(int fd, off_t size) { return truncate_fd(fd, size); }
int ftruncate64(int fd, off_t size) { return truncate_fd(fd, size); }

static int sync_fd(const char *name, int (*real)(int), int fd) {
    char path[PATH_MAX];
    if (!opened(fd, path)) return real(fd);
    LOCKED;
    if (reached()) die();
    int result = real(fd);
    if (!result) note(name, inode(fd), 0, path, "", NULL, 0);
    UNLOCKED;
    return result;
}
int fsync(int fd) { REAL(int, "fsync", int); return sync_fd("fsync", real, fd); }
int fdatasync(int fd) { REAL(int, "fdatasync", int); return sync_fd("fsync", real, fd); }

/* The clock ---------------------------------------------------------------------------------- */

/* Let the time of day, but not the time since the start, jump to and fro at every other look. */
void recorder_jump(long seconds) { jump_seconds = seconds; }

int clock_gettime(clockid_t clock, struct timespec *now) {
    REAL(int, "clock_gettime", clockid_t, struct timespec *);
    static long looks;
    int result = real(clock, now);
    if (jump_seconds && clock == CLOCK_REALTIME && !result)
        now->tv_sec += looks++ % 2 ? jump_seconds : -jump_seconds;
    return result;
}
