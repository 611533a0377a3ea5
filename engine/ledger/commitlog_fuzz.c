/*
 * Fuzz: a log of a few groups, damaged as the input says, then opened.
 *
 * Input: groups 1, checkpoint 1, then damages of 6 bytes each: what 1,
 * segment 1, place 2, amount 1, value 1.  What must hold: opening succeeds or
 * refuses; the groups it hands out are the ones written, in order, without a
 * gap; what is appended then is there when it is opened again.
 */
#include "base/hash.h"
#include "engine/ledger/commitlog.h"
#include "os/clock.h"
#include "os/file_fake.h"
#include "os/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define DIR "log"
#define SEGMENT_BYTES 4096

static const struct commitlog_options small = {
	.segment_bytes = SEGMENT_BYTES };
static uint64_t random_state;

static void
seeded_random(void *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((char *)out)[i] = (char)hash_u64(++random_state);
}

static void
prepare_world(void)
{
	static struct clock_table clocks;

	clocks = clock_real;
	clocks.random = seeded_random;
	clock_use(&clocks);
	random_state = 0;
	log_open(LOG_OFF, 2, false);
	file_use(&file_fake);
	file_fake_reset(1);
}

static void
body_of(uint64_t group, struct buf *b)
{
	buf_clear(b);
	for (size_t i = hash_u64(group) % 500; i > 0; i--)
		buf_put_char(b, (char)hash_u64(group * 4099 + i));
}

static enum err
replay(void *arg, uint64_t group, struct str body, struct why *w)
{
	uint64_t *last = arg;
	struct buf b = BUF_INIT;

	(void)w;
	CHECK(group == *last + 1);
	body_of(group, &b);
	CHECK(str_eq(body, buf_str(&b)));
	buf_free(&b);
	*last = group;
	return OK;
}

static struct commitlog *
open_from(uint64_t from, uint64_t *last)
{
	struct commitlog *l;
	struct why w = WHY_INIT;

	*last = from;
	enum err e = commitlog_open(DIR, &small, from, replay, last, &l, &w);
	if (e == OK) {
		CHECK(commitlog_group(l) == *last);
		return l;
	}
	CHECK(l == NULL && w.text[0] != '\0');
	/* A damaged file may be gone; anything else is damage. */
	CHECK(e == ERR_CORRUPT);
	return NULL;
}

static void
append_groups(struct commitlog *l, uint64_t n)
{
	struct buf b = BUF_INIT;
	struct why w = WHY_INIT;

	for (; n > 0; n--) {
		uint64_t group = commitlog_group(l) + 1;
		body_of(group, &b);
		CHECK(commitlog_append(l, group, buf_str(&b), &w) == OK);
		CHECK(commitlog_sync(l, &w) == OK);
	}
	buf_free(&b);
}

static void
damage_bytes(int fd, const uint8_t *op, uint64_t at)
{
	char bytes[256 * 8] = { 0 };
	size_t got, n = (size_t)(op[4] + 1) * 8;

	switch (op[0] % 6) {
	case 0:
		(void)!file_read(fd, at, bytes, 1, &got, NULL);
		bytes[0] = (char)(bytes[0] ^ op[5]);
		(void)!file_write(fd, at, bytes, 1, NULL);
		break;
	case 1:
		(void)!file_cut(fd, at, NULL);
		break;
	case 2:
		(void)!file_write(fd, at, bytes, n, NULL);
		break;
	case 3:
		(void)!file_read(fd, at, bytes, n, &got, NULL);
		(void)!file_write(fd, (uint64_t)op[5] * 8, bytes, got, NULL);
		break;
	default:
		memset(bytes, op[5], n);
		(void)!file_write(fd, at, bytes, n, NULL);
	}
}

static void
damage(const uint8_t *op)
{
	char path[64], other[64];
	int fd;

	snprintf(path, sizeof(path), DIR "/log-%08d", op[1] % 8 + 1);
	snprintf(other, sizeof(other), DIR "/log-%08d", op[5] % 8 + 1);
	if (op[0] == 255) {
		(void)!file_remove(path, NULL);
		return;
	}
	if (op[0] == 254) {
		(void)!file_replace(path, other, NULL);
		return;
	}
	if (file_open(path, FILE_WRITE, &fd, NULL) != OK)
		return;
	damage_bytes(fd, op, (uint64_t)(op[2] << 8 | op[3]) % SEGMENT_BYTES);
	file_close(&fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint64_t last;

	if (n < 2)
		return 0;
	prepare_world();
	uint64_t groups = data[0] % 64, from = data[1] % 64;
	from = MIN(from, groups);
	struct commitlog *l = open_from(0, &last);
	CHECK(l != NULL);
	append_groups(l, groups);
	if (data[1] >= 128)
		commitlog_release(l, from);
	commitlog_close(&l);
	for (data += 2, n -= 2; n >= 6; data += 6, n -= 6)
		damage(data);
	l = open_from(from, &last);
	if (l == NULL)
		return 0;
	CHECK(last <= groups);
	append_groups(l, 3);
	commitlog_close(&l);
	uint64_t before = last + 3;
	l = open_from(from, &last);
	CHECK(l != NULL && last == before);
	commitlog_close(&l);
	return 0;
}
