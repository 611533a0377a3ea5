#include "daemon/routes.h"

#include "base/metric.h"
#include "cli/cli.h"
#include "cli/report.h"
#include "server/json_writer.h"

#define JSON_TYPE "application/json"

static void
get_metrics(struct web_request *r)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	metric_write(&b);
	web_answer(r, 200, METRIC_CONTENT_TYPE, buf_str(&b));
}

static void
answer_state(struct web_request *r, bool fine, struct str state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	json_object(&b, NULL);
	json_str(&b, "state", state);
	buf_put_text(&b, "}\n");
	web_answer(r, fine ? 200 : 503, JSON_TYPE, buf_str(&b));
}

static void
get_health(struct web_request *r)
{
	const struct served *s = web_arg(r);

	answer_state(r, s->health == ENGINE_FINE,
	    str_of(report_health_name(s->health)));
}

/* Whether requests of all kinds are answered, for load balancers. */
static void
get_ready(struct web_request *r)
{
	struct served *s = web_arg(r);
	FREED(buf_free) struct buf text = BUF_INIT;
	bool ready = !s->loading(s->arg, &text) && s->health == ENGINE_FINE;

	if (text.n == 0)
		buf_put_text(&text, ready ? "ready" :
		    report_health_name(s->health));
	if (!ready)
		web_add_field(r, "retry-after", "1");
	answer_state(r, ready, buf_str(&text));
}

static void
get_status(struct web_request *r)
{
	struct served *s = web_arg(r);
	FREED(buf_free) struct buf b = BUF_INIT;

	s->status(s->arg, &b);
	web_answer(r, 200, JSON_TYPE, buf_str(&b));
}

#define ROW(path, handle, help, open) { "GET", path, WEB_EXACT, handle, NULL, \
	help, open, TOKEN_DOOR_CONSOLE, TOKEN_READ, .early = true }
static const struct web_route table[] = {
	ROW("/healthz", get_health, "200 while writes succeed, else 503",
	    WEB_TO_ALL),
	ROW("/readyz", get_ready, "200 once everything is served, else 503 and "
	    "what the start is doing", WEB_TO_ALL),
	ROW("/metrics", get_metrics, "figures for Prometheus", WEB_TO_NOBODY),
	ROW("/status", get_status, "the crawls and what the engine is doing, "
	    "as JSON", WEB_TO_NOBODY),
};
_Static_assert(ARRAY_LEN(table) <= SERVE_ROUTES_MAX, "the table is too long");

size_t
serve_routes(struct served *s, struct web_route rows[static SERVE_ROUTES_MAX])
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		rows[i] = table[i];
		rows[i].arg = s;
	}
	return ARRAY_LEN(table);
}

void
serve_figures_route(struct web_route *row)
{
	*row = (struct web_route)ROW("/metrics", get_metrics,
	    "figures for Prometheus", WEB_TO_NOBODY);
}
