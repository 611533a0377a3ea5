/*
 * measure -- run a command and say what it cost, its whole process tree.
 *
 *     measure [--seconds N] [--cpus LIST] [--out FILE] COMMAND [ARGUMENT...]
 *
 * One line of JSON on --out (standard error): seconds of wall, user and system
 * time, the peak resident memory of the largest process, bytes sent to a disk,
 * the exit code or the signal, and whether --seconds (120) ended it.
 *
 * Processes that leave their parent are inherited (PR_SET_CHILD_SUBREAPER) and
 * counted.  At the limit the tree gets SIGINT, five seconds later SIGKILL; what
 * is left when the command has ended gets SIGKILL.
 *
 * A small program and no line of a script, because Linux counts the memory of
 * the one that forks as the child's peak: behind Python every command would
 * seem to take 20 MB.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"

#define SECONDS_DEFAULT 120
#define GRACE_SECONDS 5

struct task {
	pid_t pid;
	double began, limit;
	double limit_hit;            /* when SIGINT went out; 0: not */
	bool asked;                  /* we were told to end */
	siginfo_t end;
	uint64_t write_bytes;
};

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double
seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void
fail(const char *what)
{
	fprintf(stderr, "measure: %s: %s\n", what, strerror(errno));
	exit(70);
}

/* "0,2-3" as taskset takes it. */
static void
pin(const char *list)
{
	cpu_set_t set;
	struct str rest = str_of(list), part;

	CPU_ZERO(&set);
	while (str_split(&rest, ',', &part)) {
		size_t dash = str_find_char(part, '-');
		uint64_t from, to;
		if (!str_to_u64(str_cut(part, 0, dash), &from))
			fail("--cpus");
		to = from;
		if (dash < part.n && !str_to_u64(str_from(part, dash + 1), &to))
			fail("--cpus");
		for (; from <= to && from < CPU_SETSIZE; from++)
			CPU_SET(from, &set);
	}
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		fail("--cpus");
}

/* Bytes that went to a disk.  The zombie still has its figures. */
static uint64_t
disk_bytes(pid_t pid)
{
	char path[64], text[1024];
	uint64_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t got = read(fd, text, sizeof(text));
	close(fd);
	struct str rest = { text, got > 0 ? (size_t)got : 0 }, line;
	while (str_split(&rest, '\n', &line))
		if (str_starts(line, STR("write_bytes: ")))
			(void)str_to_u64(str_from(line, 13), &n);
	return n;
}

static void
run(struct task *t, char **command)
{
	sigset_t none;

	t->began = now();
	t->pid = fork();
	if (t->pid < 0)
		fail("fork");
	if (t->pid > 0)
		return;
	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(command[0], command);
	fprintf(stderr, "measure: %s: %s\n", command[0], strerror(errno));
	_exit(127);
}

/* Take what ended; true when the command itself did. */
static bool
reap(struct task *t)
{
	siginfo_t s;

	for (;;) {
		memset(&s, 0, sizeof(s));
		if (waitid(P_ALL, 0, &s, WEXITED | WNOHANG | WNOWAIT) < 0 ||
		    s.si_pid == 0)
			return false;
		t->write_bytes += disk_bytes(s.si_pid);
		waitpid(s.si_pid, NULL, 0);
		if (s.si_pid != t->pid)
			continue;
		t->end = s;
		return true;
	}
}

static void
watch(struct task *t, const sigset_t *signals)
{
	while (!reap(t)) {
		struct timespec wait = { .tv_nsec = 100 * 1000 * 1000 };
		int s = sigtimedwait(signals, NULL, &wait);
		double at = now();
		if (s == SIGINT || s == SIGTERM) {
			t->asked = true;
			kill(-t->pid, SIGKILL);
		} else if (t->limit_hit > 0 && at > t->limit_hit +
		    GRACE_SECONDS) {
			kill(-t->pid, SIGKILL);
		} else if (t->limit_hit <= 0 && at > t->began + t->limit) {
			t->limit_hit = at;
			kill(-t->pid, SIGINT);
		}
	}
}

static void
report(const struct task *t, double wall, FILE *out)
{
	struct rusage use;
	bool exited = t->end.si_code == CLD_EXITED;

	getrusage(RUSAGE_CHILDREN, &use);
	fprintf(out, "{\"wall\":%.3f,\"user\":%.3f,\"system\":%.3f,"
	    "\"rss_kb\":%ld,\"disk_bytes\":%llu,\"code\":%d,\"signal\":%d,"
	    "\"timeout\":%s}\n", wall, seconds_of(use.ru_utime),
	    seconds_of(use.ru_stime), use.ru_maxrss,
	    (unsigned long long)t->write_bytes, exited ? t->end.si_status : -1,
	    exited ? 0 : t->end.si_status,
	    t->limit_hit > 0 ? "true" : "false");
	if (fflush(out) != 0)
		fail("--out");
}

int
main(int argc, char **argv)
{
	struct task t = { .limit = SECONDS_DEFAULT };
	FILE *out = stderr;
	int i = 1;
	sigset_t signals;

	for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
		double v;
		if (strcmp(argv[i], "--seconds") == 0 &&
		    str_to_double(str_of(argv[i + 1]), &v))
			t.limit = v;
		else if (strcmp(argv[i], "--cpus") == 0)
			pin(argv[i + 1]);
		else if (strcmp(argv[i], "--out") == 0)
			out = fopen(argv[i + 1], "we");
		else
			break;
		if (out == NULL)
			fail(argv[i + 1]);
	}
	if (i >= argc || argv[i][0] == '-') {
		fputs("usage: measure [--seconds N] [--cpus LIST] [--out FILE] "
		    "COMMAND [ARGUMENT...]\n", stderr);
		return 64;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	run(&t, argv + i);
	watch(&t, &signals);
	double wall = now() - t.began;
	kill(-t.pid, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
	report(&t, wall, out);
	return t.asked ? 70 : 0;
}
