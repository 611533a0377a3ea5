"""What scripts of OAuth share: a provider of OAuth 2.0 on loopback, an API that
takes its tokens, and grants in the store of a daemon.
"""
import secrets
import urllib.parse

from external_door_peer import *

GRANT = built("tests/peers/external_grant")
PARAMS = {"kind": "a"}
ALL = list(range(1, 46))
US = 1000000
NEVER = 253402214400 * US


class Provider:
    """Token and revocation endpoint, by RFC 6749 and 7009.  A refresh gives a
    new refresh token and ends the old one, and with `is_strict` the old access
    token at once."""

    def __init__(self, client=("door", "client-secret-canary")):
        self.client, self.life_s, self.is_strict = client, 3600, True
        # token: (end, family); token: (account, family)
        self.access, self.refresh = {}, {}
        self.asked, self.revoked = [], []        # forms
        self.given = []                          # every token, ever
        self.answers = []                        # (status, JSON), once each
        self.keeps_old = False                   # refresh tokens
        self.hook = None                         # before an answer to refresh
        self.lock = threading.Lock()
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                provider.answer(self)

            def log_message(self, *words):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 128

            def handle_error(self, *words):
                """Daemons that are killed are expected."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()

    def make(self, account, life_s=None, family=None):
        """(access token, refresh token)"""
        family = family or object()
        access, refresh = ("access-canary-" + secrets.token_hex(8),
                           "refresh-canary-" + secrets.token_hex(8))
        with self.lock:
            self.given += [access, refresh]
            self.access[access] = (time.time() + (life_s or self.life_s),
                                   family)
            self.refresh[refresh] = account, family
        return access, refresh

    def takes(self, access):
        with self.lock:
            return self.access.get(access, (0, 0))[0] > time.time()

    def of(self, kind):
        return [f for f in self.asked if f.get("grant_type") == kind]

    def answer(self, request):
        length = int(request.headers["Content-Length"] or 0)
        form = dict(urllib.parse.parse_qsl(request.rfile.read(
            length).decode()))
        self.asked.append(form)
        told = self.answers.pop(0) if self.answers else None
        status, value = told or self.judge(request.path, form)
        if self.hook and form.get("grant_type") == "refresh_token":
            self.hook()
        body = json.dumps(value).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def judge(self, path, form):
        if (form.get("client_id"), form.get("client_secret")) != self.client:
            return 401, {"error": "invalid_client"}
        if path == "/revoke":
            with self.lock:
                self.revoked.append(form["token"])
                self.refresh.pop(form["token"], None)
                self.access.pop(form["token"], None)
            return 200, {}
        if path != "/token" or form.get("grant_type") != "refresh_token":
            return 400, {"error": "unsupported_grant_type"}
        with self.lock:
            old = form.get("refresh_token")
            account, family = self.refresh.get(old, (None, None))
            if account is None:
                return 400, {"error": "invalid_grant"}
            if not self.keeps_old:
                del self.refresh[old]
            if self.is_strict:
                self.access = {t: x for t, x in self.access.items()
                               if x[1] is not family}
        access, refresh = self.make(account, family=family)
        return 200, {"access_token": access, "token_type": "Bearer",
                     "expires_in": self.life_s, "refresh_token": refresh}

    def granted(self, account="ada", left_s=None, **changes):
        """The text of a grant whose access token ends after `left_s`."""
        left_s = self.life_s if left_s is None else left_s
        access, refresh = self.make(account, left_s)
        now = int(time.time() * US)
        text = {"client_id": self.client[0], "client_secret": self.client[1],
                "access": access, "refresh": refresh,
                "access_ends": now + int(left_s * US), "refresh_ends": NEVER,
                "expiry": NEVER, "refresh_at": now + int(left_s * 0.9 * US),
                "account": account, "name": account.title(),
                "parameters": {}}
        text.update(changes)
        return {k: v for k, v in text.items() if v is not None}

    def declares(self, **changes):
        """The member `oauth` of a connector."""
        return {"kind": "oauth2", "authorize": self.base + "/authorize",
                "token": self.base + "/token",
                "revoke": self.base + "/revoke", "clientAuth": "post",
                **changes}


class Safe(Api):
    """Its items are for those who have a token of the provider."""

    def __init__(self, provider, host="api.test"):
        self.provider, self.tokens, self.refused = provider, [], 0
        super().__init__(host)

    def answer(self, request):
        token = (request.headers["Authorization"] or "").removeprefix(
            "Bearer ")
        self.tokens.append(token)
        if not self.provider.takes(token):
            self.refused += 1
            self.send(request, 401, {})
            return
        super().answer(request)


def store_of(s):
    """A daemon's key, and where its store is."""
    key, store = os.path.join(s.data, "secrets.key"), s.data
    for setting in s.settings:
        name, _, value = setting.partition("=")
        if name == "secrets.key_file":
            key = value
        if name == "store.url":
            store = value
    return key, store


def grant(s, verb, *words, backend="acme", connector="account",
          subdomain="eu", uuid="u1", text=None, key=None):
    """Exit code and output of external_grant on the daemon's store."""
    own_key, store = store_of(s)
    x = subprocess.run([GRANT, key or own_key, store, verb, backend,
                        connector, subdomain, uuid, *words],
                       input=text and json.dumps(text), capture_output=True,
                       text=True)
    return x.returncode, x.stdout or x.stderr


def sign_in(s, text, account="ada", **user):
    """(handle, when it was issued)"""
    code, said = grant(s, "put", account, text=text, **user)
    assert code == 0, said
    return said.split()


class Door(External):
    """A daemon with the back ends `acme` and `other`."""

    def __init__(self, name, place, api, back, *settings, tokens=None):
        """`tokens`: those of another daemon on the same store."""
        data = os.path.join(PLACE, name)
        self.tokens = tokens or {
            b: token(data, b, scope, *(x for x in settings
                                       if x.startswith("store.")))
            for b, scope in (("acme", "external:write"),
                             ("other", "external:write"),
                             ("watch", "console:read"))}
        backends = put(name + "-backends.json", [
            {"name": b, "token": b, "prefix": f"{back.base}/tasks/"}
            for b in ("acme", "other")])
        clients = put(name + "-clients.json", {
            c: {"client_id": api.provider.client[0],
                "client_secret": api.provider.client[1]}
            for c in ("account", "second")})
        for path in (backends, clients):
            os.chmod(path, 0o600)
        super().__init__(name, place, "external.backends_file=" + backends,
                         "external.clients_file=" + clients,
                         "external.call_ms=1s", *api.settings[1::2],
                         *settings)
        self.token = self.tokens["acme"]

    def post(self, fid, endpoint, credential, connector="account", **more):
        return self.ask("POST", f"/external/{connector}/task", {
            "fid": fid, "endpoint": endpoint, "params": PARAMS,
            "credential": credential}, **more)

    def http(self, path, method="GET", fields=None, body=None):
        return super().http(path, method, {
            "Authorization": "Bearer " + self.tokens["watch"],
            **(fields or {})}, body)

    def begins(self, fid, back, credential):
        code, said = self.post(fid, back.endpoint(fid), credential)
        assert code == 200, said

    def ends(self, fid, seconds=30, connector="account"):
        return super().ends(fid, seconds, connector=connector)

    def lines(self, fid):
        return "\n".join(x["text"] for x in self.ask(
            "GET", f"/external/account/task/{fid}/log")[1]["payload"][
                "lines"])


def by_handle(handle):
    return {"oauth": {"user": "u1", "token": handle}}


def detail(back, fid):
    return back.of(STATUSES, fid)[-1].status.get("detail") or ""
