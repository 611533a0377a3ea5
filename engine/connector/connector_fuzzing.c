#include "engine/connector/connector_fuzzing.h"

#include "base/text.h"
#include "engine/connector/connectors.h"
#include "engine/connector/order.h"

#define AGAIN_S_MAX (26u * 3600)

static struct {
	const struct fuzzing *what;
	size_t which;                /* of its harvests */
	struct arena arena;          /* the order's */
	yyjson_doc *doc;
	struct connector_order order;
	struct connector_run *run;
	uint64_t counted, came;
	int64_t answers;
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
	check_line(str_of(label));
	CHECK(count > 0);
	now.counted += count;
}

static void
on_seed(void *arg, const struct connector_seed *s, struct str uid,
    struct str token)
{
	(void)arg;
	CHECK(s >= now.order.seeds && s < now.order.seeds + now.order.seeds_n);
	CHECK(uid.n > 0 || token.n > 0);
	CHECK(!text_has_control(uid) && !text_has_control(token));
}

static void
on_note(void *arg, enum connector_level level, const char *code,
    struct str text, const struct connector_seed *s)
{
	(void)arg;
	(void)level;
	(void)s;
	CHECK(text_is_token(str_of(code)));
	check_line(text);
}

static void
on_url(void *arg, struct str url)
{
	(void)arg;
	check_line(url);
}

static void
on_state(void *arg, struct str key, struct str value)
{
	(void)arg;
	check_line(key);
	check_line(value);
}

static void
on_deleted(void *arg, struct str id)
{
	(void)arg;
	check_line(id);
}

static void
on_again(void *arg, unsigned seconds)
{
	(void)arg;
	CHECK(seconds > 0 && seconds <= AGAIN_S_MAX);
	now.again++;
}

static void
on_skip(void *arg, const struct connector_seed *s)
{
	(void)arg;
	(void)s;
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
	on_note, on_url, on_state, on_deleted, on_again, on_skip, on_fail,
	on_done };

/* ---- Driving ----------------------------------------------------------- */

static void
open_run(void)
{
	const struct connector *c = connector_find(str_of(
	    now.what->harvests[now.which].type));
	const char *message = now.what->harvests[now.which].message, *code;

	now.arena = ARENA_INIT;
	now.doc = yyjson_read(message, strlen(message),
	    YYJSON_READ_NUMBER_AS_RAW);
	CHECK(connector_order_read(c, yyjson_doc_get_root(now.doc), &now.arena,
	    &now.order, &code, NULL) == OK);
	now.order.state = now.what->states;
	now.order.state_n = now.what->states_n;
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
	CHECK(saved.n < CONNECTOR_SAVED_BYTES_MAX);
	close_run();
	open_run();
	CHECK(now.order.connector->load(now.run, buf_str(&saved), NULL) == OK);
	now.order.connector->save(now.run, &twice);
	CHECK(str_eq(buf_str(&saved), buf_str(&twice)));
}

static bool
is_answer(const struct connector_call *call, int status, const yyjson_doc *doc)
{
	if (call->as_crawl)
		return true;
	if (call->expect == CONNECTOR_FRAMES && (status == 0 || status == 101))
		return true;
	if (call->expect == CONNECTOR_LINES && status == 0)
		return true;
	if (status >= 200 && status < 300)
		return doc != NULL || call->expect == CONNECTOR_LINES;
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
	struct connector_answer answer = { .status = (int)status,
		.head = &head, .when = { ++now.answers * 7000 * US_PER_S } };
	if (call->expect == CONNECTOR_BYTES)
		answer.body = body;
	else
		answer.json = yyjson_doc_get_root(doc);
	if (status == 0)
		answer.head = NULL;
	if (status == 0 && call->as_crawl)
		answer.refused = STR("robots.txt forbids it");
	if (status == 101)
		answer.began = answer.when;
	if (call->expect == CONNECTOR_LINES && status / 100 == 2) {
		answer.began = answer.when;
		answer.json = NULL;
	}
	unsigned again = now.again, ends = now.ends;
	if (is_answer(call, (int)status, doc)) {
		now.came += call->expect == CONNECTOR_BYTES ? body.n :
		    doc == NULL ? 0 : yyjson_doc_get_val_count(doc);
		now.order.connector->answer(now.run, call, &answer, &findings);
		CHECK(now.again + now.ends <= again + ends + 1);
		CHECK(now.counted <= now.came);
	}
	yyjson_doc_free(doc);
}

static bool
is_below(struct str url, struct str base)
{
	struct str rest = str_from(url, base.n);

	return str_starts(url, base) && (!now.what->is_host || rest.n == 0 ||
	    str_has_char(STR("/?"), rest.p[0]));
}

static void
drive(struct str rest)
{
	struct connector_call call, other;

	while (rest.n > 0 && now.order.connector->next(now.run, &call) ==
	    CONNECTOR_CALL) {
		CHECK(is_below(call.url, str_of(now.what->base)));
		check_line(call.url);
		CHECK(str_find_char(call.url, ' ') == call.url.n);
		CHECK(now.order.connector->next(now.run, &other) ==
		    CONNECTOR_WAIT);
		size_t at = str_find(rest, STR("\n--\n"));
		struct str text = str_cut(rest, 0, at);
		rest = str_from(rest, at + 4);
		if ((call.expect == CONNECTOR_FRAMES ||
		    call.expect == CONNECTOR_LINES) &&
		    str_take_char(&text, 'F')) {
			now.came++;
			now.order.connector->line(now.run, &call, text,
			    &findings);
		} else {
			give_answer(&call, text);
		}
		load_anew();
	}
	CHECK(now.ends == (now.order.connector->next(now.run, &call) ==
	    CONNECTOR_END));
}

void
fuzzing_run(const struct fuzzing *what, const uint8_t *data, size_t n)
{
	struct str rest = { (const char *)data, n };

	now.what = what;
	now.which = n == 0 ? 0 : data[0] % what->harvests_n;
	now.counted = now.came = 0;
	now.answers = 0;
	now.ends = now.again = 0;
	open_run();
	drive(str_from(rest, 1));
	close_run();
	open_run();
	struct connector_call call;
	if (now.order.connector->load(now.run, str_from(rest, 1), NULL) == OK)
		(void)now.order.connector->next(now.run, &call);
	close_run();
}
