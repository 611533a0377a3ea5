"""What the realtime scripts share: an invented web, servers, clients, cases.

The client is Debian's python3-websockets, its half without I/O, on a socket of
our own: one thread, reading only when a script says so, so that a reader may
stop.  Every message that any client receives is held against the rules of the
contract that hold always; what breaks one is a fault of `Rules`.
"""
import base64
import collections
import http.server
import select
import struct

from serve import *

try:
    from websockets.client import ClientConnection
    from websockets.frames import Opcode
    from websockets.http11 import Response
    from websockets.uri import parse_uri
except ImportError:
    ClientConnection = None

KIB, MIB = 1 << 10, 1 << 20
CODES = ("bad_json bad_message unknown_command bad_args unknown_crawl "
         "unknown_subscription unknown_policy unknown_export "
         "unknown_harvest bad_policy "
         "bad_token bad_state "
         "limit storage internal forbidden").split()
SEED_FIELDS = {"seed": str, "status": str, "information": int,
               "success": int, "redirect": int, "not_found": int,
               "error": int}
MORE_FIELDS = {"exception": int, "skipped": int, "exceptions": dict,
               "skips": dict, "name": str, "tags": list}
COUNTERS = ("information", "success", "redirect", "not_found", "error")
ITEM_FIELDS = {"body": str, "completed_at": float, "crawl_id": int,
               "depth": int, "duration": float, "headers": dict,
               "started_at": float, "status_code": int, "sync_token": str,
               "url": str}
EXCEPTIONS = set("dns connect tls timeout reset protocol redirects decode"
                 .split())
SKIPS = set("robots scope depth cost mime limit url blocked".split())
STATES = ("pending", "running", "paused", "complete", "cancelled", "deleted")
ENDED = ("complete", "cancelled", "deleted")


def begin(name, *programs):
    """Without what the scripts need they are skipped by name."""
    if ClientConnection is None:
        skip(name, "python3-websockets is not installed")
        done()
    need(name, *programs)


# ---- The invented web --------------------------------------------------------

def html(*links, title="t", text="", more=""):
    return (f"<!DOCTYPE html><html><head><title>{title}</title></head><body>"
            f"{text}" + "".join(f'<a href="{x}">x</a>\n' for x in links) +
            more + "</body></html>").encode()


def ok(body, *fields, status=200, kind="text/html; charset=utf-8"):
    """A page: (status, fields, body)."""
    if isinstance(body, str):
        body = body.encode()
    return status, (("Content-Type", kind),) + fields, body


class Web:
    """
    Pages by (host, path) or by path for every host; a page is what ok() makes, or a
    function of the handler that returns one, or None after it answered itself.
    Every request is noted: (host, path, when it was read, when it was answered).
    """

    def __init__(self):
        self.pages = {}
        self.asked = []
        self.default = ok("<html>nothing</html>", status=404)
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = 1 << 16

            def do_GET(self):
                web.answer(self)

            def log_message(self, *_):
                pass

        class Listener(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *_):
                pass

        self.server = Listener(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,),
                         daemon=True).start()

    def answer(self, handler):
        began = time.monotonic()
        host = handler.headers.get("Host", "").split(":")[0]
        page = self.pages.get((host, handler.path)) or \
            self.pages.get(handler.path) or \
            self.pages.get((host, "*")) or self.default
        if callable(page):
            page = page(handler)
        if page is not None:
            status, fields, body = page
            handler.send_response(status)
            for name, value in fields:
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
        # Before the client has it: the time until this thread runs again is
        # none of the server's, and would shorten a gap.
        answered = time.monotonic()
        handler.wfile.flush()
        with lock:
            self.asked.append((host, handler.path, began, answered))

    def requests(self, host=None):
        """[(path, read, answered)], without robots.txt."""
        with lock:
            return [a[1:] for a in self.asked if a[1] != "/robots.txt" and
                    host in (None, a[0])]

    def put(self, host, path, page):
        self.pages[host, path] = page

    def chain(self, host, n, size=0, delay=0, status=200):
        """/0 links to /1 and so on; returns the first URL."""
        for i in range(n):
            links = [f"/{i + 1}"] if i + 1 < n else []
            body = html(*links, title=f"{host} {i}",
                        text=f"<p>{i} " + "word " * (size // 5))
            self.put(host, f"/{i}", slowly(ok(body, status=status), delay)
                     if delay else ok(body, status=status))
        return f"http://{host}/0"

    def star(self, host, n, size=0, delay=0):
        """/ links to /0 ... /n-1; returns its URL."""
        self.put(host, "/", ok(html(*[f"/{i}" for i in range(n)])))
        for i in range(n):
            page = ok(html(title=f"{host} {i}", text="word " * (size // 5)))
            self.put(host, f"/{i}", slowly(page, delay) if delay else page)
        return f"http://{host}/"


def slowly(page, seconds):
    def wait(_):
        time.sleep(seconds)
        return page
    return wait


def reset(handler):
    """A page that is never answered: the connection is reset."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                  struct.pack("ii", 1, 0))
    handler.close_connection = True
    handler.connection.close()


class Gate:
    """A page that is answered once it is opened; `waiting` counts who asked."""

    def __init__(self, page):
        self.page, self.event, self.waiting = page, threading.Event(), 0

    def __call__(self, _):
        with lock:
            self.waiting += 1
        self.event.wait(60)
        return self.page

    def open(self):
        self.event.set()


def closed_port():
    """One that refuses connections as long as the script runs."""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    closed_port.held.append(s)
    return s.getsockname()[1]


closed_port.held = []


# ---- Servers -----------------------------------------------------------------

class Server(Serve):
    """
    Hosts of the invented web are known to it by `hosts`: {name: port}; their
    port 80 is meant.  `tls`: (certificate, key).
    """
    door = ("urlfrontier.listen=off",)

    def __init__(self, name, *settings, hosts=None, private=True, tls=None,
                 **more):
        settings, self.tls = list(settings), tls
        if tls:
            settings += [f"http.tls_cert={tls[0]}", f"http.tls_key={tls[1]}"]
        if private:
            settings.append("fetch.allow_private=on")
        if hosts:
            settings.append("fetch.resolve=" + ",".join(
                f"{host}:80:127.0.0.1:{port}"
                for host, port in hosts.items()))
        super().__init__(name, settings, **more)

    @property
    def port(self):
        return self.http_port

    def client(self, *args, **more):
        return Client(self.port, *args, **more)


# ---- Tokens ------------------------------------------------------------------

def token_of(text):
    return base64.b64encode(text.encode()).decode()


def token_text(token):
    return base64.b64decode(token, validate=True).decode()


def urls_of(items):
    return [i["url"] for i in items]


def paths_of(items):
    return ["/" + i["url"].split("/", 3)[3] for i in items]


def number_of(token):
    return int(token_text(token).split(".")[0])


def body_of(item):
    return base64.b64decode(item["body"], validate=True)


# ---- Rules -------------------------------------------------------------------

class Subscription:
    def __init__(self, command, args):
        self.command, self.args = command, args
        self.events = collections.deque()     # not taken yet
        self.merged = {}                      # stats: crawl -> fields
        self.last = {}                        # items, log: crawl -> number
        self.ended = False                    # unsubscribed
        self.closed = None                    # data of subscription_closed
        self.at = None                        # of the last event

    def is_stats(self):
        return self.command in ("subscribe_crawl_stats",
                                "subscribe_crawl_status")


class Rules:
    """What holds of every message of every connection."""
    faults = []

    @classmethod
    def fault(cls, text):
        with lock:
            cls.faults.append(text)
            if len(cls.faults) < 20:
                note("FAULT " + " ".join(text.split())[:400])

    def __init__(self):
        self.asked = collections.deque()      # (command_id, command, args)
        self.subs = {}
        self.named = set()                    # crawls that events named

    def need(self, fine, text, m):
        if not fine:
            self.fault(f"{text}: {json.dumps(m)[:300]}")
        return fine

    def message(self, m):
        kind = m.get("type") if isinstance(m, dict) else None
        if kind == "response":
            self.response(m)
        elif self.need(kind == "event", "neither response nor event", m):
            self.event(m)

    def response(self, m):
        if not self.need(self.asked, "a response nobody asked for", m):
            return
        want, command, args = self.asked.popleft()
        self.need("command_id" in m and json.dumps(m["command_id"]) ==
                  json.dumps(want), f"command_id {want!r} is next", m)
        if not self.need(isinstance(m.get("success"), bool), "success", m):
            return
        if not m["success"]:
            text = m.get("error")
            self.need(set(m) == {"command_id", "type", "success", "error",
                                 "data", "code"}, "keys of a failure", m)
            self.need(isinstance(text, str) and text == m.get("data"),
                      "error and data", m)
            self.need(m.get("code") in CODES, "code", m)
            self.need(text and len(text) < 1000 and not re.search(
                r"\(null\)|\.c:\d|0x[0-9a-f]{6}", text), "error's text", m)
            return
        self.need(set(m) == {"command_id", "type", "success", "data"},
                  "keys of a success", m)
        data = m.get("data")
        if command.startswith("subscribe_"):
            n = data.get("subscription_id")
            if self.need(type(n) is int and n not in self.subs,
                         "subscription_id", m):
                self.subs[n] = Subscription(command, args or {})
        elif command == "unsubscribe":
            n = data.get("subscription_id")
            if self.need(n in self.subs, "subscription_id", m):
                self.subs[n].ended = True
        elif command in ("start_crawl", "job.start"):
            n = data.get("crawl_id")
            self.need(type(n) is int, "crawl_id", m)
            self.need(n not in self.named, "an event before the response", m)

    def event(self, m):
        s = self.subs.get(m.get("subscription_id"))
        if not self.need(s is not None and not s.ended,
                         "an event of no subscription", m):
            return
        self.need(s.closed is None, "an event after subscription_closed", m)
        data, name = m.get("data"), m.get("event")
        if name == "subscription_closed":
            self.need(s.args.get("closed_event"), "not asked for", m)
            self.need(set(data) <= {"crawl_id", "reason", "sync_token"} and
                      data["reason"] in ("complete", "cancelled", "deleted"),
                      "subscription_closed", m)
            s.closed = data
        elif s.is_stats():
            self.need(name is None, "stats have no event", m)
            self.stats(s, data, m)
        elif s.command == "subscribe_crawl_items":
            self.need(name is None, "items have no event", m)
            self.item(s, data, m)
        else:
            self.need(name == s.command.split("_")[-1], "event", m)
            if name == "log":
                self.need(type(data.get("sync_token")) is str and
                          type(data.get("crawl_id")) is int, "log", m)
                self.in_order(s, data, m, gaps="gap" in m or "gap" in data)
        s.events.append(m)

    def stats(self, s, data, m):
        s.at = time.monotonic()
        self.need(0 < len(data) <= 500, "crawls of an event", m)
        for crawl, fields in data.items():
            self.named.add(int(crawl))
            old = s.merged.get(crawl)
            if old is None:
                self.full(crawl, fields, m)
            else:
                # A gauge may have gone and come back; a counter has not.
                still = {k: v for k, v in fields.items() if k in COUNTERS and
                         v <= old.get(k, 0)}
                self.need(not still, f"no growth: {still}", m)
                self.need(old["status"] not in ENDED or
                          fields.get("status", old["status"]) in (
                              old["status"], "deleted", "running"),
                          "an ended crawl lives", m)
            s.merged.setdefault(crawl, {}).update(fields)

    def full(self, crawl, fields, m):
        for name, kind in {**SEED_FIELDS, **MORE_FIELDS}.items():
            self.need(type(fields.get(name)) is kind,
                      f"crawl {crawl}: {name}", m)
        self.need(fields.get("status") in STATES, "status", m)

    def item(self, s, data, m):
        self.named.add(data.get("crawl_id"))
        want = dict(ITEM_FIELDS, body_length=int, truncated=bool)
        if s.args.get("body") is False:
            del want["body"]
            self.need("body" not in data, "a body", m)
        if s.args.get("headers") == "list":
            want["headers"] = list
        for name, kind in want.items():
            self.need(type(data.get(name)) is kind, f"item's {name}",
                      {k: v for k, v in data.items() if k != "body"})
        self.need("#" not in data.get("url", "#"), "a fragment", m)
        self.in_order(s, data, m)

    def in_order(self, s, data, m, gaps=False):
        try:
            n, crawl, _ = token_text(data["sync_token"]).split(".", 2)
            # A log's is marked, so that the two do not mix.
            n = int(n if s.command == "subscribe_crawl_items" else
                    n.lstrip("L"))
        except (ValueError, KeyError):
            self.fault(f"a token is not N.C.S: {m}"[:300])
            return
        if s.command == "subscribe_crawl_items":
            self.need(int(crawl) == data["crawl_id"], "the token's crawl",
                      data["sync_token"])
        before = s.last.get(data["crawl_id"])
        self.need(before is None or n == before + 1 or
                  ((gaps or s.command == "subscribe_crawl_log") and
                   n > before),
                  f"number {n} after {before} of crawl {data['crawl_id']}",
                  data["sync_token"])
        s.last[data["crawl_id"]] = n


# ---- Clients -----------------------------------------------------------------

class Closed(Exception):
    """The connection is closed; its code (1006: without a close frame)."""

    def __init__(self, code, reason=""):
        super().__init__(f"closed with {code} {reason}")
        self.code = code


class Refused(Exception):
    """No WebSocket; the answer's status."""

    def __init__(self, status, body=b""):
        super().__init__(f"HTTP {status} {body[:200]}")
        self.status, self.body = status, body


class Silent(Exception):
    """Nothing came in time."""


class Client:
    """
    One connection.  ask() returns a whole response, good() its data, bad() its
    code; event() the next one of a subscription.
    """

    def __init__(self, port, path="/", origin=None, fields=(), rcvbuf=None,
                 seconds=10, extensions=None, subprotocols=None):
        self.rules = Rules()
        self.ids = 0
        self.responses = {}      # in order, by JSON of the command_id
        self.conn = ClientConnection(
            parse_uri(f"ws://127.0.0.1:{port}{path}"), origin=origin,
            max_size=None, extensions=extensions, subprotocols=subprotocols)
        self.sock = socket.socket()
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.sock.settimeout(seconds)
        self.sock.connect(("127.0.0.1", port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.setblocking(False)
        self.out = bytearray()
        self.parts, self.opcode = [], None
        self.pings, self.pongs = [], []
        self.bytes_in = 0
        self.code = None         # once it is closed
        self.handshake = None
        request = self.conn.connect()
        for name, value in dict(fields).items():
            if name in request.headers:
                del request.headers[name]
            request.headers[name] = value
        self.conn.send_request(request)
        self.push()
        if not self.until(lambda: self.handshake, seconds):
            raise Silent("no answer to the handshake")
        if self.handshake.status_code != 101:
            self.close()
            raise Refused(self.handshake.status_code,
                          self.handshake.body or b"")

    # -- bytes

    def push(self):
        """What the library wants sent, as far as it goes."""
        for data in self.conn.data_to_send():
            if data:
                self.out += data
        self.flush()

    def flush(self):
        try:
            while self.out:
                n = self.sock.send(self.out[:1 << 20])
                del self.out[:n]
        except BlockingIOError:
            pass
        except OSError:
            self.lost()

    def raw(self, data):
        self.out += data
        self.flush()

    def lost(self):
        if self.code is None:
            self.code = self.conn.close_rcvd.code \
                if self.conn.close_rcvd else 1006
        self.sock.close()

    def pump(self, seconds=0.0, bytes_max=1 << 18):
        """Read what is there, waiting so long at most; False: nothing came."""
        if self.code is not None:
            return False
        _, write, _ = [], [], []
        read, write, _ = select.select(
            [self.sock], [self.sock] if self.out else [], [], seconds)
        if write:
            self.flush()
        if not read or self.code is not None:
            return False
        try:
            data = self.sock.recv(bytes_max)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        self.bytes_in += len(data)
        try:
            if data:
                self.conn.receive_data(data)
            else:
                self.conn.receive_eof()
        except (EOFError, ValueError):       # in the midst of a handshake
            self.lost()
            return False
        for e in self.conn.events_received():
            if isinstance(e, Response):
                self.handshake = e
            else:
                self.frame(e)
        self.push()
        if not data:
            self.lost()
        elif self.conn.parser_exc is not None:
            Rules.fault(f"the server's frames: {self.conn.parser_exc}")
            self.lost()
        return True

    def frame(self, f):
        if f.opcode is Opcode.PING:
            self.pings.append((time.monotonic(), bytes(f.data)))
        elif f.opcode is Opcode.PONG:
            self.pongs.append(bytes(f.data))
        elif f.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            if f.opcode is not Opcode.CONT:
                self.opcode = f.opcode
            self.parts.append(f.data)
            if f.fin:
                text, self.parts = b"".join(self.parts), []
                self.took(text)

    def took(self, text):
        if self.opcode is not Opcode.TEXT:
            Rules.fault("a frame that is not text")
        try:
            m = json.loads(text.decode())
        except ValueError as e:
            Rules.fault(f"no JSON: {e}: {text[:200]!r}")
            return
        self.rules.message(m)
        if m.get("type") == "response":
            if len(text) > 512 * KIB:
                Rules.fault(f"a response of {len(text)} bytes")
            m["raw"] = text
            m["at"] = time.monotonic()
            self.responses.setdefault(json.dumps(m.get("command_id")),
                                      []).append(m)

    # -- waiting

    def until(self, test, seconds=10.0):
        """Read until it holds; what it returned last."""
        end = time.monotonic() + seconds
        while True:
            found = test()
            left = end - time.monotonic()
            if found or left <= 0 or self.code is not None:
                return found
            self.pump(min(left, 0.5))

    def for_a_while(self, seconds):
        self.until(lambda: False, seconds)

    def idle(self, seconds=0.3):
        """Read until nothing came for so long."""
        last = time.monotonic()
        while self.code is None and time.monotonic() - last < seconds:
            if self.pump(0.05):
                last = time.monotonic()

    # -- commands

    def send_text(self, text, command_id=None, command="", args=None):
        """As it is; the response is expected to bear that ID."""
        self.rules.asked.append((command_id, command, args))
        if isinstance(text, bytes):
            self.conn.send_binary(text)
        else:
            self.conn.send_text(text.encode())
        self.push()

    def send(self, command, args=None, command_id=None):
        """Its ID; the answer is waited for by await_response()."""
        if command_id is None:
            command_id = self.ids
            self.ids += 1
        m = {"command": command, "command_id": command_id,
             "args": args or {}}
        self.send_text(json.dumps(m), command_id, command, args)
        return command_id

    def await_response(self, command_id, seconds=10.0):
        key = json.dumps(command_id)
        self.until(lambda: self.responses.get(key), seconds)
        if not self.responses.get(key):
            if self.code is not None:
                raise Closed(self.code)
            raise Silent(f"no answer to {command_id!r}")
        m = self.responses[key].pop(0)
        if not self.responses[key]:
            del self.responses[key]
        return m

    def ask(self, command, seconds=10.0, **args):
        return self.await_response(self.send(command, args), seconds)

    def good(self, command, **args):
        m = self.ask(command, **args)
        if not m["success"]:
            raise AssertionError(f"{command} {str(args)[:200]}: "
                                 f"{m.get('code')}: {m.get('error')}")
        return m["data"]

    def bad(self, command, **args):
        """The code; None when it succeeded."""
        return self.ask(command, **args).get("code")

    def start(self, *seeds, rate=0, **more):
        """A crawl of these URLs without delay; its number."""
        seeds = [{"url": s, "rate_limit": rate} if isinstance(s, str) else s
                 for s in seeds]
        return self.good("start_crawl", seeds=seeds, **more)["crawl_id"]

    def stats(self, **args):
        """(subscription, nothing waited for)"""
        args.setdefault("min_interval", 0.05)
        return self.good("subscribe_crawl_stats", **args)["subscription_id"]

    def read(self, crawl, **args):
        """A subscription to its items."""
        return self.good("subscribe_crawl_items", crawl_id=crawl,
                         **args)["subscription_id"]

    # -- events

    def sub(self, n):
        return self.rules.subs[n]

    def event(self, n, seconds=10.0):
        """The next, or None."""
        s = self.sub(n)
        self.until(lambda: s.events, seconds)
        return s.events.popleft() if s.events else None

    def items(self, n, count, seconds=15.0):
        """The data of so many items, or of those that came in time."""
        s = self.sub(n)
        self.until(lambda: len(s.events) >= count, seconds)
        return [s.events.popleft()["data"]
                for _ in range(min(count, len(s.events)))]

    def until_closed(self, n, seconds=30.0):
        """The data of all items until subscription_closed, and its data."""
        s = self.sub(n)
        self.until(lambda: s.closed, seconds)
        found = [e["data"] for e in s.events
                 if e.get("event") != "subscription_closed"]
        s.events.clear()
        return found, s.closed

    def merged(self, n, crawl):
        return self.sub(n).merged.get(str(crawl), {})

    def ends(self, crawl, seconds=30.0, n=None):
        """Watch it until it ended; its last statistics."""
        mine = n if n is not None else self.stats(crawl_id=crawl)
        self.until(lambda: self.merged(mine, crawl).get("status") in ENDED,
                   seconds)
        if n is None:
            self.good("unsubscribe", subscription_id=mine)
        return self.merged(mine, crawl)

    def crawl_items(self, crawl, **args):
        """All items of an ended crawl."""
        n = self.read(crawl, closed_event=True, **args)
        return self.until_closed(n)[0]

    def closing(self, seconds=5.0):
        """The code with which the server closes."""
        self.until(lambda: self.code is not None or
                   self.conn.close_rcvd is not None, seconds)
        if self.conn.close_rcvd is not None:
            return self.conn.close_rcvd.code
        return self.code

    def close(self):
        if self.code is None:
            self.code = 1000
        self.sock.close()


def masked(opcode, data, fin=True, mask=b"\1\2\3\4", reserved=0):
    """The bytes of a client's frame, right or wrong."""
    first = (0x80 if fin else 0) | reserved << 4 | opcode
    n = len(data)
    bit = 0x80 if mask else 0
    if n < 126:
        head = struct.pack("!BB", first, bit | n)
    elif n < 1 << 16:
        head = struct.pack("!BBH", first, bit | 126, n)
    else:
        head = struct.pack("!BBQ", first, bit | 127, n)
    if not mask:
        return head + data
    if mask == bytes(4):
        return head + mask + data
    return head + mask + bytes(b ^ mask[i & 3] for i, b in enumerate(data))


def snapshot(server, **args):
    """What a fresh subscription is told: crawl -> fields."""
    c = server.client()
    n = c.stats(**args)
    c.idle(0.2)
    c.close()
    return c.sub(n).merged


# ---- Cases -------------------------------------------------------------------

class Case(OneCase):
    """With a web, a client of its own, hosts that nobody else uses."""
    numbers = iter(range(1, 1 << 30))

    def __init__(self, name, server, web, client=True):
        super().__init__(name, server)
        self.web = web
        self.c = server.client() if client else None

    def host(self):
        return f"h{next(self.numbers)}.test"

    def end(self):
        self.c.close()


def Cases():
    return CasesOf(Case)


def rules_kept():
    """The last check of each script."""
    check("every message keeps the rules", not Rules.faults, Rules.faults)
