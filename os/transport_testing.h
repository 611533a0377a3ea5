/*
 * transport_testing -- for tests: an exchange run to its end, and servers that
 * are a few lines of raw sockets in a thread.
 */
#ifndef OS_TRANSPORT_TESTING_H
#define OS_TRANSPORT_TESTING_H

#include <pthread.h>
#include <stdatomic.h>

#include "os/transport.h"

#define TEST_HEADERS_MAX 16

/* An exchange with the answer gathered. */
struct test_run {
	struct exchange x;
	struct transport *t;
	struct ip addresses[4];
	struct transport_header headers[TEST_HEADERS_MAX];
	char url[512], host[256], host_header[300];
	struct buf head, body, request;
	struct buf head_received;
	int status, connected_n, heads_n, done_n;
	size_t body_n, body_max;         /* body() says no beyond body_max */
	struct ip connected_to;
	enum transport_end end;
	char detail[400];
	bool refuse, stop_in_connected, stop_in_head, stop_in_body;
	bool refuse_head, discard;
	struct test_run *stop_other, *start_other;
};

/* A GET of http[s]://host:port/path from 127.0.0.1, limits of 5 s. */
void test_run_open(struct test_run *, struct transport *, bool tls,
    const char *host, uint16_t port, const char *path);
void test_run_header(struct test_run *, const char *name, const char *value);
void test_run_start(struct test_run *);
/* Turn the loop until all `n` runs are done. */
void test_runs_finish(struct loop *, struct test_run **, size_t n);
void test_run_whole(struct loop *, struct test_run *);
void test_run_free(struct test_run *);
/* Turn the loop for so long. */
void test_loop_for(struct loop *, int ms);

/*
 * Gives each connection to `serve`, in a thread of its own; closes it when that
 * returns.  `got` is for servers of one connection at a time.
 */
#define TEST_SERVED_MAX 64
struct test_server {
	int fd;
	uint16_t port;
	pthread_t thread;
	pthread_t served[TEST_SERVED_MAX];
	void (*serve)(struct test_server *, int fd);
	void *arg;
	char got[4 << 20];               /* what test_server_read took */
	size_t got_n;
	atomic_int accepted;
	atomic_int flag;                 /* the test's own */
};

/* `address` NULL: 127.0.0.1.  False when the address cannot be had. */
bool test_server_open(struct test_server *, const char *address,
    void (*serve)(struct test_server *, int fd));
/* Joins its threads: close the connections first, free the transport. */
void test_server_close(struct test_server *);
/* Read up to the end of a head, append it to `got`; false at the end. */
bool test_server_read(struct test_server *, int fd);
/* Read `n` more bytes. */
bool test_server_read_n(struct test_server *, int fd, size_t n);
void test_send(int fd, const char *text);
/* Waits until the peer has acknowledged all that was sent, or has closed. */
void test_wait_sent(int fd);
void test_send_n(int fd, const void *, size_t n);

#endif
