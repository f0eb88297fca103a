/* Preloaded into a process, fails, signals or kills it at its n-th system call on paths of ours.

   Paths of ours are the relative ones and those that hold a mark. A full disk stays full: with
   `lasting`, every later call that needs room fails, too. */
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
static int error_number = 0, signal_number = 0, lasting = 0;

void faults_arm(const char *where, long n, int error, int number, int stays) {
    mark = where; at = n; calls = 0; error_number = error; signal_number = number; lasting = stays;
}
long faults_calls(void) { return calls; }

static int hit(const char *path, int takes_room) {
    if (!mark || !path || (*path == '/' && !strstr(path, mark))) return 0;
    long number = ++calls;
    if (number != at && !(lasting && takes_room && at > 0 && number > at)) return 0;
    if (lasting && !takes_room) return 0;
    if (signal_number && number == at) kill(getpid(), signal_number);
    if (!error_number) return 0;
    errno = error_number;
    return 1;
}
static int hit_fd(int fd, int takes_room) {
    char name[64], path[4096];
    if (!mark) return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(name, path, sizeof path - 1);
    if (n < 0 || *path != '/') return 0; /* pipes and sockets are none of ours */
    path[n] = 0;
    return hit(path, takes_room);
}
static int hit_at(int fd, const char *path, int takes_room) {
    return fd == AT_FDCWD || (path && *path == '/') ? hit(path, takes_room) : hit_fd(fd, takes_room);
}
#define REAL(name) static __typeof__(name) *real = 0; if (!real) real = dlsym(RTLD_NEXT, #name)
#define MODE va_list v; va_start(v, f); mode_t m = va_arg(v, int); va_end(v)
#define NEW !!(f & O_CREAT)

int open(const char *p, int f, ...) { MODE; REAL(open); return hit(p, NEW) ? -1 : real(p, f, m); }
int open64(const char *p, int f, ...) { MODE; REAL(open64); return hit(p, NEW) ? -1 : real(p, f, m); }
int openat(int d, const char *p, int f, ...) { MODE; REAL(openat); return hit_at(d, p, NEW) ? -1 : real(d, p, f, m); }
int openat64(int d, const char *p, int f, ...) { MODE; REAL(openat64); return hit_at(d, p, NEW) ? -1 : real(d, p, f, m); }
ssize_t write(int fd, const void *b, size_t n) { REAL(write); return hit_fd(fd, 1) ? -1 : real(fd, b, n); }
ssize_t pwrite(int fd, const void *b, size_t n, off_t o) { REAL(pwrite); return hit_fd(fd, 1) ? -1 : real(fd, b, n, o); }
ssize_t pwrite64(int fd, const void *b, size_t n, off64_t o) { REAL(pwrite64); return hit_fd(fd, 1) ? -1 : real(fd, b, n, o); }
int ftruncate(int fd, off_t n) { REAL(ftruncate); return hit_fd(fd, 1) ? -1 : real(fd, n); }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64); return hit_fd(fd, 1) ? -1 : real(fd, n); }
int fsync(int fd) { REAL(fsync); return hit_fd(fd, 0) ? -1 : real(fd); }
int rename(const char *a, const char *b) { REAL(rename); return hit(b, 0) ? -1 : real(a, b); }
int renameat(int x, const char *a, int y, const char *b) { REAL(renameat); return hit_at(y, b, 0) ? -1 : real(x, a, y, b); }
int renameat2(int x, const char *a, int y, const char *b, unsigned f) { REAL(renameat2); return hit_at(y, b, 0) ? -1 : real(x, a, y, b, f); }
int link(const char *a, const char *b) { REAL(link); return hit(b, 1) ? -1 : real(a, b); }
int linkat(int x, const char *a, int y, const char *b, int f) { REAL(linkat); return hit_at(y, b, 1) ? -1 : real(x, a, y, b, f); }
int unlink(const char *p) { REAL(unlink); return hit(p, 0) ? -1 : real(p); }
int rmdir(const char *p) { REAL(rmdir); return hit(p, 0) ? -1 : real(p); }
int unlinkat(int d, const char *p, int f) { REAL(unlinkat); return hit_at(d, p, 0) ? -1 : real(d, p, f); }
int mkdir(const char *p, mode_t m) { REAL(mkdir); return hit(p, 1) ? -1 : real(p, m); }
int mkdirat(int d, const char *p, mode_t m) { REAL(mkdirat); return hit_at(d, p, 1) ? -1 : real(d, p, m); }
int chmod(const char *p, mode_t m) { REAL(chmod); return hit(p, 0) ? -1 : real(p, m); }
int fchmod(int fd, mode_t m) { REAL(fchmod); return hit_fd(fd, 0) ? -1 : real(fd, m); }
