"""What the realtime door says of crawls: states, statistics, items, tokens, tags,
and the order of all that.

usage: realtime_crawls.sh [CASE...]
"""
import gzip

from realtime_peer import *

begin("realtime_crawls")
case = Cases()
HOSTS = 120
STORE_SETTINGS = ("fetch.backoff_ms=20ms", "fetch.tries_max=2")


# ---- States ------------------------------------------------------------------

@case
def states(t):
    host = t.host()
    gate = Gate(ok(html("/1", "/2", "/3")))
    t.web.put(host, "/", gate)
    last = Gate(ok("last"))
    for i in (1, 2, 3):
        t.web.put(host, f"/{i}", last)
    crawl = t.c.start(f"http://{host}/", name="mine", tags=["a", "b"])
    n = t.c.stats(crawl_id=crawl)
    e = t.c.event(n)["data"][str(crawl)]
    t.same("name, tags, seed", (e["name"], e["tags"], e["seed"]),
           ("mine", ["a", "b"], f"http://{host}/"))
    wait_until(lambda: gate.waiting, 5)

    def order(command, status):
        for _ in range(2):
            t.same(command, t.c.good(command, crawl_id=str(crawl)),
                   {"crawl_id": crawl, "job_id": crawl, "status": status})

    order("job.pause", "paused")
    gate.open()
    t.check("what runs is finished", t.c.until(
        lambda: t.c.merged(n, crawl)["success"] == 1))
    t.check("the statistics say paused", t.c.until(
        lambda: t.c.merged(n, crawl)["status"] == "paused"))
    t.c.for_a_while(0.4)
    t.same("nothing new is fetched", len(t.web.requests(host)), 1)
    w = t.c.good("why", crawl_id=crawl)
    t.check("why says so", "pause" in w["why"], w)
    order("job.resume", "running")
    last.open()
    t.c.ends(crawl, n=n)
    t.same("it completes", t.c.merged(n, crawl)["success"], 4)
    for command in ("job.pause", "job.resume"):
        t.same(f"{command} of an ended crawl",
               t.c.bad(command, crawl_id=crawl), "bad_state")
    t.same("cancelling it succeeds unchanged",
           t.c.good("job.cancel", crawl_id=crawl)["status"], "complete")


@case
def cancel(t):
    host = t.host()
    gate = Gate(ok("late"))
    t.web.chain(host, 3)
    t.web.put(host, "/2", gate)
    crawl = t.c.start(f"http://{host}/0")
    n = t.c.read(crawl, closed_event=True)
    t.same("two items before it", len(t.c.items(n, 2)), 2)
    wait_until(lambda: gate.waiting, 5)
    began = time.monotonic()
    for _ in range(2):
        t.same("cancelled", t.c.good("job.cancel",
                                     crawl_id=crawl)["status"], "cancelled")
    items, closed = t.c.until_closed(n, 5)
    t.check("the fetch under way is aborted",
            time.monotonic() - began < 5 and not items, items)
    t.same("subscription_closed", (closed or {}).get("reason"), "cancelled")
    gate.open()
    t.same("the items stay", paths_of(t.c.crawl_items(crawl)), ["/0", "/1"])
    for command in ("job.pause", "job.resume"):
        t.same(command, t.c.bad(command, crawl_id=crawl), "bad_state")


@case
def list_crawls(t):
    tag = "listed"
    crawls = [t.c.start("http://closed.test/", tags=[tag], name=f"n{i}")
              for i in range(5)]
    for crawl in crawls:
        t.c.ends(crawl)
    got = t.c.good("list_crawls", tag=tag)
    t.same("newest first", (got["total"], [c["crawl_id"]
                                           for c in got["crawls"]]),
           (5, crawls[::-1]))
    row = got["crawls"][0]
    fields = dict(SEED_FIELDS, **MORE_FIELDS, created_at=float,
                  ended_at=float, policy=None)
    wrong = [k for k, v in fields.items() if k not in row or (
        v and not isinstance(row[k], (v, int) if v is float else v))]
    t.check("its fields", not wrong, f"{wrong}: {row}")
    t.same("policy's name", row["policy"], "default")
    part = t.c.good("list_crawls", tag=tag, start=1, size="2")
    t.same("start and size", (part["total"], [c["crawl_id"]
                                              for c in part["crawls"]]),
           (5, crawls[3:1:-1]))
    t.same("size 0", t.c.good("list_crawls", tag=tag, size=0)["crawls"], [])
    for status, n in (("complete", 5), ("running", 0), ("cancelled", 0)):
        t.same(f"status {status}", t.c.good(
            "list_crawls", tag=tag, status=status)["total"], n)
    t.same("no such tag", t.c.good("list_crawls", tag="liste")["total"], 0)


# ---- Statistics --------------------------------------------------------------

def nonsense(handler):
    handler.wfile.write(b"\x00\x01 what is this\r\n\r\n")
    handler.wfile.flush()
    handler.close_connection = True


@case
def exceptions(t):
    hosts = {k: t.host() for k in ("timeout", "reset", "protocol",
                                   "redirects", "decode")}
    t.web.put(hosts["timeout"], "/", slowly(ok("late"), 4))
    t.web.put(hosts["reset"], "/", reset)
    t.web.put(hosts["protocol"], "/", nonsense)
    t.web.put(hosts["redirects"], "/", ok(
        "", ("Location", "/"), status=302))
    t.web.put(hosts["decode"], "/", ok(
        b"\x1f\x8b\x08\0" + b"\xff" * 40, ("Content-Encoding", "gzip")))
    seeds = {k: f"http://{h}/" for k, h in hosts.items()}
    seeds.update(connect="http://closed.test/", tls="https://tls.test/",
                 dns="http://no.such.host.invalid/")
    crawls = {k: t.c.start(url, policy={"limits": {"timeout": 1}})
              for k, url in seeds.items()}
    n = t.c.stats()
    for reason, crawl in crawls.items():
        m = t.c.ends(crawl, 40, n)
        t.same(f"{reason}: how it ends", (
            m.get("status"), m.get("exception"), m.get("exceptions")),
            ("complete", 1, {reason: 1}))
        same = [m.get(k) for k in ("success", "redirect", "error",
                                   "skipped")]
        t.same(f"{reason}: nothing else is counted", same, [0, 0, 0, 0])
    p = t.c.good("list_problems", crawl_id=crawls["connect"])
    t.check("list_problems has it", "connect" in json.dumps(p) and
            "closed.test" in json.dumps(p), p)


@case
def skips(t):
    a, b = t.host(), t.host()
    t.web.put(a, "/robots.txt", ok("User-agent: *\nDisallow: /no\n",
                                   kind="text/plain"))
    t.web.put(b, "/robots.txt", ok("down", status=500))
    t.web.put(a, "/", ok(html("/no", "http://other.invalid/x", "/deep",
                              "/dear", "/pic", "/pic", "#here",
                              "http://[bad/")))
    t.web.put(a, "/deep", ok(html("/deeper")))
    t.web.put(a, "/pic", ok(b"PNG", kind="image/png"))
    policy = {"limits": {"max_depth": 1, "max_cost": 50},
              "mime_rules": [{"pattern": "^image/", "keep": False},
                             {"keep": True}],
              "url_rules": [
                  {"pattern": "/dear", "action": "add", "amount": 100},
                  {"pattern": "^https?://{SEED_DOMAINS}(:\\d+)?/",
                   "action": "add", "amount": 1},
                  {"action": "multiply", "amount": 0}]}
    crawl = t.c.start(f"http://{a}/", f"http://{b}/", policy=policy)
    m = t.c.ends(crawl)
    want = {"robots": 2, "scope": 1, "depth": 1, "cost": 1, "mime": 1}
    got = dict(m["skips"])
    url = got.pop("url", 0)
    t.same("reasons", got, want)
    t.check("a URL that is none", url in (0, 1), url)
    t.same("their sum", m["skipped"], sum(m["skips"].values()))
    t.same("each URL counts once", m["success"] + m["skipped"] - url, 8)


@case
def blocked(t):
    s = Server("private", private=False)
    c = s.client()
    for url in (f"http://127.0.0.1:{t.web.port}/", "http://localhost/",
                "http://10.0.0.1/", "http://[::1]/", "http://192.168.1.1/"):
        before = len(t.web.asked)
        crawl = c.start(url)
        m = c.ends(crawl)
        t.same(f"{url}", (m.get("status"), m.get("skips")),
               ("complete", {"blocked": 1}))
        t.same("... and nothing is asked", [
            a for a in t.web.asked[before:] if a[0] == "127.0.0.1"], [])
    s.stop()


@case
def limits_of_a_crawl(t):
    host = t.host()
    t.web.star(host, 30, delay=0.01)
    for limit, value in (("max_items", 3), ("max_duration", 0.4)):
        crawl = t.c.start(f"http://{host}/", rate=0.05,
                          policy={"limits": {limit: value}})
        m = t.c.ends(crawl)
        t.check(f"{limit} completes it with a reason", m.get("status") ==
                "complete" and m.get("reason"), m)
        if limit == "max_items":
            t.same("... after so many items", m["success"], 3)


@case
def stats_in_time(t):
    host = t.host()
    t.web.chain(host, 60, delay=0.02)
    crawl = t.c.start(f"http://{host}/0", policy={"limits":
                                                  {"max_depth": 100}})
    slow, fast = t.c.stats(min_interval=1, crawl_id=crawl), t.c.stats(
        min_interval="0.05", crawl_id=crawl)
    zero = t.c.stats(min_interval=0, crawl_id=crawl)
    arrived = {slow: [], fast: [], zero: []}
    t.c.until(lambda: [
        arrived[k].append(t.c.sub(k).at) for k in arrived
        if t.c.sub(k).at not in (arrived[k] or [None])[-1:]] and
        t.c.merged(fast, crawl).get("status") == "complete", 20)
    ended = time.monotonic()
    t.check("the last state arrives in time", t.c.until(
        lambda: t.c.merged(slow, crawl).get("status") == "complete", 1.2),
        t.c.merged(slow, crawl))
    t.check("... within min_interval + 0.1 s",
            time.monotonic() - ended < 1.1 + 0.1)
    gaps = [b - a for a, b in zip(arrived[zero], arrived[zero][1:])]
    t.check("0 counts as 0.05", len(gaps) > 5 and
            sorted(gaps)[len(gaps) // 2] > 0.04, gaps)
    gaps = [b - a for a, b in zip(arrived[slow], arrived[slow][1:])]
    t.check("min_interval is kept", gaps and min(gaps) > 0.9, gaps)
    t.check("many deltas at 0.05", len(arrived[fast]) >= 8, len(
        arrived[fast]))
    t.c.until(lambda: False, 1.5)
    at = t.c.sub(fast).at
    t.c.for_a_while(0.5)
    t.same("then it is silent", t.c.sub(fast).at, at)


@case
def deltas_are_the_snapshot(t):
    hosts = [t.host() for _ in range(3)]
    crawls = []
    for h in hosts:
        t.web.chain(h, 80, delay=0.005)
        t.web.put(h, "/7", ok("x", status=404))
        crawls.append(t.c.start(f"http://{h}/0", tags=["deltas"],
                                policy={"limits": {"max_depth": 1000}}))
    n = t.c.stats(tag="deltas")
    rng = random.Random(3)
    for i in range(6):
        t.c.for_a_while(rng.uniform(0.02, 0.15))
        for crawl in crawls:
            t.c.ask("job.pause", crawl_id=crawl)
        t.c.idle(0.25)
        want = snapshot(t.server, tag="deltas")
        t.c.idle(0.15)
        t.same(f"merged events and a snapshot, {i}", t.c.sub(n).merged, want)
        for crawl in crawls:
            t.c.ask("job.resume", crawl_id=crawl)
    for crawl in crawls:
        t.c.ends(crawl, n=n)
    t.c.idle(0.3)
    t.same("in the end", t.c.sub(n).merged, snapshot(t.server, tag="deltas"))


# ---- Items -------------------------------------------------------------------

@case
def headers(t):
    host = t.host()
    t.web.put(host, "/", ok(
        "x", ("X-Many", "1"), ("x-MANY", "2"), ("Set-Cookie", "a=1"),
        ("Set-Cookie", "b=2"), ("X-Latin", "caf\xe9"),
        ("X-Utf", "caf\xc3\xa9"), ("X-Empty", "")))
    crawl = t.c.start(f"http://{host}/")
    t.c.ends(crawl)
    h = t.c.crawl_items(crawl)[0]["headers"]
    many = [v for k, v in h.items() if k.lower() == "x-many"]
    t.same("repeats are joined", ", ".join(many), "1, 2")
    t.same("the first Set-Cookie", h.get("Set-Cookie"), "a=1")
    t.same("bytes", (h.get("X-Latin"), h.get("X-Utf"), h.get("X-Empty")),
           ("caf\xe9", "caf\xe9", ""))
    pairs = t.c.crawl_items(crawl, headers="list")[0]["headers"]
    t.same("a list loses nothing", [p for p in pairs if p[0] not in (
        "Server", "Date", "Content-Length")], [
        ["Content-Type", "text/html; charset=utf-8"], ["X-Many", "1"],
        ["x-MANY", "2"], ["Set-Cookie", "a=1"], ["Set-Cookie", "b=2"],
        ["X-Latin", "caf\xe9"], ["X-Utf", "caf\xe9"], ["X-Empty", ""]])


@case
def bodies(t):
    host = t.host()
    rng = random.Random(7)
    big = rng.randbytes(3 * MIB)
    pages = {"/empty": b"", "/one": b"x", "/two": b"xy", "/bytes":
             bytes(range(256)) * 3, "/edge": b"e" * (256 * KIB),
             "/over": b"o" * (256 * KIB + 1), "/big": big,
             "/huge": big * 4}
    t.web.put(host, "/", ok(html(*pages, "/gzip", "/bomb", "/heads")))
    heads = [(f"X-{i}", "\xe9" * 7000) for i in range(7)]
    t.web.put(host, "/heads", ok(b"h" * 250 * KIB, *heads))
    for path, body in pages.items():
        t.web.put(host, path, ok(body, kind="application/octet-stream"))
    plain = b"packed " * 100000
    t.web.put(host, "/gzip", ok(gzip.compress(plain),
                                ("Content-Encoding", "gzip")))
    t.web.put(host, "/bomb", ok(gzip.compress(bytes(20 * MIB)),
                                ("Content-Encoding", "gzip")))
    crawl = t.c.start(f"http://{host}/")
    n = t.c.read(crawl, closed_event=True)
    found = {"/" + i["url"].split("/", 3)[3]: i
             for i in t.c.until_closed(n, 60)[0]}
    for path, body in dict(pages, **{"/gzip": plain}).items():
        i = found.get(path)
        if not t.check(f"{path} came", i is not None):
            continue
        body = body[:10 * MIB]
        t.check(f"{path}: its bytes", body_of(i) == body,
                f"{len(body_of(i))} of {len(body)}")
        t.same(f"{path}: length, cut", (i["body_length"], i["truncated"]),
               (len(body), path == "/huge"))
    i = found.get("/heads")
    t.check("large heads and a large body", i and body_of(i) == b"h" * 250 *
            KIB and [i["headers"].get(k) for k, _ in heads] ==
            [v for _, v in heads])
    i = found.get("/bomb")
    t.check("a bomb is cut or an exception", i is None or (
        i["truncated"] and len(body_of(i)) <= 10 * MIB))
    light = {"/" + i["url"].split("/", 3)[3]: i
             for i in t.c.crawl_items(crawl, body=False)}
    t.same("body:false, the rest is the same", light,
           {k: {a: b for a, b in v.items() if a != "body"}
            for k, v in found.items()})
    small = t.c.start(f"http://{host}/big",
                      policy={"limits": {"max_body_bytes": 1000}})
    t.c.ends(small)
    i = t.c.crawl_items(small)[0]
    t.same("max_body_bytes", (body_of(i), i["truncated"], i["body_length"]),
           (big[:1000], True, 1000))


@case
def redirects(t):
    a, b = t.host(), t.host()

    def to(place, status=302):
        return ok("moved", ("Location", place), status=status)

    t.web.put(a, "/", ok(html("/page", "/once", "/thrice", "/lost", "/out",
                              "/nowhere", "/page#part")))
    t.web.put(a, "/page", ok(html(title="page")))
    t.web.put(a, "/once", to("/page", 301))
    t.web.put(a, "/thrice", to("/thrice2"))
    t.web.put(a, "/thrice2", to("/once", 307))
    t.web.put(a, "/lost", to("/gone"))
    t.web.put(a, "/out", to(f"http://{b}/"))
    t.web.put(a, "/nowhere", ok("no place", status=302))
    crawl = t.c.start(f"http://{a}/")
    m = t.c.ends(crawl)
    got = {"/" + i["url"].split("/", 3)[3]: i
           for i in t.c.crawl_items(crawl)}
    t.same("items", set(got), {"/", "/page", "/once", "/thrice", "/lost",
                               "/nowhere"})
    page = t.web.pages[a, "/page"][2]
    for path in ("/once", "/thrice"):
        t.same(path, (got[path]["status_code"], body_of(got[path]),
                      got[path].get("final_url")),
               (200, page, f"http://{a}/page"))
    t.check("no final_url without a redirect", "final_url" not in got["/"],
            got["/"].get("final_url"))
    t.same("/lost", (got["/lost"]["status_code"],
                     got["/lost"]["final_url"]), (404, f"http://{a}/gone"))
    t.same("counts", [m[k] for k in ("success", "redirect", "not_found",
                                     "skips")],
           [4, 1, 1, {"scope": 1}])


@case
def tokens(t):
    host = t.host()
    t.web.chain(host, 5)
    crawl = t.c.start(f"http://{host}/0", policy={"limits":
                                                  {"max_depth": 9}})
    other = t.c.start(f"http://{host}/0", policy={"limits":
                                                  {"max_depth": 9}})
    t.c.ends(crawl)
    t.c.ends(other)
    items = t.c.crawl_items(crawl)
    t.same("numbered from 1", [number_of(i["sync_token"]) for i in items],
           [1, 2, 3, 4, 5])
    mine = [i["sync_token"] for i in items]
    again = [i["sync_token"] for i in t.c.crawl_items(crawl)]
    t.same("tokens stay", again, mine)
    for start in (None, "", 0, "0", token_of("0")):
        m = t.c.ask("subscribe_crawl_items", crawl_id=crawl,
                    sync_token=start, closed_event=True)
        if start == token_of("0") and not m["success"]:
            continue
        t.same(f"sync_token {start!r} begins at 1", paths_of(
            t.c.until_closed(m["data"]["subscription_id"])[0]),
            [f"/{i}" for i in range(5)])
    for k in range(5):
        for form in (mine[k], token_of(str(k + 1))):
            got = t.c.crawl_items(crawl, sync_token=form)
            t.same(f"{token_text(form)} resumes", paths_of(got),
                   [f"/{i}" for i in range(k + 1, 5)])
    mark = token_text(mine[0]).split(".", 2)[2]
    theirs = t.c.crawl_items(other)[0]["sync_token"]
    log = t.c.good("subscribe_crawl_log", crawl_id=crawl)["subscription_id"]
    entry = t.c.event(log)["data"]["sync_token"]
    wrong = {
        "not base64": "!!", "no number": token_of("x"), "past the end":
        token_of("6"), "far past": token_of("9" * 30), "negative":
        token_of("-1"), "fraction": token_of("1.5"), "empty parts":
        token_of(".."), "another crawl's": theirs, "another store's":
        token_of(f"1.{crawl}.XXXXXXXX"), "half": token_of(f"1.{crawl}"),
        "more": token_of(f"1.{crawl}.{mark}.x"), "blank": " ",
        "past the end, whole": token_of(f"6.{crawl}.{mark}"),
        "blank inside": token_of(f"1 .{crawl}.{mark}"),
        "plus": token_of("+1"), "long": "QUJD" * 50000, "a log's": entry,
        "unpadded": mine[0].rstrip("=") + "A", "nul": token_of("1\0"),
        "number 1": 1, "boolean": True, "list": [mine[0]], "object": {},
    }
    texts = {}
    for name, token in wrong.items():
        m = t.c.ask("subscribe_crawl_items", crawl_id=crawl,
                    sync_token=token)
        fine = ("bad_token",) if isinstance(token, str) else (
            "bad_token", "bad_args")
        t.check(f"{name} is refused", m.get("code") in fine, m)
        texts[name] = m.get("error")
    which = [texts[k] for k in ("not base64", "past the end",
                                "another crawl's", "another store's")]
    t.same("the text says which", len(set(which)), 4)
    t.same("an item's is no log's", t.c.bad(
        "subscribe_crawl_log", crawl_id=crawl, sync_token=mine[0]),
        "bad_token")


@case
def waiting_at_the_end(t):
    host = t.host()
    gate = Gate(ok("last"))
    t.web.chain(host, 3)
    t.web.put(host, "/2", gate)
    crawl = t.c.start(f"http://{host}/0")
    a = t.c.read(crawl)
    last = t.c.items(a, 2)[-1]["sync_token"]
    b = t.c.read(crawl, sync_token=last)
    c = t.c.read(crawl, sync_token=token_of("2"))
    t.check("the last token waits", t.c.event(b, 0.3) is None)
    t.same("past the end", t.c.bad(
        "subscribe_crawl_items", crawl_id=crawl, sync_token=token_of("3")),
        "bad_token")
    gate.open()
    t.same("and then all have it", [paths_of(t.c.items(n, 1))
                                    for n in (a, b, c)], [["/2"]] * 3)
    t.c.ends(crawl)
    t.check("without closed_event it stays open, and silent",
            t.c.event(a, 0.3) is None)


@case
def another_store(t):
    host = t.host()
    t.web.chain(host, 2)
    s = Server("other", hosts={host: t.web.port})
    c = s.client()
    theirs = c.start(f"http://{host}/0")
    c.ends(theirs)
    token = c.crawl_items(theirs)[0]["sync_token"]
    s.stop()
    crawl = t.c.start(f"http://{host}/0")
    t.c.ends(crawl)
    t.same("a token of another store", t.c.bad(
        "subscribe_crawl_items", crawl_id=crawl, sync_token=token_of(
            f"1.{crawl}." + token_text(token).split(".", 2)[2])),
        "bad_token")


@case
def by_tag(t):
    hosts = [t.host() for _ in range(3)]
    for h in hosts:
        t.web.chain(h, 3)
    tag = "tagged"
    crawls = [t.c.start(f"http://{h}/0", tags=[tag, "x"]) for h in hosts[:2]]
    for crawl in crawls:
        t.c.ends(crawl)
    token = t.c.crawl_items(crawls[0])[0]["sync_token"]
    n = t.c.good("subscribe_crawl_items", tag=tag, closed_event=True,
                 sync_tokens={str(crawls[0]): token})["subscription_id"]
    got = t.c.items(n, 5)
    t.same("named crawls resume, others start at 1", sorted(urls_of(got)),
           sorted([f"http://{hosts[0]}/{i}" for i in (1, 2)] +
                  [f"http://{hosts[1]}/{i}" for i in (0, 1, 2)]))
    stats = t.c.stats(tag=tag)
    later = t.c.start(f"http://{hosts[2]}/0", tags=[tag])
    t.same("later crawls join", urls_of(t.c.items(n, 3)),
           [f"http://{hosts[2]}/{i}" for i in (0, 1, 2)])
    t.c.ends(later, n=stats)
    t.same("stats by tag", set(t.c.sub(stats).merged),
           {str(c) for c in crawls + [later]})
    t.c.idle(0.2)
    t.check("it never closes", t.c.sub(n).closed is None)
    t.same("tags match exactly", t.c.stats(tag="tagge") and t.c.event(
        t.c.stats(tag="tagged "), 0.2), None)
    for tokens in ({str(crawls[1]): token}, {"x": token}, {"99999": token},
                   {str(crawls[0]): "!!"}, {str(crawls[0]): token_of("9")}):
        m = t.c.ask("subscribe_crawl_items", tag=tag, sync_tokens=tokens)
        t.check(f"sync_tokens {tokens} are refused", m.get("code") in (
            "bad_token", "bad_args", "unknown_crawl"), m)


@case
def closed_events(t):
    host = t.host()
    t.web.chain(host, 4)
    crawl = t.c.start(f"http://{host}/0")
    live = t.c.read(crawl, closed_event=True)
    stats = t.c.stats(crawl_id=crawl, closed_event=True)
    items, closed = t.c.until_closed(live)
    t.same("after the last item", closed, {
        "crawl_id": crawl, "reason": "complete",
        "sync_token": items[-1]["sync_token"]})
    t.c.until(lambda: t.c.sub(stats).closed)
    t.same("stats close after the final state", (
        (t.c.sub(stats).closed or {}).get("reason"),
        t.c.merged(stats, crawl)["status"]), ("complete", "complete"))
    again = t.c.read(crawl, closed_event=True,
                     sync_token=items[-1]["sync_token"])
    items2, closed2 = t.c.until_closed(again, 3)
    t.same("on an ended crawl at once", (items2, closed2), ([], closed))
    stats = t.c.stats(crawl_id=crawl, closed_event=True)
    t.c.until(lambda: t.c.sub(stats).closed, 3)
    t.check("... stats too, after the full state", t.c.sub(stats).closed and
            t.c.merged(stats, crawl)["status"] == "complete")
    t.check("a closed one may be unsubscribed", t.c.ask(
        "unsubscribe", subscription_id=live)["success"])
    void = t.c.start("http://closed.test/")
    n = t.c.read(void, closed_event=True)
    items, closed = t.c.until_closed(n)
    t.same("a crawl without items", (items, (closed or {}).get("reason")),
           ([], "complete"))


# ---- Order -------------------------------------------------------------------

@case
def order(t):
    """The rules that every client is held to do the checking."""
    host = t.host()
    t.web.chain(host, 3)
    n = t.c.stats(min_interval=0)
    crawls = []
    for i in range(40):
        t.c.send("start_crawl", {"seeds": [{"url": f"http://{host}/0",
                                            "rate_limit": 0}]}, f"s{i}")
        t.c.send("subscribe_crawl_stats", {"min_interval": 0}, f"t{i}")
        t.c.pump(0.01 * (i % 3))
    for i in range(40):
        crawls.append(t.c.await_response(f"s{i}")["data"]["crawl_id"])
        sub = t.c.await_response(f"t{i}")["data"]["subscription_id"]
        t.c.send("unsubscribe", {"subscription_id": sub}, f"u{i}")
    for i in range(40):
        t.c.await_response(f"u{i}")
    t.same("crawl IDs are distinct", len(set(crawls)), 40)
    for crawl in crawls:
        t.c.ends(crawl, n=n)
    # Unsubscribed in the middle of a stream of items.
    for i in range(20):
        sub = t.c.read(crawls[i])
        t.c.pump(0.002 * i)
        t.c.good("unsubscribe", subscription_id=sub)
    t.c.idle(0.2)
    t.check("no rule was broken", not Rules.faults, Rules.faults)


# ---- Rates -------------------------------------------------------------------

@case
def rates(t):
    host = t.host()
    t.web.star(host, 40)
    quick = t.c.start(f"http://{host}/", rate=0.05)
    slow = t.c.start(f"http://{host}/", rate=0.3)
    t.c.for_a_while(3)
    asked = t.web.requests(host)[2:]
    gaps = [b[1] - a[2] for a, b in zip(asked, asked[1:])]
    t.check("the largest running value wins", len(gaps) > 5 and
            min(gaps) > 0.29, [f"{g:.3f}" for g in gaps])
    t.c.good("job.cancel", crawl_id=slow)
    t.c.for_a_while(0.5)
    at = len(t.web.requests(host))
    t.c.ends(quick)
    asked = t.web.requests(host)[at:]
    gaps = sorted(b[1] - a[2] for a, b in zip(asked, asked[1:]))
    t.check("then the other", gaps and 0.049 < gaps[0] and
            gaps[len(gaps) // 2] < 0.2, gaps)
    own = t.host()
    t.web.star(own, 3)
    t.web.put(own, "/robots.txt", ok("User-agent: *\nCrawl-delay: 0.4\n",
                                     kind="text/plain"))
    t.c.ends(t.c.start(f"http://{own}/", rate=0))
    asked = t.web.requests(own)
    gaps = [b[1] - a[2] for a, b in zip(asked, asked[1:])]
    t.check("a longer Crawl-delay wins", gaps and min(gaps) > 0.39, gaps)
    null = t.host()
    t.web.star(null, 50)
    began = time.monotonic()
    t.c.ends(t.c.start(f"http://{null}/", rate="0"))
    t.check("0 adds no delay", time.monotonic() - began < 3,
            time.monotonic() - began)


# ---- Servers of their own -----------------------------------------------------

def survives(web):
    """IDs, tokens, states and counters over ends of every kind."""
    s = Server("survives", *STORE_SETTINGS,
               hosts={f"s{i}.test": web.port for i in range(4)})
    web.chain("s0.test", 5)
    web.star("s1.test", 60, delay=0.02)
    web.star("s2.test", 60, delay=0.02)
    c = s.client()
    done_, paused, running = [c.start(f"http://s{i}.test/" +
                                      ("0" if i == 0 else ""))
                              for i in range(3)]
    c.ends(done_)
    items = c.crawl_items(done_)
    c.good("job.pause", crawl_id=paused)
    for kill in (True, False, True):
        n = c.stats()
        c.for_a_while(0.3)
        before = {k: dict(v) for k, v in c.sub(n).merged.items()}
        s.restart(kill=kill)
        how = "kill -9" if kill else "SIGTERM"
        c.close()
        c = s.client()
        after = snapshot(s)
        same(f"{how}: the same crawls", set(after), set(before))
        check(f"{how}: no counter fell", all(
            after[k][f] >= before[k][f] for k in before for f in COUNTERS),
            f"{before} {after}")
        same(f"{how}: paused stays paused", after[str(paused)]["status"],
             "paused")
        same(f"{how}: items and tokens stay", c.crawl_items(done_), items)
        same(f"{how}: a token resumes", c.crawl_items(
            done_, sync_token=items[2]["sync_token"]), items[3:])
    c.good("job.resume", crawl_id=paused)
    for crawl in (running, paused):
        c.ends(crawl)
        found = urls_of(c.crawl_items(crawl))
        check(f"crawl {crawl} is whole, nothing twice",
              len(found) == len(set(found)) == 61, len(found))
    check("IDs are not used again", c.start("http://s3.test/") > running)
    s.stop()


def many(web):
    """More crawls than an event takes, and more than may run."""
    s = Server("many", "fetch.tries_max=1", "crawl.running_max=8",
               hosts={f"m{i}.test": web.port for i in range(20)})
    c = s.client()
    n = 520
    gate = Gate(ok("x"))
    for i in range(20):
        web.put(f"m{i}.test", "/", gate)
    for i in range(n):
        c.send("start_crawl", {"seeds": [{"url": f"http://m{i % 20}.test/",
                                          "rate_limit": 0}]}, f"m{i}")
    ids = [c.await_response(f"m{i}", 30)["data"]["crawl_id"]
           for i in range(n)]
    watch = s.client()
    sub = watch.stats()
    watch.until(lambda: len(watch.sub(sub).merged) == n, 5)
    same("all crawls are told", len(watch.sub(sub).merged), n)
    sizes = [len(e["data"]) for e in list(watch.sub(sub).events)[:2]]
    same("split at 500", sizes, [500, 20])
    states = collections.Counter(m["status"] for m in
                                 watch.sub(sub).merged.values())
    same("the limit of running crawls", states,
         {"running": 8, "pending": n - 8})
    gate.open()
    watch.until(lambda: all(m["status"] == "complete" for m in
                            watch.sub(sub).merged.values()), 40)
    states = collections.Counter(m["status"] for m in
                                 watch.sub(sub).merged.values())
    same("all complete", states, {"complete": n})
    page = c.good("list_crawls", start=10, size=5)
    same("a page of the list", (page["total"], [x["crawl_id"] for x in
                                                page["crawls"]]),
         (n, ids[::-1][10:15]))
    s.stop()


def told_everywhere(s, c):
    """What the daemon says, shows and has written: place -> bytes."""
    told = {path: s.http(path)[2] for path in ("/metrics", "/status")}
    for command in ("list_crawls", "policy.list", "schedule.list"):
        told[command] = json.dumps(c.good(command)).encode()
    files = [f"/proc/{s.child.pid}/cmdline", s.log]
    with open(files[0], "rb") as f:
        told[files.pop(0)] = f.read()
    s.stop()
    for place, _, names in os.walk(s.data):
        files += [os.path.join(place, name) for name in names]
    for name in files:
        with (gzip.open if name.endswith(".gz") else open)(name, "rb") as f:
            told[name] = f.read()
    return told


def secrets(web):
    """Each is a word of its own, and nobody repeats it who refuses it."""
    data = os.path.join(PLACE, "secrets")
    token = subprocess.run(
        [program(), "token", "add", "all", "--data", data, "--scope",
         "*:write"], capture_output=True, text=True, check=True).stdout.strip()
    wrong = token[:8] + token[:7:-1]
    web.put("s.test", "/", ok(html("http://x:zlinkz@s.test/1", "/moved")))
    web.put("s.test", "/moved", ok("", (
        "Location", "http://x:zlinkz@s.test/2"), status=302))
    s = Server("secrets", *STORE_SETTINGS, "log.level=debug", data=data,
               hosts={"s.test": web.port, "closed.test": closed_port()})
    c = s.client(f"/?token={token}")
    refused = 0
    for path, fields in (
            (f"/?token={wrong}", {}), (f"/zpathz?token={wrong}", {}),
            ("/", {"Authorization": f"Bearer {wrong}"}),
            ("/", {"Authorization": "Basic zbasicz"})):
        try:
            s.client(path, fields=fields)
        except Refused:
            refused += 1
        s.http(path.replace("/?", "/crawls/0/files/?"), fields=fields)
    s.http("/session", "POST", body=json.dumps({"token": wrong}).encode())
    same("wrong tokens are refused", refused, 4)
    crawl = c.start("http://s.test/", "http://closed.test/")
    c.ends(crawl)
    answers = []

    def say(command, **args):
        answers.append(c.ask(command, **args))
        return answers[-1]["success"]

    taken = [name for name in ("Authorization", "Cookie", "X-Api-Key")
             if say("policy.put", name="p",
                    policy={"headers": {name: "zheaderz"}})]
    for proxy in ("http://u:zproxyz@a.org:1", "socks5://u:zproxyz@[:1"):
        taken += [proxy] if say("start_crawl", seeds=["a.org"],
                                policy={"proxy": proxy}) else []
    for seed in ("http://u:zseedz@a.org/", "http://u:zseedz@[/",
                 "u:zseedz@a.org", "ftp://u:zseedz@a.org/"):
        for command, more in (("start_crawl", {}), ("schedule.put", {
                "name": "s", "every": 1, "unit": "days"})):
            taken += [seed] if say(command, seeds=[seed], **more) else []
        say("explain", url=seed)
        say("find_url", crawl_id=crawl, url=seed)
        say("job.retry", crawl_id=crawl, urls=[seed])
    same("secrets are refused where they would be kept", taken, [])
    items = c.crawl_items(crawl)
    told = told_everywhere(s, c)
    told["answers"] = repr(answers).encode()
    for secret in (token[8:], wrong[8:], "zbasicz", "zheaderz", "zproxyz",
                   "zseedz"):
        same(f"{secret[:8]} is nowhere", [
            place for place, text in told.items() if secret.encode() in text],
            [])
    same("what a site wrote is in no address", [
        i["url"] for i in items if "zlinkz" in i["url"] +
        i.get("final_url", "")], [])


def main():
    web = Web()
    hosts = {f"h{i}.test": web.port for i in range(1, HOSTS)}
    hosts["closed.test"] = closed_port()
    wanted = sys.argv[1:]
    server = Server("main", *STORE_SETTINGS,
                    f"fetch.resolve=tls.test:443:127.0.0.1:{web.port}," +
                    ",".join(f"{h}:80:127.0.0.1:{p}"
                             for h, p in hosts.items()))
    case.run(server, web, workers=6)
    for f in (survives, many, secrets):
        if not wanted or f.__name__ in wanted:
            try:
                f(web)
            except (OSError, AssertionError, Closed, Silent, KeyError) as e:
                check(f"{f.__name__} goes to its end", False, repr(e))
    rules_kept()
    same("SIGTERM ends the daemon", server.stop(), 0)
    done()


main()
