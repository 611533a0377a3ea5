/*
 * frontier_get -- the reading half of frontier_load: workers that are served,
 * answer what they got, and ask again.
 *
 *     GetURLs ─► URLs ─► its end ─► PutURLs, due in an hour ─► all OK ─► again
 *
 * Only GetURLs is timed.  Looked at beside: that no queue is served before its
 * delay or its block is over, that no URL comes again that was answered, that
 * each URL is one of ours in its own queue, and how often each queue is served.
 *
 * A breach is certain: it is counted when a URL was here before the delay,
 * counted from the beginning of the call that served the queue before, was
 * over.  A server that keeps its delays cannot look too fast by this.
 */
#include "bench/frontier_load.h"
#include "os/clock.h"

#define EMPTY_WAIT_MS 2
#define EMPTY_MAX 100            /* in a row, where nothing is to come */
#define SAMPLES_MAX 1000
#define BLOCK_S 2

struct worker {
	struct grpc_call *get, *put;
	struct mono began;           /* the GetURLs under way */
	uint64_t queue;              /* of the URL before */
	uint64_t *urls;
	size_t n, cap;               /* that came by this call */
	size_t sent, acked;          /* answers to them */
	unsigned empty;              /* calls in a row without a URL */
	bool closed;                 /* it asks and answers no more */
	struct timer again;
};

struct seen {
	uint32_t served;
	uint32_t block_until_s;
	int64_t block_ns;            /* when the block had been said */
	int64_t began_ns;            /* the call that served it last */
};

static struct {
	struct worker workers[LOAD_PORTS_MAX];
	size_t open;
	struct seen *queues;
	uint64_t *came;              /* a bit for each URL */
	uint64_t calls, empty, urls, answered;
	uint64_t breaches, blocked, foreign, twice, split, refused;
	struct mono began;
	bool over;                   /* no call is to begin any more */
	struct timer control;
	uint64_t controls, control_date;
} get;

static void ask(struct worker *);

/* ---- What came ----------------------------------------------------------- */

static void
look_at_queue(struct worker *w, uint64_t q)
{
	struct seen *s = &get.queues[q];
	int64_t now = clock_mono().ns;

	if (s->served > 0 && load.o.delay > 0 &&
	    now - s->began_ns < (int64_t)load.o.delay * NS_PER_S)
		get.breaches++;
	if (s->block_ns != 0 && s->block_ns < w->began.ns &&
	    wall_s(clock_wall()) <= (int64_t)s->block_until_s)
		get.blocked++;
	if (s->served > 0 && s->began_ns == w->began.ns)
		get.split++;
	s->served++;
	s->began_ns = w->began.ns;
}

static void
keep_url(struct worker *w, uint64_t url)
{
	if (w->n == w->cap) {
		w->cap = w->cap * 2 + 128;
		w->urls = mem_resize(w->urls, w->cap, sizeof(*w->urls));
	}
	w->urls[w->n++] = url;
}

static void
on_url(struct grpc_call *c, struct str message)
{
	struct worker *w = grpc_arg(c);
	char key[LOAD_TEXT_MAX];
	uint64_t url;

	if (load.over)
		return;
	Urlfrontier__URLInfo *i = urlfrontier__urlinfo__unpack(
	    load_allocator(), message.n, (const uint8_t *)message.p);
	if (i == NULL) {
		load_fail("GetURLs: a message is malformed");
		return;
	}
	if (!load_url_read(i->url, &url) || url >= load.o.from) {
		get.foreign++;
		return;
	}
	load_key_text(load_queue(url), key);
	if (strcmp(key, i->key) != 0)
		get.foreign++;
	if (load_bit(get.came, url) && load.o.answer)
		get.twice++;
	if (load_queue(url) != w->queue)
		look_at_queue(w, load_queue(url));
	w->queue = load_queue(url);
	keep_url(w, url);
}

/* ---- Answers ------------------------------------------------------------- */

static uint64_t
date_of(uint64_t url)
{
	return load.now_s + LOAD_LATER_S + url % 1000;
}

static void
answer_more(struct grpc_call *c)
{
	struct worker *w = grpc_arg(c);
	char url[LOAD_TEXT_MAX], key[LOAD_TEXT_MAX], id[LOAD_TEXT_MAX];
	enum grpc_room r = GRPC_ROOM;

	while (r == GRPC_ROOM && w->sent < w->n && !load.over) {
		Urlfrontier__URLInfo info = URLFRONTIER__URLINFO__INIT;
		Urlfrontier__KnownURLItem known =
		    URLFRONTIER__KNOWN_URLITEM__INIT;
		Urlfrontier__URLItem item = URLFRONTIER__URLITEM__INIT;
		uint64_t n = w->urls[w->sent];
		load_id_text(w->sent++, id);
		load_url_text(n, url);
		load_key_text(load_queue(n), key);
		info.url = url;
		info.key = key;
		known.info = &info;
		known.refetchable_from_date = date_of(n);
		item.id = id;
		item.item_case = URLFRONTIER__URLITEM__ITEM_KNOWN;
		item.known = &known;
		r = load_send(c, &item.base);
	}
}

static void
on_answered(struct grpc_call *c, struct str message)
{
	struct worker *w = grpc_arg(c);

	if (load.over)
		return;
	Urlfrontier__AckMessage *a = urlfrontier__ack_message__unpack(
	    load_allocator(), message.n, (const uint8_t *)message.p);
	if (a == NULL || w->acked == w->sent) {
		load_fail("PutURLs: an answer that nobody asked for");
		return;
	}
	if (a->status != URLFRONTIER__ACK_MESSAGE__STATUS__OK)
		get.refused++;
	get.answered++;
	if (++w->acked == w->n)
		ask(w);
}

static void report(void);

static void
on_put_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct worker *w = grpc_arg(c);

	w->put = NULL;
	if (load.over)
		return;
	if (code != GRPC_OK || !w->closed)
		load_fail("PutURLs ended: %s %.*s", grpc_code_name(code),
		    STR_FMT(text));
	else if (--get.open == 0)
		report();
}

/* ---- Asking -------------------------------------------------------------- */

static void
answer_all(struct worker *w)
{
	w->sent = w->acked = 0;
	if (w->n == 0) {
		loop_timer_set(load.loop, &w->again,
		    mono_add_ms(loop_now(load.loop), EMPTY_WAIT_MS));
	} else if (load.o.answer == 0) {
		ask(w);
	} else {
		if (load.samples_n < SAMPLES_MAX)
			load_expect(w->urls[0], date_of(w->urls[0]));
		answer_more(w->put);
	}
}

static void
on_get_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct worker *w = grpc_arg(c);

	w->get = NULL;
	if (load.over || !load_is_ok("GetURLs", code, text))
		return;
	get.urls += w->n;
	if (w->n > 0) {
		load_took(clock_mono().ns - w->began.ns);
		get.calls++;
		w->empty = 0;
	} else {
		get.empty++;
		w->empty++;
	}
	answer_all(w);
}

static bool
is_over(const struct worker *w)
{
	return get.over || get.calls >= load.o.count || load_is_late() ||
	    (w->empty >= EMPTY_MAX && load.o.delay == 0 && load.o.answer);
}

static void
ask(struct worker *w)
{
	static const struct grpc_events on = { .on_message = on_url,
	    .on_end = on_get_end };
	Urlfrontier__AnyCrawlID any = URLFRONTIER__ANY_CRAWL_ID__INIT;
	Urlfrontier__GetParams p = URLFRONTIER__GET_PARAMS__INIT;

	if (is_over(w)) {
		get.over = w->closed = true;
		grpc_half_close(w->put);
		return;
	}
	p.max_queues = (uint32_t)load.o.queues_max;
	p.max_urls_per_queue = (uint32_t)load.o.urls_max;
	p.delay_requestable = (uint32_t)load.o.lease;
	p.item_case = URLFRONTIER__GET_PARAMS__ITEM_ANY_CRAWL_ID;
	p.anycrawlid = &any;
	w->n = 0;
	w->queue = UINT64_MAX;
	w->began = clock_mono();
	w->get = load_call((size_t)(w - get.workers), "GetURLs", &on, w);
	if (w->get == NULL)
		return;
	(void)load_send(w->get, &p.base);
	grpc_half_close(w->get);
}

static void
ask_again(struct timer *t)
{
	if (!load.over)
		ask(CONTAINER(t, struct worker, again));
}

/* ---- Control calls meanwhile --------------------------------------------- */

static void
controlled(uint64_t queue, enum grpc_code code, struct str text)
{
	/* It may come behind the end of the run. */
	if (!load_is_ok("a call of control", code, text) || get.queues == NULL)
		return;
	if (queue != UINT64_MAX) {
		get.queues[queue].block_until_s = (uint32_t)get.control_date;
		get.queues[queue].block_ns = clock_mono().ns;
	}
	loop_timer_set(load.loop, &get.control,
	    mono_add_ms(loop_now(load.loop), (int64_t)load.o.control));
}

static void
control(struct timer *t)
{
	Urlfrontier__BlockQueueParams block =
	    URLFRONTIER__BLOCK_QUEUE_PARAMS__INIT;
	Urlfrontier__QueueDelayParams delay =
	    URLFRONTIER__QUEUE_DELAY_PARAMS__INIT;
	Urlfrontier__QueueWithinCrawlParams stats =
	    URLFRONTIER__QUEUE_WITHIN_CRAWL_PARAMS__INIT;
	char key[LOAD_TEXT_MAX];
	uint64_t q = load_mix(get.controls) % load.o.queues;

	(void)t;
	if (load.over || get.over)
		return;
	load_key_text(q, key);
	block.key = delay.key = stats.key = key;
	get.control_date = (uint64_t)wall_s(clock_wall()) + BLOCK_S;
	block.time = get.control_date;
	delay.delay_requestable = (uint32_t)load.o.delay;
	switch (get.controls++ % 3) {
	case 0:
		load_ask("BlockQueueUntil", &block.base, controlled, q);
		break;
	case 1:
		load_ask("SetDelay", &delay.base, controlled, UINT64_MAX);
		break;
	default:
		load_ask("GetStats", &stats.base, controlled, UINT64_MAX);
	}
}

/* ---- The run ------------------------------------------------------------- */

/* 1 when all queues are served alike, 1/n when one has it all (Jain). */
static void
tell_fairness(void)
{
	uint64_t least = UINT64_MAX, most = 0, queues = 0;
	double sum = 0, squares = 0;

	for (uint64_t q = 0; q < load.o.queues; q++) {
		double x = get.queues[q].served;
		least = MIN(least, get.queues[q].served);
		most = MAX(most, get.queues[q].served);
		queues += get.queues[q].served > 0;
		sum += x;
		squares += x * x;
	}
	load_tell("queues_served", queues);
	load_tell("serves_least", least);
	load_tell("serves_most", most);
	load_tell_real("serves_mean", sum / (double)load.o.queues);
	if (squares > 0)
		load_tell_real("jain", sum * sum / squares /
		    (double)load.o.queues);
}

static void
report(void)
{
	double timed = 0, wall = (double)mono_ns_between(get.began,
	    clock_mono()) / 1e9;

	loop_timer_stop(load.loop, &get.control);
	for (size_t i = 0; i < load.took_n; i++)
		timed += (double)load.took_ns[i] / 1e9;
	timed /= (double)load.o.workers;
	load_tell("calls", get.calls);
	load_tell("empty", get.empty);
	load_tell("urls", get.urls);
	load_tell("answered", get.answered);
	load_tell("controls", get.controls);
	load_tell_real("seconds", wall);
	if (timed > 0) {
		load_tell_real("calls_per_s", (double)get.calls / timed);
		load_tell_real("urls_per_s", (double)get.urls / timed);
	}
	load_tell_took();
	tell_fairness();
	load_tell_wrong("breaches", get.breaches);
	load_tell_wrong("blocked_served", get.blocked);
	load_tell_wrong("foreign", get.foreign);
	load_tell_wrong("twice", get.twice);
	load_tell_wrong("split", get.split);
	load_tell_wrong("refused", get.refused);
	for (size_t i = 0; i < load.ports_n; i++)
		mem_free(&get.workers[i].urls);
	mem_free(&get.queues);
	mem_free(&get.came);
	load_next();
}

void
load_get(void)
{
	static const struct grpc_events on = { .on_message = on_answered,
	    .on_writable = answer_more, .on_end = on_put_end };

	get.queues = mem_array(load.o.queues, sizeof(*get.queues));
	get.came = load_bits(load.o.from);
	get.open = load.ports_n;
	get.began = clock_mono();
	get.control.fire = control;
	if (load.o.control > 0)
		loop_timer_set(load.loop, &get.control,
		    loop_now(load.loop));
	for (size_t i = 0; i < load.ports_n && !load.over; i++) {
		struct worker *w = &get.workers[i];
		w->again.fire = ask_again;
		w->put = load_call(i, "PutURLs", &on, w);
		if (w->put != NULL)
			ask(w);
	}
}
