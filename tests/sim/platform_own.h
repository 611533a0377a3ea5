/*
 * platform_own -- what the files of the invented platforms share: an exchange
 * under way, and the items of streams.  Private to tests/sim/platform*.c.
 */
#ifndef TESTS_SIM_PLATFORM_OWN_H
#define TESTS_SIM_PLATFORM_OWN_H

#include "base/list.h"
#include "tests/sim/platform.h"

struct platform_transport {
	struct transport transport;
	struct transport *web;
	struct loop *loop;
	struct list calls;
};

enum stream_fate { STREAM_GOES_ON, STREAM_REFUSED, STREAM_RESET, STREAM_ENDS,
	STREAM_CUT, STREAM_SILENT, STREAM_FATES };

/* The state of a call that is a stream. */
struct streaming {
	enum stream_fate fate;
	unsigned lasts;              /* items until that */
	bool begun, closing, paused;
	struct wall from;            /* items before it are not told */
	unsigned next;               /* the next item's index */
	struct buf late;             /* the rest of what came in parts */
	struct mono beat_at;         /* it says that it lives */
	struct ws *ws;
};

/* One exchange under way. */
struct call {
	struct list node;
	struct platform_transport *transport;
	struct exchange *exchange;
	struct timer timer;
	struct buf request;
	unsigned host, times;
	struct streaming *stream;    /* or NULL */
};

uint64_t platform_dice(struct str what, unsigned which);
/* The number behind the first `name` in `s`; 0: there is none. */
uint64_t platform_number(struct str s, const char *name);
void platform_finish(struct call *, enum transport_end, const char *text);
void platform_say(struct call *, int status, struct str fields,
    struct str body);
/* "KEY":"http://p1/2/103" */
void platform_put_uri(const char *key, unsigned host, uint64_t list,
    uint64_t item, struct buf *);

/* platform_stream.c: whether the URL is a stream's; its answer, and what its
 * client sends. */
bool platform_is_stream_url(unsigned host, struct str url);
void platform_stream_start(struct call *);
bool platform_stream_send(struct call *, struct str bytes);
void platform_stream_pause(struct call *, bool paused);
void platform_stream_free(struct call *);
/* A page of the timeline beside a stream, the newest first. */
void platform_put_timeline(unsigned host, struct str url, struct buf *head,
    struct buf *body);
void platform_streams_begin(void);

#endif
