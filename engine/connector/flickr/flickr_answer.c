/* Reads Flickr's answers: people, pages of photos, photos, refusals. */
#include "base/text.h"
#include "engine/connector/flickr/flickr_own.h"
#include "engine/connector/items.h"
#include "engine/connector/shown.h"
#include "engine/connector/url_text.h"

#define NAME_BYTES_MAX 512u
#define URL_BYTES_MAX 8192u

/* ---- From photo to photo ----------------------------------------------- */

static void
put_state(struct flickr_run *x, const struct connector_findings *f)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	char digits[24];

	if (!flickr_is_user(x) || x->newest <= x->since)
		return;
	flickr_state_key(x, &key);
	snprintf(digits, sizeof(digits), "%llu",
	    (unsigned long long)x->newest);
	f->state(f->arg, buf_str(&key), str_of(digits));
}

/* Pages by numbers may have left out photos, whatever caused it. */
static void
check_total(struct flickr_run *x, const struct connector_findings *f)
{
	if (flickr_is_user(x) && x->since == 0 && x->least != UINT64_MAX &&
	    x->seen < x->least)
		seed_run_warn(&x->seed, f, "partial_posts", ": there are %llu "
		    "photos, of which %llu were shown",
		    (unsigned long long)x->least,
		    (unsigned long long)x->seen);
}

/* Go to the first photo that is wanted, from `at` on; the page may have none,
 * and the list no other page. */
static void
go_to_photo(struct flickr_run *x, size_t at, const struct connector_findings *f)
{
	bool full = x->seed.items >= (uint64_t)x->seed.limit;

	x->seed.tries = 0;
	while (!full && at < x->photos_n && !x->photos[at].wanted)
		at++;
	x->photo = at;
	if (!full && at < x->photos_n) {
		x->seed.step = FLICKR_PHOTO;
	} else if (!full && x->has_more) {
		x->page++;
		x->seed.step = FLICKR_LIST;
	} else {
		if (!full)
			check_total(x, f);
		put_state(x, f);
		if (!seed_run_is_full(&x->seed, f))
			seed_run_leave(&x->seed, f);
	}
}

/* ---- People ------------------------------------------------------------ */

static void
answer_find(struct flickr_run *x, yyjson_val *json,
    const struct connector_findings *f)
{
	struct str id = json_text(json_at(json, "user.nsid"));

	if (!flickr_is_person(id)) {
		seed_run_again(&x->seed, f, "a person without an id");
		return;
	}
	x->seed.tries = 0;
	f->seed(f->arg, seed_run_seed(&x->seed), id, STR_NONE);
	buf_put_str(&x->person, id);
	x->seed.step = FLICKR_PERSON;
}

static void
answer_person(struct flickr_run *x, yyjson_val *json,
    const struct connector_findings *f)
{
	const struct connector_seed *s = seed_run_seed(&x->seed);
	struct str name = json_text(json_at(json,
	    "person.username._content"));

	if (!yyjson_is_obj(yyjson_obj_get(json, "person"))) {
		seed_run_again(&x->seed, f, "no person");
		return;
	}
	x->seed.tries = 0;
	if (s->token.n > 0 && name.n > 0 && name.n <= NAME_BYTES_MAX &&
	    !text_has_control(name) && !str_eq(name, s->token))
		f->seed(f->arg, s, STR_NONE, name);
	flickr_begin_list(x);
}

/* ---- A page ------------------------------------------------------------ */

static bool
is_known(const struct flickr_entry *photos, size_t n, uint64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (photos[i].id == id)
			return true;
	return false;
}

/* What a page shows. */
struct page {
	struct flickr_entry photos[FLICKR_PAGE_MAX];
	size_t n, unknown;
	bool ends;                   /* here ended the last run */
};

static void
read_photo(struct flickr_run *x, yyjson_val *v, struct arena *a,
    struct page *p)
{
	struct flickr_entry *photo = &p->photos[p->n];
	struct str secret = json_text(json_member(v, "secret"));

	*photo = (struct flickr_entry){ .id = 0 };
	if (!str_to_u64(json_id(json_member(v, "id"), a), &photo->id) ||
	    photo->id == 0)
		return;
	bool known = is_known(x->photos, x->photos_n, photo->id);
	if (seed_run_is_word(secret, FLICKR_SECRET_BYTES_MAX))
		memcpy(photo->secret, secret.p, secret.n);
	photo->wanted = !known && photo->id > x->since;
	x->newest = MAX(x->newest, photo->id);
	p->unknown += !known;
	p->n++;
}

static void
read_page(struct flickr_run *x, yyjson_val *list, struct page *p)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	size_t i, n;
	yyjson_val *v;

	p->n = p->unknown = 0;
	yyjson_arr_foreach(list, i, n, v)
		read_photo(x, v, &a, p);
	/* Its newest photo may be gone; then all others are older. */
	bool older = x->since > 0 && p->n > 0;
	p->ends = false;
	for (i = 0; i < p->n; i++) {
		older &= p->photos[i].id < x->since;
		p->ends |= p->photos[i].id == x->since;
	}
	p->ends |= older;
}

static uint64_t
number_at(yyjson_val *json, const char *path)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	uint64_t n;

	return str_to_u64(json_id(json_at(json, path), &a), &n) ? n : 0;
}

/*
 * Of a list that has become shorter, photos have moved to pages that are read
 * already; so the one before is read again.
 */
static bool
goes_back(struct flickr_run *x, uint64_t total)
{
	bool shorter = total < x->total && x->page > 1 && !x->gone_back;

	x->total = total;
	x->least = MIN(x->least, total);
	x->gone_back = shorter;
	x->page -= shorter;
	return shorter;
}

static void
answer_list(struct flickr_run *x, yyjson_val *json,
    const struct connector_findings *f)
{
	yyjson_val *list = json_at(json, "photos.photo");
	uint64_t pages = number_at(json, "photos.pages");
	bool again = x->gone_back;
	struct page p;

	if (!yyjson_is_arr(list) || yyjson_arr_size(list) > FLICKR_PAGE_MAX) {
		seed_run_again(&x->seed, f, "no page of photos");
		return;
	}
	if (goes_back(x, number_at(json, "photos.total")))
		return;
	read_page(x, list, &p);
	if (p.unknown == 0 && !again && x->page <= pages && x->total > 0) {
		seed_run_again(&x->seed, f, "a page without another photo");
		return;
	}
	if (p.n < yyjson_arr_size(list))
		seed_run_warn(&x->seed, f, "uid_unknown_error", ": %zu of %zu "
		    "photos of a page have no number and are not asked for",
		    yyjson_arr_size(list) - p.n, yyjson_arr_size(list));
	x->seen += p.unknown + yyjson_arr_size(list) - p.n;
	x->has_more = x->page < pages && !p.ends;
	x->photos_n = p.n;
	memcpy(x->photos, p.photos, p.n * sizeof(p.photos[0]));
	go_to_photo(x, 0, f);
}

/* ---- A photo ----------------------------------------------------------- */

static void
answer_photo(struct flickr_run *x, yyjson_val *json,
    const struct connector_findings *f)
{
	yyjson_val *sizes = flickr_sizes(x);

	if (number_at(json, "photo.id") == 0) {
		seed_run_again(&x->seed, f, "a photo without a number");
		return;
	}
	x->seed.tries = 0;
	seed_run_count(&x->seed, f, 1);
	if (sizes != NULL && yyjson_arr_size(sizes) == 0)
		go_to_photo(x, x->photo + 1, f);
	else
		x->seed.step = FLICKR_SIZES;
}

static bool
is_wanted_size(yyjson_val *sizes, struct str label)
{
	static const char *const usual[] = { "Thumbnail", "Large",
		"Original" };
	size_t i, n;
	yyjson_val *one;

	if (sizes == NULL)
		return STR_ROW(label, usual) < ARRAY_LEN(usual);
	yyjson_arr_foreach(sizes, i, n, one)
		if (str_eq(label, json_text(one)))
			return true;
	return false;
}

static void
answer_sizes(struct flickr_run *x, yyjson_val *json,
    const struct connector_findings *f)
{
	yyjson_val *list = json_at(json, "sizes.size"), *size;
	size_t i, n;

	if (!yyjson_is_arr(list)) {
		seed_run_again(&x->seed, f, "no sizes of a photo");
		return;
	}
	yyjson_arr_foreach(list, i, n, size) {
		struct str url = json_text(json_member(size, "source"));
		if (is_wanted_size(flickr_sizes(x), json_text(json_member(
		    size, "label"))) && url.n <= URL_BYTES_MAX &&
		    url_text_is_web(url))
			f->url(f->arg, url);
	}
	go_to_photo(x, x->photo + 1, f);
}

/* ---- Refusals ---------------------------------------------------------- */

/* Of all methods: contract and https://www.flickr.com/services/api/. */
enum { CODE_ABSENT = 1, CODE_PERMISSION = 2, CODE_LOGIN_FIRST = 95,
	CODE_LOGIN_LAST = 98, CODE_KEY = 100, CODE_UNAVAILABLE = 105,
	CODE_WRITING = 106 };

static void
refuse_step(struct flickr_run *x, int64_t code, struct str text,
    const struct connector_findings *f)
{
	struct seed_run *r = &x->seed;

	r->tries = 0;
	if (r->step == FLICKR_SIZES || (r->step == FLICKR_PHOTO &&
	    flickr_is_user(x)))
		/* It is archived, and passed over. */
		go_to_photo(x, x->photo + 1, f);
	else if (code == CODE_ABSENT)
		seed_run_skip(r, f, r->step == FLICKR_FIND ?
		    "token_not_found" : "uid_not_found", " does not exist");
	else if (code == CODE_PERMISSION && r->step == FLICKR_PHOTO)
		seed_run_skip(r, f, "uid_unauthorized", ": %.*s",
		    STR_FMT(text));
	else
		seed_run_skip(r, f, r->step == FLICKR_FIND ?
		    "token_unknown_error" : "uid_unknown_error", ": %.*s",
		    STR_FMT(text));
}

static void
answer_failure(struct flickr_run *x, yyjson_val *json,
    const struct connector_findings *f)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	int64_t code = (int64_t)number_at(json, "code");

	buf_printf(&text, "%lld, ", (long long)code);
	shown_put(&text, json_text(yyjson_obj_get(json,
	    "message")));
	if ((code >= CODE_LOGIN_FIRST && code <= CODE_LOGIN_LAST) ||
	    code == CODE_KEY)
		seed_run_fail(&x->seed, f, "harvest_Unauthorized", " refuses "
		    "the credential: %.*s", STR_FMT(buf_str(&text)));
	else if (code == 0 || code == CODE_UNAVAILABLE ||
	    code == CODE_WRITING)
		seed_run_again(&x->seed, f, "an error of its own");
	else
		refuse_step(x, code, buf_str(&text), f);
}

void
flickr_answer(struct seed_run *r, const struct connector_answer *answer,
    const struct connector_findings *f)
{
	static void (*const steps[FLICKR_STEPS_N])(struct flickr_run *,
	    yyjson_val *, const struct connector_findings *) = {
		answer_find, answer_person, answer_list, answer_photo,
		answer_sizes,
	};
	struct flickr_run *x = (struct flickr_run *)r;
	struct str stat = json_text(yyjson_obj_get(answer->json, "stat"));

	if (answer->status >= 300)
		seed_run_fail(r, f, "harvest_Unauthorized", " refuses the "
		    "credential: %d", answer->status);
	else if (str_eq(stat, STR("fail")))
		answer_failure(x, answer->json, f);
	else if (str_eq(stat, STR("ok")))
		steps[r->step](x, answer->json, f);
	else
		seed_run_again(r, f, "an answer that says neither ok nor "
		    "fail");
}
