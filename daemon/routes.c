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
get_health(struct web_request *r)
{
	struct served *s = web_arg(r);
	enum engine_health h = s->health;
	FREED(buf_free) struct buf b = BUF_INIT;

	buf_put_char(&b, '{');
	json_str(&b, "state", str_of(report_health_name(h)));
	buf_put_text(&b, "}\n");
	web_answer(r, h == ENGINE_FINE ? 200 : 503, JSON_TYPE, buf_str(&b));
}

/* Whether requests of all kinds are answered, for load balancers. */
static void
get_ready(struct web_request *r)
{
	struct served *s = web_arg(r);
	FREED(buf_free) struct buf b = BUF_INIT, text = BUF_INIT;
	bool ready = !s->loading(s->arg, &text) && s->health == ENGINE_FINE;

	if (text.n == 0)
		buf_put_text(&text, ready ? "ready" :
		    report_health_name(s->health));
	buf_put_char(&b, '{');
	json_str(&b, "state", buf_str(&text));
	buf_put_text(&b, "}\n");
	if (!ready)
		web_add_field(r, "retry-after", "1");
	web_answer(r, ready ? 200 : 503, JSON_TYPE, buf_str(&b));
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
