/*
 * status -- how a call ended: codes, their names, and grpc-message's escapes.
 *
 * Thread: any.
 * Source: gRPC's doc/statuscodes.md, doc/PROTOCOL-HTTP2.md and
 * doc/http-grpc-status-mapping.md.
 */
#ifndef WIRE_GRPC_STATUS_H
#define WIRE_GRPC_STATUS_H

#include "base/bytes.h"

/* In the order of their numbers, from 0. */
#define GRPC_CODES(X)                                                        \
	X(OK) X(CANCELLED) X(UNKNOWN) X(INVALID_ARGUMENT)                    \
	X(DEADLINE_EXCEEDED) X(NOT_FOUND) X(ALREADY_EXISTS)                  \
	X(PERMISSION_DENIED) X(RESOURCE_EXHAUSTED) X(FAILED_PRECONDITION)    \
	X(ABORTED) X(OUT_OF_RANGE) X(UNIMPLEMENTED) X(INTERNAL)              \
	X(UNAVAILABLE) X(DATA_LOSS) X(UNAUTHENTICATED)

enum grpc_code {
#define GRPC_CODE_ENUM(name) GRPC_##name,
	GRPC_CODES(GRPC_CODE_ENUM)
#undef GRPC_CODE_ENUM
	GRPC_CODE_COUNT
};

/* "NOT_FOUND"; "UNKNOWN" for a number that is none. */
const char *grpc_code_name(unsigned code);
/* The value of grpc-status; UNKNOWN for anything but 0 to 16. */
enum grpc_code grpc_code_read(struct str);
/* For an answer that carries no grpc-status. */
enum grpc_code grpc_code_of_http(unsigned status);
/* For a stream that was reset with an error code of HTTP/2. */
enum grpc_code grpc_code_of_reset(uint32_t http2_error);

/* grpc-message: all but printable ASCII, and '%', become %XX. */
void grpc_percent_encode(struct buf *, struct str);
/* Undo it; what is no escape stays as it is. */
void grpc_percent_decode(struct buf *, struct str);

#endif
