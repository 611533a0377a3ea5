#include "wire/warc_read.h"

/* Going back after damage may read this much again, beyond what was read. */
#define RESCAN_FREE ((uint64_t)16 << 20)

struct warc_reader {
	struct unpack *unpack;
	struct warc_read_limits limits;
	struct buf head;
	struct arena arena;
	bool member;              /* a gzip or zstd member is open */
	uint64_t member_at;
	unsigned member_records;
	/* The record in hand. */
	bool open;
	uint64_t offset, left, ulen;
	unsigned odd;
	enum unpack_kind kind;
	/* Found while finishing a record, to be told by the next call. */
	struct warc_damage pending;
	bool over;                /* nothing more will be read */
	bool lost;                /* recover() comes first */
	uint64_t lost_at;
	uint64_t rescanned;
};

static const char *const oddity_texts[] = {
	WARC_ODDITIES(TABLE_SECOND)
};

static const char *const cause_texts[] = {
	WARC_DAMAGES(TABLE_SECOND)
};

const char *
warc_oddity_text(enum warc_oddity o)
{
	return oddity_texts[o];
}

const char *
warc_damage_text(enum warc_damage_cause c)
{
	return cause_texts[c];
}

struct warc_reader *
warc_reader_new(struct unpack_source source, struct warc_read_limits limits)
{
	struct warc_reader *r = mem_new(sizeof(*r));

	r->unpack = unpack_new(source, limits.unpack);
	r->limits = limits;
	r->arena = ARENA_INIT;
	return r;
}

void
warc_reader_free(struct warc_reader **rp)
{
	struct warc_reader *r = *rp;

	if (r == NULL)
		return;
	unpack_free(&r->unpack);
	buf_free(&r->head);
	arena_free(&r->arena);
	mem_free(rp);
}

struct str
warc_strip_brackets(struct str s)
{
	s = str_trim(s);
	if (s.n >= 2 && s.p[0] == '<' && s.p[s.n - 1] == '>')
		s = str_trim(str_cut(s, 1, s.n - 1));
	return s;
}

struct str
warc_entry_field(const struct warc_entry *e, struct str name)
{
	return http_find(&e->head, name);
}

static enum warc_damage_cause
cause_of(enum unpack_found f)
{
	switch (f) {
	case UNPACK_DAMAGED:
		return WARC_DAMAGE_PACKED;
	case UNPACK_TOO_BIG:
		return WARC_DAMAGE_TOO_BIG;
	case UNPACK_IO:
		return WARC_DAMAGE_IO;
	default:
		return WARC_DAMAGE_CUT;
	}
}

/*
 * Note damage of what began at `offset`.  Reading goes on at the first place
 * behind `offset` where a record can begin; it is looked for when the next
 * record is asked for.
 */
static void
damage(struct warc_reader *r, enum warc_damage_cause cause, uint64_t offset)
{
	if (r->pending.cause != WARC_DAMAGE_NONE)
		return;
	r->pending = (struct warc_damage){ cause, offset };
	r->open = r->member = false;
	r->lost = true;
	r->lost_at = offset;
	if (cause == WARC_DAMAGE_IO || cause == WARC_DAMAGE_ARC)
		r->over = true;
}

/*
 * Stand where reading goes on.  A hostile file could make us go back for ever;
 * what is read twice is bounded by what was read once.
 */
static void
recover(struct warc_reader *r)
{
	uint64_t here = unpack_at(r->unpack), from = r->lost_at + 1, at;

	r->lost = false;
	if (from < here) {
		if (r->rescanned + (here - from) > RESCAN_FREE + 2 * here)
			from = here;
		else
			r->rescanned += here - from;
	}
	if (!unpack_find(r->unpack, from, &at))
		r->over = true;
}

static enum warc_found
tell(struct warc_reader *r, struct warc_damage *d)
{
	*d = r->pending;
	r->pending.cause = WARC_DAMAGE_NONE;
	return WARC_FOUND_DAMAGE;
}

/*
 * More bytes of the record in hand.  Where a member ends before its record
 * does, the next member goes on with it, unless a record begins there.
 */
static enum unpack_found
record_peek(struct warc_reader *r, struct str *s)
{
	enum unpack_found f = unpack_peek(r->unpack, s);

	while (f == UNPACK_MEMBER_END && r->member) {
		uint64_t at = unpack_at(r->unpack);
		enum unpack_kind kind = unpack_begin(r->unpack);
		if (kind != UNPACK_GZIP && kind != UNPACK_ZSTD)
			return UNPACK_CUT;
		f = unpack_peek(r->unpack, s);
		if (f == UNPACK_BYTES && str_starts_nocase(*s, STR("WARC/"))) {
			unpack_seek(r->unpack, at);
			return UNPACK_CUT;
		}
		if (f == UNPACK_BYTES)
			r->odd |= WARC_ODD(SPLIT);
	}
	return f == UNPACK_MEMBER_END ? UNPACK_CUT : f;
}

static void
record_take(struct warc_reader *r, size_t n)
{
	unpack_take(r->unpack, n);
	r->ulen += n;
}

/* The head up to its empty line into r->head; NONE when it is there. */
static enum warc_damage_cause
read_head(struct warc_reader *r)
{
	size_t line = 0;

	buf_clear(&r->head);
	for (;;) {
		struct str s;
		enum unpack_found f = record_peek(r, &s);
		if (f != UNPACK_BYTES)
			return cause_of(f);
		size_t lf = str_find_char(s, '\n');
		size_t n = MIN(lf + 1, s.n);
		buf_put(&r->head, s.p, n);
		record_take(r, n);
		line += n;
		if (line > r->limits.field_bytes_max ||
		    r->head.n > r->limits.head_bytes_max)
			return WARC_DAMAGE_HEAD_TOO_LONG;
		if (lf == s.n)
			continue;
		if (line == 1 || (line == 2 &&
		    r->head.p[r->head.n - 2] == '\r'))
			return WARC_DAMAGE_NONE;
		line = 0;
	}
}

int
warc_version(struct str line)
{
	uint64_t major, minor;
	struct str rest = str_from(line, 5);
	size_t dot = str_find_char(rest, '.');

	if (!str_starts_nocase(line, STR("WARC/")) ||
	    !str_to_u64(str_cut(rest, 0, dot), &major) ||
	    !str_to_u64(str_from(rest, dot + 1), &minor) ||
	    major > 9 || minor > 99)
		return -1;
	return (int)(major * 100 + minor);
}

static bool
id_is_sound(struct str id)
{
	return id.n > 0 && str_find_char(id, ' ') == id.n &&
	    str_find_char(id, ':') > 0 && str_find_char(id, ':') < id.n;
}

static void
read_uri(struct warc_entry *e)
{
	struct str raw = str_trim(warc_entry_field(e,
	    STR("WARC-Target-URI")));

	e->uri = warc_strip_brackets(raw);
	if (e->uri.n != raw.n)
		e->odd |= WARC_ODD(BRACKETS);
	for (size_t i = 0; i < e->uri.n; i++)
		if ((unsigned char)e->uri.p[i] <= ' ')
			e->odd |= WARC_ODD(URI_SPACE);
}

/* Everything the head says; NONE when the record can be read. */
static enum warc_damage_cause
parse_head(struct warc_reader *r, struct warc_entry *e)
{
	struct http_limits limits = { r->limits.fields_max,
		r->limits.head_bytes_max };
	struct str all = buf_str(&r->head);
	size_t lf = str_find_char(all, '\n');
	struct str first = str_cut(all, 0, lf);

	if (first.n > 0 && first.p[first.n - 1] == '\r')
		first.n--;
	else
		e->odd |= WARC_ODD(BARE_LF);
	e->version = warc_version(str_trim(first));
	if (e->version < 0)
		return WARC_DAMAGE_HEAD;
	if (e->version != 17 && e->version != 18 && e->version != 100 &&
	    e->version != 101)
		e->odd |= WARC_ODD(VERSION);
	if (e->version < 17)
		return WARC_DAMAGE_HEAD;
	if (http_parse_fields(str_from(all, lf + 1), limits, &r->arena,
	    &e->head, NULL) != OK)
		return WARC_DAMAGE_HEAD_TOO_LONG;
	if (e->head.bare_lf > 0)
		e->odd |= WARC_ODD(BARE_LF);
	if (e->head.folds > 0)
		e->odd |= WARC_ODD(FOLDED);
	if (e->head.garbage > 0)
		e->odd |= WARC_ODD(GARBAGE);
	e->type_text = warc_entry_field(e, STR("WARC-Type"));
	e->type = warc_type_of(e->type_text);
	if (e->type_text.n == 0)
		e->odd |= WARC_ODD(NO_TYPE);
	e->id = warc_strip_brackets(warc_entry_field(e,
	    STR("WARC-Record-ID")));
	if (!id_is_sound(e->id))
		e->odd |= WARC_ODD(NO_ID);
	if (!wall_from_iso(str_trim(warc_entry_field(e, STR("WARC-Date"))),
	    &e->date))
		e->odd |= WARC_ODD(NO_DATE);
	read_uri(e);
	e->block_at = r->head.n;
	return http_content_length(&e->head, &e->length) &&
	    e->length <= INT64_MAX ? WARC_DAMAGE_NONE : WARC_DAMAGE_LENGTH;
}

/* As far as `s` goes, it begins as a record does. */
static bool
may_be_record(struct str s)
{
	return str_starts_nocase(s, str_cut(STR("WARC/"), 0, s.n));
}

/*
 * A plain record's Content-Length must lead to the file's end or to another
 * record; looked at before the block is believed.
 */
static enum warc_damage_cause
check_boundary(struct warc_reader *r, uint64_t length)
{
	uint64_t end = unpack_at(r->unpack) + length;
	char p[64], last;

	if (length > INT64_MAX / 2)
		return WARC_DAMAGE_CUT;
	size_t n = unpack_raw(r->unpack, end, p, sizeof(p)), i = 0;

	if (n == 0)
		return length == 0 ||
		    unpack_raw(r->unpack, end - 1, &last, 1) == 1 ?
		    WARC_DAMAGE_NONE : WARC_DAMAGE_CUT;
	/* With its proper end it is believed, whatever rubbish may follow. */
	if (str_starts((struct str){ p, n }, STR("\r\n\r\n")))
		return WARC_DAMAGE_NONE;
	while (i < n && (p[i] == '\r' || p[i] == '\n' || p[i] == '\0'))
		i++;
	struct str rest = { p + i, n - i };
	return gzip_starts(rest) || may_be_record(rest) ? WARC_DAMAGE_NONE :
	    WARC_DAMAGE_BOUNDARY;
}

/* The head of the record that begins here. */
static enum warc_found
begin_record(struct warc_reader *r, struct warc_entry *e)
{
	unsigned odd = r->odd;

	arena_reset(&r->arena);
	memset(e, 0, sizeof(*e));
	r->ulen = 0;
	r->odd = 0;
	e->offset = r->offset;
	e->kind = r->kind;
	if (r->member && r->member_records == 0)
		e->gzip = *unpack_gzip_head(r->unpack);
	enum warc_damage_cause c = read_head(r);
	if (c == WARC_DAMAGE_NONE)
		c = parse_head(r, e);
	if (c == WARC_DAMAGE_NONE && !r->member)
		c = check_boundary(r, e->length);
	if (c != WARC_DAMAGE_NONE) {
		damage(r, c, r->offset);
		return WARC_FOUND_DAMAGE;
	}
	e->exact = r->member_records++ == 0 || !r->member;
	if (!e->exact)
		r->odd |= WARC_ODD(SHARED);
	r->odd |= odd;
	e->odd |= r->odd;
	r->open = true;
	r->left = e->length;
	return WARC_FOUND_RECORD;
}

/* The file begins as ARC files do. */
static bool
is_arc(struct warc_reader *r, struct str s)
{
	return r->offset == 0 && str_starts(s, STR("filedesc:"));
}

/* Open the member at the file's position; RECORD when there is one. */
static enum warc_found
begin_member(struct warc_reader *r)
{
	char first[9];

	r->odd = unpack_skip_padding(r->unpack) ? WARC_ODD(ZEROS) : 0;
	r->offset = r->member_at = unpack_at(r->unpack);
	r->kind = unpack_begin(r->unpack);
	r->member = r->kind == UNPACK_GZIP || r->kind == UNPACK_ZSTD;
	/* A dictionary in front of the first zstd frame is not the record's. */
	if (r->member)
		r->offset = r->member_at = unpack_at(r->unpack);
	r->member_records = 0;
	if (r->kind == UNPACK_END)
		return WARC_FOUND_END;
	if (r->kind == UNPACK_STRANGE) {
		size_t n = unpack_raw(r->unpack, r->offset, first, 9);
		damage(r, is_arc(r, (struct str){ first, n }) ?
		    WARC_DAMAGE_ARC : WARC_DAMAGE_STRANGE, r->offset);
		return WARC_FOUND_DAMAGE;
	}
	return WARC_FOUND_RECORD;
}

/*
 * Inside a member: stand at its next record.  RECORD: there is one.  END: the
 * member is over.
 */
static enum warc_found
next_in_member(struct warc_reader *r)
{
	for (;;) {
		struct str s;
		enum unpack_found f = unpack_peek(r->unpack, &s);
		size_t i = 0;
		if (f == UNPACK_MEMBER_END) {
			r->member = false;
			return WARC_FOUND_END;
		}
		if (f != UNPACK_BYTES) {
			damage(r, cause_of(f), r->member_at);
			return WARC_FOUND_DAMAGE;
		}
		while (i < s.n && (s.p[i] == '\r' || s.p[i] == '\n' ||
		    s.p[i] == '\0'))
			i++;
		unpack_take(r->unpack, i);
		s = str_from(s, i);
		if (s.n == 0)
			continue;
		if (may_be_record(s))
			return WARC_FOUND_RECORD;
		damage(r, is_arc(r, s) ? WARC_DAMAGE_ARC :
		    r->member_records > 0 ? WARC_DAMAGE_BOUNDARY :
		    WARC_DAMAGE_STRANGE, r->member_at);
		return WARC_FOUND_DAMAGE;
	}
}

enum warc_found
warc_read_next(struct warc_reader *r, struct warc_entry *e,
    struct warc_damage *d)
{
	enum warc_found f;

	if (r->open) {
		struct warc_entry rest = { .odd = 0 };
		if (!warc_read_finish(r, &rest, d))
			return WARC_FOUND_DAMAGE;
	}
	if (r->pending.cause != WARC_DAMAGE_NONE)
		return tell(r, d);
	do {
		if (r->lost && !r->over)
			recover(r);
		if (r->over)
			return WARC_FOUND_END;
		f = r->member ? WARC_FOUND_RECORD : begin_member(r);
		if (f == WARC_FOUND_RECORD && r->member)
			f = next_in_member(r);
		else if (f == WARC_FOUND_END)
			r->over = true;
	} while (f == WARC_FOUND_END);
	if (f == WARC_FOUND_RECORD)
		f = begin_record(r, e);
	return f == WARC_FOUND_DAMAGE ? tell(r, d) : f;
}

enum warc_found
warc_read_at(struct warc_reader *r, uint64_t offset, struct warc_entry *e,
    struct warc_damage *d)
{
	char first[8];

	r->open = r->member = r->over = r->lost = false;
	r->pending.cause = WARC_DAMAGE_NONE;
	unpack_seek(r->unpack, offset);
	size_t n = unpack_raw(r->unpack, offset, first, sizeof(first));
	struct str s = { first, n };
	if (!gzip_starts(s) && !str_starts_nocase(s, STR("WARC/")) &&
	    !str_starts(s, STR("\x28\xb5\x2f\xfd"))) {
		*d = (struct warc_damage){ WARC_DAMAGE_STRANGE, offset };
		return WARC_FOUND_DAMAGE;
	}
	return warc_read_next(r, e, d);
}

bool
warc_read_block(struct warc_reader *r, struct str *s)
{
	*s = STR_NONE;
	if (!r->open || r->left == 0)
		return false;
	enum unpack_found f = record_peek(r, s);
	if (f != UNPACK_BYTES) {
		*s = STR_NONE;
		damage(r, cause_of(f), r->offset);
		return false;
	}
	s->n = (size_t)MIN(s->n, r->left);
	r->left -= s->n;
	record_take(r, s->n);
	return true;
}

/*
 * Count the line ends behind the block, up to the next record or the member's
 * end.  A member must end here or go on with a record.
 */
static bool
read_end(struct warc_reader *r, uint64_t *ends, uint64_t *lines)
{
	*ends = *lines = 0;
	for (;;) {
		struct str s;
		enum unpack_found f = unpack_peek(r->unpack, &s);
		size_t i = 0;
		if (f == UNPACK_MEMBER_END)
			return true;
		if (f != UNPACK_BYTES) {
			damage(r, cause_of(f), r->offset);
			return false;
		}
		for (; i < s.n && (s.p[i] == '\r' || s.p[i] == '\n'); i++)
			*lines += s.p[i] == '\n';
		record_take(r, i);
		*ends += i;
		if (i < s.n)
			return true;
	}
}

/* The member's end, if it is here, without eating the next record. */
static bool
member_over(struct warc_reader *r)
{
	struct str s;

	return r->member && unpack_peek(r->unpack, &s) == UNPACK_MEMBER_END;
}

static void
check_lengths(struct warc_reader *r, struct warc_entry *e, bool single)
{
	const struct gzip_head *h = unpack_gzip_head(r->unpack);

	if (r->kind != UNPACK_GZIP || !single || !h->has_lengths ||
	    (r->odd & WARC_ODD(SPLIT)) != 0)
		return;
	if (h->lengths.clen != (uint32_t)e->clen ||
	    h->lengths.ulen != (uint32_t)e->ulen)
		r->odd |= WARC_ODD(LENGTHS);
}

bool
warc_read_finish(struct warc_reader *r, struct warc_entry *e,
    struct warc_damage *d)
{
	struct str s;
	uint64_t ends, lines;

	while (warc_read_block(r, &s))
		;
	if (r->open && read_end(r, &ends, &lines)) {
		bool over = member_over(r);
		bool single = over && r->member_records == 1;
		if (lines < 2)
			r->odd |= WARC_ODD(NO_END);
		else if (lines > 2)
			r->odd |= WARC_ODD(MORE_END);
		else if (ends < 4)
			r->odd |= WARC_ODD(BARE_LF);
		e->ulen = r->ulen;
		if (single || !r->member)
			e->clen = unpack_at(r->unpack) - r->offset;
		check_lengths(r, e, single);
		if (over)
			r->member = false;
		else if (r->member)
			e->exact = false;
	}
	r->open = false;
	e->odd |= r->odd;
	if (r->pending.cause == WARC_DAMAGE_NONE)
		return true;
	tell(r, d);
	return false;
}
