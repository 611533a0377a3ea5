"""Nodes that share the queues of the URL Frontier door, by python3-grpcio: of the
contract's cases those of H.

Clusters of one, two, three and four nodes stand beside each other; the cases of
one cluster follow one another.  Nodes that are dead or silent are in
urlfrontier_hurt.py; slow lines, tokens, settings and peers that are none in
urlfrontier_apart.py.
"""
from urlfrontier_apart import apart, slow
from urlfrontier_hurt import hurt
from urlfrontier_nodes import *

begin("urlfrontier_cluster")
pair = Cases()
three = Cases()


# ---- Who owns what ----------------------------------------------------------------

@pair("H1")
def listed_by_owner(t):
    a, b = t.server.nodes
    key, other = t.server.keys(1, t.crawl, 2)
    urls = [f"http://{key}/1", f"http://{key}/2", f"http://{other}/"]
    t.same("PutURLs", a.client.put(D(urls[0], key, t.crawl)),
           [(urls[0], "OK")])
    t.same("PutDiscovered", a.client.batches(("b", [
        info(u, u.split("/")[2], t.crawl) for u in urls])),
        [("b", ["SKIPPED", "OK", "OK"])])
    t.same("listed by B", b.listed(t.crawl), urls)
    t.same("not by A", a.listed(t.crawl), [])
    t.same("no queue on A", a.here.stats("", t.crawl)["queues"], 0)
    whole = K(urls[0], key, t.crawl, 7, one=["x", "", "\u00e9"], two="y")
    t.same("with all it has", (
        a.client.did(whole), metadata_of(b.here.status(
            urls[0], key, t.crawl).known.info), b.here.date(
            urls[0], key, t.crawl)),
        (["OK"], {"one": ["x", "", "\u00e9"], "two": ["y"]}, 7))
    old = [K(f"http://{key}/{i}", key, t.crawl, 8) for i in ("old", "new")]
    for i in old:
        i.creation_date = 1000000000
    a.client.did(old[0], metadata=KEEP)
    a.client.did(old[1])
    t.same("argiope-keep-dates", [b.here.status(
        i.known.info.url, key, t.crawl).creation_date == 1000000000
        for i in old], [True, False])


def filled(message_, i, size):
    """Make its URL so long that the message has this size."""
    begin_, more = i.url, 0
    while message_.ByteSize() != size:
        more += size - message_.ByteSize()
        i.url = begin_ + "x" * more
    return message_


@pair("the largest")
def largest(t):
    """4 MiB; on their way they grow by a number, and coming back by the key."""
    a, b = t.server.nodes
    of_a, of_b = t.server.key_of_each(t.crawl, "h{}.org")
    item = K(f"http://{of_b}/1", "", t.crawl, 1)
    batch = M.DiscoveredBatch(items=[info(f"http://{of_b}/2", "", t.crawl)])
    filled(item, item.known.info, 4 * MIB)
    filled(batch, batch.items[0], 4 * MIB)
    urls = [item.known.info.url, batch.items[0].url]
    t.same("are put", (a.client.did(item), [list(x.statuses) for x in
                       a.client.PutDiscovered(iter([batch]))]),
           (["OK"], [[0]]))
    t.check("ListURLs", a.client.urls(t.crawl) == urls)
    t.check("GetURLStatus", [a.client.status(
        u, "", t.crawl).known.info.url for u in urls] == urls)
    t.check("GetURLs", a.client.got(0, 0, 1, "", t.crawl,
                                    metadata=CLUSTER) == urls)
    item.known.info.url += "x"
    batch.items[0].url += "x"
    t.same("a byte more", (code(a.client.PutURLs, iter([item])),
                           code(a.client.PutDiscovered, iter([batch])),
                           a.client.count(t.crawl)),
           ("RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED", 2))
    t.same("deleted", t.c.delete_crawl(t.crawl), 2)


def drawn_keys():
    """[(crawl, key)], with all that a wrong hash would get wrong."""
    rng = random.Random(5)
    letters = "ab_%5F.-:/@ \u00e9\u0436\uffee\U0001f577\U00010000"
    drawn = {(rng.choice(("", "h12_crawl", "h12 \u043a_\U0001f577")),
              "h12" + "".join(rng.choices(letters, k=rng.randrange(12))))
             for _ in range(250)}
    # -2147483648 has no absolute value in 32 bits.
    drawn |= {("", key_with_hash("", h)) for h in (-1, -2, -(1 << 31))}
    return sorted(drawn)


def other_owners(crawl, key, n):
    """What other hashes would say."""
    name, bare = name_of(crawl, key), f"{crawl or 'DEFAULT'}_{key}"
    h = java_hash(name)
    by_chars = by_bytes = 0
    for c in name:
        by_chars = 31 * by_chars + ord(c)
    for c in name.encode():
        by_bytes = 31 * by_bytes + c
    wrap = [(x + (1 << 31)) % (1 << 32) - (1 << 31)
            for x in (by_chars, by_bytes)]
    return {"floor": h % n, "no sign": h % (1 << 32) % n,
            "no %5F": abs(java_hash(bare)) % n,
            "characters": abs(wrap[0]) % n, "bytes": abs(wrap[1]) % n,
            "key alone": abs(java_hash(name_of("x", key)[2:])) % n}


def owners(t):
    n = len(t.server.nodes)
    drawn = drawn_keys()
    right = {d: owner(*d, n) for d in drawn}
    tells = [w for w in other_owners("", "", 3) if n == 3 and all(
        other_owners(*d, n)[w] == right[d] for d in drawn)]
    t.same("a wrong hash would be seen", tells, [])
    t.check("negative ones", sum(java_hash(name_of(*d)) < 0
                                 for d in drawn) > 50)
    t.c.fill(*[D(f"http://h12/{i}", k, c) for i, (c, k) in
               enumerate(drawn)])
    wrong = []
    for i, node in enumerate(t.server.nodes):
        for crawl in {c for c, _ in drawn}:
            got = {k for k in node.here.queues(crawl, inactive=True)
                   if k.startswith("h12") or (crawl, k) in right}
            want = {k for c, k in drawn
                    if c == crawl and right[c, k] == i}
            wrong += [(i, crawl, k) for k in got ^ want]
    t.same(f"{len(drawn)} queues are where Java puts them", wrong, [])


@pair("H12")
def owners_of_two(t):
    owners(t)


@three("H12 three")
def owners_of_three(t):
    owners(t)
    t.same("derived keys too", (t.c.did(*[
        D(f"http://h12-{i}.org:80/", "", t.crawl) for i in range(30)]),
        [sorted(n.here.queues(t.crawl)) for n in t.server.nodes]),
        (["OK"] * 30, [sorted(k for k in (
            f"h12-{i}.org" for i in range(30)) if owner(t.crawl, k, 3) == n)
            for n in range(3)]))


# ---- Every RPC, for this node and for all ---------------------------------------------

# How a call says for whom it is: a field, or metadata.
SCOPES = {"local=false": ({"local": False}, None),
          "local=true": ({"local": True}, None), "metadata": ({}, LOCAL)}
covered = set()


def ask(client, name, scope, asked):
    """None where the message has no such field."""
    asked, given = type(asked)(), asked
    asked.CopyFrom(given)
    fields, metadata = SCOPES[scope]
    if fields and "local" not in asked.DESCRIPTOR.fields_by_name:
        if fields["local"]:
            return None
        fields = {}
    for k, v in fields.items():
        setattr(asked, k, v)
    covered.add((name, scope != "local=false"))
    got = getattr(client, name)(asked, metadata=metadata)
    return list(got) if hasattr(got, "cancel") else got


def urls_of(items):
    return [i.known.info.url for i in items]


def reads(t):
    """[(RPC, message, what of the answer, that of A, B, both)]."""
    crawl, other = t.crawl, t.crawl + " of B"
    (ka, kb), kc = t.server.key_of_each(crawl), \
        t.server.keys(1, other)[0]
    ua = [f"http://{ka}/{i}" for i in range(2)]
    ub = [f"http://{kb}/{i}" for i in range(3)]
    t.c.fill(*[K(u, u.split("/")[2], crawl, 5 + i)
               for i, u in enumerate(ua + ub)], D("http://c/", kc, other))
    both = sorted((ka, kb))
    of_all = (ua, ub, ua + ub if ka < kb else ub + ua)
    entries = t.server.entries
    none = (0, 3, 3)
    return [
        ("ListNodes", M.Empty(), lambda x: list(x.values), entries, entries,
         entries),
        ("ListCrawls", M.Local(), lambda x: sorted(
            c for c in x.values if c.startswith(crawl)),
         [crawl], [crawl, other], [crawl, other]),
        ("ListQueues", M.Pagination(crawlID=crawl, size=9),
         lambda x: (list(x.values), x.start, x.size, x.crawlID, x.total),
         ([ka], 0, 1, crawl, 0), ([kb], 0, 1, crawl, 0),
         (both, 0, 2, crawl, 0)),
        ("GetStats", M.QueueWithinCrawlParams(crawlID=crawl), lambda x: (
            x.size, x.numberOfQueues, x.counts["active_queues"], x.crawlID),
         (2, 1, 1, crawl), (3, 1, 1, crawl), (5, 2, 2, crawl)),
        ("GetStats", M.QueueWithinCrawlParams(crawlID=crawl, key=kb),
         lambda x: x.size, *none),
        ("ListURLs", M.ListUrlParams(crawlID=crawl), urls_of, *of_all),
        ("ListURLs", M.ListUrlParams(crawlID=crawl, key=kb), urls_of, [], ub,
         ub),
        ("CountURLs", M.CountUrlParams(crawlID=crawl), lambda x: x.value, 2,
         3, 5),
        ("CountURLs", M.CountUrlParams(crawlID=crawl, key=kb),
         lambda x: x.value, *none),
        ("GetActive", M.Local(), lambda x: x.state, True, True, True),
    ]


@pair("reads")
def every_read(t):
    for name, asked, of, *want in reads(t):
        for scope in SCOPES:
            for i, node in enumerate(t.server.nodes):
                got = ask(node.client, name, scope, asked)
                if got is not None:
                    t.same(f"{name}{' of B' if 'key: ' in str(asked) else ''}"
                           f" {scope} at {'AB'[i]}", of(got),
                           want[2 if scope == "local=false" else i])
    kb = t.server.keys(1, t.crawl)[0]
    url = M.URLStatusRequest(url=f"http://{kb}/1", key=kb, crawlID=t.crawl)
    for scope, want in (("local=false", ["OK", "OK"]),
                        ("metadata", ["NOT_FOUND", "OK"])):
        t.same(f"GetURLStatus {scope}", [
            code(ask, n.client, "GetURLStatus", scope, url)
            for n in t.server.nodes], want)
    t.same("GetURLStatus without a key, underivable", [code(
        n.client.status, "http:///x", "", t.crawl) for n in t.server.nodes],
        ["INVALID_ARGUMENT"] * 2)
    # H11.
    t.same("GetURLs local=false is A's", ask(
        t.c, "GetURLs", "local=false", M.GetParams(
            crawlID=t.crawl, max_urls_per_queue=1))[0].key,
        t.server.keys(0, t.crawl)[0])
    t.same("GetURLs metadata", ask(
        t.c, "GetURLs", "metadata", M.GetParams(
            crawlID=t.crawl, max_urls_per_queue=1)), [])


def both_have(t, crawl):
    """A queue of B's with the same on A: old, one of four completed."""
    key = t.server.keys(1, crawl)[0]
    for node in t.server.nodes:
        items = [K(f"http://{key}/{i}", key, crawl, i) for i in range(4)]
        for i in items:
            i.creation_date = now() - 86400 * 10
        node.here.did(*items, metadata=LOCAL + KEEP)
        assert node.here.size(key, crawl) == (3, 0, 1)
    return key


def served_at_once(node, key, crawl):
    """The cluster's default delay is long."""
    return all([node.here.get(n, 1, 60, key, crawl) for n in (1, 9)])


# RPC: (its message for a crawl and a key, how a node shows that it has acted,
# whether local=false is the owner's alone).
WRITES = {
    "SetDelay": (lambda c, k: M.QueueDelayParams(crawlID=c, key=k),
                 served_at_once, True),
    "BlockQueueUntil": (
        lambda c, k: M.BlockQueueParams(crawlID=c, key=k, time=FAR),
        lambda n, k, c: n.here.queues(c) == [], True),
    "SetCrawlLimit": (
        lambda c, k: M.CrawlLimitParams(crawlID=c, key=k, limit=1),
        lambda n, k, c: n.here.get(1, 1, 60, k, c) == [], True),
    "DeleteQueue": (lambda c, k: M.QueueWithinCrawlParams(crawlID=c, key=k),
                    lambda n, k, c: n.here.count(c) == 0, True),
    "DeleteCrawl": (lambda c, k: M.DeleteCrawlMessage(value=c),
                    lambda n, k, c: n.here.count(c) == 0, False),
    "PurgeURLs": (lambda c, k: M.PurgeUrlParams(crawlID=c, days=5),
                  lambda n, k, c: n.here.count(c) == 0, False),
    "PurgeURLs of B": (
        lambda c, k: M.PurgeUrlParams(crawlID=c, key=k, days=5),
        lambda n, k, c: n.here.count(c) == 0, True),
}


@pair("writes")
def every_write(t):
    for what, (message_, acted, keyed) in WRITES.items():
        name = what.split()[0]
        for scope in SCOPES:
            crawl = f"{t.crawl} {what} {scope}"
            key = both_have(t, crawl)
            got = ask(t.c, name, scope, message_(crawl, key))
            if got is None:
                continue
            here = scope != "local=false"
            want = (here or not keyed, not here)
            t.same(f"{what} {scope} at A acts on A, B", tuple(
                acted(n, key, crawl) for n in t.server.nodes), want)
            if hasattr(got, "value"):
                t.same(f"... and answers", got.value, 4 * sum(want))
    for name in ("PutURLs", "PutDiscovered"):
        for scope, want in (("local=false", (False, True)),
                            ("metadata", (True, False))):
            crawl = f"{t.crawl} {name} {scope}"
            key = t.server.keys(1, crawl)[0]
            covered.add((name, scope != "local=false"))
            more = {"metadata": SCOPES[scope][1]}
            if name == "PutURLs":
                t.same(name, t.c.did(D("http://w/", key, crawl), **more),
                       ["OK"])
            else:
                t.same(name, t.c.batches(("b", [info(
                    "http://w/", key, crawl)]), **more), [("b", ["OK"])])
            t.same(f"{name} {scope} at A acts on A, B", tuple(
                n.listed(crawl) == ["http://w/"] for n in t.server.nodes),
                want)


# ---- Control -----------------------------------------------------------------------------

@pair("H2")
def control_binds_on_owner(t):
    a, b = t.server.nodes
    for crawl in (t.crawl, "", " "):
        form = "h2" + crawl[:1] + "{}"
        free, slow_, shut, full = t.server.keys(1, crawl, 4, form)
        for key in (free, slow_, shut, full):
            a.client.fill(*[K(f"http://{key}/{i}", key, crawl, 1 + i)
                            for i in range(4)])
        a.client.fill(K(f"http://{full}/9", full, crawl, 0))
        a.client.delay(slow_, 0, crawl)
        a.client.block(shut, now() + 1000, crawl)
        a.client.limit(full, 1, crawl)
        who = f"crawl {crawl!r}:"
        t.same(f"{who} nothing is on A", a.here.stats(
            free, crawl)["queues"], 0)
        t.same(f"{who} the default delay", served_at_once(b, free, crawl),
               False)
        t.same(f"{who} SetDelay", served_at_once(b, slow_, crawl), True)
        t.same(f"{who} BlockQueueUntil", b.client.get(
            1, 1, 9, shut, crawl), [])
        t.same(f"{who} SetCrawlLimit", b.client.get(
            1, 1, 9, full, crawl), [])
        a.client.block(shut, 0, crawl)
        a.client.limit(full, 0, crawl)
        t.same(f"{who} ... and lifted", [len(b.client.get(
            1, 1, 9, k, crawl)) for k in (shut, full)], [1, 1])


@pair("H5")
def limits(t):
    a, b = t.server.nodes
    key, missing = t.server.keys(1, t.crawl, 2)
    a.client.fill(*[K(f"http://{key}/{i}", key, t.crawl, i)
                    for i in range(3)])

    def limit(key, local):
        return told(a.client.SetCrawlLimit, M.CrawlLimitParams(
            key=key, limit=1, crawlID=t.crawl, local=local))

    t.same("local=true, not the owner", limit(key, True)[0], "UNKNOWN")
    t.same("the owner is untouched", len(b.client.get(
        1, 1, 9, key, t.crawl)), 1)
    here = told(b.client.SetCrawlLimit, M.CrawlLimitParams(
        key=missing, limit=1, crawlID=t.crawl, local=True))
    t.same("a missing queue: the owner's answer", limit(missing, False),
           here)
    t.same("... is UNKNOWN", here[0], "UNKNOWN")


@pair("H3")
def default_delays(t):
    a, b = t.server.nodes

    def binds():
        """Of a new queue on each: is it served twice on end?"""
        crawl = f"{t.crawl} {random.random()}"
        for i, k in enumerate(t.server.key_of_each(crawl)):
            t.c.fill(*[K(f"http://{k}/{u}", k, crawl, 1) for u in range(4)])
        return [served_at_once(n, k, crawl) for n, k in zip(
            t.server.nodes, t.server.key_of_each(crawl))]

    def set_(seconds, scope):
        ask(t.c, "SetDelay", scope, M.QueueDelayParams(
            delay_requestable=seconds))

    t.same("300 s at first", binds(), [False, False])
    set_(0, "local=false")
    t.same("0 on both", binds(), [True, True])
    for scope in ("local=true", "metadata"):
        set_(300, scope)
        t.same(f"300 with {scope} on A", binds(), [False, True])
        set_(0, scope)
    set_(300, "local=false")
    t.same("300 on both again", binds(), [False, False])
    key = t.server.keys(1, t.crawl)[0]
    # Keyed and local never leaves; here it waits for the queue.
    a.client.SetDelay(M.QueueDelayParams(key=key, crawlID=t.crawl,
                                         local=True))
    t.c.fill(*[K(f"http://{key}/{i}", key, t.crawl, 1) for i in range(4)])
    a.here.fill(*[K(f"http://{key}/{i}", key, t.crawl, 1) for i in range(4)])
    t.same("keyed, local=true: on A alone", [
        served_at_once(n, key, t.crawl) for n in (a, b)], [True, False])


@pair("H4")
def active(t):
    def states():
        return [n.client.GetActive(M.Local(local=True)).state
                for n in t.server.nodes] + [
            n.client.active() for n in t.server.nodes]

    key = t.server.key_of_each(t.crawl)
    for k in key:
        t.c.fill(*[K(f"http://{k}/{i}", k, t.crawl, 1) for i in range(3)])
    ask(t.c, "SetActive", "local=false", M.Active(state=False))
    t.same("false: both", states(), [False] * 4)
    t.same("neither serves", [n.client.get(1, 1, 9, "", t.crawl)
                              for n in t.server.nodes], [[], []])
    ask(t.c, "SetActive", "local=false", M.Active(state=True))
    t.same("true: both", states(), [True] * 4)
    for scope in ("local=true", "metadata"):
        ask(t.c, "SetActive", scope, M.Active(state=False))
        t.same(f"false, {scope}: A, and so not all", states(),
               [False, True, False, False])
        ask(t.c, "SetActive", scope, M.Active(state=True))
    t.same("both serve", [len(n.client.get(1, 1, 9, "", t.crawl))
                          for n in t.server.nodes], [1, 1])


@pair("SetLogLevel")
def log_levels(t):
    def verbose(scope, level):
        """Which nodes log calls afterwards."""
        ask(t.c, "SetLogLevel", scope, M.LogLevelParams(
            package="crawlercommons.urlfrontier", level=level))
        before = [n.lines("urlfrontier.call") for n in t.server.nodes]
        for n in t.server.nodes:
            n.here.active()
        pause(0.2)
        return [n.lines("urlfrontier.call") > x
                for n, x in zip(t.server.nodes, before)]

    t.same("none at first", verbose("local=false", 2), [False, False])
    t.same("local=false", verbose("local=false", 1), [True, True])
    t.same("local=true", verbose("local=true", 2), [False, True])
    verbose("local=false", 2)
    t.same("metadata", verbose("metadata", 1), [True, False])
    t.same("off again", verbose("local=false", 2), [False, False])
    if not sys.argv[1:]:
        t.same("every RPC was asked here and everywhere", {
            (r[0], x) for r in M.rpcs for x in (False, True)} ^ covered,
            set())


# ---- Streams ----------------------------------------------------------------------------

@pair("H6")
def one_id(t):
    keys = t.server.key_of_each(t.crawl)
    items = [D(f"http://{keys[i % 4 == 0]}/{i % 600}", keys[i % 4 == 0],
               t.crawl, ID="same") for i in range(1200)]
    acks = t.c.put(*items)
    t.same("each under the ID", {i for i, _ in acks}, {"same"})
    t.same("new ones, and known ones", sorted(s for _, s in acks),
           ["OK"] * 600 + ["SKIPPED"] * 600)
    key = t.server.keys(1, t.crawl)[0]

    def one(k):
        return t.c.put(*[K(f"http://{key}/{k}/{i}", key, t.crawl, FAR,
                           ID=f"{i}") for i in range(250)])

    got = at_once(8, one)
    t.same("eight streams of 250", [sorted(acks) == sorted(
        (f"{i}", "OK") for i in range(250)) for acks in got], [True] * 8)
    t.same("... are there", t.server.nodes[1].here.count(
        t.crawl, key), 2150)


@pair("H10")
def over_both(t):
    crawl = t.crawl
    keys = sorted(t.server.keys(0, crawl, 10) + t.server.keys(1, crawl, 10))
    urls = [f"http://{k}/{i}" for k in keys for i in range(2)]
    t.c.fill(*[D(u, u.split("/")[2], crawl) for u in urls],
             K(urls[5], keys[2], crawl, 0))
    t.same("20 on each", [n.here.count(crawl) for n in t.server.nodes],
           [20, 20])
    for name, node in zip("AB", t.server.nodes):
        c = node.client
        t.same(f"CountURLs at {name}", c.count(crawl), 40)
        t.same(f"... filtered", c.count(crawl, filter="/0"), 20)
        t.same(f"GetStats at {name}", c.stats("", crawl), dict(
            size=39, leased=0, completed=1, active=20, queues=20,
            crawl=crawl))
        p = c.ListQueues(M.Pagination(size=5, crawlID=crawl))
        t.same(f"ListQueues at {name}", (list(p.values), p.start, p.size,
                                         p.crawlID),
               (keys[:5], 0, 5, crawl))
        got = [c.queues(crawl, start, 3) for start in range(0, 24, 3)]
        t.same("... pages", sum(got, []), keys)
        items = c.items(crawl)
        order = [(i.known.info.key, i.known.refetchable_from_date,
                  i.known.info.url) for i in items]
        t.same(f"ListURLs at {name}", (order, sorted(x[2] for x in order)),
               (sorted(order), urls))
        t.same("... a page", c.urls(crawl, start=7, size=9),
               [x[2] for x in order[7:16]])
        t.same("... of a queue", c.urls(crawl, keys[3]), urls[6:8])
        t.same(f"GetURLStatus at {name}", [c.date(
            u, u.split("/")[2], crawl) == 0 for u in urls[4:8]],
            [False, True, False, False])
        t.same("... derives the key", code(c.status, urls[0], "", crawl),
               "OK")
        t.same("... unknown", [code(c.status, "http://x/", k, crawl)
                               for k in keys[:6]], ["NOT_FOUND"] * 6)
        big = [info(f"http://b/{i % 250}", keys[i % 250 % 20], crawl + name)
               for i in range(300)]
        big[77:77] = [info("", keys[0], crawl), info("http:///x", "", crawl)]
        t.same(f"PutDiscovered at {name}", c.batches(("big", big), ("", [])),
               [("big", ["OK"] * 77 + ["SKIPPED"] * 2 + ["OK"] * 173 +
                 ["SKIPPED"] * 50), ("", [])])
    pause(1.1)
    t.same("PurgeURLs, a day", t.c.purge(1, "", crawl), 0)
    t.same("PurgeURLs", (t.server.nodes[1].client.purge(0, "", crawl),
                         [n.here.count(crawl) for n in t.server.nodes]),
           (40, [0, 0]))
    t.same("... leaves queues", t.c.queues(crawl, inactive=True), keys)


@pair("many queues")
def many_queues(t):
    """More than nodes tell each other at once."""
    keys = sorted(("\u00e9_\U0001f577"[i % 3] + f"{i * 7919 % 10007}"
                   for i in range(10000)), key=str.encode)
    t.c.batches(*[(str(i), [info("http://m/", k, t.crawl)
                            for k in keys[i:i + 1000]])
                  for i in range(0, 10000, 1000)])
    for name, node in zip("AB", t.server.nodes):
        t.check(f"all, at {name}", node.client.queues(t.crawl) == keys)
        t.same(f"the end, at {name}", node.client.queues(
            t.crawl, 9990, 100), keys[9990:])
        t.same(f"behind it, at {name}", node.client.queues(
            t.crawl, 10000, 5), [])
    t.same("deleted", t.c.delete_crawl(t.crawl), 10000)


@pair("H11")
def served_from(t):
    a, b = t.server.nodes
    crawl = t.crawl
    of_a, of_b = (t.server.keys(i, crawl, 6) for i in (0, 1))
    t.c.fill(*[K(f"http://{k}/{i}", k, crawl, 1) for k in of_a + of_b
               for i in range(40)])

    def keys(q, n=1, node=a, key="", **more):
        return sorted({i.key for i in node.client.get(
            n, q, 60, key, crawl, **more)})

    t.same("A serves its own", keys(0), sorted(of_a))
    t.same("... not a queue of B", keys(1, key=of_b[0]), [])
    t.same("scope cluster: B's, keyed", keys(1, key=of_b[0],
                                             metadata=CLUSTER), of_b[:1])
    t.same("scope cluster: the rest", keys(0, metadata=CLUSTER),
           sorted(of_b[1:]))
    t.same("leased where they are", [n.here.stats("", crawl)["leased"]
                                     for n in (a, b)], [6, 6])
    for k in of_a + of_b:
        t.c.delay(k, 0, crawl)
    got = keys(8, 5, metadata=CLUSTER)
    t.same("8 queues: A's first", ([k for k in got if k in of_a], len(got)),
           (sorted(of_a), 8))
    got = keys(4, 10, metadata=CLUSTER)
    t.check("4 queues: A's alone", len(got) == 4 and set(got) <= set(of_a),
            got)
    got = keys(5, 20, b, metadata=CLUSTER)
    t.check("at B it is B's first", len(got) == 5 and set(got) <= set(of_b),
            got)
    t.same("other crawls", a.client.get(1, 0, 9, "", crawl + "x",
                                        metadata=CLUSTER), [])
    whole = a.client.get(0, 0, 60, "", crawl, metadata=CLUSTER)
    t.check("all that is left, each once, queue by queue", len(
        whole) == len({i.url for i in whole}) and {i.key for i in whole} ==
        set(of_a + of_b) and len(list(itertools.groupby(
            i.key for i in whole))) == 12, len(whole))


# ---- Three nodes -------------------------------------------------------------------------

@three("order")
def last_wins(t):
    """A stream to each node: 1,000 URLs, four updates of each."""
    def one(n):
        crawl = f"{t.crawl} {n}"
        rng = random.Random(n)
        urls = [f"http://o{i % 31}/{i}" for i in range(1000)]
        want, items = {}, []
        for round_ in range(4):
            rng.shuffle(urls)
            for u in urls:
                date = rng.choice((0, 1, FAR, now() + 1000))
                if rng.random() < 0.2:
                    items.append(D(u, "", crawl, v="D"))
                    want.setdefault(u, (None, "D"))
                else:
                    items.append(K(u, "", crawl, date, v=str(round_)))
                    want[u] = date, str(round_)
        did = t.server.nodes[n].client.did(*items, timeout=60)
        got = {i.known.info.url: (
            i.known.refetchable_from_date,
            metadata_of(i.known.info)["v"][0])
            for i in t.server.nodes[n - 1].client.items(crawl)}
        wrong = [(u, got.get(u), w) for u, w in want.items()
                 if u not in got or got[u][1] != w[1] or
                 w[0] not in (None, got[u][0])]
        return [(s, did.count(s)) for s in STATUS[2:]] + wrong[:5], len(got)

    t.same("states", at_once(3, one), [([("FAIL", 0)], 1000)] * 3)


@three("lists")
def merged(t):
    crawl = t.crawl
    rng = random.Random(7)
    keys = sorted({rng.choice("a~\u00e9\uffee\U0001f577_") * rng.randrange(
        1, 4) + f"{rng.randrange(1000)}" for _ in range(200)},
        key=str.encode)
    items = [D(f"http://l/{i}/{k}", k, crawl) for k in keys
             for i in range(rng.randrange(1, 7))]
    t.c.fill(*items)
    done = rng.sample(keys, 60)
    t.c.fill(*[K(i.discovered.info.url, i.discovered.info.key, crawl, 0)
               for i in items if i.discovered.info.key in done])
    left = [k for k in keys if k not in done]
    whole = t.c.urls(crawl)
    for i, node in enumerate(t.server.nodes):
        c = node.client
        for size in (7, 64, 1):
            got = []
            for start in range(0, 70, size) if size == 1 else \
                    range(0, len(keys) + size, size):
                got += c.queues(crawl, start, size, True)
            t.same(f"ListQueues by {size} at {i}", got,
                   keys[:70] if size == 1 else keys)
        t.same(f"active ones at {i}", c.queues(crawl, 5, 100),
               left[5:105])
        order = [(x.known.info.key.encode(), x.known.refetchable_from_date,
                  x.known.info.url.encode()) for x in c.items(crawl)]
        t.same(f"ListURLs at {i}", (len(order), order == sorted(order)),
               (len(items), True))
        for start, size in ((0, 1), (0, 0), (17, 100), (len(items) - 3, 50),
                            (len(items), 5)):
            t.same(f"... {size} from {start}", c.urls(
                crawl, start=start, size=size),
                whole[start:start + (size or 100)])
        t.same(f"... filtered", c.urls(
            crawl, start=3, size=9, filter="L/1/", ignoreCase=True),
            [u for u in whole if "l/1/" in u][3:12])
        t.same(f"crawls at {i}", len([x for x in c.crawls() if x == crawl]),
               1)
    # As after another list of nodes: the same queue on two of them.
    crawl = t.crawl + " twice"
    for i, node in enumerate(t.server.nodes[:2]):
        node.here.fill(*[K(f"http://t/{x % 5}/{x}", "k", crawl, 1 + x // 4)
                         for x in range(i, 40, 2)])
    items = [(x.known.refetchable_from_date, x.known.info.url)
             for x in t.c.items(crawl)]
    t.same("a queue on two nodes", (len(items), items == sorted(items),
                                    t.c.queues(crawl)), (40, True, ["k"]))


@three("unread lists")
def unread(t):
    """Who does not read is not read for."""
    crawl = t.crawl
    t.c.many([f"http://u{i % 90}/{i}/" + "x" * 2000 for i in range(9000)],
             "", crawl)
    a = t.server.nodes[0]
    before = a.memory_kib()
    # More than all that one connection would hold back.
    calls = [Client(a.port).ListURLs(M.ListUrlParams(crawlID=crawl, size=ALL))
             for _ in range(24)]
    firsts = {next(c).known.info.url for c in calls}
    pause(1)
    grown = (a.memory_kib() - before) >> 10
    note(f"{t.name}: 24 of 18 MiB unread: {grown} MiB more")
    t.check("memory", grown < 40, grown)
    t.same("the others are served", (t.c.did(*[
        D(f"http://{k}/", "", crawl) for k in t.server.key_of_each(crawl)]),
        t.c.count(crawl)), (["OK"] * 3, 9003))
    rest = [i.known.info.url for i in calls.pop()]
    t.same("then one is read", (len(firsts), len({*firsts, *rest}),
                                len(rest)), (1, 9000, 8999))
    for c in calls:
        c.cancel()
    t.same("deleted", t.c.delete_crawl(crawl), 9003)


@three("GetURLs in turn")
def in_turn(t):
    """The first of the others is another one each time."""
    keys = [t.server.keys(i, t.crawl, 9) for i in range(3)]
    t.c.fill(*[K(f"http://{k}/", k, t.crawl, 1) for k in sum(keys[1:], [])])
    got = [t.c.get(1, 1, 60, "", t.crawl, metadata=CLUSTER)
           for _ in range(8)]
    t.same("one each", [len(x) for x in got], [1] * 8)
    of = [owner(t.crawl, x[0].key, 3) for x in got]
    t.same("half of each", sorted(of), [1] * 4 + [2] * 4)
    rest = t.c.get(1, 0, 60, "", t.crawl, metadata=CLUSTER)
    t.same("the rest", len({i.key for i in rest}), 10)


@three("StormCrawler")
def storm(t):
    """A spout for each sorted node, one long stream of updates."""
    crawl, pages = t.crawl, 1200
    t.c.delay("", 0)
    updates, fetched, wrong = Updates(t.server.nodes[1].client), {}, []
    url = "http://s{0}/{1}".format

    def found(i):
        return D(url(i * 7919 % 61, i), "", crawl, depth="1")

    updates.put(found(0))
    over = time.monotonic() + 25
    nodes = list(t.c.ListNodes(M.Empty()).values)

    def spout(n):
        c = Client(int(nodes[n].split(":")[1]))
        while len(fetched) < pages and time.monotonic() < over:
            got = c.get(10, 10, 60, "", crawl)
            for i in got:
                at = int(i.url.rpartition("/")[2])
                with lock:
                    if at in fetched or owner(crawl, i.key, 3) != n:
                        wrong.append((n, i.url, fetched.get(at)))
                    fetched[at] = n
                for link in (2 * at + 1, 2 * at + 2):
                    if link < pages:
                        updates.put(found(link))
                updates.put(K(i.url, i.key, crawl, FAR, depth="1"))
            if not got:
                time.sleep(0.02)
        c.close()

    at_once(3, spout)
    t.same("pages, each once, by their owner", (len(fetched), wrong),
           (pages, []))
    t.same("acks", updates.end(), {"OK"})
    s = t.c.stats("", crawl)
    t.same("in the end", (s["size"], s["leased"], s["queues"]),
           (pages, 0, 61))
    t.check("all took part", len(set(fetched.values())) == 3)
    t.c.delay("", 1)


class Updates:
    """A PutURLs call as StormCrawler holds it: ID = URL, acks read beside."""

    def __init__(self, client):
        self.waiting, self.heard = queue.Queue(), []
        self.call = client.PutURLs(iter(self.waiting.get, None), timeout=60)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        self.n = 0

    def read(self):
        try:
            for a in self.call:
                self.heard.append(STATUS[a.status])
        except grpc.RpcError as e:
            self.heard.append(e.code().name)

    def put(self, item):
        self.n += 1
        self.waiting.put(item)

    def end(self):
        self.waiting.put(None)
        self.reader.join()
        return set(self.heard) | ({f"{len(self.heard)} of {self.n}"} if len(
            self.heard) != self.n else set())


@three("kills")
def kills(t):
    """kill -9 of one of them under puts, again and again."""
    writers = [Writer(i, t.server) for i in range(3)]
    over = threading.Event()
    rng = random.Random()
    partial, asked = [], {}

    def watch():
        """An answer that is OK has all that was acknowledged before."""
        while not over.is_set():
            for w in writers:
                n = rng.randrange(3)
                least = len(w.kept)
                try:
                    got = (w.clients[n].count(w.crawl),
                           w.clients[n].stats("", w.crawl)["size"])
                    asked["OK"] = asked.get("OK", 0) + 1
                    if min(got) < least:
                        partial.append((got, least))
                except grpc.RpcError as e:
                    name = e.code().name
                    asked[name] = asked.get(name, 0) + 1
            time.sleep(0.1)

    threads = [threading.Thread(target=w.work, args=(over,))
               for w in writers] + [threading.Thread(target=watch)]
    for x in threads:
        x.start()
    starts = []
    for k in range(10):
        time.sleep(rng.uniform(0.1, 0.6))
        node = t.server.nodes[k % 3]
        node.kill()
        time.sleep(rng.uniform(0, 0.4))
        starts.append(node.start())
    over.set()
    for x in threads:
        x.join()
    at_once(3, lambda i: writers[i].finish(15))
    tally = {k: sum(w.tally[k] for w in writers) for k in writers[0].tally}
    note(f"{t.name}: {tally}, questions {asked}, starts up to "
         f"{max(starts):.2f} s")
    t.same("no faults", sum((w.faults[:3] for w in writers), []), [])
    t.check("FAIL and no answer were seen", tally["FAIL"] > 20 and
            tally["unanswered"] > 20 and tally["OK"] > 2000, tally)
    t.same("all came through in the end", [len(w.again) for w in writers],
           [0] * 3)
    t.same("an OK answer is whole", partial[:5], [])
    t.check("... of which there were some", asked.get("OK", 0) > 10, asked)
    for w in writers:
        there = {i.known.info.url: metadata_of(i.known.info)["v"][0]
                 for i in t.c.items(w.crawl)}
        lost_ = {u for u, v in w.kept.items() if there.get(u) != v}
        t.check(f"{w.crawl}: {len(w.kept)} acknowledged, none is lost",
                not lost_ and len(w.kept) == w.n, lost_)
        own = [set(n.listed(w.crawl)) for n in t.server.nodes]
        t.same("... each on one node", sum(map(len, own)), len(there))


# ---- All of it ---------------------------------------------------------------------------

def stand(name, cases, workers, *args, first=lambda c: None, **more):
    """A cluster while its cases run."""
    if sys.argv[1:] and not {n for n, _ in cases.all} & set(sys.argv[1:]):
        return
    began = time.monotonic()
    try:
        cluster = Cluster(name, *args, **more)
        first(cluster)
        cases.run(cluster, workers=workers)
        same(f"{name}: SIGTERM ends them", cluster.stop(),
             [0] * len(cluster.nodes))
    except Exception:
        check(f"{name} goes to its end", False,
              traceback.format_exc()[-500:])
    note(f"{name}: {time.monotonic() - began:.1f} s")


class Nobody:
    client = None


at_once(5, lambda i: (
    lambda: stand("pair", pair, 1, 2, first=lambda c: c.client.delay(
        "", 300)),
    lambda: stand("three", three, 1, 3, "urlfrontier.forward_deadline_s=8"),
    lambda: stand("slow", slow, 1, 2, behind=(1,)),
    lambda: stand("hurt", hurt, 1, 2, "urlfrontier.forward_deadline_s=2",
                  "urlfrontier.put_mem=8MiB"),
    lambda: apart.run(Nobody, workers=2))[i]())
same("N6 no number above 2^63", Client.too_big, [])
done()
