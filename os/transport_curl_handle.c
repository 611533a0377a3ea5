#include "base/hash.h"
#include "os/transport_curl_upgrade.h"

static void
set_up(struct transfer *tr)
{
	struct curl_transport *t = tr->t;
	CURL *e = tr->easy;

	curl_easy_setopt(e, CURLOPT_PRIVATE, tr);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, tr->error);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(e, CURLOPT_HTTP_TRANSFER_DECODING, 0L);
	curl_easy_setopt(e, CURLOPT_HTTP_CONTENT_DECODING, 0L);
	curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(e, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(e, CURLOPT_SHARE, t->share);
	/* Neither proxies nor exceptions from the environment. */
	curl_easy_setopt(e, CURLOPT_PROXY, "");
	curl_easy_setopt(e, CURLOPT_NOPROXY, "");
	curl_easy_setopt(e, CURLOPT_MAXAGE_CONN, (long)t->options.idle_s_max);
	if (t->options.tls_1_2)
		curl_easy_setopt(e, CURLOPT_SSLVERSION,
		    (long)CURL_SSLVERSION_TLSv1_2);
	if (t->ca_file != NULL) {
		curl_easy_setopt(e, CURLOPT_CAINFO, t->ca_file);
		curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
	}
	transport_answer_set_up(tr);
}

struct transfer *
transport_handle_new(struct curl_transport *t)
{
	struct transfer *tr = mem_new(sizeof(*tr));

	tr->t = t;
	list_init(&tr->node);
	tr->easy = curl_easy_init();
	CHECK(tr->easy != NULL);
	set_up(tr);
	return tr;
}

void
transport_handle_free(struct transfer **trp)
{
	struct transfer *tr = *trp;

	if (tr == NULL)
		return;
	curl_easy_cleanup(tr->easy);
	transport_upgrade_free(&tr->upgrade);
	buf_free(&tr->head);
	transport_request_free(&tr->request);
	mem_free(trp);
}

static void
set_method(struct transfer *tr)
{
	const struct exchange *x = tr->x;
	CURL *e = tr->easy;
	bool post = x->body.n > 0;
	bool head = !post && str_eq(x->method, STR("HEAD"));
	bool custom = post || !(head || str_eq(x->method, STR("GET")));

	if (tr->is_head && !head)
		curl_easy_setopt(e, CURLOPT_NOBODY, 0L);
	if (tr->is_post && !post)
		curl_easy_setopt(e, CURLOPT_HTTPGET, 1L);
	if (head && !tr->is_head)
		curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
	if (post) {
		curl_easy_setopt(e, CURLOPT_POST, 1L);
		curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE,
		    (curl_off_t)x->body.n);
	}
	if (custom || tr->is_custom)
		curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST,
		    custom ? tr->request.method : NULL);
	tr->is_head = head;
	tr->is_post = post;
	tr->is_custom = custom;
}

static void
set_tls(struct transfer *tr)
{
	const struct exchange *x = tr->x;
	CURL *e = tr->easy;

	if (tr->is_http2 != x->http2)
		curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)(x->http2 ?
		    CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
	tr->is_http2 = x->http2;
	if (!x->tls || tr->is_unverified == !x->verify)
		return;
	tr->is_unverified = !x->verify;
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, x->verify ? 1L : 0L);
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, x->verify ? 2L : 0L);
}

/* The key of this host's connections: see the head of transport_curl.c. */
static void
write_stand_in(struct transfer *tr)
{
	const struct exchange *x = tr->x;
	uint64_t h = hash_bytes(x->host, (uint64_t)x->port << 1 | x->tls);

	snprintf(tr->connect_to_text, sizeof(tr->connect_to_text),
	    "::%u.%u.%u.%u:", 240 + (unsigned)(h >> 24) % 15,
	    (unsigned)(h >> 16) & 255, (unsigned)(h >> 8) & 255,
	    (unsigned)h & 255);
}

/* The address for a SOCKS proxy that does not resolve names. */
static void
write_real_address(struct transfer *tr)
{
	char ip[IP_HOST_MAX];

	ip_to_host(&tr->x->addresses[tr->address_at], ip);
	snprintf(tr->connect_to_text, sizeof(tr->connect_to_text), "::%s:",
	    ip);
}

static void
set_connect_to(struct transfer *tr)
{
	bool local = tr->proxy.kind == TRANSPORT_PROXY_SOCKS4 ||
	    tr->proxy.kind == TRANSPORT_PROXY_SOCKS5;
	bool wanted = transfer_is_direct(tr) ||
	    (local && tr->x->addresses_n > 0);

	if (transfer_is_direct(tr))
		write_stand_in(tr);
	else if (wanted)
		write_real_address(tr);
	tr->connect_to = (struct curl_slist){ tr->connect_to_text, NULL };
	curl_easy_setopt(tr->easy, CURLOPT_CONNECT_TO,
	    wanted ? &tr->connect_to : NULL);
}

void
transport_handle_set_request(struct transfer *tr)
{
	CURL *e = tr->easy;

	curl_easy_setopt(e, CURLOPT_URL, tr->request.url);
	curl_easy_setopt(e, CURLOPT_REQUEST_TARGET, tr->request.target);
	curl_easy_setopt(e, CURLOPT_HTTPHEADER, tr->request.list);
	set_method(tr);
	set_tls(tr);
	set_connect_to(tr);
}

static long
curl_proxy_type(const struct transfer *tr)
{
	bool names = tr->x->addresses_n == 0;

	switch (tr->proxy.kind) {
	case TRANSPORT_PROXY_SOCKS4:
		return names ? CURLPROXY_SOCKS4A : CURLPROXY_SOCKS4;
	case TRANSPORT_PROXY_SOCKS4A:
		return CURLPROXY_SOCKS4A;
	case TRANSPORT_PROXY_SOCKS5:
		return names ? CURLPROXY_SOCKS5_HOSTNAME : CURLPROXY_SOCKS5;
	case TRANSPORT_PROXY_SOCKS5H:
		return CURLPROXY_SOCKS5_HOSTNAME;
	case TRANSPORT_PROXY_HTTP:
	case TRANSPORT_PROXY_NONE:
		break;
	}
	return CURLPROXY_HTTP;
}

void
transport_handle_set_proxy(struct transfer *tr, const struct ip *ip)
{
	const struct transport_proxy *p = &tr->proxy;
	CURL *e = tr->easy;
	char text[IP_HOST_MAX];

	if (transfer_is_direct(tr)) {
		if (tr->is_proxied) {
			curl_easy_setopt(e, CURLOPT_PROXY, "");
			curl_easy_setopt(e, CURLOPT_PROXYUSERNAME, NULL);
			curl_easy_setopt(e, CURLOPT_PROXYPASSWORD, NULL);
		}
		tr->is_proxied = false;
		return;
	}
	ip_to_host(ip, text);
	curl_easy_setopt(e, CURLOPT_PROXY, text);
	curl_easy_setopt(e, CURLOPT_PROXYPORT, (long)p->port);
	curl_easy_setopt(e, CURLOPT_PROXYTYPE, curl_proxy_type(tr));
	curl_easy_setopt(e, CURLOPT_PROXYUSERNAME,
	    p->has_user ? p->user : NULL);
	curl_easy_setopt(e, CURLOPT_PROXYPASSWORD,
	    p->has_user ? p->password : NULL);
	tr->is_proxied = true;
}
