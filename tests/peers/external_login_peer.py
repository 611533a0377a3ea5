"""What scripts about signing in share: providers of OAuth 2.0 and 1.0a, launch
tickets, a browser that keeps cookies and follows nothing by itself, and a daemon
with two back ends whose front ends it may be.
"""
import base64
import hashlib
import hmac
import html.parser
import http.client
import http.server
import json
import re
import secrets
import ssl
import threading
import time
import urllib.parse

from external_door_peer import *
from external_peer import Api, put

KEYS = {"acme": secrets.token_bytes(32), "beta": secrets.token_bytes(40)}
ORIGIN = "https://acme.example.org"


def quote(text):
    return urllib.parse.quote(text, safe="~")


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


# ---- Tickets ---------------------------------------------------------------------

def ticket(key, header={"alg": "HS256", "typ": "JWT"}, mac=None, **claims):
    """A JWT; `claims` whose value is None are left out."""
    claims = {k: v for k, v in claims.items() if v is not None}
    text = ".".join(b64url(json.dumps(x).encode()) for x in (header, claims))
    if mac is None:
        mac = hmac.new(key, text.encode(), hashlib.sha256).digest()
    return text + "." + b64url(mac)


# ---- Providers -------------------------------------------------------------------

class Provider:
    """A server whose pages are methods `get_NAME` and `post_NAME`, which return
    (status, fields, body).  `calls`: (method, path, query, fields)."""

    def __init__(self):
        self.calls, self.lock = [], threading.Lock()
        self.reply = None            # NAME -> an answer instead of its own
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                provider.answer(self, "get")

            def do_POST(self):
                provider.answer(self, "post")

            def log_message(self, *words):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 512

            def handle_error(self, request, address):
                """Clients that go away are expected."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()

    def answer(self, request, method):
        length = int(request.headers["Content-Length"] or 0)
        body = request.rfile.read(length).decode()
        url = urllib.parse.urlsplit(request.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        form = dict(urllib.parse.parse_qsl(body))
        name = url.path.strip("/")
        with self.lock:
            self.calls.append((name, query, form, dict(request.headers)))
        status, fields, text = (self.reply and self.reply(name)) or \
            getattr(self, f"{method}_{name}")(query, form, request)
        if isinstance(text, dict):
            text = json.dumps(text)
            fields = {"Content-Type": "application/json", **fields}
        request.send_response(status)
        for one in fields.items():
            request.send_header(*one)
        request.send_header("Content-Length", str(len(text.encode())))
        request.end_headers()
        request.wfile.write(text.encode())

    def of(self, name):
        with self.lock:
            return [c for c in self.calls if c[0] == name]


def account_of(request):
    """The account that the browser is signed in to at the provider."""
    found = re.search(r"account=([^;]+)", request.headers["Cookie"] or "")
    return found[1] if found else "nobody"


class Provider2(Provider):
    """OAuth 2.0 with PKCE, exact redirect_uri, codes that are good once, `iss`,
    refresh tokens, revocation."""
    client = ("client-2", "hush-client-secret-2")

    def __init__(self, redirects):
        super().__init__()
        self.redirects = redirects   # those that are registered
        self.codes, self.tokens, self.revoked = {}, {}, []
        self.lifetime_s, self.refreshes = 3600, True
        self.issuer = self.base

    def get_authorize(self, query, form, request):
        if query.get("client_id") != self.client[0] or \
                query.get("redirect_uri") not in self.redirects():
            return 400, {}, "unknown client or redirect_uri"
        assert query["response_type"] == "code"
        code = "code-" + secrets.token_hex(16)
        with self.lock:
            self.codes[code] = (query["redirect_uri"],
                                query["code_challenge"], account_of(request))
        assert query["code_challenge_method"] == "S256"
        back = {"code": code, "state": query["state"], "iss": self.issuer}
        return 302, {"Location": query["redirect_uri"] + "?" +
                     urllib.parse.urlencode(back)}, ""

    def post_token(self, query, form, request):
        expected = "Basic " + base64.b64encode(":".join(
            map(quote, self.client)).encode()).decode()
        if request.headers["Authorization"] != expected:
            return 401, {}, {"error": "invalid_client"}
        with self.lock:
            kept = self.codes.pop(form.get("code"), None)
        verifier = form.get("code_verifier", "").encode()
        if kept is None or kept[0] != form.get("redirect_uri") or \
                kept[1] != b64url(hashlib.sha256(verifier).digest()):
            return 400, {}, {"error": "invalid_grant"}
        access = "hush-access-" + secrets.token_hex(16)
        with self.lock:
            self.tokens[access] = kept[2]
        told = {"access_token": access, "token_type": "Bearer",
                "expires_in": self.lifetime_s}
        if self.refreshes:
            told["refresh_token"] = "hush-refresh-" + access
        return 200, {}, told

    def get_me(self, query, form, request):
        token = (request.headers["Authorization"] or "").partition(" ")[2]
        with self.lock:
            account = self.tokens.get(token)
        if account is None:
            return 401, {}, {"error": "invalid_token"}
        return 200, {}, {"id": account, "name": "N. " + account,
                         "email": account + "@example.org"}

    def post_revoke(self, query, form, request):
        with self.lock:
            self.revoked.append(form["token"])
        return 200, {}, ""

    def declared(self, **more):
        return {"kind": "oauth2", "authorize": self.base + "/authorize",
                "token": self.base + "/token",
                "revoke": self.base + "/revoke", "scopes": ["read"],
                "clientAuth": "basic", "issuer": self.base,
                "selectAccount": "prompt=select_account",
                "profile": {"url": self.base + "/me", "account": "/id",
                            "name": "/name", "email": "/email"}, **more}


class Provider1(Provider):
    """OAuth 1.0a by HMAC-SHA1."""
    client = ("client-1", "hush-client-secret-1")

    def __init__(self):
        super().__init__()
        self.requests, self.access = {}, {}

    def signed(self, request, secret):
        """The oauth_ fields when the signature is right, else None."""
        fields = {k: urllib.parse.unquote(v) for k, v in re.findall(
            r'(\w+)="([^"]*)"', request.headers["Authorization"] or "")}
        given = fields.pop("oauth_signature", "")
        url = urllib.parse.urlsplit(request.path)
        fields.pop("realm", None)
        pairs = sorted((quote(k), quote(v)) for k, v in
                       list(fields.items()) +
                       urllib.parse.parse_qsl(url.query))
        text = "&".join(map(quote, (
            request.command, self.base + url.path,
            "&".join(f"{k}={v}" for k, v in pairs))))
        key = "&".join(map(quote, (self.client[1], secret)))
        mac = base64.b64encode(hmac.new(key.encode(), text.encode(),
                                        hashlib.sha1).digest()).decode()
        return fields if mac == given else None

    def post_request(self, query, form, request):
        fields = self.signed(request, "")
        if fields is None:
            return 401, {}, "oauth_problem=signature_invalid"
        token, secret = "rt-" + secrets.token_hex(16), secrets.token_hex(16)
        with self.lock:
            self.requests[token] = [fields["oauth_callback"], secret, None,
                                    None]
        return 200, {}, urllib.parse.urlencode({
            "oauth_token": token, "oauth_token_secret": secret,
            "oauth_callback_confirmed": "true"})

    def get_authorize(self, query, form, request):
        with self.lock:
            kept = self.requests.get(query.get("oauth_token"))
        if kept is None:
            return 400, {}, "unknown request token"
        kept[2], kept[3] = secrets.token_hex(8), account_of(request)
        return 302, {"Location": kept[0] + "?" + urllib.parse.urlencode({
            "oauth_token": query["oauth_token"],
            "oauth_verifier": kept[2]})}, ""

    def post_token(self, query, form, request):
        found = re.search(r'oauth_token="([^"]*)"',
                          request.headers["Authorization"] or "")
        with self.lock:
            kept = self.requests.get(found and urllib.parse.unquote(found[1]))
        fields = kept and self.signed(request, kept[1])
        if not fields or fields["oauth_verifier"] != kept[2]:
            return 401, {}, "oauth_problem=token_rejected"
        with self.lock:
            del self.requests[fields["oauth_token"]]
        token = "hush-access1-" + secrets.token_hex(8)
        return 200, {}, urllib.parse.urlencode({
            "oauth_token": token, "oauth_token_secret": "hush-" + token,
            "user_id": kept[3], "screen_name": "N. " + kept[3]})

    def declared(self):
        return {"kind": "oauth1", "authorize": self.base + "/authorize",
                "token": self.base + "/token",
                "request": self.base + "/request",
                "profile": {"account": "/user_id", "name": "/screen_name"}}


class Granted(Api):
    """An API over TLS for those who have a token of the provider."""

    def __init__(self, provider, host="things.example.org"):
        self.provider, self.tokens = provider, []
        super().__init__(host)

    def answer(self, request):
        token_ = (request.headers["Authorization"] or "").partition(" ")[2]
        self.tokens.append(token_)
        if token_ not in self.provider.tokens:
            self.send(request, 401, {})
            return
        super().answer(request)


# ---- A browser -------------------------------------------------------------------

class Page(html.parser.HTMLParser):
    """The fields of a page's form, its buttons, and its text."""

    def __init__(self, text):
        super().__init__()
        self.fields, self.buttons, self.words = [], 0, []
        self.feed(text)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.buttons += tag == "button"
        if tag == "input":
            self.fields.append((attributes["name"], attributes["value"]))

    def handle_data(self, data):
        self.words.append(data)


class Answer:
    def __init__(self, url, answer):
        self.url, self.status = url, answer.status
        self.fields = answer.headers
        self.cookies = answer.headers.get_all("Set-Cookie") or []
        self.location = answer.headers["Location"]
        self.text = answer.read().decode()

    @property
    def json(self):
        return json.loads(self.text)

    @property
    def page(self):
        return Page(self.text)

    @property
    def closes(self):
        return "<script>window.close()</script>" in self.text


class Browser:
    """Cookies by host, as browsers keep them: ports share them."""

    def __init__(self, account=None, context=None):
        self.jar, self.context = {}, context
        self.fields = {}
        if account:
            self.jar["127.0.0.1", "account"] = account

    def get(self, url, method="GET", **fields):
        parts = urllib.parse.urlsplit(url)
        cookies = "; ".join(f"{name}={value}" for (host, name), value in
                            self.jar.items() if host == parts.hostname)
        fields = {k.replace("_", "-"): v for k, v in
                  {**self.fields, **fields}.items() if v is not None}
        if cookies:
            fields["Cookie"] = cookies
        kind = http.client.HTTPSConnection if parts.scheme == "https" else \
            http.client.HTTPConnection
        more = {"context": self.context} if parts.scheme == "https" else {}
        c = kind(parts.netloc, timeout=60, **more)
        try:
            c.request(method, parts.path + (parts.query and
                                            "?" + parts.query), None, fields)
            answer = Answer(url, c.getresponse())
        finally:
            c.close()
        for one in answer.cookies:
            self.keep(parts.hostname, one)
        return answer

    def keep(self, host, cookie):
        pair, *attributes = cookie.split(";")
        name, _, value = pair.partition("=")
        if any(a.strip().lower() == "max-age=0" for a in attributes):
            self.jar.pop((host, name), None)
        else:
            self.jar[host, name] = value


# ---- A daemon, and its front ends ----------------------------------------------------

class Signing(External):
    """`context`: of a port with TLS."""
    context = watch = None

    def http(self, path, method="GET", fields=None, body=None):
        fields = {"Authorization": "Bearer " + self.watch} if self.watch \
            else fields
        return super().http(path, method, fields, body)

    @property
    def base(self):
        scheme = "https" if self.tls else "http"
        return f"{scheme}://127.0.0.1:{self.http_port}"


class Front:
    """A front end of a back end: it makes tickets and calls."""

    def __init__(self, server, backend="acme", subdomain=None, origin=ORIGIN):
        self.server, self.backend = server, backend
        self.subdomain, self.origin = subdomain or backend, origin

    def claims(self, act, uuid, connector="social", **claims):
        return {"iss": self.backend, "aud": connector, "sub": uuid,
                "subdomain": self.subdomain, "act": act,
                "exp": int(time.time()) + 300, "jti": secrets.token_hex(8),
                **claims}

    def ticket(self, act, uuid, connector="social", **claims):
        return ticket(KEYS[self.backend], **self.claims(act, uuid, connector,
                                                        **claims))

    def url(self, call, uuid, connector="social", path=None, **query):
        path = path or f"/external/{connector}/oauth/{call}"
        query = {"uuid": uuid, "subdomain": self.subdomain, **query}
        return self.server.base + path + "?" + urllib.parse.urlencode(
            {k: v for k, v in query.items() if v is not None})

    def open(self, browser, uuid, connector="social", ticket=True, path=None,
             referer=True, method="GET", fields={}, **query):
        """GET /login from a page of the front end."""
        if ticket is True:
            ticket = self.ticket("login", uuid, connector)
        return browser.get(
            self.url("login", uuid, connector, path, ticket=ticket, **query),
            method, Referer=self.origin + "/app" if referer is True else
            referer, **fields)

    def sign_in(self, browser, uuid, connector="social", **query):
        """From the front end to the answer of /callback."""
        begun = self.open(browser, uuid, connector, **query)
        assert begun.status == 302, (begun.status, begun.text)
        back = browser.get(begun.location)
        assert back.status == 302, (back.status, back.text)
        return browser.get(back.location)

    def token(self, uuid, connector="social", method="GET", ticket=True,
              browser=None, path=None, **fields):
        act = "clear" if method == "DELETE" else "token"
        if ticket is True:
            fields["Authorization"] = "Bearer " + self.ticket(act, uuid,
                                                              connector)
        return (browser or Browser(context=self.server.context)).get(
            self.url("token", uuid, connector, path,
                     ticket=ticket if isinstance(ticket, str) else None),
            method, **fields)


def back_ends(port=1):
    return [{"name": name, "token": name,
             "prefix": f"http://127.0.0.1:{port}/{name}/",
             "ticket_key": base64.b64encode(KEYS[name]).decode(),
             "origins": [f"https://{name}.example.org"],
             "subdomains": [name, name + "-2"]} for name in KEYS] + [
        {"name": "keyless", "token": "keyless", "subdomains": ["keyless"],
         "prefix": f"http://127.0.0.1:{port}/keyless/"}]


def private(name, value):
    path = put(name, value)
    os.chmod(path, 0o600)
    return path


def declare(api, name, oauth, kind="bearer"):
    declared = {"url": "https://api.example.org/{kind}", "label": "things",
                "items": "/items", "id": "/id", "auth": {"kind": kind}}
    return api.connector(name, title=name.title() + " <&>", oauth=oauth,
                         credential="oauth", api=declared)


def daemon(name, place, *settings, make=Signing, port=1):
    """`port`: that of the back ends."""
    data = os.path.join(PLACE, name)
    tokens = {b["name"]: token(data, b["name"]) for b in back_ends()}
    s = make(name, place, "external.backends_file=" + private(
        name + "-backends.json", back_ends(port)), "external.clients_file=" +
        private(name + "-clients.json", {
            c: dict(zip(("client_id", "client_secret"), p.client))
            for c, p in (("social", Provider2), ("open", Provider2),
                         ("old", Provider1), ("away1", Provider1),
                         ("away2", Provider2), ("whole", Provider2))}), "log.level=debug", *settings)
    s.tokens, s.token = tokens, tokens["acme"]
    s.watch = token(data, "watch", "console:read")
    return s


def is_page(answer, status, *words):
    """A page for people, with the fields that every one of them has."""
    policy = answer.fields["Content-Security-Policy"] or ""
    return answer.status == status and \
        answer.fields["Content-Type"] == "text/html; charset=utf-8" and \
        answer.fields["Cache-Control"] == "no-store" and \
        answer.fields["Referrer-Policy"] == "no-referrer" and \
        answer.fields["Cross-Origin-Opener-Policy"] == "unsafe-none" and \
        answer.fields["X-Frame-Options"] == "DENY" and \
        "frame-ancestors 'none'" in policy and "unsafe" not in policy and \
        all(w in answer.page.text for w in words)


def refused(name, answer, status, *words):
    """A refusal in words, which does not close the popup and leads nowhere."""
    return check(f"{status}: {name}", is_page(answer, status, *words) and
                 not answer.closes and "<script" not in answer.text and
                 answer.location is None, (answer.status, answer.text))


def denied(name, answer, status, *words):
    """A refusal in the envelope."""
    try:
        said = answer.json
    except ValueError:
        said = {}
    return check(f"{status}: {name}", answer.status == status and
                 said.get("success") is False and all(
                     w in said["messages"][0] for w in words),
                 (answer.status, answer.text))
