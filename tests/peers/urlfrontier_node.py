"""The URL Frontier door by python3-grpcio: what concerns a whole node, or is
measured (of the contract's cases B11 to B17, C7, C10 and E; section 9).

One case after the other, each on a node that holds nothing.
"""
import collections
import struct

from frames import PREFACE
from urlfrontier_peer import *

begin("urlfrontier_node")
case = Cases()
FAR = 2943003600


def delays(t, d, serves, set_it=True):
    """Polled without a pause: (start, end) of each serve, and late ones."""
    key = f"delay {d}"
    t.due(serves + 1, key)
    if set_it:
        t.c.delay(key, d, t.crawl)
    served, late = [], []
    until = time.monotonic() + (d + 1) * serves + 5
    while len(served) < serves and time.monotonic() < until:
        began = time.monotonic()
        got = t.c.get(1, 1, 30, key, t.crawl)
        if got:
            served.append((began, time.monotonic()))
            t.c.fill(K(got[0].url, key, t.crawl, 0))
        elif served and began > served[-1][1] + d + 0.1:
            late.append(round(began - served[-1][1], 3))
        if d > 0:
            time.sleep(0.015)
    early = [round(b[1] - a[0], 3) for a, b in zip(served, served[1:])
             if b[1] - a[0] < d - 0.001]
    gaps = [b[0] - a[1] for a, b in zip(served, served[1:])]
    if gaps:
        note(f"{t.name} delay {d}: gaps up to {max(gaps):.3f} s")
    t.same(f"delay {d}: {serves} serves", len(served), serves)
    t.same(f"delay {d}: none early", early, [])
    t.same(f"delay {d}: none late", late, [])


@case("B11")
def own_delays(t):
    at_once(4, lambda i: delays(t, *((1, 6), (2, 4), (5, 2), (0, 50))[i]))


def default_delay(t):
    delays(t, 1, 4, set_it=False)


@case("B14")
def bounded_work(t):
    name = "frontier_getURLs_queues_examined_total"
    t.c.many([f"http://q{i:03}/" for i in range(100)], "", t.crawl)
    keys = [f"q{i:03}" for i in range(100)]
    ready = keys[5::10]
    t.c.fill(*[K(f"http://{k}/", k, t.crawl, FAR) for k in keys
               if k not in ready])
    before = wait_for_metric(t, name)
    got = t.c.get(1, 10, 30, "", t.crawl)
    t.same("the ten", sorted(i.key for i in got), ready)
    wait_until(lambda: t.server.metric(name) != before, 3)
    after = t.server.metric(name)
    t.check("examined", before is not None and 10 <= after - before <= 26,
            (before, after))


def wait_for_metric(t, name):
    """Its value once it rests."""
    value = t.server.metric(name)
    for _ in range(10):
        time.sleep(1.1)
        last, value = value, t.server.metric(name)
        if last == value:
            break
    return value


KEPT = """getURLs_calls_total getURLs_total getURLs_latency_seconds_sum
getURLs_latency_seconds_count putURLs_calls_total putDiscovered_calls_total
putURLs_total putURLs_discovered_total{discovered="true"}
putURLs_discovered_total{discovered="false"} putURLs_ignored_total
putURLs_completed_total putURLs_forward_notready_total""".split()
NEW = """urls_active urls_completed urls_in_process queues queues_due
queues_blocked due_lag_seconds streams_open getURLs_queues_examined_total
acks_total put_ack_seconds_count rpc_seconds_count
getURLs_latency_seconds_bucket""".split()


@case("section 9")
def metrics(t):
    def read():
        return {n: t.server.metric("frontier_" + n) for n in KEPT + NEW}

    wait_for_metric(t, "frontier_putURLs_total")
    before = read()
    t.same("every name", [n for n, v in before.items() if v is None], [])
    t.c.put(*[D(f"http://m{i % 4}/{i}", "", t.crawl) for i in range(12)],
            *[D(f"http://m{i % 4}/{i}", "", t.crawl) for i in range(3)],
            *[K(f"http://m{i % 4}/{i}", "", t.crawl, 0) for i in range(5)])
    t.c.batches(("b", [info("http://m9/", "", t.crawl)] * 2))
    t.c.get(1, 3, 30, "", t.crawl)
    t.c.block("m0", now() + 1000, t.crawl)
    wait_for_metric(t, "frontier_putURLs_total")
    after = read()

    def grown(*names):
        return [after[n] - before[n] for n in names]

    t.same("calls", grown("getURLs_calls_total", "putURLs_calls_total",
                          "putDiscovered_calls_total"), [1, 1, 1])
    t.same("items", grown("putURLs_total", KEPT[7], KEPT[8],
                          "putURLs_ignored_total", "putURLs_completed_total",
                          "acks_total", "getURLs_total"),
           [22, 17, 5, 4, 5, 22, 3])
    t.same("latencies", grown("getURLs_latency_seconds_count"), [1])
    t.same("gauges", [after[n] for n in (
        "urls_active", "urls_completed", "urls_in_process", "queues",
        "queues_blocked", "streams_open")], [8, 5, 3, 5, 1, 0])


@case("B16")
def selection(t):
    other = t.crawl + " 2"
    for crawl in ("", t.crawl, other):
        for key in ("k", "l"):
            t.due(1, key, crawl or "DEFAULT")

    def got(*args):
        where = sorted((i.crawlID, i.key) for i in t.c.get(1, 0, 1, *args))
        pause(1)
        return where

    t.same("key, no crawl", got("k"), [])
    t.same("key, any", got("k", ANY), [])
    t.same("key, crawl \"\"", got("k", ""), [("DEFAULT", "k")])
    t.same("no key, crawl \"\"", got("", ""),
           [("DEFAULT", "k"), ("DEFAULT", "l")])
    t.same("no key, a crawl", got("", t.crawl),
           [(t.crawl, "k"), (t.crawl, "l")])
    all_of_them = sorted((c, k) for c in ("DEFAULT", t.crawl, other)
                         for k in ("k", "l"))
    t.same("any", got("", ANY), all_of_them)
    t.same("neither", got(""), all_of_them)


@case("B17")
def inactive(t):
    t.c.active(False)
    t.same("OK", t.c.did(D("http://b17/", "", t.crawl)), ["OK"])
    t.same("nothing is served", t.c.get(0, 0, 1, "", t.crawl), [])
    t.same("keyed", t.c.get(0, 0, 1, "b17", t.crawl), [])
    t.c.active(True)
    t.same("then it is", t.c.got(0, 0, 1, "", t.crawl), ["http://b17/"])


@case("C7")
def default_binds_all(t):
    own, plain, other = ("own", t.crawl), ("plain", t.crawl), \
        ("other", t.crawl + " 2")
    for key, crawl in (own, plain, other):
        t.due(4, key, crawl)
    t.c.delay("own", 0, t.crawl)

    def twice(key, crawl):
        """URLs served by two calls on end."""
        return [len(t.c.get(n, 1, 60, key, crawl)) for n in (1, 2)]

    t.same("own 0, others 1 s", [twice(*q) for q in (own, plain, other)],
           [[1, 2], [1, 0], [1, 0]])
    t.c.delay("", 300)
    pause(1)
    t.same("300 s for all without", [len(t.c.get(9, 1, 60, *q)) for q in (
        own, plain, other)], [1, 0, 0])
    t.c.delay("", 0)
    t.same("0 s for all without", [len(t.c.get(9, 1, 60, *q)) for q in (
        plain, other)], [3, 3])
    t.c.delay("", 1)


@case("C10")
def active(t):
    t.same("at first", t.c.active(), True)
    t.c.active(False)
    t.same("then", t.c.active(), False)
    t.c.active(True)


@case("E2")
def three_crawls(t):
    url = "http://urlfrontier.net/"
    t.same("OK, OK, SKIPPED", t.c.did(
        D(url, "", "BESPOKE"), D(url, "", ""), D(url, "", "DEFAULT")),
        ["OK", "OK", "SKIPPED"])
    t.same("two crawls", t.c.crawls(), ["BESPOKE", "DEFAULT"])
    for asked, told in (("BESPOKE", "BESPOKE"), ("", "DEFAULT"),
                        ("DEFAULT", "DEFAULT")):
        s = t.c.stats("", asked)
        t.same(f"stats of {asked!r}", (s["size"], s["queues"], s["crawl"]),
               (1, 1, told))


@case("E1")
def many_crawls(t):
    names = sorted(f"crawl number {i:04}" for i in range(1500))
    t.c.fill(*[D("http://e1/", "", name) for name in names])
    t.check("1,500 are listed", t.c.crawls() == names, len(t.c.crawls()))


@case("E3")
def delete_crawls(t):
    t.c.many([f"http://e3-{i % 7}/{i}" for i in range(50)], "", "BESPOKE")
    t.c.fill(D("http://e3/", "", ""))
    t.same("BESPOKE", t.c.delete_crawl("BESPOKE"), 50)
    t.same("DEFAULT is left", t.c.crawls(), ["DEFAULT"])
    t.same("its URL too", t.c.urls("DEFAULT"), ["http://e3/"])
    t.same("blank", t.c.delete_crawl(""), 1)
    t.same("none is left", t.c.crawls(), [])
    t.same("unknown", t.c.delete_crawl("unknown"), 0)


# ---- urlfrontier.metrics_port ------------------------------------------------------

TYPES = {"counter": """getURLs_calls_total getURLs_total putURLs_calls_total
putDiscovered_calls_total putURLs_total putURLs_discovered_total
putURLs_ignored_total putURLs_completed_total
putURLs_forward_notready_total getURLs_queues_examined_total
acks_total""", "gauge": """urls_active urls_completed urls_in_process queues
queues_due queues_blocked due_lag_seconds streams_open""",
         "histogram": """getURLs_latency_seconds put_ack_seconds
rpc_seconds"""}


def listening(child):
    """{(address, port)} of its own sockets, from the kernel."""
    own, found = set(), set()
    for fd in glob.glob(f"/proc/{child.pid}/fd/*"):
        try:
            own.add(os.readlink(fd))
        except OSError:
            pass
    for name in ("tcp", "tcp6"):
        with open(f"/proc/{child.pid}/net/{name}") as f:
            for line in list(f)[1:]:
                x = line.split()
                if x[3] == "0A" and f"socket:[{x[9]}]" in own:
                    address, port = x[1].split(":")
                    found.add((address, int(port, 16)))
    return found


class Figures:
    """What a port serves: types by name, values by series."""

    def __init__(self, port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics",
                                    timeout=10) as page:
            self.kind = page.headers["Content-Type"]
            text = page.read().decode()
        self.types = dict(re.findall(r"^# TYPE frontier_(\S+) (\S+)$", text,
                                     re.M))
        self.told = set(re.findall(r"^# HELP frontier_(\S+) \S", text, re.M))
        self.values = {k: float(v) for k, v in re.findall(
            r"^frontier_(\S+(?:\{[^}]*\})?) (\S+)$", text, re.M)}

    def of(self, *names):
        return [self.values.get(n) for n in names]


def figures():
    """Another node, which has done nothing."""
    port = fixed_port()
    server = Server("figures", f"urlfrontier.metrics_port={port}")
    t = Case("metrics_port", server)
    ports = (server.http_port, port)
    t.same("loopback alone", listening(server.child), {
        ("0100007F", x) for x in (*ports, server.port)})
    for p in ports:
        f = Figures(p)
        where = "http.listen" if p == ports[0] else "metrics_port"
        for kind, names in TYPES.items():
            t.same(f"{where}: every {kind}", {
                n: f.types.get(n) for n in names.split()}, dict.fromkeys(
                names.split(), kind))
        t.same(f"{where}: none without a word of help",
               set(f.types) - f.told, set())
        t.same(f"{where}: no other name", set(f.types) - set(
            " ".join(TYPES.values()).split()), set())
        t.check(f"{where}: as Prometheus reads it", f.kind.startswith(
            "text/plain"), f.kind)
    moved(t, *ports)
    hostile(t, port)
    t.same("SIGTERM ends it", server.stop(), 0)


def moved(t, *ports):
    """Absolute numbers: nothing was before."""
    def acks(f):
        return f.of(*(f'acks_total{{status="{s}"}}' for s in STATUS))

    t.c.put(*[D(f"http://m{i % 4}/{i}", "", t.crawl) for i in range(12)],
            *[D(f"http://m{i % 4}/{i}", "", t.crawl) for i in range(3)],
            *[K(f"http://m{i % 4}/{i}", "", t.crawl, 0) for i in range(5)],
            K("http://m5/", "", t.crawl, FAR), D("", "", t.crawl))
    t.c.batches(("b", [info("http://m9/", "", t.crawl)] * 3), ("", []))
    t.c.get(1, 3, 30, "", t.crawl)
    t.c.get(1, 3, 30, "nothing", t.crawl)
    t.c.block("m0", now() + 1000, t.crawl)
    for _ in range(3):
        t.c.stats("", t.crawl)
    for x in ("http://x/", "http://y/"):
        code(t.c.status, x, "", t.crawl)
    stream = Stream(t.c)
    stream.put(D("http://m9/", "", t.crawl))
    wait_until(lambda: Figures(ports[1]).of(
        "queues_blocked", "urls_in_process") == [1, 3], 8, 0.3)
    both = [Figures(p) for p in ports]
    lag = [f.values.pop("due_lag_seconds") for f in both]
    t.same("the same at both", both[1].values, both[0].values)
    f = both[1]
    t.same("calls", f.of("getURLs_calls_total", "putURLs_calls_total",
                         "putDiscovered_calls_total"), [2, 2, 1])
    t.same("items", f.of(
        "putURLs_total", 'putURLs_discovered_total{discovered="true"}',
        'putURLs_discovered_total{discovered="false"}',
        "putURLs_ignored_total", "putURLs_completed_total",
        "putURLs_forward_notready_total"), [26, 20, 6, 7, 5, 0])
    t.same("acks", acks(f), [19, 7, 0])
    t.same("served", f.of("getURLs_total", "getURLs_latency_seconds_count"),
           [3, 2])
    t.check("examined", 3 <= f.of("getURLs_queues_examined_total")[0] <= 19,
            f.values)
    t.same("gauges", f.of("urls_active", "urls_completed",
                          "urls_in_process", "queues", "queues_blocked",
                          "streams_open"), [9, 5, 3, 6, 1, 1])
    t.check("what is due", 1 <= f.of("queues_due")[0] <= 5 and
            all(0 <= x < 60 for x in lag), (f.of("queues_due"), lag))
    rpc = 'rpc_seconds_count{{rpc="{}",code="{}"}}'.format
    t.same("by RPC and code", f.of(
        rpc("GetStats", "OK"), rpc("GetURLStatus", "NOT_FOUND"),
        rpc("GetURLs", "OK"), rpc("PutURLs", "OK"),
        rpc("PutDiscovered", "OK"), rpc("BlockQueueUntil", "OK"),
        rpc("ListURLs", "OK")), [3, 2, 2, 1, 1, 1, None])
    buckets = collections.defaultdict(list)
    for k, v in f.values.items():
        name, found, rest = k.partition("_bucket{")
        if found:
            labels, _, bound = rest.rpartition('le="')
            labels = labels.rstrip(",")
            buckets[name, labels].append((float(bound[:-2]), v))
    wrong = [k for k, b in buckets.items() if b != sorted(
        b) or [v for _, v in b] != sorted(v for _, v in b) or
        b[-1] != (float("inf"), f.values[k[0] + "_count" + (
            f"{{{k[1]}}}" if k[1] else "")])]
    t.same("buckets", (wrong, len({k[0] for k in buckets})), ([], 3))
    t.check("... of time that passed", all(f.values[
        n + "_sum"] > 0 for n in ("getURLs_latency_seconds",
                                  "put_ack_seconds")))
    stream.end()
    t.same("the stream ends", wait_until(lambda: Figures(ports[1]).of(
        "streams_open") == [0], 4, 0.2), True)


def hostile(t, port):
    """It answers others as before."""
    host = b"Host: 127.0.0.1\r\n"

    def ask(data, seconds=1.5):
        """What comes back until the end, or until nothing more comes."""
        got = b""
        with socket.create_connection(("127.0.0.1", port)) as s:
            s.settimeout(seconds)
            try:
                s.sendall(data)
                while True:
                    more = s.recv(1 << 20)
                    if not more:
                        break
                    got += more
            except OSError:
                pass
        return got

    def get(path, *more, method=b"GET"):
        return ask(method + b" " + path + b" HTTP/1.1\r\n" + (
            b"".join(more) or host) + b"Connection: close\r\n\r\n")

    def word(answer):
        return answer.split(b"\r")[0].split(b" ")[1:2]

    wanted = [("another path", get(b"/status"), b"404"),
              ("the root", get(b"/"), b"404"),
              ("behind it", get(b"/metrics/x"), b"404"),
              ("POST", get(b"/metrics", host, b"Content-Length: 2\r\n",
                           method=b"POST"), b"405"),
              ("DELETE", get(b"/metrics", method=b"DELETE"), b"405"),
              ("another's name", get(b"/metrics", b"Host: evil.org\r\n"),
               b"403"),
              ("no name", get(b"/metrics", b"X: y\r\n"), b"400"),
              ("HEAD", get(b"/metrics", method=b"HEAD"), b"200")]
    for what, answer, status_ in wanted:
        t.same(f"{what}: {status_.decode()}", word(answer), [status_])
    t.check("HEAD has no body", wanted[-1][1].endswith(b"\r\n\r\n"))
    many = ask((b"GET /metrics HTTP/1.1\r\n" + host + b"\r\n") * 20)
    t.same("20 on end", many.count(b"HTTP/1.1 200"), 20)
    for what, data in (
            ("TLS", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + b"r" * 500),
            ("HTTP/2", PREFACE + bytes(9)), ("zeros", bytes(5000)),
            ("noise", random.Random(1).randbytes(20000)),
            ("a head of 1 MB", b"GET /metrics HTTP/1.1\r\n" + host + b"X: " +
             b"x" * MIB + b"\r\n\r\n"),
            ("10,000 fields", b"GET /metrics HTTP/1.1\r\n" + host +
             b"a: b\r\n" * 10000 + b"\r\n"),
            ("a long path", b"GET /" + b"m" * 100000 + b" HTTP/1.1\r\n" +
             host + b"\r\n"),
            ("a body that never comes", b"POST /metrics HTTP/1.1\r\n" + host +
             b"Content-Length: 99999999999\r\n\r\n")):
        answer = ask(data, 0.5)
        t.check(f"{what}: no figures", b" 200 " not in answer, answer[:100])
        others(t, port, what)
    idle = [socket.create_connection(("127.0.0.1", port))
            for _ in range(200)]
    for s in idle[::2]:
        s.sendall(b"GET /met")
    others(t, port, "200 that say no more")
    for s in idle:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack(
            "ii", 1, 0))
        s.close()
    others(t, port, "200 that break off")
    deaf = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
    for s in deaf:
        s.sendall((b"GET /metrics HTTP/1.1\r\n" + host + b"\r\n") * 50)
    others(t, port, "20 that do not read")
    for s in deaf:
        s.close()
    t.same("no file stays open", wait_until(lambda: len(os.listdir(
        f"/proc/{t.server.child.pid}/fd")) < 100, 5), True)


def others(t, port, what):
    url = f"http://others/{random.random()}"
    began = time.monotonic()
    said = t.c.did(D(url, "others", t.crawl), timeout=5), \
        Figures(port).types.get("queues")
    t.check(f"{what}: others are served", said == (["OK"], "gauge") and
            time.monotonic() - began < 3, said)


def afresh(f):
    """On a node that holds nothing, with its first settings."""
    def one(t):
        for crawl in t.c.crawls():
            t.c.delete_crawl(crawl)
        t.c.active(True)
        t.c.delay("", 1)
        f(t)
    return one


# ---- All of it ----------------------------------------------------------------------

server = Server("node")
same("metrics_port is off", listening(server.child), {
    ("0100007F", p) for p in (server.port, server.http_port)})
same("C10 active at first", server.client.active(), True)
same("E1 no crawl at first", server.client.crawls(), [])
same("ListNodes names this node", list(server.client.ListNodes(
    M.Empty()).values), [f"127.0.0.1:{server.port}"])
# Before anybody has set one.
case.run_case("B12", default_delay, [server])
case.all = [(name, afresh(f)) for name, f in case.all]
case.run(server)
same("N6 no number above 2^63", Client.too_big, [])
same("SIGTERM ends it", server.stop(), 0)
if not sys.argv[1:] or "metrics_port" in sys.argv[1:]:
    try:
        figures()
    except Exception:
        check("metrics_port goes to its end", False,
              traceback.format_exc()[-500:])
done()
