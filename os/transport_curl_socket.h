/*
 * transport_curl_socket -- libcurl's descriptors and its one timer, on the
 * loop.
 *
 * A descriptor stays watched while its connection is kept between two requests,
 * so that a request on a kept connection costs no epoll_ctl: libcurl takes its
 * interest back at each end and declares it again at each start.  A kept
 * connection that becomes readable was closed by its server (or is out of
 * step); it is no longer watched then, and libcurl finds it dead when it wants
 * to use it.  One that was idle for idle_s_max is shut down here: libcurl would
 * look at its age at the next use only.
 *
 * A plain connection counts the bytes that belonged to answers.  The kernel
 * counts those that arrived; where the two differ, bytes belong to no answer,
 * and the connection is out of step: transport_socket_is_clean().
 *
 * libcurl must not be entered from its own callbacks; `depth` tells.
 * Thread: the loop's.
 */
#ifndef OS_TRANSPORT_CURL_SOCKET_H
#define OS_TRANSPORT_CURL_SOCKET_H

#include <curl/curl.h>

#include "base/map.h"
#include "os/transport.h"

/* Both ends of a connection, as libcurl reports them; no padding. */
struct transport_socket_ends {
	struct ip local, peer;
	uint16_t local_port, peer_port;
};

struct transport_socket;
struct transport_sockets {
	struct loop *loop;
	CURLM *multi;
	int depth;                       /* calls of libcurl that we are in */
	int64_t idle_ns_max;
	/* Called after libcurl was given an event, with depth 0. */
	void (*acted)(struct transport_sockets *);
	struct transport_socket **by_fd;
	size_t by_fd_n;
	struct map by_ends;              /* those that are connected */
	struct list idle;                /* oldest first */
	struct list spare;               /* never freed while the loop runs */
	struct timer timer;              /* what libcurl asked for */
	bool in_timer;
};

void transport_sockets_open(struct transport_sockets *, struct loop *, CURLM *,
    int64_t idle_ns_max, void (*acted)(struct transport_sockets *));
/* After curl_multi_cleanup(). */
void transport_sockets_close(struct transport_sockets *);
/* A new descriptor for `family`, or -1. */
int transport_socket_new(struct transport_sockets *, int family);
/*
 * From now on its closing is told, and it may be kept.  With `spoken` a proxy
 * has answered on it: what arrived so far belongs to that.
 */
void transport_socket_connected(struct transport_sockets *, int fd,
    const struct transport_socket_ends *, bool spoken);
/* The descriptor of a kept connection, or -1. */
int transport_socket_find(const struct transport_sockets *,
    const struct transport_socket_ends *);
/* Count bytes that belong to an answer: heads, framing, body. */
void transport_socket_answered(struct transport_sockets *, int fd, uint64_t n);
/*
 * True when every byte that arrived on the plain connection belonged to an
 * answer, so that the next byte is the next answer's.
 */
bool transport_socket_is_clean(const struct transport_sockets *, int fd);
/*
 * libcurl has connected it and leaves the rest to the caller, who is told what
 * it is ready for; then watch for LOOP_READ, LOOP_WRITE, or 0.
 */
void transport_socket_serve(struct transport_sockets *, int fd,
    void (*served)(struct transport_sockets *, unsigned events));
void transport_socket_watch(struct transport_sockets *, int fd,
    unsigned events);
/* For CURLOPT_CLOSESOCKETFUNCTION. */
int transport_socket_closed(void *sockets, curl_socket_t fd);
/* Shut down what was idle for too long; true while anything is idle. */
bool transport_sockets_sweep(struct transport_sockets *, struct mono now);

#endif
