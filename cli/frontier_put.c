/*
 * argiope frontier PutURLs -- lines of a file to a frontier, some streams at
 * once, each with so many URLs under way as it may.
 *
 *     lines ─► item ─► stream, by the URL's hash ─► PutURLs        ─► acks
 *                                     └► batch   ─► PutDiscovered  ─┘
 *
 * A line that finds no room waits, and all behind it: acks, room in a socket
 * and new lines are what goes on.  The updates of one URL keep their order,
 * because they share a stream.
 */
#include <inttypes.h>

#include "base/hash.h"
#include "base/json_writer.h"
#include "cli/format.h"
#include "cli/frontier.h"
#include "cli/frontier_lines.h"
#include "cli/remote.h"
#include "cli/verbs.h"
#include "os/clock.h"
#include "wire/urlfrontier/interchange.h"

#define BATCH_BYTES_MAX ((size_t)1 << 20)

static const struct option_row rows[] = {
	OPTION_ROW(FILE, "file", 'f', "FILE", PATH, 0, 0,
	    "where the URLs stand; - is standard input")
	OPTION_ROW(STREAMS, "threads", 't', "N", NUMBER, 1, 256,
	    "send on N connections at once (1)")
	OPTION_ROW(BATCH, "batch", 'b', "N", NUMBER, 0, 100000,
	    "send discovered URLs by PutDiscovered, N at once; 0: one by one "
	    "(0)")
	OPTION_ROW(WINDOW, "in-flight", 'w', "N", NUMBER, 1, 100000000,
	    "URLs that a stream may have sent and not acknowledged (10000)")
	OPTION_ROW(KEEP, "keep-dates", 0, NULL, FLAG, 0, 0,
	    "have Argiope keep the creation dates of a dump")
	FRONTIER_CRAWL(OPTION_ROW) FRONTIER_COMMON(OPTION_ROW)
};

const struct option_verb frontier_puturls_verb = {
	"frontier PutURLs", NULL, 0, 0,
	"Send the URLs of a file",
	"A line is a URL, which is sent as discovered, or begins with \"{\" "
	"and is a URLItem in JSON, as DumpURLs writes them; both may be mixed. "
	"The file may be packed by gzip. Lines that cannot be read are named "
	"on standard error, and the rest is sent. --crawl is for lines that "
	"are a URL.\n"
	"Exit code: 0 all were acknowledged; 1 a URL was not, or was refused "
	"for now (FAIL), or a line or the file could not be read; 2 the "
	"command line is wrong.",
	rows, ARRAY_LEN(rows)
};

struct put;
struct stream {
	struct put *put;
	struct remote_call items, batches;
	bool items_full, batches_full, closing;
	uint64_t sent, acked;            /* URLs, by both calls */
	struct buf batch;                /* items of a DiscoveredBatch */
	size_t batch_n;
	uint64_t batch_number;
};

struct put {
	struct remote remote;
	struct frontier_lines *lines;
	const char *file;                /* in messages */
	struct str crawl;
	bool json, keep_dates;
	size_t batch_max;
	uint64_t window;
	struct stream *streams;
	size_t streams_n, calls;         /* calls: under way */
	struct arena arena;              /* of the item in hand */
	Urlfrontier__URLItem *item;      /* waits for room, or NULL */
	struct stream *to;
	bool ended, done;                /* ended: no item comes after it */
	uint64_t sent, acked, bad_lines, ok, skipped, failed;
	struct mono begun;
	struct why why;
};

static const struct grpc_field keep_dates = {
	{ "argiope-keep-dates", 18 }, { "1", 1 } };

/* --- items from lines ----------------------------------------------------- */

static void
bad_line(struct put *p, uint64_t number, const char *text)
{
	fprintf(stderr, CLI_PROGRAM ": %s:%" PRIu64 ": %s\n", p->file, number,
	    format_text(&p->arena, str_of(text), 400));
	p->bad_lines++;
}

static const Urlfrontier__URLInfo *
info_of(const Urlfrontier__URLItem *item)
{
	if (item->item_case == URLFRONTIER__URLITEM__ITEM_DISCOVERED)
		return item->discovered->info;
	if (item->item_case == URLFRONTIER__URLITEM__ITEM_KNOWN)
		return item->known->info;
	return NULL;
}

static void
read_item(struct put *p, struct str line, uint64_t number)
{
	struct why w = WHY_INIT;
	Urlfrontier__URLItem *item;

	arena_reset(&p->arena);
	if (interchange_read(line, p->crawl, &p->arena, &item, &w) != OK) {
		bad_line(p, number, w.text);
		return;
	}
	const Urlfrontier__URLInfo *info = info_of(item);
	uint64_t hash = info == NULL ? 0 : hash_bytes(str_of(info->url), 0);
	p->to = &p->streams[hash % p->streams_n];
	p->item = item;
}

/* Until there is an item, or no more lines for now. */
static bool
next_item(struct put *p)
{
	uint64_t number;
	struct str line;

	while (p->item == NULL) {
		enum frontier_line found = frontier_lines_next(p->lines,
		    &line, &number);
		if (found == LINE_LATER)
			return false;
		if (found == LINE_END) {
			const struct why *w = frontier_lines_why(p->lines);
			if (w->err != OK)
				(void)why(&p->why, w->err, "%s", w->text);
			p->ended = true;
			return false;
		}
		if (found == LINE_TOO_LONG)
			bad_line(p, number, "the line is too long");
		else if (str_trim(line).n > 0)
			read_item(p, line, number);
	}
	return true;
}

/* --- items into streams --------------------------------------------------- */

static bool
has_window(const struct stream *s)
{
	return s->sent - s->acked < s->put->window;
}

/* False: there is no room for it now. */
static bool
flush(struct stream *s)
{
	char id[24];

	if (s->batch_n == 0)
		return true;
	if (s->batches_full || !has_window(s))
		return false;
	/* Field 1; the order of fields is free. */
	int n = snprintf(id, sizeof(id), "%" PRIu64, ++s->batch_number);
	buf_put_char(&s->batch, 1 << 3 | 2);
	buf_put_field(&s->batch, (struct str){ id, (size_t)n });
	enum grpc_room r = remote_send_packed(&s->batches, buf_str(&s->batch));
	buf_clear(&s->batch);
	if (r == GRPC_GONE)
		return false;
	s->batches_full = r == GRPC_FULL;
	s->sent += s->batch_n;
	s->put->sent += s->batch_n;
	s->batch_n = 0;
	return true;
}

static bool
put_into_batch(struct stream *s, const Urlfrontier__URLInfo *info)
{
	size_t n = urlfrontier__urlinfo__get_packed_size(info);

	if ((s->batch_n == s->put->batch_max ||
	    s->batch.n + n > BATCH_BYTES_MAX) && !flush(s))
		return false;
	buf_put_char(&s->batch, 2 << 3 | 2);
	buf_put_varint(&s->batch, n);
	urlfrontier__urlinfo__pack(info, buf_grow(&s->batch, n));
	if (++s->batch_n == s->put->batch_max)
		(void)flush(s);
	return true;
}

/* A batch has no room for a creation date. */
static bool
is_for_batch(const struct put *p, const Urlfrontier__URLItem *item)
{
	return p->batch_max > 0 &&
	    item->item_case == URLFRONTIER__URLITEM__ITEM_DISCOVERED &&
	    item->discovered->info != NULL &&
	    !(p->keep_dates && item->creation_date != 0);
}

/* False: there is no room for it now. */
static bool
send_item(struct put *p)
{
	struct stream *s = p->to;

	if (is_for_batch(p, p->item))
		return put_into_batch(s, p->item->discovered->info);
	if (s->items_full || !has_window(s))
		return false;
	enum grpc_room r = remote_send(&s->items, p->item);
	if (r == GRPC_GONE)
		return false;
	s->items_full = r == GRPC_FULL;
	s->sent++;
	p->sent++;
	return true;
}

/* All lines are sent, but for batches that find no room yet. */
static void
close_streams(struct put *p)
{
	for (size_t i = 0; i < p->streams_n; i++) {
		struct stream *s = &p->streams[i];
		if (s->closing || !flush(s))
			continue;
		s->closing = true;
		remote_half_close(&s->items);
		remote_half_close(&s->batches);
	}
}

static void
feed(void *put)
{
	struct put *p = put;

	while (!p->ended) {
		if (p->item == NULL && !next_item(p))
			break;
		if (!send_item(p))
			return;
		p->item = NULL;
	}
	if (p->ended)
		close_streams(p);
}

/* URLs that were sent may still be acknowledged. */
static void
give_up(struct put *p)
{
	p->ended = true;
	p->item = NULL;
	for (size_t i = 0; i < p->streams_n; i++)
		p->streams[i].batch_n = 0;
	close_streams(p);
}

/* --- acks ----------------------------------------------------------------- */

static void
count(struct stream *s, Urlfrontier__AckMessage__Status status)
{
	struct put *p = s->put;

	p->acked++;
	if (++s->acked > s->sent) {
		(void)why(&p->why, ERR_IO, "more was acknowledged than was "
		    "sent");
		remote_stop(&s->items);
		remote_stop(&s->batches);
	}
	if (status == URLFRONTIER__ACK_MESSAGE__STATUS__OK)
		p->ok++;
	else if (status == URLFRONTIER__ACK_MESSAGE__STATUS__SKIPPED)
		p->skipped++;
	else
		p->failed++;
}

static void
acked(struct remote_call *k, const void *message)
{
	struct stream *s = k->arg;

	count(s, ((const Urlfrontier__AckMessage *)message)->status);
	feed(s->put);
}

static void
batch_acked(struct remote_call *k, const void *message)
{
	const Urlfrontier__BatchAck *ack = message;
	struct stream *s = k->arg;

	for (size_t i = 0; i < ack->n_statuses; i++)
		count(s, ack->statuses[i]);
	feed(s->put);
}

static void
writable(struct remote_call *k)
{
	struct stream *s = k->arg;

	if (k == &s->items)
		s->items_full = false;
	else
		s->batches_full = false;
	feed(s->put);
}

static void
ended(struct remote_call *k)
{
	struct stream *s = k->arg;
	struct put *p = s->put;

	p->calls--;
	if (k->why.err != OK)
		(void)why(&p->why, k->why.err, "%s", k->why.text);
	else if (!s->closing)
		(void)why(&p->why, ERR_IO, "%s: the server ended the stream",
		    k->rpc);
	if (k->why.err != OK || !s->closing)
		give_up(p);
	p->done = p->calls == 0;
}

/* --- beginning and end ---------------------------------------------------- */

static bool
probed(void *arg, const void *message)
{
	(void)message;
	*(bool *)arg = true;
	return true;
}

/* A server before 2.6 does not know PutDiscovered. */
static enum err
probe(struct put *p, struct why *w)
{
	Urlfrontier__DiscoveredBatch b = URLFRONTIER__DISCOVERED_BATCH__INIT;
	struct why own = WHY_INIT;
	char id[] = "probe";
	bool known = false;

	if (p->batch_max == 0)
		return OK;
	b.id = id;
	enum err e = remote_each(&p->remote, "PutDiscovered", &b, probed,
	    &known, &own);
	if (e != OK && e != ERR_STATE)
		return why(w, e, "%s", own.text);
	if (known)
		return OK;
	fprintf(stderr, CLI_PROGRAM ": the server has no PutDiscovered; URLs "
	    "are sent one by one\n");
	p->batch_max = 0;
	return OK;
}

static enum err
begin(struct put *p, struct remote_link *link, struct remote_call *k,
    struct why *w)
{
	enum err e = remote_begin(link, k, w);

	p->calls += e == OK;
	return e;
}

static enum err
stream_open(struct put *p, struct stream *s, struct why *w)
{
	struct remote_link *link = p->remote.first;
	enum err e = OK;

	s->put = p;
	s->items = (struct remote_call){ .rpc = "PutURLs",
	    .field = p->keep_dates ? &keep_dates : NULL, .message = acked,
	    .writable = writable, .ended = ended, .arg = s };
	s->batches = (struct remote_call){ .rpc = "PutDiscovered",
	    .message = batch_acked, .writable = writable, .ended = ended,
	    .arg = s };
	if (s != p->streams)
		e = remote_connect(&p->remote, &link, w);
	if (e == OK)
		e = begin(p, link, &s->items, w);
	if (e == OK && p->batch_max > 0)
		e = begin(p, link, &s->batches, w);
	return e;
}

static enum err
put_open(struct put *p, struct cli *c)
{
	struct why *w = &p->why;
	const char *file = cli_text(c, "file", NULL);

	enum err e = frontier_wants(c, "file", w);
	if (e == OK)
		e = remote_open(c, &p->remote, w);
	if (e == OK)
		e = probe(p, w);
	if (e != OK)
		return e;
	p->file = strcmp(file, "-") == 0 ? "standard input" : file;
	e = frontier_lines_open(file, p->remote.loop, feed, p, &p->lines, w);
	p->begun = clock_mono();
	for (size_t i = 0; e == OK && i < p->streams_n; i++)
		e = stream_open(p, &p->streams[i], w);
	return e;
}

static void
print_counts(const struct put *p)
{
	double s = (double)mono_ns_between(p->begun, clock_mono()) / 1e9;
	struct buf b = BUF_INIT;

	if (p->json) {
		buf_put_char(&b, '{');
		json_u64(&b, "sent", p->sent);
		json_u64(&b, "acked", p->acked);
		json_u64(&b, "ok", p->ok);
		json_u64(&b, "skipped", p->skipped);
		json_u64(&b, "failed", p->failed);
		json_u64(&b, "bad_lines", p->bad_lines);
		json_decimals(&b, "seconds", s, 3);
		buf_put_text(&b, "}\n");
	} else {
		buf_printf(&b, "Sent: %" PRIu64 "\nAcked: %" PRIu64 "\nOK: %"
		    PRIu64 "\nSkipped: %" PRIu64 "\nFailed: %" PRIu64 "\nBad "
		    "lines: %" PRIu64 "\nTotal time: %.0f msec\n", p->sent,
		    p->acked, p->ok, p->skipped, p->failed, p->bad_lines,
		    s * 1000);
	}
	cli_put(&b);
}

/* What is wrong, besides lines that were named; the exit code. */
static int
judge(const struct put *p)
{
	bool lost = p->acked != p->sent;

	fflush(stdout);
	if (p->why.err != OK)
		(void)cli_fail(&p->why);
	if (lost)
		fprintf(stderr, CLI_PROGRAM ": of %" PRIu64 " URLs that were "
		    "sent %" PRIu64 " were acknowledged; send the file "
		    "again\n", p->sent, p->acked);
	if (p->failed > 0)
		fprintf(stderr, CLI_PROGRAM ": %" PRIu64 " URLs were refused "
		    "for now; send the file again\n", p->failed);
	return p->why.err != OK || lost || p->failed > 0 ||
	    p->bad_lines > 0 ? 1 : 0;
}

/* Calls that never began, or have ended with their session. */
static void
put_close(struct put *p)
{
	/* A reader still uses the loop; the process ends now. */
	if (!frontier_lines_close(&p->lines))
		return;
	remote_close(&p->remote);
	for (size_t i = 0; i < p->streams_n; i++) {
		remote_call_free(&p->streams[i].items);
		remote_call_free(&p->streams[i].batches);
		buf_free(&p->streams[i].batch);
	}
	arena_free(&p->arena);
	mem_free(&p->streams);
}

enum err
frontier_puturls_run(struct cli *c, struct why *w)
{
	/* On the heap: a thread that still reads outlives this function. */
	struct put *p = mem_new(sizeof(*p));

	list_init(&p->remote.links);
	p->why = WHY_INIT;
	p->json = cli_json(c);
	p->keep_dates = cli_count(c, "keep-dates") > 0;
	p->batch_max = (size_t)cli_number(c, "batch", 0);
	p->window = (uint64_t)cli_number(c, "in-flight", 10000);
	p->crawl = str_of(cli_text(c, "crawl", FRONTIER_CRAWL_DEFAULT));
	p->streams_n = (size_t)cli_number(c, "threads", 1);
	p->streams = mem_array(p->streams_n, sizeof(*p->streams));
	enum err e = put_open(p, c);
	if (e == OK) {
		feed(p);
		loop_run_until(p->remote.loop, &p->done);
		print_counts(p);
		c->code = judge(p);
	}
	*w = p->why;
	put_close(p);
	if (p->streams == NULL)
		mem_free(&p);
	return e;
}
