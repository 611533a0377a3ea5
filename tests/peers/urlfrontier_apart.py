"""Cases of urlfrontier_cluster.py: a slow line between nodes; what concerns the
start of a node: tokens, TLS, settings, a list of one; peers that are none.
"""
from concurrent import futures

from urlfrontier_nodes import *

slow = Cases()
apart = Cases()                 # each with nodes of its own


# ---- A slow line -------------------------------------------------------------------------

@slow("H9 slow")
def slow_line(t):
    relay, (a, b) = t.server.relays[1], t.server.nodes
    t.server.well(t, "behind a relay")
    relay.delay = 0.1
    ka, kb = t.server.key_of_each(t.crawl)
    began = time.monotonic()
    t.same("200 of 200", t.c.did(*[K(f"http://{kb}/{i}", kb, t.crawl, 1 + i)
                                   for i in range(200)]), ["OK"] * 200)
    took = time.monotonic() - began
    t.check("... and slowly", 0.2 <= took < 8, took)
    note(f"{t.name}: 200 items behind 2 x 100 ms took {took:.2f} s")
    t.same("batches", t.c.batches(*[(str(i), [
        info(f"http://{k}/b{i}", k, t.crawl) for k in (ka, kb, ka)])
        for i in range(20)]), [(str(i), ["OK", "OK", "SKIPPED"])
                               for i in range(20)])
    took, relay.delay = [], 1
    for _ in range(5):
        began = time.monotonic()
        t.c.fill(K("http://own/", ka, t.crawl, 1))
        took.append(time.monotonic() - began)
    relay.delay = 0.1
    t.check("own keys are not slow", min(took) < 2, took)
    t.same("numbers", (t.c.count(t.crawl), t.c.size("", t.crawl)[0],
                       len(t.c.urls(t.crawl)), t.c.queues(t.crawl)),
           (241, 241, 241, sorted((ka, kb))))
    t.c.many([f"http://{kb}/{i}/" + "y" * 300 for i in range(2000)], kb,
             t.crawl)
    t.same("a long list", len(t.c.urls(t.crawl, kb)), 2220)
    t.same("GetURLs", len(a.client.get(0, 0, 9, "", t.crawl,
                                       metadata=CLUSTER)), 2241)
    t.same("deleted", t.c.delete_crawl(t.crawl), 2241)
    relay.delay = 0


@slow("cut")
def cut_line(t):
    """The connection breaks under a stream; the stream goes on."""
    relay = t.server.relays[1]
    kb = t.server.keys(1, t.crawl)[0]
    stream, said = Stream(t.c), []

    def put():
        said.append(stream.put(K(f"http://{kb}/{len(said)}", kb, t.crawl,
                                 FAR)))
        return said[-1] == "OK"

    for _ in range(2):
        for _ in range(5):
            put()
        t.same("OK", said[-5:], ["OK"] * 5)
        relay.delay = 1                 # it is cut long before an answer
        threading.Timer(0.1, relay.cut).start()
        put()
        t.same("cut: FAIL", said[-1], "FAIL")
        relay.delay = 0.01
        t.check("soon OK again", wait_until(put, 3), said)
    t.same("its end", stream.end(), "OK")
    there = set(t.server.nodes[1].listed(t.crawl))
    t.same("what was OK is there", [
        i for i, s in enumerate(said)
        if s == "OK" and f"http://{kb}/{i}" not in there], [])
    relay.delay = 0.3
    calls = []

    def ask_(i):
        if i == 3:
            time.sleep(0.3)
            relay.cut()
        else:
            began = time.monotonic()
            calls.append((told(t.c.GetStats, M.QueueWithinCrawlParams(
                crawlID=t.crawl)), time.monotonic() - began))

    at_once(4, ask_)
    relay.delay = 0
    t.check("calls that were under way", all(
        c == "UNAVAILABLE" and t.server.entries[1] in text and s < 3
        for (c, text), s in calls), calls)
    t.server.well(t, "connected again")


# ---- Peers' tokens, TLS -------------------------------------------------------------------

def put_and_ask(t, c, key):
    return c.did(K(f"http://{key}/", key, t.crawl, FAR))[0], \
        code(c.status, f"http://{key}/", key, t.crawl)


@apart("tokens")
def tokens(t):
    """A and B have the peers' token, C another, D none."""
    for name, text in (("right", "  tell-nobody-42\n"), ("wrong", "other"),
                       ("empty", " \n")):
        with open(name + ".token", "w") as f:
            f.write(text)
    code_, out, err = ours("token", "add", "writes", "--scope",
                           "urlfrontier:write", "--data",
                           f"{PLACE}/tokens-0")
    if not t.check("argiope token add", code_ == 0, err):
        return
    nodes = Cluster(
        "tokens", 4, "urlfrontier.token=required", each=lambda i: [] if i == 3
        else [f"urlfrontier.peer_token_file={PLACE}/" +
              ("wrong" if i == 2 else "right") + ".token"])

    def bearer(i, text, *more):
        return Client(nodes.nodes[i].port, metadata=(
            ("authorization", "Bearer " + text), *more))

    mine, peer_ = bearer(0, out.strip()), bearer(0, "tell-nobody-42")
    keys = nodes.key_of_each(t.crawl)
    t.same("of each node", [put_and_ask(t, mine, k) for k in keys],
           [("OK", "OK"), ("OK", "OK"), ("FAIL", "UNAUTHENTICATED"),
            ("FAIL", "UNAUTHENTICATED")])
    t.same("all of them", code(mine.stats, "", t.crawl), "UNAUTHENTICATED")
    t.same("the peers' token opens", [
        (c.did(K("http://p/", k, t.crawl, FAR)), c.count(t.crawl, k))
        for c, k in ((peer_, keys[0]), (bearer(1, "tell-nobody-42"),
                                        keys[1]))], [(["OK"], 2)] * 2)
    for who, c in (("none", nodes.nodes[0].client),
                   ("none, local", nodes.nodes[0].here),
                   ("one as long", bearer(0, "tell-nobody-43", *LOCAL)),
                   ("half of it", bearer(0, "tell-nobody", *LOCAL)),
                   ("more of it", bearer(0, "tell-nobody-42x", *LOCAL)),
                   ("nothing", Client(nodes.nodes[0].port, metadata=(
                       ("authorization", "Bearer"), *LOCAL))),
                   ("another's", bearer(0, "other", *LOCAL)),
                   ("D, the peers'", bearer(3, "tell-nobody-42")),
                   ("D, a stop", bearer(3, "."))):
        t.same(f"a stranger with {who}", [
            code(c.stats, "", t.crawl), code(lambda: c.PutURLs(iter([
                D("http://s/", keys[0], t.crawl)])))],
            ["UNAUTHENTICATED"] * 2)
    t.check("no token in the logs", not any(
        x in n.said() for n in nodes.nodes
        for x in ("tell-nobody", out.strip())))
    t.same("SIGTERM ends them", nodes.stop(), [0] * 4)


def certificate(name, alternative):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-keyout", name + ".key",
         "-out", name + ".crt", "-days", "2", "-subj", "/CN=" + name,
         "-addext", "subjectAltName=" + alternative], check=True,
        capture_output=True)
    with open(name + ".crt", "rb") as f:
        return f.read()


@apart("TLS")
def tls(t):
    """C's certificate is another host's, D's nobody's whom A knows."""
    if shutil.which("openssl") is None:
        skip("TLS between nodes", "openssl is not installed")
        return
    good = certificate("good", "IP:127.0.0.1")
    elsewhere = certificate("elsewhere", "DNS:elsewhere")
    certificate("unknown", "IP:127.0.0.1")
    with open("ca.pem", "wb") as f:
        f.write(good + elsewhere)
    names = ("good", "good", "elsewhere", "unknown")
    nodes = Cluster(
        "tls", 4, f"urlfrontier.peer_ca={PLACE}/ca.pem", ready=False,
        each=lambda i: [f"urlfrontier.tls_{x[0]}={PLACE}/{names[i]}.{x[1]}"
                        for x in (("cert", "crt"), ("key", "key"))])
    for n in nodes.nodes:
        wait_until(lambda: listens(n.port))
    for i, n in enumerate(nodes.nodes[:2]):
        n.client = Client(0, grpc.secure_channel(
            f"127.0.0.1:{n.port}", grpc.ssl_channel_credentials(good),
            OPTIONS))
        wait_until(lambda: n.client.healthy() == 1)
    a, b = (n.client for n in nodes.nodes[:2])
    keys = nodes.key_of_each(t.crawl)
    wait_until(lambda: put_and_ask(t, a, keys[1])[0] == "OK", 5)
    t.same("of each node", [put_and_ask(t, a, k) for k in keys],
           [("OK", "OK")] * 2 + [("FAIL", "UNAVAILABLE")] * 2)
    t.same("the other way", [put_and_ask(t, b, k) for k in keys[:2]],
           [("OK", "OK")] * 2)
    t.same("5,000 items", set(a.did(*[
        K(f"http://{keys[1]}/{i}", keys[1], t.crawl, FAR)
        for i in range(5000)])), {"OK"})
    t.same("... are there", b.count(t.crawl, keys[1]), 5001)
    for i in (2, 3):
        said = told(a.status, "http://x/", keys[i], t.crawl)[1]
        t.check(f"the reason of {i} is told", nodes.entries[i] in said and
                "certificate" in said, said)
    t.same("SIGTERM ends them", nodes.stop(), [0] * 4)


# ---- Settings --------------------------------------------------------------------------

@apart("settings")
def refused(t):
    """It does not start, and says which setting is wrong."""
    port = fixed_port()
    me, you = f"127.0.0.1:{port}", "127.0.0.1:9"
    nodes, node = "urlfrontier.nodes", "urlfrontier.node"
    cases = [("this node is not there", nodes, f"{you},127.0.0.2:{port}"),
             ("alone, and another", nodes, you),
             ("twice", nodes, f"{me},{you},{me}")]
    cases += [(f"malformed: {bad!r}", nodes, f"{me},{bad}") for bad in (
        "127.0.0.1", "127.0.0.1:", ":7071", "127.0.0.1:0", "a:65536",
        "a:1x", "a b:1", "http://a:1", "a:1/x", "::1:7071", "[::1:7071",
        "a:-1")]
    cases.append(("node not in the list", node, "127.0.0.1:1"))
    cases.append(("no token file", "urlfrontier.peer_token_file",
                  PLACE + "/no.such"))
    with open("blank.token", "w") as f:
        f.write(" \n\n")
    cases.append(("a blank token file", "urlfrontier.peer_token_file",
                  PLACE + "/blank.token"))
    for what, setting, value in cases:
        more = [f"{nodes}={me},{you}"] if setting != nodes else []
        words = ["http.listen=off", f"urlfrontier.listen={me}", *more,
                 f"{setting}={value}"]
        code_, _, err = ours("serve", "--data", PLACE + "/refused", *sum(
            (["--set", w] for w in words), []), seconds=10)
        t.check(f"{what}: refused, naming {setting}",
                code_ > 0 and setting in err, f"{code_} {err[-300:]}")
        if setting != "urlfrontier.peer_token_file":
            t.same("... as a configuration's", code_, 78)


@apart("sorting")
def sorted_as_java(t):
    """':' stands behind digits; the list's order decides who owns what."""
    port = fixed_port()
    names = [f"127.0.0.2:{port}", f"127.0.0.1:{port}", f"127.0.0.10:{port}",
             "127.0.0.1:9", "Z.invalid:1", "a.invalid:1"]
    node = Node("sorting", "urlfrontier.nodes= " + " ,".join(names),
                "urlfrontier.forward_deadline_s=1", port=port)
    order = sorted(names)
    t.same("ListNodes", list(node.client.ListNodes(M.Empty()).values), order)
    keys = [f"k{i}" for i in range(40)]
    said = node.client.put(*[K("http://x/", k, t.crawl, FAR, ID=k)
                             for k in keys])
    own = order.index(f"127.0.0.1:{port}")
    t.same("its own are OK, the others' FAIL", dict(said), {
        k: "OK" if owner(t.crawl, k, 6) == own else "FAIL" for k in keys})
    t.same("SIGTERM ends it", node.stop(), 0)


@apart("names")
def by_name(t):
    """Entries that are names, not addresses."""
    nodes = Cluster("names", 2, host="localhost")
    t.same("ListNodes", [list(n.client.ListNodes(M.Empty()).values)
                         for n in nodes.nodes], [nodes.entries] * 2)
    nodes.well(t, "by name")
    nodes.nodes[1].restart(True)
    nodes.well(t, "killed and started")
    t.same("SIGTERM ends them", nodes.stop(), [0, 0])


@apart("lists that differ")
def other_lists(t):
    """What a node was given by another stays there, whatever its own list."""
    a, b = fixed_port(), fixed_port()
    names = [f"127.0.0.1:{p}" for p in (a, b)]
    nodes = [Node(f"differ-{i}", f"urlfrontier.nodes={x}", port=p,
                  ready=True) for i, (p, x) in enumerate((
                      (a, ",".join(names)), (b, names[1] + ",127.0.0.1:9")))]
    keys = [k for k in (f"k{i}" for i in range(30)) if sorted(names)[owner(
        t.crawl, k, 2)] == names[1]]
    c = nodes[0].client
    t.same("puts", c.did(*[K("http://d/", k, t.crawl, FAR) for k in keys]),
           ["OK"] * len(keys))
    t.same("reads", (c.count(t.crawl), c.queues(t.crawl),
                     c.count(t.crawl, keys[0])),
           (len(keys), sorted(keys), 1))
    t.same("B's own view has an error", code(nodes[1].client.count,
                                             t.crawl), "UNAVAILABLE")
    t.same("SIGTERM ends them", [n.stop() for n in nodes], [0, 0])


# What is no peer at all: what it says to who comes.
STRANGERS = {"closes": None, "says nothing": b"",
             "HTTP/1.1": b"HTTP/1.1 400 Bad Request\r\n\r\n",
             "noise": bytes(range(256)) * 100,
             "GOAWAY": frame(SETTINGS, 0, 0) + frame(GOAWAY, 0, 0, bytes(8)),
             "settings alone": frame(SETTINGS, 0, 0)}


class Stranger:
    """Listens, says its sentence, and does not read."""

    def __init__(self, says):
        self.says, self.held = says, []
        self.socket = socket.create_server(("127.0.0.1", fixed_port()))
        self.entry = f"127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            s, _ = self.socket.accept()
            if self.says is None:
                s.close()
                continue
            try:
                s.sendall(self.says)
            except OSError:
                pass
            self.held.append(s)


@apart("strangers")
def strangers(t):
    """A peer's port is somebody else's."""
    port = fixed_port()
    those = {k: Stranger(v) for k, v in STRANGERS.items()}
    names = sorted([f"127.0.0.1:{port}"] + [s.entry for s in those.values()])
    node = Node("strangers", f"urlfrontier.nodes={','.join(names)}",
                "urlfrontier.forward_deadline_s=1", port=port)
    crawl, n = t.crawl, len(names)
    keys = {k: next(k_ for k_ in (f"k{i}" for i in itertools.count())
                    if names[owner(crawl, k_, n)] == s.entry)
            for k, s in those.items()}
    own = next(k for k in (f"k{i}" for i in itertools.count())
               if names[owner(crawl, k, n)] == f"127.0.0.1:{port}")

    def one(i):
        c, k = node.client, keys[list(those)[i]]
        calls = (lambda: c.did(K("http://s/", k, crawl, FAR)),
                 lambda: code(c.stats, k, crawl),
                 lambda: code(c.urls, crawl, k),
                 lambda: code(c.delay, k, 1, crawl))
        return list(those)[i], at_once(4, lambda x: calls[x]())

    for what, got in at_once(len(those), one):
        t.check(f"{what}: FAIL, and errors", got[0] == ["FAIL"] and set(
            got[1:]) <= {"UNAVAILABLE", "DEADLINE_EXCEEDED"}, got)
    t.check("all of them", code(node.client.stats, "", crawl) in (
        "UNAVAILABLE", "DEADLINE_EXCEEDED"))
    t.same("own keys", (node.client.did(K("http://s/", own, crawl, FAR)),
                        node.here.count(crawl)), (["OK"], 1))
    t.same("SIGTERM ends it", node.stop(), 0)


class Liar(grpc.GenericRpcHandler if grpc else object):
    """A gRPC peer that answers each call wrongly, in a way of its own."""
    WAYS = ("garbage", "nothing", "too much", "endless", "an error", "zeros")

    def __init__(self, way):
        self.way = way
        self.server = grpc.server(futures.ThreadPoolExecutor(16), [self])
        self.port = fixed_port()
        self.server.add_insecure_port(f"127.0.0.1:{self.port}")
        self.server.start()

    def service(self, details):
        return grpc.stream_stream_rpc_method_handler(self.answer)

    def answer(self, requests, context):
        if self.way == "an error":
            context.abort(grpc.StatusCode.DATA_LOSS, "so it \u00e9 is")
        if self.way == "garbage":
            yield b"\xff" * 30
        for one in {"too much": [b"x" * (20 * MIB)], "zeros": [
                bytes(100)] * 3}.get(self.way, ()):
            yield one
        while self.way == "endless" and context.is_active():
            yield M.URLInfo(url="http://e/", key="e").SerializeToString()
            time.sleep(0.01)


@apart("liars")
def liars(t):
    """A peer that speaks gRPC, and nonsense."""
    port = fixed_port()
    those = {way: Liar(way) for way in Liar.WAYS}
    names = sorted(f"127.0.0.1:{p}" for p in (
        port, *(x.port for x in those.values())))
    node = Node("liars", f"urlfrontier.nodes={','.join(names)}",
                "urlfrontier.forward_deadline_s=4", port=port)
    c, crawl, n = node.client, t.crawl, len(names)

    def key(port_):
        return next(k for k in (f"k{i}" for i in itertools.count())
                    if names[owner(crawl, k, n)] == f"127.0.0.1:{port_}")

    def calls(way):
        k = key(those[way].port)
        found = {"PutURLs": lambda: c.did(*[K(
            f"http://l/{i}", k, crawl, FAR) for i in range(20)])}
        for name, kind, asked, _ in M.rpcs:
            if "key" in asked.DESCRIPTOR.fields_by_name and \
                    name != "GetURLs":
                found[name] = lambda x=c.raw(name, kind), q=asked(
                    key=k, crawlID=crawl): told(x, q.SerializeToString(),
                                                timeout=12)
        return found

    def one(i):
        way = list(those)[i]
        those_ = calls(way)
        return way, dict(zip(those_, at_once(len(those_), lambda k: list(
            those_.values())[k]())))

    for way, got in at_once(len(those), one):
        t.same(f"{way}: items", got.pop("PutURLs"), ["FAIL"] * 20)
        if way == "an error":
            t.check(f"{way}: is the caller's", ("DATA_LOSS", "so it \u00e9 is")
                    in got.values(), got)
        want = {"an error": {"DATA_LOSS", "DEADLINE_EXCEEDED"}}.get(way, {
            "INTERNAL", "UNAVAILABLE", "DEADLINE_EXCEEDED",
            "RESOURCE_EXHAUSTED", "CANCELLED", "UNKNOWN"})
        # A list of one node is passed on as it comes.
        bad = {k: v for k, v in got.items()
               if v[0] not in want and (k, v[0]) != ("ListURLs", "OK")}
        t.check(f"{way}: errors", not bad, bad)
        note(f"{t.name} {way}: " + ", ".join(
            f"{k} {v[0]}" for k, v in got.items()))
    broad = (lambda: c.stats("", crawl), lambda: c.urls(crawl),
             lambda: c.queues(crawl), c.crawls, lambda: c.count(crawl),
             c.active, lambda: c.get(0, 0, 1, "", crawl, metadata=CLUSTER))
    got = at_once(len(broad), lambda i: code(broad[i]))
    t.check("all of them: no OK", "OK" not in got, got)
    own = key(port)
    t.same("own keys", (c.did(K("http://s/", own, crawl, FAR)),
                        node.here.count(crawl)), (["OK"], 1))
    t.same("SIGTERM ends it", node.stop(), 0)
    for x in those.values():
        x.server.stop(0)


@apart("H13")
def list_of_one(t):
    """It answers as a node without a list does."""
    port = fixed_port()
    alone = Node("alone")
    one = Node("one", f"urlfrontier.nodes=127.0.0.1:{port}", port=port)
    t.same("ListNodes", list(one.client.ListNodes(M.Empty()).values),
           [f"127.0.0.1:{port}"])
    steps = steps_of(t.crawl)
    got = [[same_words(*step, n.client) for step in steps]
           for n in (alone, one)]
    for step, x, y in zip(steps, *got):
        t.same(f"{step[0]} {str(step[1])!r:.60} {step[2]}", y, x)
    t.check("of every RPC", {s[0] for s in steps} | {"ListNodes"} ==
            {r[0] for r in M.rpcs})
    t.same("SIGTERM ends them", [n.stop() for n in (alone, one)], [0, 0])


def steps_of(crawl):
    """[(RPC, message or messages, metadata)]"""
    items = [K(f"http://one{i % 3}/{i}", "", crawl, i % 4, v=str(i))
             for i in range(24)] + [D("", "", crawl), D("http://_/", "_", "")]
    steps = [("PutURLs", items, None), ("PutURLs", items, LOCAL),
             ("PutDiscovered", [M.DiscoveredBatch(ID="b", items=[
                 info("http://one1/d", "", crawl), info("", "", crawl)])],
              None)]
    for local in (False, True):
        at = dict(crawlID=crawl, local=local)
        q = M.QueueWithinCrawlParams
        steps += [(name, message_, None) for name, message_ in (
            ("ListCrawls", M.Local(local=local)),
            ("ListQueues", M.Pagination(**at)),
            ("GetStats", q(**at)), ("GetStats", q(key="one1", **at)),
            ("GetStats", q(key="no", **at)),
            ("ListURLs", M.ListUrlParams(start=2, size=9, **at)),
            ("ListURLs", M.ListUrlParams(key="one2", **at)),
            ("CountURLs", M.CountUrlParams(filter="ONE1", ignoreCase=True,
                                           **at)),
            ("SetDelay", M.QueueDelayParams(key="one0", **at)),
            ("SetDelay", M.QueueDelayParams(local=local,
                                            delay_requestable=60)),
            ("SetCrawlLimit", M.CrawlLimitParams(key="no", limit=1, **at)),
            ("SetCrawlLimit", M.CrawlLimitParams(key="one1", limit=99,
                                                 **at)),
            ("BlockQueueUntil", M.BlockQueueParams(key="one2", time=FAR,
                                                   **at)),
            ("SetLogLevel", M.LogLevelParams(package="x", level=2,
                                             local=local)),
            ("SetActive", M.Active(state=False, local=local)),
            ("GetActive", M.Local(local=local)),
            ("GetURLs", M.GetParams(crawlID=crawl)),
            ("SetActive", M.Active(state=True, local=local)),
            ("GetActive", M.Local(local=local)))]
        steps += [("GetURLs", M.GetParams(
            crawlID=crawl, key="one0", max_urls_per_queue=2), m)
            for m in (None, LOCAL, CLUSTER)]
        steps += [("GetURLStatus", M.URLStatusRequest(
            url=u, key=k, crawlID=crawl), None) for u, k in (
            ("http://one1/1", "one1"), ("http://one1/1", ""),
            ("http://no/", ""), ("", ""))]
    steps += [(name, message_, metadata) for metadata in (LOCAL, None)
              for name, message_ in (
        ("PurgeURLs", M.PurgeUrlParams(crawlID=crawl, days=1)),
        ("DeleteQueue", M.QueueWithinCrawlParams(crawlID=crawl,
                                                 key="one0")),
        ("GetStats", M.QueueWithinCrawlParams(crawlID=crawl)),
        ("DeleteCrawl", M.DeleteCrawlMessage(value="")),
        ("DeleteCrawl", M.DeleteCrawlMessage(value=crawl)))]
    return steps


def same_words(name, asked, metadata, c):
    """The answer without times of creation, or the error."""
    try:
        got = getattr(c, name)(iter(asked) if isinstance(asked, list) else
                               asked, metadata=metadata)
        got = list(got) if hasattr(got, "cancel") else [got]
    except grpc.RpcError as e:
        return e.code().name, e.details()
    for g in got:
        if name in ("GetURLStatus", "ListURLs"):
            g.creation_date = min(g.creation_date, 1)
            if g.known.info.url.endswith("/d"):
                g.known.refetchable_from_date = 1
    return [g.SerializeToString(deterministic=True) for g in got]
