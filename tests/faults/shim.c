/* Preloaded into a test's process: counts, fails or records what it does to the files under one directory.

   Compiled and used by harness.py. A record is a line "operation\tpath\toffset\tlength\tsynced\n" and `length` bytes of data. `synced` is 1 for writes
   to a descriptor that was opened with O_DSYNC. Paths of rename are "from\nto" in the data. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static char root[PATH_MAX];
static int record = -1, failure, lasting;
static long operations, fail_at;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void shim_watch(const char *directory, int descriptor) {
    record = descriptor;
    strncpy(root, directory, sizeof root - 1);
}

void shim_fail(long nth, int number, int stays) {
    operations = 0;
    failure = number;
    lasting = stays;
    fail_at = nth;
}

long shim_operations(void) { return operations; }

static void put(const void *data, size_t length) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = REAL(write);
    while (length) {
        ssize_t done = real(record, data, length);
        if (done <= 0) abort();
        data = (const char *)data + done;
        length -= done;
    }
}

void shim_note(const char *text) {
    if (record < 0) return;
    pthread_mutex_lock(&guard);
    char line[256];
    put(line, snprintf(line, sizeof line, "note\t%s\t0\t0\t0\n", text));
    pthread_mutex_unlock(&guard);
}

static int is_under_root(const char *path) { return root[0] && strncmp(path, root, strlen(root)) == 0; }

static int path_of(int descriptor, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = root[0] ? readlink(link, path, PATH_MAX - 1) : -1;
    if (length < 0) return 0;
    path[length] = 0;
    return is_under_root(path);
}

/* Whether this operation is to fail; errno is set then. */
static int fails(void) {
    long number = __sync_add_and_fetch(&operations, 1);
    if (fail_at && (number == fail_at || (lasting && number > fail_at))) {
        errno = failure;
        return 1;
    }
    return 0;
}

static void note(const char *what, const char *path, long offset, const struct iovec *parts, int count, int synced) {
    if (record < 0) return;
    size_t length = 0;
    for (int i = 0; i < count; i++) length += parts[i].iov_len;
    char line[PATH_MAX + 100];
    pthread_mutex_lock(&guard);
    put(line, snprintf(line, sizeof line, "%s\t%s\t%ld\t%zu\t%d\n", what, path, offset, length, synced));
    for (int i = 0; i < count; i++) put(parts[i].iov_base, parts[i].iov_len);
    pthread_mutex_unlock(&guard);
}

static int is_synced(int descriptor) { return (fcntl(descriptor, F_GETFL) & O_DSYNC) != 0; }

ssize_t write(int descriptor, const void *data, size_t length) {
    char path[PATH_MAX];
    if (path_of(descriptor, path)) {
        if (fails()) return -1;
        struct iovec part = {(void *)data, length};
        note("write", path, lseek(descriptor, 0, SEEK_CUR), &part, 1, is_synced(descriptor));
    }
    return REAL(write)(descriptor, data, length);
}

ssize_t pwrite64(int descriptor, const void *data, size_t length, off64_t offset) {
    char path[PATH_MAX];
    if (path_of(descriptor, path)) {
        if (fails()) return -1;
        struct iovec part = {(void *)data, length};
        note("write", path, offset, &part, 1, is_synced(descriptor));
    }
    return REAL(pwrite64)(descriptor, data, length, offset);
}

ssize_t pwrite(int descriptor, const void *data, size_t length, off_t offset) {
    return pwrite64(descriptor, data, length, offset);
}

ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off64_t offset) {
    char path[PATH_MAX];
    if (path_of(descriptor, path)) {
        if (fails()) return -1;
        note("write", path, offset, parts, count, is_synced(descriptor));
    }
    return REAL(pwritev64)(descriptor, parts, count, offset);
}

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
    return pwritev64(descriptor, parts, count, offset);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    char path[PATH_MAX];
    if (path_of(descriptor, path)) {
        if (fails()) return -1;
        note("write", path, lseek(descriptor, 0, SEEK_CUR), parts, count, is_synced(descriptor));
    }
    return REAL(writev)(descriptor, parts, count);
}

static int sync_with(int (*real)(int), int descriptor) {
    char path[PATH_MAX];
    if (path_of(descriptor, path)) {
        if (fails()) return -1;
        int done = real(descriptor);
        note("sync", path, 0, NULL, 0, 0);
        return done;
    }
    return real(descriptor);
}

int fsync(int descriptor) { return sync_with(REAL(fsync), descriptor); }
int fdatasync(int descriptor) { return sync_with(REAL(fdatasync), descriptor); }

int ftruncate64(int descriptor, off64_t length) {
    char path[PATH_MAX];
    if (path_of(descriptor, path)) {
        if (fails()) return -1;
        note("resize", path, length, NULL, 0, 0);
    }
    return REAL(ftruncate64)(descriptor, length);
}

int ftruncate(int descriptor, off_t length) { return ftruncate64(descriptor, length); }

int posix_fallocate64(int descriptor, off64_t offset, off64_t length) {
    char path[PATH_MAX];
    if (path_of(descriptor, path)) {
        if (fails()) return errno;
        note("resize", path, offset + length, NULL, 0, 0);
    }
    return REAL(posix_fallocate64)(descriptor, offset, length);
}

int posix_fallocate(int descriptor, off_t offset, off_t length) {
    return posix_fallocate64(descriptor, offset, length);
}

int rename(const char *from, const char *to) {
    if (is_under_root(from)) {
        if (fails()) return -1;
        char both[2 * PATH_MAX];
        struct iovec part = {both, snprintf(both, sizeof both, "%s\n%s", from, to)};
        note("rename", from, 0, &part, 1, 0);
    }
    return REAL(rename)(from, to);
}

int unlink(const char *path) {
    if (is_under_root(path)) {
        if (fails()) return -1;
        note("unlink", path, 0, NULL, 0, 0);
    }
    return REAL(unlink)(path);
}

static int open_with(int (*real)(const char *, int, ...), const char *path, int flags, mode_t mode) {
    if (is_under_root(path) && (flags & O_CREAT)) {
        if (access(path, F_OK) != 0) {
            if (fails()) return -1;
            note("create", path, 0, NULL, 0, 0);
        } else if (flags & O_TRUNC) {
            note("resize", path, 0, NULL, 0, 0);
        }
    }
    return real(path, flags, mode);
}

static mode_t mode_of(int flags, va_list rest) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; }

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return open_with(REAL(open), path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return open_with(REAL(open64), path, flags, mode);
}
