/*
 * results -- tests in one request, and what came of a task.
 */
#include "base/json.h"
#include "base/json_writer.h"
#include "cli/simulator/own.h"

/* The body of the crawler for a test: its config, and a stream of its own. */
static yyjson_doc *
make_crawler_body(yyjson_val *config)
{
	static const char text[] = "{\"meta\":{\"links\":[{\"from\":"
	    "{\"type\":\"streams\",\"fid\":\"test\"}}]}}";
	FREED(json_doc_free) yyjson_doc *stream = yyjson_read(text,
	    sizeof(text) - 1, 0);

	return relational_merge(config, yyjson_doc_get_root(stream));
}

/* External object, crawler and task; the request is answered with the task. */
static void
run_test(struct web_request *r, yyjson_val *external, yyjson_val *config)
{
	FREED(json_doc_free) yyjson_doc *body = NULL;
	struct external *x;
	struct crawler *c;
	struct why w = WHY_INIT;

	if (external_new(request_simulator(r), external, &x, &w) != OK) {
		answer_fault(r, err_http(w.err), "external.%s", w.text);
		return;
	}
	body = make_crawler_body(config);
	c = crawler_new(r, x, yyjson_doc_get_root(body));
	if (c != NULL)
		start_task(r, c, NULL);
	else
		external_free(request_simulator(r), x);
}

void
post_run(struct web_request *r)
{
	FREED(json_doc_free) yyjson_doc *body = NULL;
	yyjson_val *external, *config;

	if (!request_json(r, &body))
		return;
	external = yyjson_obj_get(yyjson_doc_get_root(body), "external");
	config = yyjson_obj_get(yyjson_doc_get_root(body), "config");
	if (!yyjson_is_obj(external))
		answer_fault(r, 400, "external: must be an object");
	else if (!json_is_absent(config) && !yyjson_is_obj(config))
		answer_fault(r, 400, "config: must be an object");
	else
		run_test(r, external, config);
}

void
get_demo(struct web_request *r)
{
	FREED(json_doc_free) yyjson_doc *external = NULL;
	FREED(json_doc_free) yyjson_doc *config = NULL;
	struct arena *a = web_arena(r);
	struct str base = simulator_base(request_simulator(r), a);
	struct str x = arena_printf(a, "{\"meta\":{\"name\":\"Demo\","
	    "\"description\":\"Uploads numbered documents\"},"
	    "\"endpoint\":\"%.*s/demo/crawler\",\"docIdField\":\"id\","
	    "\"parameters\":[{\"name\":\"documents\",\"type\":\"integer\","
	    "\"req\":true,\"min\":1,\"max\":1000}]}", STR_FMT(base));
	struct str k = STR("{\"params\":{\"documents\":20}}");

	external = yyjson_read(x.p, x.n, 0);
	config = yyjson_read(k.p, k.n, 0);
	run_test(r, yyjson_doc_get_root(external),
	    yyjson_doc_get_root(config));
}

void
get_log(struct web_request *r)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	const struct task *t = find_task(r, 1);
	uint64_t most, first;

	if (t == NULL)
		return;
	most = (uint64_t)t->simulator->limits.log_lines_max;
	first = t->log_n > most ? t->log_n - most : 0;
	json_object(&b, NULL);
	json_array(&b, "lines");
	for (uint64_t i = first; i < t->log_n; i++) {
		const struct task_log_line *l = &t->log[i % most];
		json_object(&b, NULL);
		json_u64(&b, "number", i + 1);
		json_time(&b, "time", l->at);
		json_str(&b, "text", str_of(l->text));
		buf_put_char(&b, '}');
	}
	buf_put_text(&b, "]}");
	answer_payload(r, 200, buf_str(&b));
}

void
get_output(struct web_request *r)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	const struct task *t = find_task(r, 1);

	if (t == NULL)
		return;
	if (t->simulator->discards) {
		answer_fault(r, 409, "documents are discarded: the simulator "
		    "was started with --discard");
		return;
	}
	document_set_write(t->documents, &b);
	log_request(r, 200, "");
	web_answer(r, 200, "application/x-ndjson; charset=utf-8",
	    buf_str(&b));
}
