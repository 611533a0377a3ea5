/*
 * web_echo -- a server on server/web for foreign clients: a WebSocket that
 * sends back what it gets (as text, for the port sends nothing else), and a
 * few routes of every kind of answer.
 *
 *     web_echo [FOLDER [CHAIN KEY [MS]]]     prints "port N"; SIGTERM drains it
 *
 * MS is how long whatever is slow or idle may be so.
 */
#include "base/arena.h"
#include "os/system.h"
#include "server/web.h"

#include <time.h>

struct echo {
	struct loop *loop;
	struct web *web;
	const char *folder;
	struct web_text *text;
	uint64_t messages, closed, cut;
	bool draining;
};

static struct echo e;

/* -- The WebSocket -- */

static void *
socket_open(struct web_socket *s)
{
	(void)s;
	return &e;
}

static void
socket_message(struct web_socket *s, struct str message)
{
	e.messages++;
	/* In pieces, where it is long enough to be worth it. */
	if (message.n < 100000) {
		web_socket_put(s, &message, 1);
	} else {
		web_socket_begin(s, str_cut(message, 0, 1000));
		web_socket_piece(s, str_cut(message, 1000, 50000));
		web_socket_end(s, str_from(message, 50000));
	}
	if (web_socket_room(s) == 0)
		web_socket_hold(s, true);
}

static void
socket_room(struct web_socket *s)
{
	web_socket_hold(s, false);
}

static void
socket_closed(struct web_socket *s, int code)
{
	(void)s, (void)code;
	e.closed++;
}

static const struct web_socket_events on_socket = { socket_open,
	socket_message, socket_room, socket_closed };

/* -- Routes -- */

static void
get_hello(struct web_request *r)
{
	web_answer(r, 200, "text/plain", STR("hello\n"));
}

static void
post_echo(struct web_request *r)
{
	web_answer(r, 200, "application/octet-stream", web_body(r));
}

static void
get_text(struct web_request *r)
{
	web_answer_text(r, e.text);
}

static void
get_file(struct web_request *r)
{
	struct str name = web_rest(r);
	struct str path = arena_printf(web_arena(r), "%s/%.*s", e.folder,
	    STR_FMT(name));

	web_answer_file(r, path.p, "application/octet-stream", name);
}

/* /pull?n=BYTES[&known=1][&dry=1]: that many bytes, a, b, ... z, a; or none,
 * as if they were still to be made. */
struct letters {
	struct web_pull pull;
	uint64_t at, n;
	bool dry;
};

static bool
pull_letters(struct web_pull *p, struct buf *out, size_t room)
{
	struct letters *l = CONTAINER(p, struct letters, pull);
	size_t n = (size_t)MIN(room, l->n - l->at);

	if (l->dry)
		return true;
	char *to = buf_grow(out, n);
	for (size_t i = 0; i < n; i++)
		to[i] = (char)('a' + (l->at + i) % 26);
	l->at += n;
	return l->at < l->n;
}

static void
end_letters(struct web_pull *p)
{
	struct letters *l = CONTAINER(p, struct letters, pull);

	mem_free(&l);
}

static void
get_pull(struct web_request *r)
{
	struct letters *l = mem_new(sizeof(*l));
	struct str value;

	l->pull.pull = pull_letters;
	l->pull.end = end_letters;
	if (web_param(r, "n", &value))
		(void)!str_to_u64(value, &l->n);
	l->dry = web_param(r, "dry", &value);
	web_answer_pull(r, 200, "text/plain", web_param(r, "known", &value) ?
	    l->n : UINT64_MAX, &l->pull);
}

/* /upload[?hold=MS]: reads the body as it arrives, waits so long after each
 * piece, and answers with its length and the number of wrong letters.  /cut:
 * how many uploads were cut. */
struct upload {
	struct web_upload body;
	struct timer timer;
	uint64_t n, wrong, hold_ms;
};

static void
upload_wake(struct timer *t)
{
	web_read_more(&CONTAINER(t, struct upload, timer)->body);
}

static void
upload_end(struct upload *u)
{
	loop_timer_stop(e.loop, &u->timer);
	mem_free(&u);
}

static bool
upload_piece(struct web_upload *b, struct str bytes, bool last)
{
	struct upload *u = CONTAINER(b, struct upload, body);

	for (size_t i = 0; i < bytes.n; i++)
		u->wrong += bytes.p[i] != (char)('a' + u->n++ % 26);
	if (last) {
		web_answer(b->request, 200, "text/plain", arena_printf(
		    web_arena(b->request), "%llu %llu\n",
		    (unsigned long long)u->n, (unsigned long long)u->wrong));
		upload_end(u);
	} else if (u->hold_ms > 0) {
		loop_timer_set(e.loop, &u->timer, mono_add_ms(
		    loop_now(e.loop), (int64_t)u->hold_ms));
		return false;
	}
	return true;
}

static void
upload_cut(struct web_upload *b)
{
	e.cut++;
	upload_end(CONTAINER(b, struct upload, body));
}

static void
post_upload(struct web_request *r)
{
	struct upload *u = mem_new(sizeof(*u));
	struct str value;

	u->body.piece = upload_piece;
	u->body.cut = upload_cut;
	u->timer.fire = upload_wake;
	if (web_param(r, "hold", &value))
		(void)!str_to_u64(value, &u->hold_ms);
	web_read_body(r, &u->body);
}

static void
get_cut(struct web_request *r)
{
	web_answer(r, 200, "text/plain", arena_printf(web_arena(r), "%llu",
	    (unsigned long long)e.cut));
}

static const struct web_route routes[] = {
	{ "POST", "/upload", WEB_EXACT, post_upload, NULL, "reads", true,
	    TOKEN_DOOR_CONSOLE, TOKEN_READ, .upload = true,
	    .body_bytes_max = 8 << 20 },
	{ "GET", "/cut", WEB_EXACT, get_cut, NULL, "counts", true,
	    TOKEN_DOOR_CONSOLE, TOKEN_READ, .early = false },
	{ "GET", "/hello", WEB_EXACT, get_hello, NULL, "greets", true,
	    TOKEN_DOOR_CONSOLE, TOKEN_READ, .early = false },
	{ "POST", "/echo", WEB_EXACT, post_echo, NULL, "sends back", true,
	    TOKEN_DOOR_CONSOLE, TOKEN_READ, .early = false },
	{ "GET", "/text", WEB_EXACT, get_text, NULL, "a text", true,
	    TOKEN_DOOR_CONSOLE, TOKEN_READ, .early = false },
	{ "GET", "/files/", WEB_PREFIX, get_file, NULL, "a file", true,
	    TOKEN_DOOR_CONSOLE, TOKEN_READ, .early = false },
	{ "GET", "/pull", WEB_EXACT, get_pull, NULL, "many bytes", true,
	    TOKEN_DOOR_CONSOLE, TOKEN_READ, .early = false },
};

/* -- The program -- */

static void
drained(void *arg)
{
	(void)arg;
	loop_stop(e.loop);
}

static void
got_signal(void *arg, int signal)
{
	(void)arg, (void)signal;
	if (e.draining)
		loop_stop(e.loop);
	else
		web_drain(e.web, drained, NULL);
	e.draining = true;
}

static struct str
long_text(void)
{
	struct buf b = BUF_INIT;

	for (int i = 0; i < 5000; i++)
		buf_printf(&b, "line %d of a long text\n", i);
	return buf_str(&b);
}

int
main(int argc, char **argv)
{
	struct web_limits limits = WEB_LIMITS_DEFAULT;
	struct web_socket_path any = { "*", &on_socket, TOKEN_DOOR_REALTIME,
	    &e };
	struct web_options o = { .sockets = &any, .sockets_n = 1,
	    .limits = &limits };
	struct str text = long_text();
	uint64_t ms;
	struct web_counts n;
	struct why w = WHY_INIT;

	system_ignore_sigpipe();
	system_open_files();
	e.folder = argc > 1 ? argv[1] : ".";
	o.tls_chain = argc > 3 ? argv[2] : NULL;
	o.tls_key = argc > 3 ? argv[3] : NULL;
	if (argc > 4 && str_to_u64(str_of(argv[4]), &ms))
		limits.idle_ms = limits.head_ms = limits.body_ms =
		    limits.stall_ms = (int64_t)ms;
	e.loop = loop_new("echo");
	e.text = web_text_new("text/plain", text);
	loop_on_signal(e.loop, got_signal, NULL);
	o.loop = e.loop;
	if (web_open(&o, routes, ARRAY_LEN(routes), &e.web, &w) != OK) {
		fprintf(stderr, "web_echo: %s\n", w.text);
		return 1;
	}
	printf("port %u\n", web_port(e.web));
	fflush(stdout);
	loop_run(e.loop);
	web_counts(e.web, &n);
	web_close(&e.web);
	web_text_free(&e.text);
	free((void *)(uintptr_t)text.p);
	loop_free(&e.loop);
	printf("accepted %llu requests %llu messages %llu closed %llu rss_kb "
	    "%llu cpu_us %lld\n", (unsigned long long)n.accepted,
	    (unsigned long long)n.requests, (unsigned long long)e.messages,
	    (unsigned long long)e.closed,
	    (unsigned long long)system_rss_bytes() / 1024,
	    (long long)clock() * 1000000 / CLOCKS_PER_SEC);
	return 0;
}
