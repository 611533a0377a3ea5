#include "os/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum err
pipe_open(int *read_end, int *write_end, struct why *w)
{
	int fds[2];

	*read_end = *write_end = -1;
	if (pipe2(fds, O_CLOEXEC) != 0)
		return why_errno(w, err_from_errno(errno), "pipe");
	if (fcntl(fds[0], F_SETFL, O_NONBLOCK) != 0) {
		enum err e = why_errno(w, err_from_errno(errno), "pipe");
		(void)close(fds[0]);
		(void)close(fds[1]);
		return e;
	}
	*read_end = fds[0];
	*write_end = fds[1];
	return OK;
}

enum err
pipe_write(int fd, struct str s, struct why *w)
{
	while (s.n > 0) {
		ssize_t n = write(fd, s.p, s.n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EPIPE)
			return why(w, ERR_CLOSED, "nobody reads any more");
		if (n < 0)
			return why_errno(w, err_from_errno(errno), "pipe");
		s = str_from(s, (size_t)n);
	}
	return OK;
}

bool
pipe_read(int fd, size_t room, struct buf *b)
{
	size_t before = b->n;
	ssize_t n;

	if (room == 0)
		return true;
	char *p = buf_grow(b, room);
	do
		n = read(fd, p, room);
	while (n < 0 && errno == EINTR);
	b->n = before + (n > 0 ? (size_t)n : 0);
	return n != 0;
}
