/*
 * platforms -- a simulator of social platforms, for tests of harvests.
 *
 *     platforms [--port N] [--ca FILE] [--seed N] [--items N]
 *         [--clock real|frozen|xN] [--start DATE] [--budget N]
 *         [--faults FILE] [--log FILE] [--seconds N] [--hosts]
 *
 * It listens on 127.0.0.1 by TLS, prints "seed N", "port N", "ca FILE" and
 * "ready", and ends by itself after --seconds (3600).  A platform is chosen by
 * the host of a request; --hosts prints all and ends.  The world is made from
 * the seed: the same seed, date and number of items make the same world.  See
 * DESIGN.md for the world, the fault plan and the calls of tests.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/option.h"
#include "tests/platforms/platforms.h"

const struct platform *const platforms[] = { &bluesky_platform,
	&declared_platform, &feed_platform, &flickr_platform,
	&mastodon_platform, &tumblr_platform, &twitter_platform,
	&weibo_platform, &youtube_platform, NULL };

#define OPTIONS(X)                                                           \
	X(PORT, "port", 0, "N", NUMBER, 0, 65535, "listen there; 0: any")    \
	X(CA, "ca", 0, "FILE", PATH, 0, 0,                                   \
	    "write the authority's certificate there")                       \
	X(SEED, "seed", 0, "N", NUMBER, 0, INT64_MAX, "make this world")     \
	X(ITEMS, "items", 0, "N", NUMBER, 1, 100000,                         \
	    "items of the longest list")                                     \
	X(CLOCK, "clock", 0, "MODE", TEXT, 0, 0, "real, frozen or xN")       \
	X(START, "start", 0, "DATE", TEXT, 0, 0, "the clock's first date")   \
	X(BUDGET, "budget", 0, "N", NUMBER, 1, INT64_MAX,                    \
	    "calls of every budget in its period")                           \
	X(FAULTS, "faults", 0, "FILE", PATH, 0, 0, "the fault plan")         \
	X(LOG, "log", 0, "FILE", PATH, 0, 0, "log requests there")           \
	X(SECONDS, "seconds", 0, "N", NUMBER, 1, 86400,                      \
	    "end after so long")                                             \
	X(HOSTS, "hosts", 0, NULL, FLAG, 0, 0, "print all hosts and end")
enum { OPTIONS(OPTION_ENUM) OPTIONS_N };
static const struct option_row rows[] = { OPTIONS(OPTION_ROW) };
static const struct option_verb verb = { .name = "platforms",
	.summary = "simulates social platforms", .rows = rows,
	.rows_n = ARRAY_LEN(rows) };

static struct options given;

static NORETURN void
die(const char *what, const char *detail)
{
	fprintf(stderr, "platforms: %s: %s\n", what, detail);
	exit(2);
}

static void
read_file(const char *path, struct buf *out)
{
	FILE *f = fopen(path, "rb");
	char part[4096];
	size_t n;

	if (f == NULL)
		die(path, strerror(errno));
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		buf_put(out, part, n);
	fclose(f);
}

static NORETURN void
end_late(int number)
{
	static const char text[] = "platforms: --seconds are over\n";

	(void)number;
	_exit(write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ? 2 : 1);
}

/* ---- Connections ------------------------------------------------------- */

static void *
serve_thread(void *arg)
{
	serve_connection((int)(intptr_t)arg);
	return NULL;
}

static NORETURN void
serve(int listener)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int yes = 1;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, 256 << 10);
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		if (fd < 0)
			continue;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
		if (pthread_create(&thread, &attributes, serve_thread,
		    (void *)(intptr_t)fd) != 0)
			close(fd);
	}
}

static int
listen_at(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int yes = 1, fd = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 ||
	    listen(fd, 128) != 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &n) != 0)
		die("listen", strerror(errno));
	printf("port %u\n", ntohs(a.sin_port));
	return fd;
}

/* ---- Beginning --------------------------------------------------------- */

/* "DNS:a,DNS:b", or a name a line. */
static void
put_hosts(struct buf *out, const char *before, const char *after)
{
	for (size_t i = 0; platforms[i] != NULL; i++)
		for (const char *const *h = platforms[i]->hosts; *h != NULL;
		    h++)
			buf_printf(out, "%s%s%s", before, *h, after);
}

static void
begin_world(void)
{
	const char *mode = option_text(&given, OPTION_ID_CLOCK, "real");
	const char *start = option_text(&given, OPTION_ID_START, NULL);
	uint64_t seed = (uint64_t)option_number(&given, OPTION_ID_SEED, 1);

	if (!clock_set(mode, start))
		die(mode, "no clock, or no date of --start");
	printf("seed %llu\n", (unsigned long long)seed);
	for (size_t i = 0; platforms[i] != NULL; i++)
		platforms[i]->make(seed, clock_wall(),
		    (unsigned)option_number(&given, OPTION_ID_ITEMS, 500));
	budget_set((uint64_t)option_number(&given, OPTION_ID_BUDGET, 0));
}

static void
read_faults(const char *path)
{
	FREED(buf_free) struct buf plan = BUF_INIT;
	char sentence[200];

	read_file(path, &plan);
	if (!fault_plan(buf_str(&plan), sentence))
		die(path, sentence);
}

static void
make_certificate(const char *ca_file)
{
	FREED(buf_free) struct buf names = BUF_INIT;

	buf_put_text(&names, "IP:127.0.0.1");
	put_hosts(&names, ",DNS:", "");
	if (!tls_make(ca_file, buf_text(&names)))
		die(ca_file, strerror(errno));
	printf("ca %s\n", ca_file);
}

int
main(int argc, char **argv)
{
	struct buf text = BUF_INIT;
	struct why w = WHY_INIT;

	if (options_read(&verb, argc - 1, (const char *const *)argv + 1, &given,
	    &w) != OK)
		die("options", w.text);
	if (option_count(&given, OPTION_ID_HOSTS) > 0) {
		put_hosts(&text, "", "\n");
		fputs(buf_text(&text), stdout);
		buf_free(&text);
		return 0;
	}
	signal(SIGPIPE, SIG_IGN);
	/* Longer than ./test lets a script run. */
	signal(SIGALRM, end_late);
	alarm((unsigned)option_number(&given, OPTION_ID_SECONDS, 3600));
	begin_world();
	if (option_count(&given, OPTION_ID_FAULTS) > 0)
		read_faults(option_text(&given, OPTION_ID_FAULTS, NULL));
	if (option_count(&given, OPTION_ID_LOG) > 0) {
		FILE *f = fopen(option_text(&given, OPTION_ID_LOG, NULL), "a");
		if (f == NULL)
			die("--log", strerror(errno));
		serve_log_to(f);
	}
	int listener = listen_at((uint16_t)option_number(&given,
	    OPTION_ID_PORT, 0));
	make_certificate(option_text(&given, OPTION_ID_CA, "platforms-ca.pem"));
	printf("ready\n");
	fflush(stdout);
	serve(listener);
}
