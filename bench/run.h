/* run -- how the programs here that hold many sockets begin and end. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include <signal.h>
#include <time.h>

/* Set by SIGTERM and SIGINT, and when the run's time is over. */
extern volatile sig_atomic_t run_ended;

/* As many open files as are allowed; returns an epoll. */
int run_begin(const char *program, unsigned seconds);
/* Say what failed, and errno's text; exit with 70. */
_Noreturn void run_fail(const char *what);
int64_t run_us(clockid_t);

#endif
