/* Preloaded into a process, fails or kills it at the n-th system call on paths that hold a mark. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static const char *mark = 0;
static long at = -1, calls = 0;
static int error_number = 0; /* 0: kill */

void faults_arm(const char *where, long n, int error) { mark = where; at = n; calls = 0; error_number = error; }
long faults_calls(void) { return calls; }

static int hit(const char *path) {
    if (!mark || !path || !strstr(path, mark)) return 0;
    if (++calls != at) return 0;
    if (!error_number) kill(getpid(), SIGKILL);
    errno = error_number;
    return 1;
}
static int hit_fd(int fd) {
    char name[64], path[4096];
    if (!mark) return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(name, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return hit(path);
}
#define REAL(name) static __typeof__(name) *real = 0; if (!real) real = dlsym(RTLD_NEXT, #name)

int open(const char *p, int f, ...) { va_list v; va_start(v, f); mode_t m = va_arg(v, int); va_end(v); REAL(open); return (f & O_CREAT) && hit(p) ? -1 : real(p, f, m); }
int open64(const char *p, int f, ...) { va_list v; va_start(v, f); mode_t m = va_arg(v, int); va_end(v); REAL(open64); return (f & O_CREAT) && hit(p) ? -1 : real(p, f, m); }
ssize_t write(int fd, const void *b, size_t n) { REAL(write); return hit_fd(fd) ? -1 : real(fd, b, n); }
int fsync(int fd) { REAL(fsync); return hit_fd(fd) ? -1 : real(fd); }
int rename(const char *a, const char *b) { REAL(rename); return hit(b) ? -1 : real(a, b); }
int renameat2(int x, const char *a, int y, const char *b, unsigned f) { REAL(renameat2); return hit(b) ? -1 : real(x, a, y, b, f); }
int link(const char *a, const char *b) { REAL(link); return hit(b) ? -1 : real(a, b); }
int linkat(int x, const char *a, int y, const char *b, int f) { REAL(linkat); return hit(b) ? -1 : real(x, a, y, b, f); }
int unlink(const char *p) { REAL(unlink); return hit(p) ? -1 : real(p); }
int rmdir(const char *p) { REAL(rmdir); return hit(p) ? -1 : real(p); }
int mkdir(const char *p, mode_t m) { REAL(mkdir); return hit(p) ? -1 : real(p, m); }
int chmod(const char *p, mode_t m) { REAL(chmod); return hit(p) ? -1 : real(p, m); }
int unlinkat(int d, const char *p, int f) { REAL(unlinkat); return hit_fd(d) ? -1 : real(d, p, f); }
