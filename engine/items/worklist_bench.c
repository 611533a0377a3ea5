/*
 * worklist_bench -- how fast pairs are claimed and completed, at the store.
 *
 *     worklist_bench [--NAME N ...] FOLDER|URL
 *
 * Each pair is claimed, and completed with one updateData; its result, event
 * and run record are stored.  Clients have a batch each: one thread is all of
 * them, reads what they got, makes the next request and parses it, as the loop
 * of the items door does.  The main thread is the daemon's writer: it takes all
 * requests that wait into one transaction, completes, claims and commits.  An
 * answer goes back when that is durable.
 *
 * The results expire after a second of a clock that goes on by a millisecond
 * with each transaction, so pairs come again as long as it takes.
 *
 * The store is items.db in FOLDER, which is empty, or an empty PostgreSQL
 * database.  --seconds 0 makes the items only.  One line of JSON:
 *
 *     added_s         items per second, while they were made
 *     pairs_s         pairs per second
 *     pairs           how many there were
 *     cpu_us          processor time of the writer's thread, of each pair
 *     claim_p50_us    a claim of a batch, without the transaction around it
 *                     and without the writing of what was completed or
 *                     claimed before
 *     claim_p99_us
 *     written         bytes to the disk by this process, for each pair
 *     mb              the most memory that this process had
 *
 * With --random 1 all pairs are completed once before, and expire in an order
 * that has nothing to do with their items'.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
#include <yyjson.h>

#include "engine/items/generation.h"
#include "engine/items/worklist_own.h"
#include "os/clock.h"
#include "os/database.h"

#define ADD_BATCH 1000u
#define CLAIMS_TIMED_MAX 1000000u
#define DAY_MS UINT64_C(86400000)
#define RANDOM_DAYS 10u          /* over which pairs fall due */

/*  name       default     what it is */
#define OPTIONS(X)                                                           \
	X(items,    100000,     "items, each with one pair")                  \
	X(batch,    100,        "pairs of a claim, at most 1,000")            \
	X(clients,  4,          "with a batch each, at most 64")              \
	X(seconds,  5,          "how long pairs are completed")               \
	X(reader,   0,          "1: beside a transaction that reads, open")   \
	X(random,   0,          "1: pairs fall due in random order")
static struct {
#define OPTION_FIELD(name, value, help) uint64_t name;
	OPTIONS(OPTION_FIELD)
#undef OPTION_FIELD
} o = {
#define OPTION_VALUE(name, value, help) .name = value,
	OPTIONS(OPTION_VALUE)
#undef OPTION_VALUE
};

#define MUST(call)                                                           \
	do {                                                                  \
		struct why why_ = WHY_INIT, *w = &why_;                       \
		if ((call) != OK) {                                           \
			fprintf(stderr, "%s\n", why_.text);                   \
			exit(1);                                              \
		}                                                             \
	} while (0)

static struct item_store *store;
static const struct wall t0 = { INT64_C(1795166296000000) };
static int64_t elapsed_us;
static uint32_t *claim_us;
static size_t claims_n;
static bool spreading;           /* results get a TTL of their own */

static struct item_tx *
begin(void)
{
	struct item_tx *tx;

	elapsed_us += 1000;
	MUST(item_tx_begin(store, (struct wall){ t0.us + elapsed_us }, &tx, w));
	return tx;
}

static void
load_config(void)
{
	const char *text = "{\"tags\":{\"t\":[\"a\"]},\"tasks\":{\"a\":"
	    "{\"version\":\"1\",\"ttl\":\"1s\",\"run\":"
	    "{\"$function\":true}}}}";
	struct item_tx *tx = begin();
	struct task_config *c;
	uint64_t generation;

	MUST(task_config_read(str_of(text), item_store_limits(store), &c, NULL,
	    w));
	c->hash = c->json;
	MUST(generation_load(tx, c, STR("{}"), &generation, w));
	MUST(item_tx_end(&tx, OK, w));
}

static void
add_batch(uint64_t from, uint64_t to)
{
	struct item_tag_text tag = { .name = STR("t") };
	struct item_actor person = { .run_item = 0 };
	struct item_tx *tx = begin();
	enum item_effect effect;
	struct item_row *item;
	char id[32];

	for (uint64_t i = from; i < to; i++) {
		snprintf(id, sizeof(id), "shop:%08" PRIu64, i);
		item_tx_want_item(tx, str_of(id));
	}
	MUST(item_tx_load(tx, w));
	for (uint64_t i = from; i < to; i++) {
		snprintf(id, sizeof(id), "shop:%08" PRIu64, i);
		struct item_create c = { .id = str_of(id), .tags = &tag,
		    .tags_n = 1, .data = STR("{\"url\":"
		    "\"https://shop.example/p\"}") };
		MUST(item_create(tx, &person, &c, &effect, &item, w));
	}
	MUST(item_tx_end(&tx, OK, w));
}

/* -- Clients -- */

struct client {
	struct client *next;         /* of a queue */
	struct buf leases;           /* what it was given: JSON objects */
	struct buf json;             /* the body of /worker/complete */
	yyjson_doc *doc;             /* `json`, parsed */
	size_t claimed, completed;   /* pairs of `leases`, of `doc` */
};

#define CLIENTS_MAX 64u

/* First come, first served. */
struct queue {
	struct client *first, **last;
};

static struct client clients[CLIENTS_MAX];
static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;         /* one of the queues has got some */
	struct queue answered, asking;
	bool end;
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER,
	.more = PTHREAD_COND_INITIALIZER };

static void
queue_put(struct queue *q, struct client *c)
{
	if (q->first == NULL)
		q->last = &q->first;
	c->next = NULL;
	*q->last = c;
	q->last = &c->next;
}

static struct client *
queue_take_all(struct queue *q)
{
	struct client *first = q->first;

	q->first = NULL;
	return first;
}

/* From one thread to the other. */
static void
send_all(struct queue *q, struct client *first)
{
	struct client *next;

	pthread_mutex_lock(&shared.lock);
	for (struct client *c = first; c != NULL; c = next) {
		next = c->next;
		queue_put(q, c);
	}
	pthread_cond_broadcast(&shared.more);
	pthread_mutex_unlock(&shared.lock);
}

/* Waits for some; NULL at the end. */
static struct client *
receive_all(struct queue *q)
{
	pthread_mutex_lock(&shared.lock);
	while (q->first == NULL && !shared.end)
		pthread_cond_wait(&shared.more, &shared.lock);
	struct client *first = queue_take_all(q);
	pthread_mutex_unlock(&shared.lock);
	return first;
}

static void
put_ttl(struct buf *b)
{
	uint64_t r;

	clock_random(&r, sizeof(r));
	buf_printf(b, ",{\"op\":\"setTTL\",\"ttl\":%" PRIu64 "}",
	    DAY_MS + r % (RANDOM_DAYS * DAY_MS));
}

static void
put_completion(struct buf *b, yyjson_val *lease, size_t i)
{
	yyjson_val *item = yyjson_obj_get(lease, "item");

	buf_printf(b, "%s{\"lease\":\"%s\",\"outcome\":\"success\","
	    "\"mutations\":[{\"op\":\"updateData\",\"id\":\"%s\",\"rev\":%"
	    PRIu64 ",\"data\":{\"url\":\"https://shop.example/p\",\"title\":"
	    "\"Thing %zu\",\"price\":12.5}}", i > 0 ? "," : "",
	    yyjson_get_str(yyjson_obj_get(lease, "lease")),
	    yyjson_get_str(yyjson_obj_get(item, "id")),
	    yyjson_get_uint(yyjson_obj_get(item, "rev")), i);
	if (spreading)
		put_ttl(b);
	buf_put_text(b, "],\"log\":[]}");
}

/* What the client asks for next: that all it has got is completed. */
static void
make_request(struct client *c)
{
	struct buf *b = &c->leases;
	size_t i, n;
	yyjson_val *lease;

	buf_put_char(b, ']');
	yyjson_doc *doc = yyjson_read(b->p, b->n, 0);
	CHECK(doc != NULL);
	buf_clear(&c->json);
	buf_put_char(&c->json, '[');
	yyjson_arr_foreach(yyjson_doc_get_root(doc), i, n, lease)
		put_completion(&c->json, lease, i);
	buf_put_char(&c->json, ']');
	yyjson_doc_free(doc);
	c->completed = c->claimed;
	c->doc = yyjson_read(c->json.p, c->json.n, 0);
	CHECK(c->doc != NULL);
}

static void *
clients_main(void *arg)
{
	struct client *c, *next;

	while ((c = receive_all(&shared.answered)) != NULL)
		for (; c != NULL; c = next) {
			next = c->next;
			make_request(c);
			c->next = NULL;
			send_all(&shared.asking, c);
		}
	return arg;
}

static pthread_t clients_thread;

static void
start_clients(void)
{
	for (size_t i = 0; i < o.clients; i++) {
		buf_clear(&clients[i].leases);
		buf_put_char(&clients[i].leases, '[');
		clients[i].claimed = 0;
		queue_put(&shared.answered, &clients[i]);
	}
	shared.end = false;
	CHECK(pthread_create(&clients_thread, NULL, clients_main, NULL) == 0);
}

/* What they have is not completed. */
static void
stop_clients(void)
{
	pthread_mutex_lock(&shared.lock);
	shared.end = true;
	pthread_cond_broadcast(&shared.more);
	pthread_mutex_unlock(&shared.lock);
	pthread_join(clients_thread, NULL);
	(void)queue_take_all(&shared.answered);
	(void)queue_take_all(&shared.asking);
	for (size_t i = 0; i < o.clients; i++) {
		yyjson_doc_free(clients[i].doc);
		clients[i].doc = NULL;
		buf_free(&clients[i].leases);
		buf_free(&clients[i].json);
	}
}

/* -- The writer -- */

static void
complete_batch(struct item_tx *tx, struct client *client)
{
	struct completion c;
	yyjson_val *v;
	size_t i, n;

	yyjson_arr_foreach(yyjson_doc_get_root(client->doc), i, n, v) {
		MUST(worklist_complete(tx, v, NULL, &c, w));
		if (c.status != COMPLETION_APPLIED) {
			fprintf(stderr, "a completion was not applied\n");
			exit(1);
		}
	}
	yyjson_doc_free(client->doc);
	client->doc = NULL;
}

static void
claim_batch(struct item_tx *tx, struct client *c)
{
	const struct str all = STR("*");
	const struct worklist_claim claim = { .tasks = &all, .tasks_n = 1,
	    .max = (unsigned)o.batch, .own = true };
	struct mono start = clock_mono();
	struct worklist_lease *leases;

	MUST(worklist_claim(tx, &claim, &leases, &c->claimed, w));
	int64_t us = mono_ns_between(start, clock_mono()) / 1000;
	if (c->claimed > 0 && claims_n < CLAIMS_TIMED_MAX)
		claim_us[claims_n++] = (uint32_t)us;
	buf_clear(&c->leases);
	buf_put_char(&c->leases, '[');
	for (size_t i = 0; i < c->claimed; i++)
		MUST(worklist_lease_json(tx, &leases[i], NULL, 0, &c->leases,
		    w));
}

static void
want_batch(struct item_tx *tx, const struct client *c)
{
	yyjson_val *v;
	size_t i, n;

	yyjson_arr_foreach(yyjson_doc_get_root(c->doc), i, n, v)
		worklist_complete_want(tx, v);
}

/* Completes what clients have and claims the next.  How many pairs were
 * completed, and how many are leased now. */
static void
run_group(struct client *first, size_t *completed, size_t *claimed)
{
	struct item_tx *tx;

	elapsed_us += 1000;
	*completed = *claimed = 0;
	MUST(item_tx_continue(store, (struct wall){ t0.us + elapsed_us }, &tx,
	    w));
	for (struct client *c = first; c != NULL; c = c->next)
		want_batch(tx, c);
	MUST(item_tx_load(tx, w));
	for (struct client *c = first; c != NULL; c = c->next) {
		complete_batch(tx, c);
		*completed += c->completed;
	}
	MUST(item_tx_flush(tx, w));
	for (struct client *c = first; c != NULL; c = c->next) {
		claim_batch(tx, c);
		*claimed += c->claimed;
		MUST(item_tx_flush(tx, w));
	}
	MUST(item_tx_end(&tx, OK, w));
}

/* Pairs that were completed until then.  Where none is due, the clock goes on
 * until some are. */
static uint64_t
run_groups(struct mono start)
{
	int64_t ns_max = (int64_t)o.seconds * NS_PER_S;
	uint64_t total = 0;
	size_t completed, claimed;

	while (mono_ns_between(start, clock_mono()) < ns_max) {
		struct client *first = receive_all(&shared.asking);

		run_group(first, &completed, &claimed);
		send_all(&shared.answered, first);
		total += completed;
		if (claimed == 0)
			elapsed_us += US_PER_S;
	}
	return total;
}

/* Every pair once; then the clock goes on until all are due again. */
static void
spread_pairs(void)
{
	uint64_t leased = 0;
	size_t completed, claimed;

	spreading = true;
	start_clients();
	do {
		struct client *first = receive_all(&shared.asking);

		run_group(first, &completed, &claimed);
		send_all(&shared.answered, first);
		leased += claimed - completed;
	} while (claimed > 0 || leased > 0);
	stop_clients();
	spreading = false;
	elapsed_us += (int64_t)((RANDOM_DAYS + 2) * DAY_MS) * 1000;
	claims_n = 0;
}

/* Bytes that this process has sent to the disk. */
static uint64_t
written_bytes(void)
{
	uint64_t n = 0;
	char line[128];
	FILE *f = fopen("/proc/self/io", "re");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "write_bytes: %" SCNu64, &n) == 1)
			break;
	if (f != NULL)
		fclose(f);
	return n;
}

static int
compare_us(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void
measure_pairs(void)
{
	struct mono start = clock_mono();
	int64_t cpu = clock_thread_cpu_ns();
	uint64_t written = written_bytes();
	struct rusage used;

	start_clients();
	uint64_t n = run_groups(start);
	cpu = clock_thread_cpu_ns() - cpu;
	double s = (double)mono_ns_between(start, clock_mono()) / 1e9;
	written = written_bytes() - written;
	stop_clients();
	getrusage(RUSAGE_SELF, &used);
	qsort(claim_us, claims_n, sizeof(*claim_us), compare_us);
	printf(",\"pairs_s\":%.0f,\"pairs\":%" PRIu64 ",\"cpu_us\":%.2f,"
	    "\"claim_p50_us\":%u,\"claim_p99_us\":%u,\"written\":%.0f,"
	    "\"mb\":%.1f", (double)n / s, n,
	    (double)cpu / 1e3 / (double)MAX(n, 1), claim_us[claims_n / 2],
	    claim_us[claims_n * 99 / 100],
	    (double)written / (double)MAX(n, 1),
	    (double)used.ru_maxrss / 1024);
}

static void
make_items(void)
{
	struct mono start = clock_mono();

	for (uint64_t i = 0; i < o.items; i += ADD_BATCH)
		add_batch(i, MIN(i + ADD_BATCH, o.items));
	printf("{\"added_s\":%.0f", (double)o.items /
	    ((double)mono_ns_between(start, clock_mono()) / 1e9));
}

/* Another opening, which sees the store as it is now until the end. */
static struct item_store *
open_reader(const struct item_store_options *options)
{
	struct item_store_options reading = *options;
	struct item_store *st;

	reading.reader = true;
	MUST(item_store_open(&reading, &st, w));
	struct database *db = item_store_database(st);
	MUST(database_begin_read(db, w));
	struct query *q = database_query(db, "SELECT count(*) FROM names");
	while (query_step(q))
		continue;
	MUST(query_end(&q, w));
	return st;
}

static const char *
read_options(int argc, char **argv)
{
	const char *place = NULL;

	for (int i = 1; i < argc; i++) {
		uint64_t *out = NULL;
#define OPTION_READ(name, value, help)                                       \
		if (strcmp(argv[i], "--" #name) == 0)                         \
			out = &o.name;
		OPTIONS(OPTION_READ)
#undef OPTION_READ
		if (out == NULL && place == NULL)
			place = argv[i];
		else if (out == NULL || ++i == argc ||
		    !str_to_u64(str_of(argv[i]), out))
			return NULL;
	}
	return o.batch <= WORKLIST_CLAIM_MAX && o.clients > 0 &&
	    o.clients <= CLIENTS_MAX ? place : NULL;
}

int
main(int argc, char **argv)
{
	const char *place = read_options(argc, argv);
	struct item_store *reader = NULL;

	if (place == NULL || o.batch == 0 || o.items == 0) {
		fprintf(stderr, "usage: worklist_bench [--items N] [--batch N] "
		    "[--clients N] [--seconds N] [--reader 1] [--random 1] "
		    "FOLDER|URL\n");
		return 64;
	}
	bool url = database_url_is_postgresql(place);
	const struct item_store_options options = { .node = "bench",
		.dir = url ? NULL : place, .url = url ? place : NULL };
	MUST(item_store_open(&options, &store, w));
	load_config();
	claim_us = calloc(CLAIMS_TIMED_MAX, sizeof(*claim_us));
	CHECK(claim_us != NULL);
	make_items();
	if (o.random)
		spread_pairs();
	if (o.reader)
		reader = open_reader(&options);
	if (o.seconds > 0) {
		/* What making them has left to be written is not measured. */
		sync();
		measure_pairs();
	}
	printf("}\n");
	if (reader != NULL)
		MUST(database_end(item_store_database(reader), OK, w));
	item_store_close(&reader);
	item_store_close(&store);
	free(claim_us);
	return 0;
}
