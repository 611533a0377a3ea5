/* Fed whole, or byte by byte: the same end. */
#include "os/transport_chunk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str all = { (const char *)data, n };
	struct transport_chunk whole = { .digits = 0 }, bytes = whole;
	size_t used = transport_chunk_follow(&whole, all), used_bytes = 0;

	for (size_t i = 0; i < n; i++)
		used_bytes += transport_chunk_follow(&bytes,
		    str_cut(all, i, i + 1));
	CHECK(used == used_bytes && whole.state == bytes.state);
	CHECK(whole.left == bytes.left);
	CHECK(whole.trailer_bytes == bytes.trailer_bytes);
	CHECK(used == n || whole.state == TRANSPORT_CHUNK_ENDED ||
	    whole.state == TRANSPORT_CHUNK_BROKEN);
	return 0;
}
