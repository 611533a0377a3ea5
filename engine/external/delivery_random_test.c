/*
 * Deliveries to a model of a back end that fails in every way of
 * contracts/external.md §4, by seed and in virtual time, with crashes at any
 * moment: each document is stored exactly once or reported as rejected, in
 * order, and each task ends.
 *
 * The model knows a call by its key and a document by its number, as §4 asks
 * of a back end.  The spool and the state live through a crash together, as of
 * the last commit.
 */
#include "engine/external/delivery.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "tests/rounds.h"

#define SEEDS 400u
#define DOCUMENTS_MAX 300u
#define KEYS_MAX 4000u
#define STEPS_MAX 60000u
#define CALLS_MAX 6000u

/* xorshift: the same numbers in every run. */
static uint64_t
draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static bool
one_in(uint64_t *state, unsigned n)
{
	return draw(state) % n == 0;
}

/* Counts over all seeds. */
static struct {
	unsigned crashes, parts, rejected, repeated, compressed;
	unsigned statuses_repeated, heartbeats;
} met;

/* One upload that the model saw: a key always has the same documents. */
struct known {
	char key[120];
	uint64_t from, to;
	bool accepted;
};

struct world {
	uint64_t random;
	struct delivery_settings set;
	struct delivery *d;
	struct delivery_time now;

	/* Documents; those below `emitted` are in the spool from `first` on. */
	size_t bytes[DOCUMENTS_MAX];
	bool bad[DOCUMENTS_MAX];     /* the model refuses it */
	unsigned documents, emitted;
	uint64_t first;              /* as committed */
	struct buf state;            /* as committed */
	bool rejected[DOCUMENTS_MAX];

	/* The model. */
	struct known *known;
	unsigned known_n, calls;
	unsigned stored[DOCUMENTS_MAX];
	uint64_t newest;             /* behind the newest stored document */
	bool refuses_gzip, counts;
	unsigned documents_max;      /* more are too large */
	unsigned faults;             /* one call in so many fails */
	unsigned reports;            /* of progress, each another one */
	bool is_quiet;               /* there are few of them */
	bool has_committed;          /* since the last status */
	struct status_seen {
		uint64_t number;     /* of its key */
		struct buf body;
	} *statuses;
	size_t statuses_n, statuses_cap;
	unsigned code;               /* that closed the task */
	char closing_key[40];

	/* Calls under way, by kind, and when they are answered. */
	struct call {
		bool open;
		struct mono ends;
		struct delivery_reply reply;
		char body[20000];
	} upload, status;
};

static void
begin_world(struct world *w, uint64_t seed)
{
	w->random = seed * 0x9e3779b97f4a7c15 + 1;
	w->now = (struct delivery_time){ { 0 }, { INT64_C(1795176000000000) } };
	w->known = mem_array(KEYS_MAX, sizeof(*w->known));
	w->documents = (unsigned)(draw(&w->random) % DOCUMENTS_MAX);
	bool any_bad = one_in(&w->random, 2);
	for (size_t i = 0; i < w->documents; i++) {
		w->bytes[i] = 2 + draw(&w->random) % 1200;
		w->bad[i] = any_bad && one_in(&w->random, 15);
	}
	w->set = (struct delivery_settings){ .fid = STR("t"),
		.batch_bytes = 1 + draw(&w->random) % 20000,
		.batch_documents = 1 + (uint32_t)(draw(&w->random) % 40),
		.silence_s = 3 + (int64_t)(draw(&w->random) % 300),
		.rejected_max = DOCUMENTS_MAX };
	w->refuses_gzip = one_in(&w->random, 3);
	w->counts = one_in(&w->random, 2);
	w->documents_max = one_in(&w->random, 3) ?
	    1 + (unsigned)(draw(&w->random) % 20) : DOCUMENTS_MAX;
	w->faults = 2 + (unsigned)(draw(&w->random) % 12);
	w->is_quiet = one_in(&w->random, 2);
	w->d = delivery_new(&w->set);
}

static void
end_world(struct world *w)
{
	delivery_free(&w->d);
	buf_free(&w->state);
	for (size_t i = 0; i < w->statuses_n; i++)
		buf_free(&w->statuses[i].body);
	mem_free(&w->statuses);
	mem_free(&w->known);
}

/* --- The model of a back end -------------------------------------------- */

static struct known *
find_known(struct world *w, const struct delivery_step *s)
{
	struct known *k = w->known;

	for (unsigned i = 0; i < w->known_n; i++, k++)
		if (str_eq(str_of(k->key), s->key)) {
			assert_int_equal(k->from, s->from);
			assert_int_equal(k->to, s->to);
			met.repeated++;
			return k;
		}
	assert_true(w->known_n++ < KEYS_MAX);
	assert_true(s->key.n < sizeof(k->key));
	memcpy(k->key, s->key.p, s->key.n);
	k->from = s->from;
	k->to = s->to;
	return k;
}

static void
store_documents(struct world *w, struct known *k)
{
	if (k->accepted)
		return;
	k->accepted = true;
	for (uint64_t i = k->from; i < k->to; i++) {
		if (w->bad[i] || w->stored[i] > 0)
			continue;
		w->stored[i]++;
		assert_true(i >= w->newest);
		w->newest = i + 1;
	}
}

static unsigned
count_bad(const struct world *w, const struct known *k)
{
	unsigned n = 0;

	for (uint64_t i = k->from; i < k->to; i++)
		n += w->bad[i];
	return n;
}

static unsigned
draw_fault(struct world *w)
{
	static const unsigned faults[] = { 0, 0, 408, 409, 425, 429, 500, 502,
		503, 401, 403, 302, 418 };

	return faults[draw(&w->random) % ARRAY_LEN(faults)];
}

/* The names of the lines in payload.errors. */
static void
name_errors(const struct world *w, const struct known *k, struct call *c)
{
	size_t n = (size_t)snprintf(c->body, sizeof(c->body),
	    "{\"success\":false,\"payload\":{\"errors\":[");

	for (uint64_t i = k->from; i < k->to; i++)
		if (w->bad[i])
			n += (size_t)snprintf(c->body + n, sizeof(c->body) - n,
			    "{\"line\":%u,\"error\":\"bad\"},",
			    (unsigned)(i - k->from + 1));
	snprintf(c->body + n - 1, sizeof(c->body) - n + 1, "]}}");
}

static unsigned
refuse_documents(struct world *w, struct known *k, struct call *c)
{
	switch (draw(&w->random) % 4) {
	case 0:
		return 400;
	case 1:
		return 406;
	case 2:
		snprintf(c->body, sizeof(c->body), "{\"success\":false}");
		return 200;
	default:
		name_errors(w, k, c);
		store_documents(w, k);
		return one_in(&w->random, 2) ? 422 : 200;
	}
}

static unsigned
answer_upload(struct world *w, const struct delivery_step *s, struct call *c)
{
	struct known *k = find_known(w, s);
	unsigned n = (unsigned)(s->to - s->from);

	met.compressed += s->gzip;
	met.parts += str_find_char(s->key, '.') < s->key.n;
	/* Documents are stored in order: none before an earlier one. */
	for (uint64_t i = 0; i < s->from; i++)
		assert_true(w->stored[i] == 1 || w->bad[i]);
	if (one_in(&w->random, w->faults))
		return draw_fault(w);
	if (s->gzip && w->refuses_gzip)
		return one_in(&w->random, 2) ? 400 : 415;
	if (n > w->documents_max)
		return 413;
	if (count_bad(w, k) > 0)
		return refuse_documents(w, k, c);
	store_documents(w, k);
	if (w->counts)
		snprintf(c->body, sizeof(c->body),
		    "{\"success\":true,\"payload\":{\"count\":%u}}", n);
	/* Accepted, but the reply is lost or hides it. */
	return one_in(&w->random, w->faults) ? draw_fault(w) : 200;
}

/* A status's key, "t:s7", always has the same body. */
static void
check_status_key(struct world *w, const struct delivery_step *s)
{
	uint64_t number;
	size_t i = 0;

	assert_true(str_starts(s->key, STR("t:s")) && str_to_u64(
	    str_from(s->key, 3), &number));
	while (i < w->statuses_n && w->statuses[i].number != number)
		i++;
	if (i < w->statuses_n) {
		assert_true(str_eq(buf_str(&w->statuses[i].body), s->body));
		met.statuses_repeated++;
	} else {
		w->statuses = mem_room(w->statuses, i, &w->statuses_cap, 64,
		    sizeof(*w->statuses));
		w->statuses[i] = (struct status_seen){ .number = number };
		buf_put_str(&w->statuses[i].body, s->body);
		w->statuses_n++;
		met.heartbeats += !w->has_committed;
	}
	w->has_committed = false;
}

static unsigned
answer_status(struct world *w, const struct delivery_step *s)
{
	bool closing = str_find(s->body, STR("\"code\":200")) < s->body.n;
	bool lost = one_in(&w->random, w->faults);

	check_status_key(w, s);
	/* Nothing follows the closing status but itself. */
	if (w->code != 0)
		assert_true(str_eq(s->key, str_of(w->closing_key)));
	if (lost && one_in(&w->random, 2))
		return draw_fault(w);
	if (closing) {
		w->code = 200;
		snprintf(w->closing_key, sizeof(w->closing_key), "%.*s",
		    STR_FMT(s->key));
		for (unsigned i = 0; i < w->documents; i++)
			assert_true(w->stored[i] == 1 || w->bad[i]);
	}
	return lost ? draw_fault(w) : closing || !one_in(&w->random, 9) ? 200 :
	    400;
}

/* --- The user of the delivery ------------------------------------------- */

static void
begin_call(struct world *w, const struct delivery_step *s)
{
	struct call *c = s->kind == DELIVERY_UPLOAD ? &w->upload : &w->status;

	assert_false(c->open);
	assert_true(++w->calls < CALLS_MAX);
	c->open = true;
	c->body[0] = '\0';
	unsigned status = s->kind == DELIVERY_UPLOAD ?
	    answer_upload(w, s, c) : answer_status(w, s);
	c->reply = (struct delivery_reply){ status, one_in(&w->random, 4) ?
		STR("2") : STR_NONE, str_of(c->body) };
	c->ends = mono_add_ms(w->now.mono, (int64_t)(draw(&w->random) % 3000));
}

static void
end_call(struct world *w, enum delivery_kind kind)
{
	struct call *c = kind == DELIVERY_UPLOAD ? &w->upload : &w->status;

	if (!c->open || mono_before(w->now.mono, c->ends))
		return;
	c->open = false;
	delivery_reply(w->d, kind, &c->reply, draw(&w->random), w->now);
}

static void
commit(struct world *w, const struct delivery_step *s)
{
	if (one_in(&w->random, 10)) {
		delivery_saved(w->d, false);
		return;
	}
	buf_clear(&w->state);
	delivery_save(w->d, &w->state);
	w->first = s->first;
	for (size_t i = 0; i < s->rejected_n; i++) {
		uint64_t n = s->rejected[i].number;
		/* It leaves the spool in this commit, and only once. */
		assert_true(n < s->first && w->bad[n] && !w->rejected[n]);
		w->rejected[n] = true;
		met.rejected++;
	}
	delivery_saved(w->d, true);
	w->has_committed = true;
}

static void
crash(struct world *w)
{
	struct why why = WHY_INIT;

	met.crashes++;
	delivery_free(&w->d);
	w->d = delivery_new(&w->set);
	if (w->state.n > 0)
		assert_int_equal(delivery_load(w->d, buf_str(&w->state), &why),
		    OK);
	w->upload.open = w->status.open = false;
	w->now.mono.ns = (int64_t)(draw(&w->random) % 1000000);
	assert_int_equal(delivery_wanted(w->d), w->first);
}

static void
feed(struct world *w)
{
	char progress[40];

	if (w->emitted < w->documents && one_in(&w->random, 3))
		w->emitted += 1 + (unsigned)(draw(&w->random) %
		    MIN(w->documents - w->emitted, 12u));
	while (delivery_room(w->d) > 0 && delivery_wanted(w->d) < w->emitted) {
		uint64_t n = delivery_wanted(w->d);
		delivery_put(w->d, n, w->bytes[n], w->now.mono);
	}
	if (one_in(&w->random, w->is_quiet ? 100 : 3)) {
		snprintf(progress, sizeof(progress), "progress %u",
		    w->reports++);
		delivery_report(w->d, str_of(progress));
	}
	if (w->emitted == w->documents)
		delivery_close(w->d, w->documents, 200, STR("Done"),
		    STR_NONE);
}

/* To the moment at which something happens, or a little less far. */
static void
pass_time(struct world *w, struct mono wake)
{
	if (w->upload.open && mono_before(w->upload.ends, wake))
		wake = w->upload.ends;
	if (w->status.open && mono_before(w->status.ends, wake))
		wake = w->status.ends;
	if (w->emitted < w->documents && (wake.ns == INT64_MAX ||
	    one_in(&w->random, 3)))
		wake = mono_add_ms(w->now.mono,
		    (int64_t)(draw(&w->random) % 800));
	assert_true(wake.ns != INT64_MAX);
	int64_t ns = MAX(wake.ns - w->now.mono.ns, 0);
	w->now.mono.ns += ns;
	w->now.wall.us += ns / 1000;
}

static bool
run_step(struct world *w)
{
	struct delivery_step s;

	feed(w);
	end_call(w, DELIVERY_UPLOAD);
	end_call(w, DELIVERY_STATUS);
	if (one_in(&w->random, 40))
		crash(w);
	delivery_next(w->d, w->now, &s);
	switch (s.kind) {
	case DELIVERY_SAVE:
		commit(w, &s);
		break;
	case DELIVERY_UPLOAD:
	case DELIVERY_STATUS:
		begin_call(w, &s);
		break;
	case DELIVERY_WAIT:
		pass_time(w, s.wake);
		break;
	case DELIVERY_ENDED:
		assert_int_equal(s.end, DELIVERY_DONE);
		return false;
	}
	return true;
}

static void
run_seed(uint64_t seed)
{
	struct world *w = mem_new(sizeof(*w));
	unsigned steps = 0;

	begin_world(w, seed);
	while (run_step(w))
		assert_true(++steps < STEPS_MAX);
	assert_int_equal(w->code, 200);
	for (unsigned i = 0; i < w->documents; i++) {
		assert_int_equal(w->stored[i], w->bad[i] ? 0 : 1);
		assert_int_equal(w->rejected[i], w->bad[i]);
	}
	end_world(w);
	mem_free(&w);
}

static unsigned latest_seed;

static void
each_document_arrives_once(void **state)
{
	(void)state;
	for (latest_seed = 1; latest_seed <= ROUNDS(SEEDS); latest_seed++)
		run_seed(latest_seed);
	/* The seeds have shown each case at least once. */
	assert_true(met.crashes > ROUNDS(SEEDS));
	assert_true(met.parts > ROUNDS(SEEDS));
	assert_true(met.rejected > ROUNDS(SEEDS));
	assert_true(met.repeated > ROUNDS(SEEDS));
	assert_true(met.compressed > ROUNDS(SEEDS));
	assert_true(met.statuses_repeated > ROUNDS(SEEDS));
	assert_true(met.heartbeats > ROUNDS(SEEDS));
}

static int
print_seed(void **state)
{
	(void)state;
	print_message("the latest seed is %u\n", latest_seed);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(each_document_arrives_once,
		    print_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
