"""The URL Frontier door by python3-grpcio: streams and their limits, restarts,
draining, a full disk, a sync that fails (cases E4, F, G and M1).
"""
from frames import *
from urlfrontier_peer import *

begin("urlfrontier_streams")
FAR = 2943003600
case = Cases()


# ---- Streams ----------------------------------------------------------------------

class Deaf(Raw):
    """A call that sends and lets no ack come."""

    def __init__(self, server, rpc):
        super().__init__(server.port, settings=NO_WINDOW)
        self.send(frame(HEADERS, END_HEADERS, 1,
                        request_head(f"/{NAME}/{rpc}")))
        wait_until(lambda: self.read(0.05) or self.frames, 5)

    def tell(self, messages, seconds):
        """What did not go through in this time."""
        return self.send_data(1, b"".join(
            message(m.SerializeToString()) for m in messages), seconds)

    def answers(self):
        """Messages that came, and whether the call has ended."""
        data, found = self.data(1), []
        while len(data) >= 5:
            n = int.from_bytes(data[1:5], "big")
            found.append(data[5:5 + n])
            data = data[5 + n:]
        return found, any(k == HEADERS and f & END_STREAM and s == 1
                          for k, f, s, _ in self.frames)


def rests(value, seconds=0.6):
    """A value that has not changed for so long."""
    last, since = value(), time.monotonic()
    until = since + 20
    while time.monotonic() - since < seconds and time.monotonic() < until:
        time.sleep(0.05)
        got = value()
        if got != last:
            last, since = got, time.monotonic()
    return last


def urls_taken(t):
    return rests(lambda: t.c.size("", t.crawl)[0])


@case("F1")
def unread_acks(t):
    peer = Deaf(t.server, "PutURLs")
    items = [D(f"http://f1/{i}", "f1", t.crawl, ID=f"{i:06}")
             for i in range(4000)]
    rest = peer.tell(items, 1.5)
    taken = urls_taken(t)
    t.same("items taken", taken, 1024)
    # An ack is 13 bytes: 5 of gRPC, 2 and 6 of the ID.
    peer.send(window(1, 100 * 13))
    rest = peer.send_data(1, rest, 1)
    t.same("... then one per ack", urls_taken(t) - taken, 100)
    peer.send(window(1, 1 << 20))
    rest = peer.send_data(1, rest, 15)
    peer.send(frame(DATA, END_STREAM, 1))
    wait_until(lambda: peer.read(0.1) or peer.answers()[1], 10)
    answers, ended = peer.answers()
    t.same("all of it in the end", (len(rest), len(answers), ended),
           (0, 4000, True))
    t.check("in order", [dict(fields(a))[1] for a in answers] ==
            [i.ID.encode() for i in items])
    peer.close()

    peer = Deaf(t.server, "PutDiscovered")
    before = t.c.size("", t.crawl)[0]
    peer.tell([M.DiscoveredBatch(ID=f"{i:06}", items=[
        info(f"http://f1b/{i}", "f1b", t.crawl)]) for i in range(100)], 1)
    taken = urls_taken(t) - before
    t.same("batches taken", taken, 16)
    # 16 bytes: one status, packed, is 3 more.
    peer.send(window(1, 5 * 16))
    t.same("... then one per ack", urls_taken(t) - before - taken, 5)
    peer.close()


@case("F3")
def last_wins(t):
    urls = [f"http://f3/{i:04}" for i in range(2000)]
    want, items = {}, []
    for round in range(4):
        random.shuffle(urls)
        for u in urls:
            date = random.choice((0, 1, FAR, now() - 5, now() + 1000))
            kind = random.random() < 0.2
            if kind:
                items.append(D(u, "f3", t.crawl, v=str(round)))
            else:
                items.append(K(u, "f3", t.crawl, date, v=str(round)))
            if not kind or u not in want:
                want[u] = (None if kind else date, str(round))
    known, wrong = set(), []
    for item, status in zip(items, t.c.did(*items, timeout=100)):
        kind = item.WhichOneof("item")
        url = getattr(item, kind).info.url
        if status != ("SKIPPED" if kind == "discovered" and url in known
                      else "OK"):
            wrong.append((url, status))
        known.add(url)
    t.same("acks", wrong, [])
    got = {i.known.info.url: (i.known.refetchable_from_date, metadata_of(
        i.known.info)["v"][0]) for i in t.c.items(t.crawl)}
    t.check("states", len(got) == len(want) and all(
        got.get(u, (0, ""))[1] == v and d in (None, got[u][0])
        for u, (d, v) in want.items()), [
        (u, got.get(u), w) for u, w in want.items() if got.get(u) != w])
    done = sum(d == 0 for d, _ in want.values())
    t.same("counts", t.c.size("", t.crawl), (2000 - done, 0, done))


@case("F4")
def slow_stream(t):
    peer = Deaf(t.server, "PutURLs")
    peer.tell([D(f"http://f4/{i}", "f4", t.crawl) for i in range(3000)], 1)
    other = Client(t.server.port)
    stream, worst = Stream(other), 0
    for i in range(100):
        began = time.monotonic()
        stream.put(D(f"http://f4b/{i}", f"b{i}", t.crawl))
        other.got(1, 1, 1, f"b{i}", t.crawl)
        worst = max(worst, time.monotonic() - began)
    t.check("put and get by others", worst < 0.5, worst)
    t.same("... end well", stream.end(), "OK")
    # A call on the same connection.
    ask = M.QueueWithinCrawlParams(crawlID=t.crawl).SerializeToString()
    peer.send(frame(HEADERS, END_HEADERS, 3,
                    request_head(f"/{NAME}/GetStats")))
    peer.send_data(3, message(ask), 2)
    peer.send(frame(DATA, END_STREAM, 3) + window(3, 10000))
    wait_until(lambda: peer.read(0.05) or peer.data(3), 3)
    t.check("a neighbour on its connection", peer.data(3), peer.frames[-3:])
    peer.close()
    other.close()


@case("F5")
def ends_once(t):
    def one(k):
        ids = [f"{k}-{i}" for i in range(500)]
        return t.c.put(*[D(f"http://f5/{i % 900}", "f5", t.crawl, ID=i_)
                         for i, i_ in enumerate(ids, k * 37)],
                       timeout=60), ids

    got = at_once(20, one)
    t.check("each ack once, in order", all(
        [i for i, _ in acks] == ids for acks, ids in got))
    ok = sum(s == "OK" for acks, _ in got for _, s in acks)
    t.same("each URL is new once", ok, t.c.size("", t.crawl)[0])


@case("F5 cancelled")
def whole_or_not(t):
    """A stream that is given up: what was taken is whole."""
    for round in range(5):
        call = t.c.PutURLs(iter([K(f"http://x{round}/{i}", "x", t.crawl, FAR,
                                   v=str(i)) for i in range(2000)]))
        for _ in range(random.randrange(1, 50)):
            next(call)
        call.cancel()
    n = urls_taken(t)
    items = t.c.items(t.crawl)
    t.check("counted", n == len(items) and n >= 5, (n, len(items)))
    t.check("with their metadata", all(metadata_of(i.known.info) == {
        "v": [i.known.info.url.rpartition("/")[2]]} for i in items))


def unlimited():
    server = Server("unlimited", "urlfrontier.put_inflight_max=0",
                    "urlfrontier.batch_inflight_max=0")
    t = Case("F2", server)
    peer = Deaf(server, "PutURLs")
    rest = peer.tell([D(f"http://f2/{i}", "f2", t.crawl)
                      for i in range(3000)], 10)
    t.same("0 is no limit", (len(rest), urls_taken(t)), (0, 3000))
    peer.close()
    server.stop()


# ---- Restarts ---------------------------------------------------------------------

def state(c):
    """All that can be read, but for leases."""
    found = {}
    for crawl in c.crawls():
        s = c.stats("", crawl)
        s.pop("leased")
        items = c.items(crawl)
        found[crawl] = (s, c.queues(crawl, inactive=True),
                        [i.SerializeToString(deterministic=True)
                         for i in items])
        dates = [i.known.refetchable_from_date for i in items]
        if (s["size"], s["completed"]) != (
                sum(d > 0 for d in dates), sum(d == 0 for d in dates)):
            found["miscounted"] = crawl
    return found


def prepare(c):
    """Something of everything; what must be so after a restart."""
    for crawl in ("one", "two_2", "DEFAULT"):
        c.many([f"http://h{i % 9}/{i}" for i in range(900)], "", crawl)
        c.fill(*[K(f"http://h{i % 9}/{i}", "", crawl, (0, 5, FAR)[i % 3],
                   v=[str(i), "x"], empty=[]) for i in range(0, 900, 2)])
    c.many([f"http://gone{i % 3}/{i}" for i in range(300)], "", "gone")
    c.delete_crawl("gone")
    c.delete("h3", "one")
    for key in ("slow", "default", "shut", "limited", "later"):
        c.fill(*[K(f"http://{key}/{i}", key, "control", i + 1)
                 for i in range(4)])
    c.fill(K("http://limited/0", "limited", "control", 0))
    c.limit("limited", 1, "control")
    c.delay("slow", 300, "control")
    c.delay("", 200)
    for key in ("slow", "default"):
        assert len(c.get(1, 1, 1, key, "control")) == 1
    c.block("shut", now() + 1000, "control")
    c.delay("unseen_slow", 300, "control")
    c.block("unseen_shut", now() + 1000, "control")


def holds(name, c, appear):
    """G3, with one more unseen queue that appears."""
    for key in ("slow", "default", "shut", "limited"):
        same(f"G3 {name}: {key}: nothing is served",
             c.get(4, 1, 1, key, "control"), [])
    same(f"G3 {name}: later is", len(c.get(4, 1, 1, "later", "control")), 4)
    c.delete("later", "control")
    c.fill(*[K(f"http://later/{i}", "later", "control", i + 1)
             for i in range(4)])
    if appear:
        for key in ("unseen_slow", "unseen_shut"):
            c.fill(*[K(f"http://u/{i}", key, "control", 1 + i)
                     for i in range(3)])
        same(f"G3 {name}: an unseen queue's delay", [
            len(c.get(n, 1, 1, "unseen_slow", "control")) for n in (1, 9)],
            [1, 0])
        time.sleep(1.2)
        same(f"G3 {name}: ... and block",
             c.get(9, 1, 1, "unseen_shut", "control"), [])


def restarts(durability):
    server = Server("restart_" + durability,
                    "urlfrontier.durability=" + durability,
                    "ledger.segment_bytes=1MiB")
    c = server.client
    prepare(c)
    before = state(c)
    check(f"G1 {durability}: counted well", "miscounted" not in before)
    for round, kill in enumerate((False, True, True)):
        name = f"{durability}, {'kill -9' if kill else 'SIGTERM'}"
        c.active(False)
        gone = server.restart(kill)
        if not kill:
            same(f"G1 {name}: ends well", gone, 0)
        same(f"G3 {name}: inactive", c.active(), False)
        after = state(c)
        changed = [crawl for crawl in before
                   if after.get(crawl) != before[crawl]]
        check(f"G1 {name}: {len(before)} crawls are as before", not changed,
              changed)
        same(f"G2 {name}: what was deleted", (
            sorted(set(after) - set(before)), "gone" in after,
            "h3" in after["one"][1]), ([], False, False))
        same(f"G3 {name}: inactive still", c.get(0, 0, 1, "", "one"), [])
        c.active(True)
        holds(name, c, appear=round == 1)
        leases(name, server, kill)
        before = state(c)
    check(f"E4 {durability}: the crawl was there", c.delete_crawl("two_2"))
    server.restart(True)
    seeds = [f"http://h{i}/{i}" for i in range(9)]
    same(f"E4 {durability}: seeds again",
         c.did(*[D(u, "", "two_2") for u in seeds]), ["OK"] * 9)
    same(f"E4 {durability}: are served",
         sorted(c.got(9, 9, 30, "", "two_2")), seeds)
    same(f"{durability}: ends well", server.stop(), 0)


def leases(name, server, kill):
    """G4: one lease of 4 s, one of 300 s; a delay of 3 s."""
    c = server.client
    crawl = f"leases {name} {random.random()}"
    for key, lease in (("short", 4), ("long", 300)):
        c.fill(*[K(f"http://{key}/{i}", key, crawl, i + 1)
                 for i in range(3)])
        c.delay(key, 3, crawl)
    began = time.monotonic()
    same(f"G4 {name}: served", [c.got(1, 1, lease, key, crawl)
                                for key, lease in (("short", 4),
                                                   ("long", 300))],
         [["http://short/0"], ["http://long/0"]])
    served = time.monotonic()
    server.restart(kill)
    took = time.monotonic() - began
    if took < 2.5:
        same(f"G4 {name}: inProcess", c.stats("", crawl)["leased"], 2)
        same(f"G4 {name}: the delay is not over",
             c.get(5, 1, 60, "short", crawl) + c.get(5, 1, 60, "long", crawl),
             [])
    else:
        note(f"G4 {name}: the restart took {took:.1f} s")
    time.sleep(max(0, served + 3.05 - time.monotonic()))
    got = c.got(5, 1, 60, "long", crawl)
    same(f"G4 {name}: after the delay the others",
         got, ["http://long/1", "http://long/2"])
    time.sleep(max(0, served + 4.1 - time.monotonic()))
    got = wait_until(lambda: c.got(5, 1, 60, "short", crawl), 3)
    same(f"G4 {name}: after the lease all", sorted(got),
         [f"http://short/{i}" for i in range(3)])
    same(f"G4 {name}: inProcess then", c.stats("", crawl)["leased"], 6)


# ---- Draining -----------------------------------------------------------------------

def drained():
    server = Server("drain")
    c = server.client
    stream = Stream(c)
    same("M1 drain: a stream", stream.put(D("http://d/1", "", "drain")), "OK")
    other = Client(server.port)
    watch = other.channel.unary_stream(
        "/grpc.health.v1.Health/Watch")(
        b"\x0a\x17urlfrontier.URLFrontier", timeout=30)
    same("M1 drain: SERVING", dict(fields(next(watch))).get(1), 1)
    server.child.terminate()
    try:
        told = dict(fields(next(watch))).get(1)
    except (grpc.RpcError, StopIteration) as e:
        told = str(e)
    same("M1 drain: NOT_SERVING", told, 2)
    said = stream.put(D("http://d/2", "", "drain"))
    check("M1 drain: the stream takes no more", said in (
        "FAIL", "UNAVAILABLE"), said)
    note(f"drain: an open stream hears {said}")
    same("M1 drain: a new call", code(c.stats), "UNAVAILABLE")
    stream.end()
    watch.cancel()
    other.close()
    same("M1 drain: it ends", wait_until(
        lambda: server.child.poll() is not None, 15) and
        server.child.returncode, 0)
    server.start()
    same("M1 drain: what was OK is there, and no more",
         c.urls("drain"), ["http://d/1"])
    same("M1 drain: an idle server ends", server.stop(), 0)


# ---- A full disk, a sync that fails ---------------------------------------------------

def full_disk():
    place = os.path.join(PLACE, "small")
    os.makedirs(place)
    trouble = "only root may mount" if os.geteuid() != 0 else run(
        "mount", "-t", "tmpfs", "-o", "size=96m", "none", place)[2]
    if trouble:
        skip("F6", trouble.strip())
        return
    atexit.register(lambda: (end_all(), run("umount", "-l", place)))
    server = Server("full", "data.free_bytes_min=16MiB",
                    "ledger.segment_bytes=1MiB", "ledger.write_buffer=4MiB",
                    data=place + "/data")
    c, n = server.client, 0
    stream = Stream(c, 40)
    same("F6 a stream", stream.put(D("http://s/1", "s", "full")), "OK")

    def until(want, seconds):
        nonlocal n
        end = time.monotonic() + seconds
        heard = []
        while time.monotonic() < end and heard[-1:] != [want]:
            n += 1
            try:
                heard += c.did(D(f"http://f/{n:04}", "f", "full"), timeout=2)
            except grpc.RpcError as e:
                heard.append(e.code().name)
            time.sleep(0.1)
        check(f"F6 {want}", heard[-1:] == [want] and not set(heard) - {
            "OK", "FAIL"}, heard)

    with open(place + "/ballast", "wb") as f:
        s = os.statvfs(place)
        f.write(b"\1" * max(0, s.f_bavail * s.f_frsize - 8 * MIB))
    until("FAIL", 12)
    same("F6 reads go on", code(c.ListURLs, M.ListUrlParams(
        crawlID="full", size=ALL), timeout=5), "OK")
    kept = set(c.urls("full"))
    same("F6 all of them", [c.did(D(f"http://g/{i}", "g", "full"), timeout=2)
                            for i in range(10)], [["FAIL"]] * 10)
    same("F6 on the stream", stream.put(D("http://s/2", "s", "full")),
         "FAIL")
    same("F6 a batch", c.batches(("b", [info("http://g/", "g", "full")]),
                                 timeout=5), [("b", ["FAIL"])])
    same("F6 control is refused", code(c.delay, "k", 5, "full",
                                       timeout=5) != "OK", True)
    same("F6 nothing of that is there", set(c.urls("full")), kept)
    os.unlink(place + "/ballast")
    until("OK", 12)
    same("F6 on the same stream", (stream.put(D("http://s/2", "s", "full")),
                                   stream.end()), ("OK", "OK"))
    server.restart(True)
    check("F6 what was OK is there", kept < set(c.urls("full")))
    same("F6 SIGTERM ends it", server.stop(), 0)


def failed_sync():
    library = faults() if shutil.which("cc") else None
    if library is None:
        skip("fsync error", "cc builds no shared library")
        return
    data = PLACE + "/sync"
    env = {"LD_PRELOAD": library, "FAULT_UNDER": data,
           "FAULT_MATCH": "/log/"}
    # How many syncs a start and an end need.
    counted = Server("sync", env={**env, "FAULT_COUNT": PLACE + "/syncs"})
    counted.stop()
    with open(PLACE + "/syncs") as f:
        at = int(f.read()) + 10
    shutil.rmtree(data)
    server = Server("sync", env={**env, "FAULT_SYNC_AT": str(at)})
    c, said = server.client, {}
    stream = Stream(c)
    for i in range(at + 40):
        url = f"http://s/{i:03}"
        said[url] = stream.put(D(url, "s", "sync"))
        if said[url] not in STATUS:
            stream = Stream(c)
    order = list(said.values())
    first = order.index("FAIL") if "FAIL" in order else None
    check("fsync error: FAIL", first is not None, order)
    fine = {u for u, s in said.items() if s == "OK"}
    check("fsync error: never OK again", first is not None and
          "OK" not in order[first:] and "OK" in order[:first], order)
    check("fsync error: the server stays", server.runs(), server.said())
    same("fsync error: reads go on, without what failed",
         code(lambda: c.stats("s", "sync")) == "OK" and
         set(c.urls("sync")) == fine, True)
    check("fsync error: control is refused", code(
        c.delay, "s", 5, "sync") != "OK")
    server.stop()
    server.env = {}
    server.start()
    check("fsync error: what was OK is there", fine <= set(c.urls("sync")))
    same("fsync error: then it takes more",
         c.did(D("http://s/new", "s", "sync")), ["OK"])
    server.stop()


# ---- All of it ----------------------------------------------------------------------

server = Server("streams")
case.run(server)
same("streams: SIGTERM ends it", server.stop(), 0)
for name, f in (("F2", unlimited), ("G", lambda: restarts("sync")),
                ("G relaxed", lambda: restarts("relaxed")),
                ("M1", drained), ("F6", full_disk),
                ("fsync error", failed_sync)):
    if sys.argv[1:] and name not in sys.argv[1:]:
        continue
    try:
        f()
    except Exception:
        check(f"{name} goes to its end", False, traceback.format_exc()[-500:])
    end_all()
done()
