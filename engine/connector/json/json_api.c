/*
 * A run over the lists of a declared platform, a list for each seed.
 *
 *     page ─► page ─► ... a page without items, without a next one, or seen
 *     before; or of known items alone ─► first page of the next seed
 */
#include "engine/connector/json/json_api.h"

#include "base/hash.h"
#include "base/text.h"
#include "engine/connector/cursor.h"
#include "engine/connector/items.h"
#include "engine/connector/json/json_description.h"
#include "engine/connector/seed_run.h"
#include "engine/connector/url_text.h"

#define MARK_BYTES_MAX 256u  /* of a date or an id that a state has */

enum { STEP_PAGE, STEPS_N };

struct json_run {
	struct seed_run seed;
	struct arena arena;
	struct json_description d;
	const char *budget;          /* the host's: declared platforms have
	                              * nothing in common */

	/* Part of the checkpoint. */
	struct cursor page;          /* a cursor, an address or a number */
	struct buf since, newest;    /* a date or an id as text; or empty */
	uint64_t ids;                /* hash of those of the page before */
};

static const int statuses[] = { 400, 401, 403, 404, 410, 422, 0 };

/* ---- Beginning --------------------------------------------------------- */

/* Keys of the credential for each kind; the first two are needed. */
static const struct {
	enum connector_auth auth;
	const char *secret, *consumer_secret, *token, *token_secret;
} kinds[] = {
	{ CONNECTOR_BEARER, "token", NULL, NULL, NULL },
	{ CONNECTOR_HEADER, "key", NULL, NULL, NULL },
	{ CONNECTOR_QUERY, "key", NULL, NULL, NULL },
	{ CONNECTOR_BASIC, "username", "password", NULL, NULL },
	{ CONNECTOR_OAUTH1, "consumer_key", "consumer_secret",
	    "access_token", "access_token_secret" },
	{ CONNECTOR_APP_BEARER, "client_id", "client_secret", NULL, NULL },
};

static enum err
check_keys(const struct json_run *x, struct why *w)
{
	const struct connector_order *o = x->seed.run.order;
	char field[48];

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const char *const keys[] = { kinds[i].secret,
			kinds[i].consumer_secret };
		if (kinds[i].auth != x->d.auth)
			continue;
		for (size_t k = 0; k < 2; k++) {
			if (keys[k] == NULL || connector_has_key(o, keys[k]))
				continue;
			snprintf(field, sizeof(field), "credentials.%s",
			    keys[k]);
			return why_field(w, ERR_INPUT, field,
			    "it is missing");
		}
	}
	return OK;
}

static enum err
check(struct seed_run *r, struct why *w)
{
	struct json_run *x = (struct json_run *)r;
	const struct connector_order *o = r->run.order;
	enum err e = json_description_read(yyjson_obj_get(o->options, "api"),
	    &x->arena, &x->d, w);

	if (e != OK)
		return e;
	r->label = x->d.label;
	x->budget = arena_copy(&x->arena, x->d.base).p;
	if (x->d.has_seed && o->seeds_n == 0)
		return why_field(w, ERR_INPUT, "seeds", "there is none, and "
		    "the address of the list wants one");
	if (!x->d.has_seed && o->seeds_n > 0)
		return why_field(w, ERR_INPUT, "seeds", "the address of the "
		    "list has no place for one, " JSON_SEED);
	return check_keys(x, w);
}

/* The address of a list's first page. */
static void
put_first(const struct json_run *x, struct buf *url)
{
	struct str rest = x->d.url, mark = STR(JSON_SEED);

	for (;;) {
		size_t n = str_find(rest, mark);
		buf_put_str(url, str_cut(rest, 0, n));
		if (n == rest.n)
			return;
		url_text_encode(url, seed_run_name(&x->seed));
		rest = str_from(rest, n + mark.n);
	}
}

static void
put_key(const struct json_run *x, struct buf *key)
{
	put_first(x, key);
	buf_put_text(key, ".since");
}

static void
begin(struct seed_run *r)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	struct json_run *x = (struct json_run *)r;

	cursor_begin(&x->page);
	buf_clear(&x->since);
	buf_clear(&x->newest);
	x->ids = 0;
	r->step = STEP_PAGE;
	if (x->d.since_parameter == NULL ||
	    !connector_param_bool(r->run.order->options, "incremental"))
		return;
	put_key(x, &key);
	struct str left = connector_state_find(r->run.order, buf_str(&key));
	if (left.n <= MARK_BYTES_MAX && text_is_utf8(left) &&
	    !text_has_control(left))
		buf_put_str(&x->since, left);
}

/* ---- Calls ------------------------------------------------------------- */

static void
put_page(struct json_run *x, struct buf *url)
{
	const struct json_description *d = &x->d;
	struct str at = buf_str(&x->page.at);
	char first[24];

	if (at.n > 0 && (d->next == JSON_NEXT_URL ||
	    d->next == JSON_NEXT_LINK)) {
		buf_put_str(url, at);
		return;
	}
	put_first(x, url);
	if (x->since.n > 0)
		url_text_param(url, d->since_parameter, buf_str(&x->since));
	snprintf(first, sizeof(first), "%lld", (long long)d->first);
	if (at.n == 0 && d->next >= JSON_NEXT_PAGE)
		at = str_of(first);
	if (at.n > 0)
		url_text_param(url, d->next_parameter, at);
}

static void
put_auth(const struct json_run *x, struct connector_call *call)
{
	const struct connector_order *o = x->seed.run.order;

	call->auth = x->d.auth;
	call->secret_name = x->d.auth_name;
	call->token_url = x->d.token_url;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (kinds[i].auth != x->d.auth)
			continue;
		call->secret = kinds[i].secret;
		call->consumer_secret = kinds[i].consumer_secret;
		call->token = kinds[i].token;
		call->token_secret = kinds[i].token_secret;
	}
	if (call->token == NULL || (connector_has_key(o, call->token) &&
	    connector_has_key(o, call->token_secret)))
		return;
	call->auth = CONNECTOR_OAUTH1_CONSUMER;
	call->token = call->token_secret = NULL;
}

static void
put_call(struct seed_run *r, struct connector_call *call)
{
	struct json_run *x = (struct json_run *)r;

	put_page(x, &r->url);
	put_auth(x, call);
	call->budget = x->budget;
	call->rates = x->d.rates[0].units > 0 ? x->d.rates : NULL;
	call->statuses = statuses;
}

/* ---- Dates and ids ----------------------------------------------------- */

static bool
is_digits(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_digit(s.p[i]))
			return false;
	return s.n > 0;
}

/* False: it is no date. */
static bool
read_date(struct str s, int64_t *us)
{
	struct item_date date;
	bool known = json_description_date(s, &date);

	*us = known ? date.at.us : 0;
	return known;
}

/* Whether the date or the id is later than that; numbers by their values. */
static bool
is_later(const struct json_run *x, struct str a, struct str b)
{
	int64_t left, right;

	if (b.n == 0)
		return true;
	if (x->d.since_is_date)
		return read_date(a, &left) && (!read_date(b, &right) ||
		    left > right);
	if (is_digits(a) && is_digits(b) && a.n != b.n)
		return a.n > b.n;
	return str_cmp(a, b) > 0;
}

/* ---- A page ------------------------------------------------------------ */

struct page {
	size_t n, with_id, new;
	bool any_new;                /* by its date or id */
	uint64_t ids;
};

static struct str
mark_of(const struct json_run *x, yyjson_val *item, struct str id,
    struct arena *a)
{
	struct str mark = !x->d.since_is_date ? id :
	    json_id(json_description_at(item, x->d.date), a);
	int64_t us;

	if (mark.n > MARK_BYTES_MAX || text_has_control(mark) ||
	    (x->d.since_is_date && !read_date(mark, &us)))
		return STR_NONE;
	return mark;
}

static void
read_item(struct json_run *x, yyjson_val *item, struct arena *a,
    struct page *p)
{
	struct str id = json_id(json_description_at(item, x->d.id), a);

	p->ids = hash_bytes(id, p->ids);
	if (id.n == 0)
		return;
	p->with_id++;
	struct str mark = x->d.since_parameter == NULL ? STR_NONE :
	    mark_of(x, item, id, a);
	bool later = is_later(x, mark, buf_str(&x->since));
	/* What has no date cannot be known. */
	p->new += later || mark.n == 0;
	p->any_new |= later && mark.n > 0;
	if (mark.n == 0 || !later || !is_later(x, mark,
	    buf_str(&x->newest)))
		return;
	buf_clear(&x->newest);
	buf_put_str(&x->newest, mark);
}

static void
read_page(struct json_run *x, yyjson_val *list, struct page *p)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	size_t i, n;
	yyjson_val *item;

	*p = (struct page){ .n = yyjson_arr_size(list) };
	yyjson_arr_foreach(list, i, n, item)
		read_item(x, item, &a, p);
	p->ids |= 1;                 /* 0 is none */
}

static void
end_list(struct json_run *x, const struct connector_findings *f)
{
	FREED(buf_free) struct buf key = BUF_INIT;

	if (x->newest.n > 0) {
		put_key(x, &key);
		f->state(f->arg, buf_str(&key), buf_str(&x->newest));
	}
	if (!seed_run_is_full(&x->seed, f))
		seed_run_leave(&x->seed, f);
}

/* ---- The page behind it ------------------------------------------------ */

/* A whole address; false: it leads to another host. */
static bool
put_address(const struct json_run *x, struct str url, struct buf *out)
{
	if (str_starts(url, STR("/")) && !str_starts(url, STR("//")))
		buf_put_str(out, x->d.base);
	buf_put_str(out, url);
	struct str all = buf_str(out), rest = str_from(all, x->d.base.n);
	return str_starts(all, x->d.base) && url_text_is_web(all) &&
	    (rest.n == 0 || str_has_char(STR("/?"), rest.p[0]));
}

static void
put_number(const struct json_run *x, struct buf *out)
{
	int64_t at = x->d.first;

	(void)str_to_i64(buf_str(&x->page.at), &at);
	if (at <= INT64_MAX - x->d.by)
		buf_printf(out, "%lld", (long long)(at + x->d.by));
}

/* What a page says of the next one; empty: nothing. */
static struct str
next_value(const struct json_run *x, const struct connector_answer *answer,
    struct arena *a)
{
	const struct json_description *d = &x->d;

	if (d->next == JSON_NEXT_LINK)
		return url_text_link(answer->head, d->next_at);
	if (d->next != JSON_NEXT_CURSOR && d->next != JSON_NEXT_URL)
		return STR_NONE;
	return json_id(json_description_at(answer->json, d->next_at), a);
}

/* Where the next page is; empty: there is none.  False: the run has failed. */
static bool
find_next(struct json_run *x, const struct connector_answer *answer,
    struct buf *out, const struct connector_findings *f)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const struct json_description *d = &x->d;
	struct str value = next_value(x, answer, &a);

	if (d->next >= JSON_NEXT_PAGE) {
		put_number(x, out);
		return true;
	}
	if (value.n == 0)
		return true;
	if (d->next == JSON_NEXT_CURSOR)
		buf_put_str(out, value);
	if (d->next != JSON_NEXT_CURSOR && !put_address(x, value, out)) {
		seed_run_fail(&x->seed, f, "unknown_error", " sent a page that"
		    " leads to another host, or to no address");
		return false;
	}
	if (out->n > CURSOR_BYTES_MAX || text_has_control(buf_str(out))) {
		seed_run_fail(&x->seed, f, "unknown_error", " sent a cursor "
		    "that is longer than %u bytes, or has control characters",
		    CURSOR_BYTES_MAX);
		return false;
	}
	return true;
}

static void
leave_page(struct json_run *x, const struct connector_answer *answer,
    const struct page *p, const struct connector_findings *f)
{
	FREED(buf_free) struct buf next = BUF_INIT;
	bool known = x->since.n > 0 && !p->any_new;

	x->seed.tries = 0;
	x->ids = p->ids;
	if (known || x->seed.items >= (uint64_t)x->seed.limit) {
		end_list(x, f);
		return;
	}
	/* A place that was there before ends the list, too. */
	if (find_next(x, answer, &next, f) &&
	    !cursor_move(&x->page, buf_str(&next)))
		end_list(x, f);
}

static void
answer_page(struct json_run *x, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	yyjson_val *list = json_description_at(answer->json, x->d.items);
	struct page p;

	if (!yyjson_is_arr(list)) {
		seed_run_again(&x->seed, f, "no list of items");
		return;
	}
	read_page(x, list, &p);
	struct str next = next_value(x, answer, &a);
	bool ends = p.n == 0 || p.ids == x->ids;
	/* A list that leads on, or back to this page, should not end so. */
	if (x->seed.tries == 0 && next.n > 0 && (ends ||
	    str_eq(next, buf_str(&x->page.at)))) {
		seed_run_again(&x->seed, f, "no other items");
		return;
	}
	if (ends) {
		end_list(x, f);
		return;
	}
	seed_run_count(&x->seed, f, p.new);
	if (p.with_id < p.n)
		seed_run_warn(&x->seed, f, "unknown_error", ": %zu of %zu "
		    "items of a page have no id and are not counted",
		    p.n - p.with_id, p.n);
	leave_page(x, answer, &p, f);
}

/* ---- Refusals ---------------------------------------------------------- */

static void
answer_call(struct seed_run *r, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	struct json_run *x = (struct json_run *)r;
	int status = answer->status;

	if (status < 300)
		answer_page(x, answer, f);
	else if (status == 401 || (status == 403 && !x->d.has_seed))
		seed_run_fail(r, f, "harvest_Unauthorized", " %s: %d",
		    x->d.auth == CONNECTOR_ANONYMOUS ? "wants a credential" :
		    "refuses the credential", status);
	else if (!x->d.has_seed)
		seed_run_fail(r, f, "unknown_error", " has no such list: %d",
		    status);
	else
		seed_run_skip(r, f, status == 403 ? "token_unauthorized" :
		    status == 404 || status == 410 ? "token_not_found" :
		    "token_unknown_error", ": %d", status);
}

/* ---- What is saved ----------------------------------------------------- */

static void
save(const struct seed_run *r, struct buf *out)
{
	const struct json_run *x = (const struct json_run *)r;

	cursor_save(&x->page, out);
	buf_put_field(out, buf_str(&x->since));
	buf_put_field(out, buf_str(&x->newest));
	buf_put_be64(out, x->ids);
}

static bool
load(struct seed_run *r, struct reader *in)
{
	struct json_run *x = (struct json_run *)r;

	if (!cursor_load(&x->page, in))
		return false;
	struct str since = read_field(in), newest = read_field(in);
	x->ids = read_be64(in);
	bool is_address = x->page.at.n > 0 && (x->d.next == JSON_NEXT_URL ||
	    x->d.next == JSON_NEXT_LINK);
	if (since.n > MARK_BYTES_MAX || newest.n > MARK_BYTES_MAX ||
	    (is_address && !str_starts(buf_str(&x->page.at), x->d.base)))
		return false;
	buf_clear(&x->since);
	buf_put_str(&x->since, since);
	buf_clear(&x->newest);
	buf_put_str(&x->newest, newest);
	return true;
}

static void
free_run(struct seed_run *r)
{
	struct json_run *x = (struct json_run *)r;

	cursor_free(&x->page);
	buf_free(&x->since);
	buf_free(&x->newest);
	arena_free(&x->arena);
}

/* ---- The row ----------------------------------------------------------- */

static const struct seed_run_kind kind = {
	.service = "The platform", .seed = "list", .items = "items",
	.steps_n = STEPS_N, .bytes = sizeof(struct json_run),
	.check = check, .begin = begin, .call = put_call,
	.answer = answer_call, .save = save, .load = load, .free = free_run
};

static enum err
open_api(const struct connector_order *o, struct connector_run **out,
    struct why *w)
{
	return seed_run_open(&kind, o, out, w);
}

static const struct connector_param params[] = {
	SEED_RUN_PARAMS("items"),
	{ "api", CONNECTOR_OBJECT, true, 0, 0, NULL,
	    "Description of the platform" },
	{ .name = NULL },
};

static const struct connector_key credential[] = {
	{ "token", false, true, "Token, for bearer" },
	{ "key", false, true, "Key, for header and query" },
	{ "username", false, true, "Name of a user, for basic" },
	{ "password", false, true, "Password, for basic" },
	{ "consumer_key", false, true, "Key of an application, for oauth1" },
	{ "consumer_secret", false, true, "Secret of that key" },
	{ "access_token", false, true, "Token of a user, for oauth1" },
	{ "access_token_secret", false, true, "Secret of that token" },
	{ "client_id", false, true,
	    "Name of an application, for client_credentials" },
	{ "client_secret", false, true, "Secret of that application" },
	{ .name = NULL },
};

static const char *const hosts[] = { "{/api/url}", "{/api/auth/token_url}",
	NULL };

const struct connector json_api = {
	.type = "json_api", .platform = "json", .label = "items",
	.title = "JSON API",
	.help = "Lists of any platform with a JSON API, by a description.",
	.kind = CONNECTOR_BATCH, .params = params,
	.seeds = { 0, SIZE_MAX, "what stands for {seed} in the address", NULL,
	    NULL },
	.credential = credential, .hosts = hosts, .description = "api",
	.open = open_api, SEED_RUN_FUNCTIONS
};
