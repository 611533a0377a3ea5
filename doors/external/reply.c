#include "doors/external/reply.h"

#include <stdarg.h>

#include "base/json_writer.h"
#include "os/log.h"

#define JSON_TYPE "application/json"
#define TEXT_BYTES_MAX 1000u

void
reply_success(struct web_request *r, struct str payload)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	json_object(&b, NULL);
	json_bool(&b, "success", true);
	json_raw(&b, "payload", payload);
	json_u64(&b, "version", 0);
	buf_put_char(&b, '}');
	web_answer(r, 200, JSON_TYPE, buf_str(&b));
}

void
reply_fail_all(struct web_request *r, int status, const struct str *messages,
    size_t n)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	json_object(&b, NULL);
	json_bool(&b, "success", false);
	json_strs(&b, "messages", messages, n);
	buf_put_char(&b, '}');
	web_answer(r, status, JSON_TYPE, buf_str(&b));
}

void
reply_fail(struct web_request *r, int status, const char *fmt, ...)
{
	char text[TEXT_BYTES_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	struct str message = str_of(text);
	reply_fail_all(r, status, &message, 1);
}

void
reply_fail_why(struct web_request *r, enum err e, const struct why *w)
{
	if (!err_is_internal(e)) {
		reply_fail(r, err_http(e), "%s", w->text);
		return;
	}
	log_error("external.failed", "why=%s", log_why(w));
	reply_fail(r, 503, "%s", err_text(e));
}

void
reply_refuse(struct web_request *r, int status, const char *code,
    struct str text)
{
	(void)code;
	reply_fail_all(r, status, &text, 1);
}
