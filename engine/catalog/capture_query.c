/*
 * One page with all that is known of it, and its records as bytes.
 */
#include "engine/archive/archive_port.h"
#include "engine/catalog/core.h"
#include "engine/ledger/ledger.h"
#include "engine/parser/parse.h"
#include "os/clock.h"
#include "os/log.h"

#define LINKS_MAX 10000u
#define DUPLICATES_MAX 100u
/* Decoded for its links, whatever of it is asked for. */
#define PARSE_BYTES_MAX ((size_t)16 << 20)
/* So long others with its body are looked for. */
#define SAME_MS 2000u

/* --- where the records are ------------------------------------------------ */

/* Entries looked back at for one in the same file. */
#define BACK_MAX 100u
/* Members walked over before the capture's own. */
#define WALK_MAX 200000u

struct capture_member {
	uint64_t offset;
	uint32_t clen;
};
#define CAPTURE_MEMBERS_MAX 256u
struct capture_members {
	int fd;                      /* the reader's */
	struct str file;             /* the WARC's name when it is finished */
	size_t n;
	struct capture_member at[CAPTURE_MEMBERS_MAX];
};

/* Where to begin walking: at an earlier capture's record in that file. */
static uint64_t
place_before(struct record_reader *r, const struct journal_entry *e)
{
	FREED(buf_free) struct buf at = BUF_INIT;
	struct journal_entry other;
	struct str key, value;

	journal_key(e->crawl, e->seq, &at);
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(r->index, INDEX_JOURNAL);
	index_iter_seek_last(i, buf_str(&at));
	for (unsigned n = 0; n < BACK_MAX && index_iter_valid(i, &key,
	    &value); n++, index_iter_prev(i)) {
		if (!journal_parse(key, value, &other) ||
		    other.crawl != e->crawl)
			break;
		if (other.seq != e->seq && other.file == e->file &&
		    other.offset < e->offset)
			return other.offset;
	}
	return 0;
}

/* The head of the member at `at`; false when none of ours begins there. */
static bool
read_head(int fd, uint64_t at, struct gzip_head *head)
{
	char bytes[GZIP_HEAD_BYTES];
	size_t got;

	return archive_port()->read_at(fd, at, bytes, sizeof(bytes), &got,
	    NULL) == OK &&
	    gzip_head_parse((struct str){ bytes, got }, head) ==
	    GZIP_HEAD_OK && head->has_lengths && head->lengths.clen > 0;
}

/*
 * All records of the capture, in the order in which they were written: of each
 * hop the response, then the request.  The journal knows where the final
 * answer's stands; those of redirects stand before it, behind what was written
 * earlier.
 *
 *     ... [capture 6] [7: hop 0, request, hop 1, request] [capture 8] ...
 *          ▲ journal                        ▲ journal
 *
 * The final response is always there.  Memory of the name: `a`.  Errors: as
 * record_reader_file().
 */
static enum err
capture_records(struct record_reader *r, const struct journal_entry *e,
    struct arena *a, struct capture_members *out, struct why *w)
{
	uint64_t at = e->hops == 0 ? e->offset : place_before(r, e);
	struct gzip_head head;
	struct str path;
	bool final = false;

	out->n = 0;
	enum err err = ledger_warc_path(r->index, e->file, a, &path, w);
	if (err == OK)
		err = record_reader_file(r, e->file, &out->fd, w);
	if (err != OK)
		return err;
	out->file = archive_final_name(archive_base_name(path));
	for (unsigned i = 0; i < WALK_MAX && out->n < CAPTURE_MEMBERS_MAX - 1 &&
	    read_head(out->fd, at, &head); i++) {
		bool ours = head.has_numbers && head.seq == e->seq;
		if (ours)
			out->at[out->n++] = (struct capture_member){ at,
			    head.lengths.clen };
		else if (at > e->offset)
			break;
		final |= ours && at == e->offset;
		at += head.lengths.clen;
	}
	if (!final) {
		out->n = 1;
		out->at[0] = (struct capture_member){ e->offset, e->clen };
	}
	return OK;
}

/* --- hops --------------------------------------------------------------- */

static void
put_hop(struct capture_query *q, const struct capture *c, struct str file,
    const struct capture_member *m)
{
	struct arena *a = &q->arena;
	struct str head = arena_copy(a, c->http_bytes);

	if (c->type == WARC_REQUEST) {
		if (q->hops_n > 0)
			q->hops[q->hops_n - 1].request = head;
		return;
	}
	if (c->type != WARC_RESPONSE && c->type != WARC_REVISIT)
		return;
	q->hops[q->hops_n++] = (struct page_hop){
		.url = arena_copy(a, c->uri), .response = head,
		.at = c->date, .record_id = arena_copy(a, c->id),
		.file = file, .offset = m->offset, .length = m->clen,
	};
}

static enum err
read_hops(struct record_reader *r, struct capture_query *q)
{
	struct capture_members m;
	struct capture c;

	enum err e = capture_records(r, &q->entry, &q->arena, &m, &q->why);
	q->hops = ARENA_ARRAY(&q->arena, struct page_hop, m.n);
	for (size_t i = 0; i < m.n; i++)
		/* A record that cannot be read is left out. */
		if (capture_read(r->own, m.fd, m.at[i].offset, m.at[i].clen,
		    0, &c, NULL) == OK)
			put_hop(q, &c, m.file, &m.at[i]);
	return e;
}

/* --- body and links ----------------------------------------------------- */

static void
read_links(struct capture_query *q, const struct capture *c, struct str body)
{
	struct str own = q->entry.final_url.n != 0 ? q->entry.final_url :
	    q->entry.url;
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct parse_output found;
	struct url url;
	struct parse_input in = {
		.body = body, .url = &url,
		.content_type = http_find(&c->http, STR("Content-Type")),
		.nosniff = str_eq_nocase(http_find(&c->http,
		    STR("X-Content-Type-Options")), STR("nosniff")),
		.links_max = LINKS_MAX, .cpu_ns = clock_thread_cpu_ns,
	};
	FREED(parser_free) struct parser *p = parser_new();

	if (body.n > 0 && url_parse(own, NULL, &a, &url, NULL) == OK &&
	    parse_document(p, &in, &a, &found, NULL) == OK) {
		struct str *links = ARENA_ARRAY(&q->arena, struct str,
		    found.links_n);
		for (size_t i = 0; i < found.links_n; i++)
			links[i] = arena_copy(&q->arena,
			    found.links[i].url.href);
		q->links = links;
		q->links_n = found.links_n;
	}
}

/* Its one hop, from the record that has the body. */
static void
put_answer_hop(struct capture_query *q, const struct capture *c)
{
	q->hops = ARENA_NEW(&q->arena, struct page_hop);
	q->hops[0] = (struct page_hop){ .url = arena_copy(&q->arena, c->uri),
	    .response = arena_copy(&q->arena, c->http_bytes), .at = c->date };
	q->hops_n = 1;
}

/* If the record cannot be read: logs why, sets `damaged`, leaves no body. */
static void
read_body(struct record_reader *r, struct capture_query *q)
{
	size_t wanted = q->body ? q->body_bytes_max : 0;
	uint64_t length = journal_body_length(&q->entry);
	bool sized = q->entry.flags & JOURNAL_SIZED;
	struct http_decode_limits limits = { MAX(wanted, PARSE_BYTES_MAX),
	    sized ? UINT32_MAX : HTTP_DECODE_LIMITS_DEFAULT.ratio_max };
	struct why unread = WHY_INIT;
	struct capture c;

	if (sized)
		limits.bytes_max = MIN(limits.bytes_max, length);
	if (record_reader_read(r, &q->entry, &c, &unread) != OK) {
		log_warn("feed.unreadable", "crawl=%u item=%llu error=%s",
		    q->entry.crawl, (unsigned long long)q->entry.seq,
		    log_why(&unread));
		q->damaged = true;
		return;
	}
	q->truncated = arena_copy(&q->arena, http_find(&c.warc,
	    STR("WARC-Truncated")));
	if (q->answer_only)
		put_answer_hop(q, &c);
	buf_clear(&r->body);
	enum http_damage d = capture_decode(&c, limits, &r->body);
	struct str body = str_cut(buf_str(&r->body), 0,
	    (size_t)limits.bytes_max);
	q->damaged = (q->entry.flags & JOURNAL_DAMAGED) ||
	    (http_damage_cuts(d) && d != HTTP_TOO_LONG);
	q->cut = q->body && (body.n > wanted || (sized && length > wanted) ||
	    d == HTTP_TOO_LONG);
	if (q->body)
		q->body_bytes = arena_copy(&q->arena, str_cut(body, 0,
		    wanted));
	if (!q->answer_only)
		read_links(q, &c, body);
}

/* --- the page ----------------------------------------------------------- */

static enum err
read_page(struct record_reader *r, struct capture_query *q)
{
	enum err e = record_reader_entry(r, q->crawl, q->number, &q->arena,
	    &q->entry, &q->why);

	if (e != OK || q->entry.file == 0)
		return e;
	/* Whatever of the records is gone, the entry is worth an answer. */
	if (!q->answer_only && read_hops(r, q) != OK)
		q->why = WHY_INIT;
	read_body(r, q);
	return OK;
}

static void
reading_run(struct read_task *task)
{
	/* The answer is in its `why`. */
	(void)!read_page(task->reader, CONTAINER(task, struct capture_query,
	    task));
}

static void
answer(struct capture_query *q)
{
	arena_free(&q->list.arena);
	q->done(q);
}

/* --- a page of just now --------------------------------------------------- */

/*
 * A page is told of as soon as the log has it.  Who asks for it at once may be
 * earlier than the index, and asks again when that has caught up.
 */
struct catching_up {
	struct ledger_query query;
	struct catalog *catalog;
	struct read_task *task;
};

static void
caught_up(struct ledger_query *query)
{
	struct catching_up *c = CONTAINER(query, struct catching_up, query);

	read_task_put(c->catalog->tasks, c->task);
	read_tasks_let_go(c->catalog->tasks);
	mem_free(&c);
}

/* True: `task` comes once more. */
static bool
catch_up(struct catalog *catalog, struct read_task *task, struct why *w,
    bool *waited)
{
	struct catching_up *c;

	if (w->err != ERR_ABSENT || *waited || catalog->closing)
		return false;
	*waited = true;
	*w = WHY_INIT;
	c = mem_new(sizeof(*c));
	c->catalog = catalog;
	c->task = task;
	read_tasks_hold(catalog->tasks);
	ledger_barrier(catalog->options.ledger, &c->query,
	    catalog->options.home, caught_up);
	return true;
}

/* Itself is among them. */
static void
same_came(struct captures_query *same)
{
	struct capture_query *q = CONTAINER(same, struct capture_query, list);
	struct journal_entry *all = ARENA_ARRAY(&q->arena,
	    struct journal_entry, DUPLICATES_MAX);

	for (size_t i = 0; i < same->n && q->duplicates_n < DUPLICATES_MAX;
	    i++) {
		if (same->pages[i].seq == q->number)
			continue;
		all[q->duplicates_n] = same->pages[i];
		all[q->duplicates_n++].url = arena_copy(&q->arena,
		    same->pages[i].url);
	}
	q->duplicates = all;
	q->so_far = same->so_far;
	q->looked = same->looked;
	answer(q);
}

static void
reading_came(struct read_task *task)
{
	struct capture_query *q = CONTAINER(task, struct capture_query, task);

	if (catch_up(q->catalog, task, &q->why, &q->waited))
		return;
	if (!q->same || q->why.err != OK || q->entry.body_bytes == 0 ||
	    q->entry.digest.kind == DIGEST_NONE || q->catalog->closing) {
		answer(q);
		return;
	}
	q->list = (struct captures_query){ .crawl = q->crawl,
	    .size = DUPLICATES_MAX + 1, .digest = q->entry.digest,
	    .wait_ms = SAME_MS, .left = q->left, .done = same_came };
	catalog_captures(q->catalog, &q->list);
}

void
catalog_capture(struct catalog *c, struct capture_query *q)
{
	*q = (struct capture_query){ .crawl = q->crawl, .number = q->number,
	    .body = q->body, .body_bytes_max = q->body_bytes_max,
	    .same = q->same, .answer_only = q->answer_only,
	    .left = q->left, .done = q->done,
	    .arg = q->arg, .catalog = c, .task.run = reading_run,
	    .task.done = reading_came };
	read_task_put(c->tasks, &q->task);
}

/* --- its records -------------------------------------------------------- */

static enum err
copy_member(int fd, const struct capture_member *m, struct buf *out,
    struct why *w)
{
	size_t got;

	if (out->n + m->clen > CATALOG_RECORD_BYTES_MAX)
		return why(w, ERR_FULL, "the records are more than %zu MiB",
		    CATALOG_RECORD_BYTES_MAX >> 20);
	buf_reserve(out, m->clen);
	enum err e = archive_port()->read_at(fd, m->offset, out->p + out->n,
	    m->clen, &got, w);
	if (e == OK && got < m->clen)
		e = why(w, ERR_CORRUPT, "the file ends within the record");
	if (e == OK)
		out->n += got;
	return e;
}

static enum err
copy_records(struct record_reader *r, struct records_query *q)
{
	struct capture_members m = { .n = 0 };
	struct journal_entry entry;

	enum err e = record_reader_entry(r, q->crawl, q->number, &q->arena,
	    &entry, &q->why);
	if (e == OK && entry.file == 0)
		e = why(&q->why, ERR_ABSENT, "the page is not archived");
	if (e == OK)
		e = capture_records(r, &entry, &q->arena, &m, &q->why);
	for (size_t i = 0; e == OK && i < m.n; i++)
		e = copy_member(m.fd, &m.at[i], &q->bytes, &q->why);
	q->file = m.file;
	return e;
}

static void
copying_run(struct read_task *task)
{
	struct records_query *q = CONTAINER(task, struct records_query, task);

	if (copy_records(task->reader, q) != OK)
		buf_free(&q->bytes);
}

static void
copying_came(struct read_task *task)
{
	struct records_query *q = CONTAINER(task, struct records_query, task);

	if (!catch_up(q->catalog, task, &q->why, &q->waited))
		q->done(q);
}

void
catalog_records(struct catalog *c, struct records_query *q)
{
	*q = (struct records_query){ .crawl = q->crawl, .number = q->number,
	    .done = q->done, .arg = q->arg, .catalog = c,
	    .task.run = copying_run, .task.done = copying_came };
	read_task_put(c->tasks, &q->task);
}
