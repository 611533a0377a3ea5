#include "cli/simulator/upload_call.h"

#include "cli/simulator/envelope.h"

enum http_damage
upload_call_decode(struct web_request *r, uint64_t bytes_max, struct buf *out)
{
	struct http_decode_limits limits = HTTP_DECODE_LIMITS_DEFAULT;
	struct http_field coding = { STR("Content-Encoding"), STR("") };
	struct http_head head = { .version = 11, .fields = &coding,
	    .fields_n = 1, .complete = true };
	struct str body = web_body(r);

	limits.bytes_max = bytes_max;
	if (web_field(r, "content-encoding", &coding.value))
		return http_decode_body(&head, body, limits, out);
	buf_put_str(out, body);
	return HTTP_FINE;
}

bool
upload_call_is_refused(const struct fault *f)
{
	return f != NULL && (f->kind == FAULT_REDIRECT ||
	    (f->kind == FAULT_ANSWER && f->status >= 300));
}

int
upload_call_status(const struct fault *f, int status)
{
	if (f != NULL && f->kind == FAULT_REDIRECT)
		return 307;
	return f != NULL && f->kind == FAULT_ANSWER ? f->status : status;
}

const char *
upload_call_fault(const struct fault *f)
{
	static const char *const names[] = { [FAULT_NONE] = "",
		[FAULT_ANSWER] = "status", [FAULT_CUT] = "cut_bytes",
		[FAULT_REPLY_LOST] = "reply_lost",
		[FAULT_LINES] = "refused_lines",
		[FAULT_REDIRECT] = "redirect" };

	return f == NULL ? "" : names[f->kind];
}

/* ---- A body that ends early ----------------------------------------- */

struct cut_body {
	struct web_pull pull;
	struct buf bytes;
	size_t at;                   /* taken so far */
};

static bool
pull_cut(struct web_pull *p, struct buf *out, size_t room)
{
	struct cut_body *b = CONTAINER(p, struct cut_body, pull);
	size_t n = MIN(room, b->bytes.n - b->at);

	buf_put_str(out, str_cut(buf_str(&b->bytes), b->at, b->at + n));
	b->at += n;
	return b->at < b->bytes.n;
}

static void
end_cut(struct web_pull *p)
{
	struct cut_body *b = CONTAINER(p, struct cut_body, pull);

	buf_free(&b->bytes);
	mem_free(&b);
}

static void
answer_cut(struct web_request *r, uint64_t bytes, int status, struct str json)
{
	struct cut_body *b = mem_new(sizeof(*b));

	b->pull.pull = pull_cut;
	b->pull.end = end_cut;
	b->pull.broken = true;
	buf_put_str(&b->bytes, str_cut(json, 0, (size_t)bytes));
	/* The announced length is that of all of it. */
	web_answer_pull(r, status, ENVELOPE_TYPE, MAX(json.n, b->bytes.n + 1),
	    &b->pull);
}

/* ---- Answers -------------------------------------------------------- */

static void
answer_status(struct web_request *r, const struct fault *f, struct str json)
{
	char seconds[24];

	if (f->has_retry_after) {
		snprintf(seconds, sizeof(seconds), "%llu",
		    (unsigned long long)f->retry_after_s);
		web_add_field(r, "Retry-After", seconds);
	}
	if (f->body.p != NULL)
		web_answer(r, f->status, "text/plain", f->body);
	else
		web_answer(r, f->status, ENVELOPE_TYPE, json);
}

void
upload_call_answer(struct web_request *r, const struct fault *f, int status,
    struct str json)
{
	switch (f == NULL ? FAULT_NONE : f->kind) {
	case FAULT_REPLY_LOST:
		web_abort(r);
		break;
	case FAULT_CUT:
		answer_cut(r, f->cut_bytes, status, json);
		break;
	case FAULT_ANSWER:
		answer_status(r, f, json);
		break;
	case FAULT_REDIRECT:
		web_add_field(r, "Location", f->redirect);
		web_answer(r, 307, ENVELOPE_TYPE, json);
		break;
	case FAULT_NONE:
	case FAULT_LINES:
		web_answer(r, status, ENVELOPE_TYPE, json);
		break;
	}
}
