/*
 * system -- what the machine has, and the ends of the program.  Thread: any.
 */
#ifndef OS_SYSTEM_H
#define OS_SYSTEM_H

#include "base/base.h"

unsigned system_cores(void);           /* that this process may use; >= 1 */
/* Raise the limit of open files as far as it goes; returns it. */
uint64_t system_open_files(void);
/* A reader that left is an error of write(2), not the end of the program. */
void system_ignore_sigpipe(void);
/* Whether SIGHUP was ignored when the process began, as nohup(1) does it. */
bool system_ignores_hangup(void);
bool system_is_hangup(int signal);
/* The number of this process. */
int64_t system_pid(void);
bool system_is_terminal(int fd);
/* Columns of the terminal behind `fd`; 80 when it is none. */
unsigned system_columns(int fd);
/* Resident bytes now. */
uint64_t system_rss_bytes(void);
/* Processor time of the process so far, all threads together. */
int64_t system_cpu_ns(void);
/* The same of another process, of any user; 0 when it is gone. */
int64_t system_process_cpu_ns(int64_t pid);
/* A thread of this process, and its processor time so far. */
struct system_thread {
	int64_t id;                    /* the first one's is system_pid() */
	char name[16];
	int64_t cpu_ns;
};
/* At most `max`, the oldest first; how many that are. */
size_t system_threads(struct system_thread *, size_t max);
/*
 * The calling thread, and those that it makes from now on, do not take a
 * processor from others as they wake up (Linux's SCHED_BATCH): for a process
 * that keeps all of them busy, whose threads would interrupt one another.  One
 * that has another policy than the default keeps it.
 */
void system_give_way(void);
/* At most so many heaps: less memory, more waiting for one another. */
void system_malloc_arenas(int n);
/*
 * Give memory that was freed back to the system.  It may take some
 * milliseconds, in which other threads wait for memory.
 */
void system_malloc_trim(void);
/*
 * Keep memory that was freed, large blocks too, until system_malloc_trim(): for
 * a process whose every job needs as much again.
 */
void system_malloc_keep(void);
/* What files that this process makes for others lack of mode 0666. */
void system_set_umask(unsigned mode);
/*
 * No core file of this process, and no other process of the same user may look
 * into its memory (prctl(2), PR_SET_DUMPABLE).  A program that it executes
 * begins anew.
 */
void system_hide_memory(void);
/* The host's name, for warcinfo. */
void system_hostname(char *out, size_t size);

#endif
