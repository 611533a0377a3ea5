/*
 * store_external_testing -- a store for a test of tasks of the external door,
 * and verbs that must succeed.
 */
#ifndef ENGINE_STORE_STORE_EXTERNAL_TESTING_H
#define ENGINE_STORE_STORE_EXTERNAL_TESTING_H

#include "engine/store/store_external.h"

#define OPEN_MAX 3u

extern char dir[64];
extern struct store *store;
extern struct arena arena;           /* of what is read; freed with the store */
extern const struct wall t0;         /* 2026-11-20 */

/* Fixtures of cmocka. */
int open_test_store(void **state);
int close_test_store(void **state);

void expect_ok(enum err e, struct why *w);
/* The error, and the field that it names, which is then forgotten. */
void expect_refused(enum err got, enum err wanted, const char *field,
    struct why *w);
struct wall at_second(int n);
void assert_text(struct str s, const char *text);
struct str x_text(size_t n);

struct store_task sample_task(const char *backend, const char *fid);
/* A new task. */
struct store_task put_task(const char *backend, const char *fid);
struct store_task get_task(uint64_t id);
/* By its owner. */
void close_task(uint64_t id, enum store_task_state s, bool drop, bool keep,
    struct wall now);

void emit_documents(uint64_t id, uint64_t first,
    const struct store_document *d, size_t n, const char *cursor);
/* The numbers of the range, `n` of them refused. */
void ack_documents(uint64_t id, uint64_t first, uint64_t last,
    const struct store_document *d, size_t n);
size_t read_spool(uint64_t id, uint64_t from, size_t most, size_t bytes,
    struct store_document **d);
size_t list_rejected(uint64_t id, struct store_document **d);
struct store_spool_totals read_totals(void);

#endif
