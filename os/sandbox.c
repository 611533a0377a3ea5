#include "os/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *
sandbox_layer_text(enum sandbox_layer layer)
{
	static const char *const texts[] = {
#define SANDBOX_TEXT(id, text) text,
		SANDBOX_LAYERS(SANDBOX_TEXT)
#undef SANDBOX_TEXT
	};

	CHECK(layer < SANDBOX_LAYER_COUNT);
	return texts[layer];
}

unsigned
sandbox_first_closed(void)
{
	return SANITIZED ? 3 : 1;
}

/* ---- User, limits, capabilities ----------------------------------------- */

static enum err
drop_user(struct why *w)
{
	uid_t real, effective, saved;
	const gid_t group = SANDBOX_NOBODY;
	const uid_t user = SANDBOX_NOBODY;

	if (setgroups(0, NULL) != 0 ||
	    setresgid(group, group, group) != 0 ||
	    setresuid(user, user, user) != 0)
		return why_errno(w, ERR_STATE, "cannot become user %u", user);
	if (getresuid(&real, &effective, &saved) != 0 || real != user ||
	    effective != user || saved != user)
		return why(w, ERR_STATE, "did not become user %u", user);
	return OK;
}

static enum err
set_limit(int resource, const char *name, uint64_t most, struct why *w)
{
	struct rlimit r;

	/* A limit that is lower already stays. */
	if (getrlimit((unsigned)resource, &r) != 0)
		return why_errno(w, ERR_STATE, "%s", name);
	r.rlim_max = MIN(r.rlim_max, (rlim_t)most);
	r.rlim_cur = r.rlim_max;
	if (setrlimit((unsigned)resource, &r) != 0)
		return why_errno(w, ERR_STATE, "%s", name);
	return OK;
}

static uint64_t
mapped_bytes(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f == NULL)
		return 0;
	if (fscanf(f, "%llu", &pages) != 1)
		pages = 0;
	fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static enum err
set_limits(const struct sandbox_plan *p, struct why *w)
{
	uint64_t mapped = mapped_bytes();

	if (mapped == 0)
		return why(w, ERR_STATE, "cannot read /proc/self/statm");
	const struct {
		int resource;
		const char *name;
		uint64_t most;
	} limits[] = {
		{ RLIMIT_NPROC, "RLIMIT_NPROC", 0 },
		{ RLIMIT_FSIZE, "RLIMIT_FSIZE", 0 },
		{ RLIMIT_CORE, "RLIMIT_CORE", 0 },
		{ RLIMIT_CPU, "RLIMIT_CPU", p->cpu_s },
		{ RLIMIT_AS, "RLIMIT_AS", SANITIZED ? RLIM_INFINITY :
		    mapped + p->memory_bytes },
	};
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		enum err e = set_limit(limits[i].resource, limits[i].name,
		    limits[i].most, w);
		if (e != OK)
			return e;
	}
	return OK;
}

static enum err
drop_capabilities(struct why *w)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 }, { 0 } };

	if (syscall(SYS_capset, &head, data) != 0)
		return why_errno(w, ERR_STATE, "cannot drop capabilities");
	return OK;
}

static enum err
drop_privileges(struct why *w)
{
	enum err e = drop_capabilities(w);

	if (e != OK)
		return e;
	/*
	 * Without READ_IMPLIES_EXEC, so that no mapping becomes executable
	 * behind the filter's back.  Where systemd locks the personality, it
	 * allows this call and no other.
	 */
	if (personality(PER_LINUX) < 0)
		return why_errno(w, ERR_STATE, "its memory is executable");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
	    prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		return why_errno(w, ERR_STATE, "it stays dumpable");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		return why_errno(w, ERR_STATE, "cannot end with its parent");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return why_errno(w, ERR_STATE, "it could gain privileges");
	return OK;
}

/* ---- Landlock ----------------------------------------------------------- */

/*
 * As <linux/landlock.h> of Linux 6.12 has it: older headers know fewer fields,
 * and a kernel takes the part that it knows.
 */
struct ruleset {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};
#define LANDLOCK_CREATE 444
#define LANDLOCK_RESTRICT_SELF 446
#define LANDLOCK_VERSION 1u

/*
 * Every right that this kernel's Landlock handles, and no rule that grants one.
 * True when it holds; false when the kernel has none.
 */
static bool
enter_landlock(void)
{
	static const unsigned char fs_bits[] = { 13, 14, 15, 15, 16 };
	long version = syscall(LANDLOCK_CREATE, NULL, (size_t)0,
	    LANDLOCK_VERSION);

	if (version < 1)
		return false;
	size_t row = MIN((size_t)version, ARRAY_LEN(fs_bits)) - 1;
	struct ruleset r = {
		.handled_access_fs = (UINT64_C(1) << fs_bits[row]) - 1,
		.handled_access_net = version >= 4 ? 3 : 0,
		.scoped = version >= 6 ? 3 : 0,
	};
	size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
	int fd = (int)syscall(LANDLOCK_CREATE, &r, size, 0u);
	if (fd < 0)
		return false;
	bool holds = syscall(LANDLOCK_RESTRICT_SELF, fd, 0u) == 0;
	close(fd);
	if (!holds)
		return false;
	/* What it forbids must fail now. */
	fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd < 0 && errno == EACCES;
}

/* ---- seccomp ------------------------------------------------------------ */

static int
allow_calls(scmp_filter_ctx filter)
{
	static const char *const calls[] = {
#define SANDBOX_NAME(name) #name,
		SANDBOX_CALLS(SANDBOX_NAME)
#undef SANDBOX_NAME
	};
	static const char *const mappings[] = { "mmap", "mprotect" };
	int e = 0;

	for (size_t i = 0; e == 0 && i < ARRAY_LEN(calls); i++) {
		int number = seccomp_syscall_resolve_name(calls[i]);
		/* Some architectures lack poll. */
		if (number >= 0)
			e = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
	}
	for (size_t i = 0; e == 0 && i < ARRAY_LEN(mappings); i++)
		e = seccomp_rule_add(filter, SCMP_ACT_ALLOW,
		    seccomp_syscall_resolve_name(mappings[i]), 1,
		    SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	return e;
}

static enum err
enter_seccomp(struct why *w)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);

	if (filter == NULL)
		return why(w, ERR_STATE, "seccomp: no filter can be made");
	int e = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH,
	    SCMP_ACT_KILL_PROCESS);
	if (e == 0)
		e = allow_calls(filter);
	if (e == 0)
		e = seccomp_load(filter);
	seccomp_release(filter);
	if (e != 0)
		return why(w, ERR_STATE, "seccomp: %s", strerror(-e));
	return OK;
}

/* ---- Entering ----------------------------------------------------------- */

enum err
sandbox_enter(const struct sandbox_plan *p, unsigned *layers, struct why *w)
{
	enum err e = OK;

	*layers = p->layers;
	if (p->drop_user) {
		e = drop_user(w);
		*layers |= SANDBOX_BIT(USER);
	}
	if (e == OK)
		e = set_limits(p, w);
	if (e == OK)
		e = drop_privileges(w);
	if (e == OK && enter_landlock())
		*layers |= SANDBOX_BIT(LANDLOCK);
	/* Descriptor 0 is all that it holds, and will ever hold. */
	if (e == OK)
		e = set_limit(RLIMIT_NOFILE, "RLIMIT_NOFILE",
		    sandbox_first_closed(), w);
	if (e != OK)
		return e;
	struct why filter = WHY_INIT;
	e = enter_seccomp(&filter);
	if (e == OK)
		*layers |= SANDBOX_BIT(SECCOMP);
	else if (!p->weak)
		return why(w, e, "%s", filter.text);
	return OK;
}

/* ---- From outside ------------------------------------------------------- */

static bool
has_line(const char *text, const char *name, const char *value)
{
	const char *at = strstr(text, name);

	if (at == NULL)
		return false;
	at += strlen(name);
	at += strspn(at, "\t ");
	return strncmp(at, value, strlen(value)) == 0;
}

enum err
sandbox_check(int64_t pid, bool weak, struct why *w)
{
	char path[64], text[8192];

	snprintf(path, sizeof(path), "/proc/%lld/status", (long long)pid);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return why_errno(w, ERR_STATE, "%s", path);
	size_t n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	if (!has_line(text, "\nNoNewPrivs:", "1\n"))
		return why(w, ERR_STATE, "it could gain privileges");
	if (!has_line(text, "\nCapEff:", "0000000000000000\n") ||
	    !has_line(text, "\nCapPrm:", "0000000000000000\n"))
		return why(w, ERR_STATE, "it has capabilities");
	if (!weak && !has_line(text, "\nSeccomp:", "2\n"))
		return why(w, ERR_STATE, "seccomp does not hold");
	return OK;
}
