/* Intercepts file operations (LD_PRELOAD), for tests/files.rs.

   SHIM_THREADS=FILE    a line for each of these calls, and for each regular file opened for reading, with the name of its thread
   SHIM_LOG=FILE        logs every mkdir, fsync, rename, rmdir and unlink
   SHIM_KILL_AT=N       kills the program before the Nth call that changes the output folder or a hidden folder in it
   SHIM_DISK_FULL=1     fails every write into a hidden folder with ENOSPC */

#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_int calls;

static const char *path_of(int fd, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, size - 1);
    path[length < 0 ? 0 : length] = 0;
    return path;
}

static void log_thread(const char *call, const char *from, const char *to) {
    const char *threads = getenv("SHIM_THREADS");
    if (threads) {
        char name[16] = "";
        prctl(PR_GET_NAME, name);
        FILE *file = fopen(threads, "a");
        fprintf(file, "%s\t%s\t%s%s%s\n", name, call, from, *to ? " -> " : "", to);
        fclose(file);
    }
}

static void step(const char *call, const char *from, const char *to) {
    const char *log = getenv("SHIM_LOG"), *kill_at = getenv("SHIM_KILL_AT");
    if (log) {
        FILE *file = fopen(log, "a");
        fprintf(file, "%s\t%s%s%s\n", call, from, *to ? "\t" : "", to);
        fclose(file);
    }
    log_thread(call, from, to);
    if (kill_at && strstr(from, "out") && ++calls == atoi(kill_at))
        kill(getpid(), SIGKILL);
}

#define REAL(type, name, ...) static type (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, #name)

static int opened(int fd, int flags) {
    struct stat file;
    char path[4096];
    if (fd >= 0 && getenv("SHIM_THREADS") && (flags & O_ACCMODE) == O_RDONLY && !fstat(fd, &file) && S_ISREG(file.st_mode))
        log_thread("open", path_of(fd, path, sizeof path), "");
    return fd;
}

/* The mode of a new file, from the optional last argument. */
#define MODE(mode, flags) \
    mode_t mode = 0; \
    if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) { \
        va_list more; \
        va_start(more, flags); \
        mode = va_arg(more, mode_t); \
        va_end(more); \
    }

int open(const char *path, int flags, ...) {
    REAL(int, open, const char *, int, ...);
    MODE(mode, flags)
    return opened(real(path, flags, mode), flags);
}

int open64(const char *path, int flags, ...) {
    REAL(int, open64, const char *, int, ...);
    MODE(mode, flags)
    return opened(real(path, flags, mode), flags);
}

int openat(int folder, const char *path, int flags, ...) {
    REAL(int, openat, int, const char *, int, ...);
    MODE(mode, flags)
    return opened(real(folder, path, flags, mode), flags);
}

int openat64(int folder, const char *path, int flags, ...) {
    REAL(int, openat64, int, const char *, int, ...);
    MODE(mode, flags)
    return opened(real(folder, path, flags, mode), flags);
}

int rename(const char *from, const char *to) {
    REAL(int, rename, const char *, const char *);
    step("rename", from, to);
    return real(from, to);
}

int unlink(const char *path) {
    REAL(int, unlink, const char *);
    step("unlink", path, "");
    return real(path);
}

int rmdir(const char *path) {
    REAL(int, rmdir, const char *);
    step("rmdir", path, "");
    return real(path);
}

int unlinkat(int folder, const char *path, int flags) {
    REAL(int, unlinkat, int, const char *, int);
    char in[4096], whole[8192];
    snprintf(whole, sizeof whole, "%s/%s", folder == AT_FDCWD ? "." : path_of(folder, in, sizeof in), path);
    step("unlink", whole, "");
    return real(folder, path, flags);
}

int mkdir(const char *path, mode_t mode) {
    REAL(int, mkdir, const char *, mode_t);
    step("mkdir", path, "");
    return real(path, mode);
}

int fsync(int fd) {
    REAL(int, fsync, int);
    char path[4096];
    step("fsync", path_of(fd, path, sizeof path), "");
    return real(fd);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    REAL(ssize_t, write, int, const void *, size_t);
    char path[4096];
    if (getenv("SHIM_DISK_FULL") && strstr(path_of(fd, path, sizeof path), "/.thalweg-")) {
        errno = ENOSPC;
        return -1;
    }
    return real(fd, bytes, count);
}
