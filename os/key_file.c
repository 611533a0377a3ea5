#include "os/key_file.h"

#include <limits.h>

#include "os/clock.h"
#include "os/file.h"

static enum err
make_key(const char *path, struct why *w)
{
	uint8_t bytes[KEY_FILE_BYTES];
	char made[PATH_MAX];
	unsigned mark;

	clock_random(&mark, sizeof(mark));
	if (snprintf(made, sizeof(made), "%s.%08x", path, mark) >= PATH_MAX)
		return why(w, ERR_INPUT, "the path %s is too long", path);
	clock_random(bytes, sizeof(bytes));
	enum err e = file_store(made, (struct str){ (const char *)bytes,
	    sizeof(bytes) }, w);
	explicit_bzero(bytes, sizeof(bytes));
	if (e != OK)
		return e;
	e = file_rename_new(made, path, NULL);
	if (e == OK)
		return OK;
	/* Another process was quicker: its key is the one. */
	(void)!file_remove(made, NULL);
	return e == ERR_EXISTS ? OK : why(w, e, "cannot make %s: %s", path,
	    err_text(e));
}

enum err
key_file_read(const char *path, bool make, uint8_t key[static KEY_FILE_BYTES],
    struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct why inner = WHY_INIT;

	enum err e = file_load_private(path, KEY_FILE_BYTES, &b, &inner);
	if (e == ERR_ABSENT && make) {
		inner = WHY_INIT;
		e = make_key(path, &inner);
		if (e == OK)
			e = file_load_private(path, KEY_FILE_BYTES, &b,
			    &inner);
	}
	if (e == ERR_FULL || (e == OK && b.n != KEY_FILE_BYTES))
		return why(w, ERR_CORRUPT, "%s is no key: it does not have %u "
		    "bytes", path, KEY_FILE_BYTES);
	if (e != OK)
		return why(w, e, "%s", inner.text);
	memcpy(key, b.p, KEY_FILE_BYTES);
	explicit_bzero(b.p, b.n);
	return OK;
}
