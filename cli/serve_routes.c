#include "cli/serve_routes.h"

#include "base/metric.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/report.h"

#define JSON_TYPE "application/json"

/* --- /metrics, /healthz: at once ---------------------------------------- */

static void
get_metrics(struct web_request *r)
{
	struct buf b = BUF_INIT;

	metric_write(&b);
	web_answer(r, 200, METRIC_CONTENT_TYPE, buf_str(&b));
	buf_free(&b);
}

static void
get_health(struct web_request *r)
{
	struct served *s = web_arg(r);
	enum ledger_health h = (enum ledger_health)atomic_load(&s->health);
	struct buf b = BUF_INIT;

	buf_put_char(&b, '{');
	json_str(&b, "state", str_of(report_health_name(h)));
	buf_put_text(&b, "}\n");
	web_answer(r, h == LEDGER_FINE ? 200 : 503, JSON_TYPE, buf_str(&b));
	buf_free(&b);
}

/* --- /status: asked at home, answered here ------------------------------ */

struct question {
	struct mail mail;
	struct served *served;
	struct web *web;
	struct web_request *request;
	struct buf body;
};

static void
deliver_answer(struct mail *m)
{
	struct question *q = CONTAINER(m, struct question, mail);

	web_answer(q->request, 200, JSON_TYPE, buf_str(&q->body));
	buf_free(&q->body);
	mem_free(&q);
}

static void
deliver_question(struct mail *m)
{
	struct question *q = CONTAINER(m, struct question, mail);

	q->served->status(q->served->arg, &q->body);
	q->mail.deliver = deliver_answer;
	web_post(q->web, &q->mail);
}

static void
get_status(struct web_request *r)
{
	struct question *q = mem_new(sizeof(*q));

	q->served = web_arg(r);
	q->web = web_of(r);
	q->request = r;
	q->mail.deliver = deliver_question;
	loop_post(q->served->home, &q->mail);
}

static void
get_root(struct web_request *r)
{
	web_answer(r, 200, JSON_TYPE, STR("{\"name\":\"" CLI_PROGRAM
	    "\",\"version\":\"" ARGIOPE_VERSION "\",\"routes\":[\"/healthz\","
	    "\"/metrics\",\"/status\"]}\n"));
}

static const struct web_route table[] = {
	{ "GET", "/", WEB_EXACT, get_root, NULL, "what there is" },
	{ "GET", "/healthz", WEB_EXACT, get_health, NULL,
	    "200 while writes succeed, else 503" },
	{ "GET", "/metrics", WEB_EXACT, get_metrics, NULL,
	    "figures for Prometheus" },
	{ "GET", "/status", WEB_EXACT, get_status, NULL,
	    "the crawls and what the engine is doing, as JSON" },
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
	*row = (struct web_route){ "GET", "/metrics", WEB_EXACT, get_metrics,
	    NULL, "figures for Prometheus" };
}
