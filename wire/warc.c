#include "wire/warc.h"

#include "base/hash.h"

#define EMPTY STR("")
#define RECORD_END STR("\r\n\r\n")

struct warc_writer {
	struct gzip_writer *gzip;
	struct digest_hasher *hasher;
	const struct redactor *redactor;
	enum digest_kind digest;
	/* Record ids: a keyed hash of a counter under a random seed. */
	uint64_t id_keys[2], id_block[3];
	/* The second that was written last, as text up to the point. */
	int64_t second;
	char second_text[WALL_ISO_MAX];
	/* Reused from record to record. */
	struct buf head, parts;
	struct buf uri, requested, request, response, names, edge;
};

static const char *const type_names[] = {
	WARC_TYPES(TABLE_SECOND)
};

const char *
warc_type_name(enum warc_type t)
{
	return type_names[t];
}

enum warc_type
warc_type_of(struct str s)
{
	for (size_t i = 1; i < ARRAY_LEN(type_names); i++)
		if (str_eq_nocase(s, str_of(type_names[i])))
			return (enum warc_type)i;
	return WARC_UNKNOWN;
}

struct warc_writer *
warc_writer_new(const struct warc_options *o)
{
	struct warc_writer *w = mem_new(sizeof(*w));

	CHECK(o->random != NULL);
	CHECK(o->digest == DIGEST_SHA1 || o->digest == DIGEST_SHA256);
	w->gzip = gzip_writer_new(o->level);
	w->hasher = digest_hasher_new();
	w->redactor = o->redactor;
	w->digest = o->digest;
	w->second = INT64_MIN;
	o->random(w->id_keys, sizeof(w->id_keys));
	o->random(w->id_block, sizeof(w->id_block));
	return w;
}

void
warc_writer_free(struct warc_writer **wp)
{
	struct warc_writer *w = *wp;

	if (w == NULL)
		return;
	gzip_writer_free(&w->gzip);
	digest_hasher_free(&w->hasher);
	buf_free(&w->head);
	buf_free(&w->parts);
	buf_free(&w->uri);
	buf_free(&w->requested);
	buf_free(&w->request);
	buf_free(&w->response);
	buf_free(&w->names);
	buf_free(&w->edge);
	mem_free(wp);
}

void
warc_writer_redact(struct warc_writer *w, const struct redactor *r)
{
	w->redactor = r;
}

/* RFC 9562 §5.4: version 4, filled from the keyed counter. */
void
warc_new_id(struct warc_writer *w, char out[static WARC_ID_MAX])
{
	static const char hex[] = "0123456789abcdef";
	uint64_t half[2];
	uint8_t bytes[16];

	w->id_block[0]++;
	struct str block = { (const char *)w->id_block, sizeof(w->id_block) };
	half[0] = hash_bytes(block, w->id_keys[0]);
	half[1] = hash_bytes(block, w->id_keys[1]);
	memcpy(bytes, half, sizeof(bytes));
	bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x40);
	bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*out++ = '-';
		*out++ = hex[bytes[i] >> 4];
		*out++ = hex[bytes[i] & 15];
	}
	*out = '\0';
}

/* Percent-encode what would end the field's line or split it. */
static void
put_uri(struct buf *b, struct str uri)
{
	for (size_t i = 0; i < uri.n; i++) {
		unsigned char c = (unsigned char)uri.p[i];
		if (c <= ' ' || c == 0x7f) {
			buf_put_str(b, str_cut(uri, 0, i));
			buf_printf(b, "%%%02X", c);
			uri = str_from(uri, i + 1);
			i = (size_t)-1;
		}
	}
	buf_put_str(b, uri);
}

static void
put_text(struct buf *b, struct str text)
{
	char *at = buf_grow(b, text.n);

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		at[i] = c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
	}
}

static void
put_date(struct warc_writer *w, struct wall t)
{
	int64_t us = t.us % US_PER_S;
	int64_t second = t.us / US_PER_S;

	if (us < 0) {
		us += US_PER_S;
		second--;
	}
	if (second != w->second) {
		wall_to_iso(t, w->second_text);
		w->second = second;
	}
	buf_put(&w->head, w->second_text, 19);
	buf_put_char(&w->head, '.');
	buf_put_decimal(&w->head, (uint64_t)us, 6);
	buf_put_char(&w->head, 'Z');
}

static void
put_digest(struct buf *b, struct str name, const struct digest *d)
{
	char text[DIGEST_TEXT_MAX];

	if (d->kind == DIGEST_NONE)
		return;
	size_t n = digest_to_text(d, text);
	buf_put_str(b, name);
	buf_put(b, text, n);
	buf_put_str(b, STR("\r\n"));
}

static void
put_id(struct buf *b, struct str name, struct str id)
{
	if (id.n == 0)
		return;
	buf_put_str(b, name);
	buf_put_str(b, STR("<urn:uuid:"));
	put_text(b, id);
	buf_put_str(b, STR(">\r\n"));
}

static void
put_field(struct buf *b, struct str name, struct str value)
{
	if (value.n == 0)
		return;
	buf_put_str(b, name);
	put_text(b, value);
	buf_put_str(b, STR("\r\n"));
}

static void
put_uri_field(struct buf *b, struct str name, struct str uri)
{
	if (uri.n == 0)
		return;
	buf_put_str(b, name);
	put_uri(b, uri);
	buf_put_str(b, STR("\r\n"));
}

void
warc_capture_put(const struct warc_capture *c, struct buf *b)
{
	const uint64_t numbers[] = { c->crawl, c->hop, c->depth,
		(uint64_t)MAX(c->start.us, 0),
		(uint64_t)MAX(c->duration_us, 0) };

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		buf_put_decimal(b, numbers[i], 1);
		buf_put_char(b, ' ');
	}
	put_uri(b, c->requested_url);
}

bool
warc_capture_parse(struct str s, struct warc_capture *c)
{
	uint64_t v[5];
	struct str part;

	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		if (!str_split(&s, ' ', &part) || !str_to_u64(part, &v[i]))
			return false;
	if (v[0] > UINT32_MAX || v[1] > UINT32_MAX || v[2] > UINT32_MAX ||
	    v[3] > INT64_MAX || v[4] > INT64_MAX || s.n == 0 ||
	    str_find_char(s, ' ') < s.n)
		return false;
	*c = (struct warc_capture){ (uint32_t)v[0], (uint32_t)v[1],
		(uint32_t)v[2], { (int64_t)v[3] }, (int64_t)v[4], s };
	return true;
}

/* The block of a record: an HTTP head or nothing, then pieces. */
struct block {
	struct str first;
	const struct str *rest;
	size_t rest_n;
};

static uint64_t
block_length(const struct block *b)
{
	uint64_t n = b->first.n;

	for (size_t i = 0; i < b->rest_n; i++)
		n += b->rest[i].n;
	return n;
}

static void
block_digest(struct warc_writer *w, const struct block *b, struct digest *out)
{
	struct digest same;

	/* For a short block OpenSSL's set-up costs more than the digest. */
	if (b->rest_n == 0 && digest_pair(w->hasher, w->digest, EMPTY,
	    b->first, out, &same))
		return;
	digest_start(w->hasher, w->digest);
	digest_add(w->hasher, b->first);
	for (size_t i = 0; i < b->rest_n; i++)
		digest_add(w->hasher, b->rest[i]);
	digest_end(w->hasher, out);
}

void
warc_digest_payload(struct warc_writer *w, const struct str *pieces, size_t n,
    struct digest *out)
{
	block_digest(w, &(struct block){ EMPTY, pieces, n }, out);
}

void
warc_digest_response(struct warc_writer *w, struct str head, struct str body,
    struct digest *block, struct digest *payload)
{
	if (digest_pair(w->hasher, w->digest, head, body, block, payload))
		return;
	*block = (struct digest){ .kind = DIGEST_NONE };
	warc_digest_payload(w, &body, 1, payload);
}

static bool
is_known(const struct digest *d)
{
	return d != NULL && d->kind != DIGEST_NONE;
}

static void
head_start(struct warc_writer *w, struct warc_member *m, struct wall date)
{
	buf_clear(&w->head);
	buf_put_str(&w->head, STR("WARC/1.1\r\nWARC-Type: "));
	buf_put_text(&w->head, warc_type_name(m->type));
	put_id(&w->head, STR("\r\nWARC-Record-ID: "), str_of(m->id));
	buf_put_str(&w->head, STR("WARC-Date: "));
	put_date(w, date);
	buf_put_str(&w->head, STR("\r\n"));
}

static void
head_end(struct warc_writer *w, struct warc_member *m, struct str content_type,
    const struct block *b)
{
	put_digest(&w->head, STR("WARC-Payload-Digest: "), &m->payload);
	put_digest(&w->head, STR("WARC-Block-Digest: "), &m->block);
	put_field(&w->head, STR("Content-Type: "), content_type);
	buf_put_str(&w->head, STR("Content-Length: "));
	buf_put_decimal(&w->head, block_length(b), 1);
	buf_put_str(&w->head, RECORD_END);
	m->head_n = (uint32_t)w->head.n;
	m->body_at = (uint32_t)(w->head.n + b->first.n);
}

/* Compress what head_end() finished. */
static enum err
put_member(struct warc_writer *w, const struct block *b, struct buf *out,
    struct warc_member *m, struct why *why_)
{
	struct gzip_lengths l;
	struct str end = RECORD_END, head = buf_str(&w->head);

	buf_clear(&w->parts);
	buf_put(&w->parts, &head, sizeof(head));
	buf_put(&w->parts, &b->first, sizeof(b->first));
	buf_put(&w->parts, b->rest, b->rest_n * sizeof(*b->rest));
	buf_put(&w->parts, &end, sizeof(end));
	m->at = out->n;
	enum err err = gzip_put(w->gzip,
	    (const struct str *)(void *)w->parts.p, b->rest_n + 3, out, &l,
	    why_);
	if (err == OK) {
		m->clen = l.clen;
		m->ulen = l.ulen;
	}
	return err;
}

/* An exchange after redaction: what is really written. */
struct cleaned {
	struct str uri, requested, request, response_head;
	bool secret_in_response;
};

/* In a piece, or over the edge between two. */
static bool
finds_secret(struct warc_writer *w, const struct str *pieces, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (redact_finds(w->redactor, pieces[i]))
			return true;
		if (i == 0 || !redact_has_values(w->redactor))
			continue;
		struct str before = pieces[i - 1];
		size_t edge = MIN(before.n, 2 * REDACT_VALUE_BYTES_MAX);
		buf_clear(&w->edge);
		buf_put_str(&w->edge, str_from(before, before.n - edge));
		buf_put_str(&w->edge, str_cut(pieces[i], 0,
		    2 * REDACT_VALUE_BYTES_MAX));
		if (redact_finds(w->redactor, buf_str(&w->edge)))
			return true;
	}
	return false;
}

/* The URI without secrets, made in `to`; they are named in `names`. */
static struct str
clean_uri(struct warc_writer *w, struct str uri, struct buf *to,
    struct buf *names)
{
	buf_clear(to);
	return w->redactor != NULL && redact_text(w->redactor, uri, to, names) ?
	    buf_str(to) : uri;
}

static void
clean(struct warc_writer *w, const struct warc_exchange *x, struct cleaned *c)
{
	const struct redactor *r = w->redactor;
	struct str requested = x->capture == NULL ? STR_NONE :
	    x->capture->requested_url;

	*c = (struct cleaned){ x->target_uri, requested, x->request,
		x->response_head, false };
	buf_clear(&w->names);
	if (r == NULL)
		return;
	buf_clear(&w->request);
	buf_clear(&w->response);
	c->uri = clean_uri(w, x->target_uri, &w->uri, &w->names);
	c->requested = clean_uri(w, requested, &w->requested, &w->names);
	if (redact_request(r, x->request, &w->request, &w->names))
		c->request = buf_str(&w->request);
	if (redact_response_head(r, x->response_head, &w->response,
	    &w->names))
		c->response_head = buf_str(&w->response);
	c->secret_in_response = finds_secret(w, x->body, x->body_n);
}

/* The fields that both records of an exchange share. */
static void
put_exchange_fields(struct warc_writer *w, const struct warc_exchange *x,
    const struct cleaned *c)
{
	put_uri_field(&w->head, STR("WARC-Target-URI: "), c->uri);
	put_field(&w->head, STR("WARC-IP-Address: "), x->ip);
	put_id(&w->head, STR("WARC-Warcinfo-ID: "), x->warcinfo_id);
	put_field(&w->head, STR("Argiope-Redacted: "), buf_str(&w->names));
}

/* A URI without secrets; the record does not name what was cut out. */
static void
put_clean_uri_field(struct warc_writer *w, struct str name, struct str uri)
{
	FREED(buf_free) struct buf clean = BUF_INIT, names = BUF_INIT;

	put_uri_field(&w->head, name, clean_uri(w, uri, &clean, &names));
}

static void
put_revisit_fields(struct warc_writer *w, const struct warc_revisit *r)
{
	put_field(&w->head, STR("WARC-Profile: "), r->profile);
	put_id(&w->head, STR("WARC-Refers-To: "), r->refers_to);
	if (r->refers_to_uri.n == 0)
		return;
	put_clean_uri_field(w, STR("WARC-Refers-To-Target-URI: "),
	    r->refers_to_uri);
	buf_put_str(&w->head, STR("WARC-Refers-To-Date: "));
	put_date(w, r->refers_to_date);
	buf_put_str(&w->head, STR("\r\n"));
}

static void
put_capture_field(struct warc_writer *w, const struct warc_capture *capture,
    struct str requested)
{
	struct warc_capture c;

	if (capture == NULL)
		return;
	c = *capture;
	c.requested_url = requested;
	buf_put_str(&w->head, STR("Argiope-Capture: "));
	warc_capture_put(&c, &w->head);
	buf_put_str(&w->head, STR("\r\n"));
}

static enum err
put_response(struct warc_writer *w, const struct warc_exchange *x,
    const struct cleaned *c, struct buf *out,
    struct warc_member *m, struct why *why_)
{
	struct block b = { c->response_head, x->body, x->body_n };

	memset(m, 0, sizeof(*m));
	m->type = x->revisit == NULL ? WARC_RESPONSE : WARC_REVISIT;
	m->uri = c->uri;
	m->redacted = w->names.n > 0;
	m->head_redacted = c->response_head.p != x->response_head.p;
	m->secret_in_response = c->secret_in_response;
	warc_new_id(w, m->id);
	if (x->revisit != NULL) {
		b.rest_n = 0;
		if (x->revisit->payload != NULL)
			m->payload = *x->revisit->payload;
	} else if (is_known(x->payload)) {
		m->payload = *x->payload;
	} else {
		warc_digest_payload(w, x->body, x->body_n, &m->payload);
	}
	if (is_known(x->block) && x->revisit == NULL && !m->head_redacted)
		m->block = *x->block;
	else
		block_digest(w, &b, &m->block);
	head_start(w, m, x->date);
	put_exchange_fields(w, x, c);
	if (x->revisit != NULL)
		put_revisit_fields(w, x->revisit);
	put_field(&w->head, STR("WARC-Truncated: "), x->truncated);
	put_field(&w->head, STR("Argiope-Outcome: "), x->outcome);
	put_capture_field(w, x->capture, c->requested);
	/* The page on which the URL was found first. */
	put_clean_uri_field(w, STR("Argiope-Via: "), x->via);
	head_end(w, m, STR("application/http;msgtype=response"), &b);
	return put_member(w, &b, out, m, why_);
}

static enum err
put_request(struct warc_writer *w, const struct warc_exchange *x,
    const struct cleaned *c, const char *response_id, struct buf *out,
    struct warc_member *m, struct why *why_)
{
	struct block b = { c->request, NULL, 0 };

	memset(m, 0, sizeof(*m));
	if (x->request.n == 0)
		return OK;
	m->type = WARC_REQUEST;
	m->uri = c->uri;
	m->redacted = w->names.n > 0;
	warc_new_id(w, m->id);
	block_digest(w, &b, &m->block);
	head_start(w, m, x->date);
	put_id(&w->head, STR("WARC-Concurrent-To: "), str_of(response_id));
	put_exchange_fields(w, x, c);
	head_end(w, m, STR("application/http;msgtype=request"), &b);
	return put_member(w, &b, out, m, why_);
}

enum err
warc_put_exchange(struct warc_writer *w, const struct warc_exchange *x,
    struct buf *out,
    struct warc_member members[2], struct why *why_)
{
	size_t start = out->n;
	struct cleaned c;

	clean(w, x, &c);
	enum err err = put_response(w, x, &c, out, &members[0], why_);
	if (err == OK)
		err = put_request(w, x, &c, members[0].id, out, &members[1],
		    why_);
	if (err != OK)
		out->n = start;
	return err;
}

enum err
warc_put_document(struct warc_writer *w, const struct warc_document *r,
    struct buf *out, struct warc_member *m, struct why *why_)
{
	struct block b = { EMPTY, r->block, r->block_n };
	struct str requested = r->capture == NULL ? STR_NONE :
	    r->capture->requested_url;
	size_t start = out->n;

	memset(m, 0, sizeof(*m));
	m->type = r->type;
	if (r->id.n == WARC_ID_TEXT) {
		memcpy(m->id, r->id.p, WARC_ID_TEXT);
		m->id[WARC_ID_TEXT] = '\0';
	} else {
		warc_new_id(w, m->id);
	}
	buf_clear(&w->names);
	m->uri = clean_uri(w, r->target_uri, &w->uri, &w->names);
	requested = clean_uri(w, requested, &w->requested, &w->names);
	m->redacted = w->names.n > 0;
	if (r->type == WARC_RESOURCE)
		warc_digest_payload(w, r->block, r->block_n, &m->payload);
	block_digest(w, &b, &m->block);
	head_start(w, m, r->date);
	put_field(&w->head, STR("WARC-Filename: "), r->filename);
	put_uri_field(&w->head, STR("WARC-Target-URI: "), m->uri);
	put_field(&w->head, STR("WARC-IP-Address: "), r->ip);
	put_id(&w->head, STR("WARC-Concurrent-To: "), r->concurrent_to);
	put_id(&w->head, STR("WARC-Warcinfo-ID: "), r->warcinfo_id);
	put_field(&w->head, STR("WARC-Truncated: "), r->truncated);
	put_capture_field(w, r->capture, requested);
	put_field(&w->head, STR("Argiope-Checkpoint: "), r->checkpoint);
	put_field(&w->head, STR("Argiope-Redacted: "), buf_str(&w->names));
	head_end(w, m, r->content_type, &b);
	enum err err = put_member(w, &b, out, m, why_);
	if (err != OK)
		out->n = start;
	return err;
}

static void
put_info_text(const struct warc_info *i, struct buf *b)
{
	put_field(b, STR("software: "), i->software);
	buf_put_str(b, STR("format: WARC File Format 1.1\r\n"
	    "conformsTo: http://iipc.github.io/warc-specifications/"
	    "specifications/warc-format/warc-1.1/\r\n"));
	put_field(b, STR("hostname: "), i->hostname);
	put_field(b, STR("operator: "), i->operator_name);
	put_field(b, STR("isPartOf: "), i->is_part_of);
	put_field(b, STR("robots: "), i->robots);
	put_field(b, STR("http-header-user-agent: "), i->user_agent);
	put_field(b, STR("argiope-harvest-id: "), i->harvest_id);
	put_field(b, STR("argiope-harvest-type: "), i->harvest_type);
	/* Numbers of crawls begin at 0: the kind says that there is one. */
	if (i->crawl_kind.n != 0)
		buf_printf(b, "argiope-crawl-id: %u\r\n", i->crawl);
	put_field(b, STR("argiope-crawl-name: "), i->crawl_name);
	put_field(b, STR("argiope-crawl-kind: "), i->crawl_kind);
	for (size_t k = 0; k < i->seeds_n; k++)
		put_uri_field(b, STR("argiope-seed: "), i->seeds[k]);
	put_field(b, STR("argiope-policy: "), i->policy);
	if (i->redaction.n > 0)
		put_field(b, STR("argiope-redaction: "), i->redaction);
	else
		buf_put_str(b, STR("argiope-redaction: rules "
		    REDACT_RULES_VERSION "; headers authorization, "
		    "proxy-authorization, cookie, x-api-key; "
		    "credential values\r\n"));
}

enum err
warc_put_info(struct warc_writer *w, const struct warc_info *i,
    struct buf *out, struct warc_member *m, struct why *why_)
{
	FREED(buf_free) struct buf text = BUF_INIT, clean_text = BUF_INIT;
	FREED(buf_free) struct buf names = BUF_INIT;

	put_info_text(i, &text);
	struct str block = buf_str(&text);
	/* Seeds and the policy may hold a credential too. */
	if (w->redactor != NULL &&
	    redact_text(w->redactor, block, &clean_text, &names))
		block = buf_str(&clean_text);
	struct warc_document r = {
		.type = WARC_WARCINFO, .id = i->id, .date = i->date,
		.filename = i->filename, .block = &block, .block_n = 1,
		.content_type = STR("application/warc-fields"),
	};
	return warc_put_document(w, &r, out, m, why_);
}
