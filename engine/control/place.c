/* The data directory that an engine opens: its name, and that it is whole. */
#include <errno.h>
#include <stdlib.h>

#include "engine/control/engine_own.h"
#include "engine/ledger/identity.h"
#include "engine/rebuild/rebuild.h"

/* Its identity and the paths in it are of its absolute name. */
static enum err
resolve_name(struct engine *e, struct why *w)
{
	char *real = realpath(e->data_dir, NULL);

	if (real == NULL)
		return why_errno(w, err_from_errno(errno), "%s", e->data_dir);
	mem_free(&e->data_dir);
	e->data_dir = mem_copy_text(real);
	free(real);
	return OK;
}

enum err
engine_check_place(struct engine *e, struct why *w)
{
	/* The simulator's directory is in memory. */
	enum err err = e->options.no_threads ? OK : resolve_name(e, w);

	if (err != OK || !rebuild_unfinished(e->data_dir))
		return err;
	return why(w, ERR_CORRUPT, "a rebuild was interrupted; run `"
	    IDENTITY_REBUILD " --data %s` again", e->data_dir);
}
