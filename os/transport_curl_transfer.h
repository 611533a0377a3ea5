/*
 * transport_curl_transfer -- one exchange in the hands of libcurl; internal to
 * the transport_curl_*.c files.
 *
 *     WAITING -> (RESOLVING the proxy's name) -> CONNECTING -> ANSWER -> BODY
 *
 * A transfer owns an easy handle and is used again for other exchanges.  While
 * `x` is NULL nobody waits for it: whatever libcurl still calls is refused.
 * Thread: the loop's.
 */
#ifndef OS_TRANSPORT_CURL_TRANSFER_H
#define OS_TRANSPORT_CURL_TRANSFER_H

#include <curl/curl.h>

#include "os/resolve.h"
#include "os/transport_chunk.h"
#include "os/transport_proxy.h"
#include "os/transport_curl_request.h"
#include "os/transport_curl_socket.h"

#define TRANSPORT_HEAD_BYTES_MAX 262144   /* where the caller sets none */

enum transfer_phase {
	PHASE_WAITING,      /* to be handed to libcurl, or to be failed */
	PHASE_RESOLVING,    /* the proxy's name */
	PHASE_CONNECTING,   /* libcurl has it; the socket, TLS, the proxy */
	PHASE_ANSWER,       /* connected: the request goes, the head comes */
	PHASE_BODY,         /* head() was called */
};

struct curl_transport {
	struct transport base;
	struct loop *loop;
	struct transport_options options;
	char *ca_file;
	CURLM *multi;
	CURLSH *share;                     /* TLS sessions */
	struct transport_sockets sockets;
	struct resolver *resolver;         /* proxies' names; made if needed */
	struct list active;                /* struct transfer, x is not NULL */
	struct list dying;                 /* stopped while inside libcurl */
	struct list spare;
	size_t spare_n;
	struct list retired;               /* upgrades that are over */
	struct timer tick;                 /* each second: speed, idle */
	bool launches_wait;                /* some in `active` are WAITING */
};

struct transfer {
	struct list node;
	struct curl_transport *t;
	CURL *easy;
	struct exchange *x;                /* NULL: over for the caller */
	enum transfer_phase phase;
	bool in_multi;
	bool opened;                       /* `fd`, since the last request */
	int fd;
	bool chunked;
	bool coded;                        /* Transfer-Encoding was there */
	bool other_coding;                 /* one that is not "chunked" */
	bool in_framing;                   /* the last line was one of these */
	bool retry_fresh;                  /* the kept connection is unclean */
	bool has_end;                      /* `end` was decided here */
	enum transport_end end;
	size_t address_at;                 /* the one that is tried */
	struct ip asked;                   /* what connected() was last asked */
	bool head_begun;
	bool has_length;
	uint64_t length;                   /* Content-Length */
	int status;
	size_t head_bytes;                 /* all heads and trailers */
	size_t body_sent;
	struct transport_chunk chunk;
	struct mono started, connected, first_byte;
	struct mono connect_deadline, total_deadline;
	struct timer deadline;
	int64_t moved, moved_before;       /* bytes, for the speed */
	int64_t slow_s;
	struct buf head;
	struct transport_request request;
	bool secret;                       /* it is */
	struct transport_proxy proxy;
	struct resolve_query query;
	struct curl_slist connect_to;
	struct transport_upgrade *upgrade; /* NULL: HTTP alone */
	char connect_to_text[64];
	char error[CURL_ERROR_SIZE];       /* libcurl's words */
	char reason[CURL_ERROR_SIZE];      /* ours, with has_end */
	/* What the handle is set to, so that only changes are set. */
	bool is_post, is_head, is_custom, is_http2, is_unverified, is_proxied;
	bool is_reuse_forbidden, is_fresh;
};

static inline bool
transfer_is_direct(const struct transfer *tr)
{
	return tr->proxy.kind == TRANSPORT_PROXY_NONE;
}

/* End with what was found here, whatever libcurl makes of it. */
void transfer_decide(struct transfer *, enum transport_end, const char *text);
/* The connection of this transfer is not kept. */
void transfer_forbid_reuse(struct transfer *);
/* The next try is made on a new connection, or no longer. */
void transfer_set_fresh(struct transfer *, bool);
/*
 * A try begins: set the deadline for this address, half of the time that is
 * left while there is another address, else all of it.
 */
void transfer_begin_connecting(struct transfer *, struct mono now);
/* Set the timer to what limits this phase. */
void transfer_set_deadline(struct transfer *);
struct mono transfer_deadline(struct mono from, int64_t ms);

/* transport_curl.c: tell the caller that it is over; libcurl's result. */
void transfer_finish(struct transfer *, enum transport_end, const char *text);
void transfer_ended(struct transfer *, CURLcode);
/* The descriptors of its multi handle. */
struct transport_sockets *transfer_sockets(struct transfer *);

/* transport_curl_answer.c: what libcurl calls, and of an upgrade the lines and
 * the body of the answer.  False: it is over, or `end` was decided. */
void transport_answer_set_up(struct transfer *);
bool transport_answer_line(struct transfer *, struct str line);
bool transport_answer_body(struct transfer *, struct str bytes);

/* transport_curl_handle.c: the options of the easy handle. */
struct transfer *transport_handle_new(struct curl_transport *);
void transport_handle_free(struct transfer **);
void transport_handle_set_request(struct transfer *);
/* `ip` is the proxy's address; NULL without one. */
void transport_handle_set_proxy(struct transfer *, const struct ip *ip);

/* transport_curl_end.c: libcurl's results in the contract's words. */
enum transport_end transport_end_of(const struct transfer *, CURLcode);
/* A limit of libcurl's own: the head is too large for it. */
bool transport_end_is_too_large(const struct transfer *, CURLcode);
const char *transport_end_detail(struct transfer *, enum transport_end,
    CURLcode);

#endif
