#include "cli/conformance/task_trace.h"

/* Any bytes as uploads, parted by a NUL; each is read and judged. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct task_trace *t = mem_new(sizeof(*t));
	struct str rest = { (const char *)data, n }, body;
	struct map ids = MAP_INIT;
	const char *reason;

	list_init(&t->node);
	t->closed = CODE_DONE;
	while (str_split(&rest, '\0', &body)) {
		struct arrival *a = task_trace_add(t, FAULT_UPLOAD,
		    (struct mono){ 0 });
		a->body = body;
		task_trace_read(t, a, STR("id"));
		a->accepted = a->malformed == NULL;
		CHECK(a->malformed != NULL || a->documents > 0);
	}
	/* Compared with itself, nothing can be missing. */
	if (task_trace_ids(t, &ids).p == NULL)
		CHECK(task_trace_is_whole(t, t, STR_NONE, &reason));
	CHECK(!task_trace_has_keys(t, &reason) || t->n == 0);
	map_free(&ids);
	task_trace_free(&t);
	return 0;
}
