/*
 * delivery_testing -- a delivery, the time, and what it says, for tests.
 *
 * Functions fail the test that calls them.
 */
#ifndef ENGINE_EXTERNAL_DELIVERY_TESTING_H
#define ENGINE_EXTERNAL_DELIVERY_TESTING_H

#include "engine/external/delivery.h"

/* 2026-11-20T12:00:00Z */
#define RIG_WALL_US INT64_C(1795176000000000)

/* A delivery, the time, and what it was told and says. */
struct rig {
	struct delivery *d;
	struct delivery_settings set;
	struct delivery_time now;
	struct delivery_step step;
	uint64_t random;
	unsigned saves, events;
	struct buf names;            /* of events, a space after each */
	struct buf rejected;         /* "NUMBER REASON\n" */
};

/* Of `set`, the documents' and times' limits are the test's. */
void rig_open(struct rig *);
void rig_close(struct rig *);
void rig_pass_ms(struct rig *, int64_t ms);
/* Put `n` more documents of so many bytes. */
void rig_put(struct rig *, unsigned n, size_t bytes);
/* The next step but for saving, which succeeds. */
const struct delivery_step *rig_next(struct rig *);
void rig_reply(struct rig *, enum delivery_kind, unsigned status,
    const char *body);
/* To an upload, with Retry-After. */
void rig_reply_after(struct rig *, unsigned status, const char *retry_after);
void rig_expect_upload(struct rig *, const char *key, unsigned from,
    unsigned to);
void rig_expect_status(struct rig *, const char *key, const char *body);
/* It waits for exactly so long; that time passes. */
void rig_expect_wait_ms(struct rig *, int64_t ms);
void rig_expect_end(struct rig *, enum delivery_end);
/* The first status of each task, accepted. */
void rig_pass_first_status(struct rig *);
/*
 * Save, and go on in a new process, which puts the documents from the first
 * unanswered one on, up to number `documents`.
 */
void rig_crash(struct rig *, unsigned documents, size_t bytes);

/* A rig with these settings whose first status is over. */
#define RIG(name, ...)                                                       \
	struct rig name = { .set = { __VA_ARGS__ } };                        \
	rig_open(&name);                                                     \
	rig_pass_first_status(&name)

#endif
