#include "engine/connector/connector_testing.h"

#include "engine/connector/connectors.h"

enum mode { STRAIGHT, SAVED, SILENT };

/* One run of a harvest. */
struct driver {
	const struct testing_harvest *harvest;
	enum mode mode;
	struct arena arena;          /* the order's */
	yyjson_doc *doc;
	struct connector_order order;
	struct connector_run *run;
	struct buf outcome;
	bool calls_only, findings_only;
	bool again, ended;
};

/* ---- Findings ---------------------------------------------------------- */

PRINTF_LIKE(2, 3) static void
put_line(void *arg, const char *fmt, ...)
{
	struct driver *d = arg;
	char line[20000];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	assert_in_range(n, 1, sizeof(line) - 1);
	if (d->calls_only && strncmp(line, "call ", 5) != 0)
		return;
	if (d->findings_only && strncmp(line, "call ", 5) == 0)
		return;
	buf_put_text(&d->outcome, line);
	buf_put_char(&d->outcome, '\n');
}

static void
on_count(void *arg, const char *label, uint64_t n)
{
	put_line(arg, "count %s %llu", label, (unsigned long long)n);
}

static void
on_seed(void *arg, const struct connector_seed *s, struct str uid,
    struct str token)
{
	put_line(arg, "seed %.*s uid=%.*s token=%.*s", STR_FMT(s->id),
	    STR_FMT(uid), STR_FMT(token));
}

static void
on_note(void *arg, enum connector_level level, const char *code,
    struct str text, const struct connector_seed *s)
{
	put_line(arg, "%s %s%s%.*s: %.*s", level == CONNECTOR_INFO ? "info" :
	    "warning", code, s == NULL ? "" : " seed=",
	    STR_FMT(s == NULL ? STR_NONE : s->id), STR_FMT(text));
}

static void
on_url(void *arg, struct str url)
{
	put_line(arg, "url %.*s", STR_FMT(url));
}

static void
on_state(void *arg, struct str key, struct str value)
{
	put_line(arg, "state %.*s=%.*s", STR_FMT(key), STR_FMT(value));
}

static void
on_deleted(void *arg, struct str id)
{
	put_line(arg, "deleted %.*s", STR_FMT(id));
}

static void
on_again(void *arg, unsigned seconds)
{
	((struct driver *)arg)->again = true;
	put_line(arg, "again %u", seconds);
}

static void
on_skip(void *arg, const struct connector_seed *s)
{
	put_line(arg, "skip %.*s", STR_FMT(s->id));
}

static void
end_once(struct driver *d)
{
	assert_false(d->ended);
	d->ended = true;
}

static void
on_fail(void *arg, const char *code, struct str text)
{
	end_once(arg);
	put_line(arg, "fail %s: %.*s", code, STR_FMT(text));
}

static void
on_done(void *arg)
{
	end_once(arg);
	put_line(arg, "done");
}

static struct connector_findings
findings_of(struct driver *d)
{
	return (struct connector_findings){ d, on_count, on_seed, on_note,
		on_url, on_state, on_deleted, on_again, on_skip, on_fail,
		on_done };
}

/* ---- An order ---------------------------------------------------------- */

static enum err
read_order(struct driver *d, const char **code, struct why *w)
{
	const struct testing_harvest *h = d->harvest;
	const struct connector *c = connector_find(str_of(h->type));
	size_t n = 0;

	assert_non_null(c);
	d->arena = ARENA_INIT;
	d->doc = yyjson_read(h->message, strlen(h->message),
	    YYJSON_READ_NUMBER_AS_RAW);
	assert_non_null(d->doc);
	enum err e = connector_order_read(c, yyjson_doc_get_root(d->doc),
	    &d->arena, &d->order, code, w);
	if (e != OK)
		return e;
	while (h->state != NULL && h->state[2 * n] != NULL)
		n++;
	struct connector_state *state = ARENA_ARRAY(&d->arena,
	    struct connector_state, n);
	for (size_t i = 0; i < n; i++)
		state[i] = (struct connector_state){ str_of(h->state[2 * i]),
			str_of(h->state[2 * i + 1]) };
	qsort(state, n, sizeof(*state), str_order);
	d->order.state = state;
	d->order.state_n = n;
	*code = "bad_request";
	return c->open(&d->order, &d->run, w);
}

static void
close_order(struct driver *d)
{
	if (d->run != NULL)
		d->order.connector->close(&d->run);
	assert_null(d->run);
	yyjson_doc_free(d->doc);
	arena_free(&d->arena);
}

static void
open_order(struct driver *d)
{
	struct why w = WHY_INIT;
	const char *code;
	enum err e = read_order(d, &code, &w);

	if (e != OK)
		fail_msg("%s", w.text);
}

/* What is saved now goes on in another run. */
static void
load_anew(struct driver *d)
{
	struct buf saved = BUF_INIT, twice = BUF_INIT;

	d->order.connector->save(d->run, &saved);
	assert_in_range(saved.n, 1, CONNECTOR_SAVED_BYTES_MAX);
	close_order(d);
	open_order(d);
	assert_int_equal(d->order.connector->load(d->run, buf_str(&saved),
	    NULL), OK);
	d->order.connector->save(d->run, &twice);
	assert_true(str_eq(buf_str(&saved), buf_str(&twice)));
	buf_free(&saved);
	buf_free(&twice);
}

/* ---- Driving ----------------------------------------------------------- */

/* " bearer KEY" and the like; "" without a secret. */
static void
put_auth(const struct connector_call *call, struct buf *out)
{
	static const char *const words[] = {
		[CONNECTOR_ANONYMOUS] = "", [CONNECTOR_BEARER] = " bearer ",
		[CONNECTOR_QUERY] = " query ",
		[CONNECTOR_OAUTH1_CONSUMER] = " oauth1 ",
		[CONNECTOR_OAUTH1] = " oauth1 ",
		[CONNECTOR_APP_BEARER] = " app ",
		[CONNECTOR_HEADER] = " header ", [CONNECTOR_BASIC] = " basic ",
	};
	bool signs = call->auth == CONNECTOR_OAUTH1_CONSUMER ||
	    call->auth == CONNECTOR_OAUTH1;

	assert_int_equal(call->secret != NULL,
	    call->auth != CONNECTOR_ANONYMOUS);
	assert_int_equal(call->secret_name != NULL, call->auth ==
	    CONNECTOR_QUERY || call->auth == CONNECTOR_HEADER);
	assert_int_equal(call->consumer_secret != NULL, signs || call->auth ==
	    CONNECTOR_APP_BEARER || call->auth == CONNECTOR_BASIC);
	assert_int_equal(call->token != NULL && call->token_secret != NULL,
	    call->auth == CONNECTOR_OAUTH1);
	assert_int_equal(call->token_url != NULL,
	    call->auth == CONNECTOR_APP_BEARER);
	buf_put_text(out, words[call->auth]);
	if (call->secret_name != NULL)
		buf_printf(out, "%s=", call->secret_name);
	if (call->secret != NULL)
		buf_put_text(out, call->secret);
	if (call->consumer_secret != NULL)
		buf_printf(out, ",%s", call->consumer_secret);
	if (call->token != NULL)
		buf_printf(out, ",%s,%s", call->token, call->token_secret);
	if (call->token_url != NULL)
		buf_printf(out, " from %s", call->token_url);
}

static bool
is_stream(const struct connector_call *call)
{
	return call->expect != CONNECTOR_JSON &&
	    call->expect != CONNECTOR_BYTES;
}

/* How the request differs from a plain one. */
static void
put_extras(const struct connector_call *call, struct buf *out)
{
	assert_true(call->expect == CONNECTOR_FRAMES ||
	    (call->protocol == NULL && call->hello.n == 0));
	if (call->as_crawl)
		buf_put_text(out, " as a crawl");
	for (size_t i = 0; i < call->fields_n; i++)
		buf_printf(out, " [%s: %.*s]", call->fields[i].name,
		    STR_FMT(call->fields[i].value));
	if (call->protocol != NULL)
		buf_printf(out, " protocol=%s", call->protocol);
	if (call->hello.n > 0)
		buf_printf(out, " hello=%.*s", STR_FMT(call->hello));
	if (call->as_metadata)
		buf_put_text(out, " metadata");
}

static void
put_call(struct driver *d, const struct connector_call *call)
{
	static const char *const methods[] = { [CONNECTOR_GET] = "",
		[CONNECTOR_POST_FORM] = " form ",
		[CONNECTOR_POST_JSON] = " json " };
	FREED(buf_free) struct buf more = BUF_INIT;
	bool stream = is_stream(call);

	assert_int_equal(call->statuses == NULL, call->as_crawl);
	assert_true(call->budget == NULL || !call->as_crawl);
	assert_int_equal(stream, call->silence_s > 0);
	assert_true(call->method != CONNECTOR_GET || call->body.n == 0);
	buf_printf(&more, "%s%.*s", methods[call->method],
	    STR_FMT(call->body));
	put_auth(call, &more);
	put_extras(call, &more);
	if (stream)
		buf_printf(&more, " silence=%u", call->silence_s);
	if (call->not_before.us != 0)
		buf_printf(&more, " from=%lld",
		    (long long)wall_s(call->not_before));
	put_line(d, "call %.*s%s", STR_FMT(call->url), buf_text(&more));
}

/* Whether the driver would hand on an answer of that status. */
static bool
is_known(const struct connector_call *call, int status)
{
	bool stream = is_stream(call);

	if (call->as_crawl || (stream && status == 0) || (status == 101 &&
	    call->expect == CONNECTOR_FRAMES) || status / 100 == 2)
		return true;
	for (const int *s = call->statuses; *s != 0; s++)
		if (*s == status)
			return true;
	return false;
}

/* As the driver of harvests does: what it keeps to itself is none of the
 * test's answers. */
static void
give_answer(struct driver *d, const struct connector_call *call,
    const struct testing_answer *given, bool cut, int64_t began_s,
    int64_t when_s)
{
	struct arena a = ARENA_INIT;
	struct buf text = BUF_INIT;
	struct http_head head;
	yyjson_doc *doc = yyjson_read(given->body, strlen(given->body),
	    YYJSON_READ_BIGNUM_AS_RAW);
	bool fine = given->status / 100 == 2 || given->status == 101;
	bool stream = is_stream(call);
	bool refused = call->as_crawl && given->status == 0;
	bool bytes = call->expect == CONNECTOR_BYTES && !refused;
	struct connector_findings f = findings_of(d);

	assert_true(is_known(call, given->status));
	assert_true(!fine || bytes || (doc != NULL) != stream);
	/* Without an answer its head is of no interest. */
	buf_printf(&text, "HTTP/1.1 %d Said\r\n%s\r\n",
	    given->status == 0 ? 500 : given->status, given->fields);
	assert_int_equal(http_parse_head(buf_str(&text), false,
	    HTTP_LIMITS_DEFAULT, &a, &head, NULL), OK);
	d->again = false;
	d->order.connector->answer(d->run, call, &(struct connector_answer){
		.status = given->status,
		.head = given->status == 0 ? NULL : &head,
		.json = bytes ? NULL : yyjson_doc_get_root(doc),
		.body = bytes ? str_of(given->body) : STR_NONE,
		.refused = refused ? str_of(given->body) : STR_NONE,
		.began = { stream && fine ? began_s * US_PER_S : 0 },
		.cut = cut,
		.when = { when_s * US_PER_S } }, &f);
	yyjson_doc_free(doc);
	buf_free(&text);
	arena_free(&a);
}

/* Until it ends or the answers are used up. */
static void
drive(struct driver *d)
{
	const struct testing_harvest *h = d->harvest;
	struct connector_call call, other;
	size_t i = 0;

	for (d->again = false;; i++) {
		if (d->mode == SAVED) {
			load_anew(d);
			d->again = false;
		}
		const struct connector *c = d->order.connector;
		if (!d->again && c->next(d->run, &call) == CONNECTOR_END)
			break;
		assert_int_equal(c->next(d->run, &other), CONNECTOR_WAIT);
		put_call(d, &call);
		if (i == h->answers_n) {
			put_line(d, "cut");
			return;
		}
		give_answer(d, &call, &h->answers[i], false, 0,
		    (int64_t)i + 1);
	}
	assert_true(d->ended);
	assert_int_equal(i, h->answers_n);
}

static void
run_harvest(struct driver *d, struct buf *saved)
{
	open_order(d);
	drive(d);
	if (d->mode == SAVED)
		load_anew(d);
	d->order.connector->save(d->run, saved);
	close_order(d);
}

static void
expect_same(const char *got, const char *want)
{
	if (strcmp(got, want) != 0)
		print_message("it came:\n%s", got);
	assert_string_equal(got, want);
}

/* With its findings thrown away, none but calls are compared. */
static void
expect_calls_in(struct buf *calls, const char *outcome)
{
	struct str rest = str_of(outcome), line;
	struct buf want = BUF_INIT;

	while (str_split(&rest, '\n', &line))
		if (str_starts(line, STR("call "))) {
			buf_put_str(&want, line);
			buf_put_char(&want, '\n');
		}
	expect_same(buf_text(calls), buf_text(&want));
	buf_free(&want);
}

static void
expect_outcome(const struct testing_harvest *h, const char *outcome,
    bool findings_only)
{
	struct buf saved[3] = { BUF_INIT, BUF_INIT, BUF_INIT };

	for (enum mode mode = STRAIGHT; mode <= SILENT; mode++) {
		struct driver d = { .harvest = h, .mode = mode,
			.calls_only = mode == SILENT,
			.findings_only = findings_only && mode != SILENT };
		run_harvest(&d, &saved[mode]);
		if (mode != SILENT)
			expect_same(buf_text(&d.outcome), outcome);
		else if (!findings_only)
			expect_calls_in(&d.outcome, outcome);
		assert_true(str_eq(buf_str(&saved[0]), buf_str(&saved[mode])));
		buf_free(&d.outcome);
	}
	for (size_t i = 0; i < ARRAY_LEN(saved); i++)
		buf_free(&saved[i]);
}

void
testing_expect(const struct testing_harvest *h, const char *outcome)
{
	expect_outcome(h, outcome, false);
}

void
testing_expect_findings(const struct testing_harvest *h, const char *findings)
{
	expect_outcome(h, findings, true);
}

/* ---- Streams ----------------------------------------------------------- */

#define OUT_MAX 4        /* the driver's connector.calls_max */

/* Calls that are out. */
struct out {
	struct connector_call calls[OUT_MAX];
	int64_t began_s[OUT_MAX];    /* when they were made */
	size_t n;
};

static void
collect_calls(struct driver *d, struct out *out, int64_t now_s)
{
	struct connector_call call;

	while (d->order.connector->next(d->run, &call) == CONNECTOR_CALL) {
		assert_in_range(out->n, 0, OUT_MAX - 1);
		put_call(d, &call);
		out->began_s[out->n] = MAX(now_s, wall_s(call.not_before));
		out->calls[out->n++] = call;
	}
}

static size_t
find_call(const struct out *out, unsigned mark)
{
	size_t i = 0;

	while (i < out->n && out->calls[i].mark != mark)
		i++;
	assert_true(i < out->n);
	return i;
}

static void
take_step(struct driver *d, struct out *out, const struct testing_step *s,
    int64_t when_s)
{
	struct connector_findings f = findings_of(d);

	if (s->what == TESTING_RESTART) {
		load_anew(d);
		out->n = 0;
		return;
	}
	size_t i = find_call(out, s->mark);
	if (s->what == TESTING_EVENT) {
		assert_true(is_stream(&out->calls[i]));
		d->order.connector->line(d->run, &out->calls[i],
		    str_of(s->text), &f);
		return;
	}
	give_answer(d, &out->calls[i], &(struct testing_answer){ s->status,
		s->fields == NULL ? "" : s->fields,
		s->text == NULL ? "" : s->text }, s->what == TESTING_CUT,
	    out->began_s[i], when_s);
	if (d->again)
		return;
	out->n--;
	out->calls[i] = out->calls[out->n];
	out->began_s[i] = out->began_s[out->n];
}

static void
run_steps(struct driver *d, const struct testing_step *steps, size_t n,
    struct buf *saved)
{
	struct out out = { .n = 0 };

	open_order(d);
	collect_calls(d, &out, 0);
	for (size_t i = 0; i < n; i++) {
		take_step(d, &out, &steps[i], (int64_t)i + 1);
		collect_calls(d, &out, (int64_t)i + 1);
	}
	d->order.connector->save(d->run, saved);
	close_order(d);
}

void
testing_expect_steps(const char *type, const char *message,
    const struct testing_step *steps, size_t n, const char *outcome)
{
	const struct testing_harvest h = { type, message, NULL, NULL, 0 };
	struct driver straight = { .harvest = &h };
	struct driver silent = { .harvest = &h, .calls_only = true };
	struct buf saved = BUF_INIT, other = BUF_INIT;

	run_steps(&straight, steps, n, &saved);
	expect_same(buf_text(&straight.outcome), outcome);
	run_steps(&silent, steps, n, &other);
	expect_calls_in(&silent.outcome, outcome);
	assert_true(str_eq(buf_str(&saved), buf_str(&other)));
	buf_free(&straight.outcome);
	buf_free(&silent.outcome);
	buf_free(&saved);
	buf_free(&other);
}

void
testing_refuse(const char *type, const char *message, const char *code,
    const char *text)
{
	const struct testing_harvest h = { type, message, NULL, NULL, 0 };
	struct driver d = { .harvest = &h };
	struct why w = WHY_INIT;
	const char *got;

	assert_int_equal(read_order(&d, &got, &w), ERR_INPUT);
	assert_string_equal(got, code);
	assert_string_equal(w.text, text);
	assert_null(d.run);
	close_order(&d);
}

/* ---- Checkpoints ------------------------------------------------------- */

static void
refuse_checkpoint(const struct testing_harvest *h, struct str saved)
{
	struct driver d = { .harvest = h };
	struct why w = WHY_INIT;

	open_order(&d);
	assert_int_equal(d.order.connector->load(d.run, saved, &w),
	    ERR_CORRUPT);
	assert_true(w.text[0] != '\0');
	close_order(&d);
}

void
testing_damage(const char *type, const char *message)
{
	const struct testing_harvest h = { type, message, NULL, NULL, 0 };
	struct driver d = { .harvest = &h };
	struct buf saved = BUF_INIT;

	open_order(&d);
	d.order.connector->save(d.run, &saved);
	assert_int_equal(d.order.connector->load(d.run, buf_str(&saved), NULL),
	    OK);
	size_t seeds = MAX(d.order.seeds_n, 1);
	close_order(&d);
	for (size_t n = 0; n < saved.n; n++)
		refuse_checkpoint(&h, str_cut(buf_str(&saved), 0, n));
	buf_put_char(&saved, 0);
	refuse_checkpoint(&h, buf_str(&saved));
	saved.n--;
	saved.p[2] = (char)seeds;
	refuse_checkpoint(&h, buf_str(&saved));
	saved.p[2] = 0;
	saved.p[1] = 100;
	refuse_checkpoint(&h, buf_str(&saved));
	buf_free(&saved);
}
