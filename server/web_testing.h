/*
 * web_testing -- for tests: a port with a few doors on a loop of its own
 * thread, and a client of raw sockets.
 */
#ifndef SERVER_WEB_TESTING_H
#define SERVER_WEB_TESTING_H

#include "server/web_own.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/clock.h"

#define HOST "Host: localhost\r\n"
#define BIG_BYTES (8u << 20)       /* what GET /big gives: a, b, ... z, a */

/*
 * GET /hello, /param?v=, /big, /none (204), /broken (404), /kept/MS (answered
 * so much later), /pull?n=BYTES[&known=1][&lie=BYTES], /text, /file/NAME,
 * /closed (of the console's door); POST /echo, /kept/MS.  /hello is row 0.
 * POST /abort, /abort/kept: web_abort(), at once or after 50 ms.
 * GET /ids/add and /ids/NAME are rows whose segments are names (`ids`).
 * GET /pages and DELETE /pages (of the console's door) admit the pages of
 * https://a.org, or with ?of=b of https://b.org and null.
 *
 * POST /upload reads its body as it arrives and answers with how many of its
 * bytes were letters as GET /big has them, then those that were not: "5 0".
 * ?hold=MS: it waits so long after each piece; ?enough=N: it answers 422 once
 * N bytes have come; ?full: it answers 507 before any has.
 */
#define UPLOAD_BYTES_MAX (32 << 20)
#define PORT_ROUTES_N 26
extern const struct web_route port_routes[PORT_ROUTES_N];
extern struct web *port;
extern struct loop *port_loop;
extern char port_folder[];         /* of /file/; made by port_setup() */
extern atomic_int port_kept;       /* requests that were kept */
extern atomic_int port_pulls;      /* bodies begun and not ended */
/* Uploads begun and not ended; those that were cut; the bytes of them all. */
extern atomic_int port_uploads, port_cut, port_read;
/*
 * The WebSocket: "close" closes with 4000, "big N" sends N bytes in pieces as
 * there is room, "hold MS" holds for so long, else the message comes back.
 */
extern atomic_int port_opened, port_closed, port_code;

/* NULL: small limits: 50 connections, bodies of 100,000 bytes. */
void port_open(const struct web_options *);
void port_close(void);
extern void (*port_closing)(void);   /* after web_close(), before loop_free() */
int port_setup(void **state);
int port_teardown(void **state);
/* On the loop: run it, and wait until it has run. */
void port_do(void (*run)(void));
struct web_counts port_counts(void);

/* A connection to the port; reading from it fails after 10 s. */
int dial(void);
void say(int fd, const char *, size_t n);
void say_text(int fd, const char *);

struct answer {
	struct buf in;               /* what was read and not yet used */
	char head[4096];
	int status;                  /* 0: closed without one */
	struct buf body;             /* chunks undone */
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

/* Begin POST /upload with that query, and a body of `n` bytes; SIZE_MAX: in
 * chunks.  Say letters of it, from `at` on, as they are or as a chunk. */
void say_upload(int fd, const char *query, size_t n);
void say_letters(int fd, size_t at, size_t n, bool chunk);

/* -- WebSockets, by frames -- */

#define UPGRADE "Connection: Upgrade\r\nUpgrade: websocket\r\n" \
	"Sec-WebSocket-Version: 13\r\n" \
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
int dial_socket(struct answer *);
/* A masked frame: `first` is fin, reserved bits and opcode. */
void say_frame(int fd, int first, const char *, size_t n);
/* A frame's first byte, its payload in a->body; -1: closed. */
int hear_frame(int fd, struct answer *);
/* Read up to a close frame: its code; 1005: none; -1: closed without. */
int hear_close(int fd, struct answer *);

#endif
