#include "doors/realtime/realtime_testing.h"

#include "doors/realtime/own.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/harvest/harvest_service.h"
#include "os/clock.h"
#include "server/door.h"
#include "wire/base64.h"
#include "wire/web/ws.h"

#define MESSAGES_MAX 4096
#define QUIET_MS 200
#define POLICY "{\"rate_limit\":0,\"downloads\":4}"

extern const struct door door_realtime;
struct rig rig;
static struct door_host host;
static struct arena routes_memory;

/* --- the site ------------------------------------------------------------ */

static void
site(struct str path, struct rig_page *p)
{
	struct str rest = str_from(path, 1), part;
	uint64_t n = 0;

	if (str_starts(path, STR("/feed"))) {
		p->type = "application/rss+xml";
		buf_put_text(&p->body, "<rss version=\"2.0\"><channel><title>f"
		    "</title><item><guid>1</guid><title>a</title></item>"
		    "<item><guid>2</guid><title>b</title></item></channel>"
		    "</rss>");
		return;
	}
	if (str_eq(path, STR("/robots.txt")) || str_eq(path, STR("/gone")))
		p->status = 404;
	p->drop = str_eq(path, STR("/broken"));
	p->delay_ms = str_starts(path, STR("/slow")) ? 500 : 0;
	(void)str_split(&rest, '/', &part);
	buf_printf(&p->body, "<title>%.*s</title>", STR_FMT(path));
	if (rest.n == 0 && str_to_u64(part, &n))
		for (uint64_t i = 1; i <= n; i++)
			buf_printf(&p->body, "<a href=/%u/%u>x</a>",
			    (unsigned)n, (unsigned)i);
}

/* --- the door ------------------------------------------------------------ */

static void
free_harvests(struct rig *r)
{
	(void)r;
	harvest_service_free(&host.harvests);
}

static void
open_harvests(void)
{
	char *real = realpath(rig.dir, NULL);
	struct harvest_service_options o = { .engine = rig.engine,
	    .home = rig.home, .conf = &rig.conf,
	    .data_dir = arena_copy(&routes_memory, str_of(real)).p };
	struct why w = WHY_INIT;

	free(real);
	assert_int_equal(harvest_service_open(&o, &host.harvests, &w), OK);
	rig.freed = free_harvests;
}

void
rig_door_open(void)
{
	static const struct door *const doors[] = { &door_realtime };
	struct web_options o = { 0 };
	struct why w = WHY_INIT;
	char resolve[64];
	size_t n = 0;

	if (doors_nth(0) == NULL)
		doors_use(doors, 1);
	rig_open(&rig, site, NULL);
	snprintf(resolve, sizeof(resolve), "fetch.resolve=m.example:80:"
	    "127.0.0.1:%u", rig.port);
	assert_int_equal(conf_flag(&rig.conf, str_of(resolve), &w), OK);
	rig_start(&rig);
	host = (struct door_host){ .conf = &rig.conf, .home = rig.home,
	    .data_dir = rig.dir };
	o.loop = rig.home;
	assert_int_equal(doors_open(&host, &w), OK);
	const struct web_route *routes = doors_routes(&host, NULL, &n, &o,
	    &routes_memory);
	assert_int_equal(web_open(&o, routes, n, &host.web, &w), OK);
	open_harvests();
	doors_data_read(&host, rig.engine);
	doors_ready(&host, rig.engine);
}

static void
set(void *flag)
{
	*(bool *)flag = true;
}

void
rig_door_close(void)
{
	struct drain_gate gate = { 0 };
	bool closed = false, drained = false;

	web_drain(host.web, set, &closed);
	RIG_UNTIL_DONE(&rig, closed);
	doors_drain(&host, true, &gate);
	drain_gate_close(&gate, set, &drained);
	RIG_UNTIL_DONE(&rig, drained);
	drained = false;
	harvest_service_drain(host.harvests, set, &drained);
	RIG_UNTIL_DONE(&rig, drained);
	web_close(&host.web);
	doors_free(&host);
	rig_close(&rig);
	arena_free(&routes_memory);
}

uint32_t
rig_crawl(const char *path, const char *tag)
{
	struct launch_seed seed = { rig_url(&rig, path), 0 };
	struct str word = str_of(tag);
	struct launch l = { .seeds = &seed, .seeds_n = 1, .spec = {
	    .tags = &word, .tags_n = 1, .policy = STR(POLICY) } };

	rig_say_launch(&rig, &l);
	assert_int_equal(l.why.err, OK);
	rig_until_state(&rig, l.crawl, CRAWL_COMPLETE);
	return l.crawl;
}

/* --- a client ------------------------------------------------------------ */

struct peer {
	int fd;
	struct ws *ws;
	bool upgraded;
	struct buf in;               /* not read yet */
	yyjson_doc *messages[MESSAGES_MAX];
	size_t n;
	unsigned commands;
	struct mono heard;
};

static void
came(void *arg, struct str text)
{
	struct peer *p = arg;

	assert_true(p->n < MESSAGES_MAX);
	p->messages[p->n] = yyjson_read(text.p, text.n, 0);
	assert_non_null(p->messages[p->n++]);
	p->heard = clock_mono();
}

static void
say(struct peer *p, struct buf *bytes)
{
	assert_int_equal(send(p->fd, bytes->p, bytes->n, MSG_NOSIGNAL),
	    bytes->n);
	buf_free(bytes);
}

static void
drop_bytes(struct buf *b, size_t n)
{
	memmove(b->p, b->p + n, b->n - n);
	b->n -= n;
}

/* Takes what has come. */
static void
hear(struct peer *p)
{
	struct buf out = BUF_INIT;
	ssize_t n;

	while ((n = recv(p->fd, buf_grow(&p->in, 65536), 65536,
	    MSG_DONTWAIT)) > 0)
		p->in.n -= 65536 - (size_t)n;
	p->in.n -= 65536;
	size_t head = str_find(buf_str(&p->in), STR("\r\n\r\n"));
	if (!p->upgraded && head < p->in.n) {
		assert_true(str_starts(buf_str(&p->in),
		    STR("HTTP/1.1 101 ")));
		drop_bytes(&p->in, head + 4);
		p->upgraded = true;
	}
	if (p->upgraded)
		drop_bytes(&p->in, ws_recv(p->ws, buf_str(&p->in), SIZE_MAX,
		    &out));
	if (out.n > 0)
		say(p, &out);
}

static bool
is_upgraded(struct rig *r, void *arg)
{
	struct peer *p = arg;

	(void)r;
	hear(p);
	return p->upgraded;
}

struct peer *
peer_new(void)
{
	struct peer *p = mem_new(sizeof(*p));
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_port = htons(web_port(host.web)),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	char key[WS_KEY_BYTES];
	struct buf b = BUF_INIT;

	ws_key(key);
	int few = 4096;

	p->fd = socket(AF_INET, SOCK_STREAM, 0);
	/* A client that does not read fills its socket soon. */
	assert_int_equal(setsockopt(p->fd, SOL_SOCKET, SO_RCVBUF, &few,
	    sizeof(few)), 0);
	p->ws = ws_new(true, 1 << 20, came, p);
	assert_int_equal(connect(p->fd, (struct sockaddr *)(void *)&a,
	    sizeof(a)), 0);
	buf_printf(&b, "GET / HTTP/1.1\r\nHost: localhost\r\n"
	    "Connection: Upgrade\r\nUpgrade: websocket\r\n"
	    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n", key);
	say(p, &b);
	rig_until(&rig, is_upgraded, p);
	return p;
}

void
peer_free(struct peer **pp)
{
	struct peer *p = *pp;

	close(p->fd);
	ws_free(&p->ws);
	buf_free(&p->in);
	for (size_t i = 0; i < p->n; i++)
		yyjson_doc_free(p->messages[i]);
	mem_free(pp);
}

/* --- messages ------------------------------------------------------------ */

yyjson_val *
at(yyjson_val *v, const char *pointer)
{
	yyjson_val *found = yyjson_ptr_get(v, pointer);

	if (found == NULL) {
		char *text = yyjson_val_write(v, 0, NULL);
		fail_msg("there is no %s in %s", pointer, text);
	}
	return found;
}

uint64_t
at_number(yyjson_val *v, const char *pointer)
{
	return (uint64_t)yyjson_get_num(at(v, pointer));
}

const char *
at_text(yyjson_val *v, const char *pointer)
{
	return yyjson_get_str(at(v, pointer));
}

uint64_t
token_number(yyjson_val *event)
{
	const char *token = at_text(event, "/data/sync_token");
	struct buf plain = BUF_INIT;
	struct str rest, part;
	uint64_t n = 0;

	assert_true(base64_read(&plain, str_of(token)));
	rest = buf_str(&plain);
	assert_true(str_split(&rest, '.', &part) && str_to_u64(part, &n));
	buf_free(&plain);
	return n;
}

static yyjson_val *
message(struct peer *p, size_t i)
{
	return yyjson_doc_get_root(p->messages[i]);
}

static yyjson_val *
find_response(struct peer *p)
{
	for (size_t i = 0; i < p->n; i++) {
		yyjson_val *id = yyjson_obj_get(message(p, i), "command_id");
		if (id != NULL && yyjson_get_num(id) == p->commands)
			return message(p, i);
	}
	return NULL;
}

static bool
has_response(struct rig *r, void *arg)
{
	(void)r;
	hear(arg);
	return find_response(arg) != NULL;
}

static yyjson_val *
ask(struct peer *p, const char *command, const char *args, va_list ap)
{
	struct buf json = BUF_INIT, out = BUF_INIT;
	char text[8192];

	vsnprintf(text, sizeof(text), args, ap);
	buf_printf(&json, "{'command':'%s','command_id':%u,'args':{%s}}",
	    command, ++p->commands, text);
	for (size_t i = 0; i < json.n; i++)
		if (json.p[i] == '\'')
			json.p[i] = '"';
	ws_client_put_text(&out, buf_str(&json));
	say(p, &out);
	buf_free(&json);
	rig_until(&rig, has_response, p);
	return find_response(p);
}

yyjson_val *
peer_ask(struct peer *p, const char *command, const char *args, ...)
{
	va_list ap;

	va_start(ap, args);
	yyjson_val *response = ask(p, command, args, ap);
	va_end(ap);
	return response;
}

static yyjson_val *
data_of(const char *command, yyjson_val *response)
{
	if (!yyjson_is_true(at(response, "/success")))
		fail_msg("%s: %s", command, at_text(response, "/error"));
	return at(response, "/data");
}

yyjson_val *
peer_data(struct peer *p, const char *command, const char *args, ...)
{
	va_list ap;

	va_start(ap, args);
	yyjson_val *response = ask(p, command, args, ap);
	va_end(ap);
	return data_of(command, response);
}

unsigned
peer_subscribe(struct peer *p, const char *command, const char *args, ...)
{
	va_list ap;

	va_start(ap, args);
	yyjson_val *response = ask(p, command, args, ap);
	va_end(ap);
	return (unsigned)at_number(data_of(command, response),
	    "/subscription_id");
}

void
peer_fails(struct peer *p, const char *command, const char *args,
    const char *code, const char *text)
{
	yyjson_val *r = peer_ask(p, command, "%s", args);

	assert_true(yyjson_is_false(at(r, "/success")));
	assert_string_equal(at_text(r, "/code"), code);
	if (strstr(at_text(r, "/error"), text) == NULL)
		fail_msg("%s %s: %s", command, args, at_text(r, "/error"));
}

/* The n-th event, or NULL; `*count`: how many there are. */
static yyjson_val *
find_event(struct peer *p, unsigned sub, size_t n, size_t *count)
{
	yyjson_val *found = NULL;

	*count = 0;
	for (size_t i = 0; i < p->n; i++) {
		yyjson_val *m = message(p, i);
		yyjson_val *id = yyjson_obj_get(m, "subscription_id");
		if (id != NULL && yyjson_get_num(id) == sub && (*count)++ == n)
			found = m;
	}
	return found;
}

struct wanted {
	struct peer *peer;
	unsigned sub;
	size_t n;
};

static bool
has_event(struct rig *r, void *arg)
{
	const struct wanted *w = arg;
	size_t count;

	(void)r;
	hear(w->peer);
	return find_event(w->peer, w->sub, w->n, &count) != NULL;
}

yyjson_val *
peer_event(struct peer *p, unsigned sub, size_t n)
{
	struct wanted w = { p, sub, n };
	size_t count;

	rig_until(&rig, has_event, &w);
	return find_event(p, sub, n, &count);
}

size_t
peer_early(struct peer *p, unsigned sub)
{
	size_t n = 0;

	for (size_t i = 0; message(p, i) != find_response(p); i++) {
		yyjson_val *id = yyjson_obj_get(message(p, i),
		    "subscription_id");
		n += id != NULL && yyjson_get_num(id) == sub;
	}
	return n;
}

static bool
is_quiet(struct rig *r, void *arg)
{
	struct peer *p = arg;

	(void)r;
	hear(p);
	return mono_ns_between(p->heard, clock_mono()) >
	    QUIET_MS * (int64_t)1000000;
}

size_t
peer_events(struct peer *p, unsigned sub)
{
	size_t count;

	p->heard = clock_mono();
	rig_until(&rig, is_quiet, p);
	(void)find_event(p, sub, 0, &count);
	return count;
}

size_t
rig_blocked_bytes(void)
{
	const struct realtime *d = host.doors[0];

	LIST_EACH(c, &d->clients, struct client, node)
		if (web_socket_blocked(c->socket))
			return web_socket_held(c->socket);
	return 0;
}
