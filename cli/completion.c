/* argiope completion -- what a shell can know of the verbs. */
#include "cli/verbs.h"

const struct option_verb completion_verb = {
	"completion", "bash", 1, 1, "Print the completion for a shell",
	"Put it to use with: eval \"$(argiope completion bash)\"",
	verbs_plain, ARRAY_LEN(verbs_plain)
};

enum err
completion_run(struct cli *c, struct why *w)
{
	size_t n;
	const struct option_verb *verbs = verbs_all(&n);

	if (strcmp(c->options.operands[0], "bash") != 0)
		return why(w, ERR_USAGE, "completion %.40s: only bash is known",
		    c->options.operands[0]);
	option_completion(CLI_PROGRAM, verbs, n, &c->out);
	return OK;
}
