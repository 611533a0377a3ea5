#include "base/ip.h"

#include <arpa/inet.h>

static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };

bool
ip_is_v4(const struct ip *ip)
{
	return memcmp(ip->b, v4_mapped, sizeof(v4_mapped)) == 0;
}

void
ip_to_text(const struct ip *ip, char out[static IP_TEXT_MAX])
{
	if (ip_is_v4(ip)) {
		/* By hand: each record has one, and inet_ntop() prints it. */
		for (int i = 12; i < 16; i++) {
			out = ascii_put_decimal(out, ip->b[i]);
			*out++ = i < 15 ? '.' : '\0';
		}
		return;
	}
	CHECK(inet_ntop(AF_INET6, ip->b, out, IP_TEXT_MAX) != NULL);
}

void
ip_to_host(const struct ip *ip, char out[static IP_HOST_MAX])
{
	char text[IP_TEXT_MAX];

	ip_to_text(ip, text);
	snprintf(out, IP_HOST_MAX, ip_is_v4(ip) ? "%s" : "[%s]", text);
}

bool
ip_v4_from_text(struct str text, uint8_t out[static 4])
{
	size_t at = 0;

	for (unsigned i = 0; i < 4; i++) {
		unsigned n = 0;
		if (i > 0 && (at == text.n || text.p[at++] != '.'))
			return false;
		size_t start = at;
		for (; at < text.n && at - start < 3 &&
		    ascii_is_digit(text.p[at]); at++)
			n = n * 10 + (unsigned)(text.p[at] - '0');
		if (at == start || n > 255 ||
		    (at - start > 1 && text.p[start] == '0'))
			return false;
		out[i] = (uint8_t)n;
	}
	return at == text.n;
}

/* Hosts of links are asked for here, so that inet_pton() is left to IPv6. */
bool
ip_from_text(struct str text, struct ip *out)
{
	char copy[IP_TEXT_MAX];

	memcpy(out->b, v4_mapped, sizeof(v4_mapped));
	if (ip_v4_from_text(text, out->b + sizeof(v4_mapped)))
		return true;
	if (text.n >= sizeof(copy) || str_find_char(text, ':') == text.n ||
	    str_find_char(text, '\0') < text.n)
		return false;
	memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	return inet_pton(AF_INET6, copy, out->b) == 1;
}

bool
ip_from_socket(const void *address, struct ip *ip, uint16_t *port)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	in_port_t in_order;

	memcpy(&v4, address, sizeof(v4));
	if (v4.sin_family == AF_INET) {
		memcpy(ip->b, v4_mapped, sizeof(v4_mapped));
		memcpy(ip->b + sizeof(v4_mapped), &v4.sin_addr, 4);
		in_order = v4.sin_port;
	} else if (v4.sin_family == AF_INET6) {
		memcpy(&v6, address, sizeof(v6));
		memcpy(ip->b, &v6.sin6_addr, sizeof(ip->b));
		in_order = v6.sin6_port;
	} else {
		return false;
	}
	if (port != NULL)
		*port = ntohs(in_order);
	return true;
}

unsigned
ip_to_socket(const struct ip *ip, uint16_t port, void *address)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
	    .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
	    .sin6_port = htons(port) };

	memcpy(&v4.sin_addr, ip->b + sizeof(v4_mapped), 4);
	memcpy(&v6.sin6_addr, ip->b, sizeof(ip->b));
	if (ip_is_v4(ip))
		memcpy(address, &v4, sizeof(v4));
	else
		memcpy(address, &v6, sizeof(v6));
	return ip_is_v4(ip) ? sizeof(v4) : sizeof(v6);
}
