/*
 * progress -- one line on standard error that says what a crawl is doing, and
 * why it is still.
 *
 * On a terminal the line is drawn over itself, five times a second; in a pipe
 * it is printed every 30 seconds; quiet: never.  It is plain ASCII and no wider
 * than the terminal.
 *
 * Thread: the main one.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "engine/control/control.h"

#define PROGRESS_LOOK_MS 200
#define PROGRESS_PIPE_MS 30000
#define PROGRESS_SAMPLES 26          /* five seconds of looks */

enum progress_mode { PROGRESS_QUIET, PROGRESS_PIPE, PROGRESS_TERMINAL };

struct progress {
	enum progress_mode mode;
	struct {
		struct mono at;
		uint64_t items;
	} samples[PROGRESS_SAMPLES];
	size_t samples_n;
	size_t width;                /* of the line that stands there */
	struct mono printed;         /* PIPE: the last line */
};

void progress_open(struct progress *, bool quiet);
/* Draw it, or not yet.  `stopping`: the crawl is about to end. */
void progress_show(struct progress *, const struct crawl_view *,
    const struct engine_look *, bool stopping);
/* The line as text: PROGRESS_LOOK_MS after the last one, or not yet. */
void progress_text(struct progress *, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Take the line away, so that other text can stand there. */
void progress_clear(struct progress *);
/* A line of text between two drawings, "argiope: " before it. */
void progress_say(struct progress *, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The line itself, cut to `columns`; for tests. */
void progress_line(const struct progress *, const struct crawl_view *,
    const struct engine_look *, bool stopping, size_t columns, struct buf *);

#endif
