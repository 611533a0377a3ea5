/* The door's settings, and what they say about queues and paths. */
#include "doors/harvest/settings.h"

#include "os/log.h"
#include "os/system.h"

#define QUEUES_MAX 64u

const struct setting settings_rows[SETTINGS_N] = {
	[SET_URL] = { "harvest.url", CONF_STRING, "", 0, 1000, "URL",
	    CONF_RESTART, "The RabbitMQ broker by which Social Feed Manager "
	    "orders harvests: amqp://USER@HOST:PORT/VHOST, or amqps:// with a "
	    "certificate that is verified.  Without it no broker is "
	    "contacted.  The password is not part of it." },
	[SET_PASSWORD_FILE] = { "harvest.password_file", CONF_STRING, "", 0,
	    4000, "path", CONF_RESTART, "The password for harvest.url: the "
	    "file's first line.  Only its owner may have access to the file.  "
	    "Empty means the password \"guest\"." },
	[SET_TLS_CA] = { "harvest.tls_ca", CONF_STRING, "", 0, 4000, "path",
	    CONF_RESTART, "Certificates, in PEM, that the broker's must be "
	    "signed by.  Empty means the system's." },
	[SET_EXCHANGE] = { "harvest.exchange", CONF_STRING, "sfm_exchange", 1,
	    255, "name", CONF_RESTART, "The broker's exchange." },
	[SET_INSTANCE] = { "harvest.instance", CONF_STRING, "", 0, 64, "name",
	    CONF_RESTART, "What this daemon is called among those that share "
	    "the broker; each needs a name of its own, and keeps it.  Empty "
	    "means store.node, or the host's name." },
	[SET_HOST] = { "harvest.host", CONF_STRING, "", 0, 255, "name",
	    CONF_RESTART, "The host in statuses.  Empty means the host's "
	    "name." },
	[SET_ROOTS] = { "harvest.roots", CONF_LIST, "/sfm-data, "
	    "/sfm-collection-set-data, /sfm-export-data", 1, 65536, "PATH",
	    CONF_RESTART, "Directories below which messages may name paths.  "
	    "PATH=LOCAL: messages say PATH, and the files lie at LOCAL." },
	[SET_UMASK] = { "harvest.umask", CONF_STRING, "0002", 1, 4, "octal",
	    CONF_RESTART, "What files and directories below harvest.roots "
	    "lack of the modes 0666 and 0777." },
	[SET_QUEUES] = { "harvest.queues", CONF_LIST, "", 0, 4096, "QUEUE",
	    CONF_RESTART, "Queues of start messages that are served.  Empty "
	    "means each whose harvests this program can do." },
	[SET_CONCURRENCY] = { "harvest.concurrency", CONF_LIST, "", 0, 4096,
	    "QUEUE=N", CONF_RESTART, "How many harvests of a queue run at a "
	    "time, from 1 to 1000; others run one.  Those of streams share "
	    "harvest.streams_max." },
	[SET_STREAMS_MAX] = { "harvest.streams_max", CONF_INT, "64", 1, 1000,
	    "", CONF_RESTART, "How many harvests of streams run at a time, of "
	    "all their queues together." },
	[SET_HEARTBEAT_S] = { "harvest.heartbeat_s", CONF_INT, "300", 10, 300,
	    "s", CONF_RESTART, "A harvest that has said nothing for so long "
	    "sends its status." },
	[SET_STATUS_MS_MIN] = { "harvest.status_ms_min", CONF_INT, "1000", 0,
	    60000, "ms", CONF_RESTART, "Between two statuses that are not "
	    "urgent, of all harvests." },
	[SET_STATUSES] = { "harvest.statuses", CONF_CHOICE, "sfm", 0, 0,
	    "sfm|spec", CONF_RESTART, "Which statuses are sent: those that "
	    "SFM's programs send, or those of its specification alone, where "
	    "\"stopping\" and \"paused\" are \"running\"." },
	[SET_STAGED_BYTES_MAX] = { "harvest.staged_bytes_max", CONF_SIZE,
	    "10GiB", 1 << 20, 1e15, "bytes", CONF_RESTART, "Finished WARC "
	    "files that wait in the data directory because a root is away, "
	    "full or read-only: harvests whose files wait pause when they "
	    "have so many bytes together." },
	[SET_PREFETCH_MAX] = { "harvest.prefetch_max", CONF_INT, "1", 1, 100,
	    "", CONF_RESTART, "Start messages of a queue that this daemon has "
	    "in hand at a time.  More of them begin sooner where a queue has "
	    "many slots, and are not there for other daemons." },
	[SET_TRIES_MAX] = { "harvest.tries_max", CONF_INT, "3", 1, 100, "",
	    CONF_RESTART, "So often a harvest may meet a fault that trying a "
	    "call again does not mend; with the last one it has failed." },
	[SET_OUTBOX_BYTES_MAX] = { "harvest.outbox_bytes_max", CONF_SIZE,
	    "1GiB", 4096, INT64_C(1) << 50, "bytes", CONF_RESTART, "When "
	    "messages that the broker has not confirmed are so many bytes, "
	    "harvests pause, until an eighth of it is free." },
	[SET_WEB_MESSAGES] = { "harvest.web_messages", CONF_BOOL, "on", 0, 0,
	    "", CONF_RESTART, "URLs that harvests find are ordered as web "
	    "harvests, by harvest.start.web.  They wait while no queue takes "
	    "them." },
	[SET_API_LISTEN] = { "harvest.api_listen", CONF_ADDRESS, "off", 0, 0,
	    "", CONF_RESTART, "Where harvest.api_from is told of WARC files as "
	    "by SFM's interface, without a token: SFM's exporters send none.  "
	    "Nothing else is served there." },
	[SET_API_FROM] = { "harvest.api_from", CONF_LIST, "127.0.0.0/8",
	    0, 65536, "ADDRESS", CONF_RESTART, "Addresses that "
	    "harvest.api_listen serves, such as 10.0.0.7 or 0::1; "
	    "ADDRESS/BITS names a network." },
};

static enum conf_id
id_of(enum settings_row row)
{
	return conf_id_of(&settings_rows[row]);
}

static struct str
text_of(const struct harvest_door *d, enum settings_row row)
{
	return conf_str(d->host->conf, id_of(row));
}

bool
settings_next(const struct harvest_door *d, enum settings_row row,
    size_t *at, struct str *word)
{
	return conf_list(d->host->conf, id_of(row), at, word);
}

struct conf_address
settings_address(const struct harvest_door *d, enum settings_row row)
{
	return conf_address(d->host->conf, id_of(row));
}

bool
settings_want_broker(const struct conf *c)
{
	return conf_str(c, id_of(SET_URL)).n > 0;
}

static bool
list_has(const struct harvest_door *d, enum settings_row row,
    struct str wanted)
{
	struct str word;
	size_t at = 0;

	while (conf_list(d->host->conf, id_of(row), &at, &word))
		if (str_eq(word, wanted))
			return true;
	return false;
}

/* ---- Queues --------------------------------------------------------- */

static const struct queue_row *
find_row(struct str name)
{
	const struct queue_row *row;

	for (size_t i = 0; (row = queue_table_at(i)) != NULL; i++)
		if (str_eq(name, str_of(row->name)))
			return row;
	return NULL;
}

/* Every queue that is named is one of ours, and can be served. */
static enum err
check_queues(struct harvest_door *d, struct why *w)
{
	struct str word;
	size_t at = 0, n = 0;

	while (conf_list(d->host->conf, id_of(SET_QUEUES), &at,
	    &word)) {
		const struct queue_row *row = find_row(word);
		if (row != NULL)
			(void)queue_table_keys(row, &d->arena, &n);
		if (row == NULL || n == 0)
			return why(w, ERR_CONFIG, "harvest.queues: this "
			    "program does no harvests of a queue \"%.*s\"",
			    STR_FMT(word));
	}
	return OK;
}

static enum err
read_concurrency(struct harvest_door *d, struct why *w)
{
	struct str word;
	size_t at = 0;

	while (conf_list(d->host->conf, id_of(SET_CONCURRENCY),
	    &at, &word)) {
		size_t equals = str_find_char(word, '=');
		struct str name = str_trim(str_cut(word, 0, equals));
		uint64_t n;
		const struct queue_row *row = find_row(name);
		if (!str_to_u64(str_trim(str_from(word, equals + 1)), &n) ||
		    n < 1 || n > 1000 || row == NULL)
			return why(w, ERR_CONFIG, "harvest.concurrency: "
			    "\"%.*s\" is no QUEUE=N", STR_FMT(word));
		if (row->streams)
			return why(w, ERR_CONFIG, "harvest.concurrency: "
			    "%s is of streams, which harvest.streams_max is "
			    "for", row->name);
		for (size_t i = 0; i < d->queues_n; i++)
			if (d->queues[i].row == row)
				d->queues[i].own.max = (unsigned)n;
	}
	return OK;
}

static void
add_queue(struct harvest_door *d, const struct queue_row *row)
{
	size_t n;
	const struct str *keys = queue_table_keys(row, &d->arena, &n);

	if (n == 0 || (text_of(d, SET_QUEUES).n > 0 &&
	    !list_has(d, SET_QUEUES, str_of(row->name))))
		return;
	struct served *q = &d->queues[d->queues_n];
	*q = (struct served){ .row = row, .own.max = row->streams ? 0 : 1 };
	q->slots = row->streams ? &d->streams : &q->own;
	d->broker_queues[d->queues_n++] = (struct broker_queue){
	    str_of(row->name), keys, n };
}

/* Behind those of start messages: the queue of stops, and that of letters. */
static void
add_own_queues(struct harvest_door *d)
{
	struct str *key = ARENA_NEW(&d->arena, struct str);

	*key = STR(QUEUE_TABLE_STOP_KEY);
	d->broker_queues[d->queues_n] = (struct broker_queue){
	    arena_printf(&d->arena, "argiope_stop_%.*s",
	    STR_FMT(d->instance)), key, 1 };
	d->broker_queues[d->queues_n + 1] = (struct broker_queue){
	    STR(LETTER_QUEUE), NULL, 0 };
}

static enum err
read_queues(struct harvest_door *d, struct why *w)
{
	const struct queue_row *row;

	d->queues = ARENA_ARRAY(&d->arena, struct served, QUEUES_MAX);
	d->broker_queues = ARENA_ARRAY(&d->arena, struct broker_queue,
	    QUEUES_MAX + 2);
	enum err e = check_queues(d, w);
	if (e != OK)
		return e;
	for (size_t i = 0; (row = queue_table_at(i)) != NULL; i++)
		add_queue(d, row);
	add_own_queues(d);
	return read_concurrency(d, w);
}

/* ---- The rest ------------------------------------------------------- */

static void
read_names(struct harvest_door *d)
{
	struct str node = conf_str(d->host->conf, CONF_STORE_NODE);
	char host[256];

	system_hostname(host, sizeof(host));
	d->host_name = text_of(d, SET_HOST).n > 0 ? text_of(d, SET_HOST) :
	    arena_copy(&d->arena, str_of(host));
	d->instance = text_of(d, SET_INSTANCE).n > 0 ?
	    text_of(d, SET_INSTANCE) : node.n > 0 ? node :
	    arena_copy(&d->arena, str_of(host));
}

static enum err
read_roots(struct harvest_door *d, struct why *w)
{
	struct why inner = WHY_INIT;
	struct str word;
	size_t at = 0;

	while (conf_list(d->host->conf, id_of(SET_ROOTS), &at,
	    &word))
		if (roots_add(&d->roots, word, &d->arena, &inner) != OK)
			return why(w, ERR_CONFIG, "harvest.roots: %s",
			    inner.text);
	return OK;
}

static enum err
read_umask(struct harvest_door *d, unsigned *mode, struct why *w)
{
	struct str text = text_of(d, SET_UMASK);

	*mode = 0;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] < '0' || text.p[i] > '7')
			return why(w, ERR_CONFIG, "harvest.umask: \"%.*s\" "
			    "is no octal number", STR_FMT(text));
		*mode = *mode * 8 + (unsigned)(text.p[i] - '0');
	}
	return *mode <= 077 ? OK : why(w, ERR_CONFIG, "harvest.umask: above "
	    "0077 the owner could not use the files");
}

static enum err
read_broker(struct harvest_door *d, struct why *w)
{
	struct why inner = WHY_INIT;

	d->broker_options = (struct broker_options){ .home = d->host->home,
	    .url = text_of(d, SET_URL).p,
	    .password_file = text_of(d, SET_PASSWORD_FILE).p,
	    .tls_ca = text_of(d, SET_TLS_CA).p,
	    .exchange = text_of(d, SET_EXCHANGE).p,
	    .limits = &d->limits,
	    .queues = d->broker_queues, .queues_n = d->queues_n + 2 };
	enum err e = broker_check(&d->broker_options, &inner);
	return e == OK ? OK : why(w, e, "harvest.%s", inner.text);
}

static enum err
open_sfm(struct harvest_door *d, struct why *w)
{
	const struct conf *c = d->host->conf;
	struct str url = conf_str(c, CONF_HARVEST_SFM_API);

	return url.n == 0 ? OK : sfm_api_open(d->host->home, url, conf_str(c,
	    CONF_FETCH_CA_FILE).p, &d->sfm, w);
}

enum err
settings_read(struct harvest_door *d, struct why *w)
{
	const struct conf *c = d->host->conf;
	unsigned mode = 0;

	read_names(d);
	d->spec_words = conf_choice(c, id_of(SET_STATUSES)) == 1;
	d->web_messages = conf_bool(c, id_of(SET_WEB_MESSAGES));
	d->heartbeat_ms = conf_int(c, id_of(SET_HEARTBEAT_S)) *
	    1000;
	d->staged_bytes_max = conf_size(c, id_of(SET_STAGED_BYTES_MAX));
	d->limits = BROKER_LIMITS_DEFAULT;
	d->limits.prefetch_max = conf_int(c, id_of(SET_PREFETCH_MAX));
	d->tries_max = (unsigned)conf_int(c, id_of(SET_TRIES_MAX));
	d->outbox_bytes_max = conf_size(c, id_of(SET_OUTBOX_BYTES_MAX));
	d->streams.max = (unsigned)conf_int(c, id_of(SET_STREAMS_MAX));
	pace_init(&d->pace, conf_int(c, id_of(SET_STATUS_MS_MIN)));
	enum err e = read_roots(d, w);
	if (e == OK)
		e = read_umask(d, &mode, w);
	d->umask = mode;
	if (e != OK || !settings_want_broker(c))
		return e;
	e = read_queues(d, w);
	if (e == OK)
		e = read_broker(d, w);
	if (e == OK)
		e = open_sfm(d, w);
	if (e == OK)
		system_set_umask(mode);
	return e;
}
