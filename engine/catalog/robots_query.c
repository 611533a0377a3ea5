/* The verdict of the robots.txt that was fetched last on a URL. */
#include "base/text.h"
#include "engine/catalog/core.h"
#include "engine/fetcher/fetcher.h"
#include "engine/policy/robots.h"

#define ROBOTS_STEPS(X) \
	X(READ_ROBOTS, AT_POOL, read_robots, "it may be long")
enum { ROBOTS_STEPS(REQUEST_ENUM) };

void
robots_verdict_read(const struct catalog *c, struct str url,
    struct str user_agent, struct arena *a, struct robots_verdict *out)
{
	struct str token = text_product_token(user_agent), body;
	struct robots_match match;
	struct url u;

	if (token.n == 0)
		token = atomic_load(c->options.settings)->product_token;
	if (url_parse(url, NULL, a, &u, NULL) != OK ||
	    fetcher_stored_robots(ledger_index(c->options.ledger),
	    url_origin(&u, a), a, &out->fetched, &out->status, &body) != OK)
		return;
	enum robots_status s = robots_from_status(out->status);
	FREED(robots_free) struct robots *r =
	    s == ROBOTS_PARSE ? robots_parse(body, token) :
	    robots_all(s == ROBOTS_ALLOW_ALL);
	out->known = true;
	out->allowed = robots_allows(r, url_target(&u), &match);
	out->line = match.line;
	out->text = arena_copy(a, match.text);
}

struct str
robots_verdict_text(const struct robots_verdict *v, struct arena *a)
{
	const char *verb = v->allowed ? "allows" : "forbids";

	return v->line > 0 ? arena_printf(a, "line %u of robots.txt %s it: "
	    "%.*s", v->line, verb, STR_FMT(v->text)) : arena_printf(a,
	    "robots.txt (status %d) %s it", v->status, verb);
}

static int
read_robots(struct request *r)
{
	struct robots_query *q = CONTAINER(r, struct robots_query, request);

	robots_verdict_read(q->catalog, q->url, q->user_agent, &q->arena,
	    &q->verdict);
	return REQUEST_DONE;
}

static const struct request_step steps[] = { ROBOTS_STEPS(REQUEST_ROW) };

static void
answer(struct request *r)
{
	struct robots_query *q = CONTAINER(r, struct robots_query, request);

	q->done(q);
}

void
catalog_robots(struct catalog *c, struct robots_query *q)
{
	q->arena = ARENA_INIT;
	q->url = arena_copy(&q->arena, q->url);
	q->user_agent = arena_copy(&q->arena, q->user_agent);
	q->verdict = (struct robots_verdict){ 0 };
	q->catalog = c;
	q->request = (struct request){ .done = answer };
	request_start(&q->request, c->options.places, steps, READ_ROBOTS);
}
