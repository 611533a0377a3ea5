/*
 * Any answers of an instance.  The first byte chooses the harvest, the rest are
 * answers that lines of "--" part:
 *
 *     STATUS
 *     fields of the head, and an empty line
 *     body
 *
 * After each one the run is saved and goes on in another.  Calls must stay on
 * the instance, texts on one line, counts within what came, and a run that has
 * ended must have said so once.
 */
#include "base/text.h"
#include "engine/connector/connectors.h"
#include "engine/connector/order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define BASE "https://a.example/api/"
#define PUBLIC "\"credentials\":{\"instance\":\"a.example\"}}"
#define TOKEN "\"credentials\":{\"instance\":\"a.example\","                 \
	"\"access_token\":\"x\"}}"

static const struct {
	const char *type, *message;
} harvests[] = {
	{ "mastodon_account", "{\"seeds\":[{\"token\":\"ada\"},{\"uid\":8,"
	    "\"token\":\"bob@b.example\"}]," PUBLIC },
	{ "mastodon_account", "{\"seeds\":[{\"token\":\"ada\"},{\"uid\":8}],"
	    "\"options\":{\"limit\":3,\"incremental\":true}," TOKEN },
	{ "mastodon_hashtag", "{\"seeds\":[{\"token\":\"cats\"},{\"token\":"
	    "{\"tag\":\"owls\",\"local\":true,\"any\":[\"x\"]}}]," PUBLIC },
	{ "mastodon_hashtag", "{\"seeds\":[{\"token\":\"cats\"}],\"options\":"
	    "{\"incremental\":true}," TOKEN },
};

static const struct connector_state states[] = {
	{ { "https://a.example.7.min_id", 26 }, { "41", 2 } },
	{ { "https://a.example.cats.min_id", 29 }, { "6", 1 } },
};

static struct {
	struct arena arena;          /* the order's */
	yyjson_doc *doc;
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
	CHECK(str_eq(str_of(label), STR("mastodon posts")) && count > 0);
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
	CHECK(str_starts(key, STR("https://a.example.")) &&
	    str_ends(key, STR(".min_id")));
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
	CHECK(seconds > 0 && seconds <= 25);
	now.again++;
}

static void
on_skip(void *arg, const struct connector_seed *s)
{
	(void)arg;
	CHECK(s != NULL);
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
open_run(size_t which)
{
	const struct connector *c = connector_find(str_of(
	    harvests[which].type));
	const char *message = harvests[which].message, *code;

	now.arena = ARENA_INIT;
	now.doc = yyjson_read(message, strlen(message),
	    YYJSON_READ_NUMBER_AS_RAW);
	CHECK(connector_order_read(c, yyjson_doc_get_root(now.doc), &now.arena,
	    &now.order, &code, NULL) == OK);
	now.order.state = states;
	now.order.state_n = ARRAY_LEN(states);
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
load_anew(size_t which)
{
	FREED(buf_free) struct buf saved = BUF_INIT;
	FREED(buf_free) struct buf twice = BUF_INIT;

	now.order.connector->save(now.run, &saved);
	CHECK(saved.n < 1024);
	close_run();
	open_run(which);
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

/* False: it is none that would reach a connector. */
static bool
give_answer(const struct connector_call *call, struct str text)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct http_head head;
	struct str line;
	uint64_t status;

	if (!str_split(&text, '\n', &line) || !str_to_u64(line, &status) ||
	    status > 599)
		return false;
	if (http_parse_fields(text, HTTP_LIMITS_DEFAULT, &a, &head, NULL) != OK)
		return false;
	struct str body = str_from(text, head.n);
	yyjson_doc *doc = yyjson_read(body.p, body.n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	bool fine = is_answer(call, (int)status, doc);
	struct connector_answer answer = { .status = (int)status,
	    .head = &head, .json = yyjson_doc_get_root(doc) };
	unsigned again = now.again, ends = now.ends;
	if (fine) {
		now.came += yyjson_arr_size(answer.json);
		now.order.connector->answer(now.run, call, &answer, &findings);
		CHECK(now.again + now.ends <= again + ends + 1);
		CHECK(now.counted <= now.came);
	}
	yyjson_doc_free(doc);
	return fine;
}

static void
drive(size_t which, struct str rest)
{
	struct connector_call call, other;

	while (rest.n > 0 && now.order.connector->next(now.run, &call) ==
	    CONNECTOR_CALL) {
		CHECK(str_starts(call.url, STR(BASE)));
		check_line(call.url);
		CHECK(str_find_char(call.url, ' ') == call.url.n);
		CHECK(now.order.connector->next(now.run, &other) ==
		    CONNECTOR_WAIT);
		size_t at = str_find(rest, STR("\n--\n"));
		struct str text = str_cut(rest, 0, at);
		rest = str_from(rest, at + 4);
		(void)give_answer(&call, text);
		load_anew(which);
	}
	CHECK(now.ends == (now.order.connector->next(now.run, &call) ==
	    CONNECTOR_END));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	size_t which = n == 0 ? 0 : data[0] % ARRAY_LEN(harvests);
	struct str rest = { (const char *)data, n };

	now.counted = now.came = 0;
	now.ends = now.again = 0;
	open_run(which);
	drive(which, str_from(rest, 1));
	close_run();
	/* Bytes as a checkpoint. */
	open_run(which);
	(void)now.order.connector->load(now.run, str_from(rest, 1), NULL);
	close_run();
	return 0;
}
