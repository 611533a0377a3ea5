/*
 * Answers: promises that are kept by a mail, and groups that need no index.
 * All on one loop, so that the order of mail is the order of calls.
 */
#include "engine/ledger/ledger_testing.h"

#define KIND 1               /* the rig's */
#define STEPS_MAX 16

struct asker {
	struct promise promise;
	struct mail mail;
	struct rig *rig;
	unsigned number;
	unsigned mails, kept, broken;
	uint64_t applied;            /* when it was told */
};

/* The numbers of the askers in the order in which they were told. */
static struct {
	unsigned told[STEPS_MAX];
	size_t n;
} order;

static void
note_told(struct asker *a)
{
	assert_true(order.n < STEPS_MAX);
	order.told[order.n++] = a->number;
	a->applied = ledger_applied(a->rig->ledger);
}

static void
mail_came(struct mail *m)
{
	struct asker *a = CONTAINER(m, struct asker, mail);

	a->mails++;
	note_told(a);
}

static void
promise_kept(struct promise *p, enum err e)
{
	struct asker *a = CONTAINER(p, struct asker, promise);

	a->kept += e == OK;
	a->broken += e == ERR_BROKEN;
	note_told(a);
}

static void
put_one(struct rig *r, unsigned number)
{
	char key[8];

	snprintf(key, sizeof(key), "k%u", number);
	ledger_put(r->ledger, INDEX_CONTROL, str_of(key), STR("value"));
}

static struct asker
asker_of(struct rig *r, unsigned number)
{
	return (struct asker){ .rig = r, .number = number,
	    .promise = { .kept = promise_kept },
	    .mail = { .deliver = mail_came } };
}

static void
ask_by_mail(struct asker *a, bool written)
{
	ledger_answer(a->rig->ledger, &a->promise, written, a->rig->loop,
	    &a->mail);
}

static void
begin_test(struct rig *r)
{
	order.n = 0;
	rig_init(r);
	rig_open_ok(r);
	rig_run(r);
}

static void
end(struct rig *r)
{
	rig_close(r);
	rig_end(r);
}

/* --- promises that are kept by a mail ------------------------------------- */

/* The owner's callback runs first; then mails arrive in the order of the
 * requests. */
static void
a_mail_follows_the_news(void **state)
{
	struct rig r;

	(void)state;
	for (unsigned written = 0; written < 2; written++) {
		begin_test(&r);
		struct asker a[4];
		for (unsigned i = 0; i < 4; i++)
			a[i] = asker_of(&r, i);
		put_one(&r, 0);
		ask_by_mail(&a[0], written > 0);
		ledger_promise(r.ledger, &a[1].promise);
		ask_by_mail(&a[2], written > 0);
		ledger_promise_written(r.ledger, &a[3].promise);
		rig_run(&r);
		static const unsigned wanted[] = { 1, 3, 0, 2 };
		assert_int_equal(order.n, 4);
		for (unsigned i = 0; i < 4; i++) {
			assert_int_equal(order.told[i], wanted[i]);
			assert_int_equal(a[i].mails, i % 2 == 0);
			assert_int_equal(a[i].kept, i % 2);
			assert_int_equal(a[i].broken, 0);
		}
		end(&r);
	}
}

static void
a_group_of_mails_alone(void **state)
{
	struct rig r;

	(void)state;
	begin_test(&r);
	struct asker a = asker_of(&r, 1), b = asker_of(&r, 2);
	put_one(&r, 0);
	ask_by_mail(&a, false);
	rig_run(&r);
	assert_int_equal(a.mails, 1);
	/* The same group's memory is used again. */
	put_one(&r, 1);
	ledger_promise(r.ledger, &b.promise);
	rig_run(&r);
	assert_int_equal(a.mails + a.kept, 1);
	assert_int_equal(b.kept, 1);
	end(&r);
}

/* No mail before the sync; after its failure kept() says so. */
static void
a_failure_is_no_mail(void **state)
{
	struct rig r;

	(void)state;
	begin_test(&r);
	struct asker a = asker_of(&r, 1);
	put_one(&r, 0);
	ask_by_mail(&a, false);
	file_fault(FILE_CALL_SYNC, 1, FILE_FAULT_FOREVER, ERR_IO);
	rig_pass(&r, 10);
	assert_int_equal(r.health, LEDGER_FAILED);
	assert_int_equal(a.mails, 0);
	assert_int_equal(a.broken, 1);
	rig_crash(&r, true);
	rig_open_ok(&r);
	end(&r);
}

/* While the disk is full nobody hears anything; then the mail comes. */
static void
a_full_disk_delays_the_mail(void **state)
{
	struct rig r;

	(void)state;
	begin_test(&r);
	struct asker a = asker_of(&r, 1);
	file_fault(FILE_CALL_WRITE, 1, FILE_FAULT_FOREVER, ERR_DISK_FULL);
	put_one(&r, 0);
	ask_by_mail(&a, false);
	rig_pass(&r, 1000);
	assert_int_equal(r.health, LEDGER_DISK_FULL);
	assert_int_equal(a.mails + a.broken, 0);
	file_faults_end();
	rig_pass(&r, 1000);
	assert_int_equal(r.health, LEDGER_FINE);
	assert_int_equal(a.mails, 1);
	end(&r);
}

/* --- groups of notes alone ------------------------------------------------ */

static void
put_note(struct rig *r, uint64_t value)
{
	struct buf b = BUF_INIT;

	buf_put_be32(&b, 0);
	buf_put_be64(&b, value);
	ledger_note(r->ledger, KIND, buf_str(&b));
	buf_free(&b);
}

/* Such a group counts as applied when its promises are kept, others do not. */
static void
notes_alone_pass_the_index_by(void **state)
{
	struct rig r;

	(void)state;
	begin_test(&r);
	struct asker a = asker_of(&r, 1), b = asker_of(&r, 2);
	put_note(&r, 1);
	uint64_t group = ledger_group(r.ledger);
	ledger_promise(r.ledger, &a.promise);
	rig_run(&r);
	assert_int_equal(a.kept, 1);
	assert_int_equal(a.applied, group);
	assert_int_equal(ledger_applied(r.ledger), group);
	put_note(&r, 2);
	put_one(&r, 0);
	ledger_promise(r.ledger, &b.promise);
	rig_run(&r);
	assert_int_equal(b.applied, group);
	assert_int_equal(ledger_applied(r.ledger), group + 1);
	assert_int_equal(rig_stats(&r).groups_unapplied, 0);
	end(&r);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mail_follows_the_news),
		cmocka_unit_test(a_group_of_mails_alone),
		cmocka_unit_test(a_failure_is_no_mail),
		cmocka_unit_test(a_full_disk_delays_the_mail),
		cmocka_unit_test(notes_alone_pass_the_index_by),
	};

	return cmocka_run_group_tests(tests, world_setup, world_teardown);
}
