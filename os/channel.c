#include "os/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum err
channel_open(int *near, int *far, struct why *w)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
		return why_errno(w, err_from_errno(errno),
		    "cannot open a pair of sockets");
	CHECK(fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0);
	*near = fds[0];
	*far = fds[1];
	return OK;
}

void
channel_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/*
 * read(2) and write(2), not recv(2) and send(2): descriptors that the other
 * side attaches are closed by the kernel, and the sandbox admits these two.
 */
static int64_t
judge_result(ssize_t n, bool end_is_zero)
{
	if (n > 0)
		return n;
	if (n == 0)
		return end_is_zero ? -1 : 0;
	return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

int64_t
channel_read(int fd, void *out, size_t max)
{
	return judge_result(read(fd, out, max), max > 0);
}

int64_t
channel_write(int fd, const void *p, size_t n)
{
	return judge_result(write(fd, p, n), false);
}

bool
channel_wait(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) > 0;
}
