#include "os/web_testing.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

/* -- A port with a few doors, and an engine that answers kept requests -- */

struct question {
	struct mail mail;
	struct timer timer;
	struct web_request *request;
	struct str name;
};

struct loop *port_engine;
struct web *port;
atomic_int port_kept;

static void
answer_question(struct mail *m)
{
	struct question *q = CONTAINER(m, struct question, mail);

	web_answer(q->request, 200, "text/plain", q->name);
	free((void *)(uintptr_t)q->name.p);
	free(q);
}

static void
thought(struct timer *t)
{
	struct question *q = CONTAINER(t, struct question, timer);

	q->mail.deliver = answer_question;
	web_post(port, &q->mail);
}

static void
think(struct mail *m)
{
	struct question *q = CONTAINER(m, struct question, mail);

	atomic_fetch_add(&port_kept, 1);
	q->timer.fire = thought;
	/* "fast" at once; else after so many milliseconds. */
	uint64_t ms = 0;
	str_to_u64(q->name, &ms);
	if (ms == 0)
		thought(&q->timer);
	else
		loop_timer_set(port_engine, &q->timer,
		    mono_add_ms(clock_mono(), (int64_t)ms));
}

static void
get_kept(struct web_request *r)
{
	struct question *q = mem_new(sizeof(*q));
	struct str rest = web_rest(r);

	q->request = r;
	q->name = (struct str){ memcpy(mem_new(rest.n + 1), rest.p, rest.n),
	    rest.n };
	q->mail.deliver = think;
	loop_post(port_engine, &q->mail);
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
	web_field(r, "user-agent", &agent);
	web_field(r, "x-odd", &odd);
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

	why(&w, ERR_ABSENT, "no crawl %d", 7);
	web_fail_why(r, w.err, &w);
}

const struct web_route port_routes[PORT_ROUTES_N] = {
	{ "GET", "/hello", WEB_EXACT, get_hello, "hello\n", "greets" },
	{ "POST", "/echo", WEB_EXACT, post_echo, NULL, "sends back" },
	{ "GET", "/param", WEB_EXACT, get_param, NULL, "reads parameters" },
	{ "GET", "/kept/", WEB_PREFIX, get_kept, NULL, "answers later" },
	{ "POST", "/kept/", WEB_PREFIX, get_kept, NULL, "answers later" },
	{ "GET", "/big", WEB_EXACT, get_big, NULL, "much" },
	{ "GET", "/none", WEB_EXACT, get_none, NULL, "nothing" },
	{ "GET", "/broken", WEB_EXACT, get_broken, NULL, "fails" },
};

void
port_open(const struct web_options *o)
{
	struct why w = WHY_INIT;

	if (web_open(o, port_routes, ARRAY_LEN(port_routes), &port, &w) != OK)
		fail_msg("%s", w.text);
	port_engine = loop_new("engine");
	loop_start(port_engine);
	atomic_store(&port_kept, 0);
}

void
port_close(void)
{
	web_stop(port);
	loop_stop(port_engine);
	loop_join(port_engine);
	web_close(&port);
	loop_free(&port_engine);
	assert_null(port);
}

int
port_setup(void **state)
{
	static const struct web_options o = { .body_bytes_max = 100000,
	    .connections_max = 50, .drain_s_max = 10 };

	(void)state;
	port_open(&o);
	return 0;
}

int
port_teardown(void **state)
{
	(void)state;
	port_close();
	return 0;
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
say(int fd, const char *text, size_t n)
{
	while (n > 0) {
		ssize_t r = send(fd, text, n, MSG_NOSIGNAL);
		if (r < 0)
			return;
		text += r;
		n -= (size_t)r;
	}
}

void
say_text(int fd, const char *text)
{
	say(fd, text, strlen(text));
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

void
hear(int fd, struct answer *a, bool to_head)
{
	size_t end;
	char length[32];
	uint64_t n = 0;

	a->status = 0;
	a->head[0] = '\0';
	buf_clear(&a->body);
	while ((end = str_find(buf_str(&a->in), STR("\r\n\r\n"))) == a->in.n)
		if (!fill(fd, &a->in))
			return;
	assert_true(end < sizeof(a->head));
	snprintf(a->head, sizeof(a->head), "%.*s", (int)end, a->in.p);
	use(&a->in, end + 4);
	uint64_t status = 0;
	str_to_u64((struct str){ a->head + 9, 3 }, &status);
	assert_in_range(status, 100, 599);
	a->status = (int)status;
	if (field(a, "content-length: ", length, sizeof(length)))
		assert_true(str_to_u64(str_of(length), &n));
	if (to_head)
		return;
	while (a->in.n < n)
		if (!fill(fd, &a->in))
			fail_msg("cut after %zu of %llu", a->in.n,
			    (unsigned long long)n);
	buf_put(&a->body, a->in.p, n);
	if (n > 0)
		use(&a->in, n);
}

void
hear_all(int fd, struct buf *all)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (poll(&p, 1, 50) == 1 && fill(fd, all))
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

	return recv(fd, &c, 1, 0) <= 0 && errno != EAGAIN;
}

void
ask(const char *text, struct answer *a)
{
	int fd = dial();

	say_text(fd, text);
	hear(fd, a, strncmp(text, "HEAD", 4) == 0);
	close(fd);
}

void
expect(const char *text, int status, const char *body)
{
	struct answer a = { .status = 0 };

	ask(text, &a);
	if (a.status != status)
		fail_msg("%.60s: %d instead of %d\n%s", text, a.status, status,
		    a.head);
	if (body != NULL && strstr(buf_text(&a.body), body) == NULL)
		fail_msg("%.60s: %s", text, buf_text(&a.body));
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
