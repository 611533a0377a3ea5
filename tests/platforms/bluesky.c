/* Calls of Bluesky's public API: lexicons app.bsky.actor and app.bsky.feed. */
#include "tests/platforms/bluesky.h"

#define CALLS 3000u
#define PERIOD_S 300
#define PAGE_MAX 100u
#define PAGE_USUAL 50u
#define OVERLAP_N 3u

static void
fail_with(struct request *r, int status, const char *error,
    const char *message)
{
	r->status = status;
	buf_clear(&r->out);
	json_object(&r->out, NULL);
	json_str(&r->out, "error", str_of(error));
	json_str(&r->out, "message", str_of(message));
	buf_put_text(&r->out, "}");
}

/* ---- Which entries a feed has ------------------------------------------ */

enum filter { WITH_REPLIES, NO_REPLIES, WITH_MEDIA, AUTHOR_THREADS,
	WITH_VIDEO, FILTERS_N };
static const char *const filters[FILTERS_N] = { "posts_with_replies",
	"posts_no_replies", "posts_with_media", "posts_and_author_threads",
	"posts_with_video" };

/* A reply whose thread its author has begun, answering nobody else. */
static bool
is_own_thread(const struct bluesky_entry *e)
{
	const struct bluesky_entry *all = bluesky_world()->entries;

	return all[e->root].account == e->account &&
	    all[e->reply_to].account == e->account;
}

static bool
is_listed(const struct bluesky_entry *e, unsigned account, enum filter filter)
{
	bool repost = e->repost_of != BLUESKY_NONE;
	bool reply = e->reply_to != BLUESKY_NONE;

	if (e->account != account)
		return false;
	switch (filter) {
	case NO_REPLIES:
		return !reply;
	case AUTHOR_THREADS:
		return !reply || is_own_thread(e);
	case WITH_MEDIA:
		return !repost && (e->images > 0 || e->video);
	case WITH_VIDEO:
		return !repost && e->video;
	default:
		return true;
	}
}

/* Neither it nor what it passes on is gone. */
static bool
is_shown(const struct bluesky_entry *e)
{
	const struct bluesky_world *w = bluesky_world();
	const struct bluesky_entry *post = e->repost_of == BLUESKY_NONE ? e :
	    &w->entries[e->repost_of];
	enum bluesky_status author = w->accounts[post->account].status;

	return !e->deleted && !post->deleted && (author == BLUESKY_FINE ||
	    author == BLUESKY_BLOCKED);
}

/* ---- Pages ------------------------------------------------------------- */

/* A page: the newest first.  What is not shown takes its place in it, too. */
struct page {
	const struct bluesky_entry *entries[PAGE_MAX];
	size_t n, limit;
	size_t taken, end;           /* the oldest is at `end` of the world */
};

static void
find_page(unsigned account, enum filter filter, size_t before, struct page *p)
{
	const struct bluesky_world *w = bluesky_world();

	p->n = p->taken = 0;
	p->end = before;
	for (size_t i = before; i-- > 0 && p->taken < p->limit;) {
		if (!is_listed(&w->entries[i], account, filter))
			continue;
		p->taken++;
		p->end = i;
		if (is_shown(&w->entries[i]))
			p->entries[p->n++] = &w->entries[i];
	}
}

static void
reverse(struct page *p)
{
	for (size_t i = 0; i < p->n / 2; i++) {
		const struct bluesky_entry *other = p->entries[i];
		p->entries[i] = p->entries[p->n - 1 - i];
		p->entries[p->n - 1 - i] = other;
	}
}

/* "MICROSECONDS::PLACE" of the oldest entry that a page has had. */
static void
put_cursor(struct buf *out, size_t at)
{
	char cursor[64];

	snprintf(cursor, sizeof(cursor), "%lld::%zu", (long long)
	    (at < bluesky_world()->entries_n ?
	    bluesky_world()->entries[at].listed.us : 0), at);
	json_str(out, "cursor", str_of(cursor));
}

static bool
read_cursor(struct str cursor, size_t *at)
{
	uint64_t n;
	size_t colons = str_find(cursor, STR("::"));

	if (!str_to_u64(str_from(cursor, colons + 2), &n) ||
	    n > bluesky_world()->entries_n)
		return false;
	*at = (size_t)n;
	return true;
}

/* Where the page really begins: fault "duplicate" and "overlap". */
static size_t
spoil_start(struct request *r, unsigned account, enum filter filter,
    size_t before)
{
	static size_t last_before;
	size_t previous = last_before;
	const struct bluesky_world *w = bluesky_world();
	size_t left = OVERLAP_N;

	last_before = before;
	if (before == w->entries_n)
		return before;
	if (r->fault.page == PAGE_DUPLICATE)
		return previous;
	while (r->fault.page == PAGE_OVERLAP && left > 0 &&
	    before < w->entries_n)
		left -= is_listed(&w->entries[before++], account, filter);
	return before;
}

static void
answer_page(struct request *r, unsigned account, enum filter filter,
    size_t asked, bool pins)
{
	const struct bluesky_world *w = bluesky_world();
	struct page p = { .limit = MIN(MAX(request_number(r, "limit",
	    PAGE_USUAL), 1), PAGE_MAX) };

	find_page(account, filter, spoil_start(r, account, filter, asked), &p);
	if (r->fault.page == PAGE_REORDERED)
		reverse(&p);
	if (r->fault.page == PAGE_EMPTY) {
		p.n = 0;
		p.taken = p.limit;
		p.end = asked == 0 ? 0 : asked - 1;
	}
	r->status = 200;
	json_object(&r->out, NULL);
	if (p.taken == p.limit)
		put_cursor(&r->out, r->fault.page == PAGE_LOOP ? asked : p.end);
	json_array(&r->out, "feed");
	for (size_t i = 0; pins && i < w->entries_n; i++)
		if (w->entries[i].account == account &&
		    w->entries[i].repost_of == BLUESKY_NONE &&
		    is_shown(&w->entries[i])) {
			bluesky_write_entry(&r->out, &w->entries[i], true, 0);
			break;
		}
	for (size_t i = 0; i < p.n; i++)
		bluesky_write_entry(&r->out, p.entries[i], false,
		    i == 0 ? r->fault.big : 0);
	buf_put_text(&r->out, "]}");
}

/* ---- Calls ------------------------------------------------------------- */

/* NULL: the request has been refused. */
static struct bluesky_account *
actor_of(struct request *r)
{
	struct str actor = STR_NONE;

	if (!request_param(r, "actor", &actor) ||
	    str_find_char(actor, '.') + str_find_char(actor, ':') >=
	    2 * actor.n) {
		fail_with(r, 400, "InvalidRequest",
		    "Error: actor must be a valid did or a handle");
		return NULL;
	}
	struct bluesky_account *a = bluesky_account(actor);
	if (a == NULL || a->status == BLUESKY_DELETED) {
		fail_with(r, 400, "InvalidRequest", "Profile not found");
	} else if (a->status == BLUESKY_TAKEN_DOWN) {
		fail_with(r, 400, "AccountTakedown",
		    "Account has been suspended");
	} else if (a->status == BLUESKY_DEACTIVATED) {
		fail_with(r, 400, "AccountDeactivated",
		    "Account is deactivated");
	} else {
		return a;
	}
	return NULL;
}

static void
answer_feed(struct request *r)
{
	const struct bluesky_world *w = bluesky_world();
	struct bluesky_account *a = actor_of(r);
	struct str filter = str_of(filters[WITH_REPLIES]), cursor = STR_NONE,
	    pins = STR_NONE;
	size_t before = w->entries_n;

	if (a == NULL)
		return;
	(void)request_param(r, "filter", &filter);
	(void)request_param(r, "cursor", &cursor);
	(void)request_param(r, "includePins", &pins);
	size_t which = STR_ROW(filter, filters);
	if (cursor.n > 0 && !read_cursor(cursor, &before))
		fail_with(r, 400, "InvalidRequest", "Malformed cursor");
	else if (a->status == BLUESKY_BLOCKED)
		fail_with(r, 400, "BlockedActor",
		    "Requester has blocked actor");
	else if (memo_find(r))
		r->status = 200;
	else
		answer_page(r, (unsigned)(a - w->accounts),
		    which < FILTERS_N ? (enum filter)which : WITH_REPLIES,
		    before, a->pins && cursor.n == 0 &&
		    str_eq(pins, STR("true")));
}

static void
answer_call(struct request *r)
{
	struct bluesky_account *a;

	if (str_eq(r->head.path, STR("/xrpc/app.bsky.actor.getProfile"))) {
		if ((a = actor_of(r)) == NULL)
			return;
		r->status = 200;
		bluesky_write_profile(&r->out, a);
	} else if (str_eq(r->head.path,
	    STR("/xrpc/app.bsky.feed.getAuthorFeed"))) {
		answer_feed(r);
	}
}

static void
set_status(struct bluesky_account *a, enum bluesky_status status)
{
	a->status = status;
	bluesky_happen(BLUESKY_ACCOUNT,
	    (unsigned)(a - bluesky_world()->accounts), BLUESKY_NONE,
	    clock_wall());
}

/* ---- Budgets and faults ------------------------------------------------ */

static void
put_budget(struct request *r, const struct budget *b)
{
	buf_printf(&r->fields, "RateLimit-Limit: %llu\r\n"
	    "RateLimit-Remaining: %llu\r\nRateLimit-Policy: %llu;w=%d\r\n",
	    (unsigned long long)b->limit, (unsigned long long)b->left,
	    (unsigned long long)b->limit, PERIOD_S);
	if (r->fault.reset != DATE_TEXT)
		buf_printf(&r->fields, "RateLimit-Reset: %lld\r\n",
		    (long long)wall_s(b->reset));
}

static void
fail_by_plan(struct request *r, struct budget *b)
{
	if (r->fault.status == 429)
		b->left = 0;
	if (r->fault.reset == DATE_IN)
		b->reset.us = r->now.us + r->fault.reset_s * US_PER_S;
	put_budget(r, b);
	if (r->fault.retry_after.n > 0)
		buf_printf(&r->fields, "Retry-After: %.*s\r\n",
		    STR_FMT(r->fault.retry_after));
	fail_with(r, r->fault.status, r->fault.status == 429 ?
	    "RateLimitExceeded" : "SaidByPlan", "so the plan says");
}

static void
change_by_plan(struct request *r)
{
	struct bluesky_account *a = bluesky_account(r->fault.suspend);

	if (r->fault.rename.n > 0)
		(void)bluesky_rename(r->fault.rename, r->fault.rename_to);
	if (r->fault.suspend.n > 0 && a != NULL)
		set_status(a, BLUESKY_TAKEN_DOWN);
}

static void
answer(struct request *r)
{
	struct budget budget;

	r->who = "nobody";
	if (bluesky_answer_stream(r))
		return;
	budget_take(STR("bluesky"), CALLS, PERIOD_S, &budget);
	change_by_plan(r);
	if (r->fault.status != 0) {
		fail_by_plan(r, &budget);
		return;
	}
	put_budget(r, &budget);
	if (budget.exceeded) {
		buf_printf(&r->fields, "Retry-After: %lld\r\n", (long long)
		    (wall_s(budget.reset) - wall_s(r->now)));
		fail_with(r, 429, "RateLimitExceeded", "Rate Limit Exceeded");
	} else if (str_eq(r->head.method, STR("GET"))) {
		answer_call(r);
	}
}

/* ---- For tests --------------------------------------------------------- */

static void
describe_account(struct buf *out, unsigned account)
{
	FREED(buf_free) struct buf uri = BUF_INIT;
	const struct bluesky_world *w = bluesky_world();
	const struct bluesky_account *a = &w->accounts[account];

	json_object(out, NULL);
	json_str(out, "handle", str_of(a->handle));
	json_str(out, "did", str_of(a->did));
	json_str(out, "status", str_of(bluesky_status_word(a->status)));
	json_array(out, "feed");
	for (size_t i = 0; i < w->entries_n; i++) {
		const struct bluesky_entry *e = &w->entries[i];
		if (e->account != account || !is_shown(e))
			continue;
		buf_clear(&uri);
		bluesky_put_uri(&uri, e->repost_of == BLUESKY_NONE ? e :
		    &w->entries[e->repost_of]);
		json_item(out, buf_str(&uri));
	}
	buf_put_text(out, "]}");
}

static void
describe(struct str host, struct buf *out)
{
	(void)host;
	json_object(out, NULL);
	json_array(out, "accounts");
	for (unsigned i = 0; i < bluesky_world()->accounts_n; i++)
		describe_account(out, i);
	buf_put_text(out, "]");
	bluesky_describe_events(out);
	buf_put_text(out, "}\n");
}

static bool
add_posts(yyjson_val *what)
{
	struct bluesky_account *a = bluesky_account(json_text(yyjson_obj_get(
	    what, "account")));

	if (a == NULL)
		return false;
	for (uint64_t n = yyjson_get_uint(yyjson_obj_get(what, "n")); n > 0;
	    n--)
		bluesky_add((unsigned)(a - bluesky_world()->accounts),
		    clock_wall());
	return true;
}

static void
delete_entry(size_t at)
{
	struct bluesky_entry *e = &bluesky_world()->entries[at];

	e->deleted = true;
	bluesky_happen(BLUESKY_DELETE, e->account, at, clock_wall());
}

static bool
change(struct str host, yyjson_val *what, char sentence[static 200])
{
	yyjson_val *add = yyjson_obj_get(what, "add");
	yyjson_val *rename = yyjson_obj_get(what, "rename");
	size_t delete = bluesky_entry(json_text(yyjson_obj_get(what,
	    "delete")));
	struct bluesky_account *suspend = bluesky_account(json_text(
	    yyjson_obj_get(what, "suspend")));
	struct bluesky_account *leave = bluesky_account(json_text(
	    yyjson_obj_get(what, "leave")));

	(void)host;
	snprintf(sentence, 200, "there is no such account or post");
	if (add != NULL)
		return add_posts(add);
	if (rename != NULL)
		return bluesky_rename(json_text(yyjson_obj_get(rename,
		    "account")), json_text(yyjson_obj_get(rename, "to")));
	if (delete != BLUESKY_NONE)
		delete_entry(delete);
	if (suspend != NULL)
		set_status(suspend, BLUESKY_TAKEN_DOWN);
	if (leave != NULL)
		set_status(leave, BLUESKY_DELETED);
	if (leave != NULL)
		return true;
	return delete != BLUESKY_NONE || suspend != NULL;
}

static const char *const hosts[] = { "public.api.bsky.app",
	"jetstream.us-east.bsky.network", "jetstream2.us-east.bsky.network",
	NULL };

const struct platform bluesky_platform = { .name = "bluesky",
	.hosts = hosts, .make = bluesky_make, .answer = answer,
	.describe = describe, .change = change };
