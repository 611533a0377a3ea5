"""The URL Frontier door by python3-grpcio: writing, serving, control, lists, and
what the reference gets wrong (of the contract's cases those of A to D and N
that need but a crawl of their own).

They run at the same time; what keeps the machine busy comes after them.
"""
from urlfrontier_peer import *

begin("urlfrontier")
case = Cases()                  # beside each other
heavy = Cases()                 # one after the other

SITE = "https://www.mysite.com"
FAR = 2943003600
LATER = 3600


def fixture(t):
    """FIX of the contract."""
    crawl = t.crawl
    return t.c.did(
        D(SITE + "/discovered", "queue_mysite", crawl, meta1="md1"),
        D(SITE + "/completed", "queue_mysite", crawl),
        K(SITE + "/completed", "queue_mysite", crawl, 0, meta1="md2"),
        K(SITE + "/knowntorefetch", "queue_mysite", crawl, now() + LATER,
          meta3="md3"),
        K(SITE + "/secondqueue", "another_queue", crawl, now() + LATER,
          meta4="md4"),
        K("https://www.delete.me/tobedeleted", "delete_queue", crawl,
          now() + LATER))


# ---- A. Writing -----------------------------------------------------------------

@case("A1")
def completed_at_once(t):
    url, key = "http://a1.key1.com/", "a1.key1.com"
    t.same("one ack", t.c.put(K(url, key)), [(url, "OK")])
    t.same("nothing is served", t.c.get(1, 0, 2, key, "DEFAULT"), [])
    t.same("stats", t.c.size(key, "DEFAULT"), (0, 0, 1))


@case("A2")
def same_twice(t):
    url = "http://key1.com/"
    t.same("two acks", t.c.put(D(url, "key1.com", t.crawl),
                               D(url, "key1.com", t.crawl)),
           [(url, "OK"), (url, "SKIPPED")])
    t.same("one queue", t.c.queues(t.crawl), ["key1.com"])


@case("A3")
def key_from_url(t):
    t.same("OK", t.c.did(D("http://gac.icann.org?language_id=9", "",
                           t.crawl)), ["OK"])
    t.same("queue", t.c.queues(t.crawl), ["gac.icann.org"])
    t.same("size", t.c.size("gac.icann.org", t.crawl), (1, 0, 0))
    t.same("DeleteQueue", t.c.delete("gac.icann.org", t.crawl), 1)


@case("A4")
def ack_ids(t):
    t.same("IDs", t.c.put(
        D("http://a4.org/1", "", t.crawl, ID="x"),
        D("http://a4.org/2", "", t.crawl), M.URLItem(),
        M.URLItem(ID="y")),
        [("x", "OK"), ("http://a4.org/2", "OK"), ("", "SKIPPED"),
         ("y", "SKIPPED")])


@case("A5")
def completed_is_known(t):
    url = "http://a5.org/"
    t.same("acks", t.c.did(D(url, "", t.crawl), K(url, "", t.crawl, 0),
                           D(url, "", t.crawl)), ["OK", "OK", "SKIPPED"])
    t.same("still completed", t.c.date(url, "", t.crawl), 0)


@case("A6")
def known_again(t):
    t.same("fixture", fixture(t), ["OK"] * 6)
    url = SITE + "/knowntorefetch"
    t.same("D is SKIPPED", t.c.did(D(url, "queue_mysite", t.crawl)),
           ["SKIPPED"])
    t.same("K is OK", t.c.did(K(url, "queue_mysite", t.crawl, FAR)), ["OK"])
    t.same("status", t.c.date(url, "queue_mysite", t.crawl), FAR)


@case("A7")
def known_never_seen(t):
    url = "http://a7.org/"
    t.same("OK", t.c.did(K(url, "", t.crawl, now() + LATER)), ["OK"])
    t.same("listed", t.c.urls(t.crawl), [url])
    t.same("not served", t.c.get(0, 0, 1, "", t.crawl), [])


@case("A8")
def metadata_is_replaced(t):
    url = "http://a8.org/"
    t.c.fill(D(url, "", t.crawl, old="1", both="1"),
             K(url, "", t.crawl, 5, both=["2", "3"], new=""))
    want = {"both": ["2", "3"], "new": [""]}
    t.same("status", metadata_of(t.c.status(url, "", t.crawl).known.info),
           want)
    t.same("served", [metadata_of(i) for i in t.c.get(0, 0, 1, "", t.crawl)],
           [want])


@case("A9")
def long_keys(t):
    url, astral = "http://a9.org/", "\U0001F577"
    keys = ["k" * 255, "k" * 256, astral * 127 + "k", astral * 128,
            "\u00e9" * 255, "\u00e9" * 256]
    t.same("of 255 and 256", t.c.did(*[D(url, k, t.crawl) for k in keys]),
           ["OK", "SKIPPED"] * 3)
    t.same("queues", sorted(t.c.queues(t.crawl)), sorted(keys[::2]))
    t.same("from the URL", t.c.did(
        D("http://" + "h" * 255 + "/", "", t.crawl),
        D("http://" + "h" * 256 + "/", "", t.crawl)), ["OK", "SKIPPED"])


@case("A10")
def long_url(t):
    url = "http://a10.org/" + "".join(chr(33 + i % 90) for i in range(70000))
    t.same("OK", t.c.did(D(url, "a10.org", t.crawl)), ["OK"])
    t.check("served", t.c.got(1, 1, 1, "", t.crawl) == [url])


@case("A11")
def creation_is_ours(t):
    item = D("http://a11.org/", "", t.crawl)
    item.creation_date = 5
    began = now()
    t.c.fill(item)
    got = t.c.status("http://a11.org/", "", t.crawl).creation_date
    t.check("is now", began <= got <= now(), got)


@case("A12")
def records_apart(t):
    url, other = "http://a12.org/", t.crawl + " 2"
    t.c.fill(D(url, "k1", t.crawl, v="1"))
    time.sleep(1.1)
    t.c.fill(D(url, "k2", t.crawl, v="2"))
    time.sleep(1.1)
    t.c.fill(D(url, "k1", other, v="3"), K(url, "k1", other, 0, v="4"))
    three = [t.c.status(url, *where) for where in (
        ("k1", t.crawl), ("k2", t.crawl), ("k1", other))]
    t.same("metadata", [metadata_of(s.known.info)["v"] for s in three],
           [["1"], ["2"], ["4"]])
    made = [s.creation_date for s in three]
    t.check("creation dates", made[0] < made[1] < made[2], made)
    t.same("completed", [s.known.refetchable_from_date == 0 for s in three],
           [False, False, True])


@case("A13")
def creation_stays(t):
    url = "http://a13.org/"
    t.c.fill(D(url, "", t.crawl))
    made = [t.c.status(url, "", t.crawl).creation_date]
    time.sleep(1.1)
    for date in (FAR, 0, 1):
        t.c.fill(K(url, "", t.crawl, date))
        made.append(t.c.status(url, "", t.crawl).creation_date)
    t.check("is kept", len(set(made)) == 1 and made[0] > 0, made)


@case("A14")
def one_new_queue(t):
    for i in range(20):
        at_once(2, lambda k: t.c.fill(D(f"http://h/{k}", f"k{i}", t.crawl)))
    t.same("queues", t.c.stats("", t.crawl)["queues"], 20)
    t.same("URLs", [t.c.size(f"k{i}", t.crawl)[0] for i in range(20)],
           [2] * 20)


@case("A15")
def batch(t):
    t.same("one BatchAck", t.c.batches(("b1", [
        info("http://a15.org/1", "", t.crawl),
        info("http://a15.net/1", "", t.crawl),
        info("http://a15.org/2", "", t.crawl)])),
        [("b1", ["OK", "OK", "OK"])])
    s = t.c.stats("", t.crawl)
    t.same("stats", (s["queues"], s["size"], s["active"]), (2, 3, 2))


@case("A16")
def batch_repeats(t):
    one = info("http://a16.org/", "", t.crawl)
    t.same("acks", t.c.batches(("1", [one, one]), ("2", [one])),
           [("1", ["OK", "SKIPPED"]), ("2", ["SKIPPED"])])
    t.same("size", t.c.size("", t.crawl), (1, 0, 0))


@case("A17")
def batch_with_bad(t):
    t.same("acks", t.c.batches(("b", [
        info("", "", t.crawl), info("http://a17.org/", "", t.crawl),
        info("http:///x", "", t.crawl), info("x", "k" * 256, t.crawl)])),
        [("b", ["SKIPPED", "OK", "SKIPPED", "SKIPPED"])])
    t.same("size", t.c.size("", t.crawl), (1, 0, 0))


@case("A18")
def probe(t):
    t.same("BatchAck", t.c.batches(("probe", [])), [("probe", [])])


@case("A19")
def no_items(t):
    t.same("PutURLs", t.c.put(), [])
    t.same("PutDiscovered", t.c.batches(), [])


# ---- B. Serving -----------------------------------------------------------------

@case("B1")
def by_date(t):
    key = "key1.com"
    t.c.fill(K("http://key1.com/later", key, t.crawl, now()),
             K("http://key1.com/sooner", key, t.crawl, now() - 10000))
    t.same("sooner first", t.c.got(2, 0, 2, key, t.crawl),
           ["http://key1.com/sooner", "http://key1.com/later"])


@case("B2")
def only_due(t):
    t.c.fill(*[K(f"http://b2/{d}", "b2", t.crawl, now() + d)
               for d in (-100, 300, -50, 400, 100)])
    t.c.fill(*[K(f"http://b2f/{d}", "b2f", t.crawl, now() + d)
               for d in (300, 400)])
    t.same("the past ones", t.c.got(10, 0, 0, "b2", t.crawl),
           ["http://b2/-100", "http://b2/-50"])
    t.same("all in the future", t.c.got(10, 0, 0, "b2f", t.crawl), [])


@case("B3")
def leased_are_passed(t):
    urls = t.due(10)
    t.same("three", t.c.got(3, 0, 30, "k", t.crawl), urls[:3])
    t.same("size", t.c.size("k", t.crawl), (10, 3, 0))
    pause(1)
    t.same("the next four", t.c.got(4, 0, 30, "k", t.crawl), urls[3:7])
    pause(1)
    t.same("seven are leased", t.c.got(4, 0, 30, "k", t.crawl), [])


@case("B4")
def by_bytes(t):
    urls = ["http://b4/" + x for x in (
        "a", "\u00e9", "B", "b", "a/", "aa", "\U0001F577", "\uffee", "",
        "%41", "~")]
    t.c.fill(*[K(u, "b4", t.crawl, 7) for u in urls])
    want = sorted(urls, key=str.encode)
    t.same("served", t.c.got(0, 0, 1, "b4", t.crawl), want)
    t.same("listed", t.c.urls(t.crawl), want)


@case("B5")
def lease_ends(t):
    key, url = "key1.com", "http://key1.com/"
    t.c.fill(D(url, key, t.crawl))
    asked = time.monotonic()
    t.same("served", t.c.got(1, 0, 2, key, t.crawl), [url])
    began = time.monotonic()
    s = t.c.stats(key, t.crawl)
    t.same("leased", (s["leased"], s["queues"]), (1, 1))
    t.same("not again", t.c.got(1, 0, 2, key, t.crawl), [])
    over = wait_until(lambda: t.c.stats(key, t.crawl)["leased"] == 0 and
                      time.monotonic(), 4, 0.02)
    # The lease began between both.
    t.check("after 2 s", over and over - asked >= 1.9 and
            over - began < 2.4, ((over or 0) - asked, (over or 0) - began))
    t.same("again", t.c.got(1, 0, 2, key, t.crawl), [url])
    t.same("DeleteQueue", t.c.delete(key, t.crawl), 1)
    t.same("no queue", t.c.stats("", t.crawl)["queues"], 0)


@case("B6")
def lease_of_30_s(t):
    t.due(1)
    began = time.monotonic()
    t.same("served", len(t.c.get(1, 0, 0, "k", t.crawl)), 1)
    time.sleep(max(0, 29 - (time.monotonic() - began)))
    t.same("at 29 s", t.c.size("k", t.crawl), (1, 1, 0))
    time.sleep(max(0, 30.25 - (time.monotonic() - began)))
    t.same("at 30 s", t.c.size("k", t.crawl), (1, 0, 0))


@case("B7")
def update_ends_lease(t):
    url, = t.due(1)
    t.c.get(1, 0, 30, "k", t.crawl)
    t.same("D is SKIPPED", t.c.did(D(url, "k", t.crawl)), ["SKIPPED"])
    t.same("and the lease stays", t.c.size("k", t.crawl), (1, 1, 0))
    t.c.fill(K(url, "k", t.crawl, 10))
    t.same("K ends it", t.c.size("k", t.crawl), (1, 0, 0))
    pause(1)
    t.same("served again", t.c.got(1, 0, 30, "k", t.crawl), [url])
    t.c.fill(K(url, "k", t.crawl, 0))
    t.same("date 0 ends it", t.c.size("k", t.crawl), (0, 0, 1))


@case("B8")
def gate(t):
    urls = t.due(5, "one")
    others = t.due(5, "two")
    t.c.get(1, 0, 30, "one", t.crawl)
    t.c.get(2, 0, 30, "two", t.crawl)
    pause(1)
    t.same("one leased, two more", t.c.got(2, 0, 30, "one", t.crawl),
           urls[1:3])
    t.same("then three", t.c.size("one", t.crawl), (5, 3, 0))
    t.same("two leased, nothing", t.c.got(2, 0, 30, "two", t.crawl), [])
    t.same("... nor unkeyed", t.c.got(2, 0, 30, "", t.crawl), [])
    t.c.fill(K(others[0], "two", t.crawl, 0))
    t.same("one ended, two more", t.c.got(2, 0, 30, "two", t.crawl),
           others[2:4])


@case("B9")
def once_in_all(t):
    """Twenty calls at once, keyed and not."""
    served = []
    for round in range(4):
        key, crawl = f"k{round}", f"{t.crawl} {round}"
        t.due(2, key, crawl)
        t.c.delay(key, 300, crawl)
        got = at_once(20, lambda i: t.c.got(
            1, 0, 30, key if i % 2 else "", crawl))
        served.append(sum(map(len, got)))
    t.same("served", served, [1] * 4)


@case("B10")
def no_penalty(t):
    t.due(1)
    t.c.got(2, 0, 60, "k", t.crawl)
    date = now() + 3
    t.c.fill(K("http://k/soon", "k", t.crawl, date))
    pause(1)
    early = []
    while time.time() < date - 0.2:
        early += t.c.got(5, 0, 60, "k", t.crawl)
        time.sleep(0.05)
    t.same("leased and future: nothing", early, [])
    got = wait_until(lambda: t.c.got(5, 0, 60, "k", t.crawl), 3, 0.02)
    t.same("the one that became due", got, ["http://k/soon"])
    t.check("at once", date <= time.time() < date + 0.3, time.time() - date)


@case("B13")
def rotation(t):
    keys = [f"q{i:02}" for i in range(30)]
    for k in keys:
        t.due(2, k)

    def keys_served():
        return [i.key for i in t.c.get(1, 10, 1, "", t.crawl)]

    began = time.monotonic()
    three = [keys_served() for _ in range(3)]
    if time.monotonic() - began > 0.9:
        note("B13: too slow a machine")
    t.same("ten each", [len(set(s)) for s in three], [10] * 3)
    t.same("all once", sorted(sum(three, [])), keys)
    pause(1)
    t.same("then the first ten", sorted(keys_served()), sorted(three[0]))


@case("B15")
def everything_due(t):
    want = []
    for i in range(5):
        want += t.due(7, f"k{i}")
    t.due(3, "blocked")
    t.c.block("blocked", now() + 1000, t.crawl)
    t.c.fill(K("http://k0/future", "k0", t.crawl, FAR))
    got = t.c.got(0, 0, 30, "", t.crawl)
    t.same("served", sorted(got), want)
    keys = [u.split("/")[2] for u in got]
    t.same("queue by queue", len(set(keys)),
           1 + sum(a != b for a, b in zip(keys, keys[1:])))


@heavy("B18")
def deleted_while_served(t):
    t.c.many([f"http://b18/{i:06}" + "x" * 100 for i in range(20000)], "b18",
             t.crawl)
    call = t.c.getting(0, 1, 30, "b18", t.crawl)
    got = 1 if next(call).url else 0
    began = time.monotonic()
    t.check("deleted", t.c.delete("b18", t.crawl) == 20000)
    try:
        got += sum(1 for _ in call)
        ended = call.code().name
    except grpc.RpcError as e:
        ended = e.code().name
    t.same("no error", ended, "OK")
    t.check("no hang", time.monotonic() - began < 10)
    t.check("some were sent", 0 < got <= 20000, got)
    t.same("nothing is left", t.c.size("", t.crawl), (0, 0, 0))


@case("B19")
def cancelled(t):
    urls = t.due(10)
    call = t.c.getting(10, 1, 4, "k", t.crawl)
    first = next(call).url
    served = time.monotonic()
    call.cancel()
    t.same("the first", first, urls[0])
    t.same("the delay counts", t.c.got(20, 1, 1, "k", t.crawl), [])
    leased = t.c.size("k", t.crawl)[1]
    t.check("leases of what left", 1 <= leased <= 10, leased)
    pause(1)
    t.check("the first is not sent again", first not in t.c.got(
        20, 1, 1, "k", t.crawl))
    time.sleep(max(0, 4.1 - (time.monotonic() - served)))
    again = wait_until(lambda: first in t.c.got(0, 1, 1, "k", t.crawl), 2.5)
    t.check("until its lease ends", again)


@case("B20")
def whole_reply(t):
    url = "http://b20.example/x"
    t.c.fill(D(url, "", "", one=["a", "b", "", "\u00e9"], none=[], two="c"))
    got = t.c.get(1, 1, 30, "b20.example", "")
    t.same("one", len(got), 1)
    t.same("url, key, crawl", (got[0].url, got[0].key, got[0].crawlID),
           (url, "b20.example", "DEFAULT"))
    t.same("metadata", metadata_of(got[0]),
           {"one": ["a", "b", "", "\u00e9"], "none": [], "two": ["c"]})


# ---- C. Stats and control --------------------------------------------------------

@case("C1")
def stats(t):
    fixture(t)
    t.same("a lease", t.c.got(1, 1, 30, "queue_mysite", t.crawl),
           [SITE + "/discovered"])
    t.same("of the crawl", t.c.stats("", t.crawl), dict(
        size=4, leased=1, completed=1, active=3, queues=3, crawl=t.crawl))
    t.same("of a queue", t.c.stats("queue_mysite", t.crawl), dict(
        size=2, leased=1, completed=1, active=1, queues=1, crawl=t.crawl))
    t.same("as many as listed", len(t.c.urls(t.crawl)), 5)


@case("C2")
def stats_of_unknown(t):
    t.same("zeros", t.c.stats("unknown", t.crawl), dict(
        size=0, leased=0, completed=0, active=0, queues=0, crawl=t.crawl))
    t.same("blank crawls", [t.c.stats("unknown", c)["crawl"]
                            for c in ("", " ", "\t")], ["DEFAULT"] * 3)


@case("C3")
def limit_codes(t):
    t.due(1)
    p = M.CrawlLimitParams(key="k", limit=1, crawlID=t.crawl)
    t.same("known", code(t.c.SetCrawlLimit, p), "OK")
    p.key = "unknown"
    t.same("unknown", code(t.c.SetCrawlLimit, p), "UNKNOWN")


@case("C4")
def limit(t):
    urls = t.due(3)
    t.c.fill(K(urls[0], "k", t.crawl, 0))
    t.c.limit("k", 1, t.crawl)
    t.same("keyed", t.c.got(1, 1, 30, "k", t.crawl), [])
    t.same("unkeyed", t.c.got(1, 1, 30, "", t.crawl), [])
    t.c.limit("k", 0, t.crawl)
    t.same("lifted", t.c.got(1, 1, 30, "", t.crawl), [urls[1]])
    t.c.fill(K(urls[1], "k", t.crawl, 0))
    t.c.limit("k", 3, t.crawl)
    pause(1)
    t.same("two of three", t.c.got(1, 1, 30, "k", t.crawl), [urls[2]])
    t.c.fill(K(urls[2], "k", t.crawl, 1))
    t.c.limit("k", 2, t.crawl)
    pause(1)
    t.same("two of two", t.c.got(1, 1, 30, "", t.crawl), [])


@case("C5")
def block(t):
    for key in ("k", "zero", "past", "empty"):
        t.due(1, key)
    until = now() + 2
    t.c.block("k", until, t.crawl)
    early = []
    while time.time() < until + 0.9:
        early += t.c.got(1, 1, 30, "k", t.crawl)
        time.sleep(0.02)
    t.same("blocked", early, [])
    got = wait_until(lambda: t.c.got(1, 1, 30, "k", t.crawl) and time.time(),
                     3, 0.01)
    t.check("served from the second after", got and
            until + 0.995 <= got < until + 1.3, (got or 0) - until)
    t.c.block("zero", now() + 1000, t.crawl)
    t.same("1,000 s", t.c.got(1, 1, 30, "zero", t.crawl), [])
    t.c.block("zero", 0, t.crawl)
    t.same("time 0", len(t.c.got(1, 1, 30, "zero", t.crawl)), 1)
    t.c.block("past", now() - 5, t.crawl)
    t.same("a past time", len(t.c.got(1, 1, 30, "past", t.crawl)), 1)
    t.c.block("", now() + 1000, t.crawl)
    t.same("no key", len(t.c.got(1, 1, 30, "empty", t.crawl)), 1)
    t.same("no queue came", t.c.stats("", t.crawl)["queues"], 4)


@case("C6")
def block_binds(t):
    """No call that begins after a block has returned serves."""
    breaches = []
    for i in range(12):
        key = f"k{i}"
        t.due(1, key)
        t.c.delay(key, 0, t.crawl)
        blocked, over = [], threading.Event()

        def ask(_):
            while not over.is_set():
                began = time.monotonic()
                got = t.c.get(1, 1, 30, key, t.crawl)
                if got and blocked and began > blocked[0]:
                    breaches.append(key)
                for u in got:
                    t.c.fill(K(u.url, key, t.crawl, 1))

        def control(_):
            time.sleep(0.05)
            t.c.block(key, now() + 1000, t.crawl)
            blocked.append(time.monotonic())
            time.sleep(0.1)
            over.set()

        at_once(3, lambda k: control(k) if k == 2 else ask(k))
    t.same("breaches", breaches, [])


@case("C8")
def unseen(t):
    t.same("SetDelay, BlockQueueUntil", [
        code(t.c.delay, "slow", 300, t.crawl),
        code(t.c.block, "shut", now() + 1000, t.crawl)], ["OK", "OK"])
    t.same("no queue", (t.c.queues(t.crawl, inactive=True), t.c.stats(
        "slow", t.crawl)["queues"], t.c.stats("", t.crawl)["queues"]),
        ([], 0, 0))
    t.check("no crawl", t.crawl not in t.c.crawls())
    t.due(2, "slow")
    t.due(2, "shut")
    t.same("served once", len(t.c.got(1, 1, 1, "slow", t.crawl)), 1)
    pause(1.2)
    t.same("the delay binds", t.c.got(2, 1, 1, "slow", t.crawl), [])
    t.same("the block binds", t.c.got(2, 1, 1, "shut", t.crawl), [])


@case("C9")
def repeats(t):
    t.due(2)
    for _ in range(3):
        t.c.delay("k", 300, t.crawl)
    t.same("served", len(t.c.got(1, 1, 1, "k", t.crawl)), 1)
    pause(1.2)
    t.same("the delay holds", t.c.got(2, 1, 1, "k", t.crawl), [])
    t.same("SetLogLevel", [code(t.c.SetLogLevel, M.LogLevelParams(
        package=p, level=2)) for p in (
        "crawlercommons.urlfrontier.service.rocksdb", "urlfrontier", "")],
        ["OK"] * 3)


# ---- D. Status, lists, deletion ----------------------------------------------------

@case("D1")
def status(t):
    fixture(t)
    s = t.c.status(SITE + "/discovered", "queue_mysite", t.crawl)
    t.check("discovered", s.WhichOneof("item") == "known" and
            s.known.refetchable_from_date > 0 and s.creation_date > 0, s)
    t.same("... its info", (s.known.info.url, s.known.info.key,
                            s.known.info.crawlID, metadata_of(s.known.info)),
           (SITE + "/discovered", "queue_mysite", t.crawl,
            {"meta1": ["md1"]}))
    s = t.c.status(SITE + "/completed", "queue_mysite", t.crawl)
    t.same("completed", (s.known.refetchable_from_date,
                         metadata_of(s.known.info)), (0, {"meta1": ["md2"]}))
    s = t.c.status(SITE + "/knowntorefetch", "queue_mysite", t.crawl)
    t.check("known", s.known.refetchable_from_date > now(), s)


@case("D2")
def status_codes(t):
    fixture(t)
    for what, url, key, want in (
            ("unknown URL", SITE + "/no", "queue_mysite", "NOT_FOUND"),
            ("unknown queue", SITE + "/discovered", "", "NOT_FOUND"),
            ("no URL, no key", "", "", "INVALID_ARGUMENT"),
            ("no host", "http:///x", "", "INVALID_ARGUMENT")):
        t.same(what, code(t.c.status, url, key, t.crawl), want)


@case("D3")
def list_urls(t):
    fixture(t)
    items = t.c.items(t.crawl, size=100)
    t.same("all Known", [i.WhichOneof("item") for i in items], ["known"] * 5)
    order = [(i.known.info.key, i.known.refetchable_from_date,
              i.known.info.url) for i in items]
    t.same("by key, date, URL", order, sorted(order))
    one = t.c.items(t.crawl, "another_queue")
    t.check("of a queue", len(one) == 1 and one[0].creation_date > 0, one)
    t.same("from 3", len(t.c.items(t.crawl, start=3, size=10)), 2)
    t.same("unknown queue", t.c.items(t.crawl, "unknown"), [])
    t.same("whole info", [(metadata_of(i.known.info), i.known.info.crawlID)
                          for i in one], [({"meta4": ["md4"]}, t.crawl)])


@case("D4")
def filters(t):
    fixture(t)
    three = ({}, {"filter": "COMPLETED", "ignoreCase": True},
             {"filter": "COMPLETED"})
    t.same("ListURLs", [len(t.c.items(t.crawl, **f)) for f in three],
           [5, 1, 0])
    t.same("CountURLs", [t.c.count(t.crawl, **f) for f in three], [5, 1, 0])
    t.same("blank filter", t.c.count(t.crawl, filter=" "), 5)
    t.same("of a queue", t.c.count(t.crawl, "queue_mysite", filter="mysite"),
           3)
    t.same("pages of matches", t.c.urls(
        t.crawl, start=1, size=1, filter="mysite.com/"),
        t.c.urls(t.crawl, filter="mysite.com/")[1:2])


@heavy("D5")
def far_start(t):
    urls = [f"http://d5/{i:05}" for i in range(20000)]
    t.c.many(urls, "d5", t.crawl)
    got = t.c.urls(t.crawl, "d5", start=19000)
    t.check("1,000", len(got) == 1000 and len(set(got)) == 1000, len(got))
    t.check("the last", set(got) == set(t.c.urls(t.crawl)[19000:]))
    t.same("CountURLs", t.c.count(t.crawl), 20000)


@case("D6")
def size_0(t):
    t.c.many([f"http://d6-{i}/" for i in range(150)], "", t.crawl)
    t.c.many([f"http://d6/{i}" for i in range(150)], "", t.crawl)
    t.same("ListURLs", len(t.c.items(t.crawl, "d6", size=0)), 100)
    t.same("ListQueues", len(t.c.queues(t.crawl, size=0)), 100)


@heavy("D7")
def list_while_writing(t):
    urls = {f"http://d7/{i:04}" for i in range(2000)}
    t.c.many(sorted(urls), "d7", t.crawl)
    over = threading.Event()

    def write():
        n = 0
        while not over.is_set():
            some = random.sample(sorted(urls), 200)
            t.c.fill(*[K(u, "d7", t.crawl, random.choice(
                (0, 1, FAR, now()))) for u in some])
            t.c.many([f"http://d7/new{n + i}" for i in range(50)], "d7",
                     t.crawl)
            n += 50

    writer = threading.Thread(target=write)
    writer.start()
    faults = []
    for _ in range(6):
        got = t.c.urls(t.crawl, "d7")
        faults += urls - set(got)
        if len(got) != len(set(got)):
            faults.append(f"{len(got) - len(set(got))} twice")
        time.sleep(0.05)
    over.set()
    writer.join()
    t.same("each once", faults, [])


@case("D8")
def pages(t):
    keys = [f"q{i:02}" for i in range(15)]
    for k in keys:
        t.due(1, k)
        t.due(1, k, t.crawl + "_2")
        t.due(1, k + "x", t.crawl + "_2")
    got = []
    for start in range(0, 16, 2):
        got += t.c.queues(t.crawl, start=start, size=2)
    t.same("each once", got, keys)


@case("D9")
def hidden(t):
    keys = [f"q{i:02}" for i in range(12)]
    for i, k in enumerate(keys):
        u, = t.due(1, k)
        if i % 2:
            t.c.fill(K(u, k, t.crawl, 0))
    t.same("completed", t.c.queues(t.crawl), keys[::2])
    t.same("offsets count matches", t.c.queues(t.crawl, 2, 3), keys[4:10:2])
    t.same("all", t.c.queues(t.crawl, inactive=True), keys)
    t.same("offsets of all", t.c.queues(t.crawl, 2, 3, True), keys[2:5])
    t.c.block(keys[2], now() + 1000, t.crawl)
    t.same("blocked", t.c.queues(t.crawl), [keys[0]] + keys[4::2])
    t.same("blocked, all", t.c.queues(t.crawl, inactive=True), keys)
    t.c.fill(K("http://x/", keys[0], t.crawl, FAR))
    t.c.get(0, 1, 100, keys[4], t.crawl)
    t.same("leased or not due is active", t.c.queues(t.crawl),
           [keys[0]] + keys[4::2])


@case("D10")
def page_says(t):
    for i in range(8):
        t.due(1, f"q{i}")
    p = t.c.ListQueues(M.Pagination(start=4, size=2, crawlID=t.crawl))
    t.same("a page", (list(p.values), p.start, p.size, p.crawlID, p.total),
           (["q4", "q5"], 4, 2, t.crawl, 0))
    p = t.c.ListQueues(M.Pagination(start=7, size=5, crawlID=t.crawl))
    t.same("the last", (list(p.values), p.start, p.size), (["q7"], 7, 1))


@case("D11")
def purge(t):
    u = t.due(4)
    t.c.fill(K(u[0], "k", t.crawl, 0))
    t.same("20,000 days", t.c.purge(20000, "", t.crawl), 0)
    old = K("http://k/old", "k", t.crawl, FAR)
    old.creation_date = now() - 10 * 86400
    keep = (("argiope-keep-dates", "1"),)
    t.same("an old one", t.c.did(old, metadata=keep), ["OK"])
    t.same("5 days", t.c.purge(5, "", t.crawl), 1)
    pause(1)
    t.same("all", t.c.purge(0, "k", t.crawl), 4)
    s = t.c.stats("k", t.crawl)
    t.same("the queue remains", (s["size"], s["completed"], s["queues"]),
           (0, 0, 1))
    t.same("listed", t.c.queues(t.crawl, inactive=True), ["k"])


@heavy("D12")
def purge_while_writing(t):
    items = []
    for i in range(5000):
        items.append(K(f"http://d12/old{i}", "d12", t.crawl, FAR))
        items[-1].creation_date = now() - 10 * 86400
    t.same("old ones", set(t.c.did(*items, metadata=(
        ("argiope-keep-dates", "1"),), timeout=60)), {"OK"})
    new, over = [], threading.Event()

    def write():
        while not over.is_set() or not new:
            some = [f"http://d12/new{len(new) + i}" for i in range(20)]
            t.c.fill(*[D(u, "d12", t.crawl) for u in some])
            new.extend(some)

    writer = threading.Thread(target=write)
    writer.start()
    gone = t.c.purge(1, "", t.crawl)
    over.set()
    writer.join()
    t.same("the old are gone", gone, 5000)
    t.check("the new are there", set(t.c.urls(t.crawl)) == set(new))


@case("D13")
def delete_queue(t):
    urls = t.due(5)
    t.c.fill(*[K(u, "k", t.crawl, 0) for u in urls[:3]])
    t.due(1, "other")
    before = t.c.status(urls[0], "k", t.crawl).creation_date
    t.c.delay("k", 300, t.crawl)
    t.c.limit("k", 1, t.crawl)
    time.sleep(1.1)
    t.same("2 and 3", t.c.delete("k", t.crawl), 5)
    t.same("unknown", t.c.delete("k", t.crawl), 0)
    t.same("no key", (t.c.delete("", t.crawl), t.c.size("", t.crawl)),
           (0, (1, 0, 0)))
    t.c.delete("other", t.crawl)
    t.same("nothing is left", (t.c.urls(t.crawl), t.c.size("k", t.crawl)),
           ([], (0, 0, 0)))
    t.same("D is OK", t.c.did(D(urls[0], "k", t.crawl),
                              D(urls[1], "k", t.crawl)), ["OK"] * 2)
    t.check("a fresh creation date", t.c.status(
        urls[0], "k", t.crawl).creation_date > before)
    t.same("limit and delay are forgotten", len(t.c.got(
        1, 1, 1, "k", t.crawl)), 1)
    pause(1)
    t.same("... the delay", len(t.c.got(2, 1, 1, "k", t.crawl)), 2)


# ---- N. Results the reference gets wrong -------------------------------------------

@case("N1")
def underscores(t):
    keys = ["_DEFAULT_", "a_b.com", "a%5Fb", "a_b"]
    for crawl in (t.crawl, "my_crawl", "my%5Fcrawl"):
        for k in keys:
            t.c.fill(D("http://n1/" + k, k, crawl))
        t.same(f"{crawl}: served", sorted(
            (i.key, i.url, i.crawlID) for i in t.c.get(5, 9, 9, "", crawl)),
            sorted((k, "http://n1/" + k, crawl) for k in keys))
    t.same("apart", t.c.delete("a_b", t.crawl), 1)
    t.same("... the others", sorted(t.c.queues(t.crawl)),
           sorted(keys[:3]))
    t.same("... the crawls", t.c.delete_crawl("my_crawl"), 4)
    t.same("... of them", t.c.size("", "my%5Fcrawl")[0], 4)


@case("N2")
def completed_twice(t):
    url, other = t.due(2)
    for _ in range(3):
        t.same("OK", t.c.did(K(url, "k", t.crawl, 0)), ["OK"])
    t.same("counted once", t.c.size("k", t.crawl), (1, 0, 1))
    t.c.limit("k", 2, t.crawl)
    t.same("limit 2 is not reached", t.c.got(1, 1, 30, "k", t.crawl),
           [other])
    t.c.fill(K(other, "k", t.crawl, 0), K(other, "k", t.crawl, 0))
    s = t.c.stats("k", t.crawl)
    t.same("all completed", (s["size"], s["completed"], s["active"]),
           (0, 2, 0))


@case("N3")
def again_active(t):
    url, = t.due(1)
    t.c.fill(K(url, "k", t.crawl, 0))
    t.c.fill(K(url, "k", t.crawl, now() - 60))
    t.same("active", t.c.size("k", t.crawl), (1, 0, 0))
    t.same("served", t.c.got(1, 1, 30, "", t.crawl), [url])
    t.c.fill(K(url, "k", t.crawl, 0))
    t.same("completed", t.c.size("k", t.crawl), (0, 0, 1))


@case("N4")
def derived_keys(t):
    hosts = {"http://user:pw@h.org/": "h.org", "http://[::1]:8/": "[::1]",
             "http://h.org#f": "h.org", "HTTP://H.org/": "H.org",
             "h.org:80/x": "h.org", "http://h.org&x": "h.org",
             "mailto:a@b": "mailto", "http:///x": None,
             "http://a@b@h.org:9?x": "h.org", "x": "x", "://h/": "h",
             "http://:80/": None, "?": None}
    for url, key in hosts.items():
        crawl = f"{t.crawl} {url}"
        t.same(url, t.c.did(D(url, "", crawl)), ["OK" if key else "SKIPPED"])
        t.same(f"{url} is in", t.c.queues(crawl), [key] if key else [])


@case("N5")
def empty_url(t):
    t.same("D", t.c.put(D("", "k", t.crawl)), [("", "SKIPPED")])
    t.same("K", t.c.put(K("", "k", t.crawl, 5, ID="i")), [("i", "SKIPPED")])
    t.same("no queue", t.c.stats("", t.crawl)["queues"], 0)


# ---- grpc-js ------------------------------------------------------------------------

NODE_SAYS = {
    "acks": "0 one=0 two=1 http://a/2=0 http://a/3=0 =1",
    "batches": "0 b=000101 probe=",
    "served": "0 http://a/1 a grpc-js, http://a/2 a grpc-js, "
              "http://b/1 b grpc-js",
    "metadata": "true", "stats": "3 3 2 grpc-js active_queues=2 completed=1",
    "status": "5", "unknown URL": "5", "unknown method": "12",
    "garbage": "13", "health": "1", "20,000": "0 20000 true",
    "deleted": "20004",
}


def node_client(server):
    place = shutil.which("node") and grpc_js()
    if not place:
        skip("grpc-js", "it cannot be had")
        return
    code, out, err = run("node", HERE + "/urlfrontier.js", str(server.port),
                         env=dict(os.environ, NODE_PATH=place))
    check("grpc-js: ran", code == 0, err[-500:])
    said = dict(line.split(": ", 1) for line in out.splitlines()
                if ": " in line)
    for name, want in NODE_SAYS.items():
        same(f"grpc-js: {name}", said.get(name), want)


# ---- All of it ----------------------------------------------------------------------

server = Server("together")
case.run(server, workers=16)
heavy.run(server)
node_client(server)
same("N6 no number above 2^63", Client.too_big, [])
same("SIGTERM ends it", server.stop(), 0)
done()
