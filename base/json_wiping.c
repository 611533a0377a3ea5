#include "base/json_wiping.h"

#include <stdalign.h>

#include "base/base.h"

struct wiped_piece {
	size_t n;
	alignas(16) char bytes[];
};

static void *
take_piece(void *ctx, size_t n)
{
	struct wiped_piece *p = n > SIZE_MAX - sizeof(*p) ? NULL :
	    malloc(sizeof(*p) + n);

	(void)ctx;
	if (p == NULL)
		return NULL;
	p->n = n;
	return p->bytes;
}

static void
free_piece(void *ctx, void *bytes)
{
	(void)ctx;
	if (bytes == NULL)
		return;
	struct wiped_piece *p = CONTAINER(bytes, struct wiped_piece, bytes);
	explicit_bzero(p->bytes, p->n);
	free(p);
}

static void *
move_piece(void *ctx, void *bytes, size_t before, size_t n)
{
	void *more = take_piece(ctx, n);

	if (more == NULL)
		return NULL;
	memcpy(more, bytes, MIN(before, n));
	free_piece(ctx, bytes);
	return more;
}

const yyjson_alc json_wiping = { take_piece, move_piece, free_piece, NULL };

void
json_wiping_free(char *text)
{
	free_piece(NULL, text);
}
