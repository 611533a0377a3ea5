#include "engine/policy/robots.h"

static const struct {
	const char *word;
	unsigned flags;
} tags[] = {
	{ "noindex", ROBOTS_TAG_NOINDEX },
	{ "nofollow", ROBOTS_TAG_NOFOLLOW },
	{ "none", ROBOTS_TAG_NOINDEX | ROBOTS_TAG_NOFOLLOW },
	{ "noarchive", ROBOTS_TAG_NOARCHIVE },
	{ "nocache", ROBOTS_TAG_NOARCHIVE },
	{ "nosnippet", ROBOTS_TAG_NOSNIPPET },
	{ "noimageindex", ROBOTS_TAG_NOIMAGEINDEX },
};

/* Words with a value of their own: their colon names no crawler. */
static const char *const valued[] = { "unavailable_after", "max-snippet",
	"max-image-preview", "max-video-preview" };

static unsigned
flags_of(struct str word)
{
	size_t i = STR_ROW_NOCASE(word, tags);

	return i < ARRAY_LEN(tags) ? tags[i].flags : 0;
}

static bool
has_value(struct str word)
{
	return STR_ROW_NOCASE(word, valued) < ARRAY_LEN(valued);
}

unsigned
robots_tag_parse(struct str value, struct str product_token)
{
	struct str rest = value, part;
	bool ours = true;
	unsigned flags = 0;

	while (str_split(&rest, ',', &part)) {
		size_t colon = str_find_char(part, ':');
		struct str before = str_trim(str_cut(part, 0, colon));
		if (colon < part.n) {
			if (has_value(before))
				continue;
			/* From here on until the next name. */
			ours = str_eq_nocase(before, product_token) ||
			    str_eq(before, STR("*"));
			part = str_from(part, colon + 1);
		}
		if (ours)
			flags |= flags_of(str_trim(part));
	}
	return flags;
}
