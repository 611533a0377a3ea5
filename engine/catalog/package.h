/*
 * package -- a WACZ of WARC files, sent as it is made.
 *
 * Thread: any, one package one thread; it may block.
 * Story:  engine/archive/wacz.h
 */
#ifndef ENGINE_CATALOG_PACKAGE_H
#define ENGINE_CATALOG_PACKAGE_H

#include "base/bytes.h"
#include "base/err.h"

struct package_file {
	const char *path;
	struct str name;             /* in the package */
	uint64_t size;
};
struct package_request {
	const struct package_file *files;    /* WARCs, sorted by name */
	size_t files_n;
	const char *scratch;         /* files that begin so are made, and gone
	                              * at the end */
	struct str title;
	struct str seed;             /* as typed: what a reader opens first */
	/* Gets all bytes in order; its error ends the package. */
	enum err (*put)(void *arg, struct str bytes, struct why *);
	void *arg;
};
/* Errors: put()'s; INPUT without a file; what reading and writing give. */
MUST_USE enum err engine_package(const struct package_request *,
    struct why *);

#endif
