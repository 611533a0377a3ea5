#include "wire/grpc/status.h"

#include <nghttp2/nghttp2.h>

const char *
grpc_code_name(unsigned code)
{
	static const char *const names[] = {
#define GRPC_CODE_NAME(name) #name,
		GRPC_CODES(GRPC_CODE_NAME)
#undef GRPC_CODE_NAME
	};

	return names[code < GRPC_CODE_COUNT ? code : GRPC_UNKNOWN];
}

enum grpc_code
grpc_code_read(struct str s)
{
	uint64_t n;

	if (s.n > 2 || !str_to_u64(s, &n) || n >= GRPC_CODE_COUNT)
		return GRPC_UNKNOWN;
	return (enum grpc_code)n;
}

enum grpc_code
grpc_code_of_http(unsigned status)
{
	switch (status) {
	case 400:
		return GRPC_INTERNAL;
	case 401:
		return GRPC_UNAUTHENTICATED;
	case 403:
		return GRPC_PERMISSION_DENIED;
	case 404:
		return GRPC_UNIMPLEMENTED;
	case 429:
	case 502:
	case 503:
	case 504:
		return GRPC_UNAVAILABLE;
	default:
		return GRPC_UNKNOWN;
	}
}

enum grpc_code
grpc_code_of_reset(uint32_t http2_error)
{
	switch (http2_error) {
	case NGHTTP2_REFUSED_STREAM:
		return GRPC_UNAVAILABLE;
	case NGHTTP2_CANCEL:
		return GRPC_CANCELLED;
	case NGHTTP2_ENHANCE_YOUR_CALM:
		return GRPC_RESOURCE_EXHAUSTED;
	case NGHTTP2_INADEQUATE_SECURITY:
		return GRPC_PERMISSION_DENIED;
	default:
		return GRPC_INTERNAL;
	}
}

void
grpc_percent_encode(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c >= ' ' && c <= '~' && c != '%')
			buf_put_char(b, (char)c);
		else
			buf_printf(b, "%%%02X", c);
	}
}

void
grpc_percent_decode(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		int byte = str_percent_byte(str_from(s, i));
		buf_put_char(b, byte >= 0 ? (char)byte : s.p[i]);
		if (byte >= 0)
			i += 2;
	}
}
