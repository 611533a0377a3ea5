#include "engine/frontier/frontier_testing.h"
#include "engine/frontier/lease_testing.h"
#include "os/clock.h"

struct rig rig;
struct got got;
bool out_back;

int
out_setup(void **state)
{
	world_setup(state);
	rig_init(R);
	rig_open(R);
	return 0;
}

int
out_teardown(void **state)
{
	rig_run(R);
	lease_check(rig.frontier);
	frontier_check(rig.frontier);
	rig_close(R);
	arena_free(&rig.arena);
	return world_teardown(state);
}

void
out_done(struct lease_call *c)
{
	(void)c;
	out_back = true;
}

void
out_wait(struct rig *r, const bool *back)
{
	rig_run(r);
	for (int i = 0; !*back && i < 100; i++)
		rig_pass(r, 1);
	assert_true(*back);
}

void
out_prepare(struct rig *r, struct lease_call *c)
{
	out_back = false;
	c->home = r->loop;
	c->done = out_done;
}

struct lease_item
out_item(const char *crawl, const char *key, const char *url, int64_t date,
    const char *metadata)
{
	return (struct lease_item){ .crawl = str_of(crawl),
	    .key = str_of(key), .url = str_of(url),
	    .metadata = str_of(metadata), .known = date != DISCOVERED,
	    .date_s = date == DISCOVERED ? 0 : (uint64_t)date };
}

void
out_put_all(struct rig *r, struct lease_item *items, size_t n)
{
	struct lease_put p = { .items = items, .items_n = n };

	out_prepare(r, &p.call);
	lease_put(r->frontier, &p);
	out_wait(r, &out_back);
	assert_int_equal(p.call.result, OK);
}

enum lease_status
out_put(struct rig *r, const char *crawl, const char *key, const char *url,
    int64_t date)
{
	struct lease_item i = out_item(crawl, key, url, date, "m");

	out_put_all(r, &i, 1);
	return i.status;
}

static struct str
kept(struct rig *r, struct str s)
{
	return arena_copy(&r->arena, s);
}

size_t
out_get(struct rig *r, const char *crawl, const char *key, uint32_t urls_max,
    uint32_t queues_max, uint32_t lease_s)
{
	struct lease_get g = { .crawl = str_of(crawl), .key = str_of(key),
	    .any_crawl = crawl == NULL, .urls_max = urls_max,
	    .queues_max = queues_max, .lease_s = lease_s };

	got.n = got.pieces = 0;
	do {
		out_prepare(r, &g.call);
		lease_get(r->frontier, &g);
		out_wait(r, &out_back);
		got.pieces++;
		assert_int_equal(g.call.result, OK);
		for (size_t i = 0; i < g.n; i++) {
			struct lease_url *u = &got.urls[got.n++];
			assert_true(got.n <= GOT_MAX);
			*u = g.urls[i];
			u->crawl = kept(r, u->crawl);
			u->key = kept(r, u->key);
			u->url = kept(r, u->url);
			u->metadata = kept(r, u->metadata);
		}
	} while (g.more);
	got.examined = g.examined;
	got.served = g.served;
	lease_get_free(&g);
	return got.n;
}

const char *
out_urls(struct rig *r)
{
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < got.n; i++) {
		if (i > 0)
			buf_put_char(&b, ' ');
		buf_put_str(&b, got.urls[i].url);
	}
	const char *text = kept(r, buf_str(&b)).p;
	buf_free(&b);
	return text;
}

void
out_release(struct rig *r, size_t from, size_t n)
{
	struct lease_release e = { .urls = &got.urls[from], .n = n };

	out_prepare(r, &e.call);
	lease_release(r->frontier, &e);
	out_wait(r, &out_back);
	assert_int_equal(e.call.result, OK);
}

static struct lease_control
control(struct rig *r, enum lease_verb v, const char *crawl,
    const char *key, uint64_t value)
{
	struct lease_control k = { .verb = v, .crawl = str_of(crawl),
	    .key = str_of(key), .value = value };

	out_prepare(r, &k.call);
	lease_control(r->frontier, &k);
	out_wait(r, &out_back);
	return k;
}

enum err
out_control(struct rig *r, enum lease_verb v, const char *crawl,
    const char *key, uint64_t value, uint64_t *answer)
{
	struct lease_control k = control(r, v, crawl, key, value);

	if (answer != NULL)
		*answer = k.value;
	return k.call.result;
}

void
out_set(enum lease_verb v, const char *key, uint64_t value)
{
	assert_int_equal(out_control(R, v, "", key, value, NULL), OK);
}

uint64_t
out_gone(enum lease_verb v, const char *crawl, const char *key)
{
	uint64_t n;

	assert_int_equal(out_control(R, v, crawl, key, 0, &n), OK);
	return n;
}

struct lease_stats
out_stats(struct rig *r, const char *crawl, const char *key)
{
	return control(r, LEASE_STATS, crawl, key, 0).stats;
}

void
out_assert_stats(struct rig *r, const char *crawl, const char *key,
    uint64_t active, uint64_t leased, uint64_t completed, uint64_t queues)
{
	struct lease_stats s = out_stats(r, crawl, key);

	assert_int_equal(s.active, active);
	assert_int_equal(s.leased, leased);
	assert_int_equal(s.completed, completed);
	assert_int_equal(s.queues, queues);
}

enum err
out_status(struct rig *r, const char *crawl, const char *key, const char *url,
    struct lease_entry *out)
{
	struct lease_status_of s = { .crawl = str_of(crawl),
	    .key = str_of(key), .url = str_of(url) };

	out_prepare(r, &s.call);
	lease_status_of(r->frontier, &s);
	out_wait(r, &out_back);
	if (s.call.result == OK) {
		*out = s.entry;
		out->url = kept(r, out->url);
		out->key = kept(r, out->key);
		out->metadata = kept(r, out->metadata);
	}
	arena_free(&s.arena);
	return s.call.result;
}

size_t
out_list(struct rig *r, struct lease_list *l)
{
	got.entries_n = 0;
	do {
		out_prepare(r, &l->call);
		lease_list(r->frontier, l);
		out_wait(r, &out_back);
		assert_int_equal(l->call.result, OK);
		for (size_t i = 0; i < l->n; i++) {
			struct lease_entry *e =
			    &got.entries[got.entries_n++];
			assert_true(got.entries_n <= GOT_MAX);
			*e = l->entries[i];
			e->key = kept(r, e->key);
			e->url = kept(r, e->url);
			e->metadata = kept(r, e->metadata);
		}
	} while (l->more);
	got.count = l->count;
	arena_free(&l->arena);
	return got.entries_n;
}

uint32_t
out_now_s(void)
{
	return (uint32_t)wall_s(clock_wall());
}

void
out_restart(struct rig *r, bool crash)
{
	if (crash)
		rig_crash(r, true);
	else
		rig_close(r);
	rig_open(r);
	rig_run(r);
	lease_check(r->frontier);
}
