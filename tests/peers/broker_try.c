/*
 * broker_try -- drives os/broker by lines on standard input and reports in
 * lines of JSON, for broker.sh.
 *
 *     broker_try URL [--password-file F] [--ca F] [--exchange E]
 *         [--heartbeat S] [--prefetch N] QUEUE[=KEY,KEY...]...
 *
 *     consume Q | cancel Q          as it says
 *     deal ack | hold | slot        deliveries are acknowledged; kept; or
 *                                   their queue is cancelled first
 *     ack N | drop N | requeue N    the delivery with that number
 *     publish KEY ID BYTES          a body of so many bytes
 *     many ID KEY N BYTES           ID-0 ...; what is LOST is sent again
 *     letter QUEUE ID               by the default exchange, with headers
 *     depth Q | delete Q
 *     close MS
 */
#include <unistd.h>

#include "base/text.h"
#include "os/broker.h"
#include "os/system.h"

#define QUEUES_MAX 32
#define KEYS_MAX 16

static struct {
	struct loop *loop;
	struct broker *broker;
	struct broker_queue queues[QUEUES_MAX];
	struct str keys[QUEUES_MAX][KEYS_MAX];
	size_t queues_n;
	struct watch input;
	struct buf line;
	struct str deal;
	bool wanted[QUEUES_MAX];
	struct broker_delivery *held[1000];
	size_t deliveries;
	bool closed;
} t;

/* ---- What is printed ----------------------------------------------------- */

static struct buf out;

static void
put_text(const char *name, struct str value)
{
	buf_printf(&out, "%s\"%s\": ", out.n == 0 ? "{" : ", ", name);
	text_json(&out, value);
}

static void
put_number(const char *name, uint64_t value)
{
	buf_printf(&out, "%s\"%s\": %llu", out.n == 0 ? "{" : ", ", name,
	    (unsigned long long)value);
}

static void
put_why(const struct why *w)
{
	if (w->err == OK)
		return;
	put_text("err", str_of(err_name(w->err)));
	put_text("why", str_of(w->text));
}

static void
print(void)
{
	printf("%s}\n", buf_text(&out));
	fflush(stdout);
	buf_clear(&out);
}

/* ---- Callbacks ----------------------------------------------------------- */

static void
take_event(const struct broker_event *e, void *arg)
{
	static const char *const names[] = { "connected", "disconnected",
		"ready", "failed", "blocked", "unblocked" };

	(void)arg;
	put_text("event", str_of(names[e->kind]));
	if (e->kind == BROKER_QUEUE_READY || e->kind == BROKER_QUEUE_FAILED)
		put_text("queue", t.queues[e->queue].name);
	else
		put_text("side", e->side == BROKER_CONSUMES ?
		    STR("consuming") : STR("publishing"));
	put_number("retry_ms", (uint64_t)e->retry_ms);
	put_number("quorum", e->is_quorum);
	put_why(&e->why);
	print();
}

static void
want(size_t queue, bool wanted)
{
	t.wanted[queue] = wanted;
	(wanted ? broker_consume : broker_cancel)(t.broker, queue);
}

static void
take_delivery(struct broker_delivery *d, void *arg)
{
	size_t number = t.deliveries++ % ARRAY_LEN(t.held);

	(void)arg;
	CHECK(t.wanted[d->queue]);
	put_number("delivery", number);
	put_text("queue", t.queues[d->queue].name);
	put_text("exchange", d->exchange);
	put_text("key", d->routing_key);
	put_text("type", d->content_type);
	put_text("encoding", d->content_encoding);
	put_text("id", d->message_id);
	put_number("redelivered", d->redelivered);
	put_number("too_large", d->too_large);
	put_number("bytes", d->body_bytes);
	put_number("have", d->body.n);
	for (size_t i = 0; i < d->headers_n; i++)
		put_text(arena_copy(&d->arena, d->headers[i].name).p,
		    d->headers[i].value);
	put_text("body", str_cut(buf_str(&d->body), 0, 200));
	print();
	if (str_eq(t.deal, STR("hold"))) {
		t.held[number] = d;
		return;
	}
	if (str_eq(t.deal, STR("slot")))
		want(d->queue, false);
	broker_ack(&d);
}

static void
take_closed(void *arg)
{
	(void)arg;
	t.broker = NULL;
	t.closed = true;
	loop_stop(t.loop);
}

/* ---- Messages ------------------------------------------------------------ */

struct message {
	struct broker_message m;
	struct arena arena;
	bool again;
};

static void
take_result(struct broker_message *m)
{
	static const char *const names[] = { "confirmed", "returned",
		"nacked", "lost", "unsent" };
	struct message *x = CONTAINER(m, struct message, m);

	put_text("result", str_of(names[m->result]));
	put_text("id", m->message_id);
	put_why(&m->why);
	print();
	if (x->again && m->result == BROKER_LOST &&
	    broker_publish(t.broker, m, NULL) == OK)
		return;
	arena_free(&x->arena);
	mem_free(&x);
}

static struct message *
message_of(struct str key, struct str id, uint64_t bytes)
{
	struct message *x = mem_new(sizeof(*x));
	char *body = arena_bytes(&x->arena, bytes + 1);

	memset(body, ' ', bytes);
	if (bytes >= 2) {
		body[0] = '{';
		body[bytes - 1] = '}';
	}
	x->m = (struct broker_message){
		.routing_key = arena_copy(&x->arena, key),
		.message_id = arena_copy(&x->arena, id),
		.timestamp = { 1479600000 * US_PER_S + 999999 },
		.body = { body, bytes }, .done = take_result };
	return x;
}

static void
send(struct message *x)
{
	struct why w = WHY_INIT;

	if (broker_publish(t.broker, &x->m, &w) == OK)
		return;
	put_text("refused", x->m.message_id);
	put_why(&w);
	print();
	arena_free(&x->arena);
	mem_free(&x);
}

static void
send_many(struct str id, struct str key, uint64_t n, uint64_t bytes)
{
	char name[64];

	for (uint64_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%.*s-%llu", STR_FMT(id),
		    (unsigned long long)i);
		struct message *x = message_of(key, str_of(name), bytes);
		x->again = true;
		send(x);
	}
}

static void
send_letter(struct str queue, struct str id)
{
	static const struct broker_header headers[] = {
		{ { "x-argiope-reason", 16 }, { "not_json", 8 } },
		{ { "x-argiope-queue", 15 }, { "a queue", 7 } },
	};
	struct message *x = message_of(queue, id, 10);

	x->m.to_queue = true;
	x->m.headers = headers;
	x->m.headers_n = ARRAY_LEN(headers);
	send(x);
}

/* ---- Questions ----------------------------------------------------------- */

struct question {
	struct broker_question q;
	struct arena arena;
};

static void
take_answer(struct broker_question *q)
{
	struct question *x = CONTAINER(q, struct question, q);

	put_text("answer", q->queue);
	if (q->err == OK) {
		put_number("messages", q->messages);
		put_number("consumers", q->consumers);
	}
	put_why(&q->why);
	print();
	arena_free(&x->arena);
	mem_free(&x);
}

static void
ask(struct str queue, void (*how)(struct broker *, struct broker_question *))
{
	struct question *x = mem_new(sizeof(*x));

	x->q.queue = arena_copy(&x->arena, queue);
	x->q.done = take_answer;
	how(t.broker, &x->q);
}

/* ---- Commands ------------------------------------------------------------ */

static size_t
queue_named(struct str name)
{
	for (size_t i = 0; i < t.queues_n; i++)
		if (str_eq(t.queues[i].name, name))
			return i;
	fprintf(stderr, "broker_try: no queue %.*s\n", STR_FMT(name));
	exit(1);
}

static uint64_t
number_of(struct str text)
{
	uint64_t n;

	if (str_to_u64(text, &n))
		return n;
	fprintf(stderr, "broker_try: no number: %.*s\n", STR_FMT(text));
	exit(1);
}

static struct broker_delivery **
held(struct str number)
{
	return &t.held[number_of(number) % ARRAY_LEN(t.held)];
}

static void
obey(struct str line)
{
	struct str verb, a[4] = { STR_NONE, STR_NONE, STR_NONE, STR_NONE };

	str_split(&line, ' ', &verb);
	for (size_t i = 0; i < ARRAY_LEN(a) && str_split(&line, ' ', &a[i]);
	    i++)
		;
	if (str_eq(verb, STR("consume")))
		want(queue_named(a[0]), true);
	else if (str_eq(verb, STR("cancel")))
		want(queue_named(a[0]), false);
	else if (str_eq(verb, STR("deal")))
		t.deal = str_eq(a[0], STR("hold")) ? STR("hold") :
		    str_eq(a[0], STR("slot")) ? STR("slot") : STR("ack");
	else if (str_eq(verb, STR("ack")))
		broker_ack(held(a[0]));
	else if (str_eq(verb, STR("drop")))
		broker_reject(held(a[0]), false);
	else if (str_eq(verb, STR("requeue")))
		broker_reject(held(a[0]), true);
	else if (str_eq(verb, STR("publish")))
		send(message_of(a[0], a[1], number_of(a[2])));
	else if (str_eq(verb, STR("many")))
		send_many(a[0], a[1], number_of(a[2]), number_of(a[3]));
	else if (str_eq(verb, STR("letter")))
		send_letter(a[0], a[1]);
	else if (str_eq(verb, STR("depth")))
		ask(a[0], broker_depth);
	else if (str_eq(verb, STR("delete")))
		ask(a[0], broker_delete_queue);
	else if (str_eq(verb, STR("close")))
		broker_close(t.broker, (int64_t)number_of(a[0]));
	else
		number_of(verb);
}

static void
read_commands(struct watch *w, unsigned events)
{
	char bytes[4096];
	size_t end;

	(void)events;
	ssize_t n = read(w->fd, bytes, sizeof(bytes));
	if (n <= 0) {
		loop_watch(t.loop, w, 0);
		w->fd = -1;
		return;
	}
	buf_put(&t.line, bytes, (size_t)n);
	while ((end = str_find_char(buf_str(&t.line), '\n')) < t.line.n) {
		obey(str_cut(buf_str(&t.line), 0, end));
		memmove(t.line.p, t.line.p + end + 1, t.line.n - end - 1);
		t.line.n -= end + 1;
	}
}

/* ---- The program --------------------------------------------------------- */

static void
add_queue(const char *word)
{
	struct broker_queue *q = &t.queues[t.queues_n];
	struct str keys = str_of(word);

	CHECK(t.queues_n < QUEUES_MAX);
	str_split(&keys, '=', &q->name);
	q->keys = t.keys[t.queues_n++];
	while (q->keys_n < KEYS_MAX && str_split(&keys, ',',
	    &t.keys[t.queues_n - 1][q->keys_n]))
		q->keys_n++;
}

static void
read_words(char **words, struct broker_options *o, struct broker_limits *l)
{
	for (; *words != NULL; words++) {
		struct str word = str_of(*words);
		if (!str_starts(word, STR("--"))) {
			add_queue(*words);
			continue;
		}
		const char *value = *++words;
		CHECK(value != NULL);
		if (str_eq(word, STR("--password-file")))
			o->password_file = value;
		else if (str_eq(word, STR("--ca")))
			o->tls_ca = value;
		else if (str_eq(word, STR("--exchange")))
			o->exchange = value;
		else if (str_eq(word, STR("--heartbeat")))
			l->heartbeat_s = (int64_t)number_of(str_of(value));
		else if (str_eq(word, STR("--prefetch")))
			l->prefetch_max = (int64_t)number_of(str_of(value));
		else
			number_of(word);
	}
}

int
main(int argc, char **argv)
{
	struct broker_limits limits = BROKER_LIMITS_DEFAULT;
	struct broker_options o = { .url = argc > 1 ? argv[1] : "",
		.exchange = "sfm_exchange", .name = "argiope try",
		.queues = t.queues, .limits = &limits,
		.on_event = take_event, .on_delivery = take_delivery,
		.on_closed = take_closed };
	struct why w = WHY_INIT;

	system_ignore_sigpipe();
	read_words(argv + MIN(argc, 2), &o, &limits);
	t.deal = STR("ack");
	o.queues_n = t.queues_n;
	o.home = t.loop = loop_new("home");
	if (broker_open(&o, &t.broker, &w) != OK) {
		fprintf(stderr, "broker_try: %s\n", w.text);
		return 1;
	}
	t.input = (struct watch){ .fd = 0, .ready = read_commands };
	loop_watch(t.loop, &t.input, LOOP_READ);
	loop_run_until(t.loop, &t.closed);
	put_text("event", STR("closed"));
	print();
	for (size_t i = 0; i < ARRAY_LEN(t.held); i++)
		broker_delivery_free(&t.held[i]);
	buf_free(&t.line);
	buf_free(&out);
	loop_free(&t.loop);
	return 0;
}
