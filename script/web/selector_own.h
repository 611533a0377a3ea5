/*
 * selector_own -- what selector.c makes and match.c reads.
 */
#ifndef SCRIPT_WEB_SELECTOR_OWN_H
#define SCRIPT_WEB_SELECTOR_OWN_H

#include "script/web/selector.h"

/* Pseudo-classes without arguments: test, lexbor's constant. */
#define SIMPLE_CLASSES(X)                                                   \
	X(EMPTY, EMPTY) X(ROOT, ROOT) X(SCOPE, ACTIVE)                      \
	X(FIRST_CHILD, FIRST_CHILD) X(LAST_CHILD, LAST_CHILD)               \
	X(ONLY_CHILD, ONLY_CHILD) X(FIRST_OF_TYPE, FIRST_OF_TYPE)           \
	X(LAST_OF_TYPE, LAST_OF_TYPE) X(ONLY_OF_TYPE, ONLY_OF_TYPE)         \
	X(LINK, LINK) X(ANY_LINK, ANY_LINK) X(CHECKED, CHECKED)             \
	X(DISABLED, DISABLED) X(ENABLED, ENABLED) X(REQUIRED, REQUIRED)     \
	X(OPTIONAL, OPTIONAL) X(READ_ONLY, READ_ONLY)                       \
	X(READ_WRITE, READ_WRITE) X(BLANK, BLANK)                           \
	X(PLACEHOLDER, PLACEHOLDER_SHOWN)

enum test_kind {
	TEST_ANY, TEST_NEVER, TEST_NAME, TEST_LOCAL_NAME, TEST_PREFIX, TEST_ID,
	TEST_CLASS, TEST_ATTR, TEST_IS, TEST_NOT, TEST_HAS, TEST_CONTAINS,
	TEST_LANG, TEST_DIR,
	TEST_NTH, TEST_NTH_LAST, TEST_NTH_OF_TYPE, TEST_NTH_LAST_OF_TYPE,
#define TEST_ENUM(name, lexbor) TEST_##name,
	SIMPLE_CLASSES(TEST_ENUM)
#undef TEST_ENUM
};

enum attr_match {
	ATTR_THERE, ATTR_EQUAL, ATTR_WORD, ATTR_DASH, ATTR_PREFIX, ATTR_SUFFIX,
	ATTR_PART,
};

enum combinator {
	BELOW, CHILD_OF, AFTER_NEXT, AFTER_ANY,   /* " ", ">", "+", "~" */
};

struct branch;
struct test {
	uint8_t kind, match;
	bool nocase;
	uint32_t list_n;
	const struct name *name;
	struct str value;
	long a, b;                   /* of an+b */
	const struct branch *list;   /* arguments */
};

/* Tests of one element. */
struct compound {
	uint8_t combinator;          /* to the compound before it */
	uint32_t tests_n;
	struct test *tests;
};

/* One complex selector: what stands between two commas. */
struct branch {
	bool relative;               /* the first one stands to an anchor */
	uint32_t n;
	struct compound *compounds;
};

struct selector {
	struct document *d;
	struct region region;
	struct str text;
	enum selector_use use;
	struct branch *list;
	uint32_t list_n;
	/* Matches may stand beside the context, not only inside of it. */
	bool wide;
	/* What is found below an inner context is found below the outer. */
	bool nests;
	/* Only children of the context match. */
	bool children;
	bool full;                   /* a match met the heap's limit */
};

#endif
