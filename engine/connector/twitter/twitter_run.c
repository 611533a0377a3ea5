/* A run over searches or timelines: seeds, pages, what is saved. */
#include "base/text.h"
#include "engine/connector/twitter/twitter_own.h"

#define NAME_BYTES_MAX 512u          /* of an account */

static bool
is_timeline(const struct twitter_run *t)
{
	/* Searches are known by no uid. */
	return t->run.run.order->connector->seeds.uid != NULL;
}

static const struct connector_seed *
seed_of(const struct twitter_run *t)
{
	return seed_run_seed(&t->run);
}

/* ---- State ------------------------------------------------------------- */

static void
put_state_key(const struct twitter_run *t, struct buf *key)
{
	if (is_timeline(t))
		buf_printf(key, "timeline.%.*s.since_id",
		    STR_FMT(buf_str(&t->account)));
	else
		twitter_put_search_key(key, seed_of(t));
}

struct str
twitter_since(const struct twitter_run *t)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	const struct connector_order *o = t->run.run.order;
	uint64_t id;

	if (t->no_since || !connector_param_bool(o->options, "incremental"))
		return STR_NONE;
	put_state_key(t, &key);
	struct str since = connector_state_find(o, buf_str(&key));
	return str_to_u64(since, &id) && id > 0 ? since : STR_NONE;
}

/* ---- Seeds ------------------------------------------------------------- */

void
twitter_begin_again(struct twitter_run *t)
{
	buf_clear(&t->cursor);
	t->oldest = 0;
	t->empty = 0;
}

void
twitter_begin_pages(struct twitter_run *t)
{
	twitter_begin_again(t);
	t->newest = 0;
	t->seed_items = 0;
	t->no_since = t->no_start = false;
	t->run.step = TWITTER_PAGE;
}

void
twitter_begin_search(struct seed_run *r)
{
	twitter_begin_pages((struct twitter_run *)r);
}

void
twitter_begin_timeline(struct seed_run *r)
{
	struct twitter_run *t = (struct twitter_run *)r;

	twitter_begin_pages(t);
	buf_clear(&t->account);
	r->step = TWITTER_USER;
}

enum err
twitter_check(struct seed_run *r, struct why *w)
{
	const struct connector_order *o = r->run.order;
	bool timeline = is_timeline((struct twitter_run *)r);
	char field[48];

	for (size_t i = 0; i < o->seeds_n; i++) {
		const struct connector_seed *s = &o->seeds[i];
		snprintf(field, sizeof(field), "seeds[%zu].%s", i,
		    s->uid.n > 0 ? "uid" : "token");
		if (s->uid.n > 0 && !twitter_is_account_id(s->uid))
			return why_field(w, ERR_INPUT, field,
			    "it is not an account's id");
		if (timeline && s->uid.n == 0 && twitter_seed_name(s).n == 0)
			return why_field(w, ERR_INPUT, field, "it is empty");
		if (!timeline && twitter_seed_query(s).n == 0 &&
		    twitter_seed_geocode(s).n == 0)
			return why_field(w, ERR_INPUT, field,
			    "it has no query and no geocode");
	}
	return OK;
}

/* ---- Accounts ---------------------------------------------------------- */

void
twitter_found_user(struct twitter_run *t, const struct connector_findings *f,
    struct str id, struct str name)
{
	const struct connector_seed *s = seed_of(t);
	bool other = name.n > 0 && name.n <= NAME_BYTES_MAX &&
	    !text_has_control(name) &&
	    !str_eq_nocase(name, twitter_seed_name(s));

	if (!str_eq(s->uid, id) || other)
		f->seed(f->arg, s, str_eq(s->uid, id) ? STR_NONE : id,
		    other ? name : STR_NONE);
	t->run.tries = 0;
	buf_put_str(&t->account, id);
	twitter_begin_pages(t);
}

void
twitter_skip_user(struct twitter_run *t, const struct connector_findings *f,
    const char *what)
{
	static const struct {
		const char *what, *text;
	} rows[] = {
		{ "not_found", " does not exist" },
		{ "unauthorized", " is protected" },
		{ "suspended", " is suspended" },
		{ "unknown_error", " cannot be harvested" },
	};
	size_t i = STR_ROW(str_of(what), rows);
	char code[64];

	CHECK(i < ARRAY_LEN(rows));
	snprintf(code, sizeof(code), "%s_%s",
	    seed_of(t)->uid.n > 0 ? "uid" : "token", what);
	seed_run_skip(&t->run, f, code, "%s", rows[i].text);
}

/* ---- Pages ------------------------------------------------------------- */

void
twitter_pass_tweet(struct twitter_page *p, uint64_t id)
{
	if (id != 0)
		p->oldest = p->oldest == 0 ? id : MIN(p->oldest, id);
}

void
twitter_add_tweet(struct twitter_page *p, uint64_t id)
{
	p->n++;
	p->with_id += id != 0;
	p->newest = MAX(p->newest, id);
	twitter_pass_tweet(p, id);
}

static void
count_page(struct twitter_run *t, const struct twitter_page *p,
    const struct connector_findings *f)
{
	seed_run_count(&t->run, f, p->with_id);
	t->seed_items += p->with_id;
	t->newest = MAX(t->newest, p->newest);
	if (p->with_id < p->n)
		seed_run_warn(&t->run, f, seed_of(t)->uid.n > 0 ?
		    "uid_unknown_error" : "token_unknown_error",
		    ": %zu of %zu tweets of a page have no id and are not "
		    "counted", p->n - p->with_id, p->n);
}

/* The list has ended, or is long enough. */
static void
end_list(struct twitter_run *t, const struct connector_findings *f)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	FREED(buf_free) struct buf value = BUF_INIT;

	if (t->newest == 0)
		return;
	put_state_key(t, &key);
	buf_put_decimal(&value, t->newest, 1);
	f->state(f->arg, buf_str(&key), buf_str(&value));
}

/* Whether the seed's own limit, or that of the run, is reached. */
static bool
is_long_enough(struct twitter_run *t, const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	const struct connector_seed *s = seed_of(t);
	int64_t limit = connector_param_int(s->fields, "limit", INT64_MAX);

	if (t->run.items >= (uint64_t)t->run.limit) {
		end_list(t, f);
		return seed_run_is_full(&t->run, f);
	}
	if (t->seed_items < (uint64_t)limit)
		return false;
	end_list(t, f);
	buf_printf(&text, "%llu tweets were found, and the limit is %lld",
	    (unsigned long long)t->seed_items, (long long)limit);
	f->note(f->arg, CONNECTOR_INFO, "limit_reached", buf_str(&text), s);
	seed_run_leave(&t->run, f);
	return true;
}

static void
go_on(struct twitter_run *t, const struct twitter_page *p,
    const struct connector_findings *f)
{
	t->empty = p->n == 0 ? t->empty + 1 : 0;
	buf_clear(&t->cursor);
	buf_put_str(&t->cursor, p->cursor);
	if (t->empty == TWITTER_EMPTY_PAGES_MAX)
		seed_run_fail(&t->run, f, "unknown_error", " sent %u pages in "
		    "a row without tweets, and each leads to another",
		    t->empty);
}

/* A page that has come before, or leads to itself: it may lead on by another
 * cursor, or when it is asked for again. */
static void
go_round(struct twitter_run *t, const struct twitter_page *p,
    const struct connector_findings *f)
{
	if (str_eq(p->cursor, buf_str(&t->cursor)) ||
	    t->run.tries == SEED_RUN_TRIES_MAX) {
		seed_run_again(&t->run, f, "a page that leads nowhere");
		return;
	}
	t->run.tries++;
	go_on(t, p, f);
}

void
twitter_leave_page(struct twitter_run *t, const struct twitter_page *p,
    const struct connector_findings *f)
{
	/* Pages grow older, or the list leads back. */
	bool is_older = p->oldest == 0 || t->oldest == 0 ||
	    p->oldest < t->oldest;
	bool leads_on = p->cursor.n > 0;

	count_page(t, p, f);
	if (leads_on && (!is_older ||
	    str_eq(p->cursor, buf_str(&t->cursor)))) {
		go_round(t, p, f);
		return;
	}
	if (is_long_enough(t, f))
		return;
	t->run.tries = 0;
	t->oldest = p->oldest != 0 ? p->oldest : t->oldest;
	if (leads_on) {
		go_on(t, p, f);
	} else {
		end_list(t, f);
		seed_run_leave(&t->run, f);
	}
}

void
twitter_wait(struct twitter_run *t, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	seed_run_wait(&t->run, f, twitter_wait_s(answer, t->waits++));
}

/* ---- What is saved ----------------------------------------------------- */

void
twitter_free(struct seed_run *r)
{
	struct twitter_run *t = (struct twitter_run *)r;

	buf_free(&t->account);
	buf_free(&t->cursor);
}

void
twitter_save(const struct seed_run *r, struct buf *out)
{
	const struct twitter_run *t = (const struct twitter_run *)r;

	buf_put_field(out, buf_str(&t->account));
	buf_put_field(out, buf_str(&t->cursor));
	buf_put_varint(out, t->newest);
	buf_put_varint(out, t->oldest);
	buf_put_varint(out, t->seed_items);
	buf_put_varint(out, t->empty);
	buf_put_varint(out, t->waits);
	buf_put_char(out, (char)(t->is_signed | t->no_since << 1 |
	    t->no_start << 2));
	buf_put_be64(out, (uint64_t)t->answered.us);
}

static bool
is_possible(const struct twitter_run *t)
{
	struct str account = buf_str(&t->account), cursor = buf_str(&t->cursor);
	bool timeline = is_timeline(t);

	if ((t->run.step == TWITTER_USER && !timeline) ||
	    cursor.n > TWITTER_CURSOR_BYTES_MAX || text_has_control(cursor))
		return false;
	if (t->run.step != TWITTER_PAGE)
		return true;
	return timeline ? twitter_is_account_id(account) : account.n == 0;
}

bool
twitter_load(struct seed_run *r, struct reader *in)
{
	struct twitter_run *t = (struct twitter_run *)r;

	buf_clear(&t->account);
	buf_put_str(&t->account, read_field(in));
	buf_clear(&t->cursor);
	buf_put_str(&t->cursor, read_field(in));
	t->newest = read_varint(in);
	t->oldest = read_varint(in);
	t->seed_items = read_varint(in);
	uint64_t empty = read_varint(in), waits = read_varint(in);
	t->empty = (unsigned)empty;
	t->waits = (unsigned)waits;
	uint8_t flags = read_u8(in);
	t->is_signed = (flags & 1) != 0;
	t->no_since = (flags & 2) != 0;
	t->no_start = (flags & 4) != 0;
	t->answered.us = (int64_t)read_be64(in);
	return empty <= TWITTER_EMPTY_PAGES_MAX && waits <= UINT32_MAX &&
	    is_possible(t);
}
