/* Reads an instance's answers: accounts, pages of posts, refusals. */
#include "base/text.h"
#include "engine/connector/mastodon/mastodon_own.h"
#include "engine/connector/order.h"
#include "engine/connector/shown.h"

#define NAME_BYTES_MAX 512u  /* of an account */

/* ---- Texts ------------------------------------------------------------- */

/* "account ada" */
static void
put_seed(struct buf *b, const struct mastodon_run *m)
{
	const struct connector_seed *s = mastodon_seed(m);
	struct str name = mastodon_seed_name(s);

	buf_put_text(b, mastodon_is_hashtag(m) ? "hashtag " : "account ");
	shown_put(b, name.n > 0 ? name : s->uid);
}

/* ---- How a run or a seed ends ------------------------------------------ */

static void
fail_run(struct mastodon_run *m, const struct connector_findings *f,
    const char *code, const struct buf *text)
{
	m->step = MASTODON_ENDED;
	m->tries = m->empty = 0;
	f->fail(f->arg, code, buf_str(text));
}

static void
refuse_run(struct mastodon_run *m, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	mastodon_put_refusal(&text, m->base, m->has_token, answer);
	fail_run(m, f, "harvest_Unauthorized", &text);
}

/*
 * The timeline of the hashtag at hand may be closed; the instance would give an
 * empty list then, as if there were no posts.
 */
static void
check_timeline(struct mastodon_run *m, const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	bool local = connector_param_bool(mastodon_seed(m)->fields, "local");

	buf_put_str(&text, m->base);
	if (m->local_closed && (local || m->remote_closed)) {
		buf_printf(&text, " shows posts of hashtags %s",
		    m->has_token ? "to no application" :
		    "only to those with an access token");
		fail_run(m, f, "harvest_Unauthorized", &text);
	} else if (!local && (m->local_closed || m->remote_closed) &&
	    !m->partial_told) {
		m->partial_told = true;
		buf_printf(&text, " shows only the posts of %s for hashtags",
		    m->local_closed ? "other instances" : "its own accounts");
		f->note(f->arg, CONNECTOR_WARNING, "partial_posts",
		    buf_str(&text), NULL);
	}
}

static void
leave_seed(struct mastodon_run *m, const struct connector_findings *f)
{
	if (!mastodon_next_seed(m))
		f->done(f->arg);
	else if (mastodon_is_hashtag(m))
		check_timeline(m, f);
}

/* `what` follows the seed in a sentence. */
static void
skip_seed(struct mastodon_run *m, const struct connector_findings *f,
    const char *code, const char *what)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	const struct connector_seed *s = mastodon_seed(m);

	put_seed(&text, m);
	buf_put_text(&text, what);
	f->note(f->arg, CONNECTOR_WARNING, code, buf_str(&text), s);
	f->skip_seed(f->arg, s);
	leave_seed(m, f);
}

/* An answer that cannot be: the same call again, a few times. */
static void
ask_again(struct mastodon_run *m, const struct connector_findings *f,
    const char *what)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	if (++m->tries <= MASTODON_TRIES_MAX) {
		m->is_out = true;
		f->again(f->arg, m->tries * m->tries);
		return;
	}
	buf_put_str(&text, m->base);
	buf_printf(&text, " sent %s %u times", what, m->tries);
	if (m->step != MASTODON_ACCESS) {
		buf_put_text(&text, ", ");
		put_seed(&text, m);
	}
	fail_run(m, f, "unknown_error", &text);
}

/* ---- The instance ------------------------------------------------------ */

/* Servers before Mastodon 4 have no such page, and those before 4.5 no such
 * member: their timelines are open, or answer 401. */
static void
answer_access(struct mastodon_run *m, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	if (!mastodon_is_missing(answer) && !yyjson_is_obj(answer->json)) {
		ask_again(m, f, "no description of itself");
		return;
	}
	m->tries = 0;
	if (!mastodon_is_missing(answer))
		mastodon_read_access(answer->json, "hashtag_feeds",
		    m->has_token, &m->local_closed, &m->remote_closed);
	mastodon_begin_pages(m);
	check_timeline(m, f);
}

/* ---- An account -------------------------------------------------------- */

/* "ada@a.example" is "ada" on a.example itself. */
static bool
is_other_name(struct str given, struct str acct)
{
	if (given.n == 0 || acct.n == 0 || acct.n > NAME_BYTES_MAX ||
	    text_has_control(acct))
		return false;
	if (str_find_char(acct, '@') == acct.n)
		given = str_cut(given, 0, str_find_char(given, '@'));
	return !str_eq_nocase(given, acct);
}

static void
note_account(struct mastodon_run *m, struct str id, struct str acct,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	const struct connector_seed *s = mastodon_seed(m);
	bool other = is_other_name(mastodon_seed_name(s), acct);

	if (!str_eq(s->uid, id) || other)
		f->seed(f->arg, s, str_eq(s->uid, id) ? STR_NONE : id,
		    other ? acct : STR_NONE);
	if (str_find_char(acct, '@') == acct.n || m->partial_told)
		return;
	m->partial_told = true;
	buf_put_str(&text, m->base);
	buf_put_text(&text, " may have only part of the posts of accounts of "
	    "other instances, such as ");
	shown_put(&text, acct);
	f->note(f->arg, CONNECTOR_INFO, "partial_posts", buf_str(&text), NULL);
}

static void
answer_lookup(struct mastodon_run *m, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str id = mastodon_id_of(answer->json, &a);

	if (mastodon_is_missing(answer)) {
		m->tries = 0;
		skip_seed(m, f, mastodon_seed(m)->uid.n > 0 ?
		    "uid_not_found" : "token_not_found", " does not exist");
		return;
	}
	if (id.n == 0) {
		ask_again(m, f, "an account without an id");
		return;
	}
	m->tries = 0;
	note_account(m, id, json_text(yyjson_obj_get(answer->json, "acct")), f);
	if (yyjson_is_true(yyjson_obj_get(answer->json, "suspended"))) {
		skip_seed(m, f, "uid_suspended", " is suspended");
		return;
	}
	buf_put_str(&m->account, id);
	mastodon_begin_pages(m);
}

/* ---- A page ------------------------------------------------------------ */

static void
count_page(struct mastodon_run *m, const struct mastodon_page *p,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	m->items += p->with_id;
	if (p->with_id > 0)
		f->count(f->arg, MASTODON_LABEL, p->with_id);
	for (size_t i = 0; i < p->n; i++)
		mastodon_find_urls(p->posts[i], f);
	if (p->with_id == p->n)
		return;
	put_seed(&text, m);
	buf_printf(&text, ": %zu of %zu posts of a page have no id and are not"
	    " counted", p->n - p->with_id, p->n);
	f->note(f->arg, CONNECTOR_WARNING, mastodon_is_hashtag(m) ?
	    "token_unknown_error" : "uid_unknown_error", buf_str(&text),
	    mastodon_seed(m));
}

static void
go_behind(struct mastodon_run *m, struct str min_id, bool empty,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf key = BUF_INIT;

	m->tries = 0;
	m->empty = empty ? m->empty + 1 : 0;
	buf_clear(&m->min_id);
	buf_put_str(&m->min_id, min_id);
	mastodon_state_key(m, &key);
	f->state(f->arg, buf_str(&key), min_id);
}

static bool
limit_is_reached(struct mastodon_run *m, const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	if (m->items < (uint64_t)m->limit)
		return false;
	buf_printf(&text, "%llu posts were found, and the limit is %lld",
	    (unsigned long long)m->items, (long long)m->limit);
	f->note(f->arg, CONNECTOR_INFO, "limit_reached", buf_str(&text), NULL);
	m->step = MASTODON_ENDED;
	m->tries = m->empty = 0;
	f->done(f->arg);
	return true;
}

/* A page that leads on has been read; or one that does not. */
static void
leave_page(struct mastodon_run *m, const struct mastodon_page *p,
    struct str min_id, const struct connector_findings *f)
{
	bool leads_on = min_id.n > 0 && mastodon_id_order(buf_str(&m->min_id),
	    min_id) < 0;

	if (leads_on)
		go_behind(m, min_id, p->n == 0, f);
	if (limit_is_reached(m, f))
		return;
	if (!leads_on && p->n > 0) {
		ask_again(m, f, "a page that leads nowhere");
	} else if (!leads_on) {
		m->tries = 0;
		leave_seed(m, f);
	} else if (m->empty >= MASTODON_EMPTY_PAGES_MAX) {
		FREED(buf_free) struct buf text = BUF_INIT;
		put_seed(&text, m);
		buf_printf(&text, ": %u pages in a row have no posts, and "
		    "each leads to another", m->empty);
		fail_run(m, f, "unknown_error", &text);
	}
}

static void
answer_page(struct mastodon_run *m, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct mastodon_page p;

	if (mastodon_is_missing(answer)) {
		m->tries = 0;
		skip_seed(m, f, mastodon_is_hashtag(m) ? "token_not_found" :
		    "uid_not_found", " does not exist");
		return;
	}
	if (!yyjson_is_arr(answer->json)) {
		ask_again(m, f, "no list of posts");
		return;
	}
	mastodon_read_page(answer->json, &a, &p);
	count_page(m, &p, f);
	leave_page(m, &p, mastodon_next_min_id(answer, &p, &a), f);
}

/* ---- Any --------------------------------------------------------------- */

void
mastodon_answer(struct connector_run *run, const struct connector_call *call,
    const struct connector_answer *answer, const struct connector_findings *f)
{
	struct mastodon_run *m = (struct mastodon_run *)run;

	(void)call;
	m->is_out = false;
	if (m->step == MASTODON_ENDED)
		return;
	if (mastodon_is_refusal(answer))
		refuse_run(m, answer, f);
	else if (m->step == MASTODON_ACCESS)
		answer_access(m, answer, f);
	else if (m->step == MASTODON_LOOKUP)
		answer_lookup(m, answer, f);
	else
		answer_page(m, answer, f);
}
