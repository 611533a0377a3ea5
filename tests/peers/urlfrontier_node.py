"""The URL Frontier door by python3-grpcio: what concerns a whole node, or is
measured (of the contract's cases B11 to B17, C7, C10 and E).

One case after the other, each on a node that holds nothing.
"""
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
same("C10 active at first", server.client.active(), True)
same("E1 no crawl at first", server.client.crawls(), [])
same("ListNodes names this node", list(server.client.ListNodes(
    M.Empty()).values), [f"127.0.0.1:{server.port}"])
# Before anybody has set one.
run_case("B12", default_delay, server)
case.all = [(name, afresh(f)) for name, f in case.all]
case.run(server)
same("N6 no number above 2^63", Client.too_big, [])
same("SIGTERM ends it", server.stop(), 0)
done()
