#include "os/system.h"

#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
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
system_hostname(char *out, size_t size)
{
	if (gethostname(out, size) != 0)
		snprintf(out, size, "unknown");
	out[size - 1] = '\0';
}
