#include "os/index_own.h"

#include <dirent.h>
#include <sys/stat.h>

/* RocksDB's own tables in memory receive little: index_write.c. */
#define ARENA_BYTES (32 << 10)
#define FILTER_BITS 10.0
#define BLOCK_BYTES (16 << 10)
/*
 * A frontier that grows writes keys all over `url`, so that each merge of its
 * newest runs rewrites level 1: it waits until there are many.  A walk looks
 * into each of them, 3 us a piece.
 */
#define URL_RUNS_MERGED 12
#define URL_RUNS_SLOW 28
#define URL_RUNS_STOP 40
#define OPEN_FILES_MAX 512
#define BACKGROUND_JOBS 2
#define SYNC_EVERY_BYTES (1 << 20)
#define INFO_LOG_BYTES (256 << 10)
#define INFO_LOGS_KEPT 2
#define INFO_LOG_WARN 2
#define MANIFEST_BYTES (4 << 20)

#define DEFAULT_WRITE_BUFFER_BYTES ((size_t)32 << 20)
#define DEFAULT_WRITE_BUFFERS 4
#define WRITE_BUFFER_BYTES_MIN ((size_t)64 << 10)
#define DEFAULT_BLOCK_CACHE_BYTES ((size_t)16 << 20)

/* RocksDB insists on a family "default"; ours that is always there is it. */
static const struct {
	const char *name;
	bool filter;
} families[INDEX_FAMILIES] = {
	[INDEX_META] = { "default", false },
	[INDEX_CRAWL] = { "crawl", false },
	[INDEX_QUEUE] = { "queue", false },
	[INDEX_URL] = { "url", false },
	[INDEX_JOURNAL] = { "journal", false },
	[INDEX_LOG] = { "log", false },
	[INDEX_WARC] = { "warc", false },
	[INDEX_KNOWN] = { "known", true },
	[INDEX_DIGEST] = { "digest", true },
	[INDEX_CONTROL] = { "control", false },
};

/* Files in memory outlive an index, as a disk does: one "disk" per process. */
static struct {
	pthread_mutex_t lock;
	rocksdb_env_t *env;
} memory = { PTHREAD_MUTEX_INITIALIZER, NULL };

static rocksdb_env_t *
memory_env(void)
{
	pthread_mutex_lock(&memory.lock);
	if (memory.env == NULL)
		memory.env = rocksdb_create_mem_env();
	rocksdb_env_t *env = memory.env;
	pthread_mutex_unlock(&memory.lock);
	return env;
}

void
index_forget_memory(void)
{
	pthread_mutex_lock(&memory.lock);
	if (memory.env != NULL)
		rocksdb_env_destroy(memory.env);
	memory.env = NULL;
	pthread_mutex_unlock(&memory.lock);
}

/* RocksDB tells kinds of errors apart by the beginning of their text. */
static enum err
err_of(struct str text)
{
	static const struct {
		struct str start;
		enum err err;
	} kinds[] = {
		{ { "Corruption", 10 }, ERR_CORRUPT },
		{ { "NotFound", 8 }, ERR_ABSENT },
		{ { "IO error: No space", 18 }, ERR_DISK_FULL },
		/* One of its files is gone. */
		{ { "IO error: No such file", 22 }, ERR_CORRUPT },
		{ { "IO error: While lock file", 25 }, ERR_BUSY },
		{ { "IO error: lock ", 15 }, ERR_BUSY },
		{ { "IO error", 8 }, ERR_IO },
		{ { "Shutdown in progress", 20 }, ERR_CLOSED },
		{ { "Invalid argument", 16 }, ERR_CORRUPT },
	};

	/* A full disk may stand at the end: "IO error: ...: No space ...". */
	if (str_find(text, STR("No space left on device")) < text.n ||
	    str_find(text, STR("Disk quota exceeded")) < text.n ||
	    str_find(text, STR("Space limit reached")) < text.n)
		return ERR_DISK_FULL;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_starts(text, kinds[i].start))
			return kinds[i].err;
	return ERR_BROKEN;
}

enum err
index_tell(struct why *w, const char *what, char *text)
{
	if (text == NULL)
		return OK;
	enum err e = err_of(str_of(text));
	why(w, e, "index: cannot %s: %s", what, text);
	rocksdb_free(text);
	return e;
}

static void
set_table(rocksdb_options_t *o, rocksdb_cache_t *cache, bool filter)
{
	rocksdb_block_based_table_options_t *t =
	    rocksdb_block_based_options_create();

	rocksdb_block_based_options_set_block_size(t, BLOCK_BYTES);
	rocksdb_block_based_options_set_block_cache(t, cache);
	rocksdb_block_based_options_set_format_version(t, 5);
	/* In the cache they have a limit; beside it they would have none. */
	rocksdb_block_based_options_set_cache_index_and_filter_blocks(t, 1);
	rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(
	    t, 1);
	if (filter)
		rocksdb_block_based_options_set_filter_policy(t,
		    rocksdb_filterpolicy_create_ribbon(FILTER_BITS));
	rocksdb_options_set_block_based_table_factory(o, t);
	rocksdb_block_based_options_destroy(t);
}

/* What holds for the whole database. */
static void
set_database(rocksdb_options_t *o, const struct index_options *in)
{
	rocksdb_options_set_create_if_missing(o, 1);
	rocksdb_options_set_create_missing_column_families(o, 1);
	if (in->in_memory)
		rocksdb_options_set_env(o, memory_env());
	rocksdb_options_set_paranoid_checks(o, 1);
	rocksdb_options_set_max_background_jobs(o, BACKGROUND_JOBS);
	rocksdb_options_set_bytes_per_sync(o, SYNC_EVERY_BYTES);
	rocksdb_options_set_max_open_files(o, OPEN_FILES_MAX);
	rocksdb_options_set_max_manifest_file_size(o, MANIFEST_BYTES);
	rocksdb_options_set_info_log_level(o, INFO_LOG_WARN);
	rocksdb_options_set_max_log_file_size(o, INFO_LOG_BYTES);
	rocksdb_options_set_keep_log_file_num(o, INFO_LOGS_KEPT);
	rocksdb_options_set_stats_dump_period_sec(o, 0);
	rocksdb_options_set_stats_persist_period_sec(o, 0);
	/* One thread writes: no need for an arena per core. */
	rocksdb_options_set_allow_concurrent_memtable_write(o, 0);
	rocksdb_options_set_enable_write_thread_adaptive_yield(o, 0);
	/* The limit of all families' memory together. */
	rocksdb_options_set_db_write_buffer_size(o,
	    in->write_buffer_bytes * in->write_buffers);
	rocksdb_options_set_write_buffer_size(o, in->write_buffer_bytes);
	rocksdb_options_set_max_write_buffer_number(o,
	    (int)in->write_buffers);
	/* Level 1 holds as much as level 0. */
	rocksdb_options_set_max_bytes_for_level_base(o,
	    URL_RUNS_MERGED * (uint64_t)in->write_buffer_bytes);
	rocksdb_options_set_level_compaction_dynamic_level_bytes(o, 1);
	rocksdb_options_set_compression(o, rocksdb_lz4_compression);
	rocksdb_options_set_bottommost_compression(o,
	    rocksdb_zstd_compression);
}

/*
 * index_close() is to leave what a crash would: RocksDB's own close would
 * write what its log did not have.  7.8 has this setting in no call of C.
 */
static enum err
dont_flush_at_close(rocksdb_options_t **op, struct why *w)
{
	rocksdb_options_t *o = rocksdb_options_create();
	char *text = NULL;

	rocksdb_get_options_from_string(*op, "avoid_flush_during_shutdown=true",
	    o, &text);
	rocksdb_options_destroy(*op);
	*op = o;
	return index_tell(w, "set options", text);
}

static void
set_family(struct index *x, enum index_family f, rocksdb_options_t *base)
{
	rocksdb_options_t *o = rocksdb_options_create_copy(base);

	/* RocksDB asserts that an empty table is not almost full. */
	rocksdb_options_set_arena_block_size(o,
	    MIN(ARENA_BYTES, rocksdb_options_get_write_buffer_size(base) / 16));
	if (f == INDEX_URL) {
		/* A start reads the whole family, and spent a fifth of its time
		 * on ZSTD.  In bench/frontier_fill a URL takes 10 bytes with
		 * LZ4, and took 5. */
		rocksdb_options_set_bottommost_compression(o,
		    rocksdb_lz4_compression);
		rocksdb_options_set_disable_auto_compactions(o, x->held);
		rocksdb_options_set_level0_file_num_compaction_trigger(o,
		    URL_RUNS_MERGED);
		rocksdb_options_set_level0_slowdown_writes_trigger(o,
		    URL_RUNS_SLOW);
		rocksdb_options_set_level0_stop_writes_trigger(o,
		    URL_RUNS_STOP);
	}
	set_table(o, x->cache, families[f].filter);
	x->options[f] = o;
}

static enum err
open_database(struct index *x, const char *dir, rocksdb_options_t *base,
    bool read_only, struct why *w)
{
	const char *names[INDEX_FAMILIES];
	char *text = NULL;

	for (size_t f = 0; f < INDEX_FAMILIES; f++) {
		names[f] = families[f].name;
		set_family(x, (enum index_family)f, base);
	}
	const rocksdb_options_t *const *options =
	    (const rocksdb_options_t *const *)x->options;
	x->db = read_only ?
	    rocksdb_open_for_read_only_column_families(base, dir,
	    INDEX_FAMILIES, names, options, x->handles, 0, &text) :
	    rocksdb_open_column_families(base, dir, INDEX_FAMILIES, names,
	    options, x->handles, &text);
	if (text == NULL)
		return OK;
	x->db = NULL;
	if (strstr(text, "Column families not opened") != NULL) {
		rocksdb_free(text);
		return why(w, ERR_NEWER, "%s was written by a newer version "
		    "of argiope; use that version", dir);
	}
	return index_tell(w, dir, text);
}

/* Bytes of all tables, of any family. */
static uint64_t
count_table_bytes(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	struct stat st;
	uint64_t bytes = 0;

	while (d != NULL && (e = readdir(d)) != NULL)
		if (str_ends(str_of(e->d_name), STR(".sst")) &&
		    fstatat(dirfd(d), e->d_name, &st, 0) == 0)
			bytes += (uint64_t)st.st_size;
	if (d != NULL)
		closedir(d);
	return bytes;
}

void
index_release(struct index *x)
{
	static const char *const key = "disable_auto_compactions";
	static const char *const value = "false";
	char *text = NULL;

	if (!atomic_load_explicit(&x->held, memory_order_relaxed) ||
	    !atomic_exchange(&x->held, false))
		return;
	rocksdb_set_options_cf(x->db, x->handles[INDEX_URL], 1, &key, &value,
	    &text);
	/* RocksDB records options; the disk may be full.  Later, then. */
	atomic_store(&x->held, text != NULL);
	rocksdb_free(text);
}

enum err
index_open(const char *dir, const struct index_options *given,
    struct index **out, struct why *w)
{
	struct index_options in = *given;
	struct index *x = mem_new(sizeof(*x));

	pthread_mutex_init(&x->flushing, NULL);
	pthread_mutex_init(&x->change, NULL);
	pthread_mutex_init(&x->lock, NULL);
	x->dir = mem_copy_text(dir);
	x->in_memory = in.in_memory;
	*out = NULL;
	if (in.write_buffer_bytes == 0)
		in.write_buffer_bytes = DEFAULT_WRITE_BUFFER_BYTES;
	if (in.write_buffers == 0)
		in.write_buffers = DEFAULT_WRITE_BUFFERS;
	in.write_buffer_bytes = MAX(in.write_buffer_bytes,
	    WRITE_BUFFER_BYTES_MIN);
	in.write_buffers = MAX(in.write_buffers, 2);
	if (in.block_cache_bytes == 0)
		in.block_cache_bytes = DEFAULT_BLOCK_CACHE_BYTES;
	x->fresh_bytes_max = in.write_buffer_bytes * in.write_buffers / 2;
	x->held = !in.in_memory && !in.read_only &&
	    count_table_bytes(dir) >= INDEX_HELD_BYTES_MIN;
	x->cache = rocksdb_cache_create_lru(in.block_cache_bytes);
	x->write = rocksdb_writeoptions_create();
	rocksdb_writeoptions_disable_WAL(x->write, 1);
	x->read = rocksdb_readoptions_create();
	x->read_long = rocksdb_readoptions_create();
	rocksdb_readoptions_set_fill_cache(x->read_long, 0);
	x->flush = rocksdb_flushoptions_create();
	rocksdb_flushoptions_set_wait(x->flush, 1);
	rocksdb_options_t *base = rocksdb_options_create();
	set_database(base, &in);
	enum err e = dont_flush_at_close(&base, w);
	if (e == OK && !in.read_only)
		e = index_remove_new(x, w);
	if (e == OK)
		e = open_database(x, dir, base, in.read_only, w);
	rocksdb_options_destroy(base);
	if (e == OK)
		*out = x;
	else
		index_close(&x);
	return e;
}

void
index_close(struct index **xp)
{
	struct index *x = *xp;

	if (x == NULL)
		return;
	for (size_t f = 0; f < INDEX_FAMILIES; f++)
		if (x->handles[f] != NULL)
			rocksdb_column_family_handle_destroy(x->handles[f]);
	if (x->db != NULL)
		rocksdb_close(x->db);
	for (size_t f = 0; f < INDEX_FAMILIES; f++)
		if (x->options[f] != NULL)
			rocksdb_options_destroy(x->options[f]);
	rocksdb_flushoptions_destroy(x->flush);
	rocksdb_readoptions_destroy(x->read);
	rocksdb_readoptions_destroy(x->read_long);
	rocksdb_writeoptions_destroy(x->write);
	rocksdb_cache_destroy(x->cache);
	for (size_t f = 0; f < INDEX_FAMILIES; f++) {
		run_merging_end(&x->mergings[f]);
		run_list_release(x->lists[f]);
	}
	pthread_mutex_destroy(&x->flushing);
	pthread_mutex_destroy(&x->change);
	pthread_mutex_destroy(&x->lock);
	mem_free(&x->dir);
	mem_free(xp);
}

void
index_set_context(struct index *x, const void *context)
{
	x->context = context;
}

const void *
index_context(const struct index *x)
{
	return x->context;
}

uint64_t
index_property(struct index *x, enum index_family f, const char *name)
{
	uint64_t v = 0;

	return rocksdb_property_int_cf(x->db, x->handles[f], name, &v) == 0 ?
	    v : 0;
}

/* --- parts of a family ---------------------------------------------------- */

/* Bytes of a key, behind what two have in common, are taken for a number. */
#define SPLIT_DIGITS 8
#define SPLIT_STEPS_MAX 256
/* A part may be larger or smaller by this share of it. */
#define SPLIT_TOLERANCE 16

static uint64_t
bytes_between(const struct index *x, enum index_family f, struct str from,
    struct str to)
{
	uint64_t bytes = 0;
	char *text = NULL;

	rocksdb_approximate_sizes_cf(x->db, x->handles[f], 1, &from.p, &from.n,
	    &to.p, &to.n, &bytes, &text);
	if (text != NULL)
		bytes = 0;
	rocksdb_free(text);
	return bytes;
}

static uint64_t
digits_at(struct str key, size_t at)
{
	struct reader in = reader_of(str_from(key, at));
	uint64_t v = 0;

	for (int i = 0; i < SPLIT_DIGITS; i++)
		v = v << 8 | (in.n == 0 ? 0 : read_u8(&in));
	return v;
}

/* Set `mid` to a key between the two; false when none is found. */
static bool
key_between(struct str low, struct str high, struct buf *mid)
{
	size_t same = 0;

	while (same < low.n && same < high.n && low.p[same] == high.p[same])
		same++;
	uint64_t a = digits_at(low, same), b = digits_at(high, same);
	buf_clear(mid);
	buf_put_str(mid, str_cut(low, 0, same));
	buf_put_be64(mid, a + (b - a) / 2);
	return b > a && b - a > 1;
}

/* Set `cut` to a key with about `wanted` bytes between it and `from`. */
static void
find_cut(const struct index *x, enum index_family f, struct str from,
    struct str to, uint64_t wanted, uint64_t tolerance, struct buf *cut)
{
	FREED(buf_free) struct buf low = BUF_INIT, high = BUF_INIT;

	buf_put_str(&low, from);
	buf_put_str(&high, to);
	for (int i = 0; i < SPLIT_STEPS_MAX &&
	    key_between(buf_str(&low), buf_str(&high), cut); i++) {
		uint64_t bytes = bytes_between(x, f, from, buf_str(cut));
		if (bytes + tolerance >= wanted && bytes <= wanted + tolerance)
			break;
		struct buf *end = bytes < wanted ? &low : &high;
		buf_clear(end);
		buf_put_str(end, buf_str(cut));
	}
}

size_t
index_split(struct index *x, enum index_family f, struct str from,
    struct str to, size_t n, struct buf *cuts)
{
	uint64_t all = bytes_between(x, f, from, to);
	struct str last = from;
	size_t parts = 1;

	n = MIN(n, (size_t)(all / INDEX_PART_BYTES_MIN));
	for (size_t i = 1; i < n; i++) {
		struct buf *cut = &cuts[parts - 1];
		find_cut(x, f, from, to, all / n * i,
		    all / n / SPLIT_TOLERANCE, cut);
		/* Two searches may end at one key, where little data is. */
		if (str_cmp(buf_str(cut), last) <= 0 ||
		    str_cmp(buf_str(cut), to) >= 0)
			continue;
		last = buf_str(cut);
		parts++;
	}
	return parts;
}
