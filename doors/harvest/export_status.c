#include "doors/harvest/export_status.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "doors/harvest/letter.h"
#include "engine/connector/connectors.h"

/* Names of services and hosts in sfm-ui's columns. */
#define NAME_BYTES_MAX 255u

static void
put_date(struct buf *b, const char *name, struct wall t)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	json_str(b, name, letter_date(t, &a));
}

/* A list of notes as the row's result has it. */
static void
put_list(struct buf *b, const char *name, yyjson_val *result)
{
	yyjson_val *list = yyjson_obj_get(result, name);
	size_t n;
	char *text = list == NULL ? NULL : yyjson_val_write(list, 0, &n);

	json_raw(b, name, text == NULL ? STR("[]") : (struct str){ text, n });
	free(text);
}

static void
put_notes(const struct export_status *s, struct buf *b)
{
	yyjson_doc *doc = yyjson_read(s->row->result.p, s->row->result.n, 0);
	yyjson_val *result = yyjson_doc_get_root(doc);

	put_list(b, "infos", result);
	put_list(b, "warnings", result);
	if (s->code == NULL) {
		put_list(b, "errors", result);
	} else {
		json_array(b, "errors");
		json_object(b, NULL);
		json_str(b, "code", str_of(s->code));
		json_str(b, "message", s->text);
		buf_put_text(b, "}]");
	}
	yyjson_doc_free(doc);
}

/* "Argiope Flickr Exporter". */
static void
put_service(struct str type, struct buf *b)
{
	const struct connector *c = connector_find(type);
	FREED(buf_free) struct buf name = BUF_INIT;

	buf_put_text(&name, "Argiope ");
	if (c != NULL && ascii_is_alpha(c->platform[0])) {
		buf_put_char(&name, (char)(c->platform[0] & ~0x20));
		buf_printf(&name, "%s ", c->platform + 1);
	}
	buf_put_text(&name, "Exporter");
	json_str(b, "service", str_cut(buf_str(&name), 0, NAME_BYTES_MAX));
}

void
export_status_put(const struct export_status *s, struct buf *b)
{
	const struct store_export *row = s->row;

	json_object(b, NULL);
	json_str(b, "id", row->id);
	json_str(b, "status", str_of(store_harvest_state_name(row->state)));
	put_notes(s, b);
	put_date(b, "date_started", row->started.us == 0 ? row->accepted :
	    row->started);
	if (store_harvest_is_over(row->state))
		put_date(b, "date_ended", row->ended);
	put_service(row->type, b);
	json_str(b, "host", str_cut(s->host, 0, NAME_BYTES_MAX));
	json_name(b, "instance");
	buf_printf(b, "\"%lld\"}", (long long)s->process);
}
