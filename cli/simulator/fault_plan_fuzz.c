#include "cli/simulator/fault_plan.h"

/* Any bytes as a plan: no crash; a fault that is found concerns the call. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct fault_plan *p;
	struct why w = WHY_INIT;
	enum err e = fault_plan_read((struct str){ (const char *)data, n }, &p,
	    &w);

	CHECK((e == OK) == (p != NULL));
	CHECK((e == OK) == (w.text[0] == '\0'));
	for (uint64_t i = 0; e == OK && i < 20; i++) {
		const struct fault *f = fault_plan_find(p, i % 2 == 0 ?
		    FAULT_UPLOAD : FAULT_STATUS, i / 2);
		CHECK(f == NULL || (f->number <= i / 2 && i / 2 <= f->last));
	}
	fault_plan_free(&p);
	CHECK(p == NULL);
	return 0;
}
