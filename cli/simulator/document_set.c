#include "cli/simulator/document_set.h"

#include "base/map.h"

struct document {
	/* In `known`: "i" and id, "h" and the document's hash, "I" and the
	 * id's hash. */
	struct str key;
	struct buf json;         /* empty when only hashes are kept */
};

struct upload {
	struct str key;
	struct digest content;
	struct upload_answer answer;
	struct buf bytes;        /* of key and answer */
};

struct document_set {
	struct document_limits limits;
	size_t *bytes;
	struct document **documents;     /* in the order of arrival */
	size_t n, cap;
	struct map known, uploads;
};

struct document_set *
document_set_new(struct document_limits limits, size_t *bytes)
{
	struct document_set *s = mem_new(sizeof(*s));

	s->limits = limits;
	s->bytes = bytes;
	return s;
}

void
document_set_free(struct document_set **sp)
{
	struct document_set *s = *sp;

	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n; i++) {
		struct document *d = s->documents[i];
		*s->bytes -= d->json.n + d->key.n;
		buf_free(&d->json);
		free((void *)(uintptr_t)d->key.p);
		mem_free(&d);
	}
	MAP_EACH(u, &s->uploads, struct upload) {
		buf_free(&u->bytes);
		free(u);
	}
	map_free(&s->known);
	map_free(&s->uploads);
	mem_free(&s->documents);
	mem_free(sp);
}

/* ---- Documents ------------------------------------------------------ */

static void
put_hash(struct buf *out, char kind, struct str text)
{
	struct digest d;

	digest_of(DIGEST_SHA256, text, &d);
	buf_put_char(out, kind);
	buf_put(out, d.bytes, digest_size(d.kind));
}

static void
write_json(yyjson_val *document, struct buf *out)
{
	size_t n;
	char *text = yyjson_val_write(document, 0, &n);

	CHECK(text != NULL);
	buf_put(out, text, n);
	free(text);
}

/* Its key, and its JSON if that is kept. */
static void
describe_document(const struct document_set *s, struct str id,
    yyjson_val *document, struct buf *key, struct buf *json)
{
	bool has_id = id.p != NULL;

	if (!has_id || !s->limits.hashes_only)
		write_json(document, json);
	if (!has_id) {
		put_hash(key, 'h', buf_str(json));
	} else if (s->limits.hashes_only) {
		put_hash(key, 'I', id);
	} else {
		buf_put_char(key, 'i');
		buf_put_str(key, id);
	}
	if (s->limits.hashes_only)
		buf_free(json);
}

/* Takes `key` and `json` over. */
static void
append(struct document_set *s, struct buf *key, struct buf *json)
{
	struct document *d = mem_new(sizeof(*d));

	s->documents = mem_room(s->documents, s->n, &s->cap, 64,
	    sizeof(*s->documents));
	s->documents[s->n++] = d;
	d->key = buf_str(key);
	d->json = *json;
	*key = *json = BUF_INIT;
	*s->bytes += d->key.n + d->json.n;
	map_put(&s->known, d->key, d);
}

enum err
document_set_put(struct document_set *s, struct str id, yyjson_val *document,
    bool *duplicate, struct why *w)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	FREED(buf_free) struct buf json = BUF_INIT;
	size_t before;

	describe_document(s, id, document, &key, &json);
	struct document *d = map_get(&s->known, buf_str(&key));
	before = d == NULL ? 0 : d->json.n + d->key.n;
	*duplicate = d != NULL;
	if (*s->bytes - before + key.n + json.n > s->limits.bytes_max)
		return why(w, ERR_FULL, "output_bytes_max: all tasks' "
		    "documents have more than %zu bytes", s->limits.bytes_max);
	if (d == NULL && s->n == s->limits.documents_max)
		return why(w, ERR_FULL, "documents_max: the task has %zu "
		    "documents", s->limits.documents_max);
	if (d == NULL) {
		append(s, &key, &json);
		return OK;
	}
	*s->bytes += json.n - d->json.n;
	buf_free(&d->json);
	d->json = json;
	json = BUF_INIT;
	return OK;
}

size_t
document_set_count(const struct document_set *s)
{
	return s->n;
}

void
document_set_write(const struct document_set *s, struct buf *out)
{
	if (s->limits.hashes_only)
		return;
	for (size_t i = 0; i < s->n; i++) {
		if (i > 0)
			buf_put_char(out, '\n');
		buf_put_str(out, buf_str(&s->documents[i]->json));
	}
}

/* ---- Uploads -------------------------------------------------------- */

bool
document_set_upload(const struct document_set *s, struct str key,
    struct str content, bool *same, struct upload_answer *out)
{
	const struct upload *u = map_get(&s->uploads, key);
	struct digest d;

	if (u == NULL)
		return false;
	digest_of(DIGEST_SHA256, content, &d);
	*same = digest_eq(&d, &u->content);
	*out = u->answer;
	return true;
}

bool
document_set_is_full(const struct document_set *s)
{
	return s->uploads.n >= s->limits.uploads_max;
}

enum err
document_set_note_upload(struct document_set *s, struct str key,
    struct str content, struct upload_answer answer, struct why *w)
{
	struct upload *u;

	if (document_set_is_full(s))
		return why(w, ERR_FULL, "uploads_max: the task has %zu uploads",
		    s->limits.uploads_max);
	u = mem_new(sizeof(*u));
	buf_put_str(&u->bytes, key);
	buf_put_str(&u->bytes, answer.json);
	u->key = str_cut(buf_str(&u->bytes), 0, key.n);
	u->answer = (struct upload_answer){ answer.status,
	    str_from(buf_str(&u->bytes), key.n) };
	digest_of(DIGEST_SHA256, content, &u->content);
	CHECK(map_put(&s->uploads, u->key, u) == NULL);
	return OK;
}
