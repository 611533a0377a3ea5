#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/run.h"

volatile sig_atomic_t run_ended;
static const char *name;

void
run_fail(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", name, what, strerror(errno));
	exit(70);
}

int64_t
run_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void
end(int signal_number)
{
	(void)signal_number;
	run_ended = 1;
}

int
run_begin(const char *program, unsigned seconds)
{
	struct rlimit files;
	struct sigaction on_end = { .sa_handler = end };

	name = program;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	sigaction(SIGTERM, &on_end, NULL);
	sigaction(SIGINT, &on_end, NULL);
	sigaction(SIGALRM, &on_end, NULL);
	alarm(seconds);
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll < 0)
		run_fail("epoll_create1");
	return epoll;
}
