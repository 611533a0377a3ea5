"""An external crawler and a back end that follow contracts/external.md, and break one point of it when they are told to.

usage: external_conformance_peers.py crawler|backend PORT [--break GROUP/CHECK]

A break has the name of the check that must fail.  Standard library only.
"""
import base64
import gzip
import hashlib
import hmac
import http.client
import http.server
import json
import re
import secrets
import sys
import threading
import time
import urllib.parse
import zlib

TOKEN = "conformance-token"
TICKET_KEY = b"0123456789abcdef0123456789abcdef"
MOUNT = "/external/demo"
CLOSING = "<script>window.close()</script>"
COUNT, BATCH = 12, 4             # documents of a task, and of an upload
PAUSE_S = 0.1                    # before the first retry
LETTERS = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
SCHEMA = {"type": "object", "required": ["id", "text"], "properties": {
    "id": {"type": "integer"}, "text": {"type": "string"}}}
FORM = [{"name": "count", "display_name": "Count", "description": "",
         "req": False, "type": "integer", "min": 1, "max": 1000},
        {"name": "mode", "display_name": "Mode", "description": "",
         "req": False, "type": "list", "options": ["all", "new"]},
        {"name": "live", "display_name": "Live", "description": "",
         "req": False, "type": "bool"}]
OBJECT = {"meta": {"name": "Demo", "version": 3}, "schema": SCHEMA,
          "docIdField": "id", "parameters": FORM}


class Server(http.server.ThreadingHTTPServer):
    """`broken` is the name of a check, or None."""
    request_queue_size = 128
    daemon_threads = True

    def __init__(self, handler, broken, port=0):
        super().__init__(("127.0.0.1", port), handler)
        self.broken = broken
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.lock = threading.RLock()

    def start(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def stop(self):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, address):
        pass                     # The other side may leave at any time.


class Handler(http.server.BaseHTTPRequestHandler):
    def handle_any(self):
        url = urllib.parse.urlsplit(self.path)
        self.query = dict(urllib.parse.parse_qsl(url.query))
        self.segments = url.path.strip("/").split("/")
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.serve()

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_any

    def breaks(self, name):
        return self.server.broken == name

    def send(self, code, body=b"", content_type="application/json", **fields):
        self.send_response(code)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def success(self, payload, code=200):
        self.send(code, json.dumps({"success": True, "payload": payload,
                                    "version": 0}).encode())

    def failure(self, code, message, payload=None):
        answer = {"success": False, "messages": [message]}
        if payload is not None:
            answer["payload"] = payload
        self.send(code, json.dumps(answer).encode())

    def page(self, code, text, **fields):
        self.send(code, text.encode(), "text/html; charset=utf-8", **fields)

    def object(self):
        """The body as a JSON object, or None."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return None
        return value if isinstance(value, dict) else None

    def log_message(self, *args):
        pass


# ---- The crawler: a task ------------------------------------------------------

class Gone(Exception):
    """The back end does not know the task any more."""


class Stopped(Exception):
    pass


class Task:
    def __init__(self, server, order):
        self.server, self.order = server, order
        self.fid = order["fid"]
        self.endpoint = order["endpoint"]
        self.code, self.uploaded = 0, 0
        self.stop = threading.Event()
        self.seq = self.statuses = 0
        self.batch, self.gzip, self.refusals = BATCH, True, 0
        self.sent = time.monotonic()
        self.turn = threading.RLock()

    def breaks(self, name):
        return self.server.broken == name

    def documents(self):
        count = self.order.get("params", {}).get("count", COUNT)
        if type(count) is not int:
            count = COUNT            # A break lets any value pass.
        if self.breaks("upload/batch-size"):
            count = self.batch = 501
        documents = [{"id": i + 1, "text": f"Document {i + 1}"}
                     for i in range(count)]
        for d in documents:
            if self.breaks("upload/schema"):
                d["text"] = 7
            if self.breaks("upload/id-field"):
                del d["id"]
        return documents

    def run(self):
        try:
            self.code = 102
            self.report(102, "running")
            self.deliver(self.documents())
            self.report(200, f"{self.uploaded} documents")
            self.code = 200
            if self.breaks("status/closing-once"):
                self.report(200, "again")
            if self.breaks("status/closing-last"):
                self.report(102, "still running")
        except (Gone, Stopped):
            pass

    def deliver(self, todo):
        if self.breaks("upload/order"):
            threading.Thread(target=self.settle_twin, args=(todo[:BATCH],),
                             daemon=True).start()
            todo = todo[BATCH:]
        while todo:
            part, todo = todo[:self.batch], todo[self.batch:]
            self.seq += 1
            self.settle(part, f"{self.fid}:{self.seq}")

    def settle_twin(self, part):
        try:
            self.settle(part, f"{self.fid}:twin")
        except (Gone, Stopped):
            pass

    def bisect(self, part, key):
        """A refused upload as two, or as nothing."""
        half = (len(part) + 1) // 2
        if len(part) > 1:
            self.settle(part[:half], key + ".0")
            self.settle(part[half:], key + ".1")

    def settle(self, part, key):
        tries = 0
        while True:
            code, answer, fields = self.upload(part, key)
            tries += 1
            if code in (404, 410) and not self.breaks("faults/task-gone"):
                raise Gone
            if code == 406:
                self.refused(part, key, answer)
                return
            if code == 413:
                if self.breaks("faults/too-large"):
                    key += "x"
                    continue
                self.batch = max(1, len(part) // 2)
                self.bisect(part, key)
                return
            if code == 400 or code == 404:
                self.bisect(part, key)
                return
            if code == 415:
                self.gzip = self.breaks("faults/gzip-refused")
                continue
            if isinstance(code, int) and 200 <= code < 300:
                if self.breaks("faults/text-answer") and answer is None:
                    continue
                self.uploaded += len(part)
                return
            if code == 500 and tries == 2 and \
                    self.breaks("faults/server-errors"):
                return
            if code == 500 and tries == 3 and len(part) > 1:
                self.batch = max(1, len(part) // 2)
                self.bisect(part, key)
                return
            if code == "cut" and self.breaks("faults/cut-answer") or \
                    code == "lost" and (self.breaks("faults/lost-reply") or
                                        self.breaks("extensions/keys")):
                key += "x"
            pause = PAUSE_S * 2 ** min(tries, 8)
            if "Retry-After" in fields and \
                    not self.breaks("faults/too-many-requests"):
                pause = float(fields["Retry-After"])
            self.pause(pause)

    def refused(self, part, key, answer):
        errors = ((answer or {}).get("payload") or {}).get("errors")
        if errors is None:
            if not self.breaks("faults/refused-whole"):
                self.bisect(part, key)
        elif self.breaks("faults/refused-lines"):
            lines = {e["line"] for e in errors}
            self.settle([d for i, d in enumerate(part, 1) if i not in lines],
                        key + "x")
        self.uploaded += len(part) - len(errors or part)

    def pause(self, seconds):
        """Wait; a third of the back end's silence has a heartbeat."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.stop.wait(min(0.05, max(0, until - time.monotonic()))):
                raise Stopped
            if time.monotonic() - self.sent >= self.server.silence_s / 3 - 0.2 \
                    and not self.breaks("status/heartbeat"):
                self.report(102, "waits for the back end")

    def upload(self, part, key):
        text = "\n".join(map(json.dumps, part))
        if self.breaks("upload/line-form"):
            text += "\n"
        kind = "application/json" if self.breaks("upload/media-type") else \
            "application/x-ndjson; charset=utf-8"
        fields = {"Content-Type": kind, "Idempotency-Key": key}
        body = text.encode()
        if self.gzip:
            fields["Content-Encoding"] = "gzip"
            body = gzip.compress(body)
        if self.breaks("upload/gzip"):
            fields["Content-Encoding"] = "deflate"
            body = zlib.compress(text.encode())
        if self.stop.is_set():
            raise Stopped
        return self.post("/upload", body, fields)

    def report(self, code, message):
        self.statuses += 1
        body = json.dumps({"code": code, "detail": None, "message":
                           7 if self.breaks("status/form") else message})
        fields = {"Content-Type": "application/json",
                  "Idempotency-Key": f"{self.fid}:s{self.statuses}"}
        for i in range(8):
            answer, _, _ = self.post("/status", body.encode(), fields)
            if answer in (404, 410):
                raise Gone
            if not (answer in ("cut", "lost", 429) or
                    isinstance(answer, int) and answer >= 500) or \
                    self.breaks("faults/status-refused"):
                return
            if self.stop.wait(PAUSE_S * 2 ** i):
                raise Stopped

    def post(self, path, body, fields):
        """(status, "cut" or "lost"; JSON or None; fields)"""
        url = urllib.parse.urlsplit(self.endpoint)
        target = url.path + path + ("?" + url.query if url.query else "")
        self.sent = time.monotonic()
        try:
            c = http.client.HTTPConnection(url.hostname, url.port, timeout=20)
            c.request("POST", target, body, fields)
            answer = c.getresponse()
            text = answer.read()
        except http.client.IncompleteRead:
            return "cut", None, {}
        except (http.client.HTTPException, OSError):
            return "lost", None, {}
        finally:
            c.close()
        self.sent = time.monotonic()
        if answer.status == 307 and self.breaks("security/redirect"):
            self.endpoint = answer.headers["Location"]
            return self.post("", body, fields)
        try:
            return answer.status, json.loads(text), answer.headers
        except ValueError:
            return answer.status, None, answer.headers


# ---- The crawler: its requests ------------------------------------------------

class Crawler(Server):
    def __init__(self, broken=None, port=0, silence_s=3):
        super().__init__(CrawlerHandler, broken, port)
        self.silence_s, self.task_class = silence_s, Task
        self.tasks, self.logins, self.tickets = {}, {}, set()
        self.codes, self.tokens, self.cleared = set(), {}, set()
        self.url += MOUNT

    def stop(self):
        for task in self.tasks.values():
            task.stop.set()
        super().stop()


def is_ours(endpoint):
    url = urllib.parse.urlsplit(endpoint)
    return url.scheme == "http" and url.hostname == "127.0.0.1" and \
        url.path.startswith("/actions/tasks/")


def wrong_params(params):
    """A message for each wrong parameter."""
    messages = []
    for row in FORM:
        value = params.get(row["name"])
        if value is None:
            continue
        fine = {"integer": lambda v: type(v) is int and 1 <= v <= 1000,
                "list": lambda v: v in row.get("options", []),
                "bool": lambda v: type(v) is bool}[row["type"]](value)
        if not fine:
            messages.append(f"params.{row['name']}: is wrong")
    return messages


class CrawlerHandler(Handler):
    def serve(self):
        if self.segments == ["provider"]:
            return self.provide()
        if "/".join(self.segments[:2]) != MOUNT.strip("/"):
            return self.failure(404, "there is no such crawler")
        path = self.segments[2:]
        if path[:1] == ["oauth"]:
            return self.serve_oauth(path[1:])
        if self.headers.get("Authorization") != "Bearer " + TOKEN and \
                not self.breaks("security/no-token"):
            return self.failure(401, "the token is missing or wrong")
        if self.command == "POST" and path == ["task"]:
            return self.post_task()
        if self.command == "PATCH" and path[:1] == ["task"]:
            return self.patch_task(path[1], path[2:] == ["status"])
        if self.command == "GET":
            return self.view(path)
        return self.failure(404, "there is no such request")

    # -- Start --

    def post_task(self):
        order = self.object()
        if order is None:
            if self.breaks("start/not-json"):
                return self.started("none")
            return self.failure(400, "the body is no JSON")
        fid, endpoint = order.get("fid"), order.get("endpoint")
        if not isinstance(fid, str) or not LETTERS.fullmatch(fid):
            if self.breaks("start/missing-fid"):
                return self.started("none")
            return self.failure(400, "fid: is missing or wrong")
        if not isinstance(endpoint, str):
            if self.breaks("start/missing-endpoint"):
                return self.started(fid)
            return self.failure(400, "endpoint: is missing")
        return self.check_endpoint(order)

    def check_endpoint(self, order):
        endpoint = order["endpoint"]
        url = urllib.parse.urlsplit(endpoint)
        if (url.username or url.fragment) and \
                not self.breaks("security/userinfo-endpoint"):
            return self.failure(400, "endpoint: has a user or a fragment")
        if not is_ours(endpoint):
            name = "foreign" if "invalid" in endpoint else "private"
            if self.breaks(f"security/{name}-endpoint"):
                return self.started(order["fid"])
            return self.failure(403, "endpoint: is not of this back end")
        return self.check_order(order)

    def check_order(self, order):
        fid, known = order["fid"], self.server.tasks.get(order["fid"])
        if known is not None:
            if order["endpoint"] != known.order["endpoint"] and \
                    not self.breaks("extensions/conflicting-fid"):
                return self.failure(409, "fid: is that of another task")
            return self.started(
                "other" if self.breaks("extensions/repeated-fid") else fid)
        messages = wrong_params(order.get("params", {}))
        if messages and not self.breaks("start/bad-params"):
            return self.failure(400, "; ".join(messages))
        oauth = order.get("credential", {}).get("oauth")
        if oauth is not None and "token" not in oauth:
            code = 500 if self.breaks("start/oauth-without-token") else 400
            return self.failure(code, "credential: there is no such token")
        task = self.server.tasks[fid] = self.server.task_class(
            self.server, order)
        threading.Thread(target=task.run, daemon=True).start()
        return self.started(fid)

    def started(self, fid):
        payload = {"callback": "http://192.0.2.1/t" if self.breaks(
            "start/callback") else f"/task/{fid}",
            "status": {"code": "New" if self.breaks("start/status") else 0,
                       "message": "New"}}
        if self.breaks("start/envelope"):
            return self.send(200, json.dumps(payload).encode())
        return self.success(payload)

    # -- Stop and views --

    def patch_task(self, fid, at_status):
        change, task = self.object() or {}, self.server.tasks.get(fid)
        code = change.get("code")
        if type(code) is not int or not 0 <= code <= 999:
            if self.breaks("stop/malformed"):
                return self.success({"status": {}})
            return self.failure(400, "code: is no whole number")
        if task is None:
            if self.breaks("stop/unknown-task"):
                return self.success({"status": change})
            return self.failure(404, "there is no such task")
        if task.stop.is_set() and self.breaks("stop/repeated"):
            return self.failure(404, "there is no such task")
        word = {408: "timeout", 200: "done"}.get(code)
        place = "status" if at_status else "callback"
        if code >= 200 and not self.breaks(f"stop/{word}-at-{place}"):
            task.code = code
            task.stop.set()
        return self.success({"status": change})

    def view(self, path):
        task = self.server.tasks.get(path[1]) if len(path) > 1 else None
        if path == ["object"]:
            headers = {"Authorization": "Bearer " + TOKEN}
            return self.success({**OBJECT, "endpoint": self.server.url,
                                 "headers": headers if self.breaks(
                                     "extensions/object-view") else {}})
        if path == ["form"]:
            return self.success([] if self.breaks("extensions/form-view") else
                                {"type": "object", "properties": {}})
        if task is None:
            return self.failure(404, "there is no such task")
        if path[2:] == ["log"] and not self.breaks("extensions/task-log"):
            return self.success([])
        if path[2:] == []:
            shown = {"status": {"code": task.code, "message": ""},
                     "uploaded": task.uploaded}
            if self.breaks("extensions/task-view"):
                del shown["uploaded"]
            return self.success(shown)
        return self.failure(404, "there is no such request")

    # -- OAuth --

    def serve_oauth(self, path):
        if path == ["callback"]:
            return self.come_back()
        if not {"uuid", "subdomain"} <= set(self.query):
            if self.breaks("oauth/missing-uuid"):
                return self.failure(404, "there is no token")
            return self.failure(400, "uuid and subdomain are required")
        act = "login" if path == ["login"] else \
            "clear" if self.command == "DELETE" else "token"
        if not self.has_ticket(act):
            return self.failure(403, "ticket: is missing or wrong")
        if path == ["login"]:
            return self.login()
        if self.command == "DELETE":
            return self.clear()
        return self.token()

    def token(self):
        token = self.server.tokens.get(self.query["uuid"])
        if token is not None:
            return self.send(200, json.dumps(token).encode())
        if self.breaks("oauth/no-token") and \
                self.query["uuid"] not in self.server.cleared:
            return self.send(200, b"{}")
        return self.failure(404, "there is no token")

    def has_ticket(self, act):
        if self.breaks("extensions/ticket-abuse"):
            return True
        parts = self.query.get("ticket", "").split(".")
        if len(parts) != 3:
            return False
        mac = hmac.new(TICKET_KEY, ".".join(parts[:2]).encode(),
                       hashlib.sha256).digest()
        if base64.urlsafe_b64encode(mac).rstrip(b"=").decode() != parts[2]:
            return False
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "==="))
        wanted = {"iss": "conformance", "aud": "demo", "act": act,
                  "sub": self.query["uuid"],
                  "subdomain": self.query["subdomain"]}
        if any(claims.get(k) != v for k, v in wanted.items()) or \
                not time.time() < claims["exp"] <= time.time() + 600:
            return False
        with self.server.lock:
            used = act == "login" and claims["jti"] in self.server.tickets
            self.server.tickets.add(claims["jti"])
        return not used

    def login(self):
        uuid = self.query["uuid"]
        if uuid in self.server.tokens and self.query.get("reset") != "1":
            return self.page(200, CLOSING)
        if not self.breaks("oauth/reset"):
            self.server.tokens.pop(uuid, None)
        state = "short" if self.breaks("oauth/state") else \
            secrets.token_urlsafe(32)
        cookie = secrets.token_urlsafe(16)
        self.server.logins[state] = cookie, uuid
        query = {"response_type": "code", "client_id": "demo", "state": state,
                 "redirect_uri": self.server.url + "/oauth/callback"}
        if self.breaks("oauth/redirect-uri"):
            query["redirect_uri"] = "https://attacker.example/"
        if self.breaks("oauth/foreign-redirect-uri"):
            query["redirect_uri"] = self.query.get("redirect_uri",
                                                   query["redirect_uri"])
        if not self.breaks("oauth/pkce"):
            query |= {"code_challenge_method": "S256",
                      "code_challenge": secrets.token_urlsafe(32)}
        if self.breaks("oauth/login-redirect"):
            return self.page(200, "Sign in")
        return self.page(302, "", Set_Cookie=f"login={cookie}; HttpOnly",
                         Location=self.server.url.replace(MOUNT, "/provider?")
                         + urllib.parse.urlencode(query))

    def provide(self):
        """The provider, which asks nobody."""
        code = secrets.token_urlsafe(16)
        self.server.codes.add(code)
        return self.page(302, "", Location=self.query["redirect_uri"] + "?" +
                         urllib.parse.urlencode({
                             "code": code, "state": self.query["state"]}))

    def come_back(self):
        state, code = self.query.get("state"), self.query.get("code")
        cookie, uuid = self.server.logins.get(state, (None, None))
        if cookie is None:
            if self.breaks("oauth/unknown-state") and len(set(state)) == 1:
                return self.page(200, CLOSING)
            return self.page(400, "This login is not known.")
        if f"login={cookie}" not in self.headers.get("Cookie", "") and \
                not self.breaks("oauth/foreign-browser"):
            return self.page(400, "This login began in another browser.")
        if not self.breaks("oauth/replayed-state"):
            del self.server.logins[state]
        if "error" in self.query:
            return self.page(400, "The login was aborted.")
        if code not in self.server.codes:
            return self.page(502, "The provider refuses the code.")
        if not self.breaks("oauth/replayed-code"):
            self.server.codes.remove(code)
        self.server.tokens[uuid] = {
            "user": uuid, "token": secrets.token_urlsafe(16),
            "issued": "2026-11-20T07:00:00Z",
            "expiry": "2036-12-20T07:00:00Z"}
        if self.breaks("oauth/token-fields"):
            del self.server.tokens[uuid]["expiry"]
        return self.page(200, "Signed in" if self.breaks("oauth/closing-page")
                         else CLOSING)

    def clear(self):
        uuid = self.query["uuid"]
        with self.server.lock:
            again = uuid in self.server.cleared
            self.server.cleared.add(uuid)
            self.server.tokens.pop(uuid, None)
        if self.breaks("oauth/clear") or \
                (again and self.breaks("oauth/clear-twice")):
            return self.failure(404, "there is no token")
        return self.success({})


# ---- The back end -------------------------------------------------------------

def merge(old, new):
    """RFC 7396."""
    if not isinstance(new, dict):
        return new
    merged = dict(old) if isinstance(old, dict) else {}
    for key, value in new.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


class Backend(Server):
    def __init__(self, broken=None, port=0, silence_s=3):
        super().__init__(BackendHandler, broken, port)
        self.silence_s = silence_s
        self.externals, self.crawlers, self.tasks = {}, {}, {}
        self.fids = 0

    def fid(self, letter):
        with self.lock:
            self.fids += 1
            return f"{letter}-{self.fids}"


class BackendTask:
    def __init__(self, server, crawler, params, fid):
        self.server, self.crawler, self.params = server, crawler, params
        self.fid = fid
        self.code, self.callback = 0, None
        self.keys, self.documents, self.timer = {}, [], None
        self.hear()

    def hear(self):
        """Restart the timer."""
        if self.timer:
            self.timer.cancel()
        if self.code < 200:
            self.timer = threading.Timer(self.server.silence_s, self.time_out)
            self.timer.daemon = True
            self.timer.start()

    def time_out(self):
        self.code = 408
        if self.server.broken != "stop/silence":
            self.notify(408)

    def close(self, code):
        self.code = code
        self.hear()

    def notify(self, code):
        self.call("PATCH", self.callback, {"code": code, "message": "",
                                           "detail": None}, "stop/headers")

    def call(self, method, path, body, headers_break):
        """JSON of the answer."""
        external = self.server.externals[self.crawler["external"]]
        url = urllib.parse.urlsplit(external["endpoint"])
        headers = {} if self.server.broken == headers_break else \
            dict(external["headers"])
        version = 0 if self.server.broken == "start/version" else \
            external["meta"]["version"]
        c = http.client.HTTPConnection(url.hostname, url.port, timeout=20)
        try:
            c.request(method, f"{url.path}{path}?version={version}",
                      json.dumps(body),
                      headers | {"Content-Type": "application/json"})
            return json.loads(c.getresponse().read())
        except (http.client.HTTPException, OSError):
            return {}
        finally:
            c.close()

    def start(self):
        broken = self.server.broken
        self.code = 0
        self.hear()
        params = {} if broken == "start/call" else self.params
        endpoint = "tasks" if broken == "start/endpoint" else \
            f"{self.server.url}/actions/tasks/{self.fid}"
        answer = self.call("POST", "/task", {
            "fid": self.fid, "params": params, "endpoint": endpoint},
            "start/headers")
        self.callback = answer.get("payload", {}).get("callback", "")

    def shown(self):
        return {"meta": {"fid": self.fid}, "status": {"code": self.code}}


class BackendHandler(Handler):
    def serve(self):
        path, s = self.segments, self.server
        if path[0] == "externals":
            return self.serve_external(path[1:])
        if path[:2] == ["actions", "externals"] and path[3:] == ["crawler"]:
            return self.post_crawler(path[2])
        if path[:2] == ["actions", "crawlers"] and path[3:4] == ["task"]:
            return self.post_task(path[2], path[4:])
        if path[0] == "output" and path[1] in s.tasks:
            documents = s.tasks[path[1]].documents
            return self.send(200, "\n".join(map(json.dumps, documents))
                             .encode(), "application/x-ndjson")
        if path[:2] == ["actions", "tasks"] and len(path) > 2:
            return self.serve_task(path[2], path[3:])
        return self.failure(404, "there is no such request")

    def serve_external(self, path):
        externals, body = self.server.externals, self.object()
        if self.command == "POST" and not path:
            fid = self.server.fid("e")
            body["meta"] |= {"fid": fid, "version": 1}
            externals[fid] = body
            if self.breaks("register/added"):
                return self.success({"meta": {"fid": fid}})
            return self.success(body)
        known = externals.get(path[0])
        if known is None or (known.get("removed") and
                             not self.breaks("register/removed")):
            if self.breaks("register/unknown") and known is None:
                return self.success({})
            return self.failure(404, "there is no such external object")
        if self.command == "DELETE":
            known["removed"] = True
            return self.success({})
        version = known["meta"]["version"]
        known = externals[path[0]] = merge(known, body)
        known["meta"]["version"] = version + \
            (not self.breaks("register/changed"))
        return self.success(known)

    def post_crawler(self, fid):
        body, external = self.object(), self.server.externals[fid]
        if not body["meta"].get("links") and \
                not self.breaks("start/without-stream"):
            return self.failure(400, "meta.links: one stream is required")
        if type(body["params"].get("count", 1)) is not int and \
                not self.breaks("start/bad-params"):
            return self.failure(400, "params.count: is wrong")
        crawler = {"external": fid, "meta": {"fid": self.server.fid("c")}}
        self.server.crawlers[crawler["meta"]["fid"]] = crawler
        return self.success({"crawler": crawler, "analysis":
                             external.get("analysis", {})})

    def post_task(self, fid, task):
        s, crawler = self.server, self.server.crawlers[fid]
        running = [t for t in s.tasks.values()
                   if t.crawler is crawler and t.code < 200]
        if running and not self.breaks("start/running-once"):
            return self.success(running[0].shown(), 208)
        if task and not self.breaks("start/retry"):
            found = s.tasks[task[0]]
        else:
            found = BackendTask(s, crawler, self.object().get("params", {}),
                                s.fid("t"))
            s.tasks[found.fid] = found
        found.start()
        return self.success(found.shown())

    def serve_task(self, fid, path):
        task = self.server.tasks.get(fid)
        word = path[0] if path else "task"
        if task is None:
            if self.breaks({"upload": "upload/unknown-task", "status":
                            "status/unknown-task"}.get(word)):
                return self.success({"count": 1})
            return self.failure(404, "there is no such task")
        if word == "upload":
            return self.upload(task)
        if word == "status":
            return self.status(task)
        task.close(499)
        if not self.breaks("stop/cancelled"):
            task.notify(499)
        return self.success({})

    def status(self, task):
        code = (self.object() or {}).get("code")
        if type(code) is not int:
            if self.breaks("status/malformed"):
                return self.success({})
            return self.failure(400, "code: is no whole number")
        if code == 102 and self.breaks("status/running"):
            return self.failure(500, "status")
        task.close(code)
        return self.success({})

    def upload(self, task):
        if task.code >= 200 and not self.breaks("status/closed"):
            return self.failure(404, "the task is closed")
        task.hear()
        body = self.body
        if self.headers.get("Content-Encoding") == "gzip":
            if self.breaks("upload/gzip"):
                return self.failure(500, "gzip")
            body = gzip.decompress(body)
        key = self.headers.get("Idempotency-Key")
        if key in task.keys:
            if self.breaks("extensions/repeated-key"):
                return self.success({"count": 0})
            return self.success({"count": task.keys[key]})
        if b"\r" in body and self.breaks("upload/crlf"):
            return self.failure(400, "CR")
        try:
            documents = [json.loads(line) for line in body.split(b"\n")]
        except ValueError:
            if self.breaks("upload/not-json"):
                return self.success({"count": 0})
            return self.failure(400, "a line is no JSON")
        return self.take(task, key, documents)

    def take(self, task, key, documents):
        refused = [{"line": n, "error": "id: is no integer"}
                   for n, d in enumerate(documents, 1)
                   if type(d.get("id")) is not int]
        for d in documents:
            known = [k for k in task.documents if k["id"] == d["id"]]
            if known and self.breaks("upload/repeated-id"):
                return self.failure(406, "the document is known", {
                    "errors": [{"line": 1, "error": "known"}]})
            if known and not self.breaks("extensions/documents-once"):
                known[0] |= d
            elif type(d["id"]) is int:
                task.documents.append(d)
        count = len(documents) - len(refused)
        if key:
            task.keys[key] = count
        if refused:
            payload = {"count": count, "errors": refused}
            if self.breaks("upload/refused-lines"):
                del payload["errors"]
            return self.failure(406, "a document is refused", payload)
        if self.breaks("upload/lines") and b"\r" not in self.body:
            count = 0
        return self.success({"count": count})


def main():
    kind, port = sys.argv[1], int(sys.argv[2])
    broken = sys.argv[4] if sys.argv[3:4] == ["--break"] else None
    {"crawler": Crawler, "backend": Backend}[kind](broken, port) \
        .serve_forever()


if __name__ == "__main__":
    main()
