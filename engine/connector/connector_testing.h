/*
 * connector_testing -- a driver for tests: it makes the calls of a connector by
 * giving it answers that stand in the test.
 *
 * A recorded harvest is run three times: straight; saved and loaded in a new
 * run between any two answers; with its findings thrown away.  Calls and what
 * is saved at the end must be the same each time, and findings in the first
 * two.
 */
#ifndef ENGINE_CONNECTOR_CONNECTOR_TESTING_H
#define ENGINE_CONNECTOR_CONNECTOR_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/connector/order.h"

struct testing_answer {
	int status;
	const char *fields;          /* of the head, "Link: <...>\r\n"; or "" */
	const char *body;
};

struct testing_harvest {
	const char *type;
	const char *message;         /* {"seeds":..,"options":..,...} */
	/* What the last run has left: key, value, key, value ..., NULL. */
	const char *const *state;
	const struct testing_answer *answers;
	size_t answers_n;
};

/*
 * The lines of an outcome, each ended by "\n":
 *
 *     call URL [form BODY|json BODY] [AUTH] [as a crawl] [[FIELD: VALUE]]
 *         [metadata] [from=SECOND]
 *     count LABEL N
 *     seed ID uid=UID token=TOKEN     info|warning CODE [seed=ID]: TEXT
 *     url URL                         state KEY=VALUE
 *     again SECONDS                   skip ID
 *     fail CODE: TEXT                 done
 *
 * AUTH is "bearer KEY", "query NAME=KEY", "header NAME=KEY", "basic USER,KEY",
 * "oauth1 KEY,SECRET[,TOKEN,SECRET]" or "app KEY,SECRET from URL", by the names
 * of the credential's keys.  Answer
 * number N comes at second N.  All answers are given, and no call is without
 * one.  Without an end, "cut" is the last line: the answers were used up.
 * An answer of status 0 to a call as a crawl is none, and its body is why.
 */
void testing_expect(const struct testing_harvest *, const char *outcome);
/* The same of a harvest whose calls are of no interest. */
void testing_expect_findings(const struct testing_harvest *,
    const char *findings);

/* Events that a test feeds to a run with a stream. */
enum testing_happening {
	TESTING_ANSWER,              /* the call has ended so */
	TESTING_CUT,                 /* the same of a stream, by us */
	TESTING_EVENT,               /* `text` is an event, a line or a message
	                              * of it */
	TESTING_RESTART              /* saved, and loaded in a new run */
};
struct testing_step {
	enum testing_happening what;
	unsigned mark;               /* of the call */
	int status;
	const char *fields, *text;   /* NULL: none */
};
/*
 * One thing after the other, each a second after the one before, beginning at
 * second 1; straight, and with the findings thrown away.  After each of them
 * next() is asked until it waits, and the calls of a stream are
 *
 *     call URL ... AUTH [protocol=NAME] [hello=TEXT] silence=SECONDS
 *         [from=SECOND]
 *
 * and "deleted ID" is one more finding.  A stream begins when its call is made,
 * or at its date.
 */
void testing_expect_steps(const char *type, const char *message,
    const struct testing_step *, size_t n, const char *outcome);

/* The order is refused, with that code and text. */
void testing_refuse(const char *type, const char *message, const char *code,
    const char *text);

/*
 * What a run of that order saves at its beginning cannot be loaded when it is
 * cut anywhere, has a byte more, or names a seed or a step that is not there;
 * it must have a seed_run's form.
 */
void testing_damage(const char *type, const char *message);

#endif
