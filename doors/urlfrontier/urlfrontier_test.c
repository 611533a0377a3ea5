/*
 * The door with a real engine behind it and our own client before it: what
 * streams do under pressure, at their end, and at the door's.
 */
#include "doors/urlfrontier/urlfrontier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <ftw.h>
#include <protobuf-c/protobuf-c.h>

#include "base/metric.h"
#include "doors/grpc_port.h"
#include "engine/engine.h"
#include "os/clock.h"
#include "os/system.h"
#include "wire/urlfrontier/urlfrontier.pb-c.h"

#define SERVICE "/urlfrontier.URLFrontier/"
#define WAIT_MS 20000

static struct {
	char dir[64];
	struct conf conf;
	struct loop *loop;
	struct engine *engine;
	struct token_set *tokens;
	struct urlfrontier *door;
	struct net *net;
	struct grpc_port *port;
	struct arena arena;
	bool closed, drained;
} t;

/* A call, as the client sees it. */
struct seen {
	struct grpc_call *call;
	bool over, stop;             /* stop: take one message, then pause */
	enum grpc_code code;
	char text[200];
	uint64_t messages, statuses[3];
	struct buf ids, last;
	/* What is put: items numbered from `next` on. */
	uint64_t next, end;
	const char *key;
	size_t pad;
	bool known;
};

/* ---- Client -------------------------------------------------------------- */

static struct str
packed(const ProtobufCMessage *m)
{
	size_t n = protobuf_c_message_get_packed_size(m);
	char *p = arena_bytes(&t.arena, n + 1);

	protobuf_c_message_pack(m, (uint8_t *)p);
	return (struct str){ p, n };
}

/* URL number i; they sort by it. */
static struct str
url_of(const struct seen *s, uint64_t i)
{
	static const char dots[1024] = { 0 };
	struct str u = arena_printf(&t.arena, "http://%s/%08llu%*s", s->key,
	    (unsigned long long)i, (int)s->pad, dots);

	return u;
}

static bool
put_one(struct seen *s)
{
	Urlfrontier__URLItem m = URLFRONTIER__URLITEM__INIT;
	Urlfrontier__DiscoveredURLItem d =
	    URLFRONTIER__DISCOVERED_URLITEM__INIT;
	Urlfrontier__KnownURLItem k = URLFRONTIER__KNOWN_URLITEM__INIT;
	Urlfrontier__URLInfo info = URLFRONTIER__URLINFO__INIT;

	arena_reset(&t.arena);
	info.url = (char *)(uintptr_t)url_of(s, s->next++).p;
	d.info = k.info = &info;
	m.item_case = s->known ? URLFRONTIER__URLITEM__ITEM_KNOWN :
	    URLFRONTIER__URLITEM__ITEM_DISCOVERED;
	if (s->known)
		m.known = &k;
	else
		m.discovered = &d;
	return grpc_send(s->call, packed(&m.base)) == GRPC_ROOM;
}

static void
put_more(struct grpc_call *c)
{
	struct seen *s = grpc_arg(c);
	bool room = true;

	while (s->next < s->end && room)
		room = put_one(s);
	if (s->next == s->end && s->end > 0 && room)
		grpc_half_close(c);
}

static void
on_message(struct grpc_call *c, struct str message)
{
	struct seen *s = grpc_arg(c);

	s->messages++;
	buf_clear(&s->last);
	buf_put_str(&s->last, message);
	if (str_starts(grpc_path(c), STR(SERVICE "PutURLs"))) {
		Urlfrontier__AckMessage *a =
		    urlfrontier__ack_message__unpack(NULL, message.n,
		    (const uint8_t *)message.p);
		assert_non_null(a);
		s->statuses[a->status]++;
		urlfrontier__ack_message__free_unpacked(a, NULL);
	}
	if (s->stop)
		grpc_pause(c);
}

static void
on_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct seen *s = grpc_arg(c);

	s->over = true;
	s->call = NULL;
	s->code = code;
	snprintf(s->text, sizeof(s->text), "%.*s", STR_FMT(text));
}

static const struct grpc_events client_events = { .on_message = on_message,
	.on_writable = put_more, .on_end = on_end };

static void
step(void)
{
	if (!loop_step(t.loop))
		usleep(100);
}

static void
begin(struct seen *s, const char *method)
{
	struct grpc_request q = { .on = &client_events, .arg = s };
	char path[80];
	struct why w = WHY_INIT;

	snprintf(path, sizeof(path), SERVICE "%s", method);
	q.path = path;
	s->call = grpc_call_new(t.port->session, &q, clock_mono(), &w);
	assert_non_null(s->call);
}

static void
finish(struct seen *s)
{
	struct mono until = mono_add_ms(clock_mono(), WAIT_MS);

	while (!s->over && mono_before(clock_mono(), until))
		step();
	assert_true(s->over);
}

static void
forget(struct seen *s)
{
	buf_free(&s->ids);
	buf_free(&s->last);
}

/* One request; the answer's last message is in `last`. */
static void
ask(struct seen *s, const char *method, const ProtobufCMessage *m)
{
	*s = (struct seen){ .key = "k" };
	begin(s, method);
	grpc_send(s->call, packed(m));
	grpc_half_close(s->call);
	finish(s);
}

static void
run_ms(int64_t ms)
{
	struct mono until = mono_add_ms(clock_mono(), ms);

	while (mono_before(clock_mono(), until))
		step();
}

static void
put_all(struct seen *s, const char *key, uint64_t n, size_t pad, bool known)
{
	*s = (struct seen){ .key = key, .end = n, .pad = pad,
	    .known = known };
	begin(s, "PutURLs");
	put_more(s->call);
	finish(s);
}

static struct outside_stats
stats_of(const char *key)
{
	Urlfrontier__QueueWithinCrawlParams q =
	    URLFRONTIER__QUEUE_WITHIN_CRAWL_PARAMS__INIT;
	struct outside_stats n = { .active = 0 };
	struct seen s;

	q.key = (char *)(uintptr_t)key;
	ask(&s, "GetStats", &q.base);
	assert_int_equal(s.code, GRPC_OK);
	Urlfrontier__Stats *m = urlfrontier__stats__unpack(NULL, s.last.n,
	    (const uint8_t *)s.last.p);
	assert_non_null(m);
	assert_string_equal(m->crawlid, "DEFAULT");
	n.active = m->size;
	n.leased = m->inprocess;
	n.queues = m->numberofqueues;
	for (size_t i = 0; i < m->n_counts; i++)
		if (strcmp(m->counts[i]->key, "completed") == 0)
			n.completed = m->counts[i]->value;
	urlfrontier__stats__free_unpacked(m, NULL);
	forget(&s);
	return n;
}

/* ---- The rig ------------------------------------------------------------- */

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st, (void)type, (void)f;
	return remove(path);
}

static void
left(struct grpc_port *p)
{
	(void)p;
	t.port = NULL;
}

static void
connect_client(void)
{
	struct net_target to = { .address = "127.0.0.1", .timeout_ms = 5000 };
	struct why w = WHY_INIT;
	uint64_t port;

	assert_true(str_to_u64(str_of(strrchr(urlfrontier_address(t.door),
	    ':') + 1), &port));
	to.port = (uint16_t)port;
	t.port = grpc_port_connect(t.net, t.loop, &to, left, &w);
	assert_non_null(t.port);
}

static void
set(const char *assignment)
{
	assert_int_equal(conf_flag(&t.conf, str_of(assignment), NULL), OK);
}

static int
set_up(void **state)
{
	struct net_limits limits = NET_LIMITS_DEFAULT;
	struct urlfrontier_options o = { .conf = &t.conf };
	struct why w = WHY_INIT;

	(void)state;
	memset(&t, 0, sizeof(t));
	snprintf(t.dir, sizeof(t.dir), "door.XXXXXX");
	assert_non_null(mkdtemp(t.dir));
	conf_init(&t.conf);
	set("urlfrontier.listen=127.0.0.1:0");
	set("data.free_bytes_min=1MiB");
	o.home = t.loop = loop_new("home");
	t.net = net_new(t.loop, &limits);
	if (urlfrontier_open(&o, &t.door, &w) != OK)
		fail_msg("%s", w.text);
	connect_client();
	return 0;
}

static void
open_engine(void)
{
	struct engine_options o = { .conf = &t.conf, .home = t.loop,
	    .data_dir = t.dir, .loops = 1, .small = true };
	struct why w = WHY_INIT;

	if (engine_open(&o, &t.engine, &w) != OK)
		fail_msg("%s", w.text);
	if (token_set_open(&(struct token_set_options){ .data_dir = t.dir,
	    .home = t.loop }, &t.tokens, &w) != OK)
		fail_msg("%s", w.text);
	engine_start(t.engine);
	urlfrontier_ready(t.door, engine_frontier(t.engine), t.tokens);
	run_ms(50);
}

static void
closed(void *arg)
{
	(void)arg;
	t.closed = true;
}

static void
drained(void *arg)
{
	(void)arg;
	t.drained = true;
	engine_close(t.engine, closed, NULL);
}

static void
wait_for(const bool *flag)
{
	struct mono until = mono_add_ms(clock_mono(), WAIT_MS);

	while (!*flag && mono_before(clock_mono(), until))
		step();
	assert_true(*flag);
}

static int
tear_down(void **state)
{
	(void)state;
	if (t.engine != NULL && !t.drained)
		urlfrontier_drain(t.door, drained, NULL);
	if (t.engine != NULL)
		wait_for(&t.closed);
	net_free(&t.net);
	urlfrontier_free(&t.door);
	if (t.tokens != NULL)
		token_set_close(&t.tokens);
	engine_free(&t.engine);
	loop_free(&t.loop);
	arena_free(&t.arena);
	conf_free(&t.conf);
	nftw(t.dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return 0;
}

/* ---- Tests --------------------------------------------------------------- */

static void
test_not_ready(void **state)
{
	Urlfrontier__Empty m = URLFRONTIER__EMPTY__INIT;
	struct seen s;

	(void)state;
	ask(&s, "ListNodes", &m.base);
	assert_int_equal(s.code, GRPC_UNAVAILABLE);
	assert_string_equal(s.text, "the server is starting");
	open_engine();
	ask(&s, "ListNodes", &m.base);
	assert_int_equal(s.code, GRPC_OK);
	forget(&s);
}

static void
test_put(void **state)
{
	struct seen s;

	(void)state;
	open_engine();
	put_all(&s, "h", 5000, 0, false);
	assert_int_equal(s.code, GRPC_OK);
	assert_int_equal(s.statuses[OUTSIDE_OK], 5000);
	forget(&s);
	put_all(&s, "h", 5000, 0, false);
	assert_int_equal(s.statuses[OUTSIDE_SKIPPED], 5000);
	forget(&s);
	put_all(&s, "h", 2000, 0, true);
	assert_int_equal(s.statuses[OUTSIDE_OK], 2000);
	forget(&s);
	struct outside_stats n = stats_of("h");
	assert_int_equal(n.active, 3000);
	assert_int_equal(n.completed, 2000);
	assert_int_equal(n.queues, 1);
}

static int64_t
value_of(const char *name)
{
	struct buf b = BUF_INIT;
	int64_t value = -1;

	metric_write(&b);
	const char *at = strstr(buf_text(&b), name);
	if (at != NULL)
		value = strtoll(at + strlen(name), NULL, 10);
	buf_free(&b);
	return value;
}

/* Who does not read acknowledgements is not read from for long. */
static void
test_unread(void **state)
{
	struct seen s = { .key = "u", .end = 60000, .pad = 200, .stop = true };

	(void)state;
	open_engine();
	int64_t before = value_of("\nfrontier_putURLs_total ");
	begin(&s, "PutURLs");
	put_more(s.call);
	run_ms(2000);
	/* The window for acknowledgements is 1 MiB, about 4,800 of them. */
	int64_t taken = value_of("\nfrontier_putURLs_total ") - before;
	assert_true(taken > 1024);
	assert_true(taken < 1024 + 5200);
	run_ms(300);
	assert_int_equal(value_of("\nfrontier_putURLs_total ") - before,
	    taken);
	s.stop = false;
	grpc_resume(s.call);
	finish(&s);
	assert_int_equal(s.code, GRPC_OK);
	assert_int_equal(s.statuses[OUTSIDE_OK], 60000);
	forget(&s);
}

/* A batch of many units, with repeats; one without items; one that is none. */
static void
test_batches(void **state)
{
	Urlfrontier__DiscoveredBatch b = URLFRONTIER__DISCOVERED_BATCH__INIT;
	static Urlfrontier__URLInfo infos[1000], *all[1000];
	static char urls[1000][32];
	struct seen s;

	(void)state;
	open_engine();
	for (size_t i = 0; i < 1000; i++) {
		urlfrontier__urlinfo__init(&infos[i]);
		snprintf(urls[i], sizeof(urls[i]), "http://b/%zu", i % 900);
		infos[i].url = urls[i];
		all[i] = &infos[i];
	}
	infos[500].url = urls[0] + 31;   /* empty */
	b.id = urls[999];
	b.items = all;
	b.n_items = 1000;
	ask(&s, "PutDiscovered", &b.base);
	assert_int_equal(s.code, GRPC_OK);
	assert_int_equal(s.messages, 1);
	Urlfrontier__BatchAck *a = urlfrontier__batch_ack__unpack(NULL,
	    s.last.n, (const uint8_t *)s.last.p);
	assert_non_null(a);
	assert_string_equal(a->id, urls[999]);
	assert_int_equal(a->n_statuses, 1000);
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(a->statuses[i], i >= 900 || i == 500);
	urlfrontier__batch_ack__free_unpacked(a, NULL);
	forget(&s);

	b.n_items = 0;
	ask(&s, "PutDiscovered", &b.base);
	assert_int_equal(s.messages, 1);
	assert_int_equal(s.last.n, 2 + strlen(urls[999]));
	forget(&s);
	assert_int_equal(stats_of("b").active, 899);
}

/* What came before garbage is acknowledged, then the stream fails. */
static void
test_garbage(void **state)
{
	struct seen s = { .key = "g" };

	(void)state;
	open_engine();
	begin(&s, "PutURLs");
	for (int i = 0; i < 10; i++)
		put_one(&s);
	grpc_send(s.call, STR("\x0a\x7f"));
	put_one(&s);
	finish(&s);
	assert_int_equal(s.code, GRPC_INTERNAL);
	assert_int_equal(s.statuses[OUTSIDE_OK], 10);
	forget(&s);
	assert_int_equal(stats_of("g").active, 10);
}

/* A get that is cancelled half-way keeps the leases of what left only. */
static void
test_cancel(void **state)
{
	Urlfrontier__GetParams g = URLFRONTIER__GET_PARAMS__INIT;
	Urlfrontier__AnyCrawlID any = URLFRONTIER__ANY_CRAWL_ID__INIT;
	struct seen s;

	(void)state;
	open_engine();
	put_all(&s, "c", 4000, 900, false);
	assert_int_equal(s.statuses[OUTSIDE_OK], 4000);
	forget(&s);
	g.delay_requestable = 600;
	g.item_case = URLFRONTIER__GET_PARAMS__ITEM_ANY_CRAWL_ID;
	g.anycrawlid = &any;
	s = (struct seen){ .key = "c", .stop = true };
	begin(&s, "GetURLs");
	grpc_send(s.call, packed(&g.base));
	grpc_half_close(s.call);
	run_ms(1000);
	assert_int_equal(s.messages, 1);
	grpc_cancel(s.call);
	assert_true(s.over);
	run_ms(500);
	/* A window of 1 MiB holds about 1,100 of them. */
	struct outside_stats n = stats_of("c");
	assert_int_equal(n.active, 4000);
	assert_true(n.leased > 900);
	assert_true(n.leased < 1300);
	forget(&s);
}

/* A listing of more than a window, read slowly, then one that is cancelled. */
static void
test_list(void **state)
{
	Urlfrontier__ListUrlParams l = URLFRONTIER__LIST_URL_PARAMS__INIT;
	struct seen s;

	(void)state;
	open_engine();
	put_all(&s, "l", 6000, 400, false);
	forget(&s);
	l.size = INT32_MAX;
	s = (struct seen){ .key = "l", .stop = true };
	begin(&s, "ListURLs");
	grpc_send(s.call, packed(&l.base));
	grpc_half_close(s.call);
	run_ms(300);
	assert_int_equal(s.messages, 1);
	s.stop = false;
	grpc_resume(s.call);
	finish(&s);
	assert_int_equal(s.code, GRPC_OK);
	assert_int_equal(s.messages, 6000);
	forget(&s);
	s = (struct seen){ .key = "l", .stop = true };
	begin(&s, "ListURLs");
	grpc_send(s.call, packed(&l.base));
	grpc_half_close(s.call);
	run_ms(100);
	grpc_cancel(s.call);
	forget(&s);
}

/* A stream that stays open is ended with a reason, and all comes to its end. */
static void
test_drain(void **state)
{
	struct seen s = { .key = "d" };

	(void)state;
	open_engine();
	begin(&s, "PutURLs");
	for (int i = 0; i < 100; i++)
		put_one(&s);
	run_ms(200);
	assert_int_equal(s.statuses[OUTSIDE_OK], 100);
	for (int i = 0; i < 100; i++)
		put_one(&s);
	urlfrontier_drain(t.door, drained, NULL);
	finish(&s);
	assert_int_equal(s.code, GRPC_UNAVAILABLE);
	assert_string_equal(s.text, "the server is shutting down");
	wait_for(&t.drained);
	forget(&s);
}

static void
test_exposure(void **state)
{
	struct urlfrontier_options o = { .conf = &t.conf, .home = t.loop };
	struct urlfrontier *door = NULL;
	struct why w = WHY_INIT;

	(void)state;
	set("urlfrontier.listen=0.0.0.0:0");
	assert_int_equal(urlfrontier_open(&o, &door, &w), ERR_CONFIG);
	assert_non_null(strstr(w.text, "is not loopback"));
	set("urlfrontier.insecure=on");
	assert_int_equal(urlfrontier_open(&o, &door, &w), OK);
	urlfrontier_free(&door);
	set("urlfrontier.listen=off");
	assert_int_equal(urlfrontier_open(&o, &door, &w), OK);
	assert_null(door);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_not_ready),
		TEST(test_put),
		TEST(test_unread),
		TEST(test_batches),
		TEST(test_garbage),
		TEST(test_cancel),
		TEST(test_list),
		TEST(test_drain),
		TEST(test_exposure),
	};

	system_ignore_sigpipe();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
