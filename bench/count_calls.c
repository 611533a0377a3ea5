/*
 * count_calls -- counts, in a program that it is preloaded into, what a page at
 * full speed should not need: wake-ups by eventfd, memory from malloc, texts by
 * printf and scanf; and context switches.
 *
 *     COUNT_CALLS=FILE LD_PRELOAD=libcount_calls.so PROGRAM ...
 *
 * When the program ends, FILE.PID has a line per thread, "NAME eventfds mallocs
 * printfs scanfs", and before them one of the process, "switches N M": those
 * that it wanted, and those that it did not.  Calls from within libc to itself
 * are not seen, but for malloc.
 *
 * Each thread counts for itself; nothing waits.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS_MAX 256              /* the others share the last place */
#define FDS_MAX 4096
#define NAME_EVERY 64                /* a thread may get its name later */

enum kind { EVENTFDS, MALLOCS, PRINTFS, SCANFS, KINDS };

struct counts {
	char name[16];
	_Atomic uint64_t n[KINDS];
};

static struct counts all[THREADS_MAX];
static atomic_uint threads_n;
static atomic_bool is_eventfd[FDS_MAX];
static pid_t program;
/* Ready before malloc() is. */
static _Thread_local struct counts *mine
    __attribute__((tls_model("initial-exec")));

static void
count_call(enum kind kind)
{
	if (mine == NULL) {
		unsigned i = atomic_fetch_add(&threads_n, 1);
		mine = &all[i < THREADS_MAX ? i : THREADS_MAX - 1];
	}
	uint64_t n = atomic_fetch_add_explicit(&mine->n[kind], 1,
	    memory_order_relaxed);
	if (n % NAME_EVERY == 0)
		prctl(PR_GET_NAME, mine->name);
}

/* ---- eventfd ------------------------------------------------------------ */

int
eventfd(unsigned value, int flags)
{
	int fd = (int)syscall(SYS_eventfd2, value, flags);

	if (fd >= 0 && fd < FDS_MAX)
		atomic_store(&is_eventfd[fd], true);
	return fd;
}

ssize_t
write(int fd, const void *p, size_t n)
{
	if (fd >= 0 && fd < FDS_MAX && n == sizeof(uint64_t) &&
	    atomic_load_explicit(&is_eventfd[fd], memory_order_relaxed))
		count_call(EVENTFDS);
	return syscall(SYS_write, fd, p, n);
}

/* ---- Memory ------------------------------------------------------------- */

/* The names by which glibc has its own. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *
malloc(size_t n)
{
	count_call(MALLOCS);
	return __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
	count_call(MALLOCS);
	return __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
	count_call(MALLOCS);
	return __libc_realloc(p, n);
}

void *
aligned_alloc(size_t to, size_t n)
{
	count_call(MALLOCS);
	return __libc_memalign(to, n);
}

int
posix_memalign(void **out, size_t to, size_t n)
{
	void *p = __libc_memalign(to, n);

	count_call(MALLOCS);
	if (p == NULL)
		return ENOMEM;
	*out = p;
	return 0;
}

/* ---- Texts -------------------------------------------------------------- */

static int
print_into(char *p, size_t n, const char *format, va_list args)
{
	static int (*real)(char *, size_t, const char *, va_list);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "vsnprintf");
	count_call(PRINTFS);
	return real(p, n, format, args);
}

static int
print_to(FILE *f, const char *format, va_list args)
{
	static int (*real)(FILE *, const char *, va_list);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "vfprintf");
	count_call(PRINTFS);
	return real(f, format, args);
}

static int
scan_text(const char *text, const char *format, va_list args)
{
	static int (*real)(const char *, const char *, va_list);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "vsscanf");
	count_call(SCANFS);
	return real(text, format, args);
}

/* FORTIFY's forms have a flag, and the size of what is written to. */
int __vsnprintf_chk(char *, size_t, int, size_t, const char *, va_list);
int __snprintf_chk(char *, size_t, int, size_t, const char *, ...);
int __vfprintf_chk(FILE *, int, const char *, va_list);
int __fprintf_chk(FILE *, int, const char *, ...);

int
vsnprintf(char *p, size_t n, const char *format, va_list args)
{
	return print_into(p, n, format, args);
}

int
__vsnprintf_chk(char *p, size_t n, int flag, size_t size, const char *format,
    va_list args)
{
	(void)flag, (void)size;
	return print_into(p, n, format, args);
}

int
vfprintf(FILE *f, const char *format, va_list args)
{
	return print_to(f, format, args);
}

int
__vfprintf_chk(FILE *f, int flag, const char *format, va_list args)
{
	(void)flag;
	return print_to(f, format, args);
}

#define WITH_ARGUMENTS(call)                                                 \
	do {                                                                 \
		va_list args;                                                \
		va_start(args, format);                                      \
		int n_ = call;                                               \
		va_end(args);                                                \
		return n_;                                                   \
	} while (0)

int
snprintf(char *p, size_t n, const char *format, ...)
{
	WITH_ARGUMENTS(print_into(p, n, format, args));
}

int
__snprintf_chk(char *p, size_t n, int flag, size_t size, const char *format,
    ...)
{
	(void)flag, (void)size;
	WITH_ARGUMENTS(print_into(p, n, format, args));
}

int
fprintf(FILE *f, const char *format, ...)
{
	WITH_ARGUMENTS(print_to(f, format, args));
}

int
__fprintf_chk(FILE *f, int flag, const char *format, ...)
{
	(void)flag;
	WITH_ARGUMENTS(print_to(f, format, args));
}

/* glibc's header gives it another name, the one that programs call. */
int
sscanf(const char *text, const char *format, ...)
{
	WITH_ARGUMENTS(scan_text(text, format, args));
}

/* ---- The report --------------------------------------------------------- */

__attribute__((constructor)) static void
begin_counting(void)
{
	program = getpid();
}

/* Only the program itself reports: a fork has a copy of its counts. */
__attribute__((destructor)) static void
report_counts(void)
{
	const char *path = getenv("COUNT_CALLS");
	char name[4096];
	struct rusage use;

	if (path == NULL || getpid() != program)
		return;
	snprintf(name, sizeof(name), "%s.%d", path, (int)program);
	FILE *f = fopen(name, "we");
	if (f == NULL)
		return;
	getrusage(RUSAGE_SELF, &use);
	fprintf(f, "switches %ld %ld\n", use.ru_nvcsw, use.ru_nivcsw);
	for (unsigned i = 0; i < THREADS_MAX && i < threads_n; i++) {
		fprintf(f, "%s", all[i].name[0] == '\0' ? "?" : all[i].name);
		for (int k = 0; k < KINDS; k++)
			fprintf(f, " %llu", (unsigned long long)all[i].n[k]);
		fputc('\n', f);
	}
	fclose(f);
}
