/* argiope completion -- what a shell can know of the verbs. */
#include "cli/verbs.h"

static const struct option_row rows[] = { OPTION_COMMON(OPTION_ROW) };

const struct option_verb completion_verb = {
	"completion", "bash", 1, 1, "Print the completion for a shell",
	"Put it to use with: eval \"$(argiope completion bash)\"",
	rows, ARRAY_LEN(rows)
};

int
completion_run(struct cli *c)
{
	struct buf b = BUF_INIT;
	struct why w = WHY_INIT;
	size_t n;
	const struct option_verb *verbs = verbs_all(&n);

	if (strcmp(c->options.operands[0], "bash") != 0) {
		why(&w, ERR_USAGE, "completion %.40s: only bash is known",
		    c->options.operands[0]);
		return cli_fail(&w);
	}
	option_completion(CLI_PROGRAM, verbs, n, &b);
	cli_put(&b);
	return 0;
}
