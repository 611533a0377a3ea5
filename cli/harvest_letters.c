/*
 * argiope harvest letters -- dead letters: messages that the door of harvests
 * could not work on, in a queue of the broker.
 *
 * They are taken without an answer, so that the broker has them again, in
 * their places, when we are gone; only the one that is sent or dropped is
 * acknowledged.
 * Listing reads no body: one that has ended a daemon would end this, too.
 */
#include <stdlib.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "cli/broker_visit.h"
#include "cli/format.h"
#include "cli/stores.h"
#include "cli/verbs.h"
#include "engine/harvest/credential.h"
#include "os/clock.h"

#define QUEUE "argiope_dead"
#define TEXT_BYTES_MAX 300u
#define BODY_BYTES_MAX ((size_t)16 << 20)

static const struct option_row rows[] = {
	OPTION_ROW(CREDENTIAL, "credential", 0, "NAME", TEXT, 0, 0,
	    "send: the credential that argiope credential put keeps by that "
	    "name, in place of the masked one")
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW)
};

const struct option_verb harvest_letters_verb = {
	"harvest letters", "[show N | send N | drop N]", 0, 2,
	"Dead letters: list them, show one, send it again, or drop it",
	"Messages that the daemon could not work on lie in the queue "
	QUEUE " of the broker of harvest.url; they are numbered from the "
	"oldest on.  \"send\" puts one into the queue that it came from and "
	"drops it here when the broker has it; its credentials are masked, so "
	"that --credential must name others.\n"
	"Exit code: 0; 65 it cannot be sent; 66 there is no such letter, or no "
	"such queue; 69 the broker is not reached.",
	rows, ARRAY_LEN(rows)
};

enum act { LIST, SHOW, SEND, DROP };

/* What is known of a letter without its body.  Memory: the cli's. */
struct letter {
	uint64_t number, bytes;
	struct str reason, queue, exchange, routing_key, time, message_id;
};

struct letters {
	struct broker_visit visit;
	struct cli *cli;
	enum act act;
	uint64_t wanted;             /* 0: all */
	uint64_t all, seen;
	struct broker_question question;
	struct letter *list;
	struct letter chosen;
	struct broker_delivery *delivery;    /* that is being sent */
	struct broker_message message;
	struct str credential;       /* JSON; none: "" */
};

/* ---- What is printed ------------------------------------------------- */

static void
put_facts(const void *row, struct buf *b)
{
	const struct letter *l = row;

	json_u64(b, "number", l->number);
	json_str(b, "reason", l->reason);
	json_str(b, "queue", l->queue);
	json_str(b, "exchange", l->exchange);
	json_str(b, "routing_key", l->routing_key);
	json_str(b, "time", l->time);
	json_str(b, "message_id", l->message_id);
	json_u64(b, "bytes", l->bytes);
}

static void
put_word(struct buf *b, struct str s, const char *behind)
{
	format_safe(b, s.n == 0 ? STR("-") : s, TEXT_BYTES_MAX);
	buf_put_text(b, behind);
}

static void
put_list(const void *list, size_t n, struct buf *b)
{
	const struct letter *l = list;

	for (size_t i = 0; i < n; i++) {
		buf_printf(b, "%4llu  ", (unsigned long long)l[i].number);
		put_word(b, l[i].time, "  ");
		put_word(b, l[i].reason, "  ");
		put_word(b, l[i].queue, "  ");
		buf_printf(b, "%llu bytes\n", (unsigned long long)l[i].bytes);
	}
}

static void
show(struct letters *x, const struct broker_delivery *d)
{
	struct buf *b = &x->cli->out;

	if (cli_json(x->cli)) {
		json_object(b, NULL);
		put_facts(&x->chosen, b);
		json_str(b, "body", buf_str(&d->body));
		buf_put_text(b, "}\n");
		return;
	}
	buf_put_text(b, "reason       ");
	put_word(b, x->chosen.reason, "\nqueue        ");
	put_word(b, x->chosen.queue, "\nexchange     ");
	put_word(b, x->chosen.exchange, "\nrouting key  ");
	put_word(b, x->chosen.routing_key, "\ntime         ");
	put_word(b, x->chosen.time, "\n\n");
	format_safe(b, buf_str(&d->body), BODY_BYTES_MAX);
	buf_put_char(b, '\n');
}

/* ---- Sending --------------------------------------------------------- */

static void
sent(struct broker_message *m)
{
	struct letters *x = CONTAINER(m, struct letters, message);

	if (m->result == BROKER_CONFIRMED)
		broker_ack(&x->delivery);
	else if (x->visit.why.err == OK)
		x->visit.why = m->why;
	broker_visit_end(&x->visit);
}

/* The credential that was named in place of the masked one. */
static struct str
with_credential(struct letters *x, yyjson_doc *doc)
{
	yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
	size_t n;

	CHECK(copy != NULL);
	(void)yyjson_mut_obj_put(yyjson_mut_doc_get_root(copy),
	    yyjson_mut_str(copy, "credentials"),
	    yyjson_mut_rawn(copy, x->credential.p, x->credential.n));
	char *text = yyjson_mut_write(copy, 0, &n);
	CHECK(text != NULL);
	struct str out = arena_copy(&x->cli->arena, (struct str){ text, n });
	free(text);
	yyjson_mut_doc_free(copy);
	return out;
}

/* The message as it is to be sent; memory: the cli's, or `body`. */
static enum err
restore(struct letters *x, struct str body, struct str *out, struct why *w)
{
	unsigned long long number = x->wanted;
	yyjson_doc *doc = yyjson_read(body.p, body.n,
	    YYJSON_READ_NUMBER_AS_RAW);
	bool has = yyjson_obj_get(yyjson_doc_get_root(doc),
	    "credentials") != NULL;
	enum err e = OK;

	*out = body;
	if (has && x->credential.n > 0)
		*out = with_credential(x, doc);
	else if (has)
		e = why(w, ERR_INPUT, "the credentials of letter %llu are "
		    "masked; name others by --credential", number);
	else if (x->credential.n > 0)
		e = why(w, ERR_USAGE, "letter %llu has no credentials; leave "
		    "--credential away", number);
	yyjson_doc_free(doc);
	return e;
}

static enum err
send(struct letters *x, struct broker_delivery *d, struct why *w)
{
	struct str body = buf_str(&d->body);

	if (x->chosen.queue.n == 0)
		return why(w, ERR_INPUT, "letter %llu does not say which "
		    "queue it came from", (unsigned long long)x->wanted);
	if (body.n == 0 || str_eq(body, STR("null")))
		return why(w, ERR_INPUT, "the body of letter %llu was not "
		    "kept", (unsigned long long)x->wanted);
	enum err e = restore(x, body, &x->message.body, w);
	if (e != OK)
		return e;
	x->message.to_queue = true;
	x->message.routing_key = x->chosen.queue;
	x->message.message_id = x->chosen.message_id.n > 0 ?
	    x->chosen.message_id : STR("letter");
	x->message.timestamp = clock_wall();
	x->message.done = sent;
	return broker_publish(x->visit.broker, &x->message, w);
}

/* ---- What comes ------------------------------------------------------ */

static struct str
keep(struct letters *x, const struct broker_delivery *d, const char *header)
{
	return arena_copy(&x->cli->arena, broker_header_of(d, header));
}

static struct letter
facts_of(struct letters *x, const struct broker_delivery *d)
{
	return (struct letter){ .number = x->seen, .bytes = d->body_bytes,
		.reason = keep(x, d, "x-argiope-reason"),
		.queue = keep(x, d, "x-argiope-queue"),
		.exchange = keep(x, d, "x-argiope-exchange"),
		.routing_key = keep(x, d, "x-argiope-routing-key"),
		.time = keep(x, d, "x-argiope-time"),
		.message_id = arena_copy(&x->cli->arena, d->message_id) };
}

/* The one that was asked for. */
static void
act(struct letters *x, struct broker_delivery *d)
{
	x->chosen = facts_of(x, d);
	if (x->act == SEND && send(x, d, &x->visit.why) == OK) {
		x->delivery = d;
		return;
	}
	if (x->act == SHOW)
		show(x, d);
	if (x->act == DROP)
		broker_ack(&d);
	else
		broker_delivery_free(&d);
	broker_visit_end(&x->visit);
}

static void
take_letter(struct broker_visit *v, struct broker_delivery *d)
{
	struct letters *x = CONTAINER(v, struct letters, visit);

	x->seen++;
	if (x->act != LIST && x->seen == x->wanted) {
		act(x, d);
		return;
	}
	if (x->act == LIST && x->seen <= x->all)
		x->list[x->seen - 1] = facts_of(x, d);
	broker_delivery_free(&d);
	if (x->act == LIST && x->seen == x->all)
		broker_visit_end(v);
}

static void
counted(struct broker_question *q)
{
	struct letters *x = CONTAINER(q, struct letters, question);
	struct broker_visit *v = &x->visit;

	if (v->why.err == OK)
		v->why = q->why;
	x->all = MIN(q->messages, BROKER_VISIT_DELIVERIES_MAX);
	if (v->why.err == OK && x->wanted > x->all)
		(void)!why(&v->why, ERR_ABSENT, "there is no letter %llu; "
		    "there are %u", (unsigned long long)x->wanted,
		    q->messages);
	if (v->why.err != OK || x->all == 0) {
		broker_visit_end(v);
		return;
	}
	x->list = ARENA_ARRAY(&x->cli->arena, struct letter, x->all);
	broker_consume(v->broker, 0);
}

static void
begin_visit(struct broker_visit *v)
{
	struct letters *x = CONTAINER(v, struct letters, visit);

	x->question.queue = v->queue;
	x->question.done = counted;
	broker_depth(v->broker, &x->question);
}

/* ---- The verb -------------------------------------------------------- */

static enum err
read_words(struct letters *x, struct why *w)
{
	static const char *const words[] = { [SHOW] = "show", [SEND] = "send",
		[DROP] = "drop" };
	const struct options *o = &x->cli->options;

	x->act = LIST;
	for (enum act i = SHOW; o->operands_n > 0 && i <= DROP; i++)
		if (strcmp(o->operands[0], words[i]) == 0)
			x->act = i;
	if (o->operands_n != (x->act == LIST ? 0 : 2))
		return why(w, ERR_USAGE, "harvest letters takes show, send or "
		    "drop with a number, or nothing");
	if (x->act != LIST && (!str_to_u64(str_of(o->operands[1]),
	    &x->wanted) || x->wanted == 0))
		return why(w, ERR_USAGE, "\"%.60s\" is no number of a letter",
		    o->operands[1]);
	return x->act == SEND || !cli_given(x->cli, "credential") ? OK :
	    why(w, ERR_USAGE, "--credential belongs to \"send\"");
}

/* From the store, beside a daemon or without one. */
static enum err
read_credential(struct letters *x, struct why *w)
{
	const char *name = cli_text(x->cli, "credential", NULL);
	FREED(store_close) struct store *st = NULL;
	struct cli *c = x->cli;
	struct seal_key key;

	if (name == NULL)
		return OK;
	enum err e = stores_find(c, "credential", &st, w);
	if (e == OK)
		e = credential_key(&c->conf, c->data_dir, &key, w);
	if (e == OK)
		e = credential_get(st, &key, str_of(name), &c->arena,
		    &x->credential, w);
	explicit_bzero(&key, sizeof(key));
	return e;
}

enum err
harvest_letters_run(struct cli *c, struct why *w)
{
	struct letters x = { .cli = c, .visit = { .queue = STR(QUEUE),
		.begin = begin_visit, .take = take_letter,
		.why = WHY_INIT } };

	enum err e = read_words(&x, w);
	if (e == OK)
		e = cli_begin(c, w);
	if (e == OK)
		e = read_credential(&x, w);
	if (e != OK)
		return e;
	x.visit.publishes = x.act == SEND;
	e = broker_visit_run(c, &x.visit, w);
	broker_delivery_free(&x.delivery);
	if (e == OK && x.act == LIST && x.seen == 0 && !cli_json(c))
		buf_put_text(&c->out, "There are no dead letters.\n");
	else if (e == OK && x.act == LIST)
		e = stores_print(c, &(struct stores_list){ "letter",
		    "letters", x.list, x.seen, sizeof(*x.list), put_facts,
		    put_list }, e);
	return e;
}
