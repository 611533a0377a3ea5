#include "engine/control/engine_testing.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/log.h"

#define WAIT_S 20
#define CONNECTIONS_MAX 256

/* --- the web ------------------------------------------------------------- */

struct connection {
	struct rig_web *web;
	int fd;
	pthread_t thread;
	bool used;
};

struct asked {
	struct str path;
	uint64_t n;
};

struct rig_web {
	rig_site_fn *site;
	int listener;
	pthread_t thread;
	pthread_mutex_t lock;
	struct connection connections[CONNECTIONS_MAX];
	struct map asked;            /* path -> struct asked */
	struct arena arena;
	uint64_t requests;
};

static void
count(struct rig_web *w, struct str path)
{
	pthread_mutex_lock(&w->lock);
	struct asked *a = map_get(&w->asked, path);
	if (a == NULL) {
		a = ARENA_NEW(&w->arena, struct asked);
		a->path = arena_copy(&w->arena, path);
		map_put(&w->asked, a->path, a);
	}
	a->n++;
	w->requests++;
	pthread_mutex_unlock(&w->lock);
}

static bool
send_all(int fd, struct str bytes)
{
	while (bytes.n > 0) {
		ssize_t n = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
		bytes = str_from(bytes, (size_t)n);
	}
	return true;
}

static bool
answer(struct connection *c, struct str path, struct str cookie)
{
	struct rig_page p = { .status = 200, .type = "text/html",
	    .cookie = cookie };
	struct buf out = BUF_INIT;

	count(c->web, path);
	if (str_eq(path, STR("/robots.txt")))
		p.status = 404;
	c->web->site(path, &p);
	struct timespec wait = { p.delay_ms / 1000,
	    p.delay_ms % 1000 * 1000000L };
	if (p.delay_ms > 0)
		nanosleep(&wait, NULL);
	buf_printf(&out, "HTTP/1.1 %d Said\r\nContent-Type: %s\r\n"
	    "Content-Length: %zu\r\n", p.status, p.type, p.body.n);
	buf_put_str(&out, buf_str(&p.head));
	buf_put_text(&out, "\r\n");
	buf_put_str(&out, buf_str(&p.body));
	bool fine = !p.drop && send_all(c->fd, buf_str(&out));
	buf_free(&out);
	buf_free(&p.head);
	buf_free(&p.body);
	return fine;
}

static struct str
cookie_of(struct str head)
{
	static const char name[] = "\r\nCookie: ";
	size_t at = str_find(head, str_of(name));
	struct str rest = str_from(head, MIN(at + strlen(name), head.n));

	return str_cut(rest, 0, str_find(rest, STR("\r\n")));
}

/* One request after the other; all are GETs without a body. */
static void *
serve_one(void *arg)
{
	struct connection *c = arg;
	struct buf in = BUF_INIT;
	bool fine = true;

	while (fine) {
		char *room = buf_grow(&in, 4096);
		ssize_t n = recv(c->fd, room, 4096, 0);
		in.n -= 4096 - (size_t)MAX(n, 0);
		size_t end = str_find(buf_str(&in), STR("\r\n\r\n"));
		fine = n > 0;
		if (end == in.n)
			continue;
		struct str rest = buf_str(&in), path, cookie = cookie_of(rest);
		str_split(&rest, ' ', &path);
		str_split(&rest, ' ', &path);
		fine = answer(c, path, cookie);
		buf_clear(&in);
	}
	shutdown(c->fd, SHUT_RDWR);
	buf_free(&in);
	return NULL;
}

static struct connection *
free_one(struct rig_web *w)
{
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		if (!w->connections[i].used)
			return &w->connections[i];
	return NULL;
}

static void *
serve_all(void *arg)
{
	struct rig_web *w = arg;
	int fd;

	while ((fd = accept(w->listener, NULL, NULL)) >= 0) {
		struct connection *c = free_one(w);
		CHECK(c != NULL);
		c->web = w;
		c->fd = fd;
		c->used = true;
		CHECK(pthread_create(&c->thread, NULL, serve_one, c) == 0);
	}
	return NULL;
}

static struct rig_web *
web_new(rig_site_fn *site, uint16_t *port)
{
	struct rig_web *w = mem_new(sizeof(*w));
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);

	w->site = site;
	pthread_mutex_init(&w->lock, NULL);
	w->listener = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(bind(w->listener, (struct sockaddr *)(void *)&a, n) == 0 &&
	    listen(w->listener, 64) == 0 && getsockname(w->listener,
	    (struct sockaddr *)(void *)&a, &n) == 0);
	*port = ntohs(a.sin_port);
	CHECK(pthread_create(&w->thread, NULL, serve_all, w) == 0);
	return w;
}

static void
web_free(struct rig_web **wp)
{
	struct rig_web *w = *wp;

	shutdown(w->listener, SHUT_RDWR);
	pthread_join(w->thread, NULL);
	close(w->listener);
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &w->connections[i];
		if (!c->used)
			continue;
		shutdown(c->fd, SHUT_RDWR);
		pthread_join(c->thread, NULL);
		close(c->fd);
	}
	map_free(&w->asked);
	arena_free(&w->arena);
	pthread_mutex_destroy(&w->lock);
	mem_free(wp);
}

uint64_t
rig_requests(struct rig *r, const char *path)
{
	struct rig_web *w = r->web;

	pthread_mutex_lock(&w->lock);
	const struct asked *a = path == NULL ? NULL :
	    map_get(&w->asked, str_of(path));
	uint64_t n = path == NULL ? w->requests : a == NULL ? 0 : a->n;
	pthread_mutex_unlock(&w->lock);
	return n;
}

struct str
rig_url(struct rig *r, const char *path)
{
	return arena_printf(&r->arena, "http://127.0.0.1:%u%s", r->port,
	    path);
}

/* --- the engine ---------------------------------------------------------- */

static void
must(enum err e, const struct why *w)
{
	if (e != OK)
		fail_msg("%s: %s", err_name(e), w->text);
}

static void
viewed(void *arg, const struct crawl_view *v)
{
	struct rig *r = arg;

	r->views++;
	r->view = *v;
}

void
rig_open(struct rig *r, rig_site_fn *site, const char *const *set)
{
	struct why w = WHY_INIT;

	memset(r, 0, sizeof(*r));
	log_open(getenv("RIG_LOG") == NULL ? LOG_OFF : LOG_INFO, 2, false);
	snprintf(r->dir, sizeof(r->dir), "rig.XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	r->web = web_new(site, &r->port);
	conf_init(&r->conf);
	must(conf_flag(&r->conf, STR("fetch.allow_private=on"), &w), &w);
	for (; set != NULL && *set != NULL; set++)
		must(conf_flag(&r->conf, str_of(*set), &w), &w);
}

static void
go_on(struct rig *r)
{
	struct crawl_request q = { .spec.operator_seeds = true };
	struct why w = WHY_INIT;
	struct crawl_view v;
	size_t at = 0;

	while (engine_next_view(r->engine, &at, &v))
		if (v.state == CRAWL_RUNNING || v.state == CRAWL_PAUSED ||
		    v.state == CRAWL_PENDING)
			must(engine_continue(r->engine, v.id, &q, &w), &w);
}

void
rig_start(struct rig *r)
{
	struct why w = WHY_INIT;

	r->home = loop_new("home");
	struct engine_options o = {
		.conf = &r->conf, .home = r->home, .data_dir = r->dir,
		.loops = 2, .doors = true, .view = viewed, .arg = r,
	};

	if (r->loops != 0)
		o.loops = r->loops;
	must(engine_open(&o, &r->engine, &w), &w);
	if (r->opened != NULL)
		r->opened(r);
	else
		go_on(r);
	engine_start(r->engine);
}

static void
closed(void *arg)
{
	*(bool *)arg = true;
}

/* Under ASan: what was on its way between the engine's parts is no leak. */
static bool crashed;
int __lsan_is_turned_off(void);

int
__lsan_is_turned_off(void)
{
	return crashed;
}

static void
end(struct rig *r)
{
	engine_free(&r->engine);
	if (r->freed != NULL)
		r->freed(r);
	loop_free(&r->home);
}

void
rig_stop(struct rig *r)
{
	bool done = false;

	engine_close(r->engine, closed, &done);
	loop_run_until(r->home, &done);
	end(r);
}

void
rig_crash(struct rig *r)
{
	crashed = true;
	end(r);
}

void
rig_close(struct rig *r)
{
	char command[100];

	if (r->engine != NULL)
		rig_stop(r);
	web_free(&r->web);
	conf_free(&r->conf);
	arena_free(&r->arena);
	snprintf(command, sizeof(command), "rm -rf %s", r->dir);
	assert_int_equal(system(command), 0);
}

/* --- waiting ------------------------------------------------------------- */

struct waiting {
	struct timer timer;
	struct rig *rig;
	bool (*is)(struct rig *, void *);
	void *arg;
	bool done, late;
	struct mono until;
};

static void
look(struct timer *t)
{
	struct waiting *w = CONTAINER(t, struct waiting, timer);
	struct mono now = clock_mono();

	w->late = mono_before(w->until, now);
	w->done = w->late || w->is(w->rig, w->arg);
	if (!w->done)
		loop_timer_set(w->rig->home, t, mono_add_ms(now, 1));
}

void
rig_until(struct rig *r, bool (*is)(struct rig *, void *), void *arg)
{
	struct waiting w = { .timer.fire = look, .rig = r, .is = is,
	    .arg = arg, .until = mono_add_ms(clock_mono(), WAIT_S * 1000) };

	loop_timer_set(r->home, &w.timer, clock_mono());
	loop_run_until(r->home, &w.done);
	if (w.late)
		fail_msg("it did not happen within %d s", WAIT_S);
}

bool
rig_is_set(struct rig *r, void *flag)
{
	(void)r;
	return *(bool *)flag;
}

struct state_wanted {
	uint32_t crawl;
	enum crawl_state state;
};

static bool
is_in_state(struct rig *r, void *arg)
{
	const struct state_wanted *s = arg;
	const struct crawl_row *row = crawl_row(engine_registry(r->engine),
	    s->crawl);

	return row != NULL && row->view.state == s->state;
}

void
rig_until_state(struct rig *r, uint32_t crawl, enum crawl_state state)
{
	struct state_wanted s = { crawl, state };

	rig_until(r, is_in_state, &s);
}

/* --- verbs --------------------------------------------------------------- */

static void
launched(struct launch *l)
{
	*(bool *)l->arg = true;
}

void
rig_say_launch(struct rig *r, struct launch *l)
{
	bool done = false;

	l->arg = &done;
	l->done = launched;
	crawl_launch(r->engine, l);
	RIG_UNTIL_DONE(r, done);
}

uint32_t
rig_launch(struct rig *r, const char *path, const char *policy_json)
{
	struct launch_seed seed = { rig_url(r, path), 0 };
	struct launch l = { .seeds = &seed, .seeds_n = 1,
	    .spec.policy = str_of(policy_json) };

	rig_say_launch(r, &l);
	must(l.why.err, &l.why);
	return l.crawl;
}

static void
ordered(struct crawl_order *o)
{
	*(bool *)o->arg = true;
}

void
rig_steer(struct rig *r, uint32_t crawl, enum crawl_state want,
    struct crawl_order *o)
{
	bool done = false;

	*o = (struct crawl_order){ .crawl = crawl, .want = want,
	    .reason = "by a client", .done = ordered, .arg = &done };
	crawl_set_state(r->engine, o);
	RIG_UNTIL_DONE(r, done);
}
