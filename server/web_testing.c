#include "server/web_testing.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <semaphore.h>

#include "os/file.h"
#include "os/system.h"

/* -- Handlers -- */

struct loop *port_loop;
struct web *port;
char port_folder[64];
atomic_int port_kept, port_pulls;
atomic_int port_uploads, port_cut, port_read;
void (*port_closing)(void);
atomic_int port_opened, port_closed, port_code;

struct question {
	struct timer timer;
	struct web_request *request;
};

static void
thought(struct timer *t)
{
	struct question *q = CONTAINER(t, struct question, timer);

	web_answer(q->request, 200, "text/plain", web_rest(q->request));
	mem_free(&q);
}

static void
get_kept(struct web_request *r)
{
	struct question *q = mem_new(sizeof(*q));
	uint64_t ms = 0;

	q->request = r;
	q->timer.fire = thought;
	(void)!str_to_u64(web_rest(r), &ms);
	loop_timer_set(port_loop, &q->timer, mono_add_ms(clock_mono(),
	    (int64_t)ms));
	atomic_fetch_add(&port_kept, 1);
}

static void
abort_now(struct web_request *r)
{
	web_abort(r);
}

static void
abort_question(struct timer *t)
{
	struct question *q = CONTAINER(t, struct question, timer);

	web_abort(q->request);
	mem_free(&q);
}

static void
abort_later(struct web_request *r)
{
	struct question *q = mem_new(sizeof(*q));

	q->request = r;
	q->timer.fire = abort_question;
	loop_timer_set(port_loop, &q->timer, mono_add_ms(clock_mono(), 50));
}

static void
get_hello(struct web_request *r)
{
	web_answer(r, 200, "text/plain", str_of(web_arg(r)));
}

static void
post_echo(struct web_request *r)
{
	web_answer(r, 200, "application/octet-stream", web_body(r));
}

static void
get_param(struct web_request *r)
{
	struct str v = STR(""), agent = STR("none"), odd = STR("none");

	if (!web_param(r, "v", &v)) {
		web_fail(r, 400, "bad_args", "the parameter v is missing");
		return;
	}
	(void)!web_field(r, "user-agent", &agent);
	(void)!web_field(r, "x-odd", &odd);
	struct str all = arena_printf(web_arena(r), "%.*s|%.*s|%.*s",
	    STR_FMT(v), STR_FMT(agent), STR_FMT(odd));
	web_add_field(r, "X-Seen", "yes");
	web_add_field(r, "Cache-Control", "max-age=5");
	web_answer(r, 200, "text/plain", all);
}

static void
get_big(struct web_request *r)
{
	char *p = arena_bytes(web_arena(r), BIG_BYTES);

	for (size_t i = 0; i < BIG_BYTES; i++)
		p[i] = (char)('a' + i % 26);
	web_answer(r, 200, "text/plain", (struct str){ p, BIG_BYTES });
}

static void
get_none(struct web_request *r)
{
	web_answer(r, 204, NULL, STR(""));
}

static void
get_broken(struct web_request *r)
{
	struct why w = WHY_INIT;
	struct str value;

	if (web_param(r, "internal", &value))
		why(&w, ERR_CORRUPT, "index: cannot read /data/000007.sst");
	else
		why(&w, ERR_ABSENT, "no crawl %d", 7);
	web_fail_why(r, w.err, &w);
}

/* -- Bodies that are pulled: half of the time nothing is there -- */

struct letters {
	struct web_pull pull;
	struct timer timer;
	uint64_t at, n;
	bool awake;
};

static void
letters_wake(struct timer *t)
{
	struct letters *l = CONTAINER(t, struct letters, timer);

	web_pull_wake(&l->pull);
}

static bool
letters_pull(struct web_pull *p, struct buf *out, size_t room)
{
	struct letters *l = CONTAINER(p, struct letters, pull);
	size_t n = (size_t)MIN(room, l->n - l->at);

	l->awake = !l->awake;
	if (!l->awake) {
		loop_timer_set(port_loop, &l->timer,
		    mono_add_ms(clock_mono(), 1));
		return true;
	}
	char *to = buf_grow(out, n);
	for (size_t i = 0; i < n; i++)
		to[i] = (char)('a' + (l->at + i) % 26);
	l->at += n;
	return l->at < l->n;
}

static void
letters_end(struct web_pull *p)
{
	struct letters *l = CONTAINER(p, struct letters, pull);

	loop_timer_stop(port_loop, &l->timer);
	atomic_fetch_sub(&port_pulls, 1);
	mem_free(&l);
}

static void
get_pull(struct web_request *r)
{
	struct letters *l = mem_new(sizeof(*l));
	struct str value;
	uint64_t lie = 0;

	l->pull.pull = letters_pull;
	l->pull.end = letters_end;
	l->timer.fire = letters_wake;
	if (web_param(r, "n", &value))
		(void)!str_to_u64(value, &l->n);
	if (web_param(r, "lie", &value))
		(void)!str_to_u64(value, &lie);
	atomic_fetch_add(&port_pulls, 1);
	web_answer_pull(r, 200, "text/plain", web_param(r, "known", &value) ?
	    l->n + lie : UINT64_MAX, &l->pull);
}

/* -- Bodies that are read as they arrive -- */

struct upload {
	struct web_upload body;
	struct timer timer;
	uint64_t good, bad, hold_ms, enough;
};

static void
upload_wake(struct timer *t)
{
	web_read_more(&CONTAINER(t, struct upload, timer)->body);
}

static void
upload_end(struct upload *u)
{
	loop_timer_stop(port_loop, &u->timer);
	atomic_fetch_sub(&port_uploads, 1);
	mem_free(&u);
}

static bool
upload_piece(struct web_upload *b, struct str bytes, bool last)
{
	struct upload *u = CONTAINER(b, struct upload, body);

	for (size_t i = 0; i < bytes.n; i++) {
		uint64_t at = u->good + u->bad;
		bool good = bytes.p[i] == (char)('a' + at % 26);
		u->good += good;
		u->bad += !good;
	}
	atomic_fetch_add(&port_read, (int)bytes.n);
	if (last || u->good + u->bad >= u->enough) {
		struct str all = arena_printf(web_arena(b->request),
		    "%llu %llu", (unsigned long long)u->good,
		    (unsigned long long)u->bad);
		if (last)
			web_answer(b->request, 200, "text/plain", all);
		else
			web_fail(b->request, 422, "enough", "%s", all.p);
		upload_end(u);
		return true;
	}
	if (u->hold_ms > 0)
		loop_timer_set(port_loop, &u->timer, mono_add_ms(clock_mono(),
		    (int64_t)u->hold_ms));
	return u->hold_ms == 0;
}

static void
upload_cut(struct web_upload *b)
{
	atomic_fetch_add(&port_cut, 1);
	upload_end(CONTAINER(b, struct upload, body));
}

static void
post_upload(struct web_request *r)
{
	struct str value;

	if (web_param(r, "full", &value)) {
		web_fail(r, 507, "full", "there is no room");
		return;
	}
	struct upload *u = mem_new(sizeof(*u));
	u->body.piece = upload_piece;
	u->body.cut = upload_cut;
	u->timer.fire = upload_wake;
	u->enough = UINT64_MAX;
	if (web_param(r, "hold", &value))
		(void)!str_to_u64(value, &u->hold_ms);
	if (web_param(r, "enough", &value))
		(void)!str_to_u64(value, &u->enough);
	atomic_fetch_add(&port_uploads, 1);
	web_read_body(r, &u->body);
}

static struct web_text *text;

static void
get_text(struct web_request *r)
{
	web_answer_text(r, text);
}

static void
get_file(struct web_request *r)
{
	struct str name = web_rest(r);

	web_answer_file(r, arena_printf(web_arena(r), "%s/%.*s", port_folder,
	    STR_FMT(name)).p, "application/gzip", name);
}

/* Its second segment, and every value of v: "a/b:1,2,". */
static void
get_parts(struct web_request *r)
{
	struct buf b = BUF_INIT;
	struct str part, v, none;
	size_t at = 0;

	CHECK(web_segment(r, 1, &part) && !web_segment(r, 3, &none));
	buf_printf(&b, "%.*s:", STR_FMT(part));
	while (web_param_next(r, "v", &at, &v))
		buf_printf(&b, "%.*s,", STR_FMT(v));
	web_answer(r, 200, "text/plain", buf_str(&b));
	buf_free(&b);
}

static void
get_who(struct web_request *r)
{
	const struct token_pass *pass = web_pass(r);

	web_answer(r, 200, "text/plain", str_of(pass == NULL ? "nobody" :
	    pass->name));
}

static void
refuse_plainly(struct web_request *r, int status, const char *code,
    struct str why)
{
	struct str all = arena_printf(web_arena(r), "%s: %.*s", code,
	    STR_FMT(why));

	web_answer(r, status, "text/plain", all);
}

static struct str
get_origins(struct web_request *r)
{
	struct str of;

	return web_param(r, "of", &of) ? STR("null, https://b.org") :
	    STR("https://a.org");
}

static struct str
get_hosts(struct web_request *r)
{
	(void)r;
	return STR("proxy.example,proxy.example:443");
}

/* The value of the cookie "a", and nothing for HEAD. */
static void
get_crumbs(struct web_request *r)
{
	struct str value;

	if (web_is_head(r))
		web_answer(r, 204, NULL, STR(""));
	else if (web_cookie(r, "a", &value))
		web_answer(r, 200, "text/plain", arena_printf(web_arena(r),
		    "a is <%.*s>", STR_FMT(value)));
	else
		web_answer(r, 200, "text/plain", STR("no cookie"));
}

#define ROW(method, path, match, handle, arg, open) { method, path, match, \
	handle, arg, "for tests", open, TOKEN_DOOR_CONSOLE, TOKEN_READ, \
	.early = false }
const struct web_route port_routes[PORT_ROUTES_N] = {
	ROW("GET", "/hello", WEB_EXACT, get_hello, "hello\n", WEB_TO_ALL),
	ROW("POST", "/echo", WEB_EXACT, post_echo, NULL, WEB_TO_ALL),
	ROW("GET", "/param", WEB_EXACT, get_param, NULL, WEB_TO_ALL),
	ROW("GET", "/kept/", WEB_PREFIX, get_kept, NULL, WEB_TO_ALL),
	ROW("POST", "/kept/", WEB_PREFIX, get_kept, NULL, WEB_TO_ALL),
	ROW("POST", "/abort", WEB_EXACT, abort_now, NULL, WEB_TO_ALL),
	ROW("POST", "/abort/kept", WEB_EXACT, abort_later, NULL, WEB_TO_ALL),
	ROW("GET", "/big", WEB_EXACT, get_big, NULL, WEB_TO_ALL),
	ROW("GET", "/none", WEB_EXACT, get_none, NULL, WEB_TO_ALL),
	ROW("GET", "/broken", WEB_EXACT, get_broken, NULL, WEB_TO_ALL),
	ROW("GET", "/pull", WEB_EXACT, get_pull, NULL, WEB_TO_ALL),
	ROW("GET", "/text", WEB_EXACT, get_text, NULL, WEB_TO_ALL),
	ROW("GET", "/file/", WEB_PREFIX, get_file, NULL, WEB_TO_ALL),
	ROW("GET", "/closed", WEB_EXACT, get_hello, "open\n", WEB_TO_NOBODY),
	{ "POST", "/closed", WEB_EXACT, post_echo, NULL, "for tests",
	    WEB_TO_NOBODY, TOKEN_DOOR_CONSOLE, TOKEN_WRITE, .early = false },
	{ "POST", "/own", WEB_EXACT, post_echo, NULL, "for tests",
	    WEB_TO_OWN_PAGES, TOKEN_DOOR_CONSOLE, TOKEN_WRITE, .early = false },
	{ "GET", "/early", WEB_EXACT, get_hello, "early\n", "for tests",
	    WEB_TO_ALL, TOKEN_DOOR_CONSOLE, TOKEN_READ, .early = true },
	ROW("GET", "/parts/*/end", WEB_EXACT, get_parts, NULL, WEB_TO_ALL),
	ROW("GET", "/who", WEB_EXACT, get_who, NULL, WEB_TO_NOBODY),
	{ "POST", "/small", WEB_EXACT, post_echo, NULL, "for tests",
	    WEB_TO_ALL, TOKEN_DOOR_CONSOLE, TOKEN_WRITE, .body_bytes_max = 10,
	    .refuse = refuse_plainly },
	{ "GET", "/pages", WEB_EXACT, get_hello, "shared\n", "for tests",
	    WEB_TO_ALL, TOKEN_DOOR_CONSOLE, TOKEN_READ,
	    .origins = get_origins },
	{ "DELETE", "/pages", WEB_EXACT, get_none, NULL, "for tests",
	    WEB_TO_NOBODY, TOKEN_DOOR_CONSOLE, TOKEN_WRITE,
	    .origins = get_origins },
	{ "GET", "/crumbs", WEB_EXACT, get_crumbs, NULL, "for tests",
	    WEB_TO_ALL, TOKEN_DOOR_CONSOLE, TOKEN_READ,
	    .hosts = get_hosts },
	{ "POST", "/upload", WEB_EXACT, post_upload, NULL, "for tests",
	    WEB_TO_ALL, TOKEN_DOOR_CONSOLE, TOKEN_WRITE, .upload = true,
	    .body_bytes_max = UPLOAD_BYTES_MAX },
	{ "GET", "/ids/add", WEB_EXACT, get_hello, "a word\n", "for tests",
	    WEB_TO_ALL, TOKEN_DOOR_CONSOLE, TOKEN_READ, .ids = true },
	{ "GET", "/ids/*", WEB_EXACT, get_parts, NULL, "for tests",
	    WEB_TO_ALL, TOKEN_DOOR_CONSOLE, TOKEN_READ, .ids = true },
};

/* -- The WebSocket -- */

struct talk {
	struct web_socket *socket;
	struct timer timer;
	uint64_t big;                /* bytes of a message still to come */
};

static void
talk_go_on(struct timer *t)
{
	struct talk *k = CONTAINER(t, struct talk, timer);

	web_socket_hold(k->socket, false);
}

static void *
talk_open(struct web_socket *s)
{
	struct talk *k = mem_new(sizeof(*k));

	k->socket = s;
	k->timer.fire = talk_go_on;
	atomic_fetch_add(&port_opened, 1);
	return k;
}

static void
talk_message(struct web_socket *s, struct str message)
{
	struct talk *k = web_socket_arg(s);
	uint64_t n = 0;

	if (str_eq(message, STR("close"))) {
		web_socket_close(s, 4000, "as you wish");
	} else if (str_starts(message, STR("big ")) &&
	    str_to_u64(str_from(message, 4), &k->big)) {
		web_socket_begin(s, STR(""));
	} else if (str_starts(message, STR("hold ")) &&
	    str_to_u64(str_from(message, 5), &n)) {
		web_socket_hold(s, true);
		loop_timer_set(port_loop, &k->timer,
		    mono_add_ms(clock_mono(), (int64_t)n));
	} else {
		struct str parts[] = { str_cut(message, 0, 1),
		    str_from(message, 1) };
		web_socket_put(s, parts, ARRAY_LEN(parts));
	}
}

static void
talk_room(struct web_socket *s)
{
	static const char x[65536] = { [0 ... 65535] = 'x' };
	struct talk *k = web_socket_arg(s);
	size_t n = (size_t)MIN(MIN(k->big, sizeof(x)), web_socket_room(s));

	if (k->big == 0 || n == 0)
		return;
	k->big -= n;
	if (k->big > 0)
		web_socket_piece(s, (struct str){ x, n });
	else
		web_socket_end(s, (struct str){ x, n });
}

static void
talk_closed(struct web_socket *s, int code)
{
	struct talk *k = web_socket_arg(s);

	loop_timer_stop(port_loop, &k->timer);
	atomic_store(&port_code, code);
	atomic_fetch_add(&port_closed, 1);
	mem_free(&k);
}

static const struct web_socket_events on_socket = { talk_open, talk_message,
	talk_room, talk_closed };
static const struct web_socket_path any_socket = { "*", &on_socket,
	TOKEN_DOOR_REALTIME, NULL };

/* -- The port -- */

void
port_open(const struct web_options *wanted)
{
	static struct buf b;
	struct web_limits limits = WEB_LIMITS_DEFAULT;
	struct web_options o = { .address = NULL };
	struct why w = WHY_INIT;

	limits.body_bytes_max = 100000;
	limits.connections_max = 50;
	limits.drain_ms = 10000;
	if (wanted != NULL)
		o = *wanted;
	if (o.limits == NULL)
		o.limits = &limits;
	if (o.sockets == NULL) {
		o.sockets = &any_socket;
		o.sockets_n = 1;
	}
	system_ignore_sigpipe();
	buf_clear(&b);
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "line %d of a text\n", i);
	text = web_text_new("text/plain", buf_str(&b));
	o.loop = port_loop = loop_new("port");
	if (web_open(&o, port_routes, ARRAY_LEN(port_routes), &port, &w) != OK)
		fail_msg("%s", w.text);
	atomic_store(&port_kept, 0);
	atomic_store(&port_cut, 0);
	atomic_store(&port_read, 0);
	loop_start(port_loop);
}

void
port_close(void)
{
	loop_stop(port_loop);
	loop_join(port_loop);
	web_close(&port);
	assert_null(port);
	if (port_closing != NULL)
		port_closing();
	assert_int_equal(atomic_load(&port_pulls), 0);
	assert_int_equal(atomic_load(&port_uploads), 0);
	assert_int_equal(atomic_load(&port_opened), atomic_load(&port_closed));
	web_text_free(&text);
	loop_free(&port_loop);
}

int
port_setup(void **state)
{
	struct why w = WHY_INIT;

	(void)state;
	snprintf(port_folder, sizeof(port_folder), "/tmp/web_test_%d",
	    (int)getpid());
	assert_int_equal(file_make_dir(port_folder, &w), OK);
	port_open(NULL);
	return 0;
}

int
port_teardown(void **state)
{
	char path[128];

	(void)state;
	port_close();
	snprintf(path, sizeof(path), "%s/a", port_folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/none", port_folder);
	unlink(path);
	rmdir(port_folder);
	return 0;
}

struct errand {
	struct mail mail;
	void (*run)(void);
	sem_t done;
};

static void
run_errand(struct mail *m)
{
	struct errand *e = CONTAINER(m, struct errand, mail);

	e->run();
	sem_post(&e->done);
}

void
port_do(void (*run)(void))
{
	struct errand e = { { NULL, run_errand }, run, { { 0 } } };

	sem_init(&e.done, 0, 0);
	loop_post(port_loop, &e.mail);
	while (sem_wait(&e.done) != 0)
		;
	sem_destroy(&e.done);
}

static struct web_counts counted;

static void
count(void)
{
	web_counts(port, &counted);
}

struct web_counts
port_counts(void)
{
	port_do(count);
	return counted;
}

/* -- A raw client -- */

int
dial(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
	    .sin_port = htons(web_port(port)) };
	struct timeval patience = { .tv_sec = 10 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(connect(fd, (void *)&at, sizeof(at)), 0);
	return fd;
}

void
say(int fd, const char *bytes, size_t n)
{
	while (n > 0) {
		ssize_t r = send(fd, bytes, n, MSG_NOSIGNAL);
		if (r < 0)
			return;
		bytes += r;
		n -= (size_t)r;
	}
}

void
say_text(int fd, const char *words)
{
	say(fd, words, strlen(words));
}

bool
field(const struct answer *a, const char *name, char *out, size_t n)
{
	const char *at = strcasestr(a->head, name);

	if (at == NULL)
		return false;
	at += strlen(name);
	snprintf(out, n, "%.*s", (int)strcspn(at, "\r\n"), at);
	return true;
}

static bool
fill(int fd, struct buf *b)
{
	char part[65536];
	ssize_t n = recv(fd, part, sizeof(part), 0);

	if (n < 0 && errno == EAGAIN)
		fail_msg("no answer for 10 s");
	if (n <= 0)
		return false;
	buf_put(b, part, (size_t)n);
	return true;
}

static void
use(struct buf *b, size_t n)
{
	memmove(b->p, b->p + n, b->n - n);
	b->n -= n;
}

static void
hear_bytes(int fd, struct answer *a, size_t n)
{
	while (a->in.n < n)
		if (!fill(fd, &a->in))
			fail_msg("cut after %zu of %zu", a->in.n, n);
	buf_put(&a->body, a->in.p, n);
	if (n > 0)
		use(&a->in, n);
}

static void
hear_chunks(int fd, struct answer *a)
{
	struct http_chunks k = { .strict = true };

	for (;;) {
		struct str in = buf_str(&a->in);
		enum http_chunks_found found = http_chunks_feed(&k, &in,
		    &a->body, SIZE_MAX);
		use(&a->in, a->in.n - in.n);
		assert_true(found == HTTP_CHUNKS_MORE ||
		    found == HTTP_CHUNKS_END);
		if (found == HTTP_CHUNKS_END)
			return;
		if (!fill(fd, &a->in))
			fail_msg("cut in a chunk");
	}
}

void
hear(int fd, struct answer *a, bool to_head)
{
	size_t end;
	char value[32];
	uint64_t n = 0;

	a->status = 0;
	a->head[0] = '\0';
	buf_clear(&a->body);
	while ((end = str_find(buf_str(&a->in), STR("\r\n\r\n"))) == a->in.n)
		if (!fill(fd, &a->in))
			return;
	if (end >= sizeof(a->head))
		fail_msg("head of %zu: %.300s", end, a->in.p);
	snprintf(a->head, sizeof(a->head), "%.*s", (int)end, a->in.p);
	use(&a->in, end + 4);
	uint64_t status = 0;
	(void)!str_to_u64((struct str){ a->head + 9, 3 }, &status);
	assert_in_range(status, 100, 599);
	a->status = (int)status;
	if (field(a, "content-length: ", value, sizeof(value)))
		assert_true(str_to_u64(str_of(value), &n));
	if (to_head)
		return;
	if (field(a, "transfer-encoding: ", value, sizeof(value)))
		hear_chunks(fd, a);
	else
		hear_bytes(fd, a, (size_t)n);
}

void
hear_all(int fd, struct buf *all)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (poll(&p, 1, 200) == 1 && fill(fd, all))
		;
}

void
answer_free(struct answer *a)
{
	buf_free(&a->in);
	buf_free(&a->body);
}

bool
is_closed(int fd)
{
	char c;
	ssize_t n = recv(fd, &c, 1, 0);

	return n == 0 || (n < 0 && errno != EAGAIN);
}

void
ask(const char *words, struct answer *a)
{
	int fd = dial();

	say_text(fd, words);
	hear(fd, a, strncmp(words, "HEAD", 4) == 0);
	close(fd);
}

void
expect(const char *words, int status, const char *body)
{
	struct answer a = { .status = 0 };

	ask(words, &a);
	if (a.status != status)
		fail_msg("%.60s: %d instead of %d\n%s", words, a.status,
		    status, a.head);
	if (body != NULL && strstr(buf_text(&a.body), body) == NULL)
		fail_msg("%.60s: %s", words, buf_text(&a.body));
	if (status >= 400) {
		assert_non_null(strstr(a.head, "application/json"));
		assert_true(str_starts(buf_str(&a.body),
		    STR("{\"error\":\"")));
		assert_non_null(strstr(buf_text(&a.body), "\"code\":\""));
	}
	if (status != 0)
		assert_non_null(strstr(a.head, "nosniff"));
	answer_free(&a);
}

void
say_upload(int fd, const char *query, size_t n)
{
	struct buf b = BUF_INIT;

	buf_printf(&b, "POST /upload?%s HTTP/1.1\r\n" HOST, query);
	if (n == SIZE_MAX)
		buf_put_text(&b, "Transfer-Encoding: chunked\r\n\r\n");
	else
		buf_printf(&b, "Content-Length: %zu\r\n\r\n", n);
	say(fd, b.p, b.n);
	buf_free(&b);
}

void
say_letters(int fd, size_t at, size_t n, bool chunk)
{
	struct buf b = BUF_INIT;

	if (chunk)
		buf_printf(&b, "%zx\r\n", n);
	char *to = buf_grow(&b, n);
	for (size_t i = 0; i < n; i++)
		to[i] = (char)('a' + (at + i) % 26);
	if (chunk)
		buf_put_text(&b, "\r\n");
	say(fd, b.p, b.n);
	buf_free(&b);
}

/* -- WebSockets -- */

int
dial_socket(struct answer *a)
{
	int fd = dial();

	say_text(fd, "GET /any HTTP/1.1\r\n" HOST UPGRADE "\r\n");
	hear(fd, a, true);
	assert_int_equal(a->status, 101);
	assert_non_null(strstr(a->head, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
	return fd;
}

void
say_frame(int fd, int first, const char *p, size_t n)
{
	static const char mask[] = "\x11\xa2\x33\xc4";
	struct buf b = BUF_INIT;

	buf_put_char(&b, (char)first);
	if (n < 126) {
		buf_put_char(&b, (char)(0x80 | n));
	} else if (n < 65536) {
		buf_put_char(&b, (char)(0x80 | 126));
		buf_put_be16(&b, (uint16_t)n);
	} else {
		buf_put_char(&b, (char)(0x80 | 127));
		buf_put_be64(&b, n);
	}
	buf_put(&b, mask, 4);
	for (size_t i = 0; i < n; i++)
		buf_put_char(&b, (char)(p[i] ^ mask[i % 4]));
	say(fd, b.p, b.n);
	buf_free(&b);
}

int
hear_frame(int fd, struct answer *a)
{
	uint64_t n;
	size_t head = 2;

	buf_clear(&a->body);
	for (;;) {
		struct reader r = reader_of(buf_str(&a->in));
		int first = read_u8(&r);
		n = read_u8(&r);
		assert_true(r.bad || n < 128);
		if (n == 126) {
			n = read_be16(&r);
			head = 4;
		} else if (n == 127) {
			n = read_be64(&r);
			head = 10;
		}
		if (!r.bad) {
			use(&a->in, head);
			hear_bytes(fd, a, (size_t)n);
			return first;
		}
		if (!fill(fd, &a->in))
			return -1;
	}
}

int
hear_close(int fd, struct answer *a)
{
	int first;

	while ((first = hear_frame(fd, a)) >= 0)
		if (first == 0x88)
			return a->body.n < 2 ? 1005 :
			    (uint8_t)a->body.p[0] * 256 +
			    (uint8_t)a->body.p[1];
	return -1;
}
