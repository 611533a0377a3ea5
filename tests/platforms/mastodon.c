/* Calls of Mastodon's API: https://docs.joinmastodon.org/methods/. */
#include "tests/platforms/mastodon.h"

#define CALLS 300u
#define PERIOD_S 300
#define PAGE_MAX 40u
#define PAGE_USUAL 20u
#define OVERLAP_N 3u

static void
fail_with(struct request *r, int status, const char *error)
{
	r->status = status;
	buf_clear(&r->out);
	json_object(&r->out, NULL);
	json_str(&r->out, "error", str_of(error));
	buf_put_text(&r->out, "}");
}

/* As Rails reads a flag: anything but a word for false. */
static bool
is_set(struct request *r, const char *name)
{
	static const char *const words[] = { "", "0", "f", "F", "false",
		"FALSE", "off", "OFF" };
	struct str value;

	return request_param(r, name, &value) &&
	    STR_ROW(value, words) == ARRAY_LEN(words);
}

/* ---- Lists ------------------------------------------------------------- */

/* Which posts a list has. */
struct list {
	struct instance *x;
	const struct account *account;   /* NULL: a timeline */
	bool all_tags;               /* of that: public, not of a tag */
	bool no_replies, no_boosts;
	unsigned tag, any, all, none;    /* bits of tags */
	bool local, remote, only_media;
};

static bool
is_of_account(const struct list *l, const struct post *p)
{
	return &l->x->accounts[p->account] == l->account &&
	    !(l->no_replies && p->reply_to != 0 && !p->reply_to_own) &&
	    !(l->no_boosts && p->boost_of != 0);
}

static bool
has_tags(const struct list *l, const struct post *p)
{
	return l->all_tags || ((p->tags & (l->tag | l->any)) != 0 &&
	    (p->tags & l->all) == l->all && (p->tags & l->none) == 0);
}

static bool
is_of_timeline(const struct list *l, const struct post *p)
{
	const struct account *a = &l->x->accounts[p->account];

	return !p->unlisted && !a->suspended && p->boost_of == 0 &&
	    has_tags(l, p) && !(l->local && a->remote) &&
	    !(l->remote && !a->remote);
}

static bool
is_listed(const struct list *l, const struct post *p)
{
	return !p->deleted && !(l->only_media && p->media == 0) &&
	    (l->account != NULL ? is_of_account(l, p) :
	    is_of_timeline(l, p));
}

/* A page: the newest first, as it is sent. */
struct page {
	const struct post *posts[PAGE_MAX];
	size_t n, limit;
};

static void
reverse(struct page *p)
{
	for (size_t i = 0; i < p->n / 2; i++) {
		const struct post *other = p->posts[i];
		p->posts[i] = p->posts[p->n - 1 - i];
		p->posts[p->n - 1 - i] = other;
	}
}

/* Those right after min_id, or else the newest between both others. */
static void
find_page(const struct list *l, uint64_t min_id, uint64_t since_id,
    uint64_t max_id, struct page *p)
{
	size_t n = l->x->posts_n;

	p->n = 0;
	for (size_t i = 0; i < n && p->n < p->limit; i++) {
		size_t at = min_id != 0 ? i : n - 1 - i;
		const struct post *post = &l->x->posts[at];
		if (post->id > MAX(min_id, since_id) && post->id < max_id &&
		    is_listed(l, post))
			p->posts[p->n++] = post;
	}
	if (min_id != 0)
		reverse(p);
}

/* ---- Pages that are not as they should be ------------------------------ */

/* The id after which the last forward page of a list began. */
static struct {
	struct str path;
	char bytes[300];
	uint64_t min_id;
} last;

static uint64_t
spoil_min_id(struct request *r, const struct list *l, uint64_t min_id)
{
	struct page before = { .limit = OVERLAP_N };
	uint64_t previous = str_eq(last.path, r->head.path) ? last.min_id :
	    min_id;

	last.path = (struct str){ last.bytes, MIN(r->head.path.n,
	    sizeof(last.bytes)) };
	memcpy(last.bytes, r->head.path.p, last.path.n);
	last.min_id = min_id;
	if (r->fault.page == PAGE_DUPLICATE && min_id != 0)
		return previous;
	if (r->fault.page != PAGE_OVERLAP || min_id == 0)
		return min_id;
	find_page(l, 0, 0, min_id + 1, &before);
	return before.n == 0 ? min_id : before.posts[before.n - 1]->id - 1;
}

/* The link, after what the fault says. */
static void
put_link(struct request *r, uint64_t next, uint64_t prev)
{
	struct str rest = r->head.query, pair;
	struct buf same = BUF_INIT;

	while (str_split(&rest, '&', &pair)) {
		if (str_starts(pair, STR("max_id=")) ||
		    str_starts(pair, STR("min_id=")) ||
		    str_starts(pair, STR("since_id=")) || pair.n == 0)
			continue;
		buf_put_str(&same, pair);
		buf_put_char(&same, '&');
	}
	buf_put_text(&r->fields, "Link: ");
	for (int i = next == 0; i < 2; i++)
		buf_printf(&r->fields, "<https://%.*s%.*s?%.*s%s=%llu>; "
		    "rel=\"%s\"%s", STR_FMT(r->head.host),
		    STR_FMT(r->head.raw_path), STR_FMT(buf_str(&same)),
		    i == 0 ? "max_id" : "min_id",
		    (unsigned long long)(i == 0 ? next : prev),
		    i == 0 ? "next" : "prev", i == 0 ? ", " : "\r\n");
	buf_free(&same);
}

static void
answer_list(struct request *r, const struct list *l)
{
	struct page p = { .limit = MIN(MAX(request_number(r, "limit",
	    PAGE_USUAL), 1), PAGE_MAX) };
	uint64_t asked = request_number(r, "min_id", 0);
	uint64_t min_id = spoil_min_id(r, l, asked);

	find_page(l, min_id, request_number(r, "since_id", 0),
	    request_number(r, "max_id", UINT64_MAX), &p);
	r->status = 200;
	if (r->fault.page == PAGE_EMPTY) {
		p.n = 0;
		put_link(r, 0, asked + 1);
	} else if (p.n > 0) {
		put_link(r, p.n == p.limit ? p.posts[p.n - 1]->id : 0,
		    r->fault.page == PAGE_LOOP ? asked : p.posts[0]->id);
	}
	if (r->fault.page == PAGE_REORDERED)
		reverse(&p);
	json_array(&r->out, NULL);
	for (size_t i = 0; i < p.n; i++)
		write_post(&r->out, l->x, p.posts[i],
		    i == 0 ? r->fault.big : 0);
	buf_put_text(&r->out, "]");
}

/* ---- Calls ------------------------------------------------------------- */

static void
answer_statuses(struct request *r, struct instance *x,
    const struct account *a)
{
	struct list l = { .x = x, .account = a,
		.no_replies = is_set(r, "exclude_replies"),
		.no_boosts = is_set(r, "exclude_reblogs"),
		.only_media = is_set(r, "only_media") };

	if (!a->suspended && !is_set(r, "pinned")) {
		answer_list(r, &l);
		return;
	}
	r->status = 200;
	buf_put_text(&r->out, "[]");
}

static void
answer_account(struct request *r, struct instance *x,
    const struct account *a, struct str rest)
{
	struct str verb;

	if (a == NULL) {
		fail_with(r, 404, "Record not found");
	} else if (!request_segment(r, &rest, &verb)) {
		r->status = 200;
		write_account(&r->out, NULL, x, a);
	} else if (str_eq(verb, STR("statuses"))) {
		answer_statuses(r, x, a);
	}
}

static void
answer_accounts(struct request *r, struct instance *x, struct str rest)
{
	struct str which, name = STR_NONE;
	uint64_t id;

	if (!request_segment(r, &rest, &which))
		return;
	if (str_eq(which, STR("lookup"))) {
		(void)request_param(r, "acct", &name);
		answer_account(r, x, world_account(x, name), STR_NONE);
	} else {
		answer_account(r, x, str_to_u64(which, &id) ?
		    world_account_by_id(x, id) : NULL, rest);
	}
}

/* A list's bits; an unknown tag of all[] leaves nothing. */
static unsigned
tags_of(struct request *r, const char *name, bool *unknown)
{
	struct str tag;
	unsigned bits = 0;

	for (size_t at = 0; head_param(r->head.query, &at, str_of(name),
	    &r->arena, &tag);) {
		unsigned bit = world_tag(tag);
		*unknown |= bit == 0;
		bits |= bit;
	}
	return bits;
}

/* Unauthenticated requests are refused, or get what may be shown. */
static void
answer_timeline(struct request *r, struct list *l)
{
	const struct instance *x = l->x;
	bool stranger = request_bearer(r).p == NULL;

	l->local = is_set(r, "local");
	l->remote = is_set(r, "remote");
	l->only_media = is_set(r, "only_media");
	if (stranger && ((!l->remote && x->local == ACCESS_AUTHENTICATED) ||
	    (!l->local && x->remote == ACCESS_AUTHENTICATED))) {
		fail_with(r, 401, "This method requires an authenticated "
		    "user");
		return;
	}
	l->local |= x->remote == ACCESS_DISABLED;
	l->remote |= x->local == ACCESS_DISABLED;
	answer_list(r, l);
}

static void
answer_tag(struct request *r, struct instance *x, struct str tag)
{
	bool ignored = false, none_has_all = false;
	struct list l = { .x = x, .tag = world_tag(tag),
		.any = tags_of(r, "any[]", &ignored),
		.all = tags_of(r, "all[]", &none_has_all),
		.none = tags_of(r, "none[]", &ignored) };

	if (none_has_all)
		l.tag = l.any = 0;
	answer_timeline(r, &l);
}

/* ---- Streams ----------------------------------------------------------- */

static void
put_event(struct buf *out, const struct list *l, const struct change *c)
{
	FREED(buf_free) struct buf json = BUF_INIT;
	const struct post *p = &l->x->posts[c->post];

	if (c->what == CHANGE_DELETED) {
		buf_printf(out, "event: delete\ndata: %llu\n\n",
		    (unsigned long long)p->id);
	} else if (is_listed(l, p)) {
		write_post(&json, l->x, p, 0);
		buf_printf(out, "event: %s\ndata: %.*s\n\n",
		    c->what == CHANGE_NEW ? "update" : "status.update",
		    STR_FMT(buf_str(&json)));
	}
}

static void
stream_changes(struct request *r, struct buf *out)
{
	struct str kind = str_from(r->head.path, 18);
	struct instance *x = world_instance(r->host);
	struct list l = { .x = x, .all_tags = str_starts(kind, STR("public")),
		.local = str_ends(kind, STR("/local")),
		.remote = str_ends(kind, STR("/remote")),
		.tag = r->stream_arg };

	for (; r->stream_at < x->changes_n; r->stream_at++)
		put_event(out, &l, &x->changes[r->stream_at]);
}

static void
answer_stream(struct request *r, const struct instance *x, struct str kind)
{
	static const char *const kinds[] = { "public", "public/local",
		"public/remote", "hashtag", "hashtag/local" };
	size_t i = STR_ROW(kind, kinds);
	struct str tag = STR_NONE;

	if (i == ARRAY_LEN(kinds))
		return;
	if (!str_eq(str_of(r->who), STR("user"))) {
		fail_with(r, 401, "Missing access token");
	} else if (i >= 3 && !request_param(r, "tag", &tag)) {
		fail_with(r, 400, "Missing tag name parameter");
	} else {
		r->status = 200;
		r->type = "text/event-stream";
		r->stream = stream_changes;
		r->stream_at = x->changes_n;
		r->stream_arg = world_tag(tag);
		r->heartbeat = ":thump\n";
	}
}

/* ---- Calls by their paths ---------------------------------------------- */

static void
answer_call(struct request *r, struct instance *x)
{
	struct str path = r->head.path, rest = r->head.raw_path, tag;

	/* Rails does not mind a slash at the end, and clients have it. */
	if (str_ends(path, STR("/")))
		path.n--;
	if (str_eq(path, STR("/api/v1/instance")) ||
	    (str_eq(path, STR("/api/v2/instance")) && !x->is_old)) {
		r->status = 200;
		write_instance(&r->out, x, path.p[6] - '0');
	} else if (str_eq(path, STR("/api/v2/instance"))) {
		fail_with(r, 404, "Record not found");
	} else if (str_starts(rest, STR("/api/v1/accounts/"))) {
		answer_accounts(r, x, str_from(rest, 17));
	} else if (str_eq(path, STR("/api/v1/timelines/public"))) {
		answer_timeline(r, &(struct list){ .x = x, .all_tags = true });
	} else if (str_starts(path, STR("/api/v1/streaming/"))) {
		answer_stream(r, x, str_from(path, 18));
	} else if (str_starts(rest, STR("/api/v1/timelines/tag/"))) {
		rest = str_from(rest, 22);
		if (request_segment(r, &rest, &tag))
			answer_tag(r, x, tag);
	}
}

/* ---- Credentials, budgets, faults -------------------------------------- */

/* False: the request has been refused. */
static bool
check_token(struct request *r, const struct instance *x)
{
	struct str token = request_bearer(r);
	bool user = str_eq(token, str_of(world_token(true)));
	bool app = str_eq(token, str_of(world_token(false)));

	r->who = token.p == NULL ? "nobody" : user ? "user" : app ? "app" :
	    "stranger";
	if (token.p != NULL && ((!user && !app) || world_tokens_expired())) {
		fail_with(r, 401, "The access token is invalid");
		return false;
	}
	if (x->is_private && !user) {
		fail_with(r, app ? 422 : 401, "This method requires an "
		    "authenticated user");
		return false;
	}
	return true;
}

static void
put_budget(struct request *r, const struct budget *b)
{
	char iso[WALL_ISO_MAX];

	wall_to_iso(b->reset, iso);
	buf_printf(&r->fields, "X-RateLimit-Limit: %llu\r\n"
	    "X-RateLimit-Remaining: %llu\r\n",
	    (unsigned long long)b->limit, (unsigned long long)b->left);
	if (r->fault.reset != DATE_TEXT)
		buf_printf(&r->fields, "X-RateLimit-Reset: %s\r\n", iso);
}

/* A status that the plan wants in place of an answer. */
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
	    "Too many requests" : "so the plan says");
}

static void
change_by_plan(struct request *r, struct instance *x)
{
	const struct fault *f = &r->fault;
	struct account *a = world_account(x, f->suspend);

	if (f->expire)
		world_expire_tokens();
	if (f->rename.n > 0)
		(void)world_rename(x, f->rename, f->rename_to);
	if (f->suspend.n > 0 && a != NULL)
		a->suspended = true;
}

static void
answer(struct request *r)
{
	struct instance *x = world_instance(r->host);
	struct str token = request_bearer(r);
	struct budget budget;

	if (str_starts(r->head.path, STR("/api/v1/streaming/")))
		budget = (struct budget){ .limit = CALLS, .left = CALLS };
	else
		budget_take(arena_printf(&r->arena, "mastodon %.*s %.*s",
		    STR_FMT(r->host), STR_FMT(token)), CALLS, PERIOD_S,
		    &budget);
	change_by_plan(r, x);
	bool fine = check_token(r, x);
	if (r->fault.status != 0) {
		fail_by_plan(r, &budget);
		return;
	}
	put_budget(r, &budget);
	if (budget.exceeded)
		fail_with(r, 429, "Too many requests");
	else if (fine && (str_eq(r->head.method, STR("GET")) ||
	    str_eq(r->head.method, STR("HEAD"))))
		answer_call(r, x);
}

/* ---- For tests --------------------------------------------------------- */

static void
describe_list(struct buf *out, const char *name, const struct list *l)
{
	json_array(out, name);
	for (size_t i = 0; i < l->x->posts_n; i++) {
		char id[24];
		if (!is_listed(l, &l->x->posts[i]))
			continue;
		snprintf(id, sizeof(id), "%llu",
		    (unsigned long long)l->x->posts[i].id);
		json_item(out, str_of(id));
	}
	buf_put_text(out, "]");
}

static void
describe_account(struct buf *out, struct instance *x,
    const struct account *a)
{
	const struct list l = { .x = x, .account = a };
	char id[24];

	snprintf(id, sizeof(id), "%llu", (unsigned long long)a->id);
	json_object(out, NULL);
	json_str(out, "name", str_of(a->name));
	json_str(out, "id", str_of(id));
	json_bool(out, "remote", a->remote);
	json_bool(out, "suspended", a->suspended);
	describe_list(out, "posts", &l);
	buf_put_text(out, "}");
}

static void
describe(struct str host, struct buf *out)
{
	struct instance *x = world_instance(host);

	json_object(out, NULL);
	json_object(out, "tokens");
	json_str(out, "user", str_of(world_token(true)));
	json_str(out, "app", str_of(world_token(false)));
	buf_put_text(out, "}");
	json_array(out, "accounts");
	for (size_t i = 0; i < x->accounts_n; i++)
		describe_account(out, x, &x->accounts[i]);
	buf_put_text(out, "]");
	describe_list(out, "public", &(struct list){ .x = x,
		.all_tags = true });
	json_object(out, "tags");
	for (unsigned t = 0; t < TAGS_N; t++) {
		const struct list l = { .x = x, .tag = 1u << t };
		describe_list(out, tag_names[t], &l);
	}
	buf_put_text(out, "}}\n");
}

static bool
add_posts(struct instance *x, yyjson_val *what)
{
	struct account *a = world_account(x, json_text(yyjson_obj_get(what,
	    "account")));

	if (a == NULL)
		return false;
	for (uint64_t n = yyjson_get_uint(yyjson_obj_get(what, "n")); n > 0;
	    n--)
		world_add_post(x, (unsigned)(a - x->accounts), clock_wall());
	return true;
}

static struct post *
post_of(struct instance *x, yyjson_val *id)
{
	uint64_t number;

	return str_to_u64(json_text(id), &number) ? world_post(x, number) :
	    NULL;
}

static bool
change(struct str host, yyjson_val *what, char sentence[static 200])
{
	struct instance *x = world_instance(host);
	yyjson_val *add = yyjson_obj_get(what, "add");
	yyjson_val *rename = yyjson_obj_get(what, "rename");
	struct post *delete = post_of(x, yyjson_obj_get(what, "delete"));
	struct post *edit = post_of(x, yyjson_obj_get(what, "edit"));
	struct account *suspend = world_account(x,
	    json_text(yyjson_obj_get(what, "suspend")));

	snprintf(sentence, 200, "there is no such account or post");
	if (add != NULL)
		return add_posts(x, add);
	if (rename != NULL)
		return world_rename(x, json_text(yyjson_obj_get(rename,
		    "account")), json_text(yyjson_obj_get(rename, "to")));
	if (delete != NULL)
		world_delete_post(x, delete);
	if (edit != NULL)
		world_edit_post(x, edit, clock_wall());
	if (suspend != NULL)
		suspend->suspended = true;
	return delete != NULL || edit != NULL || suspend != NULL;
}

static const char *const hosts[] = { "mastodon.example", "old.example",
	"private.example", "members.example", "closed.example",
	"half.example", NULL };

const struct platform mastodon_platform = { .name = "mastodon",
	.hosts = hosts, .make = world_make, .answer = answer,
	.describe = describe, .change = change };
