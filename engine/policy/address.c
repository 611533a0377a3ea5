#include "engine/policy/address.h"

#include "base/ip.h"

struct block {
	uint8_t prefix[16];
	uint8_t bits;
	enum address_class class;
};

/* IPv4 blocks; what none of them contains is public. */
static const struct block v4_blocks[] = {
	{ { 0, 0, 0, 0 }, 8, ADDRESS_UNSPECIFIED },
	{ { 10, 0, 0, 0 }, 8, ADDRESS_PRIVATE },
	{ { 100, 64, 0, 0 }, 10, ADDRESS_CGNAT },
	{ { 127, 0, 0, 0 }, 8, ADDRESS_LOOPBACK },
	{ { 169, 254, 0, 0 }, 16, ADDRESS_LINK_LOCAL },
	{ { 172, 16, 0, 0 }, 12, ADDRESS_PRIVATE },
	{ { 192, 0, 0, 0 }, 24, ADDRESS_PROTOCOL },
	{ { 192, 0, 2, 0 }, 24, ADDRESS_DOCUMENTATION },
	{ { 192, 88, 99, 0 }, 24, ADDRESS_SIXTOFOUR },   /* the relays */
	{ { 192, 168, 0, 0 }, 16, ADDRESS_PRIVATE },
	{ { 198, 18, 0, 0 }, 15, ADDRESS_BENCHMARK },
	{ { 198, 51, 100, 0 }, 24, ADDRESS_DOCUMENTATION },
	{ { 203, 0, 113, 0 }, 24, ADDRESS_DOCUMENTATION },
	{ { 224, 0, 0, 0 }, 4, ADDRESS_MULTICAST },
	{ { 255, 255, 255, 255 }, 32, ADDRESS_BROADCAST },
	{ { 240, 0, 0, 0 }, 4, ADDRESS_RESERVED },
	{ { 0 }, 0, ADDRESS_PUBLIC },
};

/*
 * IPv6 blocks, the first that holds the address decides; what none holds is
 * public inside 2000::/3 and reserved outside.
 */
static const struct block v6_blocks[] = {
	{ { 0 }, 128, ADDRESS_UNSPECIFIED },
	{ { [15] = 1 }, 128, ADDRESS_LOOPBACK },
	{ { 0 }, 96, ADDRESS_COMPATIBLE },
	{ { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48, ADDRESS_PRIVATE },
	{ { 0x01, 0x00 }, 64, ADDRESS_DISCARD },
	{ { 0x20, 0x01, 0x00, 0x00 }, 32, ADDRESS_TEREDO },
	{ { 0x20, 0x01, 0x00, 0x02, 0x00, 0x00 }, 48, ADDRESS_BENCHMARK },
	{ { 0x20, 0x01, 0x00, 0x00 }, 23, ADDRESS_PROTOCOL },
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32, ADDRESS_DOCUMENTATION },
	{ { 0x20, 0x02 }, 16, ADDRESS_SIXTOFOUR },
	{ { 0x3f, 0xff }, 20, ADDRESS_DOCUMENTATION },
	{ { 0xfc, 0x00 }, 7, ADDRESS_PRIVATE },
	{ { 0xfe, 0x80 }, 10, ADDRESS_LINK_LOCAL },
	{ { 0xfe, 0xc0 }, 10, ADDRESS_PRIVATE },         /* site-local */
	{ { 0xff, 0x00 }, 8, ADDRESS_MULTICAST },
	{ { 0x20, 0x00 }, 3, ADDRESS_PUBLIC },
	{ { 0 }, 0, ADDRESS_RESERVED },
};

static const uint8_t mapped_prefix[12] = { [10] = 0xff, [11] = 0xff };
static const uint8_t nat64_prefix[12] = { 0x00, 0x64, 0xff, 0x9b };

static bool
prefix_holds(const uint8_t *prefix, unsigned bits, const uint8_t *ip)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(prefix, ip, whole) != 0)
		return false;
	return rest == 0 || ((prefix[whole] ^ ip[whole]) >> (8 - rest)) == 0;
}

enum address_class
address_classify(const uint8_t ip[16])
{
	bool v4 = memcmp(ip, mapped_prefix, 12) == 0 ||
	    memcmp(ip, nat64_prefix, 12) == 0;
	const struct block *b = v4 ? v4_blocks : v6_blocks;

	/* The last one contains all addresses. */
	while (!prefix_holds(b->prefix, b->bits, v4 ? ip + 12 : ip))
		b++;
	return b->class;
}

bool
address_is_public(const uint8_t ip[16])
{
	return address_classify(ip) == ADDRESS_PUBLIC;
}

const char *
address_class_text(enum address_class class)
{
	static const char *const texts[ADDRESS_CLASS_COUNT] = {
		ADDRESS_TABLE(TABLE_SECOND)
	};

	CHECK(class < ADDRESS_CLASS_COUNT);
	return texts[class];
}

bool
address_parse(struct str text, uint8_t ip[16])
{
	struct ip found;

	if (text.n >= 2 && text.p[0] == '[' && text.p[text.n - 1] == ']') {
		text = str_cut(text, 1, text.n - 1);
		/* Brackets are for IPv6 alone. */
		if (str_find_char(text, ':') == text.n)
			return false;
	}
	if (!ip_from_text(text, &found))
		return false;
	memcpy(ip, found.b, sizeof(found.b));
	return true;
}

bool
address_host_is_local(struct str host)
{
	uint8_t ip[16];

	if (host.n > 0 && host.p[host.n - 1] == '.')
		host.n--;
	if (host.n == 0)
		return true;
	char last = host.p[host.n - 1];
	/* After the URL parser only an IPv4 address ends in a number. */
	if (last == ']' || ascii_is_digit(last))
		return address_parse(host, ip) && !address_is_public(ip);
	if (ascii_lower(last) != 't')
		return false;
	struct str tail = str_from(host, host.n - MIN(host.n, 9));
	return str_eq_nocase(tail, STR("localhost")) &&
	    (host.n == 9 || host.p[host.n - 10] == '.');
}

bool
address_url_is_ambiguous(struct str raw)
{
	size_t i = str_find_char(raw, ':') + 1;

	while (i < raw.n && raw.p[i] == '/')
		i++;
	while (i < raw.n && !str_has_char(STR("/?#\\"), raw.p[i]))
		i++;
	return i < raw.n && raw.p[i] == '\\';
}

/* https://fetch.spec.whatwg.org/#port-blocking, in ascending order. */
static const uint16_t bad_ports[] = { 0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21,
	22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
	110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389,
	427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556,
	563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659,
	4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679,
	6697, 10080 };

bool
address_port_is_bad(uint16_t port)
{
	size_t from = 0, to = ARRAY_LEN(bad_ports);

	if (port == 80 || port == 443)
		return false;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (bad_ports[middle] < port)
			from = middle + 1;
		else
			to = middle;
	}
	return from < ARRAY_LEN(bad_ports) && bad_ports[from] == port;
}
