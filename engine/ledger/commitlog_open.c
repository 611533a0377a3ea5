/*
 * Opening the log: which files are segments, how far their records reach, and
 * whether what stands behind that is a torn write or damage.
 */
#include <stdarg.h>

#include "base/arena.h"
#include "base/hash.h"
#include "engine/ledger/commitlog_own.h"
#include "os/file.h"
#include "os/log.h"

#define ZERO_CHUNK_BYTES ((size_t)64 << 10)

struct opening {
	struct commitlog *log;
	uint64_t from;               /* the checkpoint's group */
	enum err (*replay)(void *, uint64_t, struct str, struct why *);
	void *arg;
	struct buf bytes;            /* the segment that is being read */
	struct buf path;
	struct why *w;
	uint32_t lag;                /* of the last record */
	uint32_t from_chain;         /* commitlog_options */
	uint64_t sound_from;         /* nothing is damaged from here to `end` */
	bool reads;                  /* commitlog_read() */
	/* Not 0: segments up to it are damaged, and given up if they may be. */
	uint64_t given_up;
};

struct record {
	uint64_t group;
	uint32_t lag, crc;
	struct str body;
	size_t bytes;                /* padding included */
};

static int
compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static const char *
name_of(struct opening *o, uint64_t number)
{
	buf_clear(&o->path);
	buf_printf(&o->path, "log-%08llu", (unsigned long long)number);
	return buf_text(&o->path);
}

/* Damage; the caller knows what to do about it. */
PRINTF_LIKE(2, 3) static enum err
damaged(struct opening *o, const char *fmt, ...)
{
	char what[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return why(o->w, ERR_CORRUPT, "the commit log %s is damaged: %s",
	    o->log->dir, what);
}

/* "log-" and at least eight digits, as we write them. */
static bool
number_of(struct str name, uint64_t *number)
{
	struct str digits = str_from(name, 4);

	return str_starts(name, STR("log-")) && digits.n >= 8 &&
	    (digits.n == 8 || digits.p[0] != '0') &&
	    str_to_u64(digits, number);
}

static enum err
remove_half_made(struct opening *o, struct str name)
{
	buf_clear(&o->path);
	buf_printf(&o->path, "%s/%.*s", o->log->dir, STR_FMT(name));
	return file_remove(buf_text(&o->path), o->w);
}

static enum err
list_numbers(struct opening *o, struct arena *a, uint64_t **out, size_t *n)
{
	struct str *names;
	size_t names_n;

	*n = 0;
	enum err e = file_list(o->log->dir, a, &names, &names_n, o->w);
	if (e != OK)
		return e;
	*out = ARENA_ARRAY(a, uint64_t, names_n);
	for (size_t i = 0; i < names_n && e == OK; i++) {
		struct str name = names[i];
		if (str_starts(name, STR("log-")) &&
		    str_ends(name, STR(".new")) && !o->reads)
			e = remove_half_made(o, name);
		else if (number_of(name, &(*out)[*n]))
			++*n;
	}
	if (*n > 0)
		qsort(*out, *n, sizeof(**out), compare_numbers);
	return e;
}

static bool
all_zero(const char *p, size_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* "ARLOG02\n" and a crc that is right: no damage made that. */
static bool
is_newer_head(const char *p)
{
	struct reader in = reader_of((struct str){ p + 40, 4 });

	return memcmp(p, "ARLOG", 5) == 0 && p[7] == '\n' &&
	    read_be32(&in) == crc32c_of((struct str){ p, 40 }, 0);
}

/* The chain that a good head holds; 0: none. */
static uint32_t
read_chain(const char *p)
{
	struct reader in = reader_of((struct str){ p + SEGMENT_HEAD_USED + 4,
	    4 });
	FREED(buf_free) struct buf again = BUF_INIT;
	uint32_t chain = read_be32(&in);

	segment_chain((struct str){ p, SEGMENT_HEAD_USED }, chain, &again);
	bool good = memcmp(again.p, p + SEGMENT_HEAD_USED, again.n) == 0;
	return good ? chain : 0;
}

/*
 * A head of zeros with nothing behind it, or of an earlier use (a smaller
 * number), is a spare's.  Anything else that is not this segment's own head is
 * damage: without its key no record behind it can be read.
 */
static enum err
judge_head(struct opening *o, struct segment *s, const char *p)
{
	struct reader r = reader_of((struct str){ p + 8,
	    SEGMENT_HEAD_USED - 8 });
	struct segment on_disk = { 0 };
	FREED(buf_free) struct buf again = BUF_INIT;

	if (all_zero(p, SEGMENT_HEAD_BYTES + RECORD_HEAD_BYTES))
		return OK;
	on_disk.number = read_be64(&r);
	on_disk.size = read_be64(&r);
	on_disk.key = read_be64(&r);
	on_disk.first = read_be64(&r);
	segment_head(&on_disk, &again);
	bool good = memcmp(again.p, p, SEGMENT_HEAD_USED) == 0;
	if (good && on_disk.number < s->number)
		return OK;
	if (!good && is_newer_head(p))
		return why(o->w, ERR_NEWER, "%s/%s was written by a newer "
		    "version of argiope; use that version", o->log->dir,
		    name_of(o, s->number));
	if (!good || on_disk.number != s->number)
		return damaged(o, "the head of %s is damaged",
		    name_of(o, s->number));
	if (on_disk.size > SEGMENT_BYTES_MAX || on_disk.size % RECORD_ALIGN ||
	    on_disk.size < SEGMENT_HEAD_BYTES + RECORD_HEAD_BYTES ||
	    on_disk.first == 0)
		return damaged(o, "the head of %s makes no sense",
		    name_of(o, s->number));
	s->begun = true;
	s->key = on_disk.key;
	s->first = on_disk.first;
	s->last = on_disk.first - 1;
	s->end = SEGMENT_HEAD_BYTES;
	s->chain = read_chain(p);
	o->log->stats.segment_bytes += on_disk.size - s->size;
	s->size = on_disk.size;
	return OK;
}

static enum err
open_segment(struct opening *o, uint64_t number)
{
	struct commitlog *l = o->log;
	char head[SEGMENT_HEAD_BYTES + RECORD_HEAD_BYTES];
	uint64_t size;
	size_t got;
	int fd;

	enum err e = file_open(segment_path(l, number, "", &o->path),
	    FILE_WRITE, &fd, o->w);
	if (e != OK)
		return e;
	struct segment *s = segment_add(l, number, fd, 0);
	e = file_size(fd, &size, o->w);
	if (e != OK)
		return e;
	size -= size % RECORD_ALIGN;
	if (size < sizeof(head) || size > SEGMENT_BYTES_MAX)
		return damaged(o, "%s has a wrong size", name_of(o, s->number));
	s->size = size;
	l->stats.segment_bytes += size;
	e = file_read(fd, 0, head, sizeof(head), &got, o->w);
	if (e == OK && got != sizeof(head))
		e = damaged(o, "%s has a wrong size", name_of(o, s->number));
	if (e == OK)
		e = judge_head(o, s, head);
	if (e != OK || !s->begun)
		return e;
	if (l->begun + 1 != l->n)
		return damaged(o, "%s is in use, but the segment before it is "
		    "not", name_of(o, s->number));
	if (l->begun > 0 && s->first < l->segments[l->begun - 1].first)
		return damaged(o, "%s holds older groups than the segment "
		    "before it", name_of(o, s->number));
	l->begun++;
	return OK;
}

static void
forget_segments(struct commitlog *l)
{
	for (size_t i = 0; i < l->n; i++) {
		file_close(&l->segments[i].fd);
		l->stats.segments--;
		l->stats.segment_bytes -= l->segments[i].size;
	}
	l->n = l->begun = 0;
}

/* All up to a damaged one keep their bytes under another name. */
static enum err
set_aside(struct opening *o, const uint64_t *numbers, size_t n)
{
	FREED(buf_free) struct buf from = BUF_INIT, to = BUF_INIT;
	enum err e = OK;

	for (size_t i = 0; i < n && e == OK; i++) {
		if (numbers[i] > o->given_up)
			break;
		segment_path(o->log, numbers[i], "", &from);
		segment_path(o->log, numbers[i], ".damaged", &to);
		e = file_replace(buf_text(&from), buf_text(&to), o->w);
	}
	return e;
}

/*
 * Damage is no reason to refuse while a segment behind it begins before the
 * checkpoint's end: what it held is in the index.
 */
static enum err
open_segments(struct opening *o)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct commitlog *l = o->log;
	struct why first = WHY_INIT, *w = o->w;
	uint64_t *numbers = NULL;
	size_t n;

	enum err e = list_numbers(o, &a, &numbers, &n);
	l->stats.fresh = n == 0;
	o->w = &first;
	for (size_t i = 0; i < n && e == OK; i++) {
		bool gap = i > 0 && numbers[i] != numbers[i - 1] + 1;
		if (gap) {
			(void)!damaged(o, "%s is missing",
			    name_of(o, numbers[i - 1] + 1));
			o->given_up = numbers[i - 1];
			forget_segments(l);
		}
		e = open_segment(o, numbers[i]);
		if (e == ERR_CORRUPT) {
			o->given_up = numbers[i];
			forget_segments(l);
			e = OK;
		}
	}
	o->w = w;
	if (e == OK && o->given_up != 0 && (l->begun == 0 ||
	    l->segments[0].first > o->from + 1))
		e = ERR_CORRUPT;
	if (e != OK)
		e = why(w, e, "%s", first.text);
	else if (o->given_up != 0 && !o->reads) {
		log_warn("ledger.log", "text=\"%s; what it held is in the "
		    "index\"", first.text);
		e = set_aside(o, numbers, n);
	}
	return e;
}

/*
 * A whole valid record at `at`.  Its padding is nobody's business: a flipped
 * bit there must not cost a group.
 */
static bool
record_at(const struct segment *s, struct str bytes, size_t at,
    struct record *out)
{
	struct reader r = reader_of(str_from(bytes, at));

	if (read_be32(&r) != record_magic(s->key))
		return false;
	uint32_t crc = out->crc = read_be32(&r);
	out->group = read_be64(&r);
	uint32_t n = read_be32(&r);
	out->lag = read_be32(&r);
	out->body = read_bytes(&r, n);
	out->bytes = (size_t)record_bytes(n);
	return !r.bad && crc == record_crc(s->key,
	    str_cut(bytes, at + 8, at + RECORD_HEAD_BYTES + n));
}

/*
 * The first place from `at` on that begins like a record, or one too close to
 * the end for any.  Most of a segment is zeros, and a search passes them faster
 * than a look at each place.
 */
static size_t
next_magic(const struct segment *s, struct str bytes, size_t at)
{
	uint32_t m = record_magic(s->key);
	const char magic[] = { (char)(m >> 24), (char)(m >> 16),
	    (char)(m >> 8), (char)m };

	while (at + RECORD_HEAD_BYTES <= bytes.n) {
		at += str_find(str_from(bytes, at),
		    (struct str){ magic, sizeof(magic) });
		if (at % RECORD_ALIGN == 0)
			break;
		at += RECORD_ALIGN - at % RECORD_ALIGN;
	}
	return at;
}

static enum err
load_segment(struct opening *o, const struct segment *s)
{
	size_t got;

	buf_clear(&o->bytes);
	char *p = buf_grow(&o->bytes, (size_t)s->size);
	enum err e = file_read(s->fd, 0, p, (size_t)s->size, &got, o->w);
	/* A file cut short: what is gone reads as zeros. */
	if (e == OK)
		memset(p + got, 0, (size_t)s->size - got);
	return e;
}

/* Up to the checkpoint the log must be the one that the index was made from. */
static enum err
check_chain(struct opening *o, const struct segment *s)
{
	if (s->last != o->from || o->from_chain == 0 || o->log->chain == 0 ||
	    o->from_chain == o->log->chain)
		return OK;
	return damaged(o, "up to group %llu it is not the log that the index "
	    "was made from", (unsigned long long)o->from);
}

/*
 * A record is damaged, and its group is in the index: the next whole one, whose
 * group may not be above the checkpoint's next.
 */
static bool
pass_damage(struct opening *o, struct segment *s, struct record *r)
{
	struct str bytes = buf_str(&o->bytes);

	for (size_t at = next_magic(s, bytes, (size_t)s->end);
	    at + RECORD_HEAD_BYTES <= bytes.n;
	    at = next_magic(s, bytes, at + RECORD_ALIGN)) {
		if (!record_at(s, bytes, at, r))
			continue;
		if (r->group <= s->last || r->group > o->from + 1)
			return false;
		log_warn("ledger.log", "text=\"%s is damaged at byte %llu; "
		    "what it held there is in the index\"",
		    name_of(o, s->number), (unsigned long long)s->end);
		s->end = o->sound_from = at;
		s->last = r->group - 1;
		o->log->chain = 0;
		return true;
	}
	return false;
}

static enum err
replay_records(struct opening *o, struct segment *s)
{
	struct str bytes = buf_str(&o->bytes);
	struct record r;
	enum err e = check_chain(o, s);

	while (e == OK && (record_at(s, bytes, (size_t)s->end, &r) ||
	    (s->last < o->from && pass_damage(o, s, &r)))) {
		if (r.group != s->last + 1)
			return damaged(o, "%s, byte %llu: group %llu stands "
			    "behind group %llu", name_of(o, s->number),
			    (unsigned long long)s->end,
			    (unsigned long long)r.group,
			    (unsigned long long)s->last);
		if (r.group > o->from) {
			e = o->replay(o->arg, r.group, r.body, o->w);
			o->log->stats.replayed++;
		}
		s->last = r.group;
		o->lag = r.lag;
		o->log->chain = chain_next(o->log->chain, r.crc);
		s->end += r.bytes;
		if (e == OK)
			e = check_chain(o, s);
	}
	return e;
}

/*
 * Are there remains of records up to the checkpoint where the log ends before
 * it?  An older log has none.
 */
static bool
has_remains(const struct opening *o, const struct segment *s)
{
	struct str bytes = buf_str(&o->bytes);

	for (size_t at = next_magic(s, bytes, (size_t)s->end);
	    at + RECORD_HEAD_BYTES <= bytes.n;
	    at = next_magic(s, bytes, at + RECORD_ALIGN)) {
		struct reader r = reader_of(str_from(bytes, at));
		read_be64(&r);
		uint64_t group = read_be64(&r);
		if (group > s->last && group <= o->from)
			return true;
	}
	return false;
}

/* The last records are damaged, and in the index: a new segment goes on. */
static void
pass_end(struct opening *o, struct segment *s)
{
	if (s->last >= o->from || !has_remains(o, s))
		return;
	log_warn("ledger.log", "text=\"%s is damaged from byte %llu on; what "
	    "it held there is in the index\"", name_of(o, s->number),
	    (unsigned long long)s->end);
	s->last = o->from;
	s->end = o->sound_from = s->size;
	o->log->chain = 0;
}

/*
 * Does the record prove that what is missing before it had been synced?  What
 * follows the last good group at once stands where no write can have put it.
 */
static bool
proves_damage(const struct segment *s, const struct record *r)
{
	uint64_t missing = s->last + 1;

	return r->group == missing || (r->group > missing &&
	    r->group - missing > r->lag);
}

/* Nothing valid may stand behind the first place that holds no record. */
static enum err
look_behind(struct opening *o, const struct segment *s)
{
	struct str bytes = buf_str(&o->bytes);
	struct record r;

	for (size_t at = next_magic(s, bytes, (size_t)s->end);
	    at + RECORD_HEAD_BYTES <= bytes.n;
	    at = next_magic(s, bytes, at + RECORD_ALIGN))
		if (record_at(s, bytes, at, &r) && proves_damage(s, &r))
			return damaged(o, "%s is damaged at byte %llu: group "
			    "%llu cannot be read, but group %llu stands behind "
			    "it", name_of(o, s->number),
			    (unsigned long long)s->end,
			    (unsigned long long)s->last + 1,
			    (unsigned long long)r.group);
	return OK;
}

/* Where the last record begins, and before it those that it lags behind. */
static uint64_t
unsynced_from(const struct opening *o, const struct segment *s)
{
	uint64_t at = o->sound_from;

	while (at < s->end) {
		struct reader r = reader_of(str_from(buf_str(&o->bytes),
		    (size_t)at));
		read_be64(&r);
		if (read_be64(&r) + o->lag >= s->last)
			break;
		at += record_bytes(read_be32(&r));
	}
	return at;
}

/*
 * The head and what was not synced when the last record was written were read,
 * but perhaps from memory only: where their sync failed the kernel keeps the
 * bytes, takes them for clean, and a later sync does not write them.  Written
 * again, they are dirty and the next sync is true.
 */
static enum err
rewrite_last(struct opening *o, const struct segment *s)
{
	enum err e = file_write(s->fd, 0, o->bytes.p, SEGMENT_HEAD_BYTES,
	    o->w);

	if (e == OK && s->last >= s->first && o->sound_from < s->end) {
		uint64_t at = unsynced_from(o, s);
		e = file_write(s->fd, at, o->bytes.p + at,
		    (size_t)(s->end - at), o->w);
	}
	return e == OK ? segment_sync(o->log, s, o->w) : e;
}

/* Zero what is not, and make a file that was cut short whole again. */
static enum err
zero_behind(struct opening *o, const struct segment *s)
{
	static const char zeros[ZERO_CHUNK_BYTES];
	uint64_t on_disk;
	bool changed = false;

	enum err e = file_size(s->fd, &on_disk, o->w);
	for (uint64_t at = s->end; at < s->size && e == OK;
	    at += ZERO_CHUNK_BYTES) {
		size_t n = (size_t)MIN(ZERO_CHUNK_BYTES, s->size - at);
		if (at + n <= on_disk && all_zero(o->bytes.p + at, n))
			continue;
		e = file_write(s->fd, at, zeros, n, o->w);
		o->log->stats.cut_bytes += n;
		changed = true;
	}
	return e == OK && changed ? segment_sync(o->log, s, o->w) : e;
}

static enum err
read_segment(struct opening *o, size_t i)
{
	struct commitlog *l = o->log;
	struct segment *s = &l->segments[i];

	enum err e = load_segment(o, s);
	/* What is replayed may reach the index's files at once. */
	if (e == OK && i + 1 == l->begun)
		e = segment_sync(l, s, o->w);
	o->sound_from = SEGMENT_HEAD_BYTES;
	l->chain = s->chain;
	if (e == OK)
		e = replay_records(o, s);
	if (e == OK)
		e = look_behind(o, s);
	if (e != OK)
		return e;
	if (i + 1 == l->begun) {
		pass_end(o, s);
		e = rewrite_last(o, s);
		return e == OK ? zero_behind(o, s) : e;
	}
	if (l->segments[i + 1].first != s->last + 1)
		return damaged(o, "%s ends with group %llu, but the next "
		    "segment begins with %llu", name_of(o, s->number),
		    (unsigned long long)s->last,
		    (unsigned long long)l->segments[i + 1].first);
	if (l->chain != 0 && l->segments[i + 1].chain != 0 &&
	    l->segments[i + 1].chain != l->chain)
		return damaged(o, "%s does not go on where the segment before "
		    "it ends", name_of(o, l->segments[i + 1].number));
	return OK;
}

/* Read from the segment that holds the first group after the checkpoint. */
static enum err
read_segments(struct opening *o)
{
	struct commitlog *l = o->log;
	enum err e = OK;
	size_t i = 0;

	l->group = o->from;
	if (l->begun == 0)
		return OK;
	if (l->segments[0].first > o->from + 1)
		return damaged(o, "the log begins with group %llu, but the "
		    "index ends with group %llu",
		    (unsigned long long)l->segments[0].first,
		    (unsigned long long)o->from);
	for (; i + 1 < l->begun && l->segments[i + 1].first <= o->from + 1; i++)
		l->segments[i].last = l->segments[i + 1].first - 1;
	for (; i < l->begun && e == OK; i++)
		e = read_segment(o, i);
	l->group = l->segments[l->begun - 1].last;
	if (e == OK && l->group < o->from)
		e = damaged(o, "the log ends with group %llu, but the index "
		    "has group %llu", (unsigned long long)l->group,
		    (unsigned long long)o->from);
	return e;
}

/* Spares that cannot be had now are asked for again by commitlog_prepare(). */
static enum err
preallocate(struct opening *o)
{
	struct commitlog *l = o->log;
	struct why w = WHY_INIT;
	enum err e = OK;

	while (l->n < l->segments_min && e == OK)
		e = segment_allocate(l, l->segment_bytes, &w);
	if (e == ERR_DISK_FULL && l->n > 0) {
		log_warn("ledger.log", "no room for a spare segment: %s",
		    w.text);
		return OK;
	}
	return e == OK ? OK : why(o->w, e, "log: %s", w.text);
}

static size_t
sound_size(size_t n)
{
	return MIN(MAX(n, COMMITLOG_SEGMENT_BYTES_MIN), SEGMENT_BYTES_MAX) &
	    ~(size_t)(RECORD_ALIGN - 1);
}

static struct commitlog *
new_log(const char *dir, const struct commitlog_options *in)
{
	struct commitlog *l = mem_new(sizeof(*l));

	l->dir = mem_copy_text(dir);
	l->segment_bytes = sound_size(in == NULL || in->segment_bytes == 0 ?
	    COMMITLOG_SEGMENT_BYTES : in->segment_bytes);
	l->segment_bytes_max = MAX(l->segment_bytes,
	    in == NULL ? 0 : sound_size(in->segment_bytes_max));
	l->segments_min = in == NULL || in->segments_min == 0 ?
	    COMMITLOG_SEGMENTS_MIN : in->segments_min;
	return l;
}

enum err
commitlog_open(const char *dir, const struct commitlog_options *options,
    uint64_t from_group,
    enum err (*replay)(void *, uint64_t, struct str, struct why *), void *arg,
    struct commitlog **out, struct why *w)
{
	struct opening o = { .log = new_log(dir, options), .from = from_group,
	    .replay = replay, .arg = arg, .w = w,
	    .from_chain = options == NULL ? 0 : options->from_chain };

	*out = NULL;
	enum err e = file_make_dir(dir, w);
	if (e == OK)
		e = open_segments(&o);
	if (e == OK)
		e = read_segments(&o);
	/* Names too may have been read from memory only. */
	if (e == OK)
		e = file_sync_dir(dir, w);
	if (e == OK)
		e = preallocate(&o);
	buf_free(&o.bytes);
	buf_free(&o.path);
	o.log->synced = o.log->group;
	if (e == OK)
		*out = o.log;
	else
		commitlog_close(&o.log);
	return e;
}

/* Segments one after the other, while each goes on where the last one ends. */
static enum err
replay_segments(struct opening *o)
{
	struct commitlog *l = o->log;
	enum err e = OK;

	if (l->begun == 0 || l->segments[0].first > o->from + 1)
		return damaged(o, "group %llu is not there",
		    (unsigned long long)o->from + 1);
	for (size_t i = 0; i < l->begun && e == OK; i++) {
		struct segment *s = &l->segments[i];
		if (i + 1 < l->begun &&
		    l->segments[i + 1].first <= o->from + 1)
			continue;
		e = load_segment(o, s);
		l->chain = s->chain;
		if (e == OK)
			e = replay_records(o, s);
		if (e == OK && i + 1 < l->begun &&
		    l->segments[i + 1].first != s->last + 1)
			e = damaged(o, "it has a gap behind group %llu",
			    (unsigned long long)s->last);
	}
	return e;
}

enum err
commitlog_read(const char *dir, uint64_t from_group, uint32_t from_chain,
    enum err (*replay)(void *, uint64_t, struct str, struct why *), void *arg,
    struct why *w)
{
	struct opening o = { .log = new_log(dir, NULL), .from = from_group,
	    .replay = replay, .arg = arg, .w = w, .from_chain = from_chain,
	    .reads = true };

	enum err e = open_segments(&o);
	if (e == OK)
		e = replay_segments(&o);
	buf_free(&o.bytes);
	buf_free(&o.path);
	commitlog_close(&o.log);
	return e;
}
