/*
 * Any replies of a back end, and any saved state.  The input has
 * "STATUS RETRY-AFTER;BODY" for each reply, with NUL between them; what is
 * before the first NUL is loaded as a state too.
 */
#include "engine/external/delivery.h"

#define DOCUMENTS 9u
/* Then all replies are 200, and the task ends within so many steps. */
#define REPLIES_MAX 100u
#define STEPS_MAX 2000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct delivery *
open_delivery(void)
{
	struct delivery_settings set = { .fid = STR("t1"), .backend = STR("b"),
		.batch_documents = 4, .rejected_max = 5,
		.silence_s = 30 * 86400 };

	return delivery_new(&set);
}

static void
load_any(struct str text)
{
	FREED(buf_free) struct buf one = BUF_INIT, two = BUF_INIT;
	struct delivery *d = open_delivery(), *again = open_delivery();
	struct why w = WHY_INIT;

	if (delivery_load(d, text, &w) == OK) {
		delivery_save(d, &one);
		CHECK(delivery_load(again, buf_str(&one), &w) == OK);
		delivery_save(again, &two);
		CHECK(str_eq(buf_str(&one), buf_str(&two)));
	}
	delivery_free(&d);
	delivery_free(&again);
}

static struct delivery_reply
take_reply(struct str *rest)
{
	struct delivery_reply r = { .status = 200 };
	struct str line, status = STR_NONE;
	uint64_t code = 0;

	if (!str_split(rest, '\0', &line))
		return r;
	str_split(&line, ' ', &status);
	str_split(&line, ';', &r.retry_after);
	if (str_to_u64(status, &code) && code < 1000)
		r.status = (unsigned)code;
	r.body = line;
	return r;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str rest = { (const char *)data, n };
	struct delivery_time now = { { 0 }, { INT64_C(1795176000000000) } };
	struct delivery *d = open_delivery();
	struct delivery_step s;
	unsigned replies = 0;

	load_any(str_cut(rest, 0, str_find_char(rest, '\0')));
	delivery_close(d, DOCUMENTS, 200, STR("Done"), STR_NONE);
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		while (delivery_room(d) > 0 && delivery_wanted(d) < DOCUMENTS)
			delivery_put(d, delivery_wanted(d), 2000, now.mono);
		delivery_next(d, now, &s);
		if (s.kind == DELIVERY_ENDED)
			break;
		if (s.kind == DELIVERY_SAVE) {
			delivery_saved(d, true);
		} else if (s.kind == DELIVERY_WAIT) {
			CHECK(s.wake.ns > now.mono.ns &&
			    s.wake.ns != INT64_MAX);
			now.wall.us += (s.wake.ns - now.mono.ns) / 1000;
			now.mono = s.wake;
		} else {
			if (replies++ == REPLIES_MAX)
				rest = STR_NONE;
			struct delivery_reply r = take_reply(&rest);
			delivery_reply(d, s.kind, &r, i, now);
		}
	}
	CHECK(s.kind == DELIVERY_ENDED);
	delivery_free(&d);
	return 0;
}
