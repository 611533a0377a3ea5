#include "engine/ledger/commitlog_testing.h"

#include "base/hash.h"
#include "os/log.h"

const struct commitlog_options tiny = { .segment_bytes = 4096 };
size_t body_max;

struct str
group_body(uint64_t group, struct buf *b)
{
	size_t n = (size_t)(hash_u64(group) % (body_max + 1));

	buf_clear(b);
	for (size_t i = 0; i < n; i++)
		buf_put_char(b, (char)hash_u64(group * 131071 + i));
	return buf_str(b);
}

enum err
replay(void *arg, uint64_t group, struct str body, struct why *w)
{
	struct replayed *r = arg;
	struct buf b = BUF_INIT;

	if (r->first == 0)
		r->first = group;
	else
		assert_int_equal(group, r->last + 1);
	assert_true(str_eq(body, group_body(group, &b)));
	buf_free(&b);
	r->last = group;
	if (group == r->fail_group)
		return why(w, ERR_INPUT, "not this one");
	return OK;
}

struct commitlog *
open_from(uint64_t from, struct replayed *r)
{
	struct commitlog *l;
	struct why w = WHY_INIT;

	*r = (struct replayed){ 0 };
	if (commitlog_open(DIR, &tiny, from, replay, r, &l, &w) != OK)
		fail_msg("%s", w.text);
	return l;
}

struct commitlog *
open_ok(void)
{
	struct replayed r;

	return open_from(0, &r);
}

void
refused(uint64_t from, const char *text)
{
	struct replayed r = { 0 };
	struct commitlog *l;
	struct why w = WHY_INIT;

	assert_int_equal(commitlog_open(DIR, &tiny, from, replay, &r, &l, &w),
	    ERR_CORRUPT);
	assert_null(l);
	if (strstr(w.text, text) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", text, w.text);
	assert_non_null(strstr(w.text, "is damaged: "));
}

enum err
append(struct commitlog *l, struct why *w)
{
	struct buf b = BUF_INIT;
	uint64_t group = commitlog_group(l) + 1;

	enum err e = commitlog_append(l, group, group_body(group, &b), w);
	buf_free(&b);
	return e;
}

void
commit(struct commitlog *l, uint64_t upto)
{
	struct why w = WHY_INIT;

	while (commitlog_group(l) < upto) {
		assert_int_equal(append(l, &w), OK);
		assert_int_equal(commitlog_sync(l, &w), OK);
	}
}

void
make_log(uint64_t upto)
{
	struct commitlog *l = open_ok();

	commit(l, upto);
	commitlog_close(&l);
	assert_null(l);
}

uint64_t
last_group(uint64_t from)
{
	struct replayed r;
	struct commitlog *l = open_from(from, &r);
	uint64_t group = commitlog_group(l);

	if (group > from) {
		assert_int_equal(r.first, from + 1);
		assert_int_equal(r.last, group);
	}
	commitlog_close(&l);
	return group;
}

void
load(const char *path, struct buf *b)
{
	struct why w = WHY_INIT;

	buf_clear(b);
	if (file_load(path, 1 << 24, b, &w) != OK)
		fail_msg("%s", w.text);
}

void
store(const char *path, struct str bytes)
{
	struct why w = WHY_INIT;
	int fd;

	assert_int_equal(file_open(path, FILE_CREATE, &fd, &w), OK);
	assert_int_equal(file_cut(fd, 0, &w), OK);
	assert_int_equal(file_write(fd, 0, bytes.p, bytes.n, &w), OK);
	assert_int_equal(file_sync(fd, &w), OK);
	file_close(&fd);
}

bool
there(const char *path)
{
	int fd;

	if (file_open(path, FILE_READ, &fd, NULL) != OK)
		return false;
	file_close(&fd);
	return true;
}

int
testing_setup(void **state)
{
	body_max = 400;
	log_open(LOG_OFF, 2, false);
	/* Keys are from a seed, so that a failure comes again. */
	return world_setup(state);
}
