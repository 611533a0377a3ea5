/*
 * script_web -- documents and globals for scripts.
 *
 * script_web_init() defines in a context: URL, URLSearchParams, TextEncoder,
 * TextDecoder, atob, btoa, structuredClone, crypto.subtle.digest and hmac.  The
 * host makes `$` of a response by script_document_new().  Nothing here reads a
 * file, a clock or a socket.
 *
 * Memory:  documents, selectors and texts count against JS_SetMemoryLimit();
 *          beyond it a call throws the engine's "out of memory".
 * CPU:     long walks ask `interrupted` every few thousand steps, and throw
 *          what no script can catch when it says yes.
 * Thread:  the runtime's.  lexbor's memory functions are set for the whole
 *          process: only a script worker, or a test, calls script_web_init().
 * Classes: their identifiers are made once for the process, so the first
 *          runtime must allocate all others, too, before a second one is made.
 * Story:   script/web/DESIGN.md, docs of the API: script/argiope.d.ts
 */
#ifndef SCRIPT_WEB_SCRIPT_WEB_H
#define SCRIPT_WEB_SCRIPT_WEB_H

#include <quickjs.h>

#include "base/bytes.h"

struct script_web {
	/* Whether the script is to end; may be NULL.  It runs no script. */
	bool (*interrupted)(void *opaque);
	void *opaque;
};

/*
 * Before the sandbox closes: OpenSSL is made ready without its configuration
 * file, so that no later call opens one.
 */
void script_web_prepare(void);

/* Classes and globals; false: the context has an exception. */
MUST_USE bool script_web_init(JSContext *, const struct script_web *);

/*
 * `$` of a body: HTML, or XML.  The encoding is decided as the crawls' parser
 * decides it: byte-order mark, charset of `content_type`, what the document
 * declares.  `url` is what relative addresses are resolved against; it may be
 * empty.  The arguments are read during the call only.
 *
 * An exception: SyntaxError for XML that is not well-formed; "out of
 * memory"; an interrupt.
 */
JSValue script_document_new(JSContext *, struct str body,
    struct str content_type, struct str url, bool xml);

/* The body as a string, decoded in the same way. */
JSValue script_text_decode(JSContext *, struct str body,
    struct str content_type);

#endif
