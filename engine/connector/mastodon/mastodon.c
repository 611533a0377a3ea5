/* The rows of the table, a run's beginning and end, and its calls. */
#include "engine/connector/mastodon/mastodon.h"

#include "engine/connector/instance.h"
#include "engine/connector/mastodon/mastodon_own.h"
#include "engine/connector/order.h"
#include "engine/connector/url_text.h"

#define BUDGET "rest"
#define SAVED_VERSION 1

/* ---- Seeds and calls --------------------------------------------------- */

const struct connector_seed *
mastodon_seed(const struct mastodon_run *m)
{
	return &m->run.order->seeds[m->seed];
}

bool
mastodon_is_hashtag(const struct mastodon_run *m)
{
	return m->run.order->connector == &mastodon_hashtag;
}

/* A list of tags as NAME[]=TAG&NAME[]=TAG... */
static void
put_tags(const struct connector_seed *s, const char *field, const char *name,
    struct buf *url)
{
	size_t i, n;
	yyjson_val *tag;

	yyjson_arr_foreach(connector_param_texts(s->fields, field), i, n, tag)
		url_text_param(url, name, json_text(tag));
}

void
mastodon_filters(const struct connector_seed *s, struct buf *url)
{
	put_tags(s, "any", "any[]", url);
	put_tags(s, "all", "all[]", url);
	put_tags(s, "none", "none[]", url);
	if (connector_param_bool(s->fields, "local"))
		url_text_param(url, "local", STR("true"));
	if (connector_param_bool(s->fields, "only_media"))
		url_text_param(url, "only_media", STR("true"));
}

void
mastodon_state_key(const struct mastodon_run *m, struct buf *key)
{
	buf_put_str(key, m->base);
	buf_put_char(key, '.');
	if (mastodon_is_hashtag(m)) {
		buf_put_str(key, mastodon_seed_name(mastodon_seed(m)));
		mastodon_filters(mastodon_seed(m), key);
	} else {
		buf_put_str(key, buf_str(&m->account));
	}
	buf_put_text(key, ".min_id");
}

static void
put_lookup(struct mastodon_run *m)
{
	const struct connector_seed *s = mastodon_seed(m);

	if (s->uid.n > 0) {
		buf_put_text(&m->url, "/api/v1/accounts/");
		url_text_encode(&m->url, s->uid);
		return;
	}
	buf_put_text(&m->url, "/api/v1/accounts/lookup");
	url_text_param(&m->url, "acct", mastodon_seed_name(s));
}

static void
put_option(struct mastodon_run *m, const char *name)
{
	if (connector_param_bool(m->run.order->options, name))
		url_text_param(&m->url, name, STR("true"));
}

static void
put_page(struct mastodon_run *m)
{
	struct buf *url = &m->url;

	if (mastodon_is_hashtag(m)) {
		buf_put_text(url, "/api/v1/timelines/tag/");
		url_text_encode(url, mastodon_seed_name(mastodon_seed(m)));
	} else {
		buf_put_text(url, "/api/v1/accounts/");
		url_text_encode(url, buf_str(&m->account));
		buf_put_text(url, "/statuses");
	}
	url_text_param(url, "limit", STR("40"));
	url_text_param(url, "min_id", buf_str(&m->min_id));
	if (mastodon_is_hashtag(m)) {
		mastodon_filters(mastodon_seed(m), url);
	} else {
		put_option(m, "exclude_replies");
		put_option(m, "exclude_reblogs");
	}
}

static enum connector_next
mastodon_next(struct connector_run *run, struct connector_call *call)
{
	struct mastodon_run *m = (struct mastodon_run *)run;

	if (m->step == MASTODON_ENDED)
		return CONNECTOR_END;
	if (m->is_out)
		return CONNECTOR_WAIT;
	buf_clear(&m->url);
	buf_put_str(&m->url, m->base);
	if (m->step == MASTODON_ACCESS)
		buf_put_text(&m->url, "/api/v2/instance");
	else if (m->step == MASTODON_LOOKUP)
		put_lookup(m);
	else
		put_page(m);
	m->is_out = true;
	*call = (struct connector_call){
		.url = buf_str(&m->url),
		.auth = m->has_token ? CONNECTOR_BEARER : CONNECTOR_ANONYMOUS,
		.secret = m->has_token ? "access_token" : NULL,
		.budget = BUDGET,
		.statuses = mastodon_statuses,
	};
	return CONNECTOR_CALL;
}

/* ---- From seed to seed ------------------------------------------------- */

void
mastodon_begin_pages(struct mastodon_run *m)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	struct str since = STR_NONE;

	if (connector_param_bool(m->run.order->options, "incremental")) {
		mastodon_state_key(m, &key);
		since = connector_state_find(m->run.order, buf_str(&key));
	}
	buf_clear(&m->min_id);
	buf_put_str(&m->min_id, mastodon_id_is_valid(since) ? since : STR("1"));
	m->empty = 0;
	m->step = MASTODON_PAGE;
}

static void
begin_seed(struct mastodon_run *m)
{
	buf_clear(&m->account);
	buf_clear(&m->min_id);
	if (mastodon_is_hashtag(m))
		mastodon_begin_pages(m);
	else
		m->step = MASTODON_LOOKUP;
}

bool
mastodon_next_seed(struct mastodon_run *m)
{
	if (m->seed + 1 == m->run.order->seeds_n) {
		m->step = MASTODON_ENDED;
		return false;
	}
	m->seed++;
	begin_seed(m);
	return true;
}

/* ---- Opening and closing ----------------------------------------------- */

static enum err
check_seeds(const struct connector_order *o, struct why *w)
{
	char field[48];

	for (size_t i = 0; i < o->seeds_n; i++) {
		const struct connector_seed *s = &o->seeds[i];
		snprintf(field, sizeof(field), "seeds[%zu].%s", i,
		    s->uid.n > 0 ? "uid" : "token");
		if (s->uid.n > 0 && !mastodon_id_is_valid(s->uid))
			return why_field(w, ERR_INPUT, field,
			    "it is not an account's id");
		if (s->uid.n == 0 && mastodon_seed_name(s).n == 0)
			return why_field(w, ERR_INPUT, field, "it is empty");
	}
	return OK;
}

static void
mastodon_close(struct connector_run **run)
{
	struct mastodon_run *m = (struct mastodon_run *)*run;

	if (m == NULL)
		return;
	buf_free(&m->url);
	buf_free(&m->account);
	buf_free(&m->min_id);
	arena_free(&m->arena);
	free(m);
	*run = NULL;
}

static enum err
mastodon_open(const struct connector_order *o, struct connector_run **out,
    struct why *w)
{
	struct mastodon_run *m = mem_new(sizeof(*m));
	enum err e;

	*out = &m->run;
	m->run.order = o;
	m->has_token = connector_has_key(o, "access_token");
	m->limit = connector_param_int(o->options, "limit", INT64_MAX);
	if ((e = instance_read(o, MASTODON_EXAMPLE, &m->arena,
	    &m->base, w)) != OK ||
	    (e = check_seeds(o, w)) != OK) {
		mastodon_close(out);
		return e;
	}
	if (mastodon_is_hashtag(m))
		m->step = MASTODON_ACCESS;
	else
		begin_seed(m);
	return OK;
}

/* ---- What is saved ----------------------------------------------------- */

static void
mastodon_save(const struct connector_run *run, struct buf *out)
{
	const struct mastodon_run *m = (const struct mastodon_run *)run;

	buf_put_char(out, SAVED_VERSION);
	buf_put_char(out, (char)m->step);
	buf_put_char(out, (char)(m->partial_told | m->local_closed << 1 |
	    m->remote_closed << 2));
	buf_put_varint(out, m->seed);
	buf_put_varint(out, m->items);
	buf_put_varint(out, m->empty);
	buf_put_varint(out, m->tries);
	buf_put_field(out, buf_str(&m->account));
	buf_put_field(out, buf_str(&m->min_id));
}

static bool
is_possible(const struct mastodon_run *m, uint64_t step, uint64_t seed,
    struct str account, struct str min_id)
{
	bool hashtag = mastodon_is_hashtag(m);

	if (seed >= m->run.order->seeds_n || step > MASTODON_ENDED ||
	    step == (hashtag ? MASTODON_LOOKUP : MASTODON_ACCESS))
		return false;
	if (step != MASTODON_PAGE)
		return true;
	return mastodon_id_is_valid(min_id) &&
	    (hashtag ? account.n == 0 : mastodon_id_is_valid(account));
}

static enum err
mastodon_load(struct connector_run *run, struct str saved, struct why *w)
{
	struct mastodon_run *m = (struct mastodon_run *)run;
	struct reader r = reader_of(saved);
	uint8_t version = read_u8(&r), step = read_u8(&r), flags = read_u8(&r);
	uint64_t seed = read_varint(&r), items = read_varint(&r);
	uint64_t empty = read_varint(&r), tries = read_varint(&r);
	struct str account = read_field(&r), min_id = read_field(&r);

	if (r.bad || r.n > 0 || version != SAVED_VERSION ||
	    empty > MASTODON_EMPTY_PAGES_MAX || tries > MASTODON_TRIES_MAX ||
	    !is_possible(m, step, seed, account, min_id))
		return why(w, ERR_CORRUPT, "the checkpoint is damaged, or not "
		    "of this harvest");
	m->step = (enum mastodon_step)step;
	m->partial_told = (flags & 1) != 0;
	m->local_closed = (flags & 2) != 0;
	m->remote_closed = (flags & 4) != 0;
	m->seed = (size_t)seed;
	m->items = items;
	m->empty = (unsigned)empty;
	m->tries = (unsigned)tries;
	m->is_out = false;
	buf_clear(&m->account);
	buf_put_str(&m->account, account);
	buf_clear(&m->min_id);
	buf_put_str(&m->min_id, min_id);
	return OK;
}

/* ---- The rows ---------------------------------------------------------- */

#define COMMON_PARAMS                                                        \
	{ "incremental", CONNECTOR_BOOL, false, 0, 0, NULL,                  \
	    "Ask only for posts that are newer than those of the last run" },  \
	{ "limit", CONNECTOR_INT, false, 1, INT64_MAX, NULL,                 \
	    "End after the page that reaches so many posts" }

static const struct connector_param account_params[] = {
	COMMON_PARAMS,
	{ "exclude_replies", CONNECTOR_BOOL, false, 0, 0, NULL,
	    "Leave out replies to others" },
	{ "exclude_reblogs", CONNECTOR_BOOL, false, 0, 0, NULL,
	    "Leave out boosts" },
	{ .name = NULL },
};

static const struct connector_param hashtag_params[] = {
	COMMON_PARAMS,
	{ .name = NULL },
};

static const struct connector_param hashtag_fields[] = {
	{ "tag", CONNECTOR_TEXT, true, 0, 0, NULL, "The hashtag" },
	{ "any", CONNECTOR_TEXTS, false, 0, 0, NULL,
	    "Posts with any of these hashtags in place of it, too" },
	{ "all", CONNECTOR_TEXTS, false, 0, 0, NULL,
	    "Only posts that have all of these hashtags, too" },
	{ "none", CONNECTOR_TEXTS, false, 0, 0, NULL,
	    "Only posts that have none of these hashtags" },
	{ "local", CONNECTOR_BOOL, false, 0, 0, NULL,
	    "Only posts of the instance's own accounts" },
	{ "only_media", CONNECTOR_BOOL, false, 0, 0, NULL,
	    "Only posts with images, videos or sounds" },
	{ .name = NULL },
};

static const char *const hosts[] = { "{instance}", NULL };

#define FUNCTIONS                                                            \
	.open = mastodon_open, .next = mastodon_next,                        \
	.answer = mastodon_answer, .save = mastodon_save,                    \
	.load = mastodon_load, .close = mastodon_close

const struct connector mastodon_account = {
	.type = "mastodon_account", .platform = "mastodon",
	.label = MASTODON_LABEL, .title = "Mastodon accounts",
	.help = "Posts of accounts, as far as the instance has them.",
	.kind = CONNECTOR_BATCH, .params = account_params,
	.seeds = { 1, SIZE_MAX, "name of the account, user or user@host",
	    "id of the account on the instance", NULL },
	.credential = mastodon_credential, .hosts = hosts, FUNCTIONS
};

const struct connector mastodon_hashtag = {
	.type = "mastodon_hashtag", .platform = "mastodon",
	.label = MASTODON_LABEL, .title = "Mastodon hashtags",
	.help = "Public posts with a hashtag, as far as the instance has them.",
	.kind = CONNECTOR_BATCH, .params = hashtag_params,
	.seeds = { 1, SIZE_MAX, "hashtag, or an object with the hashtag and"
	    " what restricts it", NULL, hashtag_fields },
	.credential = mastodon_credential, .hosts = hosts, FUNCTIONS
};
