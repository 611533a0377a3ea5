/*
 * sel_own -- what sel.c and sel_methods.c share.
 */
#ifndef SCRIPT_WEB_SEL_OWN_H
#define SCRIPT_WEB_SEL_OWN_H

#include "script/web/bind.h"

struct sel {
	struct document *d;
	uint32_t n;
	uint32_t at[];
};

/* NULL and an exception when the text is no selector. */
struct selector *sel_compile(JSContext *, struct document *, JSValueConst css,
    enum selector_use);
/*
 * Keep in the list what a selector, a function, an El or a Sel says yes to;
 * or, without `keep`, no.  False: an exception.
 */
MUST_USE bool sel_filter(JSContext *, struct document *, JSValueConst by,
    bool keep, struct nodes *);
void sel_copy(const struct sel *, struct nodes *out);
JSValue sel_iterate(JSContext *, JSValueConst this, int argc, JSValueConst *);
/* The table of methods; its length. */
size_t sel_methods(const JSCFunctionListEntry **);

#endif
