"""A front end and its back end's server, for scripts about signing in: launch
tickets, a page that opens the popup as the seed's front end does, pages of
others, and a daemon over TLS whose connectors want OAuth.
"""
import http.client

from external_door_peer import *
from external_providers import *

CRAWL, FRONT, MAIL = "crawl.example.org", "acme.example.org", \
    "mail.example.net"
PUBLIC = "https://" + CRAWL
TRUST = ssl.create_default_context(cafile=CERTIFICATE[0])


def oauth_url(connector, path="", public=PUBLIC):
    return f"{public}/external/{connector}/oauth{path}"


# ---- Launch tickets --------------------------------------------------------------

def text64(data):
    if not isinstance(data, bytes):
        data = json.dumps(data).encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def ticket_of(key, claims, head=None, digest=hashlib.sha256):
    head = text64({"alg": "HS256", "typ": "JWT"} if head is None else head)
    signed = head + "." + text64(claims)
    return signed + "." + text64(hmac.new(key, signed.encode(),
                                          digest).digest())


class Tenant:
    """A back end, as an entry of external.backends_file."""

    def __init__(self, name, back, subdomain, origin):
        self.name, self.back, self.subdomain = name, back, subdomain
        self.origin, self.key = origin, secrets.token_bytes(32)
        self.token = None

    def entry(self):
        return {"name": self.name, "token": self.name + "-be",
                "prefix": self.back.base + "/",
                "ticket_key": base64.b64encode(self.key).decode(),
                "origins": [self.origin], "subdomains": [self.subdomain],
                "silence_s": 60}

    def ticket(self, connector, uuid, act="login", head=None, key=None,
               **more):
        claims = {"iss": self.name, "aud": connector, "sub": uuid,
                  "subdomain": self.subdomain, "act": act,
                  "exp": int(time.time()) + 300,
                  "jti": secrets.token_hex(8), "name": "Ada Lovelace"}
        claims.update(more)
        return ticket_of(key or self.key, {k: v for k, v in claims.items()
                                           if v is not None}, head)


# ---- The front end's pages ---------------------------------------------------------

# The call of window.open() and the poll are the seed's, and so are their names.
APP = """<!doctype html><meta charset="utf-8"><title>Front end</title>
<h1>Front end</h1>
<button id="connect">Connect</button>
<button id="switch">Use another account</button>
<button id="clear">Disconnect</button>
<pre id="oauth"></pre>
<script>
const asked = new URLSearchParams(location.search);
const connector = asked.get("connector"), uuid = asked.get("uuid");
const oauth_end_point = asked.get("end");
const subdomain = asked.get("subdomain");
window.told = [];

async function ticket(act) {
	if (asked.get("compat"))
		return null;
	const answer = await fetch("/ticket?" + new URLSearchParams({ connector,
	    uuid, act }));
	return answer.text();
}

async function call(method, act) {
	const proof = await ticket(act);
	const answer = await fetch(`${oauth_end_point}/token?uuid=${uuid}` +
	    `&subdomain=${subdomain}`, { method, headers: proof ?
	    { Authorization: "Bearer " + proof } : {} });
	const text = await answer.text();
	return { status: answer.status, body: text ? JSON.parse(text) : null };
}

function tell(what) {
	window.told.push(what);
	document.getElementById("oauth").textContent = JSON.stringify(what);
}

async function thirdPartyToken() {
	const said = await call("GET", "token");
	if (said.status === 200)
		await fetch("/crawler?" + new URLSearchParams({ uuid,
		    connector }), { method: "POST",
		    body: JSON.stringify(said.body) });
	tell(said);
}

async function connect(reset) {
	const proof = await ticket("login");
	const more = proof ? `&ticket=${proof}` : "";
	var win = window.open( `${oauth_end_point}/login?uuid=${uuid}&subdomain=${subdomain}&reset=${reset}${more}`,
		'ConnectWithOAuth',
		'location=0,status=0,width=640,height=440' );
	window.popup = win;
	var testInterval = window.setInterval(function(){
		if( win && win.closed ) {
			thirdPartyToken();
			window.clearInterval(testInterval);
		} else {
			// something wrong within the oauth window
		}
	}, 500);
}

document.getElementById("connect").onclick = () => connect(0);
document.getElementById("switch").onclick = () => connect(1);
document.getElementById("clear").onclick = async () => tell(await call(
    "DELETE", "clear"));
</script>"""

HOLDERS = {"frame": "<iframe id=held width=640 height=440 src=\"{url}\">"
                    "</iframe>",
           "image": "<img id=held alt=\"\" src=\"{url}\">",
           "link": "<a id=held href=\"{url}\">Click here</a>"}


class Front(Site):
    """Pages of a tenant's front end, or of a stranger's site; what it was given
    for a crawler is in `crawlers`, by connector and uuid."""

    def __init__(self, name=None, tenant=None, secure=True):
        super().__init__(name, secure)
        self.tenant, self.crawlers = tenant, {}

    def answer(self, request):
        path, q = request.url.path.strip("/"), request.query
        if path == "app":
            request.say(200, APP)
        elif path == "ticket" and self.tenant:
            request.say(200, self.tenant.ticket(
                q["connector"], q["uuid"], q["act"]), "text/plain")
        elif path == "crawler" and request.command == "POST":
            self.crawlers[q["connector"], q["uuid"]] = json.loads(
                request.body)
            request.json(200, {})
        elif path in HOLDERS:
            request.say(200, "<!doctype html><title>Holder</title>" +
                        HOLDERS[path].format(url=html.escape(q["url"])))
        else:
            request.say(404 if path != "favicon.ico" else 204)


# ---- The daemon -------------------------------------------------------------------

class SigningDoor(External):
    """A daemon at PUBLIC, over TLS.  Browsers find `sites` by their names."""
    tls = CERTIFICATE

    def __init__(self, name, connectors, tenants, clients, sites, *settings,
                 **more):
        data = os.path.join(PLACE, name)
        for t in tenants:
            t.token = token(data, t.name + "-be")
        self.sites = sites
        files = [put(f"{name}-{end}.json", value) for end, value in (
            ("backends", [t.entry() for t in tenants]),
            ("clients", clients))]
        for f in files:
            os.chmod(f, 0o600)
        super().__init__(
            name, connectors, "http.tls_cert=" + CERTIFICATE[0],
            "http.tls_key=" + CERTIFICATE[1], "external.public_url=" + PUBLIC,
            "external.backends_file=" + files[0],
            "external.clients_file=" + files[1],
            "fetch.ca_file=" + CERTIFICATE[0],
            "fetch.allow_private=on", *settings, data=data, **more)
        self.token = tenants[0].token if tenants else None

    def connection(self):
        return http.client.HTTPSConnection("localhost", self.http_port,
                                           timeout=60, context=TRUST)

    def visitor(self):
        return Visitor(self.ports())

    def ports(self):
        """Those of the sites and of the door, by name."""
        return {CRAWL: self.http_port, **{s.name: s.port
                                          for s in self.sites}}

    def rules(self):
        """Chromium's names of them."""
        return "".join(f"MAP {name}:443 127.0.0.1:{port},"
                       for name, port in self.ports().items()) + \
            "EXCLUDE localhost,"

    def call(self, tenant, connector, uuid, act, method="GET", **more):
        """GET or DELETE /token, by a ticket in the head: (status, JSON)."""
        path = f"/external/{connector}/oauth/token?uuid={uuid}&subdomain=" + \
            more.pop("subdomain", tenant.subdomain)
        return self.ask(method, path, None, more.pop(
            "ticket", None) or tenant.ticket(connector, uuid, act), **more)

    def oauth(self, tenant, connector, uuid):
        return self.call(tenant, connector, uuid, "token")

    def clear(self, tenant, connector, uuid):
        return self.call(tenant, connector, uuid, "clear", "DELETE")


# ---- A browser without a window -----------------------------------------------------

class Visitor:
    """Follows redirects over TLS with cookies, as a browser navigates."""

    def __init__(self, ports):
        """`ports`: of the sites, by name."""
        self.ports, self.cookies, self.trail = ports, {}, []

    def ask(self, url, method="GET", form=None, referer=None, **fields):
        """(status, fields, text) of one request."""
        u = urllib.parse.urlsplit(url)
        c = http.client.HTTPSConnection(
            "localhost", u.port or self.ports[u.hostname], timeout=60,
            context=TRUST)
        fields = {"Host": u.netloc, "Sec-Fetch-Mode": "navigate",
                  "Sec-Fetch-Dest": "document", **{
                      k.replace("_", "-"): v for k, v in fields.items()}}
        if referer:
            fields["Referer"] = referer
        kept = self.cookies.setdefault(u.hostname, {})
        if kept:
            fields["Cookie"] = "; ".join(f"{k}={v}" for k, v in kept.items())
        body = None
        if form is not None:
            method, body = "POST", urllib.parse.urlencode(form)
            fields["Content-Type"] = FORM
        self.trail.append(url)
        try:
            c.request(method, u.path + ("?" + u.query if u.query else ""),
                      body, fields)
            answer = c.getresponse()
            text = answer.read().decode(errors="replace")
        finally:
            c.close()
        for cookie in answer.headers.get_all("Set-Cookie", []):
            name, _, value = cookie.split(";")[0].partition("=")
            ended = re.search(r"max-age=0\b", cookie, re.I)
            kept[name] = value
            if ended or not value:
                del kept[name]
        return answer.status, answer.headers, text

    def follow(self, url, **more):
        """Through redirects: (status, fields, text, the last URL)."""
        for _ in range(10):
            status, fields, text = self.ask(url, **more)
            if status not in (301, 302, 303, 307):
                return status, fields, text, url
            url = urllib.parse.urljoin(url, fields["Location"])
            more = {}
        raise OSError("too many redirects")

    def login_url(self, tenant, connector, uuid, reset=0, ticket=None,
                  **more):
        more = {"uuid": uuid, "subdomain": tenant.subdomain, "reset": reset,
                "ticket": ticket or tenant.ticket(connector, uuid), **more}
        return oauth_url(connector, "/login?") + urllib.parse.urlencode(
            {k: v for k, v in more.items() if v is not None})

    def begin(self, tenant, connector, uuid, **more):
        """To the provider's page."""
        return self.follow(self.login_url(tenant, connector, uuid, **more),
                           referer=tenant.origin + "/")

    def answer(self, page, user, answer="allow"):
        """The provider's form, through the redirect to the door: its URL."""
        status, fields, text, url = page
        found = re.search(r'name="request" value="([^"]*)"', text)
        assert found, (status, url, text[:300])
        status, fields, text = self.ask(
            urllib.parse.urljoin(url, "/authorize"), form={
                "request": html.unescape(found[1]), "user": user,
                "answer": answer})
        return fields["Location"]

    def sign_in(self, tenant, connector, uuid, user, **more):
        """All of it: (status, fields, text) of the last page."""
        return self.ask(self.answer(self.begin(tenant, connector, uuid,
                                               **more), user))
