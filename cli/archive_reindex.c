/*
 * argiope archive reindex -- the journal of each crawl as its WARC files tell
 * it: numbers, places, digests.
 */
#include "cli/archive_files.h"
#include "cli/format.h"
#include "cli/verbs.h"
#include "engine/archive/reindex.h"
#include "engine/archive/sort.h"

static const struct option_row rows[] = {
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW)
};

const struct option_verb archive_reindex_verb = {
	"archive reindex", "[FILE...]", 0, OPERANDS_ANY,
	"Rebuild the journal of captures from WARC files",
	ARCHIVE_FILES_ABOUT "\n"
	"A line per crawl tells how many captures it has, and whether numbers "
	"are missing.  With --json each capture is one object per line, in the "
	"order of crawls and numbers.  Nothing is written.\n"
	"Exit code: 0; 65 numbers are missing or there twice; 70 a record is "
	"damaged; 66 there is no WARC file.",
	rows, ARRAY_LEN(rows)
};

struct reindexing {
	bool json;
	struct buf line;
	bool any;
	uint32_t crawl;              /* whose captures are being told */
	uint64_t captures, last;
};

static void
end_crawl(struct reindexing *r)
{
	char one[FORMAT_MAX], two[FORMAT_MAX];

	if (!r->any || r->json)
		return;
	buf_printf(&r->line, "crawl %u: %s captures, the last number is %s\n",
	    r->crawl, format_count(r->captures, one),
	    format_count(r->last, two));
	cli_put(&r->line);
}

static void
put_json(struct reindexing *r, const struct archive_capture *c)
{
	struct buf *b = &r->line;
	char iso[WALL_ISO_MAX], digest[DIGEST_TEXT_MAX];

	wall_to_iso(c->start, iso);
	digest_to_text(&c->digest, digest);
	buf_put_char(b, '{');
	json_u64(b, "crawl", c->crawl);
	json_u64(b, "seq", c->seq);
	json_str(b, "file", c->file->name);
	json_u64(b, "offset", c->offset);
	json_u64(b, "packed", c->clen);
	json_str(b, "start", str_of(iso));
	json_u64(b, "status", (uint64_t)MAX(0, c->status));
	json_str(b, "type", c->type);
	json_str(b, "url", c->url);
	json_str(b, "final_url", c->final_url);
	json_u64(b, "hops", c->hops);
	json_u64(b, "depth", c->depth);
	json_u64(b, "body_bytes", c->body_bytes);
	json_str(b, "digest", str_of(digest));
	json_bool(b, "revisit", c->revisit);
	json_bool(b, "truncated", c->truncated);
	buf_put_text(b, "}\n");
	cli_put(b);
}

static enum err
captured(void *arg, const struct archive_capture *c, struct why *w)
{
	struct reindexing *r = arg;

	if (r->any && r->crawl != c->crawl) {
		end_crawl(r);
		r->captures = 0;
	}
	r->any = true;
	r->crawl = c->crawl;
	r->captures++;
	r->last = c->seq;
	if (r->json)
		put_json(r, c);
	return ferror(stdout) ? why(w, ERR_CLOSED, "nobody reads") : OK;
}

static int
verdict(const struct archive_reindex_counts *n)
{
	struct why w = WHY_INIT;

	if (n->damaged > 0)
		why(&w, ERR_CORRUPT, "%llu records are damaged; argiope "
		    "archive check tells which",
		    (unsigned long long)n->damaged);
	else if (n->missing + n->repeated > 0)
		why(&w, ERR_INPUT, "%llu numbers are missing and %llu are "
		    "there twice; are all WARC files of the crawl here?",
		    (unsigned long long)n->missing,
		    (unsigned long long)n->repeated);
	return w.err == OK ? 0 : cli_fail(&w);
}

int
archive_reindex_run(struct cli *c)
{
	static const struct archive_reindex_events events = {
		.capture = captured };
	struct reindexing r = { .json = cli_json(c) };
	struct archive_reindex_counts counts = { 0 };
	struct archive_catalogue files;
	struct why w = WHY_INIT;

	enum err e = archive_files(c, 0, &files, &w);
	if (e == OK)
		e = archive_reindex(&files, archive_scratch(c),
		    SORT_BYTES_MAX_DEFAULT, &events, &r, &counts, &w);
	if (e == OK)
		end_crawl(&r);
	buf_free(&r.line);
	if (e == ERR_CLOSED)
		return 0;
	return e == OK ? verdict(&counts) : cli_fail(&w);
}
