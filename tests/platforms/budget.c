/* Rate budgets: windows that usually begin at multiples of their period. */
#include "tests/platforms/platforms.h"

#define BUDGETS_MAX 1000

static struct {
	char name[200];
	int64_t ends_s;
	uint64_t taken;
} budgets[BUDGETS_MAX];
static size_t budgets_n;
static uint64_t limit_of_all;

void
budget_set(uint64_t limit)
{
	limit_of_all = limit;
	budgets_n = 0;
}

static size_t
find(struct str name)
{
	size_t i = 0;

	while (i < budgets_n && !str_eq(name, str_of(budgets[i].name)))
		i++;
	CHECK(i < BUDGETS_MAX);
	if (i == budgets_n) {
		memset(&budgets[i], 0, sizeof(budgets[i]));
		snprintf(budgets[i].name, sizeof(budgets[i].name), "%.*s",
		    STR_FMT(name));
		budgets_n++;
	}
	return i;
}

void
budget_take_until(struct str name, uint64_t limit, int64_t ends_s,
    struct budget *out)
{
	int64_t now_s = wall_s(clock_wall());
	size_t i = find(str_cut(name, 0, sizeof(budgets[0].name) - 1));

	if (limit_of_all != 0)
		limit = limit_of_all;
	if (now_s >= budgets[i].ends_s) {
		budgets[i].ends_s = ends_s;
		budgets[i].taken = 0;
	}
	budgets[i].taken++;
	*out = (struct budget){ .limit = limit,
		.left = limit - MIN(limit, budgets[i].taken),
		.reset = { budgets[i].ends_s * US_PER_S },
		.exceeded = budgets[i].taken > limit };
}

void
budget_take(struct str name, uint64_t limit, int64_t period_s,
    struct budget *out)
{
	int64_t now_s = wall_s(clock_wall());

	budget_take_until(name, limit, now_s - now_s % period_s + period_s,
	    out);
}
