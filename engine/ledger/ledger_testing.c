#include "engine/ledger/ledger_testing.h"

#include "base/hash.h"
#include "engine/archive/archive_port.h"
#include "engine/archive/capture.h"
#include "engine/archive/check.h"
#include "engine/ledger/small_testing.h"
#include "wire/cdxj.h"

#define NOTE_KIND 1

/* --- what the ledger asks of its owner ----------------------------------- */

/* note4 value8 */
static void
put_note_bytes(uint32_t note, uint64_t value, struct buf *out)
{
	buf_put_be32(out, note);
	buf_put_be64(out, value);
}

static void
take_note(struct rig *r, struct str bytes)
{
	struct reader in = reader_of(bytes);
	uint32_t note = read_be32(&in);

	assert_true(note < r->notes_n);
	r->notes[note] = read_be64(&in);
	assert_false(in.bad);
}

static void
replay(void *arg, uint8_t kind, struct str note)
{
	struct rig *r = arg;
	struct reader in = reader_of(note);

	assert_int_equal(kind, NOTE_KIND);
	take_note(r, note);
	r->replayed++;
	/* In the order in which they were put, and none left out. */
	read_be32(&in);
	uint64_t value = read_be64(&in);
	if (r->last_replayed != 0)
		assert_int_equal(value, r->last_replayed + 1);
	r->last_replayed = value;
	r->marks[value % r->notes_n] = 1;
}

static void
checkpoint_begin(void *arg)
{
	struct rig *r = arg;

	for (uint32_t i = 0; i < r->notes_n; i++)
		if (r->marks[i] == 1)
			r->marks[i] = 2;
}

static bool
checkpoint_put(void *arg, size_t n)
{
	struct rig *r = arg;
	struct buf key = BUF_INIT, value = BUF_INIT;
	size_t put = 0;
	uint32_t i;

	for (i = 0; i < r->notes_n && put < n; i++) {
		if (r->marks[i] != 2)
			continue;
		r->marks[i] = 0;
		buf_clear(&key);
		buf_clear(&value);
		buf_put_be32(&key, i);
		put_note_bytes(i, r->notes[i], &value);
		ledger_put_unlogged(r->ledger, INDEX_QUEUE, buf_str(&key),
		    buf_str(&value));
		put++;
	}
	r->put_most = MAX(r->put_most, put);
	buf_free(&key);
	buf_free(&value);
	while (i < r->notes_n && r->marks[i] != 2)
		i++;
	return i < r->notes_n;
}

static void
before_seal(void *arg)
{
	(void)arg;
}

static void
health(void *arg, enum ledger_health h, const char *text)
{
	struct rig *r = arg;

	r->health = h;
	r->healths++;
	snprintf(r->text, sizeof(r->text), "%s", text);
}

static void
warcinfo(void *arg, const char *filename, struct buf *out)
{
	char (*id)[40] = arg;
	struct warc_info info = { .filename = str_of(filename),
	    .date = clock_wall(), .software = STR("Argiope/test"),
	    .hostname = STR("localhost"), .robots = STR("obey"),
	    .user_agent = STR("argiope"), .crawl_kind = STR("crawl"),
	    .policy = STR("{}") };
	struct warc_options o = { 1, DIGEST_SHA1, NULL, clock_random };
	struct warc_writer *w = warc_writer_new(&o);
	struct warc_member m;

	/* The first file's id was given before it was there. */
	info.id = (*id)[39] == 0 ? str_of(*id) : STR_NONE;
	assert_int_equal(warc_put_info(w, &info, out, &m, NULL), OK);
	snprintf(*id, sizeof(*id) - 1, "%s", m.id);
	(*id)[39] = 1;
	warc_writer_free(&w);
}

/* --- the rig's life ------------------------------------------------------ */

void
rig_init(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	/* Every run the same, but for what a power cut takes. */
	world_begin();
	/* No two files begin in the same millisecond. */
	world.look_us = 1000;
	r->options = ledger_small;
	r->options.dir = "/data";
	r->rollover_bytes = 1 << 30;
	r->rollover_s = 3600;
	r->series_n = 1;
	r->notes_n = 10;
	r->lines = true;
	r->harvests_from = RIG_SERIES_MAX;
	r->spool = -1;
}

/* --- a harvest's series -------------------------------------------------- */

static void
file_closing(void *arg, uint32_t crawl)
{
	struct rig *r = arg;

	assert_true(crawl >= r->harvests_from);
	r->closing++;
}

static enum err
file_closed(void *arg, const struct warc_closed *c, struct why *w)
{
	struct rig *r = arg;
	struct rig_told *t = r->harvested;

	(void)w;
	while (t < r->harvested + r->harvested_n &&
	    !str_eq(c->path, str_of(t->path)))
		t++;
	assert_true(t < r->harvested + RIG_TOLD_MAX);
	if (t == r->harvested + r->harvested_n)
		r->harvested_n++;
	snprintf(t->path, sizeof(t->path), "%s", c->path.p);
	t->size = c->size;
	t->digest = c->digest;
	return OK;
}

static void
file_finished(void *arg, uint32_t crawl, uint32_t file)
{
	struct rig *r = arg;

	(void)file;
	assert_true(crawl >= r->harvests_from);
	assert_true(++r->finished <= r->closing);
}

/*
 * The response's rest goes to a spool file; the bytes are then its head and the
 * request.
 */
static enum err
spool_rest(struct rig *r, struct buf *bytes, struct archive_member parts[2])
{
	struct buf left = BUF_INIT;
	struct archive_member *m = &parts[0];
	size_t kept = GZIP_HEAD_BYTES + r->seq % 20;
	enum err e = OK;

	m->rest = (struct archive_extent){ .at = r->spool_end,
	    .n = m->n - kept };
	if (r->spool < 0)
		e = archive_port()->create("/data/spool", &r->spool, NULL);
	if (e == OK)
		e = archive_port()->append(r->spool, r->spool_end,
		    bytes->p + kept, m->n - kept, NULL);
	if (e != OK)
		return e;
	m->rest.handle = r->spool;
	r->spool_end += m->rest.n;
	buf_put(&left, bytes->p, kept);
	buf_put(&left, bytes->p + m->n, bytes->n - m->n);
	m->n = parts[1].at = kept;
	buf_free(bytes);
	*bytes = left;
	return OK;
}

static void
load_notes(struct rig *r)
{
	struct index_iter *i = index_iter_new(ledger_index(r->ledger),
	    INDEX_QUEUE);
	struct str key, value;

	memset(r->notes, 0, sizeof(r->notes));
	memset(r->marks, 0, sizeof(r->marks));
	for (index_iter_seek(i, STR("")); index_iter_valid(i, &key, &value);
	    index_iter_next(i))
		take_note(r, value);
	index_iter_free(&i);
}

static void
open_series(struct rig *r)
{
	char prefix[16];

	for (unsigned s = 0; s < r->series_n; s++) {
		snprintf(prefix, sizeof(prefix), "crawl-%u", s);
		snprintf(r->infos[s], sizeof(r->infos[s]),
		    "%08x-0000-4000-8000-00000000000%u",
		    (unsigned)hash_u64(++world.random), s);
		r->infos[s][39] = 0;
		struct warc_set_options o = { .dir = RIG_DIR,
		    .prefix = prefix, .token = "abcdefgh", .crawl = s,
		    .rollover_bytes = r->rollover_bytes,
		    .rollover_s = r->rollover_s, .warcinfo = warcinfo,
		    .arg = &r->infos[s] };
		if (s >= r->harvests_from) {
			o.work_dir = RIG_WORK_DIR;
			o.prefix = "harvest";
			o.owner = WARC_OF_HARVEST;
			o.digest = DIGEST_SHA1;
		}
		r->series[s] = ledger_series_open(r->ledger, &o);
	}
}

enum err
rig_open(struct rig *r, struct why *w)
{
	struct warc_options o = { 1, DIGEST_SHA1, NULL, clock_random };

	r->loop = loop_new("rig");
	r->pool = pool_new(0);
	r->writer = warc_writer_new(&o);
	r->replayed = r->last_replayed = r->kept = r->broken = 0;
	r->health = LEDGER_FINE;
	r->closed = false;
	r->options.pool = r->pool;
	r->options.replay = replay;
	r->options.checkpoint_begin = checkpoint_begin;
	r->options.checkpoint_put = checkpoint_put;
	r->options.before_seal = before_seal;
	r->options.health = health;
	r->options.owners[WARC_OF_HARVEST] = (struct warc_owner){
	    file_closing, file_closed, file_finished, r };
	r->closing = r->finished = 0;
	r->options.arg = r;
	enum err e = ledger_open(r->loop, &r->options, &r->ledger, w);
	if (e == OK) {
		load_notes(r);
		e = ledger_recover(r->ledger, w);
	}
	for (unsigned s = 0; s < RIG_SERIES_MAX && e == OK; s++)
		e = ledger_quarantine(r->ledger, RIG_DIR, NULL,
		    arena_printf(&r->arena, "crawl-%u", s).p, w);
	if (e == OK)
		e = ledger_quarantine(r->ledger, RIG_DIR, RIG_WORK_DIR, NULL,
		    w);
	if (e != OK) {
		ledger_free(&r->ledger);
		rig_end(r);
		return e;
	}
	ledger_start(r->ledger);
	open_series(r);
	return OK;
}

void
rig_open_ok(struct rig *r)
{
	struct why w = WHY_INIT;

	if (rig_open(r, &w) != OK)
		fail_msg("open: %s", w.text);
}

void
rig_run(struct rig *r)
{
	world_run(r->loop, r->pool);
}

void
rig_pass(struct rig *r, int64_t ms)
{
	world_pass(r->loop, r->pool, ms);
}

void
rig_end(struct rig *r)
{
	ledger_free(&r->ledger);
	pool_free(&r->pool);
	loop_free(&r->loop);
	warc_writer_free(&r->writer);
	arena_free(&r->arena);
	archive_port()->close(&r->spool);
	r->spool_end = 0;
	memset(r->series, 0, sizeof(r->series));
}

void
rig_drop_empty_dirs(void)
{
	static const char *const dirs[] = {
		RIG_DIR "/.argiope/crawl-0", RIG_DIR "/.argiope/crawl-1",
		RIG_WORK_DIR };

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		(void)!file_remove(dirs[i], NULL);
}

void
rig_crash(struct rig *r, bool power)
{
	world_crash(power);
	/* The machine goes on: what was written is there. */
	if (!power)
		r->promised = MAX(r->promised, r->told);
	rig_end(r);
}

static void
closed(void *arg)
{
	struct rig *r = arg;

	r->closed = true;
}

void
rig_close(struct rig *r)
{
	ledger_close(r->ledger, closed, r);
	rig_pass(r, 100);
	assert_true(r->closed);
	assert_int_equal(r->health, LEDGER_FINE);
}

/* --- items --------------------------------------------------------------- */

struct rig_promise {
	struct promise promise;
	struct rig *rig;
	uint64_t seq;
	bool written;
};

static void
kept(struct promise *p, enum err e)
{
	struct rig_promise *mine = CONTAINER(p, struct rig_promise, promise);
	struct rig *r = mine->rig;

	if (e != OK) {
		assert_int_equal(e, ERR_BROKEN);
		r->broken++;
		return;
	}
	/* In order, and never one behind a broken one. */
	assert_int_equal(r->broken, 0);
	assert_true(mine->seq > r->kept);
	r->kept = mine->seq;
	r->told = MAX(r->told, r->kept);
	if (!mine->written)
		r->promised = MAX(r->promised, r->kept);
	if (r->cut_at != 0 && r->kept == r->cut_at) {
		file_fake_power_cut();
		world.stopped = true;
	}
}

static struct str
item_url(struct rig *r, uint64_t seq)
{
	return arena_printf(&r->arena, "http://example.org/item/%llu",
	    (unsigned long long)seq);
}

static struct str
item_line(struct rig *r, const struct warc_member *m, struct str url)
{
	struct buf out = BUF_INIT;
	char digest[DIGEST_TEXT_MAX];

	if (!r->lines)
		return STR_NONE;
	digest_to_text(&m->payload, digest);
	struct cdxj_line line = { .surt = arena_printf(&r->arena,
	    "org,example)%.*s", STR_FMT(str_from(url, 18))), .url = url,
	    .mime = STR("text/html"), .digest = str_of(digest),
	    .status = 200, .length = m->clen };
	cdxj_put_head(&out, &line, clock_wall());
	struct str text = arena_copy(&r->arena, buf_str(&out));
	buf_free(&out);
	return text;
}

static enum err
archive_item(struct rig *r, unsigned series, struct str url, struct buf *out)
{
	struct str body = arena_printf(&r->arena, "<p>%.*s", STR_FMT(url));
	struct warc_capture c = { series, 0, 1, clock_wall(), 100, url };
	struct warc_exchange x = {
		.target_uri = url, .date = clock_wall(), .ip = STR("192.0.2.1"),
		.request = STR("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"),
		.response_head = STR("HTTP/1.1 200 OK\r\n"
		    "Content-Type: text/html\r\n\r\n"),
		.body = &body, .body_n = 1, .capture = &c,
		.warcinfo_id = str_of(r->infos[series]),
	};
	struct warc_member m[2];

	assert_int_equal(warc_put_exchange(r->writer, &x, out, m, NULL), OK);
	struct archive_member parts[] = {
		{ .at = m[0].at, .n = m[0].clen,
		    .cdxj = item_line(r, &m[0], url) },
		{ .at = m[1].at, .n = m[1].clen },
	};
	enum err e = series < r->harvests_from ? OK :
	    spool_rest(r, out, parts);
	return e != OK ? e : ledger_archive(r->ledger, r->series[series],
	    buf_str(out), parts, ARRAY_LEN(parts), r->seq, &r->place, NULL);
}

static void
put_rest(struct rig *r, struct str rest)
{
	struct buf key = BUF_INIT, value = BUF_INIT;
	uint32_t note = (uint32_t)(r->seq % r->notes_n);

	buf_put_be32(&key, 1);
	buf_put_be64(&key, r->seq);
	buf_put_be32(&value, r->place.file);
	buf_put_be48(&value, r->place.offset);
	buf_put_str(&value, rest);
	ledger_put_placed(r->ledger, INDEX_JOURNAL, buf_str(&key),
	    buf_str(&value));
	buf_clear(&value);
	r->notes[note] = r->seq;
	r->marks[note] = MAX(r->marks[note], 1);
	put_note_bytes(note, r->seq, &value);
	ledger_note(r->ledger, NOTE_KIND, buf_str(&value));
	buf_free(&key);
	buf_free(&value);
	struct rig_promise *p = ARENA_NEW(&r->arena, struct rig_promise);
	p->promise.kept = kept;
	p->rig = r;
	p->seq = r->seq;
	p->written = r->written && r->place.file == 0;
	if (p->written)
		ledger_promise_written(r->ledger, &p->promise);
	else
		ledger_promise(r->ledger, &p->promise);
}

void
rig_put_to(struct rig *r, unsigned series)
{
	struct buf members = BUF_INIT;

	r->seq++;
	enum err e = archive_item(r, series, item_url(r, r->seq), &members);
	buf_free(&members);
	if (e == OK)
		put_rest(r, STR(""));
	else
		r->seq--;
}

void
rig_put(struct rig *r)
{
	rig_put_to(r, (unsigned)((r->seq + 1) % r->series_n));
}

void
rig_put_plain(struct rig *r, size_t bytes)
{
	struct buf rest = BUF_INIT;

	r->seq++;
	r->place = (struct archive_place){ 0, 0 };
	memset(buf_grow(&rest, bytes), 'x', bytes);
	put_rest(r, buf_str(&rest));
	buf_free(&rest);
}

void
rig_items(struct rig *r, unsigned n)
{
	for (unsigned i = 0; i < n && !world.stopped; i++) {
		rig_put(r);
		if (i % 3 != 0)
			rig_run(r);
	}
	rig_pass(r, 10);
}

void
rig_close_series(struct rig *r, unsigned series)
{
	ledger_series_close(r->ledger, &r->series[series]);
}

struct ledger_stats
rig_stats(struct rig *r)
{
	struct ledger_stats s;

	ledger_stats(r->ledger, &s);
	return s;
}

uint64_t
rig_groups(struct rig *r)
{
	return rig_stats(r).groups;
}

/* --- what must hold ------------------------------------------------------ */

static void
verify_capture(struct rig *r, struct capture_reader *reader, uint64_t seq,
    uint32_t file, uint64_t offset)
{
	struct why w = WHY_INIT;
	struct str path;
	char bytes[GZIP_HEAD_BYTES];
	struct gzip_head h = { .n = 0 };
	struct capture c;
	size_t got = 0;
	int fd = -1;

	enum err e = ledger_warc_path(ledger_index(r->ledger), file,
	    &r->arena, &path, &w);
	if (e == OK)
		e = file_open(path.p, FILE_READ, &fd, &w);
	if (e == OK)
		e = file_read(fd, offset, bytes, sizeof(bytes), &got, &w);
	gzip_head_parse((struct str){ bytes, got }, &h);
	if (e == OK)
		e = capture_read(reader, fd, offset, h.lengths.clen, 0, &c,
		    &w);
	if (e != OK)
		fail_msg("item %llu: %s", (unsigned long long)seq, w.text);
	assert_int_equal(c.seq, seq);
	assert_true(str_eq(c.uri, item_url(r, seq)));
	file_close(&fd);
}

static void
verify_notes(struct rig *r)
{
	for (uint32_t i = 0; i < r->notes_n; i++) {
		uint64_t want = r->seq < i ? 0 :
		    r->seq - (r->seq - i) % r->notes_n;
		assert_int_equal(r->notes[i], want);
	}
}

void
rig_verify(struct rig *r)
{
	struct index_iter *i = index_iter_new(ledger_index(r->ledger),
	    INDEX_JOURNAL);
	struct capture_reader *reader = capture_reader_new(1 << 20);
	struct str key, value;

	r->seq = 0;
	for (index_iter_seek(i, STR("")); index_iter_valid(i, &key, &value);
	    index_iter_next(i)) {
		struct reader k = reader_of(key), v = reader_of(value);
		read_be32(&k);
		assert_int_equal(read_be64(&k), ++r->seq);
		uint32_t file = read_be32(&v);
		uint64_t offset = read_be48(&v);
		if (file != 0)
			verify_capture(r, reader, r->seq, file, offset);
	}
	index_iter_free(&i);
	capture_reader_free(&reader);
	assert_true(r->seq >= r->promised);
	r->kept = r->promised = r->told = r->seq;
	verify_notes(r);
}

static void
finding(void *arg, const struct archive_finding *f)
{
	struct buf text = BUF_INIT;
	unsigned *errors = arg;

	/* A record that was made before its file was begun refers to the file
	 * before: the ledger cannot help it. */
	if (f->error && f->rule != ARCHIVE_RULE_WARCINFO) {
		archive_finding_text(f, &text);
		print_error("%s", buf_text(&text));
		++*errors;
	}
	buf_free(&text);
}

static void
verify_line(struct rig *r, struct str warc, uint64_t offset)
{
	struct buf lines = BUF_INIT;
	struct str stem = str_cut(warc, 0, warc.n);
	struct str path = arena_printf(&r->arena, "%.*s.cdxj", STR_FMT(stem));
	struct str part = arena_printf(&r->arena, "\"offset\":\"%llu\"",
	    (unsigned long long)offset);

	assert_int_equal(file_load(path.p, 1 << 24, &lines, NULL), OK);
	if (str_find(buf_str(&lines), part) == lines.n)
		fail_msg("%s holds no line of offset %llu", path.p,
		    (unsigned long long)offset);
	buf_free(&lines);
}

static void
verify_lines(struct rig *r)
{
	struct index_iter *i = index_iter_new(ledger_index(r->ledger),
	    INDEX_JOURNAL);
	struct str key, value, path;

	for (index_iter_seek(i, STR("")); index_iter_valid(i, &key, &value);
	    index_iter_next(i)) {
		struct reader v = reader_of(value);
		uint32_t file = read_be32(&v);
		uint64_t offset = read_be48(&v);
		if (file == 0)
			continue;
		assert_int_equal(ledger_warc_path(ledger_index(r->ledger),
		    file, &r->arena, &path, NULL), OK);
		verify_line(r, path, offset);
	}
	index_iter_free(&i);
}

/* Its owner was told of each file, with size and digest as they are. */
static void
verify_harvested(struct rig *r)
{
	struct str *names;
	struct digest digest;
	size_t n = 0, found = 0;

	if (file_list(RIG_WORK_DIR, &r->arena, &names, &n, NULL) == OK)
		assert_int_equal(n, 0);
	if (file_list(RIG_DIR, &r->arena, &names, &n, NULL) != OK)
		n = 0;
	for (size_t i = 0; i < n; i++)
		found += str_starts(names[i], STR("harvest-")) &&
		    str_ends(names[i], STR(".warc.gz"));
	if (r->harvests_from < RIG_SERIES_MAX)
		assert_int_equal(found, r->harvested_n);
	for (unsigned i = 0; i < r->harvested_n; i++) {
		const struct rig_told *t = &r->harvested[i];
		struct buf bytes = BUF_INIT;
		assert_int_equal(file_load(t->path, 1 << 24, &bytes, NULL), OK);
		assert_int_equal(bytes.n, t->size);
		digest_of(DIGEST_SHA1, buf_str(&bytes), &digest);
		assert_true(digest_eq(&digest, &t->digest));
		buf_free(&bytes);
	}
}

void
rig_verify_files(struct rig *r)
{
	struct archive_catalogue c;
	struct archive_check_counts counts;
	unsigned errors = 0;
	struct archive_check_options o = { .finding = finding,
	    .arg = &errors };
	const char *paths[] = { RIG_DIR };
	struct why w = WHY_INIT;
	struct str *names;
	size_t n = 0;

	verify_lines(r);
	for (unsigned s = 0; s < r->series_n; s++) {
		enum err e = file_list(arena_printf(&r->arena, RIG_DIR
		    "/.argiope/crawl-%u", s).p, &r->arena, &names, &n, NULL);
		if (e == OK)
			assert_int_equal(n, 0);
	}
	verify_harvested(r);
	if (archive_list(paths, 1, false, &r->arena, &c, &w) != OK)
		return;
	assert_int_equal(archive_check(&c, &o, &counts, &w), OK);
	assert_int_equal(errors, 0);
}
