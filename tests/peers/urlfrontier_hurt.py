"""Cases of urlfrontier_cluster.py: the other node is dead, silent, or comes back.

Two nodes that wait 2 s for each other; one case after the other.  Those from
"restarted" on begin and end with both of them well.
"""
from urlfrontier_nodes import *

hurt = Cases()


def ready(t, n=2):
    """A key of each, with URLs that are due."""
    keys = t.server.key_of_each(t.crawl)
    t.c.fill(*[K(f"http://{k}/{i}", k, t.crawl, 1 + i) for k in keys
               for i in range(n)])
    return keys


def keyed(c, key, crawl):
    """What goes to the owner alone: {RPC: a call}."""
    return {
        "SetDelay": lambda: c.delay(key, 0, crawl),
        "BlockQueueUntil": lambda: c.block(key, 0, crawl),
        "SetCrawlLimit": lambda: c.limit(key, 0, crawl),
        "GetURLStatus": lambda: c.status(f"http://{key}/0", key, crawl),
        "GetURLStatus, derived": lambda: c.status(f"http://{key}/0", "",
                                                  crawl),
        "GetStats": lambda: c.stats(key, crawl),
        "ListURLs": lambda: c.items(crawl, key),
        "CountURLs": lambda: c.count(crawl, key),
        "PurgeURLs": lambda: c.purge(10000, key, crawl),
        "DeleteQueue": lambda: c.delete(key, crawl)}


def broad(c, crawl, local=False):
    """What all are asked: {RPC: a call}."""
    at = {"crawlID": crawl, "local": local}
    metadata = LOCAL if local else None
    return {
        "GetStats": lambda: c.GetStats(M.QueueWithinCrawlParams(**at)),
        "ListQueues": lambda: c.ListQueues(M.Pagination(**at)),
        "ListCrawls": lambda: c.ListCrawls(M.Local(local=local)),
        "ListURLs": lambda: list(c.ListURLs(M.ListUrlParams(**at))),
        "CountURLs": lambda: c.CountURLs(M.CountUrlParams(**at)),
        "PurgeURLs": lambda: c.PurgeURLs(M.PurgeUrlParams(
            crawlID=crawl, days=10000), metadata=metadata),
        "GetActive": lambda: c.GetActive(M.Local(local=local)),
        "SetActive": lambda: c.SetActive(M.Active(state=True, local=local)),
        "SetDelay": lambda: c.SetDelay(M.QueueDelayParams(
            delay_requestable=1, local=local)),
        "SetLogLevel": lambda: c.SetLogLevel(M.LogLevelParams(
            package="x", level=2, local=local)),
        "DeleteCrawl": lambda: c.DeleteCrawl(M.DeleteCrawlMessage(
            value=crawl + " of none", local=local))}


def all_end(t, who, calls, want, seconds_max, names=None):
    """All at once; {RPC: want}, soon enough, the text naming a node."""
    def one(i):
        began = time.monotonic()
        return told(list(calls.values())[i]) + (time.monotonic() - began,)

    got = dict(zip(calls, at_once(len(calls), one)))
    t.same(f"{who}", {k: v[0] for k, v in got.items()}, dict.fromkeys(
        calls, want))
    late = {k: v for k, v in got.items() if v[2] > seconds_max}
    t.check(f"... in {seconds_max} s", not late, late)
    if names:
        mute = {k: v for k, v in got.items() if names not in v[1]}
        t.check("... naming the node", not mute, mute)
    return got


def notready(t):
    return t.server.nodes[0].metric("frontier_putURLs_forward_notready_total")


@hurt("H7")
def dead(t):
    a, b = t.server.nodes
    of_b = t.server.entries[1]
    t.server.well(t, "at first")
    ka, kb = ready(t)
    before = notready(t)
    b.kill()
    c = t.c
    all_end(t, "keyed, of B", keyed(c, kb, t.crawl), "UNAVAILABLE", 3, of_b)
    all_end(t, "of all", broad(c, t.crawl), "UNAVAILABLE", 3, of_b)
    all_end(t, "local=true", broad(c, t.crawl, True), "OK", 3)
    t.same("puts", c.put(K(f"http://{ka}/x", ka, t.crawl, FAR, ID="same"),
                         K(f"http://{ka}/y", ka, t.crawl, FAR, ID="same")),
           [("same", "OK")] * 2)
    said = c.put(*[K(f"http://{k}/{i}", k, t.crawl, 1, ID=f"{k} {i}")
                   for i in range(50) for k in (ka, kb)])
    t.same("puts to both", sorted(said), sorted(
        (f"{k} {i}", "OK" if k == ka else "FAIL") for i in range(50)
        for k in (ka, kb)))
    t.same("a batch", c.batches(("b", [
        info("http://b/", k, t.crawl) for k in (kb, ka, ka, kb)])),
        [("b", ["FAIL", "OK", "SKIPPED", "FAIL"])])
    # But for those that were on their way when it was noticed.
    wait_until(lambda: notready(t) - before >= 20, 3)
    t.check("they are counted", 20 <= notready(t) - before <= 52,
            (before, notready(t)))
    t.same("scope cluster", served(c, t.crawl), (
        [ka], "UNAVAILABLE"))
    # Broadcasts take effect here all the same.
    t.same("SetActive", (code(c.active, False), a.here.active()),
           ("UNAVAILABLE", False))
    code(c.active, True)
    a.here.fill(*[K(f"http://twice/{i}", "twice", t.crawl, 1)
                  for i in range(4)])
    t.same("SetDelay", (code(c.delay, "", 0), [len(a.here.get(
        n, 1, 60, "twice", t.crawl)) for n in (1, 2)]),
        ("UNAVAILABLE", [1, 2]))
    code(c.delay, "", 1)
    lines = a.lines("urlfrontier.call")
    t.same("SetLogLevel", (code(c.SetLogLevel, M.LogLevelParams(
        package="x", level=1)), a.here.active() and wait_until(
        lambda: a.lines("urlfrontier.call") > lines, 2)),
        ("UNAVAILABLE", True))
    code(c.SetLogLevel, M.LogLevelParams(package="x", level=2))
    t.same("DeleteCrawl", (code(c.delete_crawl, t.crawl),
                           a.here.count(t.crawl)), ("UNAVAILABLE", 0))
    # Keys of A.
    ready_a = [f"http://{ka}/{i}" for i in range(3)]
    c.fill(*[K(u, ka, t.crawl, 1) for u in ready_a])
    all_end(t, "keyed, of A", {k: f for k, f in keyed(
        c, ka, t.crawl).items() if k != "DeleteQueue"}, "OK", 3)
    t.same("... is served by scope cluster", code(
        c.get, 1, 0, 1, ka, t.crawl, metadata=CLUSTER), "OK")
    t.same("... is deleted", c.delete(ka, t.crawl), 3)


def served(c, crawl):
    """The keys that a call for all nodes brings, and how it ends."""
    found = set()
    try:
        for i in c.getting(1, 0, 1, "", crawl, metadata=CLUSTER):
            found.add(i.key)
    except grpc.RpcError as e:
        return sorted(found), e.code().name
    return sorted(found), "OK"


@hurt("H4 dead")
def active_of_dead(t):
    a, b = t.server.nodes
    if b.runs():
        b.kill()
    t.same("GetActive", code(t.c.active), "UNAVAILABLE")
    a.here.SetActive(M.Active(state=False))
    t.same("... even when A is inactive", (
        code(t.c.active), a.here.active()), ("UNAVAILABLE", False))
    a.here.SetActive(M.Active(state=True))


@hurt("restarted")
def comes_back(t):
    a, b = t.server.nodes
    if not b.runs():
        b.start()
    t.server.well(t, "after a kill -9")
    crawl = "crawl of H7"
    if sys.argv[1:]:
        return
    kb = t.server.keys(1, crawl)[0]
    t.same("what B had is there, no more", b.listed(crawl),
           [f"http://{kb}/{i}" for i in range(2)])
    stream = Stream(t.c)
    kb = t.server.keys(1, t.crawl)[0]
    t.same("a stream: OK", stream.put(K("http://s/1", kb, t.crawl, FAR)),
           "OK")
    b.kill()
    t.same("... dead: FAIL", stream.put(K("http://s/2", kb, t.crawl, FAR)),
           "FAIL")
    b.start()
    t.check("... again: OK", wait_until(lambda: stream.put(K(
        "http://s/2", kb, t.crawl, FAR)) == "OK", 4))
    t.same("its end", stream.end(), "OK")
    t.same("SIGTERM: ends well", b.restart(), 0)
    t.server.well(t, "after SIGTERM")


@hurt("H8")
def silent(t):
    a, b = t.server.nodes
    t.server.well(t, "at first")
    ka, kb = ready(t)
    c, of_b = t.c, t.server.entries[1]
    held, crawl = Stream(c), t.crawl + " held"
    key = t.server.keys(1, crawl)[0]
    t.same("a stream", held.put(K("http://s/", key, crawl, FAR, ID="1")),
           "OK")
    b.stall()
    calls = {f"{k}, keyed": f for k, f in keyed(c, kb, t.crawl).items()}
    calls.update(broad(c, t.crawl))
    calls["DeleteCrawl"] = lambda: c.delete_crawl(t.crawl)
    calls["GetURLs"] = lambda: c.get(1, 0, 1, "", t.crawl, metadata=CLUSTER)
    got = all_end(t, "all", calls, "DEADLINE_EXCEEDED", 6, of_b)
    soon = {k: v for k, v in got.items() if v[2] < 1.8}
    t.check("... not before 2 s", not soon, soon)
    t.same("DeleteCrawl has acted here", a.here.count(t.crawl), 0)
    all_end(t, "local=true", broad(c, t.crawl, True), "OK", 1.5)
    t.same("a stream: FAIL", held.put(D("http://s/", key, crawl, ID="2")),
           "FAIL")
    # The ack that comes late, SKIPPED, is nobody's.
    held.waiting.put(K("http://s/", key, crawl, FAR, ID="3"))
    time.sleep(0.3)
    b.go_on()
    ack = next(held.call)
    t.same("an ack is the item's", (ack.ID, STATUS[ack.status]), ("3", "OK"))
    t.server.well(t, "after SIGCONT")
    t.same("the stream goes on", [held.put(K(
        f"http://s/{i}", key, crawl, FAR, ID=f"{i}"))
        for i in range(5)], ["OK"] * 5)
    t.same("its end", held.end(), "OK")


@hurt("H9 stalled")
def stalled(t):
    a, b = t.server.nodes
    ka, kb = t.server.key_of_each(t.crawl)
    t.c.fill(K("http://h9/", kb, t.crawl, FAR))
    b.stall()
    took = {}

    def one(i):
        began = time.monotonic()
        if i == 3:
            said = t.c.batches(("b", [info(f"http://{k}/", k, t.crawl)
                                      for k in (ka, kb)]))[0][1]
        else:
            key = (ka, kb, kb)[i]
            n = (200, 200, 3000)[i]
            said = t.c.did(*[K(f"http://{key}/{i}/{x}", key, t.crawl, FAR)
                             for x in range(n)])
        took[i] = time.monotonic() - began
        return said

    own, few, many, batch = at_once(4, one)
    t.same("own keys are OK", own, ["OK"] * 200)
    # They do not wait for B's, which end 2 s after they began.
    t.check("... at once", took[0] < max(1.7, took[1] - 0.5), took)
    t.same("B's: FAIL", few, ["FAIL"] * 200)
    t.check("... after 2 s", 1.8 < took[1] < 9, took)
    t.same("3,000 of B's", (set(many), len(many)), ({"FAIL"}, 3000))
    t.check("... in bounded time", took[2] < 25, took)
    t.same("a batch", batch, ["OK", "FAIL"])
    note(f"{t.name}: 200 of B's took {took[1]:.2f} s, 3,000 "
         f"{took[2]:.2f} s")
    b.go_on()
    t.server.well(t, "after SIGCONT")
    t.same("sent again they are OK", (t.c.did(*[
        K(f"http://{kb}/2/{x}", kb, t.crawl, FAR) for x in range(3000)]),
        t.c.count(t.crawl, kb, filter=f"{kb}/2/")), (["OK"] * 3000, 3000))


@hurt("silent from the start")
def never_spoke(t):
    """A connects to a node whose kernel alone answers; then it is killed."""
    a, b = t.server.nodes
    kb = t.server.keys(1, t.crawl)[0]
    b.stall()
    a.settings.append("urlfrontier.put_inflight_max=0")
    t.same("A ends well", a.restart(), 0)
    all_end(t, "calls", {k: f for k, f in broad(t.c, t.crawl).items() if k in (
        "GetStats", "ListURLs", "GetActive")}, "DEADLINE_EXCEEDED", 6)
    t.same("puts", t.c.did(K("http://n/", kb, t.crawl, FAR)), ["FAIL"])
    threading.Timer(0.5, b.kill).start()
    began = time.monotonic()
    said = told(t.c.stats, "", t.crawl)
    took = time.monotonic() - began
    t.check("killed while a call waits", said[0] == "UNAVAILABLE" and
            took < 1.8, (said, took))
    b.start()
    t.server.well(t, "after a kill -9")


@hurt("in the middle")
def in_the_middle(t):
    """A list and a get of which the other node has sent a part."""
    a, b = t.server.nodes
    kb = t.server.keys(1, t.crawl)[0]
    n = 7000

    def begin_():
        calls = (t.c.ListURLs(M.ListUrlParams(crawlID=t.crawl, size=ALL)),
                 t.c.ListURLs(M.ListUrlParams(crawlID=t.crawl, size=ALL,
                                              key=kb)),
                 t.c.getting(0, 0, 1, "", t.crawl, metadata=CLUSTER))
        return [(next(c), c)[1] for c in calls]

    def rest(call):
        """How many more, and the end."""
        got = 0
        try:
            for _ in call:
                got += 1
        except grpc.RpcError as e:
            return got, e.code().name
        return got, "OK"

    t.c.many([f"http://{kb}/{i}/" + "x" * 2000 for i in range(n)], kb,
             t.crawl)
    for what, hurt_, heal, want in (
            ("killed", b.kill, b.start, "UNAVAILABLE"),
            ("stalled", b.stall, b.go_on, "DEADLINE_EXCEEDED")):
        calls = begin_()
        hurt_()
        ends = at_once(3, lambda i: rest(calls[i]))
        t.same(f"{what}: no list is OK", [e for _, e in ends], [want] * 3)
        t.check(f"{what}: of which a part has come", all(
            x < n - 1 for x, _ in ends), ends)
        heal()
        t.server.well(t, what)
        t.same(f"{what}: then it is whole", len(t.c.urls(t.crawl)), n)
        wait_until(lambda: t.c.size("", t.crawl)[1] == 0, 4)


@hurt("A ends")
def ends_while_waiting(t):
    """SIGTERM of a node that waits for one that is silent."""
    a, b = t.server.nodes
    ka, kb = ready(t)
    stream = Stream(t.c)
    stream.put(K(f"http://{kb}/", kb, t.crawl, FAR))
    b.stall()
    stream.waiting.put(K(f"http://{kb}/2", kb, t.crawl, FAR))
    calls = {"put": lambda: stream.call, **{
        k: f for k, f in broad(t.c, t.crawl).items()
        if k in ("GetStats", "ListURLs", "CountURLs", "ListQueues")},
        "GetURLs": lambda: t.c.get(1, 0, 1, "", t.crawl, metadata=CLUSTER)}
    threading.Timer(0.4, a.child.terminate).start()
    got = dict(zip(calls, at_once(len(calls), lambda i: code(
        list(calls.values())[i]))))
    t.check("calls end with an error", set(got.values()) <= {
        "UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"}, got)
    began = time.monotonic()
    t.same("it ends well", wait_until(
        lambda: a.child.poll() is not None, 12) and a.child.returncode, 0)
    note(f"{t.name}: ended {time.monotonic() - began:.2f} s after the calls")
    b.go_on()
    a.start()
    t.server.well(t, "started again")


@hurt("memory")
def memory(t):
    """200,000 items for a node that is stalled, from four clients."""
    a, b = t.server.nodes
    if "urlfrontier.put_inflight_max=0" not in a.settings:
        a.settings.append("urlfrontier.put_inflight_max=0")
        a.restart()
    t.server.well(t, "without a limit of items")
    kb = t.server.keys(1, t.crawl)[0]
    each, n = 4, 50000
    # B's own, which stands.
    streams = a.metric("frontier_streams_open")
    clients = at_once(each, lambda i: Blast(a.port, n, kb, t.crawl, 300))
    before, most, over = a.memory_kib(), [0], threading.Event()

    def watch():
        while not over.is_set():
            most[0] = max(most[0], a.memory_kib())
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    b.stall()
    sent = at_once(each, lambda i: clients[i].go(6))
    asked = time.monotonic()
    t.same("A answers", code(a.here.stats, "", t.crawl), "OK")
    t.check("... at once", time.monotonic() - asked < 1)
    held = len([p for c in clients for p in c.pieces])
    b.go_on()
    at_once(each, lambda i: clients[i].go(40))
    ends = at_once(each, lambda i: clients[i].end(30))
    over.set()
    watcher.join()
    grown = (most[0] - before) >> 10
    heard = [s for statuses, _ in ends for s in statuses]
    # A program that watches itself keeps what was freed.
    room = 200 if "ASAN_OPTIONS" in os.environ else 48
    t.check("memory", grown < room, f"{grown} MiB more")
    note(f"{t.name}: A had {before >> 10} MiB, and {grown} more; all sent: "
         f"{sent}, {held * 400} items were held back; "
         f"{heard.count(0)} OK, {heard.count(2)} FAIL")
    t.same("each is acknowledged, each call ends", (
        len(heard), [e for _, e in ends]), (each * n, [True] * each))
    t.check("FAIL, then OK", set(heard) == {0, 2}, set(heard))
    t.check("what was OK is there", b.here.count(
        t.crawl, kb) >= heard.count(0))
    t.server.well(t, "after SIGCONT")
    for c in clients:
        c.close()
    wait_until(lambda: a.metric("frontier_streams_open") == streams, 5, 0.2)
    t.same("no stream is left", a.metric("frontier_streams_open"), streams)
