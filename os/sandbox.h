/*
 * sandbox -- takes from a process all that it does not need to compute.
 *
 *     user -> limits -> capabilities -> no new privileges -> Landlock
 *          -> checked -> seccomp
 *
 * The process keeps its memory, the clock and one socket, descriptor 0.  It
 * cannot leave the sandbox, and any system call that is not in the table below
 * kills it with SIGSYS.
 *
 * Thread: the only one of the process.
 */
#ifndef OS_SANDBOX_H
#define OS_SANDBOX_H

#include "base/err.h"

/* The system calls that remain; mmap and mprotect without PROT_EXEC. */
#define SANDBOX_CALLS(X)                                                     \
	X(read) X(write) X(recvmsg) X(sendmsg) X(poll) X(ppoll) X(futex)      \
	X(munmap) X(mremap) X(madvise) X(brk) X(clock_gettime)                \
	X(restart_syscall) X(rt_sigprocmask) X(rt_sigreturn) X(sigaltstack)   \
	X(exit) X(exit_group)

/*    name      what an operator reads */
#define SANDBOX_LAYERS(X)                                                    \
	X(SECCOMP,   "seccomp")                                               \
	X(LANDLOCK,  "landlock")                                              \
	X(USER,      "user")           /* an unprivileged one, not ours */     \
	X(USER_NS,   "user namespace")                                        \
	X(NET_NS,    "network namespace")                                     \
	X(MOUNT_NS,  "mount namespace")                                       \
	X(PID_NS,    "pid namespace")                                         \
	X(IPC_NS,    "ipc namespace")

enum sandbox_layer {
#define SANDBOX_ENUM(id, text) SANDBOX_##id,
	SANDBOX_LAYERS(SANDBOX_ENUM)
#undef SANDBOX_ENUM
	SANDBOX_LAYER_COUNT
};
#define SANDBOX_BIT(layer) (1u << SANDBOX_##layer)
/* What an operator reads. */
const char *sandbox_layer_text(enum sandbox_layer);

/* The user and group that a process gets when a superuser started it. */
#define SANDBOX_NOBODY 65534u

/*
 * The first descriptor that a process behind it must not have: 1, and 3 in
 * builds with a sanitizer, whose reports go to standard error.
 */
unsigned sandbox_first_closed(void);

struct sandbox_plan {
	uint64_t memory_bytes;      /* beyond what is mapped already */
	uint32_t cpu_s;             /* of the process, in all */
	bool weak;                  /* go on without seccomp */
	bool drop_user;             /* become SANDBOX_NOBODY */
	unsigned layers;            /* bits that hold already: namespaces */
};

/*
 * Enter.  `*layers` gets the bits of all layers that hold, the plan's with
 * them.  Every layer but seccomp is checked before seccomp ends the means to do
 * so; sandbox_check() looks at that one from outside.  After an error the
 * process must end: some layers hold, others do not.
 * Errors: STATE, naming the layer that could not be put up.
 */
MUST_USE enum err sandbox_enter(const struct sandbox_plan *, unsigned *layers,
    struct why *);

/*
 * Whether the kernel says of process `pid` that it has no capability, cannot
 * gain privileges and, unless `weak`, is behind a filter of system calls.
 * Thread: any.  Errors: STATE, naming what is missing.
 */
MUST_USE enum err sandbox_check(int64_t pid, bool weak, struct why *);

#endif
