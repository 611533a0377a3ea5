/*
 * frontier_load -- load for any server of URL Frontier, by its protocol alone,
 * and whether each answer was right.
 *
 *     frontier_load [--NAME N ...] MODE ADDRESS PORT
 *
 *     put       PutURLs, or PutDiscovered with --batch
 *     updates   four known items for each URL on one stream; the last must win
 *     get       GetURLs, each URL answered before the worker's next call
 *     stats     GetStats, one after the other
 *     wait      until the server answers GetStats
 *
 * One line of JSON: rates, times, acknowledgements by status, what was wrong
 * (each kind by name; `wrong` is their sum), what the server's statistics were
 * before and after, and the CPU time that this program took itself.  The sum
 * of active and completed URLs must have grown by the records that were made.
 * Exit code: 0 all was right, 1 something was wrong, 69 the run did not end.
 */
#include "bench/frontier_load.h"

#include <stdarg.h>

#include "base/arena.h"
#include "os/clock.h"
#include "os/system.h"

#define SERVICE "/urlfrontier.URLFrontier/"
#define RETRY_MS 5
#define VERIFY_WINDOW 100
/* Beyond --seconds: until all that was sent is answered. */
#define GRACE_MS 60000

struct load load = {
	.o = {
#define LOAD_VALUE(name, value, help) value,
	    LOAD_OPTIONS(LOAD_VALUE)
#undef LOAD_VALUE
	},
	.target = { .timeout_ms = 5000 },
};

static struct {
	struct arena arena;
	ProtobufCAllocator allocator;
	struct timer limit, retry;
	uint64_t total_before;
	uint64_t stats_left;
	struct mono asked;
	size_t verify_next, verify_done;
	uint64_t verify_wrong;
} own;

/* --- steps ---------------------------------------------------------------- */

void
load_next(void)
{
	if (load.over)
		return;
	load.step++;
	if (*load.step != NULL) {
		(*load.step)();
		return;
	}
	load.over = true;
	loop_stop(load.loop);
}

void
load_fail(const char *fmt, ...)
{
	va_list args;

	if (load.over)
		return;
	va_start(args, fmt);
	vsnprintf(load.failed, sizeof(load.failed), fmt, args);
	va_end(args);
	load.over = true;
	loop_stop(load.loop);
}

bool
load_is_late(void)
{
	return !mono_before(loop_now(load.loop), load.until);
}

static void
overdue(struct timer *t)
{
	(void)t;
	load_fail("answers are missing after %llu s and the time of grace",
	    (unsigned long long)load.o.seconds);
}

/* --- connections and calls ------------------------------------------------ */

static void
closed(struct grpc_port *p)
{
	for (size_t i = 0; i < load.ports_n; i++)
		if (load.ports[i] == p)
			load.ports[i] = NULL;
	if (!load.may_close)
		load_fail("the connection is lost: %s", p->why.text);
}

static bool
connect_port(size_t i)
{
	struct why w = WHY_INIT;

	load.ports[i] = grpc_port_connect(load.net, load.loop, &load.target,
	    closed, &w);
	if (load.ports[i] == NULL)
		load_fail("%s", w.text);
	return load.ports[i] != NULL;
}

struct grpc_call *
load_call(size_t port, const char *rpc, const struct grpc_events *on,
    void *arg)
{
	char path[80];
	struct why w = WHY_INIT;
	struct grpc_request r = { .path = path, .on = on, .arg = arg };

	snprintf(path, sizeof(path), SERVICE "%s", rpc);
	if (load.ports[port] == NULL)
		return NULL;
	struct grpc_call *c = grpc_call_new(load.ports[port]->session, &r,
	    loop_now(load.loop), &w);
	if (c == NULL && !load.may_close)
		load_fail("%s: %s", rpc, w.text);
	return c;
}

enum grpc_room
load_send(struct grpc_call *c, const ProtobufCMessage *m)
{
	void *room;
	size_t n = protobuf_c_message_get_packed_size(m);
	enum grpc_room r = grpc_send_room(c, n, &room);

	if (r != GRPC_GONE && n > 0)
		CHECK(protobuf_c_message_pack(m, room) == n);
	return r;
}

struct ask {
	load_answer *answer;
	uint64_t tag;
	struct buf message;
};

static void
ask_message(struct grpc_call *c, struct str message)
{
	struct ask *a = grpc_arg(c);

	buf_put_str(&a->message, message);
}

static void
ask_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct ask *a = grpc_arg(c);

	if (!load.over)
		a->answer(a->tag, code, code == GRPC_OK ?
		    buf_str(&a->message) : text);
	buf_free(&a->message);
	mem_free(&a);
}

void
load_ask(const char *rpc, const ProtobufCMessage *m, load_answer *answer,
    uint64_t tag)
{
	static const struct grpc_events on = { .on_message = ask_message,
	    .on_end = ask_end };
	struct ask *a = mem_new(sizeof(*a));

	a->answer = answer;
	a->tag = tag;
	struct grpc_call *c = load_call(0, rpc, &on, a);
	if (c == NULL) {
		mem_free(&a);
		return;
	}
	(void)load_send(c, m);
	grpc_half_close(c);
}

bool
load_is_ok(const char *rpc, enum grpc_code code, struct str text)
{
	if (code != GRPC_OK)
		load_fail("%s: %s %.*s", rpc, grpc_code_name(code),
		    STR_FMT(text));
	return code == GRPC_OK;
}

static void *
take(void *arg, size_t n)
{
	return arena_take(arg, n);
}

static void
give_back(void *arg, void *p)
{
	(void)arg, (void)p;
}

ProtobufCAllocator *
load_allocator(void)
{
	arena_reset(&own.arena);
	own.allocator = (ProtobufCAllocator){ take, give_back, &own.arena };
	return &own.allocator;
}

/* --- URLs ----------------------------------------------------------------- */

/* The finalizer of splitmix64. */
uint64_t
load_mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

uint64_t
load_queue(uint64_t url)
{
	return url % load.o.queues;
}

static char *
put_number(char *p, uint64_t n, int digits)
{
	for (int i = digits - 1; i >= 0; i--, n /= 10)
		p[i] = (char)('0' + n % 10);
	return p + digits;
}

static char *
put_text(char *p, struct str s)
{
	memcpy(p, s.p, s.n);
	return p + s.n;
}

#define KEY_DIGITS 8
#define URL_DIGITS 10

static char *
put_key(char *p, uint64_t queue)
{
	p = put_text(p, STR("site"));
	p = put_number(p, queue, KEY_DIGITS);
	return put_text(p, STR(".example.org"));
}

void
load_key_text(uint64_t queue, char out[static LOAD_TEXT_MAX])
{
	*put_key(out, queue) = '\0';
}

/* https://site00001234.example.org/2f81a0c4/reports/0000501234.html */
void
load_url_text(uint64_t url, char out[static LOAD_TEXT_MAX])
{
	static const char hex[] = "0123456789abcdef";
	static const struct str words[] = { { "reports", 7 }, { "article", 7 },
	    { "product", 7 }, { "archive", 7 } };
	uint64_t r = load_mix(url);
	char *p = put_text(out, STR("https://"));

	p = put_key(p, load_queue(url));
	*p++ = '/';
	for (int i = 0; i < 8; i++, r >>= 4)
		*p++ = hex[r & 15];
	*p++ = '/';
	p = put_text(p, words[r & 3]);
	*p++ = '/';
	p = put_number(p, url, URL_DIGITS);
	*put_text(p, STR(".html")) = '\0';
}

void
load_id_text(uint64_t n, char out[static LOAD_TEXT_MAX])
{
	*put_number(out, n, URL_DIGITS) = '\0';
}

bool
load_url_read(const char *text, uint64_t *url)
{
	struct str s = str_of(text);
	size_t tail = URL_DIGITS + STR(".html").n;
	char same[LOAD_TEXT_MAX];

	if (s.n < tail || !str_to_u64(str_cut(s, s.n - tail,
	    s.n - tail + URL_DIGITS), url))
		return false;
	load_url_text(*url, same);
	return strcmp(text, same) == 0;
}

uint64_t *
load_bits(uint64_t n)
{
	return mem_array(n / 64 + 1, sizeof(uint64_t));
}

bool
load_bit(uint64_t *bits, uint64_t at)
{
	uint64_t bit = UINT64_C(1) << (at & 63);
	bool was = (bits[at / 64] & bit) != 0;

	bits[at / 64] |= bit;
	return was;
}

/* --- results -------------------------------------------------------------- */

void
load_tell(const char *name, uint64_t n)
{
	buf_printf(&load.json, ",\"%s\":%llu", name, (unsigned long long)n);
}

void
load_tell_real(const char *name, double x)
{
	buf_printf(&load.json, ",\"%s\":%.6g", name, x);
}

void
load_tell_wrong(const char *name, uint64_t n)
{
	load_tell(name, n);
	load.wrong += n;
}

void
load_took(int64_t ns)
{
	if (load.took_n == load.took_cap) {
		load.took_cap = load.took_cap * 2 + 1024;
		load.took_ns = mem_resize(load.took_ns, load.took_cap,
		    sizeof(*load.took_ns));
	}
	load.took_ns[load.took_n++] = ns;
}

static int
by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

void
load_tell_took(void)
{
	size_t n = load.took_n;
	double sum = 0;

	if (n > 0) {
		qsort(load.took_ns, n, sizeof(*load.took_ns), by_size);
		for (size_t i = 0; i < n; i++)
			sum += (double)load.took_ns[i];
		load_tell_real("p50_us", (double)load.took_ns[n / 2] / 1e3);
		load_tell_real("p99_us",
		    (double)load.took_ns[n * 99 / 100] / 1e3);
		load_tell_real("max_us", (double)load.took_ns[n - 1] / 1e3);
		load_tell_real("sum_s", sum / 1e9);
	}
	load.took_n = 0;
}

void
load_expect(uint64_t url, uint64_t date_s)
{
	if (load.samples_n == load.samples_cap) {
		load.samples_cap = load.samples_cap * 2 + 1024;
		load.samples = mem_resize(load.samples, load.samples_cap,
		    sizeof(*load.samples));
	}
	load.samples[load.samples_n++] = (struct load_sample){ url, date_s };
}

/* --- statistics ----------------------------------------------------------- */

static void
ask_stats(load_answer *answer, uint64_t tag)
{
	Urlfrontier__QueueWithinCrawlParams p =
	    URLFRONTIER__QUEUE_WITHIN_CRAWL_PARAMS__INIT;

	load_ask("GetStats", &p.base, answer, tag);
}

/* Active and completed; all of it is told when it came after the load. */
static bool
read_stats(struct str message, bool tell, uint64_t *total)
{
	Urlfrontier__Stats *s = urlfrontier__stats__unpack(load_allocator(),
	    message.n, (const uint8_t *)message.p);

	if (s == NULL) {
		load_fail("GetStats: the message is malformed");
		return false;
	}
	*total = s->size;
	if (tell) {
		load_tell("size", s->size);
		load_tell("in_process", s->inprocess);
		load_tell("queues", s->numberofqueues);
	}
	for (size_t i = 0; i < s->n_counts; i++) {
		const Urlfrontier__Stats__CountsEntry *e = s->counts[i];
		if (strcmp(e->key, "completed") == 0)
			*total += e->value;
		if (tell)
			load_tell(e->key, e->value);
	}
	return true;
}

static void
stats_before_came(uint64_t tag, enum grpc_code code, struct str text)
{
	(void)tag;
	if (!load_is_ok("GetStats", code, text) ||
	    !read_stats(text, false, &own.total_before))
		return;
	load_tell("total_before", own.total_before);
	load_next();
}

static void
stats_before(void)
{
	ask_stats(stats_before_came, 0);
}

static void
stats_after_came(uint64_t tag, enum grpc_code code, struct str text)
{
	uint64_t total, want = own.total_before + load.created;

	(void)tag;
	if (!load_is_ok("GetStats", code, text) ||
	    !read_stats(text, true, &total))
		return;
	load_tell("total", total);
	load_tell_wrong("total_off", total > want ? total - want :
	    want - total);
	load_next();
}

static void
stats_after(void)
{
	ask_stats(stats_after_came, 0);
}

static void stats_again(void);

static void
stats_came(uint64_t tag, enum grpc_code code, struct str text)
{
	uint64_t total;

	(void)tag;
	load_took(clock_mono().ns - own.asked.ns);
	if (!load_is_ok("GetStats", code, text))
		return;
	own.stats_left--;
	if (own.stats_left > 0 && !load_is_late()) {
		stats_again();
		return;
	}
	if (!read_stats(text, true, &total))
		return;
	load_tell("total", total);
	load_tell("calls", load.took_n);
	load_tell_took();
	load_next();
}

static void
stats_again(void)
{
	own.asked = clock_mono();
	ask_stats(stats_came, 0);
}

static void
stats_begin(void)
{
	own.stats_left = MAX(load.o.count, 1);
	stats_again();
}

/* --- waiting for a server ------------------------------------------------- */

static void
wait_came(uint64_t tag, enum grpc_code code, struct str text)
{
	uint64_t total;

	(void)tag;
	if (code != GRPC_OK) {
		loop_timer_set(load.loop, &own.retry,
		    mono_add_ms(loop_now(load.loop), RETRY_MS));
		return;
	}
	load.may_close = false;
	if (!read_stats(text, true, &total))
		return;
	load_tell("total", total);
	load_next();
}

static void
wait_again(struct timer *t)
{
	(void)t;
	if (load.over)
		return;
	if (load_is_late()) {
		load_fail("no answer");
	} else if (load.ports[0] == NULL) {
		if (connect_port(0))
			ask_stats(wait_came, 0);
	} else {
		net_abort(load.ports[0]->conn, ERR_CLOSED, "once more");
		loop_timer_set(load.loop, &own.retry,
		    mono_add_ms(loop_now(load.loop), RETRY_MS));
	}
}

static void
wait_begin(void)
{
	load.may_close = true;
	ask_stats(wait_came, 0);
}

/* --- what became of single URLs ------------------------------------------- */

static void verify_more(void);

static void
verify_came(uint64_t tag, enum grpc_code code, struct str text)
{
	const struct load_sample *e = &load.samples[tag];
	Urlfrontier__URLItem *item = NULL;

	if (code == GRPC_OK)
		item = urlfrontier__urlitem__unpack(load_allocator(), text.n,
		    (const uint8_t *)text.p);
	else if (code != GRPC_NOT_FOUND &&
	    !load_is_ok("GetURLStatus", code, text))
		return;
	if (item == NULL ||
	    item->item_case != URLFRONTIER__URLITEM__ITEM_KNOWN ||
	    item->known->refetchable_from_date != e->date_s)
		own.verify_wrong++;
	own.verify_done++;
	verify_more();
}

static void
verify_more(void)
{
	char url[LOAD_TEXT_MAX], key[LOAD_TEXT_MAX];

	while (own.verify_next < load.samples_n && !load.over &&
	    own.verify_next - own.verify_done < VERIFY_WINDOW) {
		Urlfrontier__URLStatusRequest r =
		    URLFRONTIER__URLSTATUS_REQUEST__INIT;
		uint64_t n = load.samples[own.verify_next].url;
		load_url_text(n, url);
		load_key_text(load_queue(n), key);
		r.url = url;
		r.key = key;
		load_ask("GetURLStatus", &r.base, verify_came,
		    own.verify_next++);
	}
	if (own.verify_done == load.samples_n && !load.over) {
		load_tell("final_states", load.samples_n);
		load_tell_wrong("final_wrong", own.verify_wrong);
		load_next();
	}
}

/* --- the start ------------------------------------------------------------ */

static void
delay_came(uint64_t tag, enum grpc_code code, struct str text)
{
	(void)tag;
	if (load_is_ok("SetDelay", code, text))
		load_next();
}

static void
set_delay(void)
{
	Urlfrontier__QueueDelayParams p =
	    URLFRONTIER__QUEUE_DELAY_PARAMS__INIT;

	p.delay_requestable = (uint32_t)load.o.delay;
	load_ask("SetDelay", &p.base, delay_came, 0);
}

static void (*const put_steps[])(void) = { stats_before, load_put,
	stats_after, NULL };
static void (*const updates_steps[])(void) = { stats_before, load_put,
	verify_more, stats_after, NULL };
static void (*const get_steps[])(void) = { stats_before, set_delay, load_get,
	verify_more, stats_after, NULL };
static void (*const stats_steps[])(void) = { stats_begin, NULL };
static void (*const wait_steps[])(void) = { wait_begin, NULL };

static const struct mode {
	const char *name;
	void (*const *steps)(void);
	const uint64_t *ports;      /* NULL: one */
} modes[] = {
	{ "put", put_steps, &load.o.streams },
	{ "updates", updates_steps, NULL },
	{ "get", get_steps, &load.o.workers },
	{ "stats", stats_steps, NULL },
	{ "wait", wait_steps, NULL },
};

static uint64_t *
option(const char *name)
{
	static const struct {
		const char *name;
		uint64_t *at;
	} all[] = {
#define LOAD_PLACE(name, value, help) { "--" #name, &load.o.name },
	    LOAD_OPTIONS(LOAD_PLACE)
#undef LOAD_PLACE
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (strcmp(all[i].name, name) == 0)
			return all[i].at;
	return NULL;
}

static int
usage(void)
{
	fputs("usage: frontier_load [--NAME N ...] "
	    "put|updates|get|stats|wait ADDRESS PORT\n", stderr);
#define LOAD_HELP(name, value, help) \
	fprintf(stderr, "  --%-11s %s (%d)\n", #name, help, value);
	LOAD_OPTIONS(LOAD_HELP)
#undef LOAD_HELP
	return 64;
}

static bool
fits(const struct load_options *o)
{
	return o->streams >= 1 && o->streams <= LOAD_PORTS_MAX &&
	    o->workers >= 1 && o->workers <= LOAD_PORTS_MAX &&
	    o->queues >= 1 && o->queues <= 100000000 && o->window >= 1 &&
	    o->known <= 100 && o->later <= 100 && o->seconds <= 86400 &&
	    (o->known == 0 || (o->from > 0 && o->later == 0)) &&
	    (o->batch == 0 || o->later == 0) && o->batch <= 10000 &&
	    o->from + o->count < UINT64_C(10000000000);
}

static const struct mode *
read_options(int argc, char **argv)
{
	uint64_t port;
	int i = 1;

	for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
		uint64_t *at = option(argv[i]);
		if (at == NULL || !str_to_u64(str_of(argv[i + 1]), at))
			return NULL;
	}
	if (argc - i != 3 || !fits(&load.o) ||
	    !str_to_u64(str_of(argv[i + 2]), &port) || port > UINT16_MAX)
		return NULL;
	load.target.address = argv[i + 1];
	load.target.port = (uint16_t)port;
	for (size_t m = 0; m < ARRAY_LEN(modes); m++)
		if (strcmp(modes[m].name, argv[i]) == 0)
			return &modes[m];
	return NULL;
}

static void
print_json(void)
{
	int64_t cpu_ns, rss;

	clock_process_use(&cpu_ns, &rss);
	printf("{\"mode\":\"%s\"%s,\"wrong\":%llu,\"client_cpu_s\":%.3f,"
	    "\"client_rss_mb\":%.1f,\"failed\":\"", load.mode,
	    buf_text(&load.json), (unsigned long long)load.wrong,
	    (double)cpu_ns / 1e9, (double)rss / 1e6);
	for (const char *p = load.failed; *p != '\0'; p++)
		putchar(*p == '"' || *p == '\\' || *p < ' ' ? ' ' : *p);
	printf("\"}\n");
}

static void
run(const struct mode *m)
{
	struct net_limits limits = NET_LIMITS_DEFAULT;

	system_ignore_sigpipe();
	load.mode = m->name;
	load.loop = loop_new("load");
	load.net = net_new(load.loop, &limits);
	load.now_s = (uint64_t)wall_s(clock_wall());
	load.until = mono_add_ms(loop_now(load.loop),
	    (int64_t)load.o.seconds * 1000);
	own.limit.fire = overdue;
	own.retry.fire = wait_again;
	loop_timer_set(load.loop, &own.limit,
	    mono_add_ms(load.until, GRACE_MS));
	load.ports_n = m->ports != NULL ? (size_t)*m->ports : 1;
	load.step = m->steps;
	for (size_t i = 0; i < load.ports_n; i++)
		if (!connect_port(i))
			return;
	(*load.step)();
	loop_run(load.loop);
}

int
main(int argc, char **argv)
{
	const struct mode *m = read_options(argc, argv);

	if (m == NULL)
		return usage();
	run(m);
	load.over = load.may_close = true;
	net_free(&load.net);
	loop_timer_stop(load.loop, &own.limit);
	loop_timer_stop(load.loop, &own.retry);
	loop_free(&load.loop);
	print_json();
	arena_free(&own.arena);
	buf_free(&load.json);
	mem_free(&load.took_ns);
	mem_free(&load.samples);
	return load.failed[0] != '\0' ? 69 : load.wrong > 0 ? 1 : 0;
}
