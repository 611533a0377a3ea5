#include "os/transport_testing.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"

static struct test_run *
run_of(struct exchange *x)
{
	return CONTAINER(x, struct test_run, x);
}

static bool
connected(struct exchange *x, const struct ip *ip)
{
	struct test_run *r = run_of(x);

	r->connected_n++;
	r->connected_to = *ip;
	if (r->stop_in_connected)
		transport_stop(r->t, x);
	return !r->refuse;
}

static bool
head(struct exchange *x, struct str bytes, int status)
{
	struct test_run *r = run_of(x);

	r->heads_n++;
	r->status = status;
	buf_clear(&r->head);
	buf_put_str(&r->head, bytes);
	if (r->start_other != NULL)
		test_run_start(r->start_other);
	if (r->stop_other != NULL)
		transport_stop(r->t, &r->stop_other->x);
	if (r->stop_in_head)
		transport_stop(r->t, x);
	return !r->refuse_head;
}

static bool
body(struct exchange *x, struct str bytes)
{
	struct test_run *r = run_of(x);

	r->body_n += bytes.n;
	if (!r->discard)
		buf_put_str(&r->body, bytes);
	if (r->stop_in_body)
		transport_stop(r->t, x);
	return r->body_n <= r->body_max;
}

static void
done(struct exchange *x, enum transport_end end, struct str detail)
{
	struct test_run *r = run_of(x);

	r->done_n++;
	r->end = end;
	buf_clear(&r->request);
	buf_put_str(&r->request, x->request_sent);
	buf_clear(&r->head_received);
	buf_put_str(&r->head_received, x->head_received);
	snprintf(r->detail, sizeof(r->detail), "%.*s", STR_FMT(detail));
}

void
test_run_open(struct test_run *r, struct transport *t, bool tls,
    const char *host, uint16_t port, const char *path)
{
	static const struct exchange_events events = { connected, head, body,
	    done };

	*r = (struct test_run){ .t = t, .body_max = SIZE_MAX };
	CHECK(ip_from_text(STR("127.0.0.1"), &r->addresses[0]));
	snprintf(r->host, sizeof(r->host), "%s", host);
	snprintf(r->host_header, sizeof(r->host_header), "%s:%u", host, port);
	snprintf(r->url, sizeof(r->url), "http%s://%s:%u%s", tls ? "s" : "",
	    host, port, path);
	r->x = (struct exchange){ .events = &events, .method = STR("GET"),
	    .url = str_of(r->url), .host = str_of(r->host), .port = port,
	    .tls = tls, .verify = true, .headers = r->headers,
	    .addresses = r->addresses, .addresses_n = 1, .connect_ms = 5000,
	    .total_ms = 5000, .head_bytes_max = 65536 };
	test_run_header(r, "Host", r->host_header);
}

void
test_run_header(struct test_run *r, const char *name, const char *value)
{
	CHECK(r->x.headers_n < TEST_HEADERS_MAX);
	r->headers[r->x.headers_n++] = (struct transport_header){
	    str_of(name), str_of(value) };
}

void
test_run_start(struct test_run *r)
{
	transport_start(r->t, &r->x);
}

static void
turn(struct loop *l)
{
	struct timespec pause = { .tv_nsec = 200000 };

	if (!loop_step(l))
		nanosleep(&pause, NULL);
}

void
test_runs_finish(struct loop *l, struct test_run **runs, size_t n)
{
	struct mono until = mono_add_ms(clock_mono(), 30000);

	for (size_t i = 0; i < n; i++)
		while (runs[i]->done_n == 0) {
			turn(l);
			CHECK(mono_before(clock_mono(), until));
		}
}

void
test_run_whole(struct loop *l, struct test_run *r)
{
	test_run_start(r);
	test_runs_finish(l, &r, 1);
}

void
test_run_free(struct test_run *r)
{
	buf_free(&r->head);
	buf_free(&r->body);
	buf_free(&r->request);
	buf_free(&r->head_received);
}

void
test_loop_for(struct loop *l, int ms)
{
	struct mono until = mono_add_ms(clock_mono(), ms);

	while (mono_before(clock_mono(), until))
		turn(l);
}

struct served {
	struct test_server *s;
	int fd;
};

static void *
serve_one(void *arg)
{
	struct served *one = arg;

	one->s->serve(one->s, one->fd);
	close(one->fd);
	mem_free(&one);
	return NULL;
}

static void *
accept_all(void *arg)
{
	struct test_server *s = arg;
	int fd;

	while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
		struct served *one = mem_new(sizeof(*one));
		CHECK(s->accepted < TEST_SERVED_MAX);
		one->s = s;
		one->fd = fd;
		/* Counted before it is served: a test may look at it then. */
		CHECK(pthread_create(&s->served[s->accepted++], NULL,
		    serve_one, one) == 0);
	}
	return NULL;
}

bool
test_server_open(struct test_server *s, const char *address,
    void (*serve)(struct test_server *, int fd))
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	bool is_v6 = address != NULL &&
	    inet_pton(AF_INET6, address, &v6.sin6_addr) == 1;
	struct sockaddr *a = is_v6 ? (struct sockaddr *)&v6 :
	    (struct sockaddr *)&v4;
	socklen_t n = is_v6 ? sizeof(v6) : sizeof(v4);

	s->serve = serve;
	s->got_n = 0;
	s->accepted = s->flag = 0;
	if (!is_v6)
		CHECK(inet_pton(AF_INET, address == NULL ? "127.0.0.1" :
		    address, &v4.sin_addr) == 1);
	s->fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		return false;
	if (bind(s->fd, a, n) != 0 || listen(s->fd, 64) != 0 ||
	    getsockname(s->fd, a, &n) != 0) {
		close(s->fd);
		return false;
	}
	s->port = ntohs(is_v6 ? v6.sin6_port : v4.sin_port);
	CHECK(pthread_create(&s->thread, NULL, accept_all, s) == 0);
	return true;
}

void
test_server_close(struct test_server *s)
{
	shutdown(s->fd, SHUT_RDWR);
	CHECK(pthread_join(s->thread, NULL) == 0);
	for (int i = 0; i < s->accepted; i++)
		CHECK(pthread_join(s->served[i], NULL) == 0);
	close(s->fd);
}

bool
test_server_read(struct test_server *s, int fd)
{
	size_t from = s->got_n;

	while (s->got_n < sizeof(s->got)) {
		if (recv(fd, s->got + s->got_n, 1, 0) != 1)
			return false;
		s->got_n++;
		if (s->got_n - from >= 4 &&
		    memcmp(s->got + s->got_n - 4, "\r\n\r\n", 4) == 0)
			return true;
	}
	return false;
}

bool
test_server_read_n(struct test_server *s, int fd, size_t n)
{
	while (n > 0 && s->got_n < sizeof(s->got)) {
		ssize_t got = recv(fd, s->got + s->got_n,
		    MIN(n, sizeof(s->got) - s->got_n), 0);
		if (got <= 0)
			return false;
		s->got_n += (size_t)got;
		n -= (size_t)got;
	}
	return n == 0;
}

void
test_send_n(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n > 0) {
		ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
		if (sent <= 0)
			return;
		at += sent;
		n -= (size_t)sent;
	}
}

void
test_wait_sent(int fd)
{
	struct mono until = mono_add_ms(clock_mono(), 20000);
	struct timespec pause = { .tv_nsec = 200000 };
	int left;
	char c;

	while (ioctl(fd, TIOCOUTQ, &left) == 0 && left > 0 &&
	    mono_before(clock_mono(), until)) {
		/* A peer that has closed acknowledges nothing more. */
		ssize_t got = recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT);
		if (got == 0 || (got < 0 && errno != EAGAIN))
			return;
		nanosleep(&pause, NULL);
	}
}

void
test_send(int fd, const char *text)
{
	test_send_n(fd, text, strlen(text));
}
