/*
 * The process begins here: limits, locale, signals; then the verb.
 */
#include <locale.h>

#include "cli/verbs.h"
#include "daemon/verb_table.h"
#include "os/system.h"
#include "script/worker.h"

extern char **environ;

int
main(int argc, char **argv)
{
	/* A spawner of scripts reads nothing: no configuration, no secret. */
	if (script_worker_is(argc, argv))
		script_worker_main();
	/* Numbers are read and written the same way everywhere. */
	setlocale(LC_ALL, "C");
	system_ignore_sigpipe();
	system_open_files();
	verb_table_use();
	if (argc < 1)
		return verbs_run(CLI_PROGRAM, 0, NULL,
		    (const char *const *)environ);
	return verbs_run(argv[0], argc - 1, (const char *const *)argv + 1,
	    (const char *const *)environ);
}
