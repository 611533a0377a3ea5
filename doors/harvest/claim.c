#include "doors/harvest/claim.h"

#include "doors/harvest/queue_table.h"
#include "os/file.h"
#include "os/tree.h"

#define NAME_BYTES_MAX 1024u

/* Whose it is; ABSENT: nobody's. */
static enum err
check_owner(const char *file, struct str instance, struct why *w)
{
	FREED(buf_free) struct buf owner = BUF_INIT;

	enum err e = file_load(file, NAME_BYTES_MAX, &owner, w);
	if (e != OK || str_eq(str_trim(buf_str(&owner)), instance))
		return e;
	return why(w, ERR_EXISTS, "%s has the harvest",
	    buf_text(&owner));
}

/* Whole or not at all, however it ends. */
static enum err
make_claim(const char *dir, const char *part, const char *file,
    struct str instance, struct why *w)
{
	enum err e = tree_make_dir(dir, w);

	if (e == OK)
		e = file_store(part, instance, w);
	if (e == OK)
		e = tree_share_file(part, w);
	if (e == OK)
		e = file_rename_new(part, file, w);
	return e == OK ? file_sync_dir(dir, w) : e;
}

static const char *
file_of(struct str path, struct str id, struct arena *a)
{
	return arena_printf(a, "%.*s/.argiope/%.*s.claim", STR_FMT(path),
	    STR_FMT(queue_table_safe(id, a))).p;
}

enum err
claim_drop(struct str path, struct str id, struct str instance, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	const char *file = file_of(path, id, &a);
	struct why inner = WHY_INIT;

	enum err e = check_owner(file, instance, &inner);
	if (e == OK)
		e = file_remove(file, &inner);
	return e == OK || e == ERR_ABSENT || e == ERR_EXISTS ? OK :
	    why(w, e, "%s", inner.text);
}

enum err
claim_take(struct str path, struct str id, struct str instance, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct why inner = WHY_INIT;
	struct str safe = queue_table_safe(id, &a);
	const char *dir = arena_printf(&a, "%.*s/.argiope", STR_FMT(path)).p;
	const char *file = file_of(path, id, &a);
	const char *part = arena_printf(&a, "%s/.%.*s.%.*s", dir,
	    STR_FMT(safe), STR_FMT(queue_table_safe(instance, &a))).p;

	enum err e = check_owner(file, instance, &inner);
	if (e != ERR_ABSENT)
		return e == OK ? OK : why(w, e, "%s", inner.text);
	inner = WHY_INIT;
	e = make_claim(dir, part, file, instance, &inner);
	if (e != ERR_EXISTS)
		return e == OK ? OK : why(w, e, "%s", inner.text);
	/* Somebody was faster. */
	(void)!file_remove(part, NULL);
	return check_owner(file, instance, w);
}
