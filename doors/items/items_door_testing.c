#include "doors/items/items_door_testing.h"

#include "base/metric.h"
#include "doors/items/items_door.h"
#include "os/file.h"
#include "os/system.h"

#define CONFIG_FILE "items.json"

extern const struct door door_items;
char items_head[4096];
static char folder[64], store[512];
static struct postgresql_test *server;
static struct conf conf;
static struct door_host host;
static struct arena routes_memory;
static struct answer last;
static yyjson_doc *last_doc;

static const char config[] =
    "{'tags':{'page':['a:fetch','a:norm'],'check':['b:check']},"
    "'tasks':{"
    "'a:fetch':{'version':'1','remote':true,'retries':1,'backoff':'1s'},"
    "'a:norm':{'version':'1','remote':true,'dependsOn':['a:fetch']},"
    "'b:check':{'version':'1','remote':true,'retries':0}}}";

/* Texts of tests have ' for ". */
static void
put_quoted(struct buf *b, const char *text)
{
	for (; *text != '\0'; text++)
		buf_put_char(b, *text == '\'' ? '"' : *text);
}

/* -- The door -- */

bool
items_rig_start(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "postgresql") != 0)
		return true;
	server = postgresql_test_start();
	return server != NULL;
}

int
items_rig_end(int failed)
{
	postgresql_test_stop(&server);
	return failed;
}

void
items_rig_config(const char *json)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	char path[128];

	put_quoted(&b, json);
	snprintf(path, sizeof(path), "%s/" CONFIG_FILE, folder);
	assert_int_equal(file_store(path, buf_str(&b), NULL), OK);
}

static void
set_conf(const char *const *settings)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct why w = WHY_INIT;

	conf_init(&conf);
	buf_printf(&b, "items.config=%s/" CONFIG_FILE, folder);
	if (conf_flag(&conf, buf_str(&b), &w) != OK)
		fail_msg("%s", w.text);
	if (server != NULL && conf_flag(&conf, str_of(store), &w) != OK)
		fail_msg("%s", w.text);
	for (; settings != NULL && *settings != NULL; settings++)
		if (conf_flag(&conf, str_of(*settings), &w) != OK)
			fail_msg("%s", w.text);
}

void
items_rig_again(const char *const *settings)
{
	static const struct door *const doors[] = { &door_items };
	struct web_options o = { 0 };
	struct why w = WHY_INIT;
	size_t n = 0;

	if (doors_nth(0) == NULL)
		doors_use(doors, 1);
	set_conf(settings);
	o.loop = port_loop = loop_new("port");
	host = (struct door_host){ .conf = &conf, .home = port_loop,
	    .data_dir = folder };
	if (doors_open(&host, &w) != OK)
		fail_msg("%s", w.text);
	const struct web_route *routes = doors_routes(&host, NULL, &n, &o,
	    &routes_memory);
	if (web_open(&o, routes, n, &port, &w) != OK)
		fail_msg("%s", w.text);
	host.web = port;
	doors_data_read(&host, NULL);
	doors_ready(&host, NULL);
	loop_start(port_loop);
	/* The configuration is loaded in the background. */
	for (int i = 0; i < 500; i++) {
		items_say(200, "GET /items-config", NULL, NULL);
		if (strcmp(items_at("/generation"), "0") != 0)
			return;
		poll(NULL, 0, 10);
	}
	fail_msg("the configuration was not loaded");
}

void
items_rig_open(const char *const *settings)
{
	system_ignore_sigpipe();
	snprintf(folder, sizeof(folder), "/tmp/argiope-door-XXXXXX");
	assert_non_null(mkdtemp(folder));
	if (server != NULL)
		snprintf(store, sizeof(store), "store.url=%s",
		    postgresql_test_url(server, NULL));
	items_rig_config(config);
	items_rig_again(settings);
}

static void
set_true(void *flag)
{
	atomic_store((atomic_bool *)flag, true);
}

static atomic_bool drained;
static struct drain_gate gate;

static void
port_drained(void *arg)
{
	(void)arg;
	doors_drain(&host, true, &gate);
	drain_gate_close(&gate, set_true, &drained);
}

static void
begin_drain(void)
{
	doors_stop(&host);
	web_drain(port, port_drained, NULL);
}

static void
end_port(void)
{
	atomic_store(&drained, false);
	gate = (struct drain_gate){ 0 };
	port_do(begin_drain);
	for (int i = 0; i < 2000 && !atomic_load(&drained); i++)
		poll(NULL, 0, 10);
	assert_true(atomic_load(&drained));
	loop_stop(port_loop);
	loop_join(port_loop);
	web_close(&port);
	doors_free(&host);
	loop_free(&port_loop);
	arena_free(&routes_memory);
	conf_free(&conf);
}

void
items_rig_close(void)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str *names;
	char path[160];
	size_t n;

	end_port();
	assert_int_equal(file_list(folder, &a, &names, &n, NULL), OK);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%.*s", folder,
		    STR_FMT(names[i]));
		unlink(path);
	}
	assert_int_equal(rmdir(folder), 0);
	answer_free(&last);
	yyjson_doc_free(last_doc);
	last_doc = NULL;
}

static void
stop_door(void)
{
	doors_stop(&host);
}

void
items_rig_stop(void)
{
	port_do(stop_door);
}

static struct door_status status_now;

static void
read_status(void)
{
	(void)doors_status(&host, 0, &status_now);
}

const char *
items_rig_note(void)
{
	port_do(read_status);
	return status_now.note;
}

void
items_rig_counted(const char *metric)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	char line[128];

	metric_write(&b);
	snprintf(line, sizeof(line), "\n%s ", metric);
	const char *at = strstr(buf_text(&b), line);
	if (at == NULL || at[strlen(line)] == '0')
		fail_msg("%s has not counted", metric);
}

int
items_rig_setup(void **state)
{
	(void)state;
	items_rig_open(NULL);
	return 0;
}

int
items_rig_teardown(void **state)
{
	(void)state;
	items_rig_close();
	return 0;
}

/* -- A client -- */

const char *
items_say_bytes(int status, const char *request, const char *lines,
    struct str body)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	bool typed = lines != NULL && strstr(lines, "Content-Type") != NULL;

	buf_printf(&b, "%s HTTP/1.1\r\n" HOST "%s", request,
	    lines == NULL ? "" : lines);
	if (body.p != NULL)
		buf_printf(&b, "Content-Length: %zu\r\n%s", body.n, typed ? "" :
		    "Content-Type: application/json\r\n");
	buf_put_text(&b, "\r\n");
	buf_put_str(&b, body);
	int fd = dial();
	say(fd, b.p, b.n);
	buf_clear(&last.in);
	hear(fd, &last, strncmp(request, "HEAD", 4) == 0);
	close(fd);
	snprintf(items_head, sizeof(items_head), "%s", last.head);
	yyjson_doc_free(last_doc);
	last_doc = yyjson_read(last.body.p, last.body.n, 0);
	if (last.status != status)
		fail_msg("%.80s: %d instead of %d: %.500s", request,
		    last.status, status, buf_text(&last.body));
	if (status >= 400 && (items_at("/error")[0] == '\0' ||
	    items_at("/code")[0] == '\0'))
		fail_msg("%.80s: no error and code: %.300s", request,
		    buf_text(&last.body));
	return buf_text(&last.body);
}

const char *
items_say(int status, const char *request, const char *lines,
    const char *body)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	if (body == NULL)
		return items_say_bytes(status, request, lines, STR_NONE);
	buf_reserve(&b, 1);
	put_quoted(&b, body);
	return items_say_bytes(status, request, lines, buf_str(&b));
}

void
items_want(int status, const char *request, const char *body,
    const char *text)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	const char *got = items_say(status, request, NULL, body);
	put_quoted(&b, text);
	if (strstr(got, buf_text(&b)) == NULL)
		fail_msg("%.80s: %s is not in %.600s", request, buf_text(&b),
		    got);
}

const char *
items_at(const char *pointer)
{
	static char text[4][2048];
	static unsigned turn;
	char *out = text[turn++ % ARRAY_LEN(text)];
	yyjson_val *v = yyjson_doc_ptr_get(last_doc, pointer);

	out[0] = '\0';
	if (yyjson_is_str(v))
		snprintf(out, sizeof(text[0]), "%s", yyjson_get_str(v));
	else if (yyjson_is_int(v))
		snprintf(out, sizeof(text[0]), "%lld",
		    (long long)yyjson_get_sint(v));
	else if (yyjson_is_bool(v))
		snprintf(out, sizeof(text[0]), "%s",
		    yyjson_get_bool(v) ? "true" : "false");
	else if (yyjson_is_null(v))
		snprintf(out, sizeof(text[0]), "null");
	return out;
}

const char *
items_segment(struct str name)
{
	static char text[4][4096];
	static unsigned turn;
	char *out = text[turn++ % ARRAY_LEN(text)], *p = out;

	assert_true(3 * name.n < sizeof(text[0]));
	for (size_t i = 0; i < name.n; i++)
		if (i > 0 && (ascii_is_alpha(name.p[i]) ||
		    ascii_is_digit(name.p[i])))
			*p++ = name.p[i];
		else
			p += snprintf(p, 4, "%%%02X",
			    (unsigned)(unsigned char)name.p[i]);
	*p = '\0';
	return out;
}
