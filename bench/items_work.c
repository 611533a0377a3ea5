/*
 * items_work -- workers of the items door, over HTTP.
 *
 *     items_work [--NAME N ...] ADDRESS PORT
 *
 * Each connection has a thread, which claims a batch, completes it with one
 * updateData for each pair, and so on, until --seconds are over or nothing is
 * due any more.  It ends by itself; then it prints one line of JSON:
 *
 *     pairs         completions that were answered "applied"
 *     other         completions that were answered otherwise
 *     seconds       from the first claim to the last answer
 *     cpu           processor seconds of this process
 *     claim_p50_us, claim_p99_us, complete_p50_us, complete_p99_us
 *
 * Exit code: 0 all were applied, 1 not, 70 it could not begin, or the server
 * answered with an error.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "bench/run.h"

#define CONNECTIONS_MAX 256
#define TIMED_MAX 200000           /* of each connection */
#define READ_BYTES ((size_t)1 << 16)
#define GRACE_SECONDS 60

/*  name           default  what it is */
#define OPTIONS(X)                                                            \
	X(connections, 4,       "each with a thread")                         \
	X(batch,       100,     "pairs of a claim")                           \
	X(seconds,     5,       "when to stop")                               \
	X(rate,        0,       "pairs per second of all; 0: what they can")
static struct {
#define OPTION_FIELD(name, value, help) uint64_t name;
	OPTIONS(OPTION_FIELD)
#undef OPTION_FIELD
} o = {
#define OPTION_VALUE(name, value, help) .name = value,
	OPTIONS(OPTION_VALUE)
#undef OPTION_VALUE
};

struct worker {
	pthread_t thread;
	unsigned number;
	int fd;
	struct buf in, out, body;    /* `body`: of the request */
	uint32_t *claim_us, *complete_us;
	size_t claims, completes;
	uint64_t pairs, other;
};

static struct sockaddr_in server;
static int64_t began_us;

/* --- one request ---------------------------------------------------------- */

static void
open_connection(struct worker *w)
{
	int on = 1;

	w->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (w->fd < 0 || connect(w->fd, (struct sockaddr *)&server,
	    sizeof(server)) < 0)
		run_fail("connect");
	setsockopt(w->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void
send_request(struct worker *w, const char *path)
{
	buf_clear(&w->out);
	buf_printf(&w->out, "POST %s HTTP/1.1\r\nHost: localhost\r\n"
	    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
	    path, w->body.n);
	buf_put_str(&w->out, buf_str(&w->body));
	for (size_t at = 0; at < w->out.n;) {
		ssize_t n = send(w->fd, w->out.p + at, w->out.n - at,
		    MSG_NOSIGNAL);
		if (n < 0)
			run_fail("send");
		at += (size_t)n;
	}
}

/* The text from `key` to `end`; `*at` moves behind it. */
static bool
take_value(struct str s, size_t *at, struct str key, char end,
    struct str *out)
{
	struct str rest = str_from(s, *at);
	size_t found = str_find(rest, key);

	if (found == rest.n)
		return false;
	rest = str_from(rest, found + key.n);
	*out = str_cut(rest, 0, str_find_char(rest, end));
	*at = (size_t)(out->p + out->n - s.p);
	return true;
}

/* Where the body begins, and how long it is; false: more is needed. */
static bool
parse_head(struct str in, size_t *head_n, uint64_t *body_n)
{
	struct str end = STR("\r\n\r\n"), length;
	size_t at = 0;

	*head_n = str_find(in, end);
	if (*head_n == in.n)
		return false;
	*head_n += end.n;
	if (!str_starts(in, STR("HTTP/1.1 200 ")) || !take_value(str_cut(in, 0,
	    *head_n), &at, STR("content-length: "), '\r', &length) ||
	    !str_to_u64(length, body_n)) {
		fprintf(stderr, "items_work: %.*s\n", (int)MIN(in.n, 800),
		    in.p);
		exit(70);
	}
	return true;
}

/* The body of the answer, valid until the next request. */
static struct str
read_answer(struct worker *w)
{
	size_t head_n = 0;
	uint64_t body_n = 0;
	bool has_head = false;

	buf_clear(&w->in);
	while (!has_head || w->in.n < head_n + body_n) {
		buf_reserve(&w->in, READ_BYTES);
		ssize_t n = recv(w->fd, w->in.p + w->in.n, READ_BYTES, 0);
		if (n <= 0)
			run_fail("the connection is closed");
		w->in.n += (size_t)n;
		has_head = has_head || parse_head(buf_str(&w->in), &head_n,
		    &body_n);
	}
	return str_from(buf_str(&w->in), head_n);
}

static struct str
ask_server(struct worker *w, const char *path, uint32_t *took_us, size_t *n)
{
	int64_t us = run_us(CLOCK_MONOTONIC);

	send_request(w, path);
	struct str answer = read_answer(w);
	us = run_us(CLOCK_MONOTONIC) - us;
	if (*n < TIMED_MAX)
		took_us[(*n)++] = (uint32_t)us;
	return answer;
}

/* --- a worker ------------------------------------------------------------- */

/* Puts a completion of each lease into w->body; how many there are.  Items of
 * this bench contain no quotes. */
static size_t
put_completions(struct worker *w, struct str leases)
{
	struct str lease, id, rev;
	size_t n = 0, at = 0;

	buf_clear(&w->body);
	buf_put_text(&w->body, "{\"completions\":[");
	while (take_value(leases, &at, STR("{\"lease\":\""), '"', &lease) &&
	    take_value(leases, &at, STR("\"item\":{\"id\":\""), '"', &id) &&
	    take_value(leases, &at, STR("\"rev\":"), '}', &rev))
		buf_printf(&w->body, "%s{\"lease\":\"%.*s\",\"outcome\":"
		    "\"success\",\"mutations\":[{\"op\":\"updateData\","
		    "\"id\":\"%.*s\",\"rev\":%.*s,\"data\":{\"url\":"
		    "\"https://shop.example/p\",\"title\":\"Thing %.*s\","
		    "\"price\":12.5}}],\"log\":[]}", n++ > 0 ? "," : "",
		    STR_FMT(lease), STR_FMT(id), STR_FMT(rev), STR_FMT(rev));
	buf_put_text(&w->body, "]}");
	return n;
}

static size_t
claim_batch(struct worker *w)
{
	buf_clear(&w->body);
	buf_printf(&w->body, "{\"worker\":\"w%u\",\"tasks\":[\"*\"],"
	    "\"max\":%llu,\"wait_ms\":0}", w->number,
	    (unsigned long long)o.batch);
	return put_completions(w, ask_server(w, "/worker/claim", w->claim_us,
	    &w->claims));
}

static void
complete_batch(struct worker *w, size_t claimed)
{
	struct str answer = ask_server(w, "/worker/complete", w->complete_us,
	    &w->completes);
	struct str status;
	size_t n = 0, at = 0;

	while (take_value(answer, &at, STR("\"status\":\""), '"', &status))
		n += str_eq(status, STR("applied"));
	w->pairs += n;
	w->other += claimed - n;
}

/* With --rate: until it is time for the next batch. */
static void
keep_rate(const struct worker *w)
{
	if (o.rate == 0)
		return;
	int64_t due = began_us + (int64_t)((w->pairs + w->other) *
	    o.connections * 1000000 / o.rate);
	int64_t now = run_us(CLOCK_MONOTONIC);
	if (due > now)
		usleep((useconds_t)MIN(due - now, 999999));
}

static void *
run_worker(void *arg)
{
	struct worker *w = arg;
	int64_t until = began_us + (int64_t)o.seconds * 1000000;
	size_t claimed;

	open_connection(w);
	while (run_us(CLOCK_MONOTONIC) < until && !run_ended &&
	    (claimed = claim_batch(w)) > 0) {
		complete_batch(w, claimed);
		keep_rate(w);
	}
	close(w->fd);
	return NULL;
}

/* --- all of them ---------------------------------------------------------- */

static int
compare_us(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void
print_times(const char *what, const struct worker *all, bool claims)
{
	static uint32_t *us;
	size_t n = 0;

	us = realloc(us, o.connections * TIMED_MAX * sizeof(*us));
	if (us == NULL)
		run_fail("memory");
	for (size_t i = 0; i < o.connections; i++) {
		const struct worker *w = &all[i];
		size_t more = claims ? w->claims : w->completes;
		memcpy(us + n, claims ? w->claim_us : w->complete_us,
		    more * sizeof(*us));
		n += more;
	}
	us[n] = 0;
	qsort(us, n, sizeof(*us), compare_us);
	printf(",\"%s_p50_us\":%u,\"%s_p99_us\":%u", what, us[n / 2], what,
	    us[n * 99 / 100]);
}

static bool
print_result(const struct worker *all, int64_t took_us)
{
	uint64_t pairs = 0, other = 0;
	struct rusage used;

	for (size_t i = 0; i < o.connections; i++) {
		pairs += all[i].pairs;
		other += all[i].other;
	}
	getrusage(RUSAGE_SELF, &used);
	printf("{\"pairs\":%llu,\"other\":%llu,\"seconds\":%.3f,\"cpu\":%.3f",
	    (unsigned long long)pairs, (unsigned long long)other,
	    (double)took_us / 1e6, (double)(used.ru_utime.tv_sec +
	    used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec +
	    used.ru_stime.tv_usec) / 1e6);
	print_times("claim", all, true);
	print_times("complete", all, false);
	printf("}\n");
	return other == 0 && pairs > 0;
}

static bool
run_workers(void)
{
	struct worker *all = calloc(o.connections, sizeof(*all));

	if (all == NULL)
		run_fail("memory");
	began_us = run_us(CLOCK_MONOTONIC);
	for (unsigned i = 0; i < o.connections; i++) {
		struct worker *w = &all[i];
		w->number = i;
		w->claim_us = calloc(TIMED_MAX + 1, sizeof(uint32_t));
		w->complete_us = calloc(TIMED_MAX + 1, sizeof(uint32_t));
		if (w->claim_us == NULL || w->complete_us == NULL ||
		    pthread_create(&w->thread, NULL, run_worker, w) != 0)
			run_fail("a thread");
	}
	for (unsigned i = 0; i < o.connections; i++)
		pthread_join(all[i].thread, NULL);
	return print_result(all, run_us(CLOCK_MONOTONIC) - began_us);
}

static bool
read_options(int argc, char **argv, const char *places[2])
{
	size_t n = 0;

	for (int i = 1; i < argc; i++) {
		uint64_t *out = NULL;
#define OPTION_READ(name, value, help)                                        \
		if (strcmp(argv[i], "--" #name) == 0)                         \
			out = &o.name;
		OPTIONS(OPTION_READ)
#undef OPTION_READ
		if (out == NULL && n < 2)
			places[n++] = argv[i];
		else if (out == NULL || ++i == argc ||
		    !str_to_u64(str_of(argv[i]), out))
			return false;
	}
	return n == 2 && o.connections > 0 &&
	    o.connections <= CONNECTIONS_MAX && o.batch > 0;
}

int
main(int argc, char **argv)
{
	const char *places[2];
	uint64_t port;

	if (!read_options(argc, argv, places) ||
	    inet_pton(AF_INET, places[0], &server.sin_addr) != 1 ||
	    !str_to_u64(str_of(places[1]), &port) || port > UINT16_MAX) {
		fprintf(stderr, "usage: items_work [--connections N] [--batch "
		    "N] [--seconds N] [--rate N] ADDRESS PORT\n");
		return 64;
	}
	server.sin_family = AF_INET;
	server.sin_port = htons((uint16_t)port);
	run_begin("items_work", (unsigned)o.seconds + GRACE_SECONDS);
	return run_workers() ? 0 : 1;
}
