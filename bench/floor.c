/*
 * floor -- the least that a crawl can cost: fetch a list of URLs, do nothing
 * with them.  No links are sought, nothing is kept.
 *
 *     floor [--epoll] [--connections 8] [--ca PEM] [--pages N] BASE FILE
 *
 * BASE is "http://ADDRESS:PORT" or, with the server's certificate as PEM,
 * "https://ADDRESS:PORT".  FILE has one path per line; with --pages only the
 * first N count.  Without --epoll libcurl does it, by its multi_socket
 * interface on one epoll loop; with --epoll a client of a page of C, without
 * TLS.  Connections are kept, if the server keeps them.  It prints
 * "fetched N failed N bytes N".
 */
#include "bench/floor.h"

#include <curl/curl.h>
#include <errno.h>
#include <sys/epoll.h>
#include <time.h>

struct client {
	struct floor_task *task;
	CURLM *multi;
	int epoll;
	long timeout_ms;           /* -1: none */
	CURL *easy[FLOOR_CONNECTIONS_MAX];
	size_t running;
};

static void
fail(const char *what, const char *why)
{
	fprintf(stderr, "floor: %s: %s\n", what, why);
	exit(70);
}

const char *
floor_next(struct floor_task *t)
{
	return t->next < t->paths_n ? t->paths[t->next++] : NULL;
}

static size_t
take_body(char *p, size_t size, size_t n, void *arg)
{
	struct floor_task *t = arg;

	(void)p;
	t->bytes += size * n;
	return size * n;
}

static int
socket_changed(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
	struct client *c = arg;
	struct epoll_event e = { .data.fd = fd };

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(c->epoll, EPOLL_CTL_DEL, fd, NULL);
		curl_multi_assign(c->multi, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		e.events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		e.events |= EPOLLOUT;
	epoll_ctl(c->epoll, known == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd,
	    &e);
	curl_multi_assign(c->multi, fd, c);
	return 0;
}

static int
timer_changed(CURLM *multi, long ms, void *arg)
{
	struct client *c = arg;

	(void)multi;
	c->timeout_ms = ms;
	return 0;
}

static bool
begin(struct client *c, CURL *easy)
{
	const char *path = floor_next(c->task);
	char url[2048];

	if (path == NULL)
		return false;
	snprintf(url, sizeof(url), "%s%s", c->task->base, path);
	curl_easy_setopt(easy, CURLOPT_URL, url);
	if (curl_multi_add_handle(c->multi, easy) != CURLM_OK)
		fail("curl_multi_add_handle", url);
	c->running++;
	return true;
}

static void
take_finished(struct client *c)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(c->multi, &left)) != NULL) {
		long status = 0;
		CURL *easy = m->easy_handle;
		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
		if (m->data.result == CURLE_OK && status == 200)
			c->task->fetched++;
		else
			c->task->failed++;
		curl_multi_remove_handle(c->multi, easy);
		c->running--;
		(void)begin(c, easy);
	}
}

static void
open_handles(struct client *c)
{
	for (size_t i = 0; i < c->task->connections; i++) {
		CURL *easy = curl_easy_init();
		if (easy == NULL)
			fail("curl_easy_init", "no memory");
		curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
		curl_easy_setopt(easy, CURLOPT_WRITEDATA, c->task);
		curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
		curl_easy_setopt(easy, CURLOPT_PROXY, "");
		curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
		    CURL_HTTP_VERSION_1_1);
		if (c->task->ca != NULL)
			curl_easy_setopt(easy, CURLOPT_CAINFO, c->task->ca);
		c->easy[i] = easy;
		(void)begin(c, easy);
	}
}

static void
turn(struct client *c)
{
	struct epoll_event events[64];
	long ms = c->timeout_ms < 0 || c->timeout_ms > 1000 ? 1000 :
	    c->timeout_ms;
	int running;
	int n = epoll_wait(c->epoll, events, ARRAY_LEN(events), (int)ms);

	if (n < 0 && errno != EINTR)
		fail("epoll_wait", strerror(errno));
	for (int i = 0; i < n; i++) {
		int what = (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT :
		    0) | (events[i].events & ~(uint32_t)EPOLLOUT ?
		    CURL_CSELECT_IN : 0);
		curl_multi_socket_action(c->multi, events[i].data.fd, what,
		    &running);
	}
	if (n <= 0 || c->timeout_ms == 0) {
		c->timeout_ms = -1;
		curl_multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0,
		    &running);
	}
	take_finished(c);
}

void
floor_curl(struct floor_task *t)
{
	struct client c = { .task = t, .timeout_ms = -1 };

	curl_global_init(CURL_GLOBAL_DEFAULT);
	c.epoll = epoll_create1(EPOLL_CLOEXEC);
	c.multi = curl_multi_init();
	if (c.epoll < 0 || c.multi == NULL)
		fail("curl_multi_init", "no memory");
	curl_multi_setopt(c.multi, CURLMOPT_SOCKETFUNCTION, socket_changed);
	curl_multi_setopt(c.multi, CURLMOPT_SOCKETDATA, &c);
	curl_multi_setopt(c.multi, CURLMOPT_TIMERFUNCTION, timer_changed);
	curl_multi_setopt(c.multi, CURLMOPT_TIMERDATA, &c);
	curl_multi_setopt(c.multi, CURLMOPT_MAXCONNECTS, (long)t->connections);
	open_handles(&c);
	while (c.running > 0)
		turn(&c);
	for (size_t i = 0; i < t->connections; i++)
		curl_easy_cleanup(c.easy[i]);
	curl_multi_cleanup(c.multi);
}

/* --- the list and the start --------------------------------------------- */

static void
read_paths(struct floor_task *t, const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t cap = 0, room = 0;
	ssize_t n;

	if (f == NULL)
		fail(path, strerror(errno));
	while (t->paths_n < t->paths_max &&
	    (n = getline(&line, &cap, f)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		if (t->paths_n == room) {
			room = room * 2 + 1024;
			t->paths = mem_resize(t->paths, room,
			    sizeof(*t->paths));
		}
		t->paths[t->paths_n++] = mem_copy_text(line);
	}
	free(line);
	fclose(f);
}

static void
read_base(struct floor_task *t, const char *text)
{
	struct str s = str_of(text);
	struct str scheme = t->ca == NULL ? STR("http://") : STR("https://");

	if (!str_starts(s, scheme))
		fail(text, "BASE is http://ADDRESS:PORT, https:// with --ca");
	t->base = mem_copy_text(text);
	if (str_ends(s, STR("/")))
		t->base[s.n - 1] = '\0';
	t->host = mem_copy_text(t->base + scheme.n);
	t->port = strchr(t->host, ':');
	if (t->port == NULL)
		fail(text, "BASE is http://ADDRESS:PORT");
	*t->port++ = '\0';
}

/* The place of the first argument that is no option. */
static int
read_options(struct floor_task *t, int argc, char **argv, bool *by_epoll)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";
		uint64_t n;
		if (strcmp(argv[i], "--epoll") == 0) {
			*by_epoll = true;
			continue;
		}
		if (strcmp(argv[i], "--ca") == 0)
			t->ca = value;
		else if (!str_to_u64(str_of(value), &n) || n == 0)
			break;
		else if (strcmp(argv[i], "--pages") == 0)
			t->paths_max = (size_t)n;
		else if (strcmp(argv[i], "--connections") == 0 &&
		    n <= FLOOR_CONNECTIONS_MAX)
			t->connections = (size_t)n;
		else
			break;
		i++;
	}
	return i;
}

int
main(int argc, char **argv)
{
	struct floor_task t = { .connections = 8, .paths_max = SIZE_MAX };
	bool by_epoll = false;
	int i = read_options(&t, argc, argv, &by_epoll);

	if (argc - i != 2 || (by_epoll && t.ca != NULL)) {
		fputs("usage: floor [--epoll] [--connections N] [--ca PEM] "
		    "[--pages N] BASE FILE\n", stderr);
		return 64;
	}
	read_base(&t, argv[i]);
	read_paths(&t, argv[i + 1]);
	if (by_epoll)
		floor_epoll(&t);
	else
		floor_curl(&t);
	printf("fetched %llu failed %llu bytes %llu\n",
	    (unsigned long long)t.fetched, (unsigned long long)t.failed,
	    (unsigned long long)t.bytes);
	for (size_t k = 0; k < t.paths_n; k++)
		free(t.paths[k]);
	free(t.paths);
	free(t.base);
	free(t.host);
	return t.failed > 0 ? 1 : 0;
}
