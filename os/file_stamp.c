#include "os/file_stamp.h"

#include <sys/stat.h>

#include "base/time.h"

struct file_stamp
file_stamp_of(const char *path)
{
	struct stat s;

	if (stat(path, &s) != 0)
		return (struct file_stamp){ .number = 0 };
	return (struct file_stamp){ .device = s.st_dev, .number = s.st_ino,
		.bytes = (uint64_t)s.st_size,
		.changed_ns = s.st_mtim.tv_sec * NS_PER_S +
		s.st_mtim.tv_nsec };
}

bool
file_stamp_eq(const struct file_stamp *a, const struct file_stamp *b)
{
	return a->device == b->device && a->number == b->number &&
	    a->bytes == b->bytes && a->changed_ns == b->changed_ns;
}
