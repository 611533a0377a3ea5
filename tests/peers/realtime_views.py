"""What the realtime door adds to the seed's commands: log, monitor, frontier,
steering, pages and problems, policies, schedules, files.

usage: realtime_views.sh [CASE...]
"""
import gzip
import shutil
import subprocess

from realtime_peer import *

begin("realtime_views")
case = Cases()
HOSTS = 60


# ---- Log, monitor, frontier ---------------------------------------------------

@case
def log(t):
    host = t.host()
    t.web.put(host, "/", ok(html("/gone", "http://closed.test/")))
    t.web.put(host, "/robots.txt", ok("User-agent: *\nDisallow: /gone\n",
                                      kind="text/plain"))
    policy = {"url_rules": [{"action": "add", "amount": 1}]}
    crawl = t.c.start(f"http://{host}/", policy=policy, tags=["logged"])
    n = t.c.good("subscribe_crawl_log", crawl_id=crawl)["subscription_id"]
    t.c.ends(crawl)
    t.c.idle(0.3)
    entries = [e["data"] for e in t.c.sub(n).events]
    kinds = [e.get("kind") for e in entries]
    t.check("its kinds", kinds[:1] == ["started"] and "exception" in kinds
            and "completed" in kinds, kinds)
    t.check("kind, text, time", all(
        e.get("text") and abs(e.get("at", 0) - time.time()) < 60
        for e in entries), entries)
    broken = [e for e in entries if e["kind"] == "exception"]
    t.check("host, url, reason", broken and
            broken[0].get("url", "").startswith("http://closed.test/") and
            broken[0].get("reason") == "connect", broken)
    for k in (0, len(entries) - 1):
        sub = t.c.good("subscribe_crawl_log", crawl_id=crawl,
                       sync_token=entries[k]["sync_token"])
        t.c.idle(0.2)
        got = [e["data"] for e in t.c.sub(sub["subscription_id"]).events]
        t.same(f"resumed after entry {k + 1}", got, entries[k + 1:])
    sub = t.c.good("subscribe_crawl_log", tag="logged")["subscription_id"]
    t.c.idle(0.2)
    t.same("by tag", [e["data"] for e in t.c.sub(sub).events], entries)
    sub = t.c.good("subscribe_crawl_log")["subscription_id"]
    t.c.idle(0.3)
    t.check("of all crawls", len({e["data"]["crawl_id"] for e in
                                  t.c.sub(sub).events}) > 1)
    t.c.good("unsubscribe", subscription_id=sub)
    sub = t.c.good("subscribe_crawl_log", crawl_id=crawl, closed_event=True
                   ) if t.c.ask("subscribe_crawl_log", crawl_id=crawl,
                                closed_event=True)["success"] else None
    if sub is not None:
        t.c.until(lambda: t.c.sub(sub["subscription_id"]).closed, 3)
        t.check("it closes, if it may", t.c.sub(
            sub["subscription_id"]).closed)


@case
def forgotten_entries(t):
    """A log keeps its newest; who comes from before them hears of the gap."""
    s = Server("forgets", "crawl.log_max=100",
               hosts={"forgets.test": t.web.port})
    c = s.client()
    gate = Gate(ok("x"))
    t.web.put("forgets.test", "/", gate)
    crawl = c.start("http://forgets.test/")
    wait_until(lambda: gate.waiting, 5)

    def lines(n):
        for _ in range(n // 2):
            c.good("job.pause", crawl_id=crawl)
            c.good("job.resume", crawl_id=crawl)

    def read(**args):
        n = c.good("subscribe_crawl_log", crawl_id=crawl,
                   **args)["subscription_id"]
        c.idle(0.2)
        return [(number_of(e["data"]["sync_token"]), e["data"].get("gap"),
                 e["data"]["sync_token"]) for e in c.sub(n).events]

    lines(20)
    early = read()
    last = len(early)
    t.check("at first all are there", last > 20 and [
        e[:2] for e in early] == [(i + 1, None) for i in range(last)], early)
    lines(120)
    newest = list(range(last + 120 - 99, last + 120 + 1))
    late = read()
    t.same("then the newest hundred", [e[:2] for e in late],
           [(i, None) for i in newest])
    t.same("gap:true on the first event after an older token",
           [e[:2] for e in read(sync_token=early[-1][2])],
           [(i, i == newest[0] or None) for i in newest])
    t.same("no gap after the last that is gone", [e[:2] for e in read(
        sync_token=token_of(token_text(late[0][2]).replace(
            f"{newest[0]}.", f"{newest[0] - 1}.", 1)))],
        [(i, None) for i in newest])
    t.same("nor after one that is kept", [e[:2] for e in read(
        sync_token=late[5][2])], [(i, None) for i in newest[6:]])
    gate.open()
    c.close()
    s.stop()


@case
def monitor(t):
    n = t.c.good("subscribe_monitor")["subscription_id"]
    frames = [t.c.event(n, 3) for _ in range(2)]
    t.c.for_a_while(2.3)
    frames += list(t.c.sub(n).events)
    data = [f["data"] for f in frames if f]
    fields = ("at", "cpu", "rss", "disk_free", "bytes_in", "bytes_out",
              "downloads", "downloads_max", "pages_per_s", "bytes_per_s",
              "stages", "hosts", "loops", "subscribers", "dropped")
    t.check("its fields", data and all(f in d for d in data for f in fields),
            data[:1])
    at = [d["at"] for d in data]
    t.check("oldest first, one each second, the past before", at ==
            sorted(at) and 3 <= len(at) <= 64 and
            at[-1] - at[-2] > 0.8, at)
    last = data[-1]
    t.same("stages", set(last["stages"]), {"frontier", "fetcher", "parser",
                                           "store", "archive"})
    t.same("hosts", set(last["hosts"]), {"ready", "delayed", "backoff"})
    loads = {x["name"]: x["load"] for x in last["loops"]}
    t.check("loops", {"home", "fetch", "ledger", "index"} <= set(loads),
            loads)
    t.check("their loads are what the processor is", abs(last["cpu"] - sum(
        x["load"] for x in last["loops"])) < 0.3, last)
    rss = t.server.memory_kib() * 1024
    t.check("rss is bytes", rss / 4 < last["rss"] < rss * 4, last["rss"])
    crawl = t.c.start("http://closed.test/")
    item = t.c.read(crawl)
    found = t.c.until(lambda: any(
        x["subscription_id"] == item for e in t.c.sub(n).events
        for x in e["data"]["subscribers"]), 4)
    t.check("subscribers, with their lag", found, last["subscribers"])


@case
def frontier(t):
    host = t.host()
    gate = Gate(ok(html(*[f"/{i}" for i in range(30)])))
    t.web.put(host, "/", gate)
    slow = Gate(ok("slow"))
    for i in range(30):
        t.web.put(host, f"/{i}", slow)
    crawl = t.c.start(f"http://{host}/", rate=0.01)
    wait_until(lambda: gate.waiting, 5)
    n = t.c.good("subscribe_frontier", crawl_id=crawl, min_interval=0.1,
                 urls=5)["subscription_id"]
    e = t.c.event(n)
    t.check("its fields", e and all(k in e["data"] for k in (
        "queued", "in_flight", "hosts", "urls", "why")), e)
    gate.open()
    wait_until(lambda: slow.waiting, 5)
    t.check("the subscription follows", t.c.until(lambda: any(
        e["data"]["queued"] >= 29 for e in t.c.sub(n).events), 3),
        list(t.c.sub(n).events)[-1:])
    v = t.c.good("get_frontier", crawl_id=crawl, hosts=1, urls=5)
    t.check("queued, in flight", v["queued"] in (29, 30) and
            v["in_flight"] == 1, v)
    t.check("hosts", len(v["hosts"]) == 1 and v["hosts"][0]["host"] == host
            and {"queued", "state", "delay", "next_at"} <=
            set(v["hosts"][0]), v["hosts"])
    t.check("urls", len(v["urls"]) == 5 and all(
        {"url", "depth", "cost", "host"} <= set(u) for u in v["urls"]) and
        v["urls"][0]["depth"] == 1, v["urls"])
    w = t.c.good("why", crawl_id=crawl)
    t.check("why, with numbers", w["why"] and isinstance(w["facts"], dict),
            w)
    slow.open()
    t.c.good("job.cancel", crawl_id=crawl)


@case
def why_of_a_delay(t):
    host = t.host()
    t.web.star(host, 5)
    crawl = t.c.start(f"http://{host}/", rate=4)
    wait_until(lambda: t.web.requests(host) or
               any(a[0] == host for a in t.web.asked), 5)
    t.c.for_a_while(0.5)
    w = t.c.good("why", crawl_id=crawl)
    t.check("the host's delay", host in w["why"] and "delay" in w["why"], w)
    t.c.good("job.cancel", crawl_id=crawl)
    t.check("of an ended crawl", t.c.good("why", crawl_id=crawl)["why"])


# ---- Steering ----------------------------------------------------------------

@case
def exclude(t):
    host = t.host()
    gate = Gate(ok("slow"))
    links = [f"/keep/{i}" for i in range(5)] + [f"/bad/{i}"
                                                for i in range(200)]
    t.web.put(host, "/", ok(html("/gate", *links)))
    t.web.put(host, "/gate", gate)
    for x in links:
        t.web.put(host, x, ok(html("/bad/more", title=x)))
    crawl = t.c.start(f"http://{host}/", rate=0.001)
    wait_until(lambda: gate.waiting, 5)
    seen = t.c.good("job.exclude", crawl_id=crawl, pattern="/bad/",
                    preview=True)
    t.check("a preview", seen["removed"] == 200 and len(seen["sample"]) ==
            100 and all("/bad/" in u for u in seen["sample"]), seen)
    t.same("... removes nothing", t.c.good(
        "job.exclude", crawl_id=crawl, pattern="/bad/",
        preview=True, partial=True)["removed"], 200)
    t.check("a wrong pattern", t.c.bad("job.exclude", crawl_id=crawl,
                                       pattern="(") in ("bad_args",
                                                        "bad_policy"))
    t.same("removed", t.c.good("job.exclude", crawl_id=crawl,
                               pattern="/bad/")["removed"], 200)
    gate.open()
    m = t.c.ends(crawl)
    t.same("what is left is fetched", sorted(p for p, *_ in
                                             t.web.requests(host)),
           sorted(["/", "/gate"] + links[:5]))
    t.check("the others are skipped", m["skipped"] >= 200, m)


@case
def retry(t):
    host, other = t.host(), t.host()
    gate = Gate(ok("slow"))
    t.web.put(host, "/", ok(html("/bad", "/fine")))
    t.web.put(host, "/bad", reset)
    t.web.put(host, "/fine", ok("fine"))
    t.web.put(other, "/", gate)
    crawl = t.c.start(f"http://{host}/", f"http://{other}/")
    n = t.c.stats(crawl_id=crawl)
    t.check("before", t.c.until(lambda: (
        t.c.merged(n, crawl).get("success"),
        t.c.merged(n, crawl).get("exceptions")) == (2, {"reset": 1})),
        t.c.merged(n, crawl))
    t.web.put(host, "/bad", ok("well again"))
    t.same("another reason", t.c.good("job.retry", crawl_id=crawl,
                                      reason="dns")["requeued"], 0)
    t.same("by a URL that is none of them", t.c.good(
        "job.retry", crawl_id=crawl,
        urls=[f"http://{host}/nowhere", f"http://{host}/fine"])["requeued"],
        0)
    t.same("requeued", t.c.good("job.retry", crawl_id=crawl,
                                reason="reset")["requeued"], 1)
    t.check("it is fetched", t.c.until(lambda: t.c.merged(n, crawl).get(
        "success") == 3), t.c.merged(n, crawl))
    gate.open()
    t.c.ends(crawl, n=n)
    t.same("nothing is left to complain of", t.c.merged(n, crawl)[
        "exceptions"], {})
    t.same("items without gap or repeat", sorted(paths_of(
        t.c.crawl_items(crawl))), ["/", "/", "/bad", "/fine"])
    t.same("of an ended crawl", t.c.bad("job.retry", crawl_id=crawl,
                                        reason="reset"), "bad_state")


@case
def retry_of_the_unreachable(t):
    """A robots.txt that cannot be had is an exception, each time."""
    host = t.host()
    gate = Gate(ok("slow"))
    t.web.put(host, "/", gate)
    crawl = t.c.start(f"http://{host}/", *[f"http://closed.test/{i}"
                                           for i in range(3)])
    again = []

    def tried():
        again.append(t.c.good("job.retry", crawl_id=crawl,
                              reason="connect")["requeued"])
        return sum(again) >= 9

    t.check("three failed thrice, and are tried again", wait_until(tried),
            again)
    gate.open()
    m = t.c.ends(crawl)
    t.same("and nothing is skipped", (m["exceptions"], m["skips"]),
           ({"connect": 3}, {}))


@case
def delete(t):
    host = t.host()
    gate = Gate(ok("x"))
    t.web.put(host, "/", gate)
    crawl = t.c.start(f"http://{host}/", tags=["deleted"])
    t.same("a running crawl", t.c.bad("job.delete", crawl_id=crawl),
           "bad_state")
    gate.open()
    t.c.ends(crawl)
    files = json.loads(t.server.http(f"/crawls/{crawl}/files/")[2])
    n = t.c.read(crawl, closed_event=False)
    tag = t.c.good("subscribe_crawl_items", tag="deleted",
                   closed_event=True)["subscription_id"]
    t.c.items(tag, 1)
    t.same("deleted", t.c.good("job.delete", crawl_id=crawl)["crawl_id"],
           crawl)
    for command in ("why", "subscribe_crawl_items", "list_pages",
                    "job.delete", "subscribe_crawl_log", "job.cancel"):
        t.same(f"{command} afterwards", t.c.bad(command, crawl_id=crawl),
               "unknown_crawl")
    t.same("it is not listed", t.c.good("list_crawls", tag="deleted"),
           {"total": 0, "crawls": []})
    t.check("nor in statistics", str(crawl) not in snapshot(t.server))
    del files, n


# ---- Pages and questions ------------------------------------------------------

@case
def pages(t):
    host = t.host()
    t.web.put(host, "/", ok(html("/one", "/two", "/gone", "/text",
                                 title="Home")))
    t.web.put(host, "/one", ok(html(title="First Title")))
    t.web.put(host, "/two", ok(html(title="First Title")))
    t.web.put(host, "/text", ok("plain", kind="text/plain"))
    crawl = t.c.start(f"http://{host}/", "http://closed.test/", rate=0.01)
    t.c.ends(crawl)

    def ask(**args):
        got = t.c.good("list_pages", crawl_id=crawl, **args)
        return got["total"], [p["url"].split("/", 3)[3]
                              for p in got["pages"]]

    t.same("all", ask(order="oldest"),
           (5, ["", "one", "two", "gone", "text"]))
    t.same("newest", ask(order="newest", size=2)[1], ["text", "gone"])
    t.same("a part", ask(order="oldest", start=1, size=2),
           (5, ["one", "two"]))
    t.same("by status", ask(status="404"), (1, ["gone"]))
    t.same("by class", ask(status="4xx"), (1, ["gone"]))
    t.same("by type", ask(type="text/plain"), (1, ["text"]))
    t.same("by text of the title", ask(text="first", order="oldest"),
           (2, ["one", "two"]))
    t.same("by host", ask(host="closed.test")[0], 0)
    p = t.c.good("get_page", crawl_id=crawl, number=2, body=True)
    text = json.dumps(p)
    t.check("get_page: heads, timing, digest, links, duplicates, body", all(
        k in text for k in ("GET /one", "HTTP/1.1 200", "digest",
                            "timing")) and
        {"links", "duplicates"} <= set(p) and base64.b64decode(p["body"]) ==
        t.web.pages[host, "/one"][2], text[:500])
    t.check("... a duplicate is found", "/two" in json.dumps(
        p["duplicates"]), p["duplicates"])
    t.same("by digest", ask(digest=p["digest"], order="oldest"),
           (2, ["one", "two"]))
    t.same("... soon, and all of it", ask(digest=p["digest"], partial=True),
           (2, ["one", "two"]))
    t.check("get_page without duplicates", not [k for k in t.c.good(
        "get_page", crawl_id=crawl, number=2, duplicates=False)
        if "duplicates" in k])
    t.check("get_page of none", t.c.bad("get_page", crawl_id=crawl,
                                        number=99) in CODES)
    f = t.c.good("find_url", crawl_id=crawl, url=f"http://{host}/one")
    t.check("find_url", f.get("known") is True and f.get("state"), f)
    f = t.c.good("find_url", crawl_id=crawl, url=f"http://{host}/never")
    t.same("... of one that is not", f.get("known"), False)
    f = t.c.good("find_url", crawl_id=crawl, url="http://closed.test/")
    t.check("... of an exception", "connect" in json.dumps(f), f)
    h = t.c.until(lambda: (lambda h: h["points"][-1][2] == 5 and h)(
        t.c.good("get_history", crawl_id=crawl)), 5)
    t.check("get_history goes from nothing to what came", h and
            h["fields"][:4] == ["at", "queued", "items", "bytes"] and
            h["points"][0][2] == 0 and sorted(h["points"]) == h["points"] and
            h["points"][-1][1:] == [0, 5, sum(
                p["body_length"] for p in t.c.good(
                    "list_pages", crawl_id=crawl)["pages"]), 4, 0, 1, 0, 1],
            h)
    g = t.c.good("list_problems", crawl_id=crawl)
    groups = next(v for v in g.values() if isinstance(v, list)) \
        if isinstance(g, dict) else g
    t.check("list_problems", any(
        x.get("reason") == "connect" and x.get("count") == 1
        for x in groups), g)


@case
def explain(t):
    x = t.c.good("explain", url="http://a.test/x", policy={
        "url_rules": [{"pattern": "/x$", "action": "add", "amount": 5},
                      {"action": "multiply", "amount": 0}]})
    y = t.c.good("explain", url="http://a.test/y", policy={
        "url_rules": [{"pattern": "/x$", "action": "add", "amount": 5},
                      {"action": "multiply", "amount": 0}]}, parent_cost=3)
    t.check("the rule that decides", x and y and x != y and
            "scope" in json.dumps(y), f"{x} {y}")


@case
def shelf(t):
    policy = {"limits": {"max_depth": 0}, "rate_limit": 0}
    t.c.good("policy.put", name="flat", policy=policy)
    got = t.c.good("policy.get", name="flat")
    text = json.dumps(got)
    t.check("missing fields take the built-in values", '"max_depth": 0' in
            text and '"robots": "obey"' in text, got)
    t.check("policy.list", {"default", "flat"} <= {
        x if isinstance(x, str) else x.get("name")
        for v in t.c.good("policy.list").values()
        if isinstance(v, list) for x in v}, t.c.good("policy.list"))
    host = t.host()
    t.web.star(host, 3)
    crawl = t.c.start(f"http://{host}/", policy="flat")
    t.c.good("policy.put", name="flat", policy={"limits":
                                                {"max_depth": 5}})
    m = t.c.ends(crawl)
    t.same("a crawl copies its policy", (m["success"], m["skips"]),
           (1, {"depth": 3}))
    row = t.c.good("list_crawls", size=1000)["crawls"]
    t.check("... and says its name", any(
        r["crawl_id"] == crawl and r["policy"] == "flat" for r in row))
    t.c.good("policy.delete", name="flat")
    t.same("deleted", t.c.bad("policy.get", name="flat"), "unknown_policy")


@case
def default_policy(t):
    got = t.c.good("policy.get", name="default")
    got = got.get("policy", got)
    want = {"robots": "obey", "rate_limit": 5, "downloads": 10,
            "embeds": False, "sitemaps": False, "cookies": True,
            "mime_rules": [{"keep": True}], "headers": {},
            "normalize": {"strip": ["JSESSIONID", "PHPSESSID", "sid"]},
            "url_rules": [{"pattern": "^https?://{SEED_DOMAINS}(:\\d+)?/",
                           "action": "add", "amount": 1},
                          {"action": "multiply", "amount": 0}]}
    t.same("the policy default", {k: got.get(k) for k in want}, want)
    limits = got["limits"]
    t.same("its limits", [limits.get(k, "-") for k in (
        "max_cost", "max_depth", "max_items", "max_duration",
        "max_body_bytes", "timeout")], [None, 3, None, None, 10485760, 30])


@case
def schedules(t):
    host = t.host()
    t.web.chain(host, 2)
    n = t.c.stats(tag="planned")
    data = t.c.good("schedule.put", name="each", seeds=[
        {"url": f"http://{host}/0", "rate_limit": 0}], tags=["planned"],
        every=1, unit="days", timing="regular_interval",
        name_template="each {COUNT}", start_at=time.time() + 1)
    t.check("it starts its crawl, once", t.c.until(
        lambda: t.c.sub(n).merged, 8), data)
    t.c.idle(0.5)
    t.same("... with its name and tags", [
        (m["name"], m["tags"]) for m in t.c.sub(n).merged.values()],
        [("each 1", ["planned"])])
    rows = t.c.good("schedule.list")
    t.check("schedule.list", "each" in json.dumps(rows), rows)
    for wrong in ({"every": 0}, {"unit": "parsecs"}, {"timing": "x"},
                  {"seeds": []}, {"every": -1}, {"policy": "nobody"}):
        args = dict(name="w", seeds=[f"http://{host}/0"], every=1,
                    unit="days")
        args.update(wrong)
        m = t.c.ask("schedule.put", **args)
        t.check(f"{wrong} is refused", m.get("code") in (
            "bad_args", "unknown_policy", "bad_policy"), m)
    t.check("deleted", t.c.ask("schedule.delete",
                               schedule_id=data["schedule_id"])["success"])
    t.check("... it is not listed", '"each"' not in json.dumps(
        t.c.good("schedule.list")))


@case
def rules_that_decide(t):
    """Questions about a URL name the rule, as people number them."""
    host = t.host()
    t.web.put(host, "/robots.txt", ok("User-agent: FooBot\r\nDisallow: /no\r\n"
                                      "\r\nUser-agent: *\r\nAllow: /\r\n",
                                      kind="text/plain"))
    t.web.put(host, "/", ok(html("/no", "/yes", "http://out.test/")))
    t.web.put(host, "/yes", ok("yes"))
    crawl = t.c.start(f"http://{host}/", policy={
        "rate_limit": 0, "user_agent": "FooBot/1.0"}, rate=0)
    t.c.ends(crawl)
    f = t.c.good("find_url", crawl_id=crawl, url=f"http://{host}/no")
    t.same("what robots.txt skipped", (f["reason"], f["text"],
           f["robots"]["line"], f["robots"]["rule"]), ("robots",
           "line 2 of robots.txt forbids it: Disallow: /no", 2,
           "Disallow: /no"))
    f = t.c.good("find_url", crawl_id=crawl, url="http://out.test/")
    t.same("what the scope skipped", (f["reason"], f["text"]), ("scope",
           "URL rule 2, for everything else, leaves it out"))
    f = t.c.good("find_url", crawl_id=crawl, url=f"http://{host}/no/more")
    t.same("what was not found yet", (f["verdict"]["reason"],
           f["verdict"]["text"]), ("robots", "it would be skipped: "
           "line 2 of robots.txt forbids it: Disallow: /no"))
    for agent, allow in (("FooBot/2", False), ("BarBot", True)):
        x = t.c.good("explain", url=f"http://{host}/no",
                     policy={"user_agent": agent})
        t.same(f"explain: {agent}", (x["text"], x["robots"]["allow"]),
               ("URL rule 1 takes it", allow))
    x = t.c.good("explain", url=f"http://{host}/no", policy="default")
    t.same("explain: a policy's name", x["robots"]["allow"], True)
    m = t.c.ask("policy.put", name="bad", policy={"user_agent": "4you"})
    t.check("policy.put: a name that robots.txt cannot say",
            m["code"] == "bad_policy" and "user_agent" in m["error"], m)
    m = t.c.ask("start_crawl", seeds=[f"http://{host}/"],
                policy={"user_agent": "4you"})
    t.check("... nor start_crawl", m["code"] == "bad_policy", m)


@case
def found_on(t):
    """Each page names the one on which its URL was found first; so do its
    records, from which a lost data directory is made again."""
    s = Server("via", hosts={"via.test": t.web.port})
    t.web.put("via.test", "/", ok(html("/one", "/two", "/gone")))
    t.web.put("via.test", "/one", ok(html("/", "/three", "/two", title="1")))
    t.web.put("via.test", "/two", ok(html("/three", "/away", title="2")))
    t.web.put("via.test", "/three", ok("three"))
    t.web.put("via.test", "/away", ok("", ("Location", "/land"), status=302))
    t.web.put("via.test", "/land", ok("land"))
    want = {"": "-", "one": "", "two": "", "gone": "", "three": "one|two",
            "away": "two"}

    def told(c):
        pages = c.good("list_pages", crawl_id=crawl)["pages"]
        return {p["url"].split("/", 3)[3]: (c.good(
            "get_page", crawl_id=crawl, number=p["number"]).get("via") or
            "///-").split("/", 3)[3] for p in pages}

    c = s.client()
    crawl = c.start("http://via.test/", rate=0)
    c.ends(crawl)
    got = told(c)
    t.check("the page on which it was found", got.keys() == want.keys() and
            all(got[k] in want[k].split("|") for k in want), got)
    c.close()
    s.stop()
    for part in "index", "log":
        shutil.rmtree(f"{s.data}/{part}")
    t.same("rebuilt", subprocess.run(
        [s.executable, "archive", "reindex", "--rebuild", "--data", s.data],
        capture_output=True, check=False).returncode, 0)
    s.start()
    c = s.client()
    t.same("... with the same", told(c), got)
    c.close()
    s.stop()


@case
def pages_that_link_here(t):
    """Read from the archive on request: after answers of 304 too."""
    s = Server("links", "feed.links_pages_max=40",
               hosts={"links.test": t.web.port})
    pages = {f"/{i}": html(f"/{i + 1}", *(["/gone?sid=1"] if i % 7 == 3 else
                                          [])) for i in range(30)}

    def unchanged(handler):
        tag = f'"{handler.path}"'
        if handler.headers["If-None-Match"] == tag:
            return ok("", ("ETag", tag), status=304)
        return ok(pages[handler.path], ("ETag", tag))

    for path in pages:
        t.web.put("links.test", path, unchanged)
    c = s.client()
    n, more = c.stats(tag="l"), {}
    for run in (1, 2):
        more["schedule_id"] = c.good(
            "schedule.put", name="l", every=1, unit="days", seeds=[
                {"url": "http://links.test/0", "rate_limit": 0}],
            start_at=time.time() + 0.3, policy={"limits": {
                "max_depth": 99}}, tags=["l"], **more)["schedule_id"]
        t.check(f"run {run}", c.until(lambda: [
            m["status"] for m in c.sub(n).merged.values()] ==
            ["complete"] * run, 10))

    def ask(crawl, url="http://links.test/gone", **args):
        got = c.good("list_pages", crawl_id=crawl, links_to=url, **args)
        return got, [p["url"].rsplit("/", 1)[1] for p in got["pages"]]

    crawl, again = sorted(int(i) for i in c.sub(n).merged)
    got, who = ask(crawl)
    t.same("pages that link to a 404", (got["total"], who),
           (4, ["3", "10", "17", "24"]))
    t.check("... all were read", "looked" not in got and
            "limited" not in got, got)
    t.same("... in a crawl that got 304 for all of them",
           (ask(again)[1], c.good("list_pages", crawl_id=again,
                                  status="304")["total"]), (who, 30))
    t.same("pages that link to another", ask(
        crawl, "http://links.test/5")[1], ["4"])
    while (part := ask(crawl, size=2, order="newest", partial=True)
           [0]).get("looked"):
        pass
    t.same("... in parts, the newest first", [
        p["url"] for p in part["pages"]],
        ["http://links.test/24", "http://links.test/17"])
    t.same("no URL", ask(crawl, "nonsense")[1], [])
    c.close()
    s.stop()


@case
def runs_of_a_schedule(t):
    """Their records refer to each other's; deleting one run hurts none."""
    host = t.host()
    t.web.put(host, "/", ok("always the same"))
    n = t.c.stats(tag="runs")
    seeds = [{"url": f"http://{host}/", "rate_limit": 0}]
    sid = None
    for run in (1, 2):
        args = {} if sid is None else {"schedule_id": sid}
        sid = t.c.good("schedule.put", name="runs", seeds=seeds,
                       tags=["runs"], every=1, unit="days",
                       start_at=time.time() + 0.5, **args)["schedule_id"]
        t.check(f"run {run}", t.c.until(lambda: [
            m["status"] for m in t.c.sub(n).merged.values()] ==
            ["complete"] * run, 8))
    first, second = sorted(int(c) for c in t.c.sub(n).merged)

    def body():
        page = t.c.good("get_page", crawl_id=second, number=1, body=True)
        return page.get("duplicate"), base64.b64decode(page["body"])

    t.same("the second is a duplicate of the first", body(),
           (True, b"always the same"))
    t.c.good("job.delete", crawl_id=first)
    t.same("... and stays one", body(), (True, b"always the same"))
    t.c.good("schedule.delete", schedule_id=sid)


@case
def schedule_over_a_restart(t):
    """It was due while nobody was there, and goes on once, and on."""
    s = Server("planned", hosts={"planned.test": t.web.port})
    t.web.put("planned.test", "/", ok("x"))
    c = s.client()
    at = time.time() + 0.7
    c.good("schedule.put", name="planned", seeds=[
        {"url": "http://planned.test/", "rate_limit": 0}], tags=["again"],
           every=1, unit="minutes", start_at=at,
           name_template="run {COUNT}")
    s.kill()
    time.sleep(max(0, at + 0.1 - time.time()))
    s.start()
    c = s.client()
    n = c.stats(tag="again")
    t.check("the crawl that was due begins", c.until(
        lambda: c.sub(n).merged, 8))
    crawl = int(next(iter(c.sub(n).merged), 0))
    c.ends(crawl, n=n)
    c.close()
    s.restart()
    c = s.client()
    c.for_a_while(0.3)
    rows = c.good("schedule.list")["schedules"]
    t.same("it ran once, and knows when it does next", [
        (r["runs"], r["last_crawl"], round(r["next_at"] - at))
        for r in rows], [(1, crawl, 60)])
    t.same("its crawl has its name", [
        r["name"] for r in c.good("list_crawls")["crawls"]], ["run 1"])
    c.close()
    s.stop()


@case
def files(t):
    host = t.host()
    t.web.chain(host, 3)
    crawl = t.c.start(f"http://{host}/0")
    t.c.ends(crawl)
    status, _, body = t.server.http(f"/crawls/{crawl}/files/")
    t.same("the list", status, 200)
    warcs = re.findall(r'"name": ?"([^"]+\.warc\.gz)"', body.decode())
    if not t.check("it has a WARC", warcs, body[:300]):
        return
    place = f"/crawls/{crawl}/files/{warcs[0]}"
    status, _, whole = t.server.http(place)
    text = gzip.decompress(whole)
    t.check("which is whole", status == 200 and text.count(
        b"WARC-Type: response") >= 3)
    status, fields, part = t.server.http(place, fields={
        "Range": "bytes=10-19"})
    t.same("a range of it", (status, part), (206, whole[10:20]))
    for path in ("../../etc/passwd", "%2e%2e/x", "nothing.warc.gz"):
        t.same(f"{path}", t.server.http(
            f"/crawls/{crawl}/files/{path}")[0] in (400, 403, 404), True)
    t.same("no such crawl", t.server.http("/crawls/9999/files/")[0], 404)


def main():
    web = Web()
    hosts = {f"h{i}.test": web.port for i in range(1, HOSTS)}
    hosts["closed.test"] = closed_port()
    server = Server("main", "fetch.backoff_ms=20ms", "fetch.tries_max=2",
                    hosts=hosts)
    case.run(server, web, workers=6)
    rules_kept()
    same("SIGTERM ends the daemon", server.stop(), 0)
    done()


main()
