#include "doors/harvest/status.h"

#include "base/json.h"
#include "base/json_writer.h"

/* sfm-ui's columns of numbers. */
#define COUNT_MAX ((uint64_t)INT32_MAX)
/* Names of services and hosts in sfm-ui's columns. */
#define NAME_BYTES_MAX 255u

static void
put_date(struct buf *b, const char *name, struct wall t)
{
	char iso[WALL_ISO_MAX];

	wall_to_iso(t, iso);
	json_name(b, name);
	buf_printf(b, "\"%.*s+00:00\"", (int)strlen(iso) - 1, iso);
}

/* ---- Notes ---------------------------------------------------------- */

static void
put_note(struct buf *b, struct str code, struct str text, struct str seed)
{
	json_object(b, NULL);
	json_str(b, "code", code);
	json_str(b, "message", text);
	if (seed.n > 0)
		json_str(b, "seed_id", seed);
	buf_put_char(b, '}');
}

/* Those of a level, as far as there is room; how many were left out. */
static uint64_t
put_notes(const struct totals *t, enum totals_level level, size_t n_max,
    struct buf *b)
{
	size_t before = b->n, n = 0;
	uint64_t left_out = 0;

	for (size_t i = 0; i < t->notes_n; i++) {
		const struct totals_note *note = &t->notes[i];
		if (note->level != level)
			continue;
		if (n == n_max || b->n - before > STATUS_PART_BYTES_MAX /
		    TOTALS_LEVELS) {
			left_out++;
			continue;
		}
		put_note(b, note->code, note->text, note->seed);
		n++;
	}
	return left_out;
}

/* The rest is counted in a warning, which takes a place of its list. */
static void
put_all_notes(const struct totals *t, struct buf *b)
{
	uint64_t dropped = t->dropped;

	json_array(b, "infos");
	dropped += put_notes(t, TOTALS_INFO, HARVEST_NOTES_MAX, b);
	buf_put_char(b, ']');
	json_array(b, "errors");
	dropped += put_notes(t, TOTALS_ERROR, HARVEST_NOTES_MAX, b);
	buf_put_char(b, ']');
	json_array(b, "warnings");
	dropped += put_notes(t, TOTALS_WARNING, HARVEST_NOTES_MAX - 1, b);
	if (dropped > 0) {
		FREED(buf_free) struct buf text = BUF_INIT;
		buf_printf(&text, "%llu more messages were left out",
		    (unsigned long long)dropped);
		put_note(b, STR("messages_dropped"), buf_str(&text),
		    STR_NONE);
	}
	buf_put_char(b, ']');
}

/* ---- Counts and names ----------------------------------------------- */

static bool
is_first_of_day(const struct totals *t, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (str_eq(t->counts[i].day, t->counts[at].day))
			return false;
	return true;
}

static void
put_stats(const struct totals *t, struct buf *b)
{
	json_object(b, "stats");
	for (size_t i = 0; i < t->counts_n; i++) {
		if (!is_first_of_day(t, i))
			continue;
		/* Its own digits, "2026-11-20". */
		json_comma(b);
		buf_printf(b, "\"%.*s\":{", STR_FMT(t->counts[i].day));
		for (size_t k = i; k < t->counts_n; k++) {
			const struct totals_count *c = &t->counts[k];
			if (!str_eq(c->day, t->counts[i].day))
				continue;
			json_item(b, c->label);
			buf_printf(b, ":%llu", (unsigned long long)MIN(c->n,
			    COUNT_MAX));
		}
		buf_put_char(b, '}');
	}
	buf_put_char(b, '}');
}

static void
put_names(const char *name, const struct totals_pairs *pairs, uint64_t *told,
    size_t *left, struct buf *b)
{
	size_t before = b->n;

	json_object(b, name);
	while (*told < pairs->n && *left > 0 && b->n - before <
	    STATUS_PART_BYTES_MAX / 2) {
		const struct totals_pair *p = &pairs->list[(*told)++];
		json_item(b, p->key);
		buf_put_char(b, ':');
		json_item(b, p->value);
		--*left;
	}
	buf_put_char(b, '}');
}

bool
status_has_names(const struct status *s)
{
	return s->tokens_told < s->totals->tokens.n ||
	    s->uids_told < s->totals->uids.n;
}

/* ---- Messages ------------------------------------------------------- */

static void
put_service(const char *platform, struct buf *b)
{
	FREED(buf_free) struct buf name = BUF_INIT;

	buf_put_text(&name, "Argiope ");
	if (platform != NULL && platform[0] >= 'a' && platform[0] <= 'z') {
		buf_put_char(&name, (char)(platform[0] - 'a' + 'A'));
		buf_printf(&name, "%s ", platform + 1);
	}
	buf_put_text(&name, "Harvester");
	json_str(b, "service", str_cut(buf_str(&name), 0, NAME_BYTES_MAX));
}

static const char *
word_of(const struct status *s)
{
	bool is_between = s->state == STORE_HARVEST_STOPPING ||
	    s->state == STORE_HARVEST_PAUSED;

	return store_harvest_state_name(s->spec_words && is_between ?
	    STORE_HARVEST_RUNNING : s->state);
}

void
status_put(struct status *s, struct buf *b)
{
	size_t left = STATUS_NAMES_MAX;

	json_object(b, NULL);
	json_str(b, "id", s->id);
	json_str(b, "status", str_of(word_of(s)));
	put_date(b, "date_started", s->started);
	if (store_harvest_is_over(s->state))
		put_date(b, "date_ended", s->ended);
	put_all_notes(s->totals, b);
	put_stats(s->totals, b);
	put_names("token_updates", &s->totals->tokens, &s->tokens_told, &left,
	    b);
	put_names("uids", &s->totals->uids, &s->uids_told, &left, b);
	json_object(b, "warcs");
	json_u64(b, "count", s->warcs);
	json_u64(b, "bytes", s->warc_bytes);
	buf_put_char(b, '}');
	put_service(s->platform, b);
	json_str(b, "host", str_cut(s->host, 0, NAME_BYTES_MAX));
	json_name(b, "instance");
	buf_printf(b, "\"%lld\"}", (long long)s->process);
}

/* {"id": ...} of the start message; an empty object where there is no id. */
static void
put_owner(yyjson_val *message, const char *name, struct buf *b)
{
	yyjson_val *v = yyjson_obj_get(message, name);
	struct str id = json_text(yyjson_obj_get(v, "id"));

	json_object(b, name);
	if (id.n > 0)
		json_str(b, "id", str_cut(id, 0, NAME_BYTES_MAX));
	buf_put_char(b, '}');
}

void
status_put_warc(const struct store_harvest_warc *f, struct str path,
    const struct store_harvest *h, struct buf *b)
{
	yyjson_doc *doc = yyjson_read(h->message.p, h->message.n,
	    YYJSON_READ_NUMBER_AS_RAW);
	yyjson_val *message = yyjson_doc_get_root(doc);

	json_object(b, NULL);
	json_object(b, "warc");
	json_str(b, "id", f->warc_id);
	json_str(b, "path", path);
	json_str(b, "sha1", f->sha1);
	json_u64(b, "bytes", f->bytes);
	put_date(b, "date_created", f->created);
	buf_put_char(b, '}');
	put_owner(message, "collection_set", b);
	put_owner(message, "collection", b);
	json_object(b, "harvest");
	json_str(b, "id", h->id);
	json_str(b, "type", h->type);
	buf_put_text(b, "}}");
	yyjson_doc_free(doc);
}
