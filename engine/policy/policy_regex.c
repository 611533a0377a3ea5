#include "engine/policy/policy_regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* PCRE2 takes 64 KiB of code; no text beyond this can fit. */
#define EXPANDED_BYTES_MAX (1024 * 1024)

struct regex {
	pcre2_code *code;
	pcre2_match_context *limits;    /* PCRE2 only reads it */
};

static struct regex *
regex_of(pcre2_code *code)
{
	struct regex *r = mem_new(sizeof(*r));

	r->code = code;
	r->limits = pcre2_match_context_create(NULL);
	CHECK(r->limits != NULL);
	pcre2_set_match_limit(r->limits, POLICY_REGEX_MATCH_LIMIT);
	pcre2_set_depth_limit(r->limits, POLICY_REGEX_DEPTH_LIMIT);
	pcre2_set_heap_limit(r->limits, POLICY_REGEX_HEAP_KIB);
	return r;
}

enum err
regex_new(const char *place, struct str pattern, unsigned flags,
    struct regex **out, struct why *w)
{
	int fault;
	PCRE2_SIZE offset;
	PCRE2_UCHAR text[160];
	uint32_t options = PCRE2_NEVER_BACKSLASH_C | PCRE2_NEVER_UTF |
	    PCRE2_NEVER_UCP;

	*out = NULL;
	if ((flags & REGEX_NOCASE) != 0)
		options |= PCRE2_CASELESS;
	if (pattern.n > EXPANDED_BYTES_MAX)
		return why(w, ERR_FULL, "%s: too large with these seeds",
		    place);
	pcre2_code *code = pcre2_compile((PCRE2_SPTR)(pattern.p == NULL ? "" :
	    pattern.p), pattern.n, options, &fault, &offset, NULL);
	if (code == NULL && fault == PCRE2_ERROR_PATTERN_TOO_LARGE)
		return why(w, ERR_FULL, "%s: too large", place);
	if (code == NULL) {
		pcre2_get_error_message(fault, text, sizeof(text));
		if ((flags & REGEX_OFFSET) != 0)
			return why(w, ERR_INPUT, "%s: %s (at byte %zu)", place,
			    (const char *)text, (size_t)offset);
		return why(w, ERR_INPUT, "%s: %s", place, (const char *)text);
	}
	/* Where the machine forbids JIT the interpreter gives the same. */
	if ((flags & REGEX_FAST) != 0)
		(void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
	*out = regex_of(code);
	return OK;
}

void
regex_free(struct regex **rp)
{
	struct regex *r = *rp;

	if (r == NULL)
		return;
	pcre2_match_context_free(r->limits);
	pcre2_code_free(r->code);
	mem_free(rp);
}

size_t
regex_bytes(const struct regex *r)
{
	size_t size = 0, jit = 0;

	pcre2_pattern_info(r->code, PCRE2_INFO_SIZE, &size);
	pcre2_pattern_info(r->code, PCRE2_INFO_JITSIZE, &jit);
	return size + jit;
}

void
regex_scratch_free(struct regex_scratch *s)
{
	pcre2_match_data_free(s->match_data);
	s->match_data = NULL;
}

enum policy_match
regex_match(const struct regex *r, struct str subject, struct regex_scratch *s)
{
	PCRE2_SPTR p = (PCRE2_SPTR)(subject.p == NULL ? "" : subject.p);

	if (s->match_data == NULL)
		s->match_data = pcre2_match_data_create(1, NULL);
	CHECK(s->match_data != NULL);
	int rc = pcre2_match(r->code, p, subject.n, 0, 0, s->match_data,
	    r->limits);
	/* JIT's own stack is small; the interpreter's heap has our limit. */
	if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
		rc = pcre2_match(r->code, p, subject.n, 0, PCRE2_NO_JIT,
		    s->match_data, r->limits);
	if (rc >= 0)
		return POLICY_MATCH;
	return rc == PCRE2_ERROR_NOMATCH ? POLICY_NO_MATCH : POLICY_GAVE_UP;
}
