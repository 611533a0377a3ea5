#include "doors/harvest/sfm_api.h"

#include "engine/parser/url.h"

#define HEAD_BYTES_MAX 65536u
#define CONNECTIONS_MAX 4u
#define NAME_KEPT_S 60

struct sfm_api {
	struct arena arena;
	struct url url;
	struct str base;             /* without a "/" at its end */
	struct str host, host_field; /* host: without brackets */
	struct resolver *resolver;
	struct transport *transport;
};

enum err
sfm_api_open(struct loop *home, struct str text, const char *ca_file,
    struct sfm_api **out, struct why *w)
{
	const struct transport_options o = { .connections_max =
	    CONNECTIONS_MAX, .host_connections_max = CONNECTIONS_MAX,
	    .ca_file = ca_file[0] == '\0' ? NULL : ca_file };
	const struct resolver_options names = { .ttl_s_max = NAME_KEPT_S,
	    .cache_max = 1, .timeout_ms = SFM_API_MS };
	struct sfm_api *s = mem_new(sizeof(*s));

	if (url_parse(text, NULL, &s->arena, &s->url, NULL) != OK ||
	    (s->url.scheme != URL_HTTP && s->url.scheme != URL_HTTPS) ||
	    s->url.query.n > 0 || s->url.username.n > 0) {
		sfm_api_free(&s);
		*out = NULL;
		return why(w, ERR_CONFIG, "harvest.sfm_api: it is no URL such "
		    "as http://sfm.example:8080");
	}
	s->base = s->url.href;
	s->base.n -= s->url.fragment.n;
	while (str_ends(s->base, STR("/")))
		s->base.n--;
	s->host = s->url.host;
	if (str_starts(s->host, STR("[")))
		s->host = str_cut(s->host, 1, s->host.n - 1);
	s->host_field = s->url.port_given ? arena_printf(&s->arena, "%.*s:%u",
	    STR_FMT(s->url.host), s->url.port) : s->url.host;
	s->resolver = resolver_new(home, &names);
	s->transport = transport_new(home, &o);
	*out = s;
	return OK;
}

void
sfm_api_free(struct sfm_api **sp)
{
	struct sfm_api *s = *sp;

	if (s == NULL)
		return;
	if (s->transport != NULL)
		transport_free(&s->transport);
	resolver_free(&s->resolver);
	arena_free(&s->arena);
	mem_free(sp);
}

/* ---- A question ------------------------------------------------------- */

static void
end_question(struct sfm_api_question *q)
{
	q->has_it = q->status == 200;
	arena_free(&q->arena);
	q->done(q);
}

static bool
connected(struct exchange *x, const struct ip *ip)
{
	(void)x;
	(void)ip;
	return true;
}

/* The status is all that matters. */
static bool
head(struct exchange *x, struct str bytes, int status)
{
	struct sfm_api_question *q = CONTAINER(x, struct sfm_api_question,
	    exchange);

	(void)bytes;
	q->status = status;
	return false;
}

static bool
body(struct exchange *x, struct str bytes)
{
	(void)x;
	(void)bytes;
	return false;
}

static void
done(struct exchange *x, enum transport_end end, struct str detail)
{
	struct sfm_api_question *q = CONTAINER(x, struct sfm_api_question,
	    exchange);

	if (q->status != 0)
		snprintf(q->answer, sizeof(q->answer), "status %d", q->status);
	else
		snprintf(q->answer, sizeof(q->answer), "%s: %.80s",
		    transport_end_text(end), detail.n > 0 ? detail.p : "");
	end_question(q);
}

static const struct exchange_events events = { connected, head, body, done };

static void
send_it(struct sfm_api_question *q)
{
	const struct sfm_api *s = q->api;

	q->headers[0] = (struct transport_header){ STR("Host"),
		s->host_field };
	q->headers[1] = (struct transport_header){ STR("Accept"),
		STR("application/json") };
	q->exchange = (struct exchange){ .events = &events,
	    .method = STR("GET"), .url = arena_printf(&q->arena,
	    "%.*s/api/v1/warcs/%.*s/", STR_FMT(s->base),
	    STR_FMT(q->warc_id)), .host = s->url.host, .port = s->url.port,
	    .tls = s->url.scheme == URL_HTTPS, .verify = true,
	    .headers = q->headers, .headers_n = ARRAY_LEN(q->headers),
	    .addresses = q->query.addresses, .addresses_n = q->query.n,
	    .connect_ms = SFM_API_MS, .total_ms = SFM_API_MS,
	    .head_bytes_max = HEAD_BYTES_MAX };
	transport_start(s->transport, &q->exchange);
}

static void
found(struct resolve_query *query)
{
	struct sfm_api_question *q = CONTAINER(query, struct sfm_api_question,
	    query);

	if (query->n > 0) {
		send_it(q);
		return;
	}
	snprintf(q->answer, sizeof(q->answer), "%.110s", query->error);
	end_question(q);
}

void
sfm_api_ask(struct sfm_api *s, struct sfm_api_question *q)
{
	q->api = s;
	q->status = 0;
	q->arena = ARENA_INIT;
	q->query = (struct resolve_query){ .host = s->host, .found = found };
	if (ip_from_text(s->host, &q->query.addresses[0])) {
		q->query.n = 1;
		send_it(q);
	} else {
		resolve_start(s->resolver, &q->query);
	}
}
