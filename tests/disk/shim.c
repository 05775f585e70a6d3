/*
 * Preloaded into a sandbox: stands between it and the files of one folder, DISK_FOLDER.
 *
 * Records, with DISK_TRACE=<file>: every write, truncation, flush, creation, rename and removal, in their order, with the
 * bytes; the head of every HTTP response in the same order; and the header of SQLite's index of the log, which is
 * memory, whenever it has changed before one of these.
 *
 * Fails, with DISK_CONTROL=<file>: the Nth call of chosen kinds is refused, or writes half of its bytes. The file is
 * shared memory: a test arms it, and reads what was counted, while the process runs. See control.ts.
 *
 * Compiled by shim.ts. Linux with glibc on a computer of little endian.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, FLUSH = 2, TRUNCATE = 4, UNLINK = 8, RENAME = 16, OPEN = 32, READ = 64, MAP = 128, MKDIR = 256 };
enum { REFUSE = 1, SHORT = 2, SHORT_THEN_REFUSE = 3 };
enum { T_WRITE = 1, T_TRUNCATE, T_FLUSH, T_UNLINK, T_RENAME, T_CREATE, T_RESPONSE, T_INDEX, T_MKDIR };
enum { MAX_FD = 4096, HEAD = 1024, INDEX = 136, MAX_INDEXES = 8 };

/* Words of 4 bytes, in the order of control.ts. */
struct control {
  uint32_t kinds;    /* which calls may fail; 0: none */
  int32_t left;      /* calls until the first that fails: 1 is the next one */
  uint32_t effect;
  uint32_t error;    /* errno */
  int32_t times;     /* calls that fail; -1: all from then on */
  uint32_t counted;  /* calls of these kinds since it was armed */
  uint32_t failed;   /* calls that have failed */
  uint32_t last;     /* kind of the last one that failed */
  char only[64];     /* the end of the names that count; empty: all */
  char path[256];    /* of the last one that failed */
};

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static const char *folder;
static size_t folder_length;
static int trace = -1;
static struct control *control;
static char *names[MAX_FD];
static struct { char *name; const uint8_t *at; size_t length; uint8_t seen[INDEX]; } indexes[MAX_INDEXES];

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }
#define REAL(name) ((__typeof__(&name))real(#name))

/* The system, past all that is replaced here. */
static __typeof__(&syscall) find_syscall(void) {
  static __typeof__(&syscall) found;
  if (found == NULL) found = (__typeof__(&syscall))real("syscall");
  return found;
}
#define call(...) find_syscall()(__VA_ARGS__)

__attribute__((constructor)) static void start(void) {
  folder = getenv("DISK_FOLDER");
  if (folder == NULL) return;
  folder_length = strlen(folder);
  const char *trace_path = getenv("DISK_TRACE");
  if (trace_path != NULL)
    trace = call(SYS_openat, AT_FDCWD, trace_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const char *control_path = getenv("DISK_CONTROL");
  if (control_path == NULL) return;
  int fd = call(SYS_openat, AT_FDCWD, control_path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *at = (void *)call(SYS_mmap, NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at != MAP_FAILED) control = at;
  call(SYS_close, fd);
}

/* Returns the name in the folder; the folder itself has an empty one. NULL when it is elsewhere. */
static const char *inside(const char *path) {
  if (folder == NULL || path == NULL || strncmp(path, folder, folder_length) != 0) return NULL;
  if (path[folder_length] == '/') return path + folder_length + 1;
  return path[folder_length] == 0 ? path + folder_length : NULL;
}

static const char *name_of(int fd) { return fd >= 0 && fd < MAX_FD ? names[fd] : NULL; }

/* ---- records ---- */

static void put(const void *bytes, size_t length) {
  const uint8_t *at = bytes;
  while (length > 0) {
    long done = call(SYS_write, trace, at, length);
    if (done <= 0) abort();
    at += done;
    length -= done;
  }
}

static void put_record(uint8_t kind, const char *name, uint64_t offset, const void *bytes, uint32_t length) {
  uint8_t head[17];
  uint32_t name_length = strlen(name);
  head[0] = kind;
  memcpy(head + 1, &name_length, 4);
  memcpy(head + 5, &offset, 8);
  memcpy(head + 13, &length, 4);
  put(head, sizeof head);
  put(name, name_length);
  put(bytes, length);
}

static void record_indexes(void) {
  for (int i = 0; i < MAX_INDEXES; i++) {
    if (indexes[i].at == NULL || memcmp(indexes[i].at, indexes[i].seen, INDEX) == 0) continue;
    memcpy(indexes[i].seen, indexes[i].at, INDEX);
    put_record(T_INDEX, indexes[i].name, 0, indexes[i].seen, INDEX);
  }
}

static void record(uint8_t kind, const char *name, uint64_t offset, const void *bytes, uint32_t length) {
  if (trace < 0) return;
  record_indexes();
  put_record(kind, name, offset, bytes, length);
}

/* ---- failures ---- */

static int ends_with(const char *name, const char *end) {
  size_t a = strlen(name), b = strlen(end);
  return a >= b && strcmp(name + a - b, end) == 0;
}

/* Returns the effect on this call; 0: none. */
static uint32_t effect_on(uint32_t kind, const char *name) {
  if (control == NULL || (control->kinds & kind) == 0 || name == NULL) return 0;
  if (control->only[0] != 0 && !ends_with(name, control->only)) return 0;
  control->counted++;
  if (control->left > 0 && --control->left > 0) return 0;
  if (control->times == 0) return 0;
  if (control->times > 0) control->times--;
  control->failed++;
  control->last = kind;
  strncpy(control->path, name, sizeof control->path - 1);
  return control->effect;
}

static int refuses(uint32_t kind, const char *name) {
  if (effect_on(kind, name) == 0) return 0;
  errno = control->error;
  return 1;
}

/* Returns how many bytes of a write are written; -1: it is refused. */
static ssize_t permitted(const char *name, size_t length) {
  uint32_t effect = effect_on(WRITE, name);
  if (effect == 0) return length;
  if ((effect == SHORT || effect == SHORT_THEN_REFUSE) && length > 1) {
    if (effect == SHORT_THEN_REFUSE) {
      /* The rest meets a full disk. */
      control->effect = REFUSE;
      control->left = 1;
      if (control->times == 0) control->times = 1;
    }
    return length / 2;
  }
  errno = control->error;
  return -1;
}

/* ---- calls on names ---- */

static int open_file(int dir, const char *path, int flags, mode_t mode) {
  const char *name = inside(path);
  if (name == NULL) return call(SYS_openat, dir, path, flags, mode);
  pthread_mutex_lock(&lock);
  int fd = -1;
  if (!refuses(OPEN, name)) {
    int is_new = (flags & O_CREAT) != 0 && access(path, F_OK) != 0;
    int saved = errno;
    fd = call(SYS_openat, dir, path, flags, mode);
    saved = fd < 0 ? errno : saved;
    if (fd >= 0 && is_new) record(T_CREATE, name, 0, NULL, 0);
    if (fd >= 0 && !is_new && (flags & O_TRUNC) != 0) record(T_TRUNCATE, name, 0, NULL, 0);
    if (fd >= 0 && fd < MAX_FD) names[fd] = strdup(name);
    errno = saved;
  }
  pthread_mutex_unlock(&lock);
  return fd;
}

#define OPEN_MODE(flags) \
  mode_t mode = 0; \
  if ((flags) & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }

int open(const char *path, int flags, ...) { OPEN_MODE(flags) return open_file(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { OPEN_MODE(flags) return open_file(AT_FDCWD, path, flags, mode); }
int openat(int dir, const char *path, int flags, ...) { OPEN_MODE(flags) return open_file(dir, path, flags, mode); }

static void forget(int fd) {
  if (name_of(fd) == NULL) return;
  pthread_mutex_lock(&lock);
  free(names[fd]);
  names[fd] = NULL;
  pthread_mutex_unlock(&lock);
}

int close(int fd) {
  forget(fd);
  return call(SYS_close, fd);
}

/* Node closes files by number of the call: without this a socket would be taken for the file that had its descriptor. */
long syscall(long number, ...) {
  va_list rest;
  va_start(rest, number);
  long a = va_arg(rest, long), b = va_arg(rest, long), c = va_arg(rest, long);
  long d = va_arg(rest, long), e = va_arg(rest, long), f = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_close) forget(a);
  return call(number, a, b, c, d, e, f);
}

int unlink(const char *path) {
  const char *name = inside(path);
  if (name == NULL) return REAL(unlink)(path);
  pthread_mutex_lock(&lock);
  int result = refuses(UNLINK, name) ? -1 : REAL(unlink)(path);
  if (result == 0) record(T_UNLINK, name, 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

int rename(const char *from, const char *to) {
  const char *name = inside(from), *new_name = inside(to);
  if (name == NULL || new_name == NULL) return REAL(rename)(from, to);
  pthread_mutex_lock(&lock);
  int result = refuses(RENAME, name) ? -1 : REAL(rename)(from, to);
  if (result == 0) record(T_RENAME, name, 0, new_name, strlen(new_name));
  pthread_mutex_unlock(&lock);
  return result;
}

int mkdir(const char *path, mode_t mode) {
  const char *name = inside(path);
  if (name == NULL) return REAL(mkdir)(path, mode);
  pthread_mutex_lock(&lock);
  int result = refuses(MKDIR, name) ? -1 : REAL(mkdir)(path, mode);
  if (result == 0) record(T_MKDIR, name, 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

/* ---- calls on files ---- */

static ssize_t write_at(int fd, const void *bytes, size_t length, off64_t offset) {
  const char *name = name_of(fd);
  pthread_mutex_lock(&lock);
  ssize_t done = permitted(name, length);
  if (done >= 0) done = call(SYS_pwrite64, fd, bytes, done, offset);
  if (done > 0) record(T_WRITE, name, offset, bytes, done);
  pthread_mutex_unlock(&lock);
  return done;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
  if (name_of(fd) == NULL) return call(SYS_pwrite64, fd, bytes, length, offset);
  return write_at(fd, bytes, length, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return pwrite64(fd, bytes, length, offset); }

static void record_response(const struct iovec *parts, int count) {
  uint8_t head[HEAD];
  uint32_t length = 0;
  for (int i = 0; i < count && length < HEAD; i++) {
    size_t more = parts[i].iov_len < HEAD - length ? parts[i].iov_len : HEAD - length;
    memcpy(head + length, parts[i].iov_base, more);
    length += more;
  }
  if (length < 9 || memcmp(head, "HTTP/1.1 ", 9) != 0) return;
  pthread_mutex_lock(&lock);
  record(T_RESPONSE, "", 0, head, length);
  pthread_mutex_unlock(&lock);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  if (name_of(fd) == NULL) {
    if (trace >= 0) record_response(parts, count);
    return call(SYS_writev, fd, parts, count);
  }
  /* One part: the caller continues with the rest. */
  return write(fd, parts[0].iov_base, parts[0].iov_len);
}

ssize_t write(int fd, const void *bytes, size_t length) {
  if (name_of(fd) == NULL) {
    struct iovec part = { (void *)bytes, length };
    if (trace >= 0) record_response(&part, 1);
    return call(SYS_write, fd, bytes, length);
  }
  pthread_mutex_lock(&lock);
  off64_t offset = lseek64(fd, 0, SEEK_CUR);
  if (fcntl(fd, F_GETFL) & O_APPEND) offset = lseek64(fd, 0, SEEK_END);
  ssize_t done = write_at(fd, bytes, length, offset);
  if (done > 0) lseek64(fd, offset + done, SEEK_SET);
  pthread_mutex_unlock(&lock);
  return done;
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  if (name_of(fd) == NULL) return REAL(pwritev)(fd, parts, count, offset);
  return write_at(fd, parts[0].iov_base, parts[0].iov_len, offset);
}

/* The copy of a file, which Node makes with this. Its bytes are not recorded: copies are not what is replayed. */
ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t length, unsigned flags) {
  pthread_mutex_lock(&lock);
  int refused = refuses(WRITE, name_of(to));
  pthread_mutex_unlock(&lock);
  return refused ? -1 : call(SYS_copy_file_range, from, from_at, to, to_at, length, flags);
}

int ftruncate64(int fd, off64_t length) {
  const char *name = name_of(fd);
  if (name == NULL) return call(SYS_ftruncate, fd, length);
  pthread_mutex_lock(&lock);
  int result = refuses(TRUNCATE, name) ? -1 : call(SYS_ftruncate, fd, length);
  if (result == 0) record(T_TRUNCATE, name, length, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

static int flush(int fd, long number) {
  const char *name = name_of(fd);
  if (name == NULL) return call(number, fd);
  pthread_mutex_lock(&lock);
  /* Nothing is flushed: the disk is memory, and what a power loss takes is decided by the replay. */
  int result = refuses(FLUSH, name) ? -1 : 0;
  if (result == 0) record(T_FLUSH, name, 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

int fsync(int fd) { return flush(fd, SYS_fsync); }
int fdatasync(int fd) { return flush(fd, SYS_fdatasync); }

static int refuses_read(int fd) {
  if (control == NULL || name_of(fd) == NULL) return 0;
  pthread_mutex_lock(&lock);
  int result = refuses(READ, name_of(fd));
  pthread_mutex_unlock(&lock);
  return result;
}

ssize_t read(int fd, void *bytes, size_t length) {
  return refuses_read(fd) ? -1 : call(SYS_read, fd, bytes, length);
}

ssize_t pread64(int fd, void *bytes, size_t length, off64_t offset) {
  return refuses_read(fd) ? -1 : call(SYS_pread64, fd, bytes, length, offset);
}

ssize_t pread(int fd, void *bytes, size_t length, off_t offset) { return pread64(fd, bytes, length, offset); }

/* ---- the index of the log ---- */

void *mmap64(void *at, size_t length, int protection, int flags, int fd, off64_t offset) {
  const char *name = (flags & MAP_SHARED) != 0 ? name_of(fd) : NULL;
  if (name == NULL) return (void *)call(SYS_mmap, at, length, protection, flags, fd, offset);
  pthread_mutex_lock(&lock);
  void *result = MAP_FAILED;
  if (!refuses(MAP, name)) result = (void *)call(SYS_mmap, at, length, protection, flags, fd, offset);
  if (result != MAP_FAILED && offset == 0 && ends_with(name, "-shm")) {
    for (int i = 0; i < MAX_INDEXES; i++) {
      if (indexes[i].at != NULL) continue;
      indexes[i].name = strdup(name);
      indexes[i].at = result;
      indexes[i].length = length;
      memset(indexes[i].seen, 0, INDEX);
      break;
    }
  }
  pthread_mutex_unlock(&lock);
  return result;
}

void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
  return mmap64(at, length, protection, flags, fd, offset);
}

int munmap(void *at, size_t length) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MAX_INDEXES; i++) {
    if (indexes[i].at != at) continue;
    if (trace >= 0) record_indexes();
    free(indexes[i].name);
    indexes[i].at = NULL;
  }
  pthread_mutex_unlock(&lock);
  return call(SYS_munmap, at, length);
}
