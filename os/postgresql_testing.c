#include "os/postgresql_testing.h"

#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS_MAX 60000
#define WAIT_STEP_MS 20

struct postgresql_test {
	char dir[64], data[96], log[96], bin[128];
	char url[256];
	uid_t uid;                   /* of the server; 0: that of the test */
	gid_t gid;
	pid_t pid;                   /* of the server; 0: it does not run */
	unsigned schemas;
};

NORETURN static void
fail_at(const struct postgresql_test *p, const char *what)
{
	fprintf(stderr, "PostgreSQL: %s; see %s\n", what, p->log);
	exit(1);
}

/* The newest of Debian's versions, or whichever the PATH has. */
static bool
find_programs(struct postgresql_test *p)
{
	glob_t found;
	bool is_there = false;

	if (glob("/usr/lib/postgresql/*/bin/initdb", 0, NULL, &found) == 0) {
		const char *last = found.gl_pathv[found.gl_pathc - 1];
		snprintf(p->bin, sizeof(p->bin), "%.*s",
		    (int)(strlen(last) - strlen("/initdb")), last);
		is_there = true;
		globfree(&found);
	}
	return is_there;
}

static void
choose_user(struct postgresql_test *p)
{
	if (geteuid() != 0)
		return;
	const struct passwd *user = getpwnam("postgres");
	if (user == NULL)
		user = getpwnam("nobody");
	if (user == NULL)
		fail_at(p, "there is no user but root");
	p->uid = user->pw_uid;
	p->gid = user->pw_gid;
}

/* Run a program of PostgreSQL as the server's user, its output in the log. */
static pid_t
run_program(const struct postgresql_test *p, const char *name,
    const char *const *args)
{
	char path[192];
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	snprintf(path, sizeof(path), "%s/%s", p->bin, name);
	/* Not by stdio, which would write what the test has not written yet. */
	int fd = open(p->log, O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 ||
	    dup2(fd, STDERR_FILENO) < 0 || chdir("/") != 0)
		_exit(126);
	if (p->uid != 0 && (setgroups(0, NULL) != 0 || setgid(p->gid) != 0 ||
	    setuid(p->uid) != 0))
		_exit(126);
	/* It ends at once when the test does, however that ends. */
	prctl(PR_SET_PDEATHSIG, SIGQUIT);
	execv(path, (char *const *)(uintptr_t)args);
	_exit(127);
}

/* As the test's user, and to its end. */
static bool
run_tool(const char *const *args)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execvp(args[0], (char *const *)(uintptr_t)args);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static bool
copy_folder(const char *from, const char *to)
{
	const char *const args[] = { "cp", "-a", "--", from, to, NULL };

	return access(from, F_OK) == 0 && run_tool(args);
}

/* For the tests that come; another one may have been faster. */
static void
keep_cluster(const struct postgresql_test *p, const char *place,
    const char *kept)
{
	char mine[256];

	snprintf(mine, sizeof(mine), "%s/%ld", place, (long)getpid());
	if (copy_folder(p->data, mine))
		(void)rename(mine, kept);
}

static void
write_access(const struct postgresql_test *p)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/pg_hba.conf", p->data);
	FILE *f = fopen(path, "w");
	if (f == NULL || fputs("local all guarded scram-sha-256\n"
	    "local all all trust\n", f) < 0 || fclose(f) != 0)
		fail_at(p, "cannot write pg_hba.conf");
}

static void
init_cluster(struct postgresql_test *p)
{
	const char *const args[] = { "initdb", "-D", p->data, "-U", "argiope",
	    "--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=icu",
	    "--icu-locale=en-US", "--no-sync", "--no-instructions",
	    "--auth=trust", NULL };
	int status;
	pid_t pid = run_program(p, "initdb", args);

	if (waitpid(pid, &status, 0) != pid || status != 0)
		fail_at(p, "initdb has failed");
}

static void
make_cluster(struct postgresql_test *p)
{
	const char *place = getenv("ARGIOPE_POSTGRESQL_KEPT");
	const char *folder = getenv("ARGIOPE_POSTGRESQL_FOLDER");
	char kept[256];

	snprintf(p->dir, sizeof(p->dir), "%s/argiope-pg-XXXXXX",
	    folder == NULL ? "/tmp" : folder);
	if (mkdtemp(p->dir) == NULL || chmod(p->dir, 0755) != 0)
		fail_at(p, "cannot make a folder");
	snprintf(p->data, sizeof(p->data), "%s/data", p->dir);
	snprintf(p->log, sizeof(p->log), "%s/log", p->dir);
	if (p->uid != 0 && chown(p->dir, p->uid, p->gid) != 0)
		fail_at(p, "cannot give its folder away");
	snprintf(kept, sizeof(kept), "%s/data", place == NULL ? "" : place);
	if (place == NULL || !copy_folder(kept, p->data)) {
		init_cluster(p);
		if (place != NULL)
			keep_cluster(p, place, kept);
	}
	write_access(p);
}

static PGconn *
connect_as_owner(const struct postgresql_test *p)
{
	const char *const keys[] = { "host", "user", "dbname", NULL };
	const char *const values[] = { p->dir, "argiope", "postgres", NULL };

	return PQconnectdbParams(keys, values, 0);
}

static bool
is_ready(const struct postgresql_test *p)
{
	PGconn *c = connect_as_owner(p);
	bool ready = PQstatus(c) == CONNECTION_OK;

	PQfinish(c);
	return ready;
}

static bool
wait_end(struct postgresql_test *p, int ms)
{
	int status;

	for (; ms >= 0; ms -= WAIT_STEP_MS) {
		if (waitpid(p->pid, &status, WNOHANG) == p->pid) {
			p->pid = 0;
			return true;
		}
		usleep(WAIT_STEP_MS * 1000);
	}
	return false;
}

/* False when it has ended: the one before it may still be ending. */
static bool
start_server(struct postgresql_test *p, int *ms)
{
	const char *const args[] = { "postgres", "-D", p->data, "-k", p->dir,
	    "-c", "listen_addresses=", "-c", "shared_buffers=32MB",
	    "-c", "max_connections=40", "-c", "fsync=on", NULL };

	p->pid = run_program(p, "postgres", args);
	for (; *ms > 0; *ms -= WAIT_STEP_MS) {
		if (is_ready(p))
			return true;
		if (wait_end(p, 0))
			return false;
	}
	fail_at(p, "it did not start");
}

void
postgresql_test_start_again(struct postgresql_test *p)
{
	int ms = WAIT_MS_MAX;

	while (!start_server(p, &ms))
		usleep(WAIT_STEP_MS * 1000);
}

struct postgresql_test *
postgresql_test_start(void)
{
	struct postgresql_test *p = mem_new(sizeof(*p));

	if (!find_programs(p)) {
		fprintf(stderr, "skipped: there is no PostgreSQL server "
		    "(initdb)\n");
		mem_free(&p);
		return NULL;
	}
	choose_user(p);
	make_cluster(p);
	postgresql_test_start_again(p);
	return p;
}

static void
end_server(struct postgresql_test *p, int signal)
{
	if (p->pid == 0)
		return;
	if (kill(p->pid, signal) != 0 || !wait_end(p, WAIT_MS_MAX))
		fail_at(p, "it did not end");
}

void
postgresql_test_kill(struct postgresql_test *p)
{
	end_server(p, SIGKILL);
}

void
postgresql_test_halt(struct postgresql_test *p)
{
	end_server(p, SIGINT);
}

static void
remove_folder(const struct postgresql_test *p)
{
	const char *const args[] = { "rm", "-rf", "--", p->dir, NULL };

	(void)run_tool(args);
}

void
postgresql_test_stop(struct postgresql_test **pp)
{
	struct postgresql_test *p = *pp;

	if (p == NULL)
		return;
	/* Immediate: nobody needs what it has. */
	end_server(p, SIGQUIT);
	remove_folder(p);
	mem_free(pp);
}

void
postgresql_test_run(struct postgresql_test *p, const char *text)
{
	PGconn *c = connect_as_owner(p);
	PGresult *r = PQexec(c, text);

	if (PQresultStatus(r) != PGRES_COMMAND_OK &&
	    PQresultStatus(r) != PGRES_TUPLES_OK)
		fail_at(p, PQerrorMessage(c));
	PQclear(r);
	PQfinish(c);
}

const char *
postgresql_test_host(const struct postgresql_test *p)
{
	return p->dir;
}

const char *
postgresql_test_url(struct postgresql_test *p, const char *role)
{
	char text[128];

	if (role == NULL)
		role = "argiope";
	snprintf(text, sizeof(text), "CREATE SCHEMA test_%u AUTHORIZATION %s",
	    ++p->schemas, role);
	postgresql_test_run(p, text);
	snprintf(p->url, sizeof(p->url), "postgresql://%s@/postgres?host=%s"
	    "&options=-csearch_path%%3Dtest_%u", role, p->dir, p->schemas);
	return p->url;
}
