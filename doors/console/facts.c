#include "doors/console/console.h"

#include "base/json_writer.h"
#include "engine/policy/policy.h"
#include "os/log.h"

void
console_answer(struct web_request *r, int status, struct buf *json)
{
	web_answer(r, status, "application/json", buf_str(json));
	explicit_bzero(json->p, json->n);
	buf_free(json);
}

/* --- the configuration --------------------------------------------------- */

static const char *const origins[] = { "default", "file", "environment",
	"flag" };

static void
put_setting(struct buf *b, const struct conf *conf, enum conf_id id)
{
	const struct setting *row = conf_setting(id);
	enum conf_origin from = conf->values[id].origin;
	bool secret = (row->flags & CONF_SECRET) != 0;
	FREED(buf_free) struct buf accepts = BUF_INIT;

	conf_accepts(row, &accepts);
	json_object(b, NULL);
	json_str(b, "name", str_of(row->name));
	json_str(b, "value", secret && conf_str(conf, id).n > 0 ?
	    STR("(secret)") : conf_str(conf, id));
	json_str(b, "origin", str_of(origins[from]));
	json_str(b, "place", str_of(conf_place(conf, id)));
	json_str(b, "default", str_of(row->text));
	json_str(b, "help", str_of(row->help));
	json_str(b, "accepts", buf_str(&accepts));
	buf_put_char(b, '}');
}

void
console_get_config(struct web_request *r)
{
	struct console *c = web_arg(r);
	struct buf b = BUF_INIT;

	buf_put_text(&b, "{\"settings\":[");
	for (size_t i = 0; i < conf_rows(); i++) {
		if (conf_absent_door((enum conf_id)i) != NULL)
			continue;
		put_setting(&b, c->host->conf, (enum conf_id)i);
	}
	buf_put_text(&b, "]}\n");
	console_answer(r, 200, &b);
}

/* --- the doors ----------------------------------------------------------- */

/* The newest warning or error of a module in the kept part of the log. */
static void
put_last_error(struct buf *b, struct str module)
{
	struct log_kept k, last = { .number = 0 };

	for (uint64_t n = 0; log_after(n, &k); n = k.number) {
		struct str event = str_of(k.event);
		if (k.level >= LOG_WARN && str_starts(event, module) &&
		    event.n > module.n && event.p[module.n] == '.')
			last = k;
	}
	FREED(buf_free) struct buf text = BUF_INIT;
	if (last.number > 0)
		buf_printf(&text, "%s %s", last.event, last.text);
	json_str(b, "last_error", buf_str(&text));
	if (last.number > 0)
		json_decimals(b, "last_error_at", (double)last.at.us / 1e6, 3);
}

static void
put_door(struct buf *b, const struct door_host *host, size_t i,
    const struct door_status *d)
{
	json_object(b, NULL);
	json_str(b, "name", str_of(d->name));
	json_str(b, "address", str_of(d->address));
	json_str(b, "state", str_of(d->state));
	json_bool(b, "tls", d->tls);
	if (d->counted)
		json_u64(b, "requests", d->requests);
	else
		json_null(b, "requests");
	json_str(b, "note", str_of(d->note));
	put_last_error(b, str_of(d->module));
	json_object(b, "details");
	doors_details(host, i, b);
	buf_put_char(b, '}');
	buf_put_char(b, '}');
}

void
console_get_doors(struct web_request *r)
{
	struct console *c = web_arg(r);
	struct door_status d;
	struct buf b = BUF_INIT;

	buf_put_text(&b, "{\"doors\":[");
	for (size_t i = 0; doors_nth(i) != NULL; i++)
		if (doors_status(c->host, i, &d))
			put_door(&b, c->host, i, &d);
	buf_put_text(&b, "]}\n");
	console_answer(r, 200, &b);
}

/* --- the log ------------------------------------------------------------- */

static void
put_line(struct buf *b, const struct log_kept *k)
{
	json_object(b, NULL);
	json_u64(b, "number", k->number);
	json_decimals(b, "at", (double)k->at.us / 1e6, 6);
	json_str(b, "level", str_of(log_level_name(k->level)));
	json_str(b, "event", str_of(k->event));
	json_str(b, "text", str_of(k->text));
	buf_put_char(b, '}');
}

void
console_get_log(struct web_request *r)
{
	struct str after = STR("0");
	uint64_t number;
	struct buf b = BUF_INIT;
	struct log_kept k;

	(void)!web_param(r, "after", &after);
	if (!str_to_u64(after, &number)) {
		web_fail(r, 400, "bad_args", "after: a number is wanted");
		return;
	}
	/* A number above the newest is from an earlier process. */
	if (number > 0 && !log_after(number - 1, &k))
		number = 0;
	buf_put_text(&b, "{\"lines\":[");
	for (; log_after(number, &k); number = k.number)
		put_line(&b, &k);
	buf_put_char(&b, ']');
	json_u64(&b, "last", number);
	buf_put_text(&b, "}\n");
	console_answer(r, 200, &b);
}

/* --- the fields of a policy ---------------------------------------------- */

static const char *const kinds[] = {
	[POLICY_NUMBER] = "NUMBER", [POLICY_INTEGER] = "INTEGER",
	[POLICY_BOOL] = "BOOL", [POLICY_TEXT] = "TEXT",
	[POLICY_CHOICE] = "CHOICE", [POLICY_URL_RULES] = "URL_RULES",
	[POLICY_MIME_RULES] = "MIME_RULES", [POLICY_STRINGS] = "STRINGS",
	[POLICY_HEADERS] = "HEADERS",
};

static void
put_field(struct buf *b, const struct policy_field *f)
{
	json_object(b, NULL);
	json_str(b, "name", str_of(f->name));
	json_str(b, "kind", str_of(kinds[f->kind]));
	json_str(b, "unit", str_of(f->unit));
	json_str(b, "help", str_of(f->help));
	json_bool(b, "nullable", f->nullable);
	json_bool(b, "extra", f->extra);
	buf_printf(b, ",\"min\":%.17g,\"max\":%.17g", f->min, f->max);
	if (f->kind == POLICY_CHOICE) {
		const char *const *word = policy_field_words(f);
		json_array(b, "words");
		for (size_t i = 0; word[i] != NULL; i++)
			json_item(b, str_of(word[i]));
		buf_put_char(b, ']');
	}
	buf_put_char(b, '}');
}

void
console_get_fields(struct web_request *r)
{
	struct buf b = BUF_INIT;

	buf_put_text(&b, "{\"fields\":[");
	for (size_t i = 0; i < policy_fields_n; i++)
		put_field(&b, &policy_fields[i]);
	buf_put_text(&b, "]}\n");
	console_answer(r, 200, &b);
}
