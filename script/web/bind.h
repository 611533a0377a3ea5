/*
 * bind -- what the bindings of this folder share.
 *
 * Each context has one struct bind.  Every class has an identifier that is made
 * once for the process.
 *
 * Thread: the runtime's.
 */
#ifndef SCRIPT_WEB_BIND_H
#define SCRIPT_WEB_BIND_H

#include "script/web/document.h"
#include "script/web/nodes.h"
#include "script/web/poll.h"
#include "script/web/selector.h"

struct bind {
	struct poll poll;
};

#define BIND_CLASSES(X)                                                      \
	X(BIND, bind) X(DOLLAR, dollar) X(SEL, sel) X(SEL_WALK, sel_walk)     \
	X(EL, el) X(URL, url_class) X(PARAMS, params)                       \
	X(PARAMS_WALK, params_walk) X(ENCODER, encoder)                     \
	X(DECODER, decoder)

enum bind_class {
#define BIND_CLASS_ENUM(name, file) BIND_CLASS_##name,
	BIND_CLASSES(BIND_CLASS_ENUM)
#undef BIND_CLASS_ENUM
	BIND_CLASS_COUNT
};

/* The state of a context; NULL before bind_open(). */
struct bind *bind_of(JSContext *);
MUST_USE bool bind_open(JSContext *, const struct poll *);
JSClassID bind_class(JSRuntime *, enum bind_class);
/* Register a class and its prototype's functions; false: an exception. */
MUST_USE bool bind_class_new(JSContext *, enum bind_class, const JSClassDef *,
    const JSCFunctionListEntry *, size_t n);
/*
 * A constructor as a global, with the prototype that the class has.  `made` is
 * called as a constructor, or as a function where the standard allows it.
 */
MUST_USE bool bind_constructor(JSContext *, enum bind_class, const char *name,
    JSCFunction *made, int length);
/* An object of the class, which owns `opaque`; frees nothing when it fails. */
JSValue bind_object(JSContext *, enum bind_class, void *opaque);
/* The same, made by `new`: with the prototype of its new.target. */
JSValue bind_object_of(JSContext *, enum bind_class, JSValueConst new_target,
    void *opaque);
void *bind_opaque(JSContext *, JSValueConst, enum bind_class);
/* NULL, without an exception, when it is another thing. */
void *bind_opaque_of(JSValueConst, enum bind_class);
void *bind_finalized(JSRuntime *, JSValueConst, enum bind_class);

/*
 * Throw what an error means to a script: INPUT a SyntaxError, FULL the heap's
 * limit, TIMEOUT the interrupt that no script can catch, others an
 * InternalError.
 */
JSValue bind_throw(JSContext *, enum err, const struct why *);
/* After a walk: an exception where the poll says stop. */
MUST_USE bool bind_poll_ok(JSContext *);

/*
 * A value's string as UTF-8.  Give it back by bind_text_free().  p is NULL
 * after an exception.  As a "USVString" it has U+FFFD for each lone surrogate.
 */
struct str bind_text(JSContext *, JSValueConst);
struct str bind_usv(JSContext *, JSValueConst);
void bind_text_free(JSContext *, struct str);
JSValue bind_string(JSContext *, struct str);
/* What `o` has, and `o` is freed; an exception when it is full. */
JSValue bind_take(JSContext *, struct out *o);
/* Append to an array, past whatever a script did to arrays; takes `v`. */
MUST_USE bool bind_push(JSContext *, JSValueConst array, uint32_t *n,
    JSValue v);
/* A property of a new object; takes `v`. */
MUST_USE bool bind_put(JSContext *, JSValueConst object, struct str key,
    JSValue v);
/*
 * The bytes of an ArrayBuffer or a typed array; false with a TypeError for
 * anything else.  They are valid until a script runs.
 */
MUST_USE bool bind_bytes(JSContext *, JSValueConst, struct str *out);

/* A value's method of Symbol.iterator, or undefined. */
JSValue bind_iterator_method(JSContext *, JSValueConst);
/*
 * Hand each value of an iterable to `take`, which owns it, with its place from
 * 0; it says -1 to stop.  How many there were; -1: an exception, or `take`.
 */
int bind_iterate(JSContext *, JSValueConst from, JSValueConst method,
    int (*take)(JSContext *, void *, int, JSValue), void *to);

/* sel.c and el.c. */
JSValue sel_new(JSContext *, struct document *, struct nodes *);
JSValue el_new(JSContext *, struct document *, uint32_t node);
/* The document and node of an El; NULL for another thing. */
struct document *el_of(JSValueConst, uint32_t *node);
/* All below `from` that a selector's text finds; frees nothing. */
MUST_USE bool sel_find(JSContext *, struct document *, JSValueConst css,
    enum selector_use, const uint32_t *from, uint32_t from_n, uint32_t max,
    struct nodes *out);
/* querySelector(All)() below a node, as Dollar and El have them. */
JSValue sel_query(JSContext *, struct document *, uint32_t from,
    JSValueConst css, bool all);
/* The nodes of an El or a Sel of this document; 0: it is another thing. */
int sel_nodes(JSContext *, struct document *, JSValueConst, struct nodes *out);
/* An array of El. */
JSValue sel_array(JSContext *, struct document *, const uint32_t *, uint32_t n);
/* The address in an attribute, resolved; undefined where there is none. */
JSValue sel_absolute(JSContext *, struct document *, struct str);

/* Each file's globals and classes; false: an exception. */
MUST_USE bool sel_open(JSContext *);
MUST_USE bool el_open(JSContext *);
MUST_USE bool dollar_open(JSContext *);
MUST_USE bool url_open(JSContext *);
MUST_USE bool params_open(JSContext *);
MUST_USE bool codec_open(JSContext *);
MUST_USE bool clone_open(JSContext *);
MUST_USE bool subtle_open(JSContext *);

/* dollar.c: takes the document over. */
JSValue dollar_new(JSContext *, struct document *);
/* facts.c: what pages say about themselves. */
JSValue facts_meta(JSContext *, struct document *);
JSValue facts_jsonld(JSContext *, struct document *);
JSValue facts_microdata(JSContext *, struct document *);
JSValue facts_links(JSContext *, struct document *);

#endif
