/*
 * without -- run a command on a kernel that seems to lack something:
 *
 *     without [landlock] [namespaces] COMMAND [WORD...]
 *
 * A filter of system calls refuses them as containers do: Landlock's calls do
 * not exist, and no user namespace can be made.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LANDLOCK_FIRST 444
#define LANDLOCK_LAST 446
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS,                      \
	offsetof(struct seccomp_data, member))
#define JUMP(kind, k, yes, no) BPF_JUMP(BPF_JMP | (kind) | BPF_K, k, yes, no)
#define RETURN(k) BPF_STMT(BPF_RET | BPF_K, k)
#define REFUSE(number) RETURN(SECCOMP_RET_ERRNO | (number))

static const struct sock_filter landlock[] = {
	LOAD(nr),
	JUMP(BPF_JGE, LANDLOCK_FIRST, 0, 2),
	JUMP(BPF_JGT, LANDLOCK_LAST, 1, 0),
	REFUSE(ENOSYS),
	RETURN(SECCOMP_RET_ALLOW),
};

/* clone3(2) has its flags in memory, which a filter does not see. */
static const struct sock_filter namespaces[] = {
	LOAD(nr),
	JUMP(BPF_JEQ, SYS_clone3, 0, 1),
	REFUSE(ENOSYS),
	JUMP(BPF_JEQ, SYS_clone, 1, 0),
	JUMP(BPF_JEQ, SYS_unshare, 0, 3),
	LOAD(args[0]),
	JUMP(BPF_JSET, CLONE_NEWUSER, 0, 1),
	REFUSE(EPERM),
	RETURN(SECCOMP_RET_ALLOW),
};

static int
refuse(const struct sock_filter *filter, size_t n)
{
	struct sock_fprog program = { .len = (unsigned short)n,
		.filter = (struct sock_filter *)(void *)(size_t)filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

int
main(int argc, char **argv)
{
	int failed = 0, i = 1;

	for (; i < argc; i++) {
		if (strcmp(argv[i], "landlock") == 0)
			failed |= refuse(landlock,
			    sizeof(landlock) / sizeof(landlock[0]));
		else if (strcmp(argv[i], "namespaces") == 0)
			failed |= refuse(namespaces,
			    sizeof(namespaces) / sizeof(namespaces[0]));
		else
			break;
	}
	if (failed || i >= argc) {
		fprintf(stderr, failed ? "without: no filter can be set\n" :
		    "usage: without [landlock] [namespaces] COMMAND\n");
		return 64;
	}
	execv(argv[i], argv + i);
	perror(argv[i]);
	return 66;
}
