#include "engine/ledger/audit.h"

#include "engine/archive/archive_port.h"
#include "engine/archive/moved.h"
#include "engine/ledger/claims.h"
#include "engine/ledger/group.h"
#include "os/file.h"

/* It is not where it was; its note may say where it is. */
static void
look_for_note(struct audit_finding *f, struct arena *a)
{
	struct moved m;

	f->missing = moved_read(f->path, a, &m, NULL) != OK;
	if (f->missing)
		return;
	f->moved = m.place.p;
	f->readable = m.readable;
}

static bool
is_as_recorded(const struct warc_record *r, const char *path,
    struct arena *a, struct audit_finding *f)
{
	*f = (struct audit_finding){ .path = path, .recorded = r->end,
		.name = arena_copy(a, r->name).p };
	enum err e = archive_probe(path, &f->bytes, NULL);
	if (e == ERR_ABSENT) {
		look_for_note(f, a);
		return false;
	}
	/* Another reason why it cannot be opened shows when it is read. */
	return e != OK || f->bytes >= r->end;
}

bool
audit_record(const struct warc_record *r, struct arena *a,
    struct audit_finding *f)
{
	return r->state != WARC_CLOSED || is_as_recorded(r,
	    warc_record_path(r, PATH_DONE, a).p, a, f);
}

enum err
audit_index(struct index *x, audit_event *event, void *arg, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(index_iter_free) struct index_iter *i =
	    index_iter_new(x, INDEX_WARC);
	struct audit_finding f;
	struct str key, value;
	struct warc_record r;

	for (index_iter_seek(i, STR("")); index_iter_valid(i, &key, &value);
	    index_iter_next(i)) {
		arena_reset(&a);
		if (warc_record_parse(value, index_context(x), &a, &r) &&
		    !audit_record(&r, &a, &f))
			event(arg, &f);
	}
	return index_iter_error(i, w);
}

enum err
audit_archive(const char *data_dir, audit_event *event, void *arg,
    struct why *w)
{
	struct index_options o = { .read_only = true };
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(claims_free) struct claims *c = NULL;
	FREED(index_close) struct index *x = NULL;

	const char *dir = arena_printf(&a, "%s/index", data_dir).p;
	struct str *names;
	size_t n;
	enum err e = file_list(dir, &a, &names, &n, w);
	if (e == OK)
		e = index_open(dir, &o, &x, w);
	/* Paths are resolved by what the index says of its origin. */
	if (e == OK)
		e = claims_new(data_dir, LEDGER_CLAIMS_NONE, x, &c, w);
	return e == OK ? audit_index(x, event, arg, w) : e;
}
