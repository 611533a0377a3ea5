#include "doors/external/settings.h"

#include "base/ip.h"
#include "engine/external/external_connector.h"
#include "engine/parser/url.h"

const struct setting external_settings_rows[EXTERNAL_SETTINGS] = {
	[EXTERNAL_PUBLIC_URL] = { "external.public_url", CONF_STRING, "", 0,
	    1000, "URL", CONF_RESTART, "How back ends reach the HTTP port, "
	    "https://HOST or https://HOST:PORT.  Empty means the port's own "
	    "address." },
	[EXTERNAL_ROOT] = { "external.root", CONF_STRING, "", 0,
	    EXTERNAL_NAME_BYTES_MAX, "name", CONF_RESTART, "A connector that "
	    "is served at / too: POST /task and /task/FID." },
	[EXTERNAL_CONNECTORS] = { "external.connectors", CONF_STRING, "", 0,
	    4096, "directory", CONF_RESTART, "Connectors, in files "
	    "NAME.json, those of `argiope external new`, and NAME.js, which "
	    "are modules.  The directory is "
	    "read at the start and at SIGHUP." },
	[EXTERNAL_BACKENDS_FILE] = { "external.backends_file", CONF_STRING, "",
	    0, 4096, "file", CONF_RESTART, "The back ends that may start "
	    "tasks, as JSON.  Only its owner may have access to the file.  It "
	    "is read again within 10 s of a change.  Without it, tasks of "
	    "loopback back ends are taken as long as no token names this "
	    "door." },
	[EXTERNAL_CLIENTS_FILE] = { "external.clients_file", CONF_STRING, "",
	    0, 4096, "file", CONF_RESTART, "OAuth clients of connectors, as "
	    "JSON: {\"CONNECTOR\":{\"client_id\":\"...\","
	    "\"client_secret\":\"...\"}}.  Only its owner may have access to "
	    "the file.  It is read again within 10 s of a change." },
	[EXTERNAL_OAUTH_COMPAT] = { "external.oauth_compat", CONF_STRING, "",
	    0, 4096, "names", CONF_RESTART, "Connectors, with commas between "
	    "them, whose OAuth calls need no launch ticket.  Whoever knows the "
	    "uuid and the subdomain of a user can then end that user's token, "
	    "or have another account signed in.  At most 10 such calls a "
	    "minute of an address, and for a user." },
	[EXTERNAL_VERSIONS] = { "external.versions", CONF_CHOICE, "newest", 0,
	    0, "newest|strict", CONF_RESTART, "A task that names a version "
	    "above the newest that is registered: runs the newest connector, "
	    "with a warning, or is refused by 404." },
	[EXTERNAL_ARCHIVE] = { "external.archive", CONF_BOOL, "off", 0, 0,
	    "on|off", CONF_RESTART, "Whether the calls that connectors make "
	    "for tasks are archived, each task's in a crawl of its own.  Off: "
	    "what users have granted passes through.  Credentials are cut out "
	    "of the records, whatever warc.redact says; the archive of a task "
	    "stays when the task is deleted." },
	[EXTERNAL_TASKS_MAX] = { "external.tasks_max", CONF_INT, "100", 1,
	    100000, "tasks", CONF_RESTART, "Open tasks of a connector; "
	    "above: 429." },
	[EXTERNAL_REJECTED_MAX] = { "external.rejected_max", CONF_INT, "100",
	    0, 1000000, "documents", CONF_RESTART, "A task with more rejected "
	    "documents fails." },
	[EXTERNAL_DOCUMENT_BYTES_MAX] = { "external.document_bytes_max",
	    CONF_SIZE, "1MiB", 1024, 16 << 20, "bytes", CONF_RESTART,
	    "A larger document is rejected." },
	[EXTERNAL_SPOOL_BYTES_MAX] = { "external.spool_bytes_max", CONF_SIZE,
	    "1GiB", 1 << 20, 1e15, "bytes", CONF_RESTART, "Documents on "
	    "their way to back ends, of all tasks; connectors wait above it.  "
	    "A task has at most a quarter." },
	[EXTERNAL_CALL_MS] = { "external.call_ms", CONF_DURATION, "60s", 100,
	    3600000, "ms", CONF_RESTART, "For one call to a back end or a "
	    "provider." },
	[EXTERNAL_RETRY_S_MAX] = { "external.retry_s_max", CONF_INT, "86400",
	    1, 31536000, "s", CONF_RESTART, "How long an upload or a status "
	    "is tried." },
	[EXTERNAL_KEEP_S] = { "external.keep_s", CONF_INT, "604800", 0,
	    315360000, "s", CONF_RESTART, "How long closed tasks are kept, "
	    "with their logs, rejected documents and crawls." },
};

static enum conf_id
id_of(enum external_setting s)
{
	return conf_id_of(&external_settings_rows[s]);
}

static enum err
refuse(enum external_setting s, const char *text, struct why *w)
{
	return why(w, ERR_CONFIG, "%s: %s", external_settings_rows[s].name,
	    text);
}

static bool
is_loopback_host(struct str host)
{
	struct ip ip;

	if (str_eq(host, STR("localhost")) || str_eq(host, STR("[::1]")))
		return true;
	return ip_from_text(host, &ip) && ip_is_v4(&ip) && ip.b[12] == 127;
}

bool
external_url_is_loopback(struct str url)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct url u;

	return url_parse(url, NULL, &a, &u, NULL) == OK &&
	    is_loopback_host(u.host);
}

static enum err
check_names(struct str names, struct why *w)
{
	struct str rest = names, one;

	while (names.n > 0 && str_split(&rest, ',', &one))
		if (!external_name_is_valid(str_trim(one)))
			return why(w, ERR_CONFIG, "%s: \"%.*s\" is no "
			    "connector's name",
			    external_settings_rows[EXTERNAL_OAUTH_COMPAT].name,
			    STR_FMT(one));
	return OK;
}

static enum err
read_public_url(struct str text, struct external_settings *out,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct url u;

	if (text.n > 0 && text.p[text.n - 1] == '/')
		text.n--;
	out->public_url = text;
	if (text.n == 0)
		return OK;
	if (url_parse(text, NULL, &a, &u, NULL) != OK)
		return refuse(EXTERNAL_PUBLIC_URL, "it is no URL", w);
	if (!str_eq(u.path, STR("/")) || u.query.n > 0 ||
	    u.fragment.n > 0 || u.username.n > 0 || u.password.n > 0)
		return refuse(EXTERNAL_PUBLIC_URL, "it has more than scheme, "
		    "host and port", w);
	if (u.scheme != URL_HTTPS && (u.scheme != URL_HTTP ||
	    !is_loopback_host(u.host)))
		return refuse(EXTERNAL_PUBLIC_URL, "it begins neither with "
		    "https:// nor with http:// and a loopback host", w);
	snprintf(out->public_hosts, sizeof(out->public_hosts),
	    "%.*s,%.*s:%u", STR_FMT(u.host), STR_FMT(u.host), u.port);
	return OK;
}

enum err
external_settings_read(const struct conf *c, struct external_settings *out,
    struct why *w)
{
	*out = (struct external_settings){
		.root = conf_str(c, id_of(EXTERNAL_ROOT)),
		.connectors = conf_str(c, id_of(EXTERNAL_CONNECTORS)).p,
		.backends_file = conf_str(c, id_of(EXTERNAL_BACKENDS_FILE)).p,
		.clients_file = conf_str(c, id_of(EXTERNAL_CLIENTS_FILE)).p,
		.is_strict = conf_choice(c, id_of(EXTERNAL_VERSIONS)) != 0,
		.archives = conf_bool(c, id_of(EXTERNAL_ARCHIVE)),
		.tasks_max = (size_t)conf_int(c, id_of(EXTERNAL_TASKS_MAX)),
		.rejected_max = (uint32_t)conf_int(c, id_of(
		    EXTERNAL_REJECTED_MAX)),
		.document_bytes_max = (size_t)conf_size(c, id_of(
		    EXTERNAL_DOCUMENT_BYTES_MAX)),
		.spool_bytes_max = conf_size(c, id_of(
		    EXTERNAL_SPOOL_BYTES_MAX)),
		.call_ms = conf_ms(c, id_of(EXTERNAL_CALL_MS)),
		.retry_s_max = conf_int(c, id_of(EXTERNAL_RETRY_S_MAX)),
		.keep_ms = conf_int(c, id_of(EXTERNAL_KEEP_S)) * 1000,
	};
	out->oauth_compat = conf_str(c, id_of(EXTERNAL_OAUTH_COMPAT));
	enum err e = check_names(out->oauth_compat, w);
	if (e != OK)
		return e;
	if (out->root.n > 0 && !external_name_is_valid(out->root))
		return refuse(EXTERNAL_ROOT, "it is no connector's name", w);
	return read_public_url(conf_str(c, id_of(EXTERNAL_PUBLIC_URL)), out,
	    w);
}
