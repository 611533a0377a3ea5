/*
 * Flickr's REST API: https://www.flickr.com/services/api/.
 *
 * People: ada (many photos), "bob & co" (a few), eve (none), dora (gone).
 * Every call is signed by OAuth 1.0a with the consumer's pair alone.
 */
#include "tests/platforms/platforms.h"

#define CALLS 3600u
#define PERIOD_S 3600
#define PAGE_PHOTOS 100u
#define PAGE_PHOTOS_MAX 500u
#define FIRST_ID UINT64_C(54000000000)

struct person {
	char id[20], name[64];
	bool gone;
};

struct photo {
	uint64_t id;
	unsigned person;
	int64_t posted;
	uint64_t look;
	char secret[11];
	bool deleted;
	bool closed;                 /* it is listed, and no more than that */
};

static struct person people[] = {
	{ "", "ada", false }, { "", "bob & co", false }, { "", "eve", false },
	{ "", "dora", true },
};
static struct {
	char key[33], secret[17];
	bool expired;
	uint64_t random, last_id;
	struct photo *photos;        /* the oldest first */
	size_t photos_n, photos_cap;
} world;

/* ---- Making ------------------------------------------------------------ */

static void
put_photo(unsigned person, int64_t posted)
{
	world.photos = mem_room(world.photos, world.photos_n,
	    &world.photos_cap, 1024, sizeof(*world.photos));
	struct photo *p = &world.photos[world.photos_n++];

	world.last_id += 1 + random_next(&world.random) % 100000;
	*p = (struct photo){ .id = world.last_id, .person = person,
		.posted = posted, .look = random_next(&world.random),
		.deleted = random_chance(&world.random, 3),
		.closed = random_chance(&world.random, 2) };
	snprintf(p->secret, sizeof(p->secret), "%010llx",
	    (unsigned long long)(random_next(&world.random) >> 24));
}

static void
make(uint64_t seed, struct wall now, unsigned items)
{
	const unsigned counts[] = { items, MAX(items / 20, 4), 0, 3 };

	world.random = seed ^ 0x464c4b52;
	world.last_id = FIRST_ID;
	snprintf(world.key, sizeof(world.key), "%016llx%016llx",
	    (unsigned long long)random_next(&world.random),
	    (unsigned long long)random_next(&world.random));
	snprintf(world.secret, sizeof(world.secret), "%016llx",
	    (unsigned long long)random_next(&world.random));
	for (unsigned i = 0; i < ARRAY_LEN(people); i++) {
		snprintf(people[i].id, sizeof(people[i].id), "%u@N%02u",
		    (unsigned)(random_next(&world.random) % 90000000) +
		    10000000, i + 1);
		for (unsigned k = 0; k < counts[i]; k++)
			put_photo(i, wall_s(now) - (int64_t)(counts[i] - k) *
			    7200);
	}
}

/* ---- Finding ----------------------------------------------------------- */

/* Clients send a form as well as a query. */
static bool
read_param(struct request *r, const char *name, struct str *value)
{
	size_t at = 0;

	*value = STR_NONE;
	return request_param(r, name, value) || head_param(r->body, &at,
	    str_of(name), &r->arena, value);
}

static uint64_t
read_number(struct request *r, const char *name, uint64_t otherwise)
{
	struct str text;
	uint64_t n;

	return read_param(r, name, &text) && str_to_u64(text, &n) ? n :
	    otherwise;
}

static struct person *
person_by(struct str id, struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(people); i++)
		if (str_eq(id, str_of(people[i].id)) ||
		    str_eq_nocase(name, str_of(people[i].name)))
			return &people[i];
	return NULL;
}

static struct photo *
photo_by(uint64_t id)
{
	for (size_t i = 0; i < world.photos_n; i++)
		if (world.photos[i].id == id)
			return &world.photos[i];
	return NULL;
}

static bool
is_listed(const struct photo *p, const struct person *of)
{
	return &people[p->person] == of && !p->deleted && !of->gone;
}

/* ---- Answers ----------------------------------------------------------- */

static void
fail_with(struct request *r, unsigned code, const char *message)
{
	r->status = 200;
	json_object(&r->out, NULL);
	json_str(&r->out, "stat", STR("fail"));
	json_u64(&r->out, "code", code);
	json_str(&r->out, "message", str_of(message));
	buf_put_char(&r->out, '}');
}

/* {"_content":TEXT} */
static void
put_content(struct buf *b, const char *name, const char *text)
{
	json_object(b, name);
	json_str(b, "_content", str_of(text));
	buf_put_char(b, '}');
}

static void
end_answer(struct request *r)
{
	r->status = 200;
	json_str(&r->out, "stat", STR("ok"));
	buf_put_char(&r->out, '}');
}

static void
answer_find(struct request *r)
{
	struct str name;

	(void)read_param(r, "username", &name);
	const struct person *p = person_by(STR_NONE, name);
	if (p == NULL || p->gone) {
		fail_with(r, 1, "User not found");
		return;
	}
	json_object(&r->out, NULL);
	json_object(&r->out, "user");
	json_str(&r->out, "id", str_of(p->id));
	json_str(&r->out, "nsid", str_of(p->id));
	put_content(&r->out, "username", p->name);
	buf_put_char(&r->out, '}');
	end_answer(r);
}

static void
answer_person(struct request *r)
{
	struct str id;

	(void)read_param(r, "user_id", &id);
	const struct person *p = person_by(id, STR_NONE);
	if (p == NULL || p->gone) {
		fail_with(r, 1, "User not found");
		return;
	}
	json_object(&r->out, NULL);
	json_object(&r->out, "person");
	json_str(&r->out, "id", str_of(p->id));
	json_str(&r->out, "nsid", str_of(p->id));
	json_u64(&r->out, "ispro", 0);
	put_content(&r->out, "username", p->name);
	put_content(&r->out, "realname", "");
	buf_put_char(&r->out, '}');
	end_answer(r);
}

/* ---- people.getPublicPhotos -------------------------------------------- */

static void
write_entry(struct buf *b, const struct photo *p, uint64_t big)
{
	json_object(b, NULL);
	json_format(b, "id", "%llu", (unsigned long long)p->id);
	json_str(b, "owner", str_of(people[p->person].id));
	json_str(b, "secret", str_of(p->secret));
	json_str(b, "server", STR("65535"));
	json_u64(b, "farm", 66);
	json_phrases(b, "title", p->look, big);
	json_u64(b, "ispublic", 1);
	json_u64(b, "isfriend", 0);
	json_u64(b, "isfamily", 0);
	buf_put_char(b, '}');
}

static void
answer_list(struct request *r)
{
	const struct photo **found = ARENA_ARRAY(&r->arena,
	    const struct photo *, world.photos_n);
	uint64_t most = MIN(MAX(read_number(r, "per_page", PAGE_PHOTOS), 1),
	    PAGE_PHOTOS_MAX);
	uint64_t page = MAX(read_number(r, "page", 1), 1);
	size_t all = 0;
	struct slice s;
	struct str id;

	(void)read_param(r, "user_id", &id);
	const struct person *of = person_by(id, STR_NONE);
	if (of == NULL || of->gone) {
		fail_with(r, 1, "User not found");
		return;
	}
	for (size_t i = world.photos_n; i-- > 0;)
		if (is_listed(&world.photos[i], of))
			found[all++] = &world.photos[i];
	uint64_t pages = (all + most - 1) / most;
	/* There is no page after the last one, but that one again. */
	page = MIN(page, MAX(pages, 1));
	slice_cut(&r->fault, all, (size_t)((page - 1) * most), (size_t)most,
	    &s);
	json_object(&r->out, NULL);
	json_object(&r->out, "photos");
	json_u64(&r->out, "page", page);
	json_u64(&r->out, "pages", pages);
	json_u64(&r->out, "perpage", most);
	json_format(&r->out, "total", "%zu", all);
	json_array(&r->out, "photo");
	for (size_t i = 0; i < s.n; i++)
		write_entry(&r->out, found[slice_place(&s, i)],
		    i == 0 ? r->fault.big : 0);
	buf_put_text(&r->out, "]}");
	end_answer(r);
}

/* ---- photos.getInfo, photos.getSizes ----------------------------------- */

static void
write_owner(struct buf *b, const struct person *of)
{
	json_object(b, "owner");
	json_str(b, "nsid", str_of(of->id));
	json_str(b, "username", str_of(of->name));
	json_str(b, "realname", STR(""));
	json_str(b, "location", STR(""));
	buf_put_char(b, '}');
}

static void
write_dates(struct buf *b, const struct photo *p)
{
	char iso[WALL_ISO_MAX];

	wall_to_iso((struct wall){ (p->posted - 86400) * US_PER_S }, iso);
	json_object(b, "dates");
	json_format(b, "posted", "%lld", (long long)p->posted);
	/* Of some the year alone is known. */
	if (p->look % 17 == 0)
		json_format(b, "taken", "%.4s-00-00 00:00:00", iso);
	else
		json_format(b, "taken", "%.10s %.8s", iso, iso + 11);
	json_str(b, "takengranularity", p->look % 17 == 0 ? STR("6") :
	    STR("0"));
	buf_put_char(b, '}');
}

static void
write_texts(struct buf *b, const struct photo *p, uint64_t big)
{
	json_object(b, "title");
	json_phrases(b, "_content", p->look, 0);
	buf_put_char(b, '}');
	json_object(b, "description");
	json_phrases(b, "_content", p->look + 1, big);
	buf_put_char(b, '}');
	json_object(b, "tags");
	json_array(b, "tag");
	buf_put_text(b, "]}");
	json_object(b, "urls");
	json_array(b, "url");
	json_object(b, NULL);
	json_str(b, "type", STR("photopage"));
	json_format(b, "_content", "https://www.flickr.com/photos/%s/%llu/",
	    people[p->person].id, (unsigned long long)p->id);
	buf_put_text(b, "}]}");
}

static const struct photo *
photo_of(struct request *r)
{
	const struct photo *p = photo_by(read_number(r, "photo_id", 0));

	if (p != NULL && is_listed(p, &people[p->person]) && !p->closed)
		return p;
	fail_with(r, 1, "Photo not found");
	return NULL;
}

static void
answer_photo(struct request *r)
{
	const struct photo *p = photo_of(r);
	struct buf *b = &r->out;

	if (p == NULL)
		return;
	json_object(b, NULL);
	json_object(b, "photo");
	json_format(b, "id", "%llu", (unsigned long long)p->id);
	json_str(b, "secret", str_of(p->secret));
	json_str(b, "server", STR("65535"));
	json_u64(b, "farm", 66);
	json_format(b, "dateuploaded", "%lld", (long long)p->posted);
	json_format(b, "license", "%u", (unsigned)(p->look % 11));
	json_str(b, "safety_level", STR("0"));
	json_u64(b, "rotation", 0);
	if (p->look % 5 == 0)
		json_str(b, "originalformat", STR("jpg"));
	write_owner(b, &people[p->person]);
	write_dates(b, p);
	json_format(b, "views", "%u", (unsigned)(p->look % 9000));
	write_texts(b, p, r->fault.big);
	json_str(b, "media", p->look % 20 == 0 ? STR("video") : STR("photo"));
	buf_put_char(b, '}');
	end_answer(r);
}

static void
answer_sizes(struct request *r)
{
	static const struct {
		const char *label, *ending;
		unsigned width;
	} sizes[] = {
		{ "Square", "_s", 75 }, { "Thumbnail", "_t", 100 },
		{ "Medium", "", 500 }, { "Large", "_b", 1024 },
		{ "Original", "_o", 4000 },
	};
	const struct photo *p = photo_of(r);
	struct buf *b = &r->out;

	if (p == NULL)
		return;
	/* Owners may keep the original to themselves. */
	size_t n = ARRAY_LEN(sizes) - (p->look % 5 != 0);
	json_object(b, NULL);
	json_object(b, "sizes");
	json_array(b, "size");
	for (size_t i = 0; i < n; i++) {
		json_object(b, NULL);
		json_str(b, "label", str_of(sizes[i].label));
		json_u64(b, "width", sizes[i].width);
		json_u64(b, "height", sizes[i].width * 2 / 3);
		json_format(b, "source", "https://live.staticflickr.com/65535/"
		    "%llu_%s%s.jpg", (unsigned long long)p->id, p->secret,
		    sizes[i].ending);
		json_str(b, "media", STR("photo"));
		buf_put_char(b, '}');
	}
	buf_put_text(b, "]}");
	end_answer(r);
}

/* ---- Calls, credentials, budgets, faults ------------------------------- */

static void
answer_call(struct request *r)
{
	static const struct {
		const char *method;
		void (*answer)(struct request *);
	} calls[] = {
		{ "flickr.people.findByUsername", answer_find },
		{ "flickr.people.getInfo", answer_person },
		{ "flickr.people.getPublicPhotos", answer_list },
		{ "flickr.photos.getInfo", answer_photo },
		{ "flickr.photos.getSizes", answer_sizes },
	};
	struct str method, format, bare;

	(void)read_param(r, "method", &method);
	(void)read_param(r, "format", &format);
	(void)read_param(r, "nojsoncallback", &bare);
	size_t i = STR_ROW(method, calls);
	if (i < ARRAY_LEN(calls) && str_eq(format, STR("json")) &&
	    str_eq(bare, STR("1")))
		calls[i].answer(r);
}

static void
change_by_plan(const struct fault *f)
{
	struct person *renamed = person_by(STR_NONE, f->rename);
	struct person *gone = person_by(STR_NONE, f->suspend);

	world.expired |= f->expire;
	if (renamed != NULL)
		snprintf(renamed->name, sizeof(renamed->name), "%.*s",
		    STR_FMT(f->rename_to));
	if (gone != NULL)
		gone->gone = true;
}

static void
answer(struct request *r)
{
	const struct oauth1_keys keys = { str_of(world.key),
		str_of(world.secret), STR_NONE, STR_NONE };
	struct budget budget;

	change_by_plan(&r->fault);
	bool fine = oauth_is_signed(r, &keys) && !world.expired;
	r->who = fine ? "consumer" : "stranger";
	budget_take(STR("flickr"), CALLS, PERIOD_S, &budget);
	if (r->fault.status != 0 || (fine && budget.exceeded)) {
		r->status = r->fault.status != 0 ? r->fault.status : 429;
		r->type = "text/plain";
		if (r->fault.retry_after.n > 0)
			buf_printf(&r->fields, "Retry-After: %.*s\r\n",
			    STR_FMT(r->fault.retry_after));
		buf_put_text(&r->out, "no answer for now");
	} else if (!str_eq(r->head.path, STR("/services/rest/"))) {
		return;
	} else if (!fine) {
		r->status = 401;
		r->type = "text/plain";
		buf_put_text(&r->out, "oauth_problem=signature_invalid");
	} else {
		answer_call(r);
	}
}

/* ---- For tests --------------------------------------------------------- */

static void
describe_photos(struct buf *out, const char *name, const struct person *of,
    bool closed)
{
	json_array(out, name);
	for (size_t i = 0; i < world.photos_n; i++) {
		const struct photo *p = &world.photos[i];
		char id[24];
		snprintf(id, sizeof(id), "%llu", (unsigned long long)p->id);
		if (is_listed(p, of) && p->closed == closed)
			json_item(out, str_of(id));
	}
	buf_put_char(out, ']');
}

static void
describe(struct str host, struct buf *out)
{
	(void)host;
	json_object(out, NULL);
	json_str(out, "key", str_of(world.key));
	json_str(out, "secret", str_of(world.secret));
	json_array(out, "people");
	for (size_t i = 0; i < ARRAY_LEN(people); i++) {
		json_object(out, NULL);
		json_str(out, "name", str_of(people[i].name));
		json_str(out, "id", str_of(people[i].id));
		json_bool(out, "gone", people[i].gone);
		describe_photos(out, "photos", &people[i], false);
		describe_photos(out, "closed", &people[i], true);
		buf_put_char(out, '}');
	}
	buf_put_text(out, "]}\n");
}

static bool
change(struct str host, yyjson_val *what, char sentence[static 200])
{
	yyjson_val *add = yyjson_obj_get(what, "add");
	yyjson_val *rename = yyjson_obj_get(what, "rename");
	struct person *of = person_by(STR_NONE, json_text(yyjson_obj_get(add,
	    "account")));
	uint64_t id, n = yyjson_get_uint(yyjson_obj_get(add, "n"));
	struct photo *gone = str_to_u64(json_text(yyjson_obj_get(what,
	    "delete")), &id) ? photo_by(id) : NULL;
	const struct fault f = { .suspend = json_text(yyjson_obj_get(what,
	    "suspend")), .rename = json_text(yyjson_obj_get(rename,
	    "account")), .rename_to = json_text(yyjson_obj_get(rename,
	    "to")) };

	(void)host;
	snprintf(sentence, 200, "there is no such person or photo");
	for (; of != NULL && n > 0; n--) {
		put_photo((unsigned)(of - people), wall_s(clock_wall()));
		struct photo *p = &world.photos[world.photos_n - 1];
		p->deleted = p->closed = false;
	}
	if (gone != NULL)
		gone->deleted = true;
	change_by_plan(&f);
	return of != NULL || gone != NULL || f.rename.n > 0 ||
	    f.suspend.n > 0;
}

static const char *const hosts[] = { "api.flickr.com", NULL };

const struct platform flickr_platform = { .name = "flickr", .hosts = hosts,
	.make = make, .answer = answer, .describe = describe,
	.change = change };
