"""Providers that users sign in at, over TLS at localhost: OAuth 2.0 whose access
tokens are short-lived and whose refresh tokens rotate, OAuth 1.0a (RFC 5849) that
verifies each signature, and oidc-provider of npm.  Each has an API with documents
of the user whose token is presented.
"""
import base64
import hashlib
import hmac
import html
import http.server
import json
import os
import secrets
import ssl
import subprocess
import threading
import time
import urllib.parse

from peer import HERE, PLACE, children, free_port, node_with, wait_until, \
    listens

PAGE, ITEMS = 10, 25
OIDC_PROVIDER = "oidc-provider@8.8.1"    # the newest that Node.js 18 runs
FORM = "application/x-www-form-urlencoded"


def certificate_for(*names):
    """(certificate, key) of these names, which nobody signed."""
    crt, key = (os.path.join(PLACE, "sites" + end) for end in (".crt", ".key"))
    if not os.path.exists(crt):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", crt,
             "-days", "2", "-subj", "/CN=sites", "-addext",
             "subjectAltName=" + ",".join("DNS:" + n for n in names)],
            check=True, capture_output=True)
    return crt, key


CERTIFICATE = certificate_for("localhost", "*.example.org", "*.example.net")


def documents(user, query, items=ITEMS):
    """A page of the API: PAGE of a user's items, after `since` and `after`."""
    first = max(int(query.get("since", 0)), int(query.get("after", 0)))
    last = min(first + PAGE, items)
    found = {"items": [{"id": i, "name": f"{user} {i}"}
                       for i in range(first + 1, last + 1)]}
    if last < items:
        found["next"] = str(last)
    return found


def declaration(name, base, oauth, auth="bearer", credential="oauth"):
    """A connector of a provider's API."""
    return {
        "name": name, "version": 1, "title": f"Items of {name}",
        "description": "Items of the account that signed in",
        "parameters": {"type": "object", "properties": {}},
        "credential": credential, "oauth": oauth,
        "schema": {"type": "object", "required": ["id", "name"],
                   "properties": {"id": {"type": "integer"},
                                  "name": {"type": "string"}}},
        "docIdField": "id",
        "api": {"url": base + "/items", "label": "items", "items": "/items",
                "id": "/id", "auth": {"kind": auth},
                "next": {"cursor": "/next", "parameter": "after"},
                "since": {"parameter": "since", "from": "id"}}}


class Site:
    """A test server.  `secure` with `name`: TLS at a host name that the browser
    maps to its port; `secure` alone: https://localhost:PORT; else
    http://127.0.0.1:PORT.  Each request is appended to `requests` and passed to
    answer(request)."""

    def __init__(self, name=None, secure=True):
        self.name = name
        self.requests, self.lock = [], threading.RLock()
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60

            def serve(self):
                self.url = urllib.parse.urlsplit(self.path)
                self.query = dict(urllib.parse.parse_qsl(
                    self.url.query, keep_blank_values=True))
                n = int(self.headers["Content-Length"] or 0)
                self.body = self.rfile.read(n).decode()
                self.form = dict(urllib.parse.parse_qsl(
                    self.body, keep_blank_values=True)) if FORM in (
                        self.headers["Content-Type"] or "") else {}
                with site.lock:
                    site.requests.append((self.command, self.path,
                                          dict(self.headers)))
                site.answer(self)

            do_GET = do_POST = do_HEAD = do_OPTIONS = serve

            def say(self, status, text="", kind="text/html; charset=utf-8",
                    **fields):
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                for name, value in fields.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def json(self, status, value):
                self.say(status, json.dumps(value), "application/json",
                         Cache_Control="no-store")

            def redirect(self, url, **fields):
                self.say(302, Location=url, **fields)

            def cookie(self, name):
                for pair in (self.headers["Cookie"] or "").split("; "):
                    if pair.startswith(name + "="):
                        return urllib.parse.unquote(pair[len(name) + 1:])
                return None

            def log_message(self, *words):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 256

            def handle_error(self, *words):
                """Clients that are stopped are expected."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.base = f"https://{name}" if name else \
            f"https://localhost:{self.port}" if secure else \
            f"http://127.0.0.1:{self.port}"
        if secure:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*CERTIFICATE)
            # The handshake belongs to the thread that serves the connection.
            self.server.socket = context.wrap_socket(
                self.server.socket, server_side=True,
                do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()

    def asked(self, path):
        """How often."""
        with self.lock:
            return sum(p.split("?")[0] == path for _, p, _ in self.requests)


# ---- Pages that a user sees ------------------------------------------------------

SIGN_IN = """<!doctype html><meta charset="utf-8"><title>{name}</title>
<h1>{name}</h1>
<form method="post" action="/authorize">
<input type="hidden" name="request" value="{request}">
<label>Account <input name="user" value="{user}"{fixed}></label>
<button id="allow" name="answer" value="allow">Allow</button>
<button id="deny" name="answer" value="deny">Deny</button>
</form>"""


class Accounts(Site):
    """What providers share: a user who is signed in stays so, by a cookie, and
    is asked for an account only when the request wants that."""

    def __init__(self, label):
        super().__init__()
        self.label = label

    def sign_in(self, request, chosen, select):
        user = None if select else request.cookie(f"account{self.port}")
        request.say(200, SIGN_IN.format(
            name=self.label, request=html.escape(chosen),
            user=html.escape(user or ""), fixed=" readonly" if user else ""))

    def account_cookie(self, user):
        # Cookies of all ports are one to browsers.
        return f"account{self.port}={urllib.parse.quote(user)}; Path=/; Secure; HttpOnly"


# ---- OAuth 2.0 -----------------------------------------------------------------

class Rotating(Accounts):
    """RFC 6749 with PKCE; access tokens end after `access_s`.  A refresh token
    is good once: if it comes again, all tokens of its grant end (RFC 9700
    §4.14.2)."""

    def __init__(self, label, client, redirect_uri, access_s=3600,
                 refresh_s=None):
        super().__init__(label)
        self.client, self.redirect_uri = client, redirect_uri
        self.access_s, self.refresh_s = access_s, refresh_s
        self.codes, self.access, self.refresh = {}, {}, {}
        self.refreshes = self.repeated = 0
        self.revoked, self.faults = [], []
        # Answers of /token and /me, when they are set.
        self.token_status = self.token_redirect = self.token_text = None
        self.profile_status = None
        self.items, self.delay_s = ITEMS, 0
        self.issuer = self.base

    def oauth(self, **more):
        return {"kind": "oauth2", "authorize": self.base + "/authorize",
                "token": self.base + "/token", "revoke": self.base + "/revoke",
                "scopes": ["read"], "profile": {
                    "url": self.base + "/me", "account": "/id",
                    "name": "/name", "email": "/email"}, **more}

    def answer(self, request):
        getattr(self, "answer_" + request.url.path.strip("/"),
                lambda r: r.say(404, "there is no such page"))(request)

    def fault(self, text):
        with self.lock:
            self.faults.append(text)

    def answer_authorize(self, request):
        if request.command == "POST":
            self.decide(request)
            return
        q = request.query
        for name, want in (("response_type", "code"),
                           ("client_id", self.client[0]),
                           ("redirect_uri", self.redirect_uri),
                           ("code_challenge_method", "S256")):
            if q.get(name) != want:
                self.fault(f"authorize: {name}={q.get(name)}")
                request.say(400, f"{name} is wrong")
                return
        self.sign_in(request, request.url.query,
                     q.get("prompt") == "select_account")

    def decide(self, request):
        q = dict(urllib.parse.parse_qsl(request.form["request"]))
        user = request.form["user"]
        answer = {"state": q["state"], "iss": self.issuer}
        if request.form.get("answer") == "deny":
            answer["error"] = "access_denied"
        else:
            answer["code"] = secrets.token_urlsafe(24)
            with self.lock:
                self.codes[answer["code"]] = {
                    "user": user, "challenge": q["code_challenge"],
                    "used": False, "grant": None}
        request.redirect(q["redirect_uri"] + "?" +
                         urllib.parse.urlencode(answer),
                         Set_Cookie=self.account_cookie(user))

    def is_client(self, request):
        kind, _, pair = (request.headers["Authorization"] or "").partition(
            " ")
        given = base64.b64decode(pair).decode().split(":")
        return kind == "Basic" and tuple(map(urllib.parse.unquote_plus,
                                             given)) == self.client

    def answer_token(self, request):
        f = request.form
        if self.token_status:
            request.json(self.token_status, {"error": "server_error"})
        elif self.token_redirect:
            request.say(307, Location=self.token_redirect)
        elif self.token_text:
            request.say(200, self.token_text, "application/json")
        elif not self.is_client(request):
            self.fault("token: the client is wrong")
            request.json(401, {"error": "invalid_client"})
        elif f.get("grant_type") == "authorization_code":
            self.exchange(request, f)
        elif f.get("grant_type") == "refresh_token":
            self.rotate(request, f)
        else:
            request.json(400, {"error": "unsupported_grant_type"})

    def exchange(self, request, f):
        with self.lock:
            code = self.codes.get(f.get("code"))
            challenge = base64.urlsafe_b64encode(hashlib.sha256(
                f.get("code_verifier", "").encode()).digest()).decode() \
                .rstrip("=")
            if code is None or code["used"] or \
                    f.get("redirect_uri") != self.redirect_uri or \
                    challenge != code["challenge"]:
                self.fault("token: a code, redirect_uri or verifier is wrong")
                if code:             # RFC 6749 §4.1.2
                    self.end(code["grant"])
                request.json(400, {"error": "invalid_grant"})
                return
            code["used"], code["grant"] = True, object()
            self.give(request, code["user"], code["grant"])

    def rotate(self, request, f):
        with self.lock:
            known = self.refresh.get(f.get("refresh_token"))
            if known is None or known["used"]:
                if known:
                    self.repeated += 1
                    self.end(known["grant"])
                request.json(400, {"error": "invalid_grant"})
                return
            known["used"] = True
            self.refreshes += 1
            self.give(request, known["user"], known["grant"])

    def give(self, request, user, grant):
        access, refresh = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self.access[access] = {"user": user, "grant": grant,
                               "ends": time.monotonic() + self.access_s}
        self.refresh[refresh] = {"user": user, "grant": grant, "used": False}
        said = {"access_token": access, "token_type": "Bearer",
                "expires_in": self.access_s, "refresh_token": refresh,
                "scope": "read"}
        if self.refresh_s:
            said["refresh_token_expires_in"] = self.refresh_s
        request.json(200, said)

    def end(self, grant):
        """All tokens of it."""
        with self.lock:
            for kind in (self.access, self.refresh):
                for token in [t for t, v in kind.items()
                              if v["grant"] is grant]:
                    del kind[token]

    def end_user(self, user):
        """The user withdraws consent at the provider."""
        with self.lock:
            for grant in {id(v["grant"]): v["grant"] for v in
                          self.refresh.values() if v["user"] == user}.values():
                self.end(grant)

    def tokens(self):
        """All that were ever given."""
        with self.lock:
            return list(self.access) + list(self.refresh)

    def answer_revoke(self, request):
        token = request.form.get("token")
        with self.lock:
            self.revoked.append(token)
            known = self.refresh.get(token) or self.access.get(token)
            if known and self.is_client(request):
                self.end(known["grant"])
        request.json(200, {})

    def user_of(self, request):
        kind, _, token = (request.headers["Authorization"] or "").partition(
            " ")
        with self.lock:
            known = self.access.get(token) if kind == "Bearer" else None
        if known is None or known["ends"] < time.monotonic():
            request.json(401, {"error": "invalid_token"})
            return None
        return known["user"]

    def answer_me(self, request):
        user = self.user_of(request)
        if self.profile_status:
            request.json(self.profile_status, {})
        elif user:
            request.json(200, {"id": "id-" + user, "name": user.title(),
                               "email": user + "@example.org"})

    def answer_items(self, request):
        time.sleep(self.delay_s)
        user = self.user_of(request)
        if user:
            request.json(200, documents(user, request.query, self.items))


# ---- OAuth 1.0a ------------------------------------------------------------------

def quoted(text):
    """RFC 5849 §3.6."""
    return urllib.parse.quote(text, safe="-._~")


class Signed(Accounts):
    """RFC 5849 with HMAC-SHA1: each signature is verified, and each nonce is
    good once."""

    def __init__(self, label, client, redirect_uri):
        super().__init__(label)
        self.client, self.redirect_uri = client, redirect_uri
        self.pending, self.access = {}, {}
        self.nonces, self.faults = set(), []

    def oauth(self):
        return {"kind": "oauth1", "request": self.base + "/request_token",
                "authorize": self.base + "/authorize",
                "token": self.base + "/access_token",
                "selectAccount": "force_login=true", "profile": {
                    "url": self.base + "/me", "account": "/id",
                    "name": "/name"}}

    def verified(self, request, secret):
        """The parameters of a request that is signed as §3.4 says, or None
        after an answer; `secret(token)` is the token's."""
        head = request.headers["Authorization"] or ""
        given = {}
        if head.startswith("OAuth "):
            for pair in head[6:].split(","):
                name, _, value = pair.strip().partition("=")
                given[urllib.parse.unquote(name)] = urllib.parse.unquote(
                    value.strip('"'))
        signature = given.pop("oauth_signature", "")
        given.pop("realm", None)
        token_secret = secret(given.get("oauth_token"))
        pairs = list(given.items()) + urllib.parse.parse_qsl(
            request.url.query, keep_blank_values=True) + list(
                request.form.items())
        text = "&".join(f"{k}={v}" for k, v in sorted(
            (quoted(k), quoted(v)) for k, v in pairs))
        base = "&".join(map(quoted, (request.command, self.base +
                                     request.url.path, text)))
        key = quoted(self.client[1]) + "&" + quoted(token_secret or "")
        want = base64.b64encode(hmac.new(key.encode(), base.encode(),
                                         hashlib.sha1).digest()).decode()
        nonce = given.get("oauth_nonce"), given.get("oauth_timestamp")
        wrong = None
        if given.get("oauth_consumer_key") != self.client[0]:
            wrong = "consumer key"
        elif given.get("oauth_signature_method") != "HMAC-SHA1" or \
                given.get("oauth_version", "1.0") != "1.0":
            wrong = "method or version"
        elif token_secret is None or not hmac.compare_digest(signature, want):
            wrong = "token or signature"
        elif not nonce[0] or nonce in self.nonces or \
                abs(time.time() - int(nonce[1] or 0)) > 300:
            wrong = "nonce or timestamp"
        if wrong:
            with self.lock:
                self.faults.append(f"{request.url.path}: {wrong}")
            request.json(401, {"error": wrong})
            return None
        self.nonces.add(nonce)
        return given

    def answer(self, request):
        getattr(self, "answer_" + request.url.path.strip("/"),
                lambda r: r.say(404, "there is no such page"))(request)

    def answer_request_token(self, request):
        given = self.verified(request, lambda token: None if token else "")
        if given is None:
            return
        if given.get("oauth_callback") != self.redirect_uri:
            self.faults.append("oauth_callback is wrong")
            request.json(401, {"error": "callback"})
            return
        token = secrets.token_urlsafe(16)
        self.pending[token] = {"secret": secrets.token_urlsafe(16),
                               "verifier": None, "user": None}
        request.say(200, urllib.parse.urlencode({
            "oauth_token": token, "oauth_callback_confirmed": "true",
            "oauth_token_secret": self.pending[token]["secret"]}), FORM)

    def answer_authorize(self, request):
        if request.command == "GET":
            token = request.query.get("oauth_token")
            if token not in self.pending:
                request.say(400, "there is no such request token")
                return
            self.sign_in(request, token, request.query.get(
                "force_login") == "true")
            return
        token = request.form["request"]
        if request.form.get("answer") == "deny":
            del self.pending[token]
            request.redirect(self.redirect_uri + "?" + urllib.parse.urlencode(
                {"denied": token}))
            return
        user = request.form["user"]
        self.pending[token].update(user=user,
                                   verifier=secrets.token_urlsafe(16))
        request.redirect(self.redirect_uri + "?" + urllib.parse.urlencode(
            {"oauth_token": token,
             "oauth_verifier": self.pending[token]["verifier"]}),
            Set_Cookie=self.account_cookie(user))

    def answer_access_token(self, request):
        given = self.verified(request, lambda token: self.pending.get(
            token, {}).get("secret"))
        if given is None:
            return
        known = self.pending.pop(given["oauth_token"])
        if known["verifier"] is None or \
                given.get("oauth_verifier") != known["verifier"]:
            self.faults.append("oauth_verifier is wrong")
            request.json(401, {"error": "verifier"})
            return
        token = secrets.token_urlsafe(16)
        self.access[token] = {"secret": secrets.token_urlsafe(16),
                              "user": known["user"]}
        request.say(200, urllib.parse.urlencode({
            "oauth_token": token,
            "oauth_token_secret": self.access[token]["secret"]}), FORM)

    def user_of(self, request):
        given = self.verified(request, lambda token: self.access.get(
            token, {}).get("secret"))
        return given and self.access[given["oauth_token"]]["user"]

    def answer_me(self, request):
        user = self.user_of(request)
        if user:
            request.json(200, {"id": "id-" + user, "name": user.title()})

    def answer_items(self, request):
        user = self.user_of(request)
        if user:
            request.json(200, documents(user, request.query))

    def tokens(self):
        return [x for t, v in self.access.items() for x in (t, v["secret"])]


# ---- oidc-provider ---------------------------------------------------------------

class OidcProvider:
    """oidc-provider of npm, which is not ours; None of `tools`: it cannot be
    had."""

    name, label = None, "oidc"

    def __init__(self, clients, access_s=3600):
        self.port = free_port()
        self.base = f"https://localhost:{self.port}"
        self.tools = node_with("oidc-provider", OIDC_PROVIDER)
        if self.tools is None:
            return
        self.said = os.path.join(PLACE, "oidc.log")
        with open(self.said, "w") as log:
            self.child = subprocess.Popen(
                ["node", HERE + "/external_oidc.mjs", self.tools,
                 json.dumps({"issuer": self.base, "port": self.port,
                             "certificate": CERTIFICATE, "clients": clients,
                             "access_s": access_s, "page": PAGE,
                             "items": ITEMS})],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        children.append(self.child)
        wait_until(lambda: listens(self.port) or
                   self.child.poll() is not None, 30)

    def oauth(self, **more):
        return {"kind": "oauth2", "authorize": self.base + "/auth",
                "token": self.base + "/token",
                "revoke": self.base + "/token/revocation",
                "scopes": ["openid", "profile", "email"],
                "profile": self.base + "/me",
                "selectAccount": "prompt=login", **more}

    def events(self):
        """[{"event": name, ...}] of its log."""
        with open(self.said, errors="replace") as f:
            return [json.loads(line) for line in f if line.startswith("{")]

    def count(self, name):
        return sum(e["event"] == name for e in self.events())
