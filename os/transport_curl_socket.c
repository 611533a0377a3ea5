#include "os/transport_curl_socket.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"

struct transport_socket {
	struct watch watch;              /* fd -1: closed, in `spare` */
	struct list node;                /* in `idle` or `spare`, or in none */
	struct transport_sockets *of;
	bool connected;                  /* its end will be told */
	unsigned wanted;                 /* what libcurl waits for; 0: idle */
	unsigned watched;                /* what the loop watches */
	struct mono idle_since;
	struct transport_socket_ends ends;
	uint64_t answered;               /* bytes that belonged to answers */
	/* The caller's, not libcurl's; or NULL. */
	void (*served)(struct transport_sockets *, unsigned events);
};

static void
watch(struct transport_socket *s, unsigned events)
{
	if (s->watched != events)
		loop_watch(s->of->loop, &s->watch, events);
	s->watched = events;
}

static void
act(struct transport_sockets *ss, curl_socket_t fd, int events)
{
	int running;

	ss->depth++;
	curl_multi_socket_action(ss->multi, fd, events, &running);
	ss->depth--;
	ss->acted(ss);
}

static void
ready(struct watch *w, unsigned events)
{
	struct transport_socket *s = CONTAINER(w, struct transport_socket,
	    watch);
	int curl_events = 0;

	if (s->served != NULL) {
		s->served(s->of, events);
		return;
	}
	if (s->wanted == 0) {
		watch(s, 0);
		return;
	}
	if (events & (LOOP_READ | LOOP_ERROR))
		curl_events |= CURL_CSELECT_IN;
	if (events & LOOP_WRITE)
		curl_events |= CURL_CSELECT_OUT;
	act(s->of, w->fd, curl_events);
}

/* NULL also where `fd` is -1. */
static struct transport_socket *
find(const struct transport_sockets *ss, int fd)
{
	return (size_t)fd < ss->by_fd_n ? ss->by_fd[fd] : NULL;
}

static struct str
key_of(const struct transport_socket_ends *e)
{
	return (struct str){ (const char *)e, sizeof(*e) };
}

static void
forget_ends(struct transport_socket *s)
{
	if (s->connected && map_get(&s->of->by_ends, key_of(&s->ends)) == s)
		map_take(&s->of->by_ends, key_of(&s->ends));
	s->connected = false;
}

/*
 * The descriptor is, or is about to be, closed: that takes it out of epoll.
 * An event of this turn may still point here, so the memory stays.
 */
static void
forget(struct transport_sockets *ss, struct transport_socket *s)
{
	ss->by_fd[s->watch.fd] = NULL;
	forget_ends(s);
	s->watch.fd = -1;
	list_take(&s->node);
	list_put(&ss->spare, &s->node);
}

static void
make_room(struct transport_sockets *ss, size_t fd)
{
	size_t n = MAX(fd + 1, 2 * ss->by_fd_n);

	if (fd < ss->by_fd_n)
		return;
	ss->by_fd = mem_resize(ss->by_fd, n, sizeof(*ss->by_fd));
	memset(ss->by_fd + ss->by_fd_n, 0,
	    (n - ss->by_fd_n) * sizeof(*ss->by_fd));
	ss->by_fd_n = n;
}

static struct transport_socket *
add(struct transport_sockets *ss, int fd)
{
	struct transport_socket *s = find(ss, fd);

	if (s != NULL)
		forget(ss, s);
	make_room(ss, (size_t)fd);
	if (list_empty(&ss->spare)) {
		s = mem_new(sizeof(*s));
		list_init(&s->node);
	} else {
		s = LIST_POP(&ss->spare, struct transport_socket, node);
	}
	s->of = ss;
	s->watch = (struct watch){ .fd = fd, .ready = ready };
	s->connected = false;
	s->served = NULL;
	s->wanted = s->watched = 0;
	ss->by_fd[fd] = s;
	return s;
}

int
transport_socket_new(struct transport_sockets *ss, int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0)
		add(ss, fd);
	return fd;
}

/* Bytes that arrived so far; false where the kernel does not say. */
static bool
count_received(int fd, uint64_t *n)
{
	struct tcp_info info;
	socklen_t size = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
	    size < offsetof(struct tcp_info, tcpi_bytes_received) +
	    sizeof(info.tcpi_bytes_received))
		return false;
	*n = info.tcpi_bytes_received;
	return true;
}

void
transport_socket_connected(struct transport_sockets *ss, int fd,
    const struct transport_socket_ends *ends, bool spoken)
{
	struct transport_socket *s = find(ss, fd);

	if (s == NULL)
		s = add(ss, fd);
	forget_ends(s);
	s->answered = 0;
	if (spoken && !count_received(fd, &s->answered))
		s->answered = 0;
	s->ends = *ends;
	struct transport_socket *old = map_take(&ss->by_ends, key_of(ends));
	if (old != NULL)
		old->connected = false;
	map_put(&ss->by_ends, key_of(&s->ends), s);
	s->connected = true;
}

int
transport_socket_find(const struct transport_sockets *ss,
    const struct transport_socket_ends *ends)
{
	const struct transport_socket *s = map_get(&ss->by_ends, key_of(ends));

	return s == NULL ? -1 : s->watch.fd;
}

void
transport_socket_answered(struct transport_sockets *ss, int fd, uint64_t n)
{
	struct transport_socket *s = find(ss, fd);

	if (s != NULL)
		s->answered += n;
}

bool
transport_socket_is_clean(const struct transport_sockets *ss, int fd)
{
	const struct transport_socket *s = find(ss, fd);
	uint64_t received;
	char byte;

	if (s == NULL)
		return false;
	if (count_received(fd, &received))
		return received == s->answered;
	/* Bytes that libcurl has read and dropped cannot be seen here. */
	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
}

void
transport_socket_serve(struct transport_sockets *ss, int fd,
    void (*served)(struct transport_sockets *, unsigned events))
{
	struct transport_socket *s = find(ss, fd);

	CHECK(s != NULL);
	list_take(&s->node);
	s->served = served;
}

void
transport_socket_watch(struct transport_sockets *ss, int fd, unsigned events)
{
	struct transport_socket *s = find(ss, fd);

	if (s != NULL)
		watch(s, events);
}

int
transport_socket_closed(void *sockets, curl_socket_t fd)
{
	struct transport_sockets *ss = sockets;
	struct transport_socket *s = find(ss, fd);

	if (s != NULL)
		forget(ss, s);
	return close(fd);
}

/*
 * Back from libcurl.  7.88 closes a socket that never connected without calling
 * for it, before it takes its interest back: such a one is forgotten at once.
 */
static void
rest(struct transport_socket *s)
{
	struct transport_sockets *ss = s->of;

	s->wanted = 0;
	if (!s->connected) {
		watch(s, 0);
		forget(ss, s);
		return;
	}
	if (s->watched & LOOP_WRITE)
		watch(s, LOOP_READ);
	s->idle_since = loop_now(ss->loop);
	list_take(&s->node);
	list_put(&ss->idle, &s->node);
}

/* CURLMOPT_SOCKETFUNCTION. */
static int
interest(CURL *easy, curl_socket_t fd, int what, void *sockets, void *unused)
{
	struct transport_sockets *ss = sockets;
	struct transport_socket *s = find(ss, fd);

	(void)easy;
	(void)unused;
	if (what == CURL_POLL_REMOVE) {
		if (s != NULL)
			rest(s);
		return 0;
	}
	if (s == NULL)
		s = add(ss, fd);
	s->wanted = (what & CURL_POLL_IN ? LOOP_READ : 0) |
	    (what & CURL_POLL_OUT ? LOOP_WRITE : 0);
	list_take(&s->node);
	watch(s, s->wanted);
	return 0;
}

static void
timer_due(struct timer *t)
{
	struct transport_sockets *ss = CONTAINER(t, struct transport_sockets,
	    timer);

	ss->in_timer = true;
	act(ss, CURL_SOCKET_TIMEOUT, 0);
	ss->in_timer = false;
}

/*
 * CURLMOPT_TIMERFUNCTION.  What the timer itself asks for comes a turn later,
 * so that one long transfer cannot hold the loop.
 */
static int
ask_timer(CURLM *multi, long ms, void *sockets)
{
	struct transport_sockets *ss = sockets;

	(void)multi;
	if (ms < 0)
		loop_timer_stop(ss->loop, &ss->timer);
	else
		loop_timer_set(ss->loop, &ss->timer, ms == 0 ?
		    mono_add_ns(loop_now(ss->loop), ss->in_timer ? 1 : 0) :
		    mono_add_ms(clock_mono(), ms));
	return 0;
}

void
transport_sockets_open(struct transport_sockets *ss, struct loop *loop,
    CURLM *multi, int64_t idle_ns_max,
    void (*acted)(struct transport_sockets *))
{
	*ss = (struct transport_sockets){ .loop = loop, .multi = multi,
	    .idle_ns_max = idle_ns_max, .acted = acted,
	    .timer.fire = timer_due };
	list_init(&ss->idle);
	list_init(&ss->spare);
	curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, interest);
	curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, ss);
	curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, ask_timer);
	curl_multi_setopt(multi, CURLMOPT_TIMERDATA, ss);
}

void
transport_sockets_close(struct transport_sockets *ss)
{
	loop_timer_stop(ss->loop, &ss->timer);
	for (size_t i = 0; i < ss->by_fd_n; i++)
		if (ss->by_fd[i] != NULL)
			forget(ss, ss->by_fd[i]);
	while (!list_empty(&ss->spare)) {
		struct transport_socket *s = LIST_POP(&ss->spare,
		    struct transport_socket, node);
		mem_free(&s);
	}
	map_free(&ss->by_ends);
	mem_free(&ss->by_fd);
	ss->by_fd_n = 0;
}

bool
transport_sockets_sweep(struct transport_sockets *ss, struct mono now)
{
	while (ss->idle_ns_max > 0 && !list_empty(&ss->idle)) {
		struct transport_socket *s = LIST_ITEM(ss->idle.next,
		    struct transport_socket, node);
		if (mono_ns_between(s->idle_since, now) < ss->idle_ns_max)
			break;
		list_take(&s->node);
		shutdown(s->watch.fd, SHUT_RDWR);
	}
	return !list_empty(&ss->idle);
}
