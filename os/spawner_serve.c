/*
 * The spawner itself: one thread, which waits for orders and for the end of
 * processes.  It runs no script and parses nothing but datagrams of its own
 * daemon.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/spawner.h"
#include "os/spawner_own.h"

#define CONTROL_FD 0

struct child {
	pid_t pid;
	uint32_t id;
};

struct server {
	const struct spawner_work *work;
	struct child *children;
	size_t n, cap;
	unsigned layers;               /* namespaces that can be had */
	bool superuser;
};

static const struct {
	unsigned layer;
	int flag;
} namespaces[] = {
	/* The first one gives the right to make the others. */
	{ SANDBOX_BIT(USER_NS), CLONE_NEWUSER },
	{ SANDBOX_BIT(NET_NS), CLONE_NEWNET },
	{ SANDBOX_BIT(MOUNT_NS), CLONE_NEWNS },
	{ SANDBOX_BIT(PID_NS), CLONE_NEWPID },
	{ SANDBOX_BIT(IPC_NS), CLONE_NEWIPC },
};

/* ---- Making a process --------------------------------------------------- */

/* User SANDBOX_NOBODY inside is the same user outside. */
static bool
write_map(pid_t pid, const char *file)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	int n = snprintf(text, sizeof(text), "%u %u 1\n", SANDBOX_NOBODY,
	    SANDBOX_NOBODY);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool done = write(fd, text, (size_t)n) == n;
	close(fd);
	return done;
}

static pid_t
clone_with(unsigned layers)
{
	unsigned long flags = SIGCHLD;

	for (size_t i = 0; i < ARRAY_LEN(namespaces); i++)
		if ((layers & namespaces[i].layer) != 0)
			flags |= (unsigned long)namespaces[i].flag;
	return (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
}

/*
 * As fork(2), in namespaces of its own.  The child comes back only after its
 * users are mapped; one that cannot be mapped exits.
 */
static pid_t
fork_in(const struct server *s, unsigned layers)
{
	int go[2];
	char byte = 1;
	bool mapped = s->superuser && (layers & SANDBOX_BIT(USER_NS)) != 0;

	if (pipe2(go, O_CLOEXEC) != 0)
		return -1;
	pid_t pid = clone_with(layers);
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		close(go[0]);
		return 0;
	}
	close(go[0]);
	if (pid > 0 && (!mapped || (write_map(pid, "gid_map") &&
	    write_map(pid, "uid_map"))))
		(void)!write(go[1], &byte, 1);
	close(go[1]);
	return pid;
}

static bool
can_fork_in(const struct server *s, unsigned layers)
{
	int status = 1;
	pid_t pid = fork_in(s, layers);

	if (pid == 0)
		_exit(0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Which namespaces kernel and container allow, each tried by itself. */
static unsigned
probe_namespaces(const struct server *s)
{
	unsigned have = 0;

	for (size_t i = 0; i < ARRAY_LEN(namespaces); i++)
		if (can_fork_in(s, have | namespaces[i].layer))
			have |= namespaces[i].layer;
	return have;
}

/* ---- Orders ------------------------------------------------------------- */

static void
send_notice(uint32_t op, uint32_t id, int64_t value)
{
	struct spawner_notice n = { .op = op, .id = id, .value = value };

	while (send(CONTROL_FD, &n, sizeof(n), MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			_exit(0);
}

NORETURN static void
live_as_child(const struct server *s, int fd, const struct sandbox_plan *plan)
{
	struct sandbox_plan p = *plan;
	struct why w = WHY_INIT;
	unsigned layers = 0;
	sigset_t none;

	p.layers = s->layers;
	p.drop_user = s->superuser;
	if (dup2(fd, 0) != 0 ||
	    close_range(sandbox_first_closed(), ~0u, 0) != 0)
		_exit(1);
	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	enum err e = sandbox_enter(&p, &layers, &w);
	s->work->work(layers, e == OK ? NULL : &w);
	_exit(0);
}

static void
fork_child(struct server *s, const struct spawner_order *o, int fd)
{
	pid_t pid = fd < 0 ? -1 : fork_in(s, s->layers);

	if (pid == 0)
		live_as_child(s, fd, &o->plan);
	if (fd >= 0)
		close(fd);
	if (pid < 0) {
		/* As if it had exited with 1 at once. */
		send_notice(SPAWNER_ENDED, o->id, 1 << 8);
		return;
	}
	s->children = mem_room(s->children, s->n, &s->cap, 16,
	    sizeof(*s->children));
	s->children[s->n++] = (struct child){ .pid = pid, .id = o->id };
	send_notice(SPAWNER_STARTED, o->id, pid);
}

static void
kill_child(const struct server *s, uint32_t id)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->children[i].id == id)
			(void)kill(s->children[i].pid, SIGKILL);
}

static void
reap_children(struct server *s)
{
	int status = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (size_t i = 0; i < s->n; i++) {
			if (s->children[i].pid != pid)
				continue;
			send_notice(SPAWNER_ENDED, s->children[i].id, status);
			s->children[i] = s->children[--s->n];
			break;
		}
	}
}

/* The socket that came with a datagram, or -1. */
static int
attached_fd(struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fd = -1;

	if (c != NULL && c->cmsg_level == SOL_SOCKET &&
	    c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

static void
take_order(struct server *s)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct spawner_order o;
	struct iovec part = { .iov_base = &o, .iov_len = sizeof(o) };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };

	ssize_t n = recvmsg(CONTROL_FD, &m, MSG_CMSG_CLOEXEC);
	if (n < 0 && errno == EINTR)
		return;
	/* The daemon has gone; its scripts go with this process. */
	if (n != (ssize_t)sizeof(o))
		_exit(0);
	if (o.op == SPAWNER_FORK)
		fork_child(s, &o, attached_fd(&m));
	else if (o.op == SPAWNER_KILL)
		kill_child(s, o.id);
}

/* ---- The loop ----------------------------------------------------------- */

static void
wake_up(int number)
{
	(void)number;
}

/*
 * A service manager or a terminal sends these to all processes.  The daemon
 * decides when its scripts end; its children inherit that.
 */
static void
ignore_ends(void)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };

	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		(void)signal(signals[i], SIG_IGN);
}

/* What a child inherits and need not have. */
static void
harden_self(void)
{
	struct rlimit none = { 0, 0 };

	(void)setrlimit(RLIMIT_CORE, &none);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)prctl(PR_SET_NAME, "argiope-script", 0, 0, 0);
	/* Read once, as no file can be opened later. */
	(void)setenv("TZ", "UTC0", 1);
	tzset();
}

void
spawner_serve(const struct spawner_work *work)
{
	struct server s = { .work = work, .superuser = geteuid() == 0 };
	struct sigaction act = { .sa_handler = wake_up };
	struct pollfd control = { .fd = CONTROL_FD, .events = POLLIN };
	sigset_t child, none;

	(void)sigemptyset(&none);
	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &child, NULL);
	(void)sigaction(SIGCHLD, &act, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	ignore_ends();
	harden_self();
	if (work->prepare != NULL)
		work->prepare();
	s.layers = probe_namespaces(&s);
	for (;;) {
		reap_children(&s);
		/* SIGCHLD is let in only here, so that none is missed. */
		if (ppoll(&control, 1, NULL, &none) > 0)
			take_order(&s);
	}
}
