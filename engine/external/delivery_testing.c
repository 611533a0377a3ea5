#include "engine/external/delivery_testing.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
note_event(void *arg, enum delivery_level level, const char *name,
    struct str text)
{
	struct rig *r = arg;

	(void)level;
	r->events++;
	buf_printf(&r->names, "%s[%.*s] ", name, STR_FMT(text));
}

void
rig_open(struct rig *r)
{
	r->set.fid = STR("t1f");
	r->set.backend = STR("acme");
	r->set.event = note_event;
	r->set.arg = r;
	r->now = (struct delivery_time){ { 1000 * NS_PER_S }, { RIG_WALL_US } };
	r->d = delivery_new(&r->set);
}

void
rig_close(struct rig *r)
{
	delivery_free(&r->d);
	buf_free(&r->names);
	buf_free(&r->rejected);
}

void
rig_pass_ms(struct rig *r, int64_t ms)
{
	r->now.mono = mono_add_ms(r->now.mono, ms);
	r->now.wall.us += ms * 1000;
}

void
rig_put(struct rig *r, unsigned n, size_t bytes)
{
	for (; n > 0; n--)
		delivery_put(r->d, delivery_wanted(r->d), bytes, r->now.mono);
}

const struct delivery_step *
rig_next(struct rig *r)
{
	delivery_next(r->d, r->now, &r->step);
	while (r->step.kind == DELIVERY_SAVE) {
		r->saves++;
		for (size_t i = 0; i < r->step.rejected_n; i++)
			buf_printf(&r->rejected, "%u %.*s\n",
			    (unsigned)r->step.rejected[i].number,
			    STR_FMT(r->step.rejected[i].reason));
		delivery_saved(r->d, true);
		delivery_next(r->d, r->now, &r->step);
	}
	return &r->step;
}

void
rig_reply(struct rig *r, enum delivery_kind kind, unsigned status,
    const char *body)
{
	struct delivery_reply answer = { status, STR_NONE, str_of(body) };

	delivery_reply(r->d, kind, &answer, r->random, r->now);
}

void
rig_reply_after(struct rig *r, unsigned status, const char *retry_after)
{
	struct delivery_reply answer = { status, str_of(retry_after),
		STR_NONE };

	delivery_reply(r->d, DELIVERY_UPLOAD, &answer, r->random, r->now);
}

void
rig_expect_upload(struct rig *r, const char *key, unsigned from, unsigned to)
{
	const struct delivery_step *s = rig_next(r);

	assert_int_equal(s->kind, DELIVERY_UPLOAD);
	assert_int_equal(s->key.n, strlen(key));
	assert_memory_equal(s->key.p, key, s->key.n);
	assert_int_equal(s->from, from);
	assert_int_equal(s->to, to);
}

void
rig_expect_status(struct rig *r, const char *key, const char *body)
{
	const struct delivery_step *s = rig_next(r);

	assert_int_equal(s->kind, DELIVERY_STATUS);
	assert_int_equal(s->key.n, strlen(key));
	assert_memory_equal(s->key.p, key, s->key.n);
	assert_int_equal(s->body.n, strlen(body));
	assert_memory_equal(s->body.p, body, s->body.n);
}

void
rig_expect_wait_ms(struct rig *r, int64_t ms)
{
	const struct delivery_step *s = rig_next(r);

	assert_int_equal(s->kind, DELIVERY_WAIT);
	assert_int_equal(s->wake.ns - r->now.mono.ns, ms * NS_PER_MS);
	rig_pass_ms(r, ms);
}

void
rig_expect_end(struct rig *r, enum delivery_end end)
{
	const struct delivery_step *s = rig_next(r);

	assert_int_equal(s->kind, DELIVERY_ENDED);
	assert_int_equal(s->end, end);
}

void
rig_pass_first_status(struct rig *r)
{
	rig_expect_status(r, "t1f:s0",
	    "{\"code\":102,\"message\":\"Running\",\"detail\":null}");
	rig_reply(r, DELIVERY_STATUS, 200, "");
}

void
rig_crash(struct rig *r, unsigned documents, size_t bytes)
{
	FREED(buf_free) struct buf state = BUF_INIT;
	struct why w = WHY_INIT;

	delivery_save(r->d, &state);
	assert_true(state.n < DELIVERY_STATE_BYTES_MAX);
	delivery_free(&r->d);
	r->d = delivery_new(&r->set);
	/* The clock that never jumps begins anew. */
	r->now.mono = (struct mono){ 5 };
	assert_int_equal(delivery_load(r->d, buf_str(&state), &w), OK);
	while (delivery_wanted(r->d) < documents)
		delivery_put(r->d, delivery_wanted(r->d), bytes, r->now.mono);
}
