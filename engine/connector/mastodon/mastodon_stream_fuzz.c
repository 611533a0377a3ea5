/*
 * Any answers and events of a stream.  The first byte chooses the stream, the
 * rest are things that happen, which lines of "--" part, by their first byte:
 *
 *     "R"   it is saved, and goes on in another run
 *     "E"   the rest is an event
 *     "A"   an answer to the access, "P" to the page, "S" to what is out: a
 *           line with the status, fields of a head, an empty line, a body
 *
 * Calls must stay on the instance or below its host, at most one of each kind
 * may be out, texts are on one line, and a run ends once.
 */
#include "base/text.h"
#include "engine/connector/connectors.h"
#include "engine/connector/order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define CREDENTIAL "\"credentials\":{\"instance\":\"a.example\","            \
	"\"access_token\":\"x\"}}"
#define MARKS_N 3

static const char *const messages[] = {
	"{" CREDENTIAL,
	"{\"seeds\":[{\"token\":\"public/remote\"}]," CREDENTIAL,
	"{\"seeds\":[{\"token\":{\"stream\":\"hashtag/local\",\"tag\":\"a b\"}"
	    "}]," CREDENTIAL,
};

static struct {
	struct arena arena;          /* the order's */
	yyjson_doc *doc;
	struct connector_order order;
	struct connector_run *run;
	struct connector_call calls[MARKS_N];
	bool out[MARKS_N];
	uint64_t counted, came;
	unsigned ends;
	bool again;
} now;

/* ---- Findings ------------------------------------------------------------ */

static void
check_line(struct str text)
{
	CHECK(text.n > 0 && text_is_utf8(text) && !text_has_control(text));
}

static void
on_count(void *arg, const char *label, uint64_t count)
{
	(void)arg;
	CHECK(str_eq(str_of(label), STR("mastodon posts")) && count > 0);
	now.counted += count;
}

static void
on_seed(void *arg, const struct connector_seed *s, struct str uid,
    struct str token)
{
	(void)arg;
	(void)s;
	(void)uid;
	(void)token;
	CHECK(false);
}

static void
on_note(void *arg, enum connector_level level, const char *code,
    struct str text, const struct connector_seed *s)
{
	(void)arg;
	(void)level;
	CHECK(s == NULL && text_is_token(str_of(code)));
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
	(void)arg;
	(void)key;
	(void)value;
	CHECK(false);
}

static void
on_again(void *arg, unsigned seconds)
{
	(void)arg;
	CHECK(seconds > 0 && seconds <= 25);
	now.again = true;
}

static void
on_skip(void *arg, const struct connector_seed *s)
{
	(void)arg;
	(void)s;
	CHECK(false);
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
	CHECK(false);
}

static const struct connector_findings findings = { NULL, on_count, on_seed,
	on_note, on_text, on_state, on_text, on_again, on_skip, on_fail,
	on_done };

/* ---- Driving ------------------------------------------------------------- */

static void
open_run(size_t which)
{
	const struct connector *c = connector_find(STR("mastodon_stream"));
	const char *code;

	now.arena = ARENA_INIT;
	now.doc = yyjson_read(messages[which], strlen(messages[which]),
	    YYJSON_READ_NUMBER_AS_RAW);
	CHECK(connector_order_read(c, yyjson_doc_get_root(now.doc), &now.arena,
	    &now.order, &code, NULL) == OK);
	CHECK(c->open(&now.order, &now.run, NULL) == OK);
	memset(now.out, 0, sizeof(now.out));
}

static void
close_run(void)
{
	now.order.connector->close(&now.run);
	yyjson_doc_free(now.doc);
	arena_free(&now.arena);
}

static void
load_anew(size_t which)
{
	FREED(buf_free) struct buf saved = BUF_INIT;
	FREED(buf_free) struct buf twice = BUF_INIT;

	now.order.connector->save(now.run, &saved);
	CHECK(saved.n <= CONNECTOR_SAVED_BYTES_MAX);
	close_run();
	open_run(which);
	CHECK(now.order.connector->load(now.run, buf_str(&saved), NULL) == OK);
	now.order.connector->save(now.run, &twice);
	CHECK(str_eq(buf_str(&saved), buf_str(&twice)));
}

static void
check_call(const struct connector_call *call)
{
	struct str url = call->url;

	check_line(url);
	CHECK(str_find_char(url, ' ') == url.n);
	CHECK(str_starts(url, STR("https://")));
	struct str host = str_from(url, 8);
	host = str_cut(host, 0, str_find_char(host, '/'));
	host = str_cut(host, 0, str_find_char(host, ':'));
	CHECK(str_eq(host, STR("a.example")) ||
	    str_ends(host, STR(".a.example")));
	CHECK(call->mark < MARKS_N && !now.out[call->mark]);
	CHECK(call->not_before.us >= 0);
}

static void
collect_calls(void)
{
	struct connector_call call;
	enum connector_next next;

	while ((next = now.order.connector->next(now.run, &call)) ==
	    CONNECTOR_CALL) {
		check_call(&call);
		now.calls[call.mark] = call;
		now.out[call.mark] = true;
	}
	CHECK((next == CONNECTOR_END) == (now.ends == 1));
}

static bool
is_answer(const struct connector_call *call, int status, const yyjson_doc *doc)
{
	if (status >= 200 && status < 300)
		return call->expect == CONNECTOR_EVENTS || doc != NULL;
	for (const int *s = call->statuses; *s != 0; s++)
		if (*s == status)
			return true;
	return false;
}

static void
give_answer(const struct connector_call *call, struct str text, int64_t when_s)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct http_head head;
	struct str line;
	uint64_t status;

	if (!str_split(&text, '\n', &line) || !str_to_u64(line, &status) ||
	    status > 599 || http_parse_fields(text, HTTP_LIMITS_DEFAULT, &a,
	    &head, NULL) != OK)
		return;
	struct str body = call->expect == CONNECTOR_EVENTS ? STR_NONE :
	    str_from(text, head.n);
	yyjson_doc *doc = body.p == NULL ? NULL : yyjson_read(body.p, body.n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	if (is_answer(call, (int)status, doc)) {
		yyjson_val *json = yyjson_doc_get_root(doc);
		now.came += yyjson_arr_size(json);
		now.again = false;
		now.order.connector->answer(now.run, call,
		    &(struct connector_answer){ .status = (int)status,
		    .head = &head, .json = json,
		    .when = { when_s * US_PER_S } }, &findings);
		now.out[call->mark] = now.again;
	}
	yyjson_doc_free(doc);
}

static void
happen(size_t which, struct str what, int64_t when_s)
{
	static const char marks[] = "A P";

	if (what.n == 0)
		return;
	if (what.p[0] == 'R') {
		load_anew(which);
		return;
	}
	for (unsigned mark = 0; mark < MARKS_N; mark++) {
		struct connector_call call = now.calls[mark];
		if (!now.out[mark])
			continue;
		if (what.p[0] == 'E' && call.expect == CONNECTOR_EVENTS) {
			now.came++;
			now.order.connector->line(now.run, &call,
			    str_from(what, 1), &findings);
			return;
		}
		if (what.p[0] != 'E' && (what.p[0] == marks[mark] ||
		    what.p[0] == 'S')) {
			give_answer(&call, str_from(what, 1), when_s);
			return;
		}
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	size_t which = n == 0 ? 0 : data[0] % ARRAY_LEN(messages);
	struct str rest = str_from((struct str){ (const char *)data, n }, 1);
	const struct str all = rest;

	now.counted = now.came = 0;
	now.ends = 0;
	open_run(which);
	collect_calls();
	for (int64_t when_s = 1; rest.n > 0; when_s++) {
		size_t at = str_find(rest, STR("\n--\n"));
		happen(which, str_cut(rest, 0, at), when_s);
		rest = str_from(rest, at + 4);
		collect_calls();
		CHECK(now.counted <= now.came);
	}
	close_run();
	/* Bytes as a checkpoint. */
	open_run(which);
	(void)now.order.connector->load(now.run, all, NULL);
	close_run();
	return 0;
}
