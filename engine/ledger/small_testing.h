/* small_testing -- the options of a ledger that a test fills in no time. */
#ifndef ENGINE_LEDGER_SMALL_TESTING_H
#define ENGINE_LEDGER_SMALL_TESTING_H

#include "engine/ledger/ledger.h"

static const struct ledger_options ledger_small = {
	.group_bytes_max = 1 << 20, .group_records_max = 1000,
	.group_promises_few = 16, .group_ms_max = 2,
	.segment_bytes = 16 << 10,
	.index = { .write_buffer_bytes = 1 << 20, .write_buffers = 2,
	    .block_cache_bytes = 1 << 20, .in_memory = true },
};

#endif
