/*
 * web_testing -- for tests: a port with a few doors, an engine on a loop of its
 * own that answers kept requests, and a client of raw sockets.
 */
#ifndef OS_WEB_TESTING_H
#define OS_WEB_TESTING_H

#include "os/web_parts.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/clock.h"

#define HOST "Host: localhost\r\n"
#define BIG_BYTES (8u << 20)       /* what GET /big gives: a, b, ... z, a */

/*
 * GET /hello, /param?v=, /big, /none (204), /broken (404), /kept/MS (answered
 * by the engine after so long); POST /echo, /kept/MS.  The first is row 0.
 */
#define PORT_ROUTES_N 8
extern const struct web_route port_routes[PORT_ROUTES_N];
extern struct web *port;
extern struct loop *port_engine;
extern atomic_int port_kept;       /* requests that came to the engine */

void port_open(const struct web_options *);
void port_close(void);
/* With small limits: 50 connections, bodies of 100,000 bytes. */
int port_setup(void **state);
int port_teardown(void **state);

/* A connection to the port; reading from it fails after 10 s. */
int dial(void);
void say(int fd, const char *, size_t n);
void say_text(int fd, const char *);

struct answer {
	struct buf in;               /* what was read and not yet used */
	char head[4096];
	int status;                  /* 0: closed without one */
	struct buf body;
};
/* The value of "name: " in the head. */
bool field(const struct answer *, const char *name, char *out,
    size_t n);
/* One answer; `in` keeps what came behind it. */
void hear(int fd, struct answer *, bool to_head);
/* All that comes until it is closed, or nothing came for a while. */
void hear_all(int fd, struct buf *all);
void answer_free(struct answer *);
bool is_closed(int fd);
/* Say it on a connection of its own and hear one answer. */
void ask(const char *text, struct answer *);
/*
 * The same, and insist on status and on a body that holds `body` (NULL: any);
 * errors must be JSON.
 */
void expect(const char *text, int status, const char *body);

#endif
