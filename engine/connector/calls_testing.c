#include "engine/connector/calls_testing.h"

#include "base/text.h"
#include "engine/connector/connectors.h"
#include "engine/connector/order.h"

#define STATES_MAX 16

static struct {
	const struct testing_calls *harvest;
	struct arena arena;          /* the order's */
	yyjson_doc *doc;
	struct connector_state states[STATES_MAX];
	struct connector_order order;
	struct connector_run *run;
	uint64_t counted, came;
	unsigned ends, again;
} now;

/* ---- Findings ---------------------------------------------------------- */

static void
check_line(struct str text)
{
	CHECK(text.n > 0 && text_is_utf8(text) && !text_has_control(text));
}

static void
on_count(void *arg, const char *label, uint64_t count)
{
	(void)arg;
	CHECK(str_eq(str_of(label), str_of(now.order.connector->label)) &&
	    count > 0);
	now.counted += count;
}

static void
check_seed(const struct connector_seed *s)
{
	CHECK(s >= now.order.seeds && s < now.order.seeds + now.order.seeds_n);
}

static void
on_seed(void *arg, const struct connector_seed *s, struct str uid,
    struct str token)
{
	(void)arg;
	check_seed(s);
	CHECK(uid.n > 0 || token.n > 0);
	CHECK(!text_has_control(uid) && !text_has_control(token));
}

static void
on_note(void *arg, enum connector_level level, const char *code,
    struct str text, const struct connector_seed *s)
{
	(void)arg;
	(void)level;
	if (s != NULL)
		check_seed(s);
	CHECK(text_is_token(str_of(code)));
	check_line(text);
}

static void
on_text(void *arg, struct str text)
{
	(void)arg;
	check_line(text);
}

static void
on_state(void *arg, struct str key, struct str value)
{
	bool known = false;

	(void)arg;
	for (const char *const *e = now.harvest->key_ends; *e != NULL; e++)
		known |= str_ends(key, str_of(*e));
	CHECK(known);
	check_line(key);
	check_line(value);
}

static void
on_again(void *arg, unsigned seconds)
{
	(void)arg;
	CHECK(seconds > 0 && seconds <= 3610);
	now.again++;
}

static void
on_skip(void *arg, const struct connector_seed *s)
{
	(void)arg;
	check_seed(s);
}

static void
on_fail(void *arg, const char *code, struct str text)
{
	(void)arg;
	CHECK(text_is_token(str_of(code)));
	check_line(text);
	now.ends++;
}

static void
on_done(void *arg)
{
	(void)arg;
	now.ends++;
}

static const struct connector_findings findings = { NULL, on_count, on_seed,
	on_note, on_text, on_state, on_text, on_again, on_skip, on_fail,
	on_done };

/* ---- Driving ----------------------------------------------------------- */

static void
open_run(void)
{
	const struct testing_calls *h = now.harvest;
	const struct connector *c = connector_find(str_of(h->type));
	size_t n = 0;
	const char *code;

	now.arena = ARENA_INIT;
	now.doc = yyjson_read(h->message, strlen(h->message),
	    YYJSON_READ_NUMBER_AS_RAW);
	CHECK(connector_order_read(c, yyjson_doc_get_root(now.doc), &now.arena,
	    &now.order, &code, NULL) == OK);
	for (; h->state != NULL && h->state[2 * n] != NULL; n++) {
		CHECK(n < STATES_MAX);
		now.states[n] = (struct connector_state){
			str_of(h->state[2 * n]), str_of(h->state[2 * n + 1]) };
	}
	now.order.state = now.states;
	now.order.state_n = n;
	CHECK(c->open(&now.order, &now.run, NULL) == OK);
}

static void
close_run(void)
{
	now.order.connector->close(&now.run);
	CHECK(now.run == NULL);
	yyjson_doc_free(now.doc);
	arena_free(&now.arena);
}

static void
load_anew(void)
{
	FREED(buf_free) struct buf saved = BUF_INIT;
	FREED(buf_free) struct buf twice = BUF_INIT;

	now.order.connector->save(now.run, &saved);
	CHECK(saved.n <= now.harvest->saved_bytes_max);
	close_run();
	open_run();
	CHECK(now.order.connector->load(now.run, buf_str(&saved), NULL) == OK);
	now.order.connector->save(now.run, &twice);
	CHECK(str_eq(buf_str(&saved), buf_str(&twice)));
}

static bool
is_answer(const struct connector_call *call, int status, const yyjson_doc *doc)
{
	if (status >= 200 && status < 300)
		return doc != NULL;
	for (const int *s = call->statuses; *s != 0; s++)
		if (*s == status)
			return true;
	return false;
}

/* What would not reach a connector is left out. */
static void
give_answer(const struct connector_call *call, struct str text)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct http_head head;
	struct str line;
	uint64_t status;

	if (!str_split(&text, '\n', &line) || !str_to_u64(line, &status) ||
	    status > 599 || http_parse_fields(text, HTTP_LIMITS_DEFAULT, &a,
	    &head, NULL) != OK)
		return;
	struct str body = str_from(text, head.n);
	yyjson_doc *doc = yyjson_read(body.p, body.n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	unsigned again = now.again, ends = now.ends;
	if (is_answer(call, (int)status, doc)) {
		now.came += doc == NULL ? 0 : yyjson_doc_get_val_count(doc);
		now.order.connector->answer(now.run, call,
		    &(struct connector_answer){ .status = (int)status,
			.head = &head, .json = yyjson_doc_get_root(doc) },
		    &findings);
		CHECK(now.again + now.ends <= again + ends + 1);
		CHECK(now.counted <= now.came);
	}
	yyjson_doc_free(doc);
}

static void
drive(struct str rest)
{
	struct connector_call call, other;

	while (rest.n > 0 && now.order.connector->next(now.run, &call) ==
	    CONNECTOR_CALL) {
		CHECK(str_starts(call.url, str_of(now.harvest->base)));
		check_line(call.url);
		CHECK(str_find_char(call.url, ' ') == call.url.n);
		CHECK(now.order.connector->next(now.run, &other) ==
		    CONNECTOR_WAIT);
		size_t at = str_find(rest, STR("\n--\n"));
		struct str text = str_cut(rest, 0, at);
		rest = str_from(rest, at + 4);
		give_answer(&call, text);
		load_anew();
	}
	CHECK(now.ends == (now.order.connector->next(now.run, &call) ==
	    CONNECTOR_END));
}

void
testing_fuzz_calls(const struct testing_calls *harvests, size_t n,
    const uint8_t *data, size_t data_n)
{
	struct str rest = { (const char *)data, data_n };

	now.harvest = &harvests[data_n == 0 ? 0 : data[0] % n];
	now.counted = now.came = 0;
	now.ends = now.again = 0;
	rest = str_from(rest, 1);
	open_run();
	drive(rest);
	close_run();
	/* Bytes as a checkpoint. */
	open_run();
	(void)now.order.connector->load(now.run, rest, NULL);
	close_run();
}
