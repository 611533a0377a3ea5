/*
 * postgresql_testing -- a PostgreSQL cluster of a test's own.
 *
 * It lies in a folder of its own below $ARGIOPE_POSTGRESQL_FOLDER, or /tmp, and
 * listens on a Unix socket there and nowhere else; it syncs as a real one.  The
 * server is a child of the test and ends with it.  PostgreSQL refuses root:
 * started as root, it runs as the user postgres, or nobody.  Texts sort by the
 * rules of English, so that only COLLATE "C" sorts them by bytes.
 *
 * Where $ARGIOPE_POSTGRESQL_KEPT names a folder, the first test leaves its new
 * cluster there, and the others copy that.
 *
 * Roles: `argiope`, who needs no password; `guarded`, who needs one and is made
 * by the test.
 */
#ifndef OS_POSTGRESQL_TESTING_H
#define OS_POSTGRESQL_TESTING_H

#include "base/base.h"

#define POSTGRESQL_TEST_SKIP 77      /* exit code: Meson's "skipped" */

struct postgresql_test;

/*
 * Make a cluster and start it; NULL, with a line on stderr, where PostgreSQL is
 * missing.  Other failures end the test.
 */
struct postgresql_test *postgresql_test_start(void);
void postgresql_test_stop(struct postgresql_test **);
/* kill -9 of the server, and a start after that; both wait. */
void postgresql_test_kill(struct postgresql_test *);
void postgresql_test_start_again(struct postgresql_test *);
/* An orderly stop, after which it can be started again. */
void postgresql_test_halt(struct postgresql_test *);
/* Run statements as the owner of the cluster. */
void postgresql_test_run(struct postgresql_test *, const char *text);
/* The folder of its socket. */
const char *postgresql_test_host(const struct postgresql_test *);
/*
 * The URL of an empty schema, new at each call; `role` NULL is argiope.  It
 * lives until the next call.
 */
const char *postgresql_test_url(struct postgresql_test *, const char *role);

#endif
