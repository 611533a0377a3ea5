#include "engine/archive/check.h"

#include <stdarg.h>

#include "base/hash.h"
#include "engine/archive/check_cdxj.h"
#include "engine/archive/check_state.h"
#include "engine/archive/walk.h"

#define HEAD_MAX ((size_t)1 << 20)

enum { N, W, E };

static const struct {
	const char *name, *text;
	int others, ours;
} rules[] = {
#define RULE_ROW(id, text, others, ours) { #id, text, others, ours },
	ARCHIVE_RULES(RULE_ROW)
#undef RULE_ROW
};

/* What is computed while a block is read. */
struct computing {
	struct digest_hasher *block, *payload, *entity;
	struct digest block_is, payload_is;     /* as stated; NONE: not */
	bool http, in_payload, entity_on;
	struct buf head;
	struct http_chunks chunks;
	struct buf unchunked;
	enum http_chunks_found chunks_found;
};

struct checker {
	const struct archive_check_options *options;
	struct archive_check_counts *counts;
	struct id_set ids, infos;
	struct waiting waiting;
	struct map crawls;        /* id -> struct crawl_numbers */
	struct computing c;
	struct arena arena;
	const struct archive_file *file;
	bool ours;
	uint64_t file_records;
};

const char *
archive_rule_text(enum archive_rule r)
{
	return rules[r].text;
}

void
archive_rule_put_name(enum archive_rule r, struct buf *b)
{
	for (const char *p = rules[r].name; *p != '\0'; p++)
		buf_put_char(b, ascii_lower(*p));
}

static void find(struct checker *, enum archive_rule, uint64_t offset,
    const char *fmt, ...) PRINTF_LIKE(4, 5);

static void
find(struct checker *k, enum archive_rule rule, uint64_t offset,
    const char *fmt, ...)
{
	int level = k->ours ? rules[rule].ours : rules[rule].others;
	char detail[300];
	va_list ap;

	if (level == N)
		return;
	va_start(ap, fmt);
	vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	k->counts->rules[rule]++;
	if (level == E)
		k->counts->errors++;
	else
		k->counts->warnings++;
	struct archive_finding f = { rule, level == E, k->file->path, offset,
		detail, false };
	if (k->options->finding != NULL)
		k->options->finding(k->options->arg, &f);
}

static uint64_t
id_hash(struct str id)
{
	return hash_bytes(id, 0x5741524349445321);
}

/*
 * The named fields of WARC 1.1 section 5, each of which may occur once, and
 * our own.  WARC-Concurrent-To alone may be repeated; so may extensions of
 * others.
 */
static const char *const single_fields[] = {
	"WARC-Record-ID", "Content-Length", "WARC-Date", "WARC-Type",
	"Content-Type", "WARC-Block-Digest", "WARC-Payload-Digest",
	"WARC-IP-Address", "WARC-Refers-To", "WARC-Refers-To-Target-URI",
	"WARC-Refers-To-Date", "WARC-Target-URI", "WARC-Truncated",
	"WARC-Warcinfo-ID", "WARC-Filename", "WARC-Profile",
	"WARC-Identified-Payload-Type", "WARC-Segment-Number",
	"WARC-Segment-Origin-ID", "WARC-Segment-Total-Length",
	"Argiope-Capture", "Argiope-Via", "Argiope-Redacted",
};

/* --- the head ----------------------------------------------------------- */

static void
check_id(struct checker *k, const struct warc_entry *e)
{
	if ((e->odd & WARC_ODD(NO_ID)) != 0) {
		find(k, ARCHIVE_RULE_ID, e->offset, "%.*s", STR_FMT(e->id));
		return;
	}
	if (id_set_put(&k->ids, id_hash(e->id)))
		find(k, ARCHIVE_RULE_ID_REPEATED, e->offset, "%.*s",
		    STR_FMT(e->id));
	if (e->type == WARC_WARCINFO)
		id_set_put(&k->infos, id_hash(e->id));
}

/* Each repeated name is one finding. */
static void
check_repeats(struct checker *k, const struct warc_entry *e)
{
	uint32_t seen = 0, found = 0;

	for (size_t i = 0; i < e->head.fields_n; i++) {
		struct str name = e->head.fields[i].name;
		size_t f = 0;
		while (f < ARRAY_LEN(single_fields) &&
		    !str_eq_nocase(name, str_of(single_fields[f])))
			f++;
		if (f == ARRAY_LEN(single_fields))
			continue;
		if ((seen & ~found & 1u << f) != 0) {
			found |= 1u << f;
			find(k, ARCHIVE_RULE_FIELD_REPEATED, e->offset, "%s",
			    single_fields[f]);
		}
		seen |= 1u << f;
	}
}

static void
check_references(struct checker *k, const struct warc_entry *e)
{
	size_t at = 0;
	struct str value;

	while (http_next(&e->head, STR("WARC-Concurrent-To"), &at, &value)) {
		uint64_t hash = id_hash(warc_strip_brackets(value));
		struct waiting *wait = &k->waiting;
		if (id_set_has(&k->ids, hash) || wait->n == WAITING_MAX)
			continue;
		wait->refs[wait->n].hash = hash;
		wait->refs[wait->n++].offset = e->offset;
	}
	if (e->type == WARC_REQUEST && warc_entry_field(e,
	    STR("WARC-Concurrent-To")).p == NULL)
		find(k, ARCHIVE_RULE_NO_CONCURRENT, e->offset, "%s", "");
	struct str info = warc_entry_field(e, STR("WARC-Warcinfo-ID"));
	bool wanted = k->ours && e->type != WARC_WARCINFO;
	if (info.p == NULL && !wanted)
		return;
	/* Members on their way when a file ends name that file's warcinfo. */
	if (info.p == NULL || (!k->infos.forgotten && !id_set_has(&k->infos,
	    id_hash(warc_strip_brackets(info)))))
		find(k, ARCHIVE_RULE_WARCINFO, e->offset, "%.*s",
		    STR_FMT(info));
}

static void
check_revisit(struct checker *k, const struct warc_entry *e)
{
	struct str profile = warc_entry_field(e, STR("WARC-Profile"));
	bool original = warc_entry_field(e, STR("WARC-Refers-To")).n > 0 ||
	    warc_entry_field(e, STR("WARC-Refers-To-Target-URI")).n > 0;

	if (profile.n == 0 || !original || warc_entry_field(e,
	    STR("WARC-Payload-Digest")).n == 0)
		find(k, ARCHIVE_RULE_REVISIT, e->offset, "%.*s",
		    STR_FMT(profile));
}

static void
check_type_fields(struct checker *k, const struct warc_entry *e)
{
	struct str cut = warc_entry_field(e, STR("WARC-Truncated"));

	if (e->type == WARC_UNKNOWN)
		find(k, ARCHIVE_RULE_TYPE, e->offset, "%.*s",
		    STR_FMT(e->type_text));
	if (e->uri.n == 0 && (e->type == WARC_RESPONSE ||
	    e->type == WARC_REQUEST || e->type == WARC_REVISIT ||
	    e->type == WARC_RESOURCE || e->type == WARC_CONVERSION))
		find(k, ARCHIVE_RULE_URI, e->offset, "%s", "");
	if (e->type == WARC_REVISIT)
		check_revisit(k, e);
	if (cut.p != NULL && !str_eq(cut, STR("length")) &&
	    !str_eq(cut, STR("time")) && !str_eq(cut, STR("disconnect")) &&
	    !str_eq(cut, STR("unspecified")))
		find(k, ARCHIVE_RULE_TRUNCATED, e->offset, "%.*s",
		    STR_FMT(cut));
	if (e->version != 101)
		find(k, ARCHIVE_RULE_VERSION, e->offset, "%d.%d",
		    e->version / 100, e->version % 100);
	if ((e->odd & WARC_ODD(NO_DATE)) != 0)
		find(k, ARCHIVE_RULE_DATE, e->offset, "%.*s",
		    STR_FMT(warc_entry_field(e, STR("WARC-Date"))));
	/* The grammar of WARC 1.0 had the brackets, by mistake. */
	if ((e->odd & WARC_ODD(URI_SPACE)) != 0 ||
	    ((e->odd & WARC_ODD(BRACKETS)) != 0 && e->version >= 101))
		find(k, ARCHIVE_RULE_URI_FORM, e->offset, "%.*s",
		    (int)MIN(e->uri.n, 200), e->uri.p);
}

static void
check_file_start(struct checker *k, const struct warc_entry *e)
{
	struct archive_name name;
	struct str stated = warc_entry_field(e, STR("WARC-Filename"));

	if (e->type != WARC_WARCINFO)
		find(k, ARCHIVE_RULE_WARCINFO_FIRST, e->offset, "%s",
		    warc_type_name(e->type));
	else if (stated.p != NULL && !str_eq(stated, k->file->name))
		find(k, ARCHIVE_RULE_FILENAME, e->offset, "%.*s",
		    STR_FMT(stated));
	if (!archive_name_parse(k->file->name, &name))
		find(k, ARCHIVE_RULE_NAME, e->offset, "%s", "");
}

/*
 * Numbers must rise from record to record and file to file.  Hops of one
 * capture may share its number.
 */
static void
check_numbers(struct checker *k, const struct warc_entry *e)
{
	struct warc_capture facts = { .crawl = 0 };
	struct str field = warc_entry_field(e, STR("Argiope-Capture"));
	/* A call's answer may be kept as metadata, a WebSocket's messages as
	 * resources; a checkpoint beside it says nothing of a capture. */
	bool answer = e->type == WARC_RESPONSE || e->type == WARC_REVISIT ||
	    ((e->type == WARC_METADATA || e->type == WARC_RESOURCE) &&
	    field.p != NULL);
	bool known = field.p != NULL && warc_capture_parse(field, &facts);

	if ((field.p != NULL && !known) ||
	    (answer && e->gzip.seq != 0 && !known))
		find(k, ARCHIVE_RULE_CAPTURE, e->offset, "%.*s",
		    (int)MIN(field.n, 200), field.p == NULL ? "" : field.p);
	if (!answer || e->gzip.seq == 0 || !known)
		return;
	struct crawl_numbers *c = crawl_numbers_get(&k->crawls, facts.crawl);
	if (c == NULL)
		return;
	uint64_t seq = e->gzip.seq;
	if (c->count > 0 && seq == c->last && facts.hop != c->hop) {
		c->hop = facts.hop;
		return;
	}
	k->counts->captures++;
	if (c->count > 0 && seq == c->last)
		find(k, ARCHIVE_RULE_REPEATED, e->offset,
		    "crawl %u number %llu", facts.crawl,
		    (unsigned long long)seq);
	else if (c->count > 0 && seq != c->last + 1)
		find(k, seq < c->last ? ARCHIVE_RULE_SEQUENCE :
		    ARCHIVE_RULE_GAP, e->offset,
		    "crawl %u number %llu behind %llu", facts.crawl,
		    (unsigned long long)seq, (unsigned long long)c->last);
	if (c->count > 0 && seq > c->last + 1)
		k->counts->missing += seq - c->last - 1;
	c->count++;
	c->last = seq;
	c->hop = facts.hop;
}

/* --- the block ---------------------------------------------------------- */

/* A value that cannot be one of its kind is a digest that does not match. */
static void
state_digest(struct checker *k, const struct warc_entry *e, struct str name,
    enum archive_rule rule, struct digest *d)
{
	struct str value = warc_entry_field(e, name);

	d->kind = DIGEST_NONE;
	if (value.p == NULL || digest_from_text(str_trim(value), d))
		return;
	find(k, d->kind == DIGEST_NONE ? ARCHIVE_RULE_DIGEST_FORM : rule,
	    e->offset, "%.*s", (int)MIN(value.n, 200), value.p);
	d->kind = DIGEST_NONE;
}

static bool
is_http(const struct warc_entry *e)
{
	return (e->type == WARC_RESPONSE || e->type == WARC_REQUEST ||
	    e->type == WARC_REVISIT) && str_starts_nocase(warc_entry_field(e,
	    STR("Content-Type")), STR("application/http"));
}

static void
compute_start(struct checker *k, const struct warc_entry *e)
{
	struct computing *c = &k->c;

	state_digest(k, e, STR("WARC-Block-Digest"),
	    ARCHIVE_RULE_BLOCK_DIGEST, &c->block_is);
	state_digest(k, e, STR("WARC-Payload-Digest"),
	    ARCHIVE_RULE_PAYLOAD_DIGEST, &c->payload_is);
	/* It is of the payload of another record, or of all segments. */
	if (e->type == WARC_REVISIT || e->type == WARC_CONTINUATION ||
	    warc_entry_field(e, STR("WARC-Segment-Number")).p != NULL)
		c->payload_is.kind = DIGEST_NONE;
	c->http = is_http(e);
	c->in_payload = !c->http;
	c->entity_on = false;
	buf_clear(&c->head);
	if (c->block_is.kind != DIGEST_NONE)
		digest_start(c->block, c->block_is.kind);
	if (c->payload_is.kind != DIGEST_NONE)
		digest_start(c->payload, c->payload_is.kind);
}

static void
compute_payload(struct computing *c, struct str s)
{
	if (c->payload_is.kind == DIGEST_NONE)
		return;
	digest_add(c->payload, s);
	while (c->entity_on && c->chunks_found == HTTP_CHUNKS_MORE &&
	    s.n > 0) {
		buf_clear(&c->unchunked);
		c->chunks_found = http_chunks_feed(&c->chunks, &s,
		    &c->unchunked, HEAD_MAX);
		digest_add(c->entity, buf_str(&c->unchunked));
	}
}

/* The HTTP head is over: `rest` of what was gathered belongs to the body. */
static void
compute_head_end(struct checker *k, const struct warc_entry *e, size_t head_n)
{
	struct computing *c = &k->c;
	struct http_head h;

	c->in_payload = true;
	if (http_parse_head(buf_str(&c->head), e->type == WARC_REQUEST,
	    HTTP_LIMITS_DEFAULT, &k->arena, &h, NULL) != OK) {
		find(k, ARCHIVE_RULE_HTTP, e->offset, "%s", "");
	} else if (c->payload_is.kind != DIGEST_NONE && str_eq_nocase(
	    http_find_all(&h, STR("transfer-encoding"), &k->arena),
	    STR("chunked"))) {
		c->entity_on = true;
		c->chunks = (struct http_chunks){ .strict = false };
		c->chunks_found = HTTP_CHUNKS_MORE;
		digest_start(c->entity, c->payload_is.kind);
	}
	compute_payload(c, str_from(buf_str(&c->head), head_n));
}

static void
compute(struct checker *k, const struct warc_entry *e, struct str s)
{
	struct computing *c = &k->c;

	if (c->block_is.kind != DIGEST_NONE)
		digest_add(c->block, s);
	if (c->in_payload) {
		compute_payload(c, s);
		return;
	}
	buf_put_str(&c->head, s);
	size_t end = http_head_end(buf_str(&c->head));
	if (end == 0 && c->head.n >= HEAD_MAX)
		end = c->head.n;
	if (end > 0)
		compute_head_end(k, e, end);
}

static void
compare(struct checker *k, const struct warc_entry *e, enum archive_rule rule,
    const struct digest *is, const struct digest *found)
{
	char stated[DIGEST_TEXT_MAX], computed[DIGEST_TEXT_MAX];

	k->counts->digests++;
	if (digest_eq(is, found))
		return;
	digest_to_text(is, stated);
	digest_to_text(found, computed);
	find(k, rule, e->offset, "stated %s, computed %s", stated, computed);
}

/* A request should have none; those that have one mean different things. */
static void
compare_request(struct checker *k, const struct warc_entry *e,
    const struct digest *found)
{
	const struct computing *c = &k->c;

	if (digest_eq(&c->payload_is, found) ||
	    digest_eq(&c->payload_is, &c->block_is))
		find(k, ARCHIVE_RULE_REQUEST_PAYLOAD, e->offset, "%s", "");
	else
		compare(k, e, ARCHIVE_RULE_PAYLOAD_DIGEST, &c->payload_is,
		    found);
}

static void
compare_payload(struct checker *k, const struct warc_entry *e)
{
	struct computing *c = &k->c;
	struct digest found, entity;

	digest_end(c->payload, &found);
	if (e->type == WARC_REQUEST) {
		compare_request(k, e, &found);
		return;
	}
	if (c->entity_on) {
		digest_end(c->entity, &entity);
		if (!digest_eq(&c->payload_is, &found) &&
		    digest_eq(&c->payload_is, &entity)) {
			k->counts->digests++;
			find(k, ARCHIVE_RULE_ENTITY_DIGEST, e->offset, "%s",
			    "");
			return;
		}
	}
	compare(k, e, ARCHIVE_RULE_PAYLOAD_DIGEST, &c->payload_is, &found);
}

static void
compute_end(struct checker *k, const struct warc_entry *e)
{
	struct computing *c = &k->c;
	struct digest found;

	if (!c->in_payload)
		compute_head_end(k, e, c->head.n);
	if (c->block_is.kind != DIGEST_NONE) {
		digest_end(c->block, &found);
		compare(k, e, ARCHIVE_RULE_BLOCK_DIGEST, &c->block_is,
		    &found);
	} else if (warc_entry_field(e, STR("WARC-Block-Digest")).p == NULL) {
		find(k, ARCHIVE_RULE_NO_BLOCK_DIGEST, e->offset, "%s", "");
	}
	if (c->payload_is.kind != DIGEST_NONE)
		compare_payload(k, e);
	else if ((e->type == WARC_RESPONSE || e->type == WARC_RESOURCE) &&
	    warc_entry_field(e, STR("WARC-Payload-Digest")).p == NULL)
		find(k, ARCHIVE_RULE_NO_PAYLOAD_DIGEST, e->offset, "%s", "");
}

/* --- the walk ----------------------------------------------------------- */

static enum err
on_record(void *arg, struct walk_visit *v, struct why *w)
{
	struct checker *k = arg;
	struct warc_entry *e = v->entry;
	struct archive_name name;
	struct str piece;

	(void)w;
	arena_reset(&k->arena);
	if (k->file_records++ == 0) {
		k->ours = k->options->strict || e->gzip.has_numbers ||
		    archive_name_parse(k->file->name, &name);
		check_file_start(k, e);
	}
	k->counts->records++;
	k->counts->types[e->type]++;
	check_id(k, e);
	check_repeats(k, e);
	check_references(k, e);
	check_type_fields(k, e);
	check_numbers(k, e);
	compute_start(k, e);
	while (warc_read_block(v->reader, &piece))
		compute(k, e, piece);
	return OK;
}

static void
check_oddities(struct checker *k, const struct warc_entry *e)
{
	const unsigned form = WARC_ODD(BARE_LF) | WARC_ODD(FOLDED) |
	    WARC_ODD(GARBAGE) | WARC_ODD(NO_END) | WARC_ODD(MORE_END) |
	    WARC_ODD(ZEROS) | WARC_ODD(VERSION);
	const unsigned member = WARC_ODD(SHARED) | WARC_ODD(SPLIT);

	if (k->ours && e->exact && e->kind == UNPACK_GZIP &&
	    !(e->gzip.has_lengths && e->gzip.has_numbers))
		find(k, ARCHIVE_RULE_LENGTHS, e->offset,
		    "the subfields sl and AR are not there");
	for (unsigned i = 0; i < WARC_ODDITY_COUNT; i++) {
		unsigned bit = 1u << i & e->odd;
		enum archive_rule rule = ARCHIVE_RULE_FORM;
		if ((bit & (form | member | WARC_ODD(LENGTHS))) == 0)
			continue;
		if ((bit & member) != 0)
			rule = ARCHIVE_RULE_MEMBER;
		else if ((bit & WARC_ODD(LENGTHS)) != 0)
			rule = ARCHIVE_RULE_LENGTHS;
		find(k, rule, e->offset, "%s",
		    warc_oddity_text((enum warc_oddity)i));
	}
}

static enum err
on_record_end(void *arg, struct walk_visit *v, bool whole, struct why *w)
{
	struct checker *k = arg;

	(void)w;
	if (!whole)
		return OK;
	compute_end(k, v->entry);
	check_oddities(k, v->entry);
	return OK;
}

static enum err
on_damage(void *arg, const struct archive_file *file,
    const struct warc_damage *d, struct why *w)
{
	struct checker *k = arg;

	(void)file, (void)w;
	find(k, ARCHIVE_RULE_DAMAGE, d->offset, "%s",
	    warc_damage_text(d->cause));
	return OK;
}

static void
on_cdxj_fault(void *arg, uint64_t at, const char *fmt, ...)
{
	char fault[240];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fault, sizeof(fault), fmt, ap);
	va_end(ap);
	find(arg, ARCHIVE_RULE_CDXJ, at, "%s; argiope archive index FILE "
	    "--output FILE.cdxj writes it again", fault);
}

/*
 * The CDXJ file of a finished file of ours.  It may be missing: replay does
 * not need it, and the ledger writes it after the file has got its name.
 */
static enum err
check_lines(struct checker *k, const struct archive_file *file,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct archive_file cdxj = *file;
	enum err err = OK;

	if (!k->ours || file->open)
		return OK;
	cdxj.path = arena_printf(&a, "%s.cdxj", file->moved_from != NULL ?
	    file->moved_from : file->path).p;
	k->file = &cdxj;          /* what the findings name */
	err = check_cdxj(file, cdxj.path, on_cdxj_fault, k, w);
	k->file = file;
	return err;
}

static enum err
on_file(void *arg, const struct archive_file *file, bool begins,
    struct why *w)
{
	struct checker *k = arg;

	k->file = file;
	if (begins) {
		k->counts->files++;
		k->counts->bytes += file->size;
		k->ours = k->options->strict;
		k->file_records = 0;
		k->waiting.n = 0;
		return OK;
	}
	for (size_t i = 0; i < k->waiting.n; i++)
		if (!k->ids.forgotten &&
		    !id_set_has(&k->ids, k->waiting.refs[i].hash))
			find(k, ARCHIVE_RULE_CONCURRENT,
			    k->waiting.refs[i].offset, "%s", "");
	if (k->file_records == 0 && !file->open)
		find(k, ARCHIVE_RULE_EMPTY, 0, "%s", "");
	return check_lines(k, file, w);
}

static void
checker_free(struct checker *k)
{
	id_set_free(&k->ids);
	id_set_free(&k->infos);
	MAP_EACH(c, &k->crawls, struct crawl_numbers)
		free(c);
	map_free(&k->crawls);
	digest_hasher_free(&k->c.block);
	digest_hasher_free(&k->c.payload);
	digest_hasher_free(&k->c.entity);
	buf_free(&k->c.head);
	buf_free(&k->c.unchunked);
	arena_free(&k->arena);
}

enum err
archive_check(const struct archive_catalogue *c,
    const struct archive_check_options *o, struct archive_check_counts *n,
    struct why *w)
{
	static const struct walk_events events = { on_file, on_record,
		on_record_end, on_damage, .io_ends = true };
	struct checker *k = mem_new(sizeof(*k));

	memset(n, 0, sizeof(*n));
	k->options = o;
	k->counts = n;
	k->ids.max = o->ids_max == 0 ? ARCHIVE_IDS_MAX_DEFAULT : o->ids_max;
	k->infos.max = 65536;
	k->c.block = digest_hasher_new();
	k->c.payload = digest_hasher_new();
	k->c.entity = digest_hasher_new();
	enum err err = walk_files(c, &events, k, w);
	n->ids_forgotten = k->ids.forgotten;
	checker_free(k);
	mem_free(&k);
	return err;
}
