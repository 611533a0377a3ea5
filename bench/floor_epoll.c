/*
 * The floor without a library: HTTP/1.1 with Content-Length, kept connections,
 * one request at a time on each.  It knows just what nginx answers to a GET for
 * a file; anything else counts as failed and costs the connection.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/floor.h"

#define READ_BYTES 65536
#define HEAD_MAX 16384

struct link {
	int fd;
	bool body;                 /* the head is read */
	size_t left;               /* of the body */
	size_t head_n;
	char head[HEAD_MAX];
};

struct floor_client {
	struct floor_task *task;
	struct addrinfo *address;
	int epoll;
	size_t open;
	struct link *links;
	char piece[READ_BYTES];
};

static bool
ask(struct floor_client *c, struct link *l)
{
	const char *path = floor_next(c->task);
	char text[2048];

	if (path == NULL)
		return false;
	int n = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\n"
	    "Host: %s:%s\r\nUser-Agent: floor\r\n\r\n", path, c->task->host,
	    c->task->port);
	l->body = false;
	l->head_n = 0;
	/* A request of 100 bytes into an empty buffer goes out whole. */
	if (send(l->fd, text, (size_t)n, MSG_NOSIGNAL) == n)
		return true;
	c->task->failed++;
	return false;
}

static void
close_link(struct floor_client *c, struct link *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	c->open--;
}

static void
open_link(struct floor_client *c, struct link *l)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = l };
	int on = 1;

	c->open++;
	l->fd = socket(c->address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (l->fd < 0 || connect(l->fd, c->address->ai_addr,
	    c->address->ai_addrlen) < 0) {
		fprintf(stderr, "floor: connect: %s\n", strerror(errno));
		exit(70);
	}
	setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	epoll_ctl(c->epoll, EPOLL_CTL_ADD, l->fd, &e);
	if (!ask(c, l))
		close_link(c, l);
}

static void
give_up(struct floor_client *c, struct link *l)
{
	c->task->failed++;
	close_link(c, l);
	if (c->task->next < c->task->paths_n)
		open_link(c, l);
}

/* The head is there: status 200 and a length, or it has failed. */
static bool
read_head(struct link *l, size_t end)
{
	struct str head = { l->head, end };
	struct str name = STR("\r\nContent-Length: ");
	uint64_t n;

	if (!str_starts(head, STR("HTTP/1.1 200 ")))
		return false;
	size_t at = str_find(head, name);
	if (at == head.n)
		return false;
	struct str value = str_from(head, at + name.n);
	if (!str_to_u64(str_cut(value, 0, str_find_char(value, '\r')), &n))
		return false;
	l->left = (size_t)n;
	l->body = true;
	return true;
}

/* Take `n` bytes of c->piece; false when the answer is not to be understood. */
static bool
take(struct floor_client *c, struct link *l, size_t n)
{
	size_t at = 0;

	if (!l->body) {
		size_t more = MIN(n, HEAD_MAX - l->head_n);
		memcpy(l->head + l->head_n, c->piece, more);
		struct str all = { l->head, l->head_n + more };
		size_t end = str_find(all, STR("\r\n\r\n"));
		if (end == all.n) {
			l->head_n += more;
			return l->head_n < HEAD_MAX;
		}
		if (!read_head(l, end + 2))
			return false;
		at = end + 4 - l->head_n;
	}
	if (n - at > l->left)
		return false;
	l->left -= n - at;
	c->task->bytes += n - at;
	return true;
}

static void
readable(struct floor_client *c, struct link *l)
{
	ssize_t n = recv(l->fd, c->piece, sizeof(c->piece), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || !take(c, l, (size_t)n)) {
		give_up(c, l);
		return;
	}
	if (!l->body || l->left > 0)
		return;
	c->task->fetched++;
	if (!ask(c, l))
		close_link(c, l);
}

void
floor_epoll(struct floor_task *t)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct floor_client *c = mem_new(sizeof(*c));
	struct epoll_event events[64];

	c->task = t;
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->links = mem_array(t->connections, sizeof(*c->links));
	if (c->epoll < 0 || getaddrinfo(t->host, t->port, &hints,
	    &c->address) != 0) {
		fprintf(stderr, "floor: %s is no address\n", t->host);
		exit(70);
	}
	for (size_t i = 0; i < t->connections; i++)
		open_link(c, &c->links[i]);
	while (c->open > 0) {
		int n = epoll_wait(c->epoll, events, ARRAY_LEN(events), -1);
		for (int i = 0; i < n; i++)
			readable(c, events[i].data.ptr);
	}
	close(c->epoll);
	freeaddrinfo(c->address);
	free(c->links);
	free(c);
}
