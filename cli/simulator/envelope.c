#include "cli/simulator/envelope.h"

#include "base/json_writer.h"

void
envelope_put_success(struct buf *b, struct str payload)
{
	json_object(b, NULL);
	json_bool(b, "success", true);
	json_raw(b, "payload", payload);
	json_u64(b, "version", 0);
	buf_put_char(b, '}');
}

void
envelope_put_failure(struct buf *b, const struct str *messages, size_t n,
    struct str payload)
{
	json_object(b, NULL);
	json_bool(b, "success", false);
	json_strs(b, "messages", messages, n);
	if (payload.n > 0)
		json_raw(b, "payload", payload);
	buf_put_char(b, '}');
}
