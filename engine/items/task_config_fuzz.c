/*
 * Fuzz configurations of items.  What is accepted must be accepted again from
 * the JSON that it keeps; what is refused must say where.
 */
#include "engine/items/task_config.h"

#include "engine/items/task_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
use_config(const struct task_config *c)
{
	for (size_t i = 0; i < c->tasks_n; i++) {
		const struct task *t = &c->tasks[i];
		CHECK(task_find(c, t->name) == t);
		CHECK(task_matches(STR("*"), t->name));
		for (size_t k = 0; k < t->depends_on_n; k++)
			CHECK(task_find(c, t->depends_on[k]) != NULL);
		task_ttl_expires(&t->ttl, (struct wall){ 0 });
	}
	for (size_t i = 0; i < c->groups_n; i++)
		for (size_t k = 0; k < c->tasks_n; k++)
			task_matches(c->groups[i].pattern, c->tasks[k].name);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct item_limits limits = ITEM_LIMITS_DEFAULT;
	struct str json = { (const char *)data, n };
	struct task_config *c, *again;
	struct task_faults faults = TASK_FAULTS_INIT;
	struct why w = WHY_INIT;

	if (task_config_read(json, &limits, &c, &faults, &w) != OK) {
		CHECK(c == NULL && w.err == ERR_INPUT && w.field[0] != '\0');
		CHECK(str_ends(buf_str(&faults.text), STR("\n")));
		task_faults_free(&faults);
		return 0;
	}
	CHECK(faults.text.n == 0 && faults.limit == NULL && w.err == OK);
	use_config(c);
	CHECK(task_config_read(c->json, &limits, &again, NULL, &w) == OK);
	CHECK(again->tasks_n == c->tasks_n && again->seeds_n == c->seeds_n);
	task_config_free(&again);
	task_config_free(&c);
	return 0;
}
