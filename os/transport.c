#include "os/transport.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };

void
ip_to_text(const struct ip *ip, char out[static IP_TEXT_MAX])
{
	bool v4 = memcmp(ip->b, v4_mapped, sizeof(v4_mapped)) == 0;

	CHECK(inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? ip->b + 12 : ip->b, out,
	    IP_TEXT_MAX) != NULL);
}

bool
ip_from_text(struct str text, struct ip *out)
{
	char copy[IP_TEXT_MAX];

	if (text.n == 0 || text.n >= sizeof(copy) ||
	    memchr(text.p, '\0', text.n) != NULL)
		return false;
	memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	memcpy(out->b, v4_mapped, sizeof(v4_mapped));
	if (inet_pton(AF_INET, copy, out->b + sizeof(v4_mapped)) == 1)
		return true;
	return inet_pton(AF_INET6, copy, out->b) == 1;
}

bool
ip_from_socket(int family, const void *address, struct ip *ip)
{
	const char *from = address;

	memcpy(ip->b, v4_mapped, sizeof(v4_mapped));
	if (family == AF_INET)
		memcpy(ip->b + sizeof(v4_mapped),
		    from + offsetof(struct sockaddr_in, sin_addr), 4);
	else if (family == AF_INET6)
		memcpy(ip->b, from + offsetof(struct sockaddr_in6, sin6_addr),
		    sizeof(ip->b));
	return family == AF_INET || family == AF_INET6;
}

static const struct {
	const char *word, *text;
} ends[] = {
#define TRANSPORT_ROW(name, word, text) { word, text },
	TRANSPORT_ENDS(TRANSPORT_ROW)
#undef TRANSPORT_ROW
};

const char *
transport_end_word(enum transport_end end)
{
	CHECK(end < TRANSPORT_END_COUNT);
	return ends[end].word;
}

const char *
transport_end_text(enum transport_end end)
{
	CHECK(end < TRANSPORT_END_COUNT);
	return ends[end].text;
}

void
transport_free(struct transport **tp)
{
	if (*tp != NULL)
		(*tp)->table->free(tp);
}
