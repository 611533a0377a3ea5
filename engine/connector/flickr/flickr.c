/* The rows of the table, a run's beginning and end, and its calls. */
#include "engine/connector/flickr/flickr.h"

#include "engine/connector/flickr/flickr_own.h"
#include "engine/connector/url_text.h"

#define API "https://api.flickr.com/services/rest/"

static const int statuses[] = { 401, 403, 0 };
static const struct connector_rate rates[] = { { 3600, 3600, false }, { 0 } };

bool
flickr_is_user(const struct flickr_run *x)
{
	return x->seed.run.order->connector == &flickr_user;
}

/* ---- Seeds ------------------------------------------------------------- */

bool
flickr_is_person(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != '@' && !seed_run_is_word(str_cut(s, i, i + 1),
		    1))
			return false;
	return s.n > 0 && s.n <= FLICKR_ID_BYTES_MAX;
}

static enum err
check(struct seed_run *r, struct why *w)
{
	const struct connector_order *o = r->run.order;
	bool users = flickr_is_user((struct flickr_run *)r);
	char field[48];
	uint64_t id;

	for (size_t i = 0; i < o->seeds_n; i++) {
		struct str uid = o->seeds[i].uid;
		snprintf(field, sizeof(field), "seeds[%zu].uid", i);
		if (users && uid.n > 0 && !flickr_is_person(uid))
			return why_field(w, ERR_INPUT, field,
			    "it is not the id of a person");
		if (!users && (!str_to_u64(uid, &id) || id == 0))
			return why_field(w, ERR_INPUT, field,
			    "it is not the number of a photo");
	}
	return OK;
}

yyjson_val *
flickr_sizes(const struct flickr_run *x)
{
	yyjson_val *options = x->seed.run.order->options;
	yyjson_val *sizes = connector_param_texts(options, "image_sizes");

	return sizes != NULL ? sizes : connector_param_texts(options, "sizes");
}

void
flickr_state_key(const struct flickr_run *x, struct buf *key)
{
	buf_put_str(key, buf_str(&x->person));
	buf_put_text(key, ".last_photo_id");
}

/* Here alone it is incremental unless it is told not to be. */
static bool
is_incremental(const struct flickr_run *x)
{
	yyjson_val *options = x->seed.run.order->options;

	return json_is_absent(yyjson_obj_get(options, "incremental")) ||
	    connector_param_bool(options, "incremental");
}

void
flickr_begin_list(struct flickr_run *x)
{
	FREED(buf_free) struct buf key = BUF_INIT;

	x->since = x->newest = x->total = x->seen = 0;
	x->least = UINT64_MAX;
	x->page = 1;
	x->has_more = x->gone_back = false;
	x->photos_n = x->photo = 0;
	x->seed.step = FLICKR_LIST;
	flickr_state_key(x, &key);
	if (is_incremental(x) && !str_to_u64(connector_state_find(
	    x->seed.run.order, buf_str(&key)), &x->since))
		x->since = 0;
}

static void
begin_user(struct seed_run *r)
{
	struct flickr_run *x = (struct flickr_run *)r;
	struct str uid = seed_run_seed(r)->uid;

	buf_clear(&x->person);
	buf_put_str(&x->person, uid);
	x->photos_n = x->photo = 0;
	r->step = uid.n > 0 ? FLICKR_PERSON : FLICKR_FIND;
}

static void
begin_photo(struct seed_run *r)
{
	struct flickr_run *x = (struct flickr_run *)r;

	x->photos[0] = (struct flickr_entry){ .wanted = true };
	CHECK(str_to_u64(seed_run_seed(r)->uid, &x->photos[0].id));
	x->photos_n = 1;
	x->photo = 0;
	r->step = FLICKR_PHOTO;
}

/* ---- Calls ------------------------------------------------------------- */

static void
put_number(struct buf *url, const char *name, uint64_t n)
{
	buf_printf(url, "&%s=%llu", name, (unsigned long long)n);
}

static void
put_params(struct flickr_run *x, struct buf *url)
{
	const struct flickr_entry *p = &x->photos[x->photo];

	switch ((enum flickr_step)x->seed.step) {
	case FLICKR_FIND:
		url_text_param(url, "username", seed_run_seed(
		    &x->seed)->token);
		return;
	case FLICKR_LIST:
		url_text_param(url, "user_id", buf_str(&x->person));
		put_number(url, "page", x->page);
		put_number(url, "per_page", FLICKR_PAGE_MAX);
		return;
	case FLICKR_PHOTO:
		put_number(url, "photo_id", p->id);
		if (p->secret[0] != '\0')
			url_text_param(url, "secret", str_of(p->secret));
		return;
	case FLICKR_SIZES:
		put_number(url, "photo_id", p->id);
		return;
	default:
		url_text_param(url, "user_id", buf_str(&x->person));
	}
}

static void
put_call(struct seed_run *r, struct connector_call *call)
{
	static const char *const methods[FLICKR_STEPS_N] = {
		"people.findByUsername", "people.getInfo",
		"people.getPublicPhotos", "photos.getInfo",
		"photos.getSizes",
	};

	buf_printf(&r->url, API "?method=flickr.%s&format=json"
	    "&nojsoncallback=1", methods[r->step]);
	put_params((struct flickr_run *)r, &r->url);
	call->auth = CONNECTOR_OAUTH1_CONSUMER;
	call->secret = "key";
	call->consumer_secret = "secret";
	call->budget = "rest";
	call->rates = rates;
	call->statuses = statuses;
}

/* ---- What is saved ----------------------------------------------------- */

static void
save(const struct seed_run *r, struct buf *out)
{
	const struct flickr_run *x = (const struct flickr_run *)r;

	buf_put_field(out, buf_str(&x->person));
	buf_put_varint(out, x->since);
	buf_put_varint(out, x->newest);
	buf_put_varint(out, x->page);
	buf_put_varint(out, x->total);
	buf_put_varint(out, x->least);
	buf_put_varint(out, x->seen);
	buf_put_char(out, (char)(x->has_more | x->gone_back << 1));
	buf_put_varint(out, x->photo);
	buf_put_varint(out, x->photos_n);
	for (size_t i = 0; i < x->photos_n; i++) {
		buf_put_varint(out, x->photos[i].id);
		buf_put_char(out, (char)x->photos[i].wanted);
		buf_put_field(out, str_of(x->photos[i].secret));
	}
}

static bool
load_photos(struct flickr_run *x, struct reader *in)
{
	uint64_t photo = read_varint(in), n = read_varint(in);

	if (n > FLICKR_PAGE_MAX || photo > n)
		return false;
	x->photo = (size_t)photo;
	x->photos_n = (size_t)n;
	for (size_t i = 0; i < x->photos_n; i++) {
		x->photos[i] = (struct flickr_entry){ .id = read_varint(in),
			.wanted = read_u8(in) == 1 };
		struct str secret = read_field(in);
		if (in->bad || (secret.n > 0 && !seed_run_is_word(secret,
		    FLICKR_SECRET_BYTES_MAX)))
			return false;
		memcpy(x->photos[i].secret, secret.p, secret.n);
	}
	return true;
}

static bool
load(struct seed_run *r, struct reader *in)
{
	struct flickr_run *x = (struct flickr_run *)r;
	struct str person = read_field(in);

	x->since = read_varint(in);
	x->newest = read_varint(in);
	x->page = read_varint(in);
	x->total = read_varint(in);
	x->least = read_varint(in);
	x->seen = read_varint(in);
	uint8_t flags = read_u8(in);
	x->has_more = (flags & 1) != 0;
	x->gone_back = (flags & 2) != 0;
	if (!load_photos(x, in) || flags > 3 ||
	    (person.n > 0 && !flickr_is_person(person)))
		return false;
	buf_clear(&x->person);
	buf_put_str(&x->person, person);
	if (r->step == SEED_RUN_ENDED)
		return true;
	if (r->step >= FLICKR_PHOTO && x->photo == x->photos_n)
		return false;
	if (!flickr_is_user(x))
		return r->step >= FLICKR_PHOTO;
	return r->step == FLICKR_FIND || person.n > 0;
}

static void
free_run(struct seed_run *r)
{
	buf_free(&((struct flickr_run *)r)->person);
}

/* ---- The rows ---------------------------------------------------------- */

#define KIND_FUNCTIONS                                                       \
	.service = "Flickr", .items = "photos",                              \
	.steps_n = FLICKR_STEPS_N, .bytes = sizeof(struct flickr_run),       \
	.check = check, .call = put_call, .answer = flickr_answer,           \
	.save = save, .load = load, .free = free_run

static const struct seed_run_kind user_kind = {
	.seed = "person", .begin = begin_user, KIND_FUNCTIONS
};

static const struct seed_run_kind photo_kind = {
	.seed = "photo", .begin = begin_photo, KIND_FUNCTIONS
};

static enum err
open_user(const struct connector_order *o, struct connector_run **out,
    struct why *w)
{
	return seed_run_open(&user_kind, o, out, w);
}

static enum err
open_photo(const struct connector_order *o, struct connector_run **out,
    struct why *w)
{
	return seed_run_open(&photo_kind, o, out, w);
}

#define SIZES_HELP                                                           \
	"Sizes whose files are to be crawled, such as Original; without "    \
	"them Thumbnail, Large and Original; an empty list asks for no sizes"

#define SIZES                                                                \
	{ "image_sizes", CONNECTOR_TEXTS, false, 0, 0, NULL, SIZES_HELP },   \
	{ "sizes", CONNECTOR_TEXTS, false, 0, 0, NULL,                       \
	    "Another name of image_sizes" }
#define LIMIT                                                                \
	{ "limit", CONNECTOR_INT, false, 1, INT64_MAX, NULL,                 \
	    "End after so many photos" }

static const struct connector_param user_params[] = {
	{ "incremental", CONNECTOR_BOOL, false, 0, 0, NULL,
	    "Ask only for photos that are newer than those of the last run; "
	    "it does unless this is false" },
	LIMIT,
	SIZES,
	{ .name = NULL },
};

static const struct connector_param photo_params[] = {
	LIMIT,
	SIZES,
	{ .name = NULL },
};

static const struct connector_key credential[] = {
	{ "key", true, true, "Key of an application" },
	{ "secret", true, true, "Secret of that key" },
	{ .name = NULL },
};

static const char *const hosts[] = { "api.flickr.com", NULL };

const struct connector flickr_user = {
	.type = "flickr_user", .platform = "flickr",
	.label = "flickr photos", .title = "Flickr users",
	.help = "Public photos of people.",
	.kind = CONNECTOR_BATCH, .params = user_params,
	.seeds = { 1, SIZE_MAX, "name of the person at Flickr",
	    "id of the person, such as 131866249@N02", NULL },
	.credential = credential, .hosts = hosts,
	.open = open_user, SEED_RUN_FUNCTIONS
};

const struct connector flickr_photo = {
	.type = "flickr_photo", .platform = "flickr",
	.label = "flickr photos", .title = "Flickr photos",
	.help = "Single photos.",
	.kind = CONNECTOR_BATCH, .params = photo_params,
	.seeds = { 1, SIZE_MAX, NULL, "number of the photo", NULL },
	.credential = credential, .hosts = hosts,
	.open = open_photo, SEED_RUN_FUNCTIONS
};
