/*
 * call_page -- what a page asks when it is a call's.  Private to the fetcher.
 *
 * Thread: the loop's.
 */
#ifndef ENGINE_FETCHER_CALL_PAGE_H
#define ENGINE_FETCHER_CALL_PAGE_H

#include "engine/fetcher/call.h"
#include "engine/fetcher/page.h"

/* It was stopped, and gives up at its next step. */
bool call_page_stopped(const struct page *);
/* The method of the current hop: a redirect may have made it GET. */
struct str call_page_method(const struct page *);
struct str call_page_body(const struct page *);
/* The host may have a private address. */
bool call_page_may_be_private(const struct page *, const struct url *);
/* It may be tried once more, at `at`. */
bool call_page_tries_left(const struct page *);
bool call_page_in_time(const struct page *, struct mono at);
/* True: its first turn is too far, and the call has failed by that. */
bool call_page_is_far(struct page *, struct host *);
/* It waits for its host's turn, or no longer; nothing to tell of others. */
void call_page_waits(struct page *, bool waits);
/* Answer the call from the archived capture.  Returns the successor. */
enum page_step call_page_stored(struct page *);
/* The answer may serve later calls (call_newest.c). */
void call_newest_note(struct page *);

/* --- a stream (call_stream.c); all but for calls of that kind do nothing */
/* The request is about to go out. */
void call_stream_starts(struct page *);
/* The head is there; sets page.decoder or page.frames when the answer is a
 * stream.  False: it is no answer to the call. */
bool call_stream_head(struct page *);
/* False: it is to be ended. */
bool call_stream_body(struct page *, struct str bytes);
/* What an earlier process received, in place of a request. */
void call_stream_restore(struct page *);
/* The exchange is over. */
void call_stream_ends(struct page *);

/* The page's answer is one, and has not ended. */
bool call_stream_is_on(const struct page *);
/* It is to end within so long. */
void call_stream_ends_in(struct page *, int64_t ms);
/* Decoded bytes on their way home; or whole messages. */
struct piece {
	struct mail mail;
	struct call *call;
	struct buf bytes;
	struct buf raw;              /* for received() */
};
/* The piece is taken.  False: nobody takes more. */
bool call_stream_send(struct page *, struct piece *);

/* --- a WebSocket (call_frames.c) */
/* The request's fields for the handshake; returns how many. */
#define CALL_FRAMES_HEADERS 5u
size_t call_frames_headers(struct page *, struct transport_header *);
/* Its head came with status 101.  False: it is no WebSocket's. */
bool call_frames_begin(struct page *);
bool call_frames_body(struct page *, struct str bytes);
/* Say that we close it; it ends soon. */
void call_frames_close(struct page *);
void call_frames_end(struct page *);
/* Received messages that its owner has, in place of a request. */
void call_frames_restore(struct page *);
/* They become a resource record. */
bool call_frames_archive(struct page *, struct why *);
/* Messages that were sent, beside the handshake. */
bool call_frames_archive_sent(struct page *, struct why *);

/* Status, head and URL of the last hop, for its owner. */
void call_page_tell_head(struct page *);
/* It is durable, and its owner hears. */
void call_page_report(struct page *);
/* The page ends without an answer. */
void call_page_fail(struct page *, enum call_end, uint8_t reason,
    struct str text);

#endif
