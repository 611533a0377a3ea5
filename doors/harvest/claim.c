#include "doors/harvest/claim.h"

#include "doors/harvest/queue_table.h"
#include "os/file.h"

#define NAME_BYTES_MAX 1024u

/* Whose it is; ABSENT: nobody's. */
static enum err
check_owner(const struct shared_dir *own, const char *file,
    struct str instance, struct why *w)
{
	FREED(buf_free) struct buf owner = BUF_INIT;

	enum err e = shared_dir_load(own, file, NAME_BYTES_MAX, &owner, w);
	if (e != OK || str_eq(str_trim(buf_str(&owner)), instance))
		return e;
	return why(w, ERR_EXISTS, "%s has claimed it",
	    buf_text(&owner));
}

/* Whole or not at all, however it ends. */
static enum err
make_claim(const struct shared_dir *own, const char *part, const char *file,
    struct str instance, struct arena *a, struct why *w)
{
	const char *from = arena_printf(a, "%s/%s", own->path, part).p;

	enum err e = shared_dir_write(own, part, instance, w);
	if (e == OK)
		e = file_rename_new(from, arena_printf(a, "%s/%s", own->path,
		    file).p, w);
	if (e == ERR_EXISTS)
		(void)!file_remove(from, NULL);
	return e == OK ? file_sync_dir(own->path, w) : e;
}

static const char *
file_of(struct str id, struct arena *a)
{
	return arena_printf(a, "%.*s.claim", STR_FMT(queue_table_safe(id,
	    a))).p;
}

static enum err
drop_in(const struct shared_dir *own, struct str id, struct str instance,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const char *file = file_of(id, &a);

	enum err e = check_owner(own, file, instance, w);
	return e != OK ? e : file_remove(arena_printf(&a, "%s/%s", own->path,
	    file).p, w);
}

enum err
claim_drop(const struct shared_dir *dir, struct str id, struct str instance,
    struct why *w)
{
	struct why inner = WHY_INIT;
	struct shared_dir own;

	enum err e = shared_dir_below(dir, ".argiope", SHARED_DIR_LOOK, &own,
	    &inner);
	if (e == OK)
		e = drop_in(&own, id, instance, &inner);
	shared_dir_close(&own);
	return e == OK || e == ERR_ABSENT || e == ERR_EXISTS ? OK :
	    why(w, e, "%s", inner.text);
}

static enum err
take_in(const struct shared_dir *own, struct str id, struct str instance,
    struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct why inner = WHY_INIT;
	struct str safe = queue_table_safe(id, &a);
	const char *file = file_of(id, &a);
	const char *part = arena_printf(&a, ".%.*s.%.*s", STR_FMT(safe),
	    STR_FMT(queue_table_safe(instance, &a))).p;

	enum err e = check_owner(own, file, instance, &inner);
	if (e != ERR_ABSENT)
		return e == OK ? OK : why(w, e, "%s", inner.text);
	inner = WHY_INIT;
	e = make_claim(own, part, file, instance, &a, &inner);
	if (e != ERR_EXISTS)
		return e == OK ? OK : why(w, e, "%s", inner.text);
	/* Somebody was faster. */
	return check_owner(own, file, instance, w);
}

enum err
claim_take(const struct shared_dir *dir, struct str id, struct str instance,
    struct why *w)
{
	struct shared_dir own;

	enum err e = shared_dir_below(dir, ".argiope", SHARED_DIR_MAKE, &own,
	    w);
	if (e == OK)
		e = take_in(&own, id, instance, w);
	shared_dir_close(&own);
	return e;
}
