/* A proxy's answers, whole and byte by byte: the same end. */
#include "os/transport_tunnel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static enum transport_tunnel_state
run_tunnel(struct str all, const struct transport_proxy *p, size_t step,
    size_t *left)
{
	static const struct ip ip = { { [10] = 255, 255, 10, 1, 2, 3 } };
	struct transport_tunnel t;
	struct buf out = BUF_INIT;

	transport_tunnel_begin(&t, p, STR("far.test"), 80, &ip, &out);
	*left = all.n;
	for (size_t at = 0; at < all.n && t.state < TRANSPORT_TUNNEL_OPEN;
	    at += step) {
		struct str bytes = str_cut(all, at, at + step);
		size_t n = bytes.n;
		transport_tunnel_take(&t, &bytes, &out);
		*left -= n - bytes.n;
		CHECK(bytes.n == 0 || t.state >= TRANSPORT_TUNNEL_OPEN);
	}
	enum transport_tunnel_state state = t.state;
	CHECK((state == TRANSPORT_TUNNEL_REFUSED) == (t.detail[0] != '\0'));
	transport_tunnel_free(&t);
	buf_free(&out);
	return state;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct transport_proxy p = { .port = 1 };
	size_t left, left_by_byte;

	if (n == 0)
		return 0;
	p.kind = 1 + data[0] % 5;
	p.has_user = data[0] & 128;
	snprintf(p.user, sizeof(p.user), "u");
	snprintf(p.password, sizeof(p.password), "p");
	struct str all = { (const char *)data + 1, n - 1 };
	enum transport_tunnel_state state = run_tunnel(all, &p, n, &left);
	CHECK(state == run_tunnel(all, &p, 1, &left_by_byte));
	CHECK(state != TRANSPORT_TUNNEL_OPEN || left == left_by_byte);
	return 0;
}
