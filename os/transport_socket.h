/*
 * transport_socket -- libcurl's descriptors and its one timer, on the loop.
 *
 * A descriptor stays watched while its connection is kept between two requests,
 * so that a request on a kept connection costs no epoll_ctl: libcurl takes its
 * interest back at each end and declares it again at each start.  A kept
 * connection that becomes readable was closed by its server (or is out of
 * step); it is no longer watched then, and libcurl finds it dead when it wants
 * to use it.  One that was idle for idle_s_max is shut down here: libcurl would
 * look at its age at the next use only.
 *
 * libcurl must not be entered from its own callbacks; `depth` tells.
 * Thread: the loop's.
 */
#ifndef OS_TRANSPORT_SOCKET_H
#define OS_TRANSPORT_SOCKET_H

#include <curl/curl.h>

#include "os/transport.h"

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
/* From now on its closing is told, and it may be kept. */
void transport_socket_connected(struct transport_sockets *, int fd);
/* For CURLOPT_CLOSESOCKETFUNCTION. */
int transport_socket_closed(void *sockets, curl_socket_t fd);
/* Shut down what was idle for too long; true while anything is idle. */
bool transport_sockets_sweep(struct transport_sockets *, struct mono now);

#endif
