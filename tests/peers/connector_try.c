/*
 * connector_try -- runs a connector for a script that makes its calls.
 *
 *     connector_try TYPE MESSAGE-FILE [STATE-FILE]
 *
 * It prints lines, whose parts tabs separate, and ends each turn with "turn":
 *
 *     call URL EXPECT PROTOCOL HELLO NAME: VALUE ...
 *     count N      state KEY VALUE      seed ID UID TOKEN      url URL
 *     note CODE TEXT      deleted ID      skip ID      again SECONDS
 *     fail CODE TEXT      done
 *
 * and reads what came, each time followed by the bytes that it names:
 *
 *     answer STATUS HEAD-BYTES BODY-BYTES      frame BYTES
 *
 * HEAD has fields and an empty line.  After each turn the run is saved and goes
 * on in another, so a call is printed anew.  It ends with the run, or with its
 * input.
 */
#include "engine/connector/connectors.h"
#include "engine/connector/order.h"

#define STATES_MAX 1000

static struct {
	struct buf message, state_text;
	struct arena arena;
	yyjson_doc *doc, *state_doc;
	struct connector_state states[STATES_MAX];
	struct connector_order order;
	struct connector_run *run;
	int64_t turns;
	bool again;
} now;

static NORETURN void
die(const char *what)
{
	fprintf(stderr, "connector_try: %s\n", what);
	exit(2);
}

/* ---- Findings ---------------------------------------------------------- */

static void
on_count(void *arg, const char *label, uint64_t n)
{
	(void)arg;
	(void)label;
	printf("count\t%llu\n", (unsigned long long)n);
}

static void
on_seed(void *arg, const struct connector_seed *s, struct str uid,
    struct str token)
{
	(void)arg;
	printf("seed\t%.*s\t%.*s\t%.*s\n", STR_FMT(s->id), STR_FMT(uid),
	    STR_FMT(token));
}

static void
on_note(void *arg, enum connector_level level, const char *code,
    struct str text, const struct connector_seed *s)
{
	(void)arg;
	(void)level;
	(void)s;
	printf("note\t%s\t%.*s\n", code, STR_FMT(text));
}

static void
on_url(void *arg, struct str url)
{
	(void)arg;
	printf("url\t%.*s\n", STR_FMT(url));
}

static void
on_state(void *arg, struct str key, struct str value)
{
	(void)arg;
	printf("state\t%.*s\t%.*s\n", STR_FMT(key), STR_FMT(value));
}

static void
on_deleted(void *arg, struct str id)
{
	(void)arg;
	printf("deleted\t%.*s\n", STR_FMT(id));
}

static void
on_again(void *arg, unsigned seconds)
{
	(void)arg;
	now.again = true;
	printf("again\t%u\n", seconds);
}

static void
on_skip(void *arg, const struct connector_seed *s)
{
	(void)arg;
	printf("skip\t%.*s\n", STR_FMT(s->id));
}

static void
on_fail(void *arg, const char *code, struct str text)
{
	(void)arg;
	printf("fail\t%s\t%.*s\n", code, STR_FMT(text));
}

static void
on_done(void *arg)
{
	(void)arg;
	printf("done\n");
}

static const struct connector_findings findings = { NULL, on_count, on_seed,
	on_note, on_url, on_state, on_deleted, on_again, on_skip, on_fail,
	on_done };

/* ---- A run ------------------------------------------------------------- */

static void
read_file(const char *path, struct buf *out)
{
	FILE *f = fopen(path, "rb");
	char part[4096];
	size_t n;

	if (f == NULL)
		die(path);
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		buf_put(out, part, n);
	fclose(f);
}

/* {"key":"value", ...} */
static void
read_state(const char *path)
{
	yyjson_val *key, *value;
	size_t i, n;

	read_file(path, &now.state_text);
	now.state_doc = yyjson_read(now.state_text.p, now.state_text.n, 0);
	yyjson_obj_foreach(yyjson_doc_get_root(now.state_doc), i, n, key,
	    value)
		if (i < STATES_MAX)
			now.states[i] = (struct connector_state){
				json_text(key), json_text(value) };
	now.order.state_n = MIN(n, STATES_MAX);
	qsort(now.states, now.order.state_n, sizeof(now.states[0]), str_order);
}

static void
open_run(const char *type)
{
	const struct connector *c = connector_find(str_of(type));
	struct why w = WHY_INIT;
	size_t states_n = now.order.state_n;
	const char *code;

	if (c == NULL)
		die(type);
	now.arena = ARENA_INIT;
	now.doc = yyjson_read(now.message.p, now.message.n,
	    YYJSON_READ_NUMBER_AS_RAW);
	if (connector_order_read(c, yyjson_doc_get_root(now.doc), &now.arena,
	    &now.order, &code, &w) != OK)
		die(w.text);
	now.order.state = now.states;
	now.order.state_n = states_n;
	if (c->open(&now.order, &now.run, &w) != OK)
		die(w.text);
}

static void
close_run(void)
{
	now.order.connector->close(&now.run);
	yyjson_doc_free(now.doc);
	arena_free(&now.arena);
}

static void
load_anew(const char *type)
{
	struct buf saved = BUF_INIT;

	now.order.connector->save(now.run, &saved);
	CHECK(saved.n <= CONNECTOR_SAVED_BYTES_MAX);
	close_run();
	open_run(type);
	CHECK(now.order.connector->load(now.run, buf_str(&saved), NULL) == OK);
	buf_free(&saved);
}

/* ---- Turns ------------------------------------------------------------- */

static void
print_call(const struct connector_call *call)
{
	static const char *const words[] = { [CONNECTOR_JSON] = "json",
		[CONNECTOR_BYTES] = "bytes", [CONNECTOR_EVENTS] = "events",
		[CONNECTOR_LINES] = "lines", [CONNECTOR_FRAMES] = "frames" };

	printf("call\t%.*s\t%s\t%s\t%.*s", STR_FMT(call->url),
	    words[call->expect], call->protocol == NULL ? "" : call->protocol,
	    STR_FMT(call->hello));
	for (size_t i = 0; i < call->fields_n; i++)
		printf("\t%s: %.*s", call->fields[i].name,
		    STR_FMT(call->fields[i].value));
	putchar('\n');
}

static void
read_bytes_of(unsigned long n, struct buf *out)
{
	if (n > 0 && fread(buf_grow(out, n), 1, n, stdin) != n)
		die("the input ends early");
}

static void
take_answer(const struct connector_call *call, int status, unsigned long head_n,
    unsigned long body_n)
{
	struct arena a = ARENA_INIT;
	struct buf fields = BUF_INIT, body = BUF_INIT;
	struct http_head head;

	read_bytes_of(head_n, &fields);
	read_bytes_of(body_n, &body);
	if (http_parse_fields(buf_str(&fields), HTTP_LIMITS_DEFAULT, &a, &head,
	    NULL) != OK)
		die("the head makes no sense");
	yyjson_doc *doc = yyjson_read(body.p, body.n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	struct connector_answer answer = { .status = status,
		.head = status == 0 ? NULL : &head,
		.when = { ++now.turns * US_PER_S } };
	if (call->expect == CONNECTOR_BYTES)
		answer.body = buf_str(&body);
	else
		answer.json = yyjson_doc_get_root(doc);
	if (status == 0 && call->as_crawl)
		answer.refused = STR("there is no such host");
	now.order.connector->answer(now.run, call, &answer, &findings);
	yyjson_doc_free(doc);
	buf_free(&fields);
	buf_free(&body);
	arena_free(&a);
}

/* False: the input has ended. */
static bool
take_turn(const struct connector_call *call)
{
	unsigned long first, second;
	char line[200];
	int status;

	if (fgets(line, sizeof(line), stdin) == NULL)
		return false;
	if (sscanf(line, "answer %d %lu %lu", &status, &first, &second) == 3) {
		take_answer(call, status, first, second);
	} else if (sscanf(line, "frame %lu", &first) == 1) {
		struct buf text = BUF_INIT;
		read_bytes_of(first, &text);
		now.order.connector->line(now.run, call, buf_str(&text),
		    &findings);
		buf_free(&text);
	} else {
		die(line);
	}
	return true;
}

int
main(int argc, char **argv)
{
	struct connector_call call;

	if (argc < 3)
		die("TYPE MESSAGE-FILE [STATE-FILE]");
	read_file(argv[2], &now.message);
	if (argc > 3)
		read_state(argv[3]);
	open_run(argv[1]);
	while (now.order.connector->next(now.run, &call) == CONNECTOR_CALL) {
		print_call(&call);
		printf("turn\n");
		fflush(stdout);
		if (!take_turn(&call))
			break;
		load_anew(argv[1]);
	}
	fflush(stdout);
	close_run();
	yyjson_doc_free(now.state_doc);
	buf_free(&now.message);
	buf_free(&now.state_text);
	return 0;
}
