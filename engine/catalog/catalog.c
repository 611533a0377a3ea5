#include "engine/catalog/core.h"
#include "engine/catalog/journal_scan.h"
#include "engine/catalog/link_scan.h"
#include "engine/ledger/ledger.h"

struct catalog *
catalog_new(const struct catalog_options *o)
{
	struct catalog *c = mem_new(sizeof(*c));

	link_scan_open();
	c->options = *o;
	c->tasks = read_tasks_new(o->home, o->pool, ledger_index(o->ledger));
	c->scans = journal_scans_new(c);
	return c;
}

void
catalog_close(struct catalog *c, void (*closed)(void *), void *arg)
{
	c->closing = true;
	journal_scans_close(c->scans);
	read_tasks_close(c->tasks, closed, arg);
}

void
catalog_free(struct catalog **cp)
{
	struct catalog *c = *cp;

	if (c == NULL)
		return;
	journal_scans_free(&c->scans);
	read_tasks_free(&c->tasks);
	mem_free(cp);
}

struct read_tasks *
catalog_tasks(struct catalog *c)
{
	return c->tasks;
}
