/*
 * Fresh captures.  Their bodies are made unlike the stored ones, so that it
 * shows where an item is from.
 */
#include "engine/stream/handoff_cache.h"
#include "engine/stream/stream_testing.h"

#define HEAD STR("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")

/* "7 body", "7 big", "7": heads alone. */
static void
render(const struct stream_capture *c, struct buf *out)
{
	assert_true(c->has_record && c->record->has_http);
	assert_false(c->body_damaged);
	buf_printf(out, "%llu", (unsigned long long)c->entry->seq);
	if (c->big) {
		buf_put_text(out, " big");
	} else if (c->form & STREAM_BODY) {
		buf_put_char(out, ' ');
		buf_put_str(out, c->body);
	}
}

static struct rig rig;
static struct list came;

static struct rig *
open_rig(void)
{
	stream_rig_init(&rig, render, 0);
	rig_open(&rig);
	list_init(&came);
	return &rig;
}

static void
page(struct rig *r)
{
	rig_page(r, &(struct rig_page){ .url = "http://a.example/",
	    .body = STR("stored") });
}

/* A reader who has all of it. */
static void
follow(struct rig *r, unsigned form)
{
	page(r);
	rig_show(r);
	rig_text(r, r->seq, form);
}

/* Of a page that may be put later; `content` is `decoded` octets long. */
static void
make(uint64_t number, enum handoff_want want, struct str content)
{
	struct journal_entry e = { .flags = JOURNAL_SIZED,
		.url = STR("http://a.example/"), .decoded = content.n };
	struct buf rest = BUF_INIT, body = BUF_INIT;

	journal_put_rest(&e, &rest);
	buf_put_str(&body, content);
	struct handoff *x = handoff_new(&rig_handoffs, RIG_CRAWL, want,
	    buf_str(&rest), HEAD, &body, buf_str(&body));
	assert_non_null(x);
	x->number = number;
	list_put(&came, &x->node);
	buf_free(&rest);
	buf_free(&body);
}

static void
bring(struct rig *r)
{
	stream_handoff(r->stream, &came);
	handoff_free_list(&came);
}

static size_t
bytes(void)
{
	return atomic_load(&rig_handoffs.bytes);
}

static enum handoff_want
wanted(void)
{
	return handoff_wanted(&rig_handoffs, RIG_CRAWL);
}

/* --- what is read ------------------------------------------------------- */

/* What is missing between them is read from the archive. */
static void
test_mixed(void **state)
{
	struct rig *r = open_rig();

	(void)state;
	assert_int_equal(wanted(), HANDOFF_NONE);
	follow(r, STREAM_BODY);
	assert_int_equal(wanted(), HANDOFF_BODIES);
	for (int i = 0; i < 7; i++)
		page(r);
	make(3, HANDOFF_BODIES, STR("three"));
	make(4, HANDOFF_BODIES, STR("four"));
	make(6, HANDOFF_BODIES, STR("six"));
	make(8, HANDOFF_HEADS, STR("eight"));
	bring(r);
	rig_show(r);
	rig_expect(r, 2, STREAM_BODY, "2 stored");
	rig_expect(r, 3, STREAM_BODY, "3 three");
	rig_expect(r, 4, STREAM_BODY, "4 four");
	rig_expect(r, 5, STREAM_BODY, "5 stored");
	rig_expect(r, 6, STREAM_BODY, "6 six");
	rig_expect(r, 7, STREAM_BODY, "7 stored");
	rig_expect(r, 8, STREAM_BODY, "8 stored");
	for (uint64_t i = 1; i <= 8; i++) {
		char text[8];
		snprintf(text, sizeof(text), "%u", (unsigned)i);
		rig_expect(r, i, 0, text);
	}
	rig_end(r);
}

/* What is fresh is had without waiting; what is not, is read. */
static void
test_at_once(void **state)
{
	struct rig *r = open_rig();
	struct stream_request w = { .crawl = RIG_CRAWL, .from = 2 };

	(void)state;
	follow(r, 0);
	for (int i = 0; i < 4; i++)
		page(r);
	make(2, HANDOFF_HEADS, STR("two"));
	make(3, HANDOFF_HEADS, STR("three"));
	make(5, HANDOFF_HEADS, STR("five"));
	bring(r);
	rig_show(r);
	assert_true(stream_request(r->stream, &w));
	assert_int_equal(w.batch->n, 2);
	assert_int_equal(w.batch->items[1].number, 3);
	stream_give_back(r->stream, &w.batch);
	w.from = 5;
	assert_true(stream_request(r->stream, &w));
	assert_int_equal(w.batch->n, 1);
	stream_give_back(r->stream, &w.batch);
	rig_expect(r, 4, 0, "4");
	rig_end(r);
}

/* They come before the registry shows them; those of others stay in the list.
 */
static void
test_not_followed(void **state)
{
	struct rig *r = open_rig();

	(void)state;
	make(1, HANDOFF_BODIES, STR("one"));
	stream_handoff(r->stream, &came);
	assert_false(list_empty(&came));
	handoff_free_list(&came);
	assert_int_equal(bytes(), 0);
	follow(r, 0);
	assert_int_equal(wanted(), HANDOFF_HEADS);
	rig_text(r, 1, STREAM_BODY);
	assert_int_equal(wanted(), HANDOFF_BODIES);
	rig_text(r, 1, STREAM_LIST_HEADERS);
	assert_int_equal(wanted(), HANDOFF_BODIES);
	rig_end(r);
	assert_int_equal(bytes(), 0);
	assert_int_equal(wanted(), HANDOFF_NONE);
}

/* One octet more than HANDOFF_BODY_BYTES is a stream's. */
static void
test_big(void **state)
{
	struct rig *r = open_rig();

	(void)state;
	follow(r, STREAM_BODY);
	page(r);
	page(r);
	struct str body = rig_bytes(r, HANDOFF_BODY_BYTES, 1);
	make(2, HANDOFF_BODIES, body);
	make(3, HANDOFF_BODIES, rig_bytes(r, HANDOFF_BODY_BYTES + 1, 1));
	assert_true(bytes() > HANDOFF_BODY_BYTES &&
	    bytes() < 2 * HANDOFF_BODY_BYTES);
	bring(r);
	rig_show(r);
	assert_true(str_ends(rig_text(r, 2, STREAM_BODY), body));
	rig_expect(r, 3, STREAM_BODY, "3 big");
	rig_end(r);
}

/* --- limits ------------------------------------------------------------- */

static void
test_unread(void **state)
{
	struct rig *r = open_rig();

	(void)state;
	follow(r, 0);
	for (unsigned i = 0; i < HANDOFF_UNREAD_MAX; i++)
		make(2 + i, HANDOFF_HEADS, STR_NONE);
	bring(r);
	assert_int_equal(wanted(), HANDOFF_HEADS);
	assert_true(bytes() > 0);
	make(2 + HANDOFF_UNREAD_MAX, HANDOFF_HEADS, STR_NONE);
	bring(r);
	assert_int_equal(wanted(), HANDOFF_NONE);
	assert_int_equal(bytes(), 0);
	/* Who has caught up follows again. */
	follow(r, 0);
	assert_int_equal(wanted(), HANDOFF_HEADS);
	rig_end(r);
}

/* The oldest go; but one that is being read stays as long. */
static void
test_bytes(void **state)
{
	struct rig *r = open_rig();
	struct rig_want w;
	unsigned n = 2 * HANDOFF_CACHE_BYTES / HANDOFF_BODY_BYTES;

	(void)state;
	follow(r, STREAM_BODY);
	page(r);
	page(r);
	make(3, HANDOFF_BODIES, STR("three"));
	bring(r);
	rig_show(r);
	rig_want(r, &w, RIG_CRAWL, 2, STREAM_BODY);
	assert_int_equal(w.told, 0);
	for (unsigned i = 0; i < n; i++) {
		make(4 + i, HANDOFF_BODIES, rig_bytes(r, HANDOFF_BODY_BYTES,
		    i));
		bring(r);
	}
	assert_in_range(bytes(), HANDOFF_CACHE_BYTES - 2 * HANDOFF_BODY_BYTES,
	    HANDOFF_CACHE_BYTES + HANDOFF_BODY_BYTES);
	rig_run(r);
	assert_true(str_eq(w.want.batch->items[w.want.at].text,
	    STR("2 stored")));
	assert_true(str_eq(w.want.batch->items[w.want.at + 1].text,
	    STR("3 three")));
	stream_give_back(r->stream, &w.want.batch);
	page(r);
	rig_show(r);
	rig_expect(r, 4, STREAM_BODY, "4 stored");
	/* Some time after the last one came nothing is held any more. */
	rig_pass(r, 30000);
	assert_int_equal(bytes(), 0);
	rig_end(r);
}

static void
test_pot(void **state)
{
	struct rig *r = open_rig();
	struct str rest = rig_bytes(
	    r, HANDOFF_BYTES_MAX - sizeof(struct handoff) - HEAD.n, 1);
	struct buf body = BUF_INIT;

	(void)state;
	struct handoff *all = handoff_new(&rig_handoffs, 1, HANDOFF_HEADS, rest,
	    HEAD, &body, STR_NONE);
	assert_non_null(all);
	assert_int_equal(bytes(), HANDOFF_BYTES_MAX);
	assert_null(handoff_new(&rig_handoffs, 1, HANDOFF_HEADS, STR_NONE,
	    STR_NONE, &body, STR_NONE));
	handoff_free(&all);
	assert_int_equal(bytes(), 0);
	rig_end(r);
}

static struct handoff *
one(struct handoff_pool *pot, struct buf *body)
{
	struct handoff *x = handoff_new(pot, 1, body->n > 0 ? HANDOFF_BODIES :
	    HANDOFF_HEADS, STR("rest"), HEAD, body, buf_str(body));

	assert_non_null(x);
	assert_true(str_eq(x->rest, STR("rest")) && str_eq(x->head, HEAD));
	return x;
}

static size_t
spares(const struct handoff_pool *pot)
{
	size_t n = 0;

	for (size_t i = 0; i < HANDOFF_SPARES; i++)
		n += atomic_load(&pot->spares[i]) != NULL;
	return n;
}

/* What was read gives its memory to the next, and to its page. */
static void
test_spares(void **state)
{
	struct handoff_pool pot = { .bytes = 0 };
	struct handoff *all[HANDOFF_SPARES + 1], *x;
	struct buf body = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		all[i] = one(&pot, &body);
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		assert_int_equal(spares(&pot), i);
		handoff_free(&all[i]);
	}
	assert_int_equal(spares(&pot), HANDOFF_SPARES);
	x = one(&pot, &body);
	assert_int_equal(spares(&pot), HANDOFF_SPARES - 1);
	handoff_free(&x);
	handoff_rest(&pot);
	assert_int_equal(spares(&pot), 0);
	buf_put_text(&body, "of a page");
	char *memory = body.p;
	x = one(&pot, &body);
	assert_true(str_eq(x->body, STR("of a page")));
	assert_null(body.p);
	handoff_free(&x);
	buf_put_text(&body, "of another");
	x = one(&pot, &body);
	assert_true(str_eq(x->body, STR("of another")));
	assert_ptr_equal(body.p, memory);
	assert_int_equal(body.n, 0);
	handoff_free(&x);
	buf_free(&body);
	handoff_rest(&pot);
}

static void
test_spare_bytes(void **state)
{
	struct handoff_pool pot = { .bytes = 0 };
	struct buf body = BUF_INIT;

	(void)state;
	for (size_t over = 0; over < 2; over++) {
		struct handoff *x = one(&pot, &body);
		size_t n = HANDOFF_SPARE_BYTES + over - x->text.cap;
		x->bodys = (struct buf){ mem_array(n, 1), 0, n };
		handoff_free(&x);
		assert_int_equal(spares(&pot), 1 - over);
		handoff_rest(&pot);
	}
}

/* The later crawl has the place, and keeps it. */
static void
test_places(void **state)
{
	struct handoff_pool pot = { 0 };

	(void)state;
	handoff_follow(&pot, 0, HANDOFF_HEADS);
	assert_int_equal(handoff_wanted(&pot, 0), HANDOFF_HEADS);
	for (uint32_t i = 1; i < HANDOFF_CRAWLS; i++)
		assert_int_equal(handoff_wanted(&pot, i), HANDOFF_NONE);
	handoff_follow(&pot, HANDOFF_CRAWLS, HANDOFF_BODIES);
	assert_int_equal(handoff_wanted(&pot, 0), HANDOFF_NONE);
	handoff_unfollow(&pot, 0);
	assert_int_equal(handoff_wanted(&pot, HANDOFF_CRAWLS), HANDOFF_BODIES);
	handoff_unfollow(&pot, HANDOFF_CRAWLS);
	assert_int_equal(handoff_wanted(&pot, HANDOFF_CRAWLS), HANDOFF_NONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_not_followed),
		cmocka_unit_test(test_big),
		cmocka_unit_test(test_unread),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_pot),
		cmocka_unit_test(test_spares),
		cmocka_unit_test(test_spare_bytes),
		cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, world_setup, world_teardown);
}
