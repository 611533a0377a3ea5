#include "doors/harvest/api.h"

#include "base/json_writer.h"
#include "engine/connector/item_date.h"
#include "engine/harvest/place.h"
#include "engine/store/store_async.h"

#define JSON_TYPE "application/json"
#define SEEDS_MAX 1000u

struct api_query {
	struct harvest_door *door;
	struct web_request *request;
	struct store_job job;
	struct arena arena;
	struct why why;
	bool of_collections, one;
	struct store_warc_query want;
	struct str prefix;           /* of collections */
	uint64_t limit, offset;
	struct buf again;            /* the other parameters, "a=b&c=d" */
	struct store_warc *warcs;
	struct store_collection *collections;
	size_t n;
};

static void
free_query(struct api_query *q)
{
	struct harvest_door *d = q->door;

	buf_free(&q->again);
	arena_free(&q->arena);
	mem_free(&q);
	drain_gate_leave(&d->work);
}

/* ---- Answers -------------------------------------------------------- */

static void
put_warc(const struct api_query *q, const struct store_warc *f,
    struct buf *b)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct store_harvest_warc place = { .name = f->name,
		.created = f->created };
	char iso[WALL_ISO_MAX];

	wall_to_iso(f->created, iso);
	json_object(b, NULL);
	json_str(b, "warc_id", f->warc_id);
	json_str(b, "path", roots_to_message(&q->door->roots, place_path(
	    f->path.p, &place, &a), &a));
	json_str(b, "sha1", f->sha1);
	json_u64(b, "bytes", f->bytes);
	json_str(b, "date_created", str_of(iso));
	json_str(b, "harvest_type", f->type);
	buf_put_char(b, '}');
}

static void
put_collection(const struct store_collection *c, struct buf *b)
{
	json_object(b, NULL);
	json_str(b, "collection_id", c->id);
	json_str(b, "harvest_type", c->type);
	/* Harvests do not say what people call it. */
	json_str(b, "name", c->id);
	json_bool(b, "is_on", c->is_on);
	buf_put_char(b, '}');
}

/* The list from there on, by the name that the client has called us. */
static void
put_page(struct api_query *q, const char *name, bool there, uint64_t offset,
    struct buf *b)
{
	FREED(buf_free) struct buf url = BUF_INIT;
	struct str host = STR("localhost");

	if (!there) {
		json_null(b, name);
		return;
	}
	(void)web_field(q->request, "host", &host);
	buf_printf(&url, "%s://%.*s/api/v1/%s/?", web_is_tls(q->request) ?
	    "https" : "http", STR_FMT(host), q->of_collections ?
	    "collections" : "warcs");
	buf_put_str(&url, buf_str(&q->again));
	buf_printf(&url, "limit=%llu", (unsigned long long)q->limit);
	if (offset > 0)
		buf_printf(&url, "&offset=%llu", (unsigned long long)offset);
	json_str(b, name, buf_str(&url));
}

static void
answer_list(struct api_query *q)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	uint64_t end = MIN(q->offset + q->limit, (uint64_t)q->n);

	json_object(&b, NULL);
	json_u64(&b, "count", q->n);
	put_page(q, "next", q->offset + q->limit < q->n,
	    q->offset + q->limit, &b);
	put_page(q, "previous", q->offset > 0, q->offset > q->limit ?
	    q->offset - q->limit : 0, &b);
	json_array(&b, "results");
	for (uint64_t i = q->offset; i < end; i++)
		if (q->of_collections)
			put_collection(&q->collections[i], &b);
		else
			put_warc(q, &q->warcs[i], &b);
	buf_put_text(&b, "]}");
	web_answer(q->request, 200, JSON_TYPE, buf_str(&b));
}

static void
answer_one(struct api_query *q)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	if (q->n == 0) {
		web_answer(q->request, 404, JSON_TYPE,
		    STR("{\"detail\":\"Not found.\"}"));
		return;
	}
	put_warc(q, q->warcs, &b);
	web_answer(q->request, 200, JSON_TYPE, buf_str(&b));
}

static void
run_query(struct store_job *j, struct store *st)
{
	struct api_query *q = CONTAINER(j, struct api_query, job);

	(void)!(q->of_collections ? store_collections(st, q->prefix,
	    &q->arena, &q->collections, &q->n, &q->why) :
	    store_warcs_find(st, &q->want, &q->arena, &q->warcs, &q->n,
	    &q->why));
}

static void
queried(struct store_job *j)
{
	struct api_query *q = CONTAINER(j, struct api_query, job);

	if (q->why.err != OK)
		web_fail_why(q->request, q->why.err, &q->why);
	else if (q->one)
		answer_one(q);
	else
		answer_list(q);
	free_query(q);
}

/* ---- Requests ------------------------------------------------------- */

/* At the port for others: whom the operator has named. */
static bool
is_served(struct harvest_door *d, struct web_request *r)
{
	struct ip ip;

	if (!web_is_of(r, d->api))
		return true;
	if (api_peer_read(str_of(web_peer(r)), &ip))
		for (size_t i = 0; i < d->api_nets_n; i++)
			if (api_net_has(&d->api_nets[i], &ip))
				return true;
	web_fail(r, 403, "denied", "harvest.api_from does not name your "
	    "address.");
	return false;
}

static struct api_query *
new_query(struct web_request *r)
{
	struct harvest_door *d = web_arg(r);

	if (!is_served(d, r))
		return NULL;
	if (d->store == NULL) {
		web_fail(r, 503, "starting", "Stored data is being read: try "
		    "again in a moment.");
		return NULL;
	}
	struct api_query *q = mem_new(sizeof(*q));
	q->door = d;
	q->request = r;
	q->limit = API_PAGE;
	drain_gate_enter(&d->work);
	return q;
}

static void
start_query(struct api_query *q)
{
	q->job = (struct store_job){ .run = run_query, .done = queried };
	store_async_put(q->door->store, &q->job);
}

/* A value that is not empty; it is also part of the other pages' address. */
static bool
take_param(struct api_query *q, const char *name, struct str *value)
{
	if (!web_param(q->request, name, value) || value->n == 0)
		return false;
	*value = arena_copy(&q->arena, *value);
	buf_printf(&q->again, "%s=", name);
	for (size_t i = 0; i < value->n; i++) {
		char c = value->p[i];
		if (ascii_is_alpha(c) || ascii_is_digit(c) || c == '-' ||
		    c == '_' || c == '.')
			buf_put_char(&q->again, c);
		else
			buf_printf(&q->again, "%%%02X", (unsigned char)c);
	}
	buf_put_char(&q->again, '&');
	return true;
}

/* Parameters that are not numbers are ignored, as in SFM. */
static void
take_page(struct api_query *q)
{
	struct str value;
	uint64_t n;

	if (web_param(q->request, "limit", &value) && str_to_u64(value, &n) &&
	    n > 0)
		q->limit = MIN(n, API_PAGE_MAX);
	if (web_param(q->request, "offset", &value) && str_to_u64(value, &n))
		q->offset = MIN(n, (uint64_t)INT64_MAX);
}

/* False: the request was refused. */
static bool
take_date(struct api_query *q, const char *name, bool *has, struct wall *at)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct item_date date;
	struct str value;

	if (!take_param(q, name, &value))
		return true;
	*has = item_date_parse(value, &date) && date.has_time;
	*at = date.at;
	if (*has)
		return true;
	json_object(&b, NULL);
	json_array(&b, name);
	json_item(&b, STR("Enter a valid date/time."));
	buf_put_text(&b, "]}");
	web_answer(q->request, 400, JSON_TYPE, buf_str(&b));
	return false;
}

static void
take_seeds(struct api_query *q)
{
	struct str rest, word, *seeds;

	if (!take_param(q, "seed", &rest))
		return;
	seeds = ARENA_ARRAY(&q->arena, struct str, SEEDS_MAX);
	while (q->want.seeds_n < SEEDS_MAX && str_split(&rest, ',', &word))
		seeds[q->want.seeds_n++] = word;
	q->want.seeds = seeds;
}

static void
get_warcs(struct web_request *r)
{
	struct api_query *q = new_query(r);
	struct store_warc_query *want;
	struct str value;

	if (q == NULL)
		return;
	want = &q->want;
	take_page(q);
	(void)take_param(q, "collection", &want->collection);
	take_seeds(q);
	want->with_web = take_param(q, "include_web", &value) &&
	    str_eq(value, STR("true"));
	if (take_date(q, "harvest_date_start", &want->harvest.has_from,
	    &want->harvest.from) &&
	    take_date(q, "harvest_date_end", &want->harvest.has_to,
	    &want->harvest.to) &&
	    take_date(q, "created_date_start", &want->created.has_from,
	    &want->created.from) &&
	    take_date(q, "created_date_end", &want->created.has_to,
	    &want->created.to))
		start_query(q);
	else
		free_query(q);
}

static void
get_warc(struct web_request *r)
{
	struct api_query *q = new_query(r);
	struct str id = STR("");

	if (q == NULL)
		return;
	(void)web_segment(r, 3, &id);
	q->one = true;
	q->want.warc_id = arena_copy(&q->arena, id);
	q->want.with_web = true;
	start_query(q);
}

static void
get_collections(struct web_request *r)
{
	struct api_query *q = new_query(r);

	if (q == NULL)
		return;
	q->of_collections = true;
	take_page(q);
	(void)take_param(q, "collection_startswith", &q->prefix);
	start_query(q);
}

#define ROW(path_, handle_, help_) { .method = "GET", .path = path_,         \
	.handle = handle_, .help = help_, .door = TOKEN_DOOR_HARVEST }
const struct web_route api_routes[API_ROUTES] = {
	ROW("/api/v1/warcs/", get_warcs,
	    "WARC files of harvests, in the shape of SFM's interface"),
	ROW("/api/v1/warcs/*/", get_warc, "one of them, by its warc_id"),
	ROW("/api/v1/collections/", get_collections,
	    "collections of harvests, likewise"),
};
