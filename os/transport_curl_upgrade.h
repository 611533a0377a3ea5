/*
 * transport_curl_upgrade -- an exchange that becomes a WebSocket.
 *
 * libcurl 7.88 takes no 101.  So it connects only (CURLOPT_CONNECT_ONLY):
 * addresses, TLS, proxies and their limits are those of every exchange.  Then
 * request and answer go through curl_easy_send() and curl_easy_recv(), and the
 * answer's lines through the reader of all answers (transport_curl_answer.c).
 *
 *     libcurl connects -> request -> head -> 101: bytes in both directions
 *                                         -> other: a body, as usual
 *
 * Each has a multi handle of its own: in a shared one, libcurl takes a
 * connection that it only made for an idle one, and may close it.
 * Thread: the loop's.
 */
#ifndef OS_TRANSPORT_CURL_UPGRADE_H
#define OS_TRANSPORT_CURL_UPGRADE_H

#include "os/transport_curl_transfer.h"

struct transport_upgrade {
	struct transfer *tr;
	CURLM *multi;
	struct transport_sockets sockets;
	bool connected;                    /* libcurl has done its part */
	bool paused;
	struct buf out;                    /* from `sent` on: to be sent */
	size_t sent;
	struct buf line;                   /* of the head, not whole yet */
	bool status_line;                  /* was read */
	uint64_t body_bytes;
	struct timer again;                /* go on reading, or end */
};

/* For the transfer's handle, whose request is set. */
void transport_upgrade_begin(struct transfer *);
/* The transfer is over; frees nothing that libcurl may still be using. */
void transport_upgrade_end(struct transfer *);
void transport_upgrade_free(struct transport_upgrade **);
MUST_USE bool transport_upgrade_send(struct transfer *, struct str);
void transport_upgrade_pause(struct transfer *, bool);

#endif
