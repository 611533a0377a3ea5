/*
 * The daemon's end.  os/spawner_serve.c is the other one.
 */
#include "os/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file.h"
#include "os/spawner_own.h"

struct spawner {
	struct loop *loop;
	struct watch watch;
	const struct spawner_events *events;
	void *arg;
	int64_t pid;
};

static void
reap_spawner(struct spawner *s)
{
	/* It exits as soon as its socket ends. */
	if (s->pid > 0)
		(void)waitpid((pid_t)s->pid, NULL, 0);
	s->pid = 0;
}

static void
close_socket(struct spawner *s)
{
	if (s->watch.fd < 0)
		return;
	loop_watch(s->loop, &s->watch, 0);
	file_close(&s->watch.fd);
	s->watch.fd = -1;
}

static void
deliver_notice(struct spawner *s, const struct spawner_notice *n)
{
	if (n->op == SPAWNER_STARTED)
		s->events->on_started(s->arg, n->id, n->value);
	else if (n->op == SPAWNER_ENDED)
		s->events->on_ended(s->arg, n->id, (int)n->value);
}

/* A callback may stop the spawner: nothing is touched after it then. */
#define NOTICES_AT_ONCE 64
static void
read_notices(struct watch *w, unsigned events)
{
	struct spawner *s = CONTAINER(w, struct spawner, watch);
	struct spawner_notice notices[NOTICES_AT_ONCE];
	size_t count = 0;
	bool gone = false;

	(void)events;
	while (count < NOTICES_AT_ONCE && !gone) {
		ssize_t n = read(w->fd, &notices[count], sizeof(*notices));
		if (n == (ssize_t)sizeof(*notices))
			count++;
		else if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		else
			gone = true;
	}
	const struct spawner_events *to = s->events;
	void *arg = s->arg;
	if (gone) {
		close_socket(s);
		reap_spawner(s);
	}
	for (size_t i = 0; i < count; i++)
		deliver_notice(s, &notices[i]);
	if (gone)
		to->on_gone(arg);
}

/* The process, with `fd` as its descriptor 0 and nothing else. */
static int
spawn_self(const char *const *argv, int fd, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	char *no_environment[] = { NULL };
	sigset_t none, all;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	if (posix_spawn_file_actions_init(&files) != 0)
		return ENOMEM;
	if (posix_spawnattr_init(&how) != 0) {
		(void)posix_spawn_file_actions_destroy(&files);
		return ENOMEM;
	}
	CHECK(posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP |
	    POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) == 0);
	(void)posix_spawnattr_setsigmask(&how, &none);
	(void)posix_spawnattr_setsigdefault(&how, &all);
	int e = posix_spawn_file_actions_adddup2(&files, fd, 0);
	if (e == 0)
		e = posix_spawn_file_actions_addclosefrom_np(&files,
		    (int)sandbox_first_closed());
	if (e == 0)
		e = posix_spawn(pid, "/proc/self/exe", &files, &how,
		    (char *const *)argv, no_environment);
	(void)posix_spawnattr_destroy(&how);
	(void)posix_spawn_file_actions_destroy(&files);
	return e;
}

enum err
spawner_start(struct loop *loop, const char *const *argv,
    const struct spawner_events *events, void *arg, struct spawner **out,
    struct why *w)
{
	int fds[2];
	pid_t pid = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
		return why_errno(w, ERR_IO, "cannot open a pair of sockets");
	CHECK(fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0);
	int e = spawn_self(argv, fds[1], &pid);
	close(fds[1]);
	if (e != 0) {
		close(fds[0]);
		return why(w, ERR_IO, "cannot start the spawner of scripts: %s",
		    strerror(e));
	}
	struct spawner *s = mem_new(sizeof(*s));
	s->loop = loop;
	s->events = events;
	s->arg = arg;
	s->pid = pid;
	s->watch = (struct watch){ .fd = fds[0], .ready = read_notices };
	loop_watch(loop, &s->watch, LOOP_READ);
	*out = s;
	return OK;
}

void
spawner_stop(struct spawner **sp)
{
	struct spawner *s = *sp;

	if (s == NULL)
		return;
	close_socket(s);
	reap_spawner(s);
	mem_free(sp);
}

static enum err
send_order(struct spawner *s, const struct spawner_order *order, int fd,
    struct why *w)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec part = { .iov_base = (void *)(uintptr_t)order,
		.iov_len = sizeof(*order) };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	if (s->watch.fd < 0)
		return why(w, ERR_CLOSED, "the spawner of scripts has ended");
	if (fd >= 0) {
		m.msg_control = control.bytes;
		m.msg_controllen = sizeof(control.bytes);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	if (sendmsg(s->watch.fd, &m, MSG_NOSIGNAL) == (ssize_t)sizeof(*order))
		return OK;
	return why_errno(w, errno == EAGAIN ? ERR_FULL : ERR_CLOSED,
	    "the spawner of scripts");
}

enum err
spawner_fork(struct spawner *s, uint32_t id, int *fd,
    const struct sandbox_plan *plan, struct why *w)
{
	struct spawner_order order = { .op = SPAWNER_FORK, .id = id,
		.plan = *plan };
	enum err e = send_order(s, &order, *fd, w);

	file_close(fd);
	return e;
}

void
spawner_kill(struct spawner *s, uint32_t id)
{
	struct spawner_order order = { .op = SPAWNER_KILL, .id = id };
	struct why w = WHY_INIT;

	/* Where it cannot be sent the process has ended, or soon will. */
	(void)send_order(s, &order, -1, &w);
}

int
spawner_signal(int status)
{
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

bool
spawner_signal_is_sigsys(int number)
{
	return number == SIGSYS;
}

bool
spawner_signal_is_sigkill(int number)
{
	return number == SIGKILL;
}

int
spawner_killed(void)
{
	return SIGKILL;
}
