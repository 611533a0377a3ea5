#include "cli/submit.h"

#include "base/json_writer.h"
#include "cli/daemon.h"

enum err
submit_check(const struct cli *c, struct why *w)
{
	/* Secrets, what the daemon decides, and what comes at the end. */
	static const char *const here[] = { "auth-file", "cookie-file",
	    "proxy-file", "warc-dir", "no-archive", "resume", "wacz" };

	for (size_t i = 0; i < ARRAY_LEN(here); i++)
		if (cli_count(c, here[i]) > 0)
			return why(w, ERR_USAGE, "--%s cannot be handed to a "
			    "daemon; leave it or --submit away", here[i]);
	/* The daemon's operator alone says what it runs. */
	for (enum conf_id id = CONF_HOOK_WARC_FINISHED;
	    id <= CONF_HOOK_TIMEOUT_S; id++)
		if (c->conf.values[id].origin == CONF_FROM_FLAG)
			return why(w, ERR_USAGE, "%s cannot be handed to a "
			    "daemon; it belongs into the daemon's own "
			    "configuration", conf_setting(id)->name);
	return OK;
}

enum err
submit_crawl(struct cli *c, const struct str *seeds, size_t seeds_n,
    const struct policy *p, struct why *w)
{
	const char *name = cli_text(c, "name", NULL);
	FREED(buf_free) struct buf b = BUF_INIT;
	yyjson_val *data;

	json_object(&b, NULL);
	json_strs(&b, "seeds", seeds, seeds_n);
	if (name != NULL)
		json_str(&b, "name", str_of(name));
	json_name(&b, "policy");
	policy_to_json(p, &b);
	buf_put_char(&b, '}');
	enum err e = daemon_command(c, "start_crawl", buf_str(&b), &data, w);
	if (e != OK)
		return e;
	const char *in_force = yyjson_get_str(yyjson_obj_get(data, "in_force"));
	if (cli_json(c))
		daemon_print(data);
	else
		printf("crawl %llu is handed to the daemon; in force: %s\n",
		    (unsigned long long)yyjson_get_uint(yyjson_obj_get(data,
		    "crawl_id")), in_force == NULL ? "" : in_force);
	return OK;
}
