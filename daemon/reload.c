#include "daemon/reload.h"

#include "os/log.h"

/* The values of earlier readings: other threads may still use their texts. */
struct serve_reload_kept {
	struct serve_reload_kept *next;
	struct conf conf;
};

static void
log_setting(const char *event, const struct conf *c, enum conf_id id)
{
	const struct setting *row = conf_setting(id);
	struct log_text value;

	log_info(event, "setting=%s value=%s", row->name,
	    row->flags & CONF_SECRET ? "(secret)" :
	    log_quote(&value, conf_str(c, id)));
}

/* Copy into the configuration in force the settings that may change. */
static unsigned
take_over(struct conf *now, struct conf *next)
{
	unsigned changed = 0;

	for (size_t i = 0; i < conf_rows(); i++) {
		enum conf_id id = (enum conf_id)i;
		if (!conf_differs(now, next, id))
			continue;
		if (conf_setting(id)->flags & CONF_RESTART) {
			log_setting("serve.restart_needed", next, id);
			continue;
		}
		conf_swap(now, next, id);
		log_setting("serve.setting", now, id);
		changed++;
	}
	return changed;
}

static enum err
reload_certificates(struct serve_reload *r, struct why *w)
{
	enum err e = r->web == NULL ? OK : web_reload(r->web, w);

	return e == OK ? doors_reload(r->doors, w) : e;
}

void
serve_reload(struct serve_reload *r)
{
	struct serve_reload_kept *k = mem_new(sizeof(*k));
	struct why w = WHY_INIT;
	struct log_text quoted;
	unsigned changed = 0;

	conf_init(&k->conf);
	k->next = r->kept;
	r->kept = k;
	enum err e = cli_settle(r->cli, &k->conf, &w);
	/* A rotated log is left even when the configuration is wrong. */
	if (e == OK)
		e = cli_log(&k->conf, false, &w);
	else
		(void)!cli_log(&r->cli->conf, false, NULL);
	if (e == OK) {
		changed = take_over(&r->cli->conf, &k->conf);
		if (changed > 0 && r->engine != NULL)
			engine_reload(r->engine);
		e = reload_certificates(r, &w);
	}
	if (e == OK)
		log_info("serve.reload", "changed=%u", changed);
	else
		log_error("serve.reload_failed", "why=%s",
		    log_quote(&quoted, str_of(w.text)));
}

void
serve_reload_free(struct serve_reload *r)
{
	while (r->kept != NULL) {
		struct serve_reload_kept *k = r->kept;
		r->kept = k->next;
		conf_free(&k->conf);
		mem_free(&k);
	}
}
