#include "engine/frontier/crawl.h"
#include "engine/frontier/error_summary.h"
#include "os/clock.h"

#define STATUS_MIN 400u
#define STATUS_MAX 599u
/* No URL has it. */
#define CAUSE '\x01'
#define SLOTS (EXCEPTION_COUNT + SKIP_COUNT + STATUS_MAX - STATUS_MIN + 1)

struct error_group {
	struct error_summary_record record;    /* but samples and causes */
	/* Samples, each with its cause behind CAUSE; the newest first. */
	struct buf samples[ERROR_SUMMARY_SAMPLES];
	struct mono sampled;
	bool dirty;
};
struct problems {
	struct error_group *slots[SLOTS];
	bool dirty;
};

/* --- records ------------------------------------------------------------- */

static void
put_key(uint32_t crawl, enum error_summary_kind kind, uint16_t code,
    struct buf *out)
{
	crawl_key(crawl, 'P', out);
	buf_put_char(out, (char)kind);
	buf_put_be16(out, code);
}

static void
put_value(const struct error_group *p, struct buf *out)
{
	const struct error_summary_record *r = &p->record;

	buf_put_varint(out, r->count);
	buf_put_be64(out, (uint64_t)r->first.us);
	buf_put_be64(out, (uint64_t)r->last.us);
	for (size_t i = 0; i < r->samples_n; i++)
		buf_put_field(out, buf_str(&p->samples[i]));
}

/* Borrows from `value`. */
static bool
parse_record(struct str key, struct str value, struct error_summary_record *r)
{
	struct reader k = reader_of(key), v = reader_of(value);

	*r = (struct error_summary_record){ 0 };
	read_be32(&k);
	read_u8(&k);
	r->kind = (enum error_summary_kind)read_u8(&k);
	r->code = read_be16(&k);
	r->count = read_varint(&v);
	r->first.us = (int64_t)read_be64(&v);
	r->last.us = (int64_t)read_be64(&v);
	while (v.n > 0 && !v.bad && r->samples_n < ERROR_SUMMARY_SAMPLES) {
		struct str sample = read_field(&v);
		size_t at = str_find_char(sample, CAUSE);
		r->samples[r->samples_n] = str_cut(sample, 0, at);
		r->causes[r->samples_n++] = str_from(sample, at + 1);
	}
	return !k.bad && !v.bad;
}

enum err
error_summary_read(struct index *x, uint32_t crawl, struct arena *a,
    struct error_summary_record **out, size_t *n, struct why *w)
{
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(x, INDEX_CRAWL);
	FREED(buf_free) struct buf from = BUF_INIT;
	struct str key, value;
	enum err e = OK;

	*n = 0;
	*out = ARENA_ARRAY(a, struct error_summary_record, SLOTS);
	crawl_key(crawl, 'P', &from);
	for (index_iter_seek(i, buf_str(&from)); e == OK && *n < SLOTS &&
	    index_iter_valid(i, &key, &value) &&
	    str_starts(key, buf_str(&from)); index_iter_next(i))
		if (!parse_record(key, arena_copy(a, value), &(*out)[(*n)++]))
			e = why(w, ERR_CORRUPT, "a record of crawl %u is "
			    "damaged", crawl);
	return e == OK ? index_iter_error(i, w) : e;
}

/* --- memory -------------------------------------------------------------- */

static size_t
slot_of(enum error_summary_kind kind, unsigned code)
{
	switch (kind) {
	case ERROR_SUMMARY_EXCEPTION:
		return code < EXCEPTION_COUNT ? code : SLOTS;
	case ERROR_SUMMARY_SKIPPED:
		return code < SKIP_COUNT ? EXCEPTION_COUNT + code : SLOTS;
	case ERROR_SUMMARY_STATUS:
		return code < STATUS_MIN || code > STATUS_MAX ? SLOTS :
		    EXCEPTION_COUNT + SKIP_COUNT + code - STATUS_MIN;
	}
	return SLOTS;
}

static struct error_group *
error_summary_of(struct crawl *c, enum error_summary_kind kind, unsigned code)
{
	size_t at = slot_of(kind, code);

	if (at == SLOTS)
		return NULL;
	if (c->problems == NULL)
		c->problems = mem_new(sizeof(*c->problems));
	struct error_group **p = &c->problems->slots[at];
	if (*p == NULL) {
		*p = mem_new(sizeof(**p));
		(*p)->record.kind = kind;
		(*p)->record.code = (uint16_t)code;
		(*p)->sampled.ns = INT64_MIN / 2;
	}
	return *p;
}

/* In the memory of the oldest, which goes. */
static void
push_sample(struct error_group *p, struct str url, struct str cause)
{
	struct buf b = p->samples[ERROR_SUMMARY_SAMPLES - 1];

	memmove(&p->samples[1], &p->samples[0],
	    sizeof(p->samples) - sizeof(p->samples[0]));
	buf_clear(&b);
	buf_put_str(&b, url);
	if (cause.n > 0) {
		buf_put_char(&b, CAUSE);
		buf_put_str(&b, str_cut(cause, 0, ERROR_SUMMARY_CAUSE_MAX));
	}
	p->samples[0] = b;
	p->record.samples_n = MIN(p->record.samples_n + 1,
	    ERROR_SUMMARY_SAMPLES);
}

void
error_summary_note(struct crawl *c, enum error_summary_kind kind, unsigned code,
    struct str url, struct str cause)
{
	struct error_group *p = error_summary_of(c, kind, code);
	struct mono now = loop_now(c->frontier->loop);

	if (p == NULL)
		return;
	if (kind == ERROR_SUMMARY_STATUS) {
		p->record.count++;
		p->dirty = c->problems->dirty = true;
	}
	if (p->record.samples_n == ERROR_SUMMARY_SAMPLES &&
	    mono_ns_between(p->sampled, now) < ERROR_SUMMARY_MS * NS_PER_MS)
		return;
	p->sampled = now;
	p->record.last = clock_wall();
	if (p->record.first.us == 0)
		p->record.first = p->record.last;
	if (url.n <= ERROR_SUMMARY_URL_MAX)
		push_sample(p, url, cause);
	p->dirty = c->problems->dirty = true;
	crawl_touch(c);
}

void
error_summary_put(struct crawl *c)
{
	struct frontier *f = c->frontier;

	if (c->problems == NULL || !c->problems->dirty)
		return;
	c->problems->dirty = false;
	for (size_t i = 0; i < SLOTS; i++) {
		struct error_group *p = c->problems->slots[i];
		if (p == NULL || !p->dirty)
			continue;
		p->dirty = false;
		buf_clear(&f->value);
		put_key(c->id, p->record.kind, p->record.code, &f->key);
		put_value(p, &f->value);
		ledger_put(f->ledger, INDEX_CRAWL, buf_str(&f->key),
		    buf_str(&f->value));
	}
	/* The last ones: nothing comes to a crawl that has ended. */
	if (crawl_state_is_ended(c->view.state))
		error_summary_free(&c->problems);
}

enum err
error_summary_load(struct crawl *c, struct index *x, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct error_summary_record *r;
	size_t n;

	enum err e = error_summary_read(x, c->id, &a, &r, &n, w);
	for (size_t i = 0; e == OK && i < n; i++) {
		struct error_group *p =
		    error_summary_of(c, r[i].kind, r[i].code);
		if (p == NULL)
			continue;
		p->record = r[i];
		p->record.samples_n = 0;
		for (size_t k = r[i].samples_n; k-- > 0;)
			push_sample(p, r[i].samples[k], r[i].causes[k]);
	}
	return e;
}

void
error_summary_free(struct problems **ps)
{
	for (size_t i = 0; *ps != NULL && i < SLOTS; i++) {
		struct error_group *p = (*ps)->slots[i];
		for (size_t k = 0; p != NULL && k < ERROR_SUMMARY_SAMPLES; k++)
			buf_free(&p->samples[k]);
		mem_free(&p);
	}
	mem_free(ps);
}
