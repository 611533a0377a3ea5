/*
 * Stored pages: list_pages, and get_page with all details of one page.
 */
#include "doors/realtime/own.h"

#include "base/text.h"
#include "wire/base64.h"
#include "wire/digest.h"

#define SIZE_DEFAULT 100u
#define PARTIAL_MS 250u
#define BODY_BYTES_MAX ((size_t)48 << 10)
#define LINKS_BYTES_MAX ((size_t)16 << 10)
#define HOPS_BYTES_MAX ((size_t)24 << 10)
#define HEAD_BYTES_MAX ((size_t)8 << 10)    /* of a head that is shown */
/* Before the body, when lists end; a URL more still fits. */
#define REST_BYTES_MAX ((size_t)352 << 10)

static void
put_duration(struct buf *b, const char *name, int64_t us)
{
	if (us < 0)
		json_null(b, name);
	else
		json_real(b, name, (double)us / 1e6);
}

static void
put_page(struct buf *b, const struct journal_entry *e)
{
	json_u64(b, "number", e->seq);
	json_str(b, "url", e->url);
	if (e->final_url.n > 0)
		json_str(b, "final_url", e->final_url);
	json_u64(b, "status_code", e->status);
	json_str(b, "type", e->type);
	json_str(b, "title", e->title);
	json_u64(b, "depth", e->depth);
	json_time(b, "started_at", e->start);
	put_duration(b, "duration", e->duration_us);
	json_u64(b, "body_length", e->body_bytes);
	json_bool(b, "truncated", e->flags & JOURNAL_TRUNCATED);
	json_bool(b, "duplicate", e->flags & JOURNAL_REVISIT);
	json_bool(b, "near_duplicate", e->flags & JOURNAL_NEAR_DUPLICATE);
	json_bool(b, "embed", e->flags & JOURNAL_EMBED);
}

/* --- lists -------------------------------------------------------------- */

static void
listed(struct captures_query *a)
{
	struct task *t = a->arg;
	struct buf *b = task_data(t);

	if (!task_back(t, &a->why, &a->arena, CODE_UNKNOWN_CRAWL))
		return;
	json_u64(b, "total", a->total);
	if (a->so_far || a->limited)
		json_u64(b, "looked", a->looked);
	if (a->limited)
		json_bool(b, "limited", true);
	json_array(b, "pages");
	for (size_t i = 0; i < a->n && b->n < REALTIME_ANSWER_BYTES_MAX;
	    i++) {
		json_object(b, NULL);
		put_page(b, &a->pages[i]);
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
	task_answer(t);
}

static bool
read_order(struct task *t, enum pages_order *order)
{
	static const char *const words[] = { "oldest", "newest", "slowest",
	    "largest" };
	struct str word = t->command.order;

	*order = PAGES_OLDEST;
	for (size_t i = 0; word.n > 0 && i < ARRAY_LEN(words); i++)
		if (str_eq(word, str_of(words[i]))) {
			*order = (enum pages_order)i;
			return true;
		}
	if (word.n > 0)
		task_fail(t, CODE_BAD_ARGS, "order: oldest, newest, slowest "
		    "or largest is expected.");
	return word.n == 0;
}

void
verb_list_pages(struct task *t)
{
	const struct command *c = &t->command;
	struct digest digest = { .kind = DIGEST_NONE };
	enum pages_order order;

	if (!read_order(t, &order))
		return;
	if (c->digest.n > 0 && !digest_from_text(c->digest, &digest)) {
		task_fail(t, CODE_BAD_ARGS, "digest: it is none.");
		return;
	}
	struct captures_query *a = task_ask(t, sizeof(*a));
	*a = (struct captures_query){ .crawl = t->row->id, .start = c->start,
	    .size = command_has(c, ARG_BIT(SIZE)) ? c->size : SIZE_DEFAULT,
	    .text = c->text_arg, .status = c->status, .type = c->type,
	    .host = c->host, .digest = digest, .links_to = c->links_to,
	    .order = order,
	    .wait_ms = c->partial ? PARTIAL_MS : 0, .left = &t->left,
	    .done = listed, .arg = t };
	catalog_captures(engine_catalog(t->door->engine), a);
}

/* --- one page ----------------------------------------------------------- */

static void
put_latin(struct buf *b, const char *name, struct str s)
{
	json_name(b, name);
	text_json_latin1(b, str_cut(s, 0, HEAD_BYTES_MAX));
}

static void
put_hop(struct buf *b, const struct page_hop *h)
{
	json_object(b, NULL);
	json_str(b, "url", h->url);
	json_time(b, "at", h->at);
	put_latin(b, "request", h->request);
	put_latin(b, "response", h->response);
	json_str(b, "record_id", h->record_id);
	json_str(b, "file", h->file);
	json_u64(b, "offset", h->offset);
	json_u64(b, "length", h->length);
	buf_put_char(b, '}');
}

static void
put_hops(struct buf *b, const struct capture_query *a)
{
	json_array(b, "hops");
	size_t most = b->n + HOPS_BYTES_MAX;
	for (size_t i = 0; i < a->hops_n && b->n < most; i++)
		put_hop(b, &a->hops[i]);
	buf_put_char(b, ']');
}

static void
put_timing(struct buf *b, const struct journal_entry *e)
{
	json_object(b, "timing");
	put_duration(b, "dns", e->dns_us);
	put_duration(b, "connect", e->connect_us);
	put_duration(b, "tls", e->tls_us);
	put_duration(b, "first_byte", e->first_byte_us);
	put_duration(b, "total", e->total_us);
	buf_put_char(b, '}');
}

static void
put_links(struct buf *b, const struct capture_query *a)
{
	json_u64(b, "links_total", a->links_n);
	json_array(b, "links");
	size_t most = MIN(b->n + LINKS_BYTES_MAX, REST_BYTES_MAX);
	for (size_t i = 0; i < a->links_n && b->n < most; i++)
		json_item(b, a->links[i]);
	buf_put_char(b, ']');
}

static void
put_duplicates(struct buf *b, const struct capture_query *a)
{
	json_array(b, "duplicates");
	size_t most = MIN(b->n + LINKS_BYTES_MAX, REST_BYTES_MAX);
	for (size_t i = 0; i < a->duplicates_n && b->n < most; i++) {
		const struct journal_entry *e = &a->duplicates[i];
		json_object(b, NULL);
		json_u64(b, "crawl_id", e->crawl);
		json_u64(b, "number", e->seq);
		json_str(b, "url", e->url);
		json_time(b, "started_at", e->start);
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
	if (a->so_far)
		json_u64(b, "duplicates_looked", a->looked);
}

static void
put_digest(struct buf *b, const struct digest *d)
{
	char text[DIGEST_TEXT_MAX];

	if (d->kind == DIGEST_NONE) {
		json_null(b, "digest");
		return;
	}
	json_str(b, "digest", (struct str){ text, digest_to_text(d, text) });
}

static void
put_body(struct buf *b, const struct capture_query *a)
{
	json_name(b, "body");
	buf_put_char(b, '"');
	base64_put(b, a->body_bytes);
	buf_put_char(b, '"');
	json_bool(b, "body_cut", a->cut);
	json_bool(b, "body_damaged", a->damaged);
}

static void
got_page(struct capture_query *a)
{
	struct task *t = a->arg;
	struct buf *b = task_data(t);

	if (a->why.err == ERR_ABSENT) {
		a->why = WHY_INIT;
		(void)why(&a->why, ERR_INPUT,
		    "number: the crawl has no page %llu",
		    (unsigned long long)a->number);
	}
	if (!task_back(t, &a->why, &a->arena, CODE_BAD_ARGS))
		return;
	json_u64(b, "crawl_id", a->entry.crawl);
	put_page(b, &a->entry);
	json_str(b, "via", a->entry.via);
	json_bool(b, "archived", a->entry.file != 0);
	put_hops(b, a);
	put_timing(b, &a->entry);
	put_digest(b, &a->entry.digest);
	put_links(b, a);
	if (a->same)
		put_duplicates(b, a);
	if (a->body)
		put_body(b, a);
	task_answer(t);
}

void
verb_get_page(struct task *t)
{
	const struct command *c = &t->command;
	struct capture_query *a = task_ask(t, sizeof(*a));

	*a = (struct capture_query){ .crawl = t->row->id, .number = c->number,
	    .body = !command_has(c, ARG_BIT(BODY)) || c->body,
	    .body_bytes_max = BODY_BYTES_MAX, .left = &t->left,
	    .same = !command_has(c, ARG_BIT(DUPLICATES)) || c->duplicates,
	    .done = got_page, .arg = t };
	catalog_capture(engine_catalog(t->door->engine), a);
}
