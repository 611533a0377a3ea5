#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/pipe.h"

#define LOOK_MS 20
#define ENV_MAX 4

struct child {
	struct process *process;
	pid_t pid;
	int out, err;                  /* read ends; -1: closed */
	struct buf bytes;              /* of `err`: its last line */
	struct mono term_at, kill_at;
	bool ended;
	int status;
};

/* "NAME=value" of what the command may know; the caller frees the texts. */
static void
make_environment(char *env[ENV_MAX + 1])
{
	static const char *const names[ENV_MAX] = { "PATH", "HOME", "LANG",
		"TZ" };
	size_t n = 0;

	for (size_t i = 0; i < ENV_MAX; i++) {
		const char *value = getenv(names[i]);
		if (value == NULL)
			continue;
		struct buf b = BUF_INIT;
		buf_printf(&b, "%s=%s", names[i], value);
		env[n++] = b.p;
	}
	env[n] = NULL;
}

static int
spawn(const struct process *p, int out, int err, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	char *env[ENV_MAX + 1];
	sigset_t none, all;

	(void)sigemptyset(&none);
	(void)sigemptyset(&all);
	(void)sigaddset(&all, SIGPIPE);
	(void)sigaddset(&all, SIGHUP);
	(void)sigaddset(&all, SIGINT);
	(void)sigaddset(&all, SIGTERM);
	if (posix_spawn_file_actions_init(&files) != 0)
		return ENOMEM;
	if (posix_spawnattr_init(&how) != 0) {
		(void)posix_spawn_file_actions_destroy(&files);
		return ENOMEM;
	}
	make_environment(env);
	CHECK(posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP |
	    POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) == 0);
	(void)posix_spawnattr_setsigmask(&how, &none);
	(void)posix_spawnattr_setsigdefault(&how, &all);
	int e = posix_spawn_file_actions_addopen(&files, 0, "/dev/null",
	    O_RDONLY, 0);
	if (e == 0)
		e = posix_spawn_file_actions_adddup2(&files, out, 1);
	if (e == 0)
		e = posix_spawn_file_actions_adddup2(&files, err, 2);
	/* argv is not changed: the type is older than const. */
	if (e == 0)
		e = posix_spawnp(pid, p->argv[0], &files, &how,
		    (char *const *)p->argv, env);
	for (size_t i = 0; env[i] != NULL; i++)
		free(env[i]);
	(void)posix_spawnattr_destroy(&how);
	(void)posix_spawn_file_actions_destroy(&files);
	return e;
}

/* Keep the start of the output and the last line of the errors. */
static void
read_output(struct child *c)
{
	struct process *p = c->process;
	struct buf rest = BUF_INIT;
	size_t room = PROCESS_OUT_MAX - p->out.n;

	if (c->out >= 0 && !(room > 0 ? pipe_read(c->out, room, &p->out) :
	    pipe_read(c->out, PROCESS_OUT_MAX, &rest)))
		file_close(&c->out);
	buf_free(&rest);
	if (c->err >= 0 && !pipe_read(c->err, PROCESS_OUT_MAX, &c->bytes))
		file_close(&c->err);
	if (c->bytes.n > 2 * PROCESS_OUT_MAX) {
		struct str tail = str_from(buf_str(&c->bytes),
		    c->bytes.n - PROCESS_OUT_MAX);
		buf_put_str(&rest, tail);
		buf_free(&c->bytes);
		c->bytes = rest;
	}
}

static void
keep_last_line(struct child *c)
{
	struct str rest = str_trim(buf_str(&c->bytes)), line = STR("");

	while (str_split(&rest, '\n', &line))
		;
	snprintf(c->process->error, sizeof(c->process->error), "%.*s",
	    STR_FMT(line));
}

static void
end_in_time(struct child *c)
{
	struct process *p = c->process;
	struct mono now = clock_mono();

	if (!p->timed_out && !p->stopped) {
		p->timed_out = !mono_before(now, c->term_at);
		p->stopped = p->stop != NULL && atomic_load(p->stop);
		if (!p->timed_out && !p->stopped)
			return;
		c->kill_at = mono_add_ms(now, PROCESS_GRACE_MS);
		(void)kill(-c->pid, SIGTERM);
	} else if (!mono_before(now, c->kill_at)) {
		(void)kill(-c->pid, SIGKILL);
	}
}

static void
wait_for_end(struct child *c)
{
	while (!c->ended) {
		struct pollfd fds[] = { { .fd = c->out, .events = POLLIN },
			{ .fd = c->err, .events = POLLIN } };
		(void)poll(fds, 2, LOOK_MS);
		read_output(c);
		pid_t got = waitpid(c->pid, &c->status, WNOHANG);
		c->ended = got == c->pid || (got < 0 && errno != EINTR);
		if (!c->ended)
			end_in_time(c);
	}
	/* Its last output; another process may still have the pipe open. */
	read_output(c);
}

static enum err
judge_end(struct child *c, struct why *w)
{
	struct process *p = c->process;

	keep_last_line(c);
	p->code = WIFEXITED(c->status) ? WEXITSTATUS(c->status) :
	    128 + WTERMSIG(c->status);
	if (p->timed_out)
		return why(w, ERR_STATE, "it took longer than %lld s",
		    (long long)(p->ms_max / 1000));
	if (p->stopped)
		return why(w, ERR_STATE, "it was ended");
	if (p->code != 0)
		return why(w, ERR_STATE, "exit code %d%s%s", p->code,
		    p->error[0] != '\0' ? ": " : "", p->error);
	return OK;
}

enum err
process_run(struct process *p, struct why *w)
{
	struct child c = { .process = p, .out = -1, .err = -1 };
	int out = -1, err = -1;

	enum err e = pipe_open(&c.out, &out, w);
	if (e == OK)
		e = pipe_open(&c.err, &err, w);
	if (e == OK) {
		int error = spawn(p, out, err, &c.pid);
		if (error != 0)
			e = why(w, err_from_errno(error), "cannot start %s: %s",
			    p->argv[0], strerror(error));
	}
	file_close(&out);
	file_close(&err);
	if (e == OK) {
		c.term_at = mono_add_ms(clock_mono(), p->ms_max);
		wait_for_end(&c);
		e = judge_end(&c, w);
	}
	file_close(&c.out);
	file_close(&c.err);
	buf_free(&c.bytes);
	return e;
}
