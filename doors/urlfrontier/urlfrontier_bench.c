/*
 * urlfrontier_bench -- what single calls of this door cost, over a socket, with
 * the engine behind it in the same process.
 *
 *     urlfrontier_bench [-r] [-q QUEUES] [-u URLS] [-n CALLS] MODE DIR
 *
 *     get      GetURLs of ten queues and ten URLs each, one call after the
 *              other, nothing else: CPU per call by thread
 *     first    GetURLs over all queues: the time to its first URL, and the
 *              memory while all of them are sent
 *     serial   PutURLs, one item at a time: the time to its acknowledgement,
 *              beside an fdatasync of the same disk
 *
 * -r: relaxed durability.  DIR is made and emptied.  The client is the main
 * thread, whose CPU time counts apart from the other threads'.
 */
#include <dirent.h>
#include <ftw.h>
#include <unistd.h>

#include "doors/urlfrontier/urlfrontier.h"
#include "engine/engine.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/net.h"
#include "server/grpc_port.h"
#include "wire/urlfrontier/urlfrontier.pb-c.h"

#define SERVICE "/urlfrontier.URLFrontier/"
#define BATCH_ITEMS 256u
#define BATCHES_OUT 16u
#define SETTLE_MS 3000
#define FIRSTS 11u
#define CPUS_MAX 64u
#define DEVICE_BYTES 4096u
#define DEVICE_SYNCS 1000u

static struct {
	const char *dir;
	uint64_t queues, urls, calls;
	bool relaxed;
	struct loop *loop;
	struct net *net;
	struct conf conf;
	struct engine *engine;
	struct store_async *store;
	struct token_set *tokens;
	struct urlfrontier *door;
	struct grpc_port *port;
	bool closed;
	int64_t *ns;
	size_t ns_n;
} b = { .queues = 20000, .urls = 1000000, .calls = 2000 };

static void
end_with(const char *text)
{
	fprintf(stderr, "urlfrontier_bench: %s\n", text);
	exit(1);
}

static int64_t
ns_since(struct mono began)
{
	return mono_ns_between(began, clock_mono());
}

/* ---- Figures ------------------------------------------------------------- */

/* By thread's name; threads of one name together. */
struct cpu {
	char name[16];
	double us;
	bool client;
};

static bool
read_line(const char *thread, const char *what, char *out, int size)
{
	char path[300];

	snprintf(path, sizeof(path), "/proc/self/task/%s/%s", thread, what);
	FILE *f = fopen(path, "r");
	bool read = f != NULL && fgets(out, size, f) != NULL;
	if (f != NULL)
		fclose(f);
	return read;
}

static void
add_cpu(struct cpu *all, const char *thread)
{
	char name[32], line[128];
	unsigned long long ns;
	size_t i = 0;

	if (!read_line(thread, "comm", name, sizeof(name)) ||
	    !read_line(thread, "schedstat", line, sizeof(line)) ||
	    sscanf(line, "%llu", &ns) != 1)
		return;
	name[strcspn(name, "\n")] = '\0';
	bool client = strtol(thread, NULL, 10) == (long)getpid();
	while (i < CPUS_MAX - 1 && all[i].name[0] != '\0' &&
	    (client != all[i].client || strcmp(all[i].name, name) != 0))
		i++;
	snprintf(all[i].name, sizeof(all[i].name), "%.15s", name);
	all[i].client = client;
	all[i].us += (double)ns / 1000;
}

static void
read_cpu(struct cpu all[static CPUS_MAX])
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;

	memset(all, 0, CPUS_MAX * sizeof(*all));
	while (d != NULL && (e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
			add_cpu(all, e->d_name);
	if (d != NULL)
		closedir(d);
}

static void
print_cpu(const struct cpu *before, const char *what, uint64_t n)
{
	struct cpu now[CPUS_MAX];
	double sum = 0;

	read_cpu(now);
	printf("CPU us per %s:", what);
	for (size_t i = 0; i < CPUS_MAX && now[i].name[0] != '\0'; i++) {
		double us = now[i].us;
		for (size_t k = 0; k < CPUS_MAX; k++)
			if (before[k].client == now[i].client &&
			    strcmp(before[k].name, now[i].name) == 0)
				us -= before[k].us;
		us /= (double)n;
		sum += now[i].client ? 0 : us;
		if (us >= 0.05)
			printf(" %s %.1f", now[i].client ? "(client)" :
			    now[i].name, us);
	}
	printf("; all but the client %.1f\n", sum);
}

static int
by_value(const void *x, const void *y)
{
	int64_t p = *(const int64_t *)x, q = *(const int64_t *)y;

	return (p > q) - (p < q);
}

static void
print_times(const char *what, int64_t *ns, size_t n)
{
	if (n == 0)
		end_with("nothing was measured");
	qsort(ns, n, sizeof(*ns), by_value);
	printf("%s: p50 %.1f  p99 %.1f  worst %.1f us, %zu times\n", what,
	    (double)ns[n / 2] / 1000, (double)ns[n - 1 - n / 100] / 1000,
	    (double)ns[n - 1] / 1000, n);
}

static double
memory_mb(void)
{
	char line[128];
	unsigned long kb = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "VmRSS: %lu", &kb) == 1)
			break;
	if (f != NULL)
		fclose(f);
	return (double)kb / 1024;
}

/* ---- The node ------------------------------------------------------------ */

static int
remove_one(const char *path, const struct stat *s, int kind, struct FTW *f)
{
	(void)s, (void)kind, (void)f;
	return remove(path);
}

static void
set_conf(const char *flag)
{
	struct why w = WHY_INIT;

	if (conf_flag(&b.conf, str_of(flag), &w) != OK)
		end_with(w.text);
}

static void
port_closed(struct grpc_port *p)
{
	(void)p;
	b.port = NULL;
}

static void
connect_client(void)
{
	const char *colon = strrchr(urlfrontier_address(b.door), ':');
	struct net_target to = { .address = "127.0.0.1", .timeout_ms = 5000,
	    .port = (uint16_t)strtoul(colon + 1, NULL, 10) };
	struct why w = WHY_INIT;

	b.port = grpc_port_connect(b.net, b.loop, &to, port_closed, &w);
	if (b.port == NULL)
		end_with(w.text);
}

static void
open_node(void)
{
	struct net_limits limits = NET_LIMITS_DEFAULT;
	struct store_async_options a;
	struct why w = WHY_INIT;

	nftw(b.dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	if (file_make_dir(b.dir, &w) != OK)
		end_with(w.text);
	b.loop = loop_new("home");
	b.net = net_new(b.loop, &limits);
	conf_init(&b.conf);
	set_conf("urlfrontier.listen=127.0.0.1:0");
	set_conf(b.relaxed ? "urlfrontier.durability=relaxed" :
	    "urlfrontier.durability=sync");
	struct door_host host = { .conf = &b.conf, .home = b.loop };
	struct engine_options o = { .conf = &b.conf, .home = b.loop,
	    .data_dir = b.dir, .loops = 1 };
	a = (struct store_async_options){ .home = b.loop };
	if (urlfrontier_open(&host, &b.door, &w) != OK ||
	    engine_open(&o, &b.engine, &w) != OK ||
	    store_open(b.dir, NULL, &a.store, &w) != OK)
		end_with(w.text);
	b.store = store_async_new(&a);
	if (token_set_open(&(struct token_set_options){ .store = b.store },
	    &b.tokens, &w) != OK)
		end_with(w.text);
	engine_start(b.engine);
	urlfrontier_ready(b.door, engine_frontier(b.engine), b.tokens);
	connect_client();
}

static void
engine_closed(void *arg)
{
	(void)arg;
	b.closed = true;
}

static void
door_drained(void *arg)
{
	(void)arg;
	engine_close(b.engine, engine_closed, NULL);
}

static void
close_node(void)
{
	net_close(b.port->conn);
	urlfrontier_drain(b.door, door_drained, NULL);
	loop_run_until(b.loop, &b.closed);
	token_set_close(&b.tokens);
	store_async_close(&b.store);
	urlfrontier_free(&b.door);
	engine_free(&b.engine);
	net_free(&b.net);
	conf_free(&b.conf);
	loop_free(&b.loop);
	nftw(b.dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- Calls --------------------------------------------------------------- */

struct asked {
	struct grpc_call *call;
	bool over, cancels;          /* cancels: behind the first message */
	uint64_t messages;
	struct mono began;
	int64_t first_ns;
	void (*more)(struct asked *);
	void (*got)(struct asked *);
};

static void
send_message(struct grpc_call *c, const ProtobufCMessage *m)
{
	void *room;
	size_t n = protobuf_c_message_get_packed_size(m);

	if (grpc_send_room(c, n, &room) == GRPC_GONE)
		end_with("a call is gone");
	protobuf_c_message_pack(m, room);
}

static void
on_message(struct grpc_call *c, struct str message)
{
	struct asked *a = grpc_arg(c);

	(void)message;
	if (a->messages++ == 0)
		a->first_ns = ns_since(a->began);
	if (a->cancels)
		grpc_cancel(c);
	else if (a->got != NULL)
		a->got(a);
}

static void
on_writable(struct grpc_call *c)
{
	struct asked *a = grpc_arg(c);

	if (a->more != NULL)
		a->more(a);
}

static void
on_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct asked *a = grpc_arg(c);

	if (code != GRPC_OK && !a->cancels) {
		fprintf(stderr, "%s %.*s: ", grpc_code_name(code),
		    STR_FMT(text));
		end_with("a call failed");
	}
	a->call = NULL;
	a->over = true;
}

static void
begin_call(struct asked *a, const char *rpc)
{
	static const struct grpc_events on = { .on_message = on_message,
	    .on_writable = on_writable, .on_end = on_end };
	char path[80];
	struct grpc_request q = { .path = path, .on = &on, .arg = a };
	struct why w = WHY_INIT;

	snprintf(path, sizeof(path), SERVICE "%s", rpc);
	a->over = false;
	a->messages = 0;
	a->began = clock_mono();
	if (b.port == NULL)
		end_with("the connection is lost");
	a->call = grpc_call_new(b.port->session, &q, clock_mono(), &w);
	if (a->call == NULL)
		end_with(w.text);
}

static void
ask_once(struct asked *a, const char *rpc, const ProtobufCMessage *m)
{
	begin_call(a, rpc);
	send_message(a->call, m);
	grpc_half_close(a->call);
	loop_run_until(b.loop, &a->over);
}

/* The connection's own work goes on meanwhile. */
static void
wait_ms(int64_t ms)
{
	struct mono until = mono_add_ms(clock_mono(), ms);

	while (mono_before(clock_mono(), until)) {
		loop_step(b.loop);
		usleep(10000);
	}
}

/* ---- Filling ------------------------------------------------------------- */

#define TEXT_BYTES 96u

struct filling {
	struct asked asked;
	uint64_t next, acked;
	Urlfrontier__URLInfo items[BATCH_ITEMS], *places[BATCH_ITEMS];
	char urls[BATCH_ITEMS][TEXT_BYTES], keys[BATCH_ITEMS][32];
};

/* A queue's URLs do not come in their order. */
static void
name_url(uint64_t i, char *key, char *url)
{
	uint64_t q = i % b.queues;
	unsigned mixed = (unsigned)(i * UINT64_C(2654435761));

	snprintf(key, 32, "www.h%07llu.org", (unsigned long long)q);
	snprintf(url, TEXT_BYTES, "https://www.h%07llu.org/some/path/%08x.html",
	    (unsigned long long)q, mixed);
}

static void
send_batch(struct filling *f)
{
	Urlfrontier__DiscoveredBatch m = URLFRONTIER__DISCOVERED_BATCH__INIT;
	char id[] = "";

	for (; m.n_items < BATCH_ITEMS && f->next < b.urls; f->next++) {
		size_t i = m.n_items++;
		f->items[i] = (Urlfrontier__URLInfo)URLFRONTIER__URLINFO__INIT;
		name_url(f->next, f->keys[i], f->urls[i]);
		f->items[i].url = f->urls[i];
		f->items[i].key = f->keys[i];
		f->places[i] = &f->items[i];
	}
	m.id = id;
	m.items = f->places;
	send_message(f->asked.call, &m.base);
}

static void
fill_more(struct asked *a)
{
	struct filling *f = CONTAINER(a, struct filling, asked);

	while (f->next < b.urls && a->call != NULL &&
	    f->next / BATCH_ITEMS < a->messages + BATCHES_OUT)
		send_batch(f);
	if (f->next == b.urls && a->messages * BATCH_ITEMS >= b.urls)
		grpc_half_close(a->call);
}

static void
fill_store(void)
{
	struct filling *f = mem_new(sizeof(*f));
	Urlfrontier__QueueDelayParams d =
	    URLFRONTIER__QUEUE_DELAY_PARAMS__INIT;
	struct asked delay = { .over = false };
	struct mono began = clock_mono();

	f->asked.got = fill_more;
	begin_call(&f->asked, "PutDiscovered");
	fill_more(&f->asked);
	loop_run_until(b.loop, &f->asked.over);
	mem_free(&f);
	printf("%llu URLs in %llu queues, put in %.2f s\n",
	    (unsigned long long)b.urls, (unsigned long long)b.queues,
	    (double)ns_since(began) / 1e9);
	fflush(stdout);
	ask_once(&delay, "SetDelay", &d.base);
	wait_ms(SETTLE_MS);
}

/* ---- Modes --------------------------------------------------------------- */

static void
get_urls(struct asked *a, uint32_t queues_max, uint32_t urls_max)
{
	Urlfrontier__GetParams p = URLFRONTIER__GET_PARAMS__INIT;
	Urlfrontier__AnyCrawlID any = URLFRONTIER__ANY_CRAWL_ID__INIT;

	p.max_queues = queues_max;
	p.max_urls_per_queue = urls_max;
	p.delay_requestable = 3600;
	p.item_case = URLFRONTIER__GET_PARAMS__ITEM_ANY_CRAWL_ID;
	p.anycrawlid = &any;
	ask_once(a, "GetURLs", &p.base);
}

static void
measure_get(void)
{
	struct cpu before[CPUS_MAX];
	uint64_t urls = 0;

	fill_store();
	read_cpu(before);
	for (uint64_t i = 0; i < b.calls; i++) {
		struct asked a = { .over = false };
		get_urls(&a, 10, 10);
		b.ns[b.ns_n++] = ns_since(a.began);
		urls += a.messages;
	}
	print_times("GetURLs 10x10", b.ns, b.ns_n);
	printf("URLs per call: %.1f\n", (double)urls / (double)b.calls);
	print_cpu(before, "call", b.calls);
}

static void
measure_first(void)
{
	struct asked a = { .cancels = true };
	struct cpu before[CPUS_MAX];

	b.queues = b.urls;
	fill_store();
	for (size_t i = 0; i < FIRSTS; i++) {
		get_urls(&a, 0, 1);
		b.ns[b.ns_n++] = a.first_ns;
		wait_ms(100);
	}
	print_times("GetURLs to its first URL", b.ns, b.ns_n);
	double mb = memory_mb();
	a = (struct asked){ .over = false };
	read_cpu(before);
	get_urls(&a, 0, 1);
	printf("%llu URLs in %.2f s; memory %.1f MB, before it %.1f: %.0f "
	    "bytes per URL\n", (unsigned long long)a.messages,
	    (double)ns_since(a.began) / 1e9, memory_mb(), mb,
	    (memory_mb() - mb) * (1 << 20) / (double)MAX(a.messages, 1));
	print_cpu(before, "URL", MAX(a.messages, 1));
}

/* Overwriting, as the log does. */
static void
measure_device(void)
{
	static char block[DEVICE_BYTES];
	char path[600];
	struct why w = WHY_INIT;
	int64_t ns[DEVICE_SYNCS];
	int fd = -1;

	snprintf(path, sizeof(path), "%s/device", b.dir);
	enum err e = file_open(path, FILE_CREATE, &fd, &w);
	if (e == OK)
		e = file_allocate(fd, DEVICE_SYNCS * DEVICE_BYTES, &w);
	memset(block, 1, sizeof(block));
	for (size_t i = 0; e == OK && i < DEVICE_SYNCS; i++) {
		e = file_write(fd, i * DEVICE_BYTES, block, DEVICE_BYTES, &w);
		struct mono began = clock_mono();
		if (e == OK)
			e = file_sync(fd, &w);
		ns[i] = ns_since(began);
	}
	file_close(&fd);
	if (e != OK)
		end_with(w.text);
	print_times("fdatasync", ns, DEVICE_SYNCS);
}

struct putting {
	struct asked asked;
	uint64_t next;
	struct mono sent;
};

static void
send_item(struct putting *p)
{
	Urlfrontier__URLInfo info = URLFRONTIER__URLINFO__INIT;
	Urlfrontier__DiscoveredURLItem d =
	    URLFRONTIER__DISCOVERED_URLITEM__INIT;
	Urlfrontier__URLItem item = URLFRONTIER__URLITEM__INIT;
	char url[TEXT_BYTES], key[32];

	name_url(b.urls + p->next++, key, url);
	info.url = url;
	info.key = key;
	d.info = &info;
	item.item_case = URLFRONTIER__URLITEM__ITEM_DISCOVERED;
	item.discovered = &d;
	p->sent = clock_mono();
	send_message(p->asked.call, &item.base);
}

static void
item_acked(struct asked *a)
{
	struct putting *p = CONTAINER(a, struct putting, asked);

	b.ns[b.ns_n++] = ns_since(p->sent);
	if (p->next < b.calls)
		send_item(p);
	else
		grpc_half_close(a->call);
}

static void
measure_serial(void)
{
	struct putting p = { .asked = { .got = item_acked } };
	struct cpu before[CPUS_MAX];

	fill_store();
	measure_device();
	read_cpu(before);
	begin_call(&p.asked, "PutURLs");
	send_item(&p);
	loop_run_until(b.loop, &p.asked.over);
	print_times("put to its acknowledgement", b.ns, b.ns_n);
	print_cpu(before, "put", b.calls);
	measure_device();
}

/* ---- The program --------------------------------------------------------- */

static const struct {
	const char *name;
	void (*measure)(void);
} modes[] = { { "get", measure_get }, { "first", measure_first },
	{ "serial", measure_serial } };

static void
read_options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "rq:u:n:")) != -1) {
		uint64_t *to = c == 'q' ? &b.queues : c == 'u' ? &b.urls :
		    &b.calls;
		if (c == 'r')
			b.relaxed = true;
		else if (c == '?' || !str_to_u64(str_of(optarg), to) ||
		    *to == 0)
			end_with("usage: urlfrontier_bench [-r] [-q QUEUES] "
			    "[-u URLS] [-n CALLS] get|first|serial DIR");
	}
	if (optind + 2 != argc)
		end_with("which mode, and which directory?");
	b.dir = argv[optind + 1];
}

int
main(int argc, char **argv)
{
	size_t i = 0;

	read_options(argc, argv);
	while (i < ARRAY_LEN(modes) &&
	    strcmp(modes[i].name, argv[optind]) != 0)
		i++;
	if (i == ARRAY_LEN(modes))
		end_with("no such mode");
	b.ns = mem_array(MAX(b.calls, FIRSTS), sizeof(*b.ns));
	open_node();
	modes[i].measure();
	close_node();
	mem_free(&b.ns);
	return 0;
}
