#include "os/system.h"

#include <dirent.h>
#include <limits.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

unsigned
system_cores(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return 1;
	return MAX(1u, (unsigned)CPU_COUNT(&set));
}

uint64_t
system_open_files(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) != 0)
		return 1024;
	r.rlim_cur = r.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &r) != 0 ||
	    getrlimit(RLIMIT_NOFILE, &r) != 0)
		return 1024;
	return r.rlim_cur;
}

void
system_ignore_sigpipe(void)
{
	signal(SIGPIPE, SIG_IGN);
}

void
system_give_way(void)
{
	struct sched_param none = { 0 };

	/* Whoever has chosen a policy, as by chrt(1), keeps it; and where this
	 * one cannot be had, others wait a little longer. */
	if (sched_getscheduler(0) == SCHED_OTHER)
		(void)sched_setscheduler(0, SCHED_BATCH, &none);
}

bool
system_ignores_hangup(void)
{
	struct sigaction now;

	return sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

bool
system_is_hangup(int number)
{
	return number == SIGHUP;
}

int64_t
system_pid(void)
{
	return getpid();
}

bool
system_is_terminal(int fd)
{
	return isatty(fd) == 1;
}

unsigned
system_columns(int fd)
{
	struct winsize w;

	return ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80;
}

uint64_t
system_rss_bytes(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f == NULL)
		return 0;
	if (fscanf(f, "%*s %llu", &pages) != 1)
		pages = 0;
	fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

int64_t
system_cpu_ns(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
		return 0;
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t
system_process_cpu_ns(int64_t pid)
{
	clockid_t clock;
	struct timespec t;

	if (clock_getcpuclockid((pid_t)pid, &clock) != 0 ||
	    clock_gettime(clock, &t) != 0)
		return 0;
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A line of a file in the thread's folder. */
static bool
thread_line(int64_t id, const char *file, char *out, int size)
{
	char path[64];
	bool got = false;

	snprintf(path, sizeof(path), "/proc/self/task/%lld/%s", (long long)id,
	    file);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return false;
	got = fgets(out, size, f) != NULL;
	fclose(f);
	return got;
}

/* False: it has ended meanwhile. */
static bool
look_at_thread(struct system_thread *t)
{
	char text[64];

	if (!thread_line(t->id, "comm", text, sizeof(text)))
		return false;
	text[strcspn(text, "\n")] = '\0';
	snprintf(t->name, sizeof(t->name), "%.15s", text);
	/* proc(5): the first number is its time on a processor in ns. */
	if (!thread_line(t->id, "schedstat", text, sizeof(text)))
		return false;
	t->cpu_ns = strtoll(text, NULL, 10);
	return true;
}

static int
by_id(const void *a, const void *b)
{
	int64_t x = ((const struct system_thread *)a)->id;
	int64_t y = ((const struct system_thread *)b)->id;

	return (x > y) - (x < y);
}

size_t
system_threads(struct system_thread *out, size_t max)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *e;
	size_t n = 0;

	if (dir == NULL)
		return 0;
	while (n < max && (e = readdir(dir)) != NULL) {
		out[n].id = strtoll(e->d_name, NULL, 10);
		n += out[n].id > 0 && look_at_thread(&out[n]);
	}
	closedir(dir);
	qsort(out, n, sizeof(*out), by_id);
	return n;
}

void
system_malloc_arenas(int n)
{
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, n);
#else
	(void)n;
#endif
}

void
system_malloc_trim(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

void
system_malloc_keep(void)
{
#ifdef M_MMAP_THRESHOLD
	/* The most that glibc takes. */
	mallopt(M_MMAP_THRESHOLD, 4 * 1024 * 1024 * (int)sizeof(long));
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

void
system_set_umask(unsigned mode)
{
	(void)umask(mode);
}

void
system_hide_memory(void)
{
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void
system_hostname(char *out, size_t size)
{
	if (gethostname(out, size) != 0)
		snprintf(out, size, "unknown");
	out[size - 1] = '\0';
}
