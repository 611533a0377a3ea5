"""The URL Frontier door against messages, clients and floods that are wrong, and
what guards it: tokens, TLS (cases M of the contract).  After each it serves
others; the program under AddressSanitizer, where there is one, has nothing to
say.
"""
from frames import *
from urlfrontier_peer import *

begin("urlfrontier_hostile")
try:
    import hpack
except ImportError:
    skip("urlfrontier_hostile", "python3-hpack is not installed")
    done()
GARBAGE = b"\xff\xff\xff\xff"


def still_serves(what, server):
    """A client that comes now puts, gets and asks."""
    url = f"http://still/{random.random()}"
    key = "still " + what
    try:
        c = Client(server.port)
        fine = c.did(D(url, key, "still"), timeout=5) == ["OK"] and \
            c.got(1, 1, 1, key, "still", timeout=5) == [url] and \
            c.delete(key, "still") == 1
        c.close()
    except grpc.RpcError as e:
        fine = f"{e.code()} {e.details()}"
    check(f"{server.name}, {what}: others are served",
          fine is True and server.runs(), f"{fine} {server.said()[-300:]}")


def field(number, content):
    assert len(content) < 128
    return bytes((number << 3 | 2, len(content))) + content


def by_hand(server, body, *more, path="GetStats", ends=True):
    """
    A request with these fields beside the usual ones, which they replace; all
    fields and trailers of the answer.
    """
    given = {b":method": b"POST", b":scheme": b"http", b":authority": b"x",
             b":path": f"/{NAME}/{path}".encode(), b"te": b"trailers",
             b"content-type": b"application/grpc", **dict(more)}
    peer = Raw(server.port)
    peer.send(frame(HEADERS, END_HEADERS, 1, b"".join(
        literal(*pair) for pair in given.items() if pair[1] is not None)) +
        frame(DATA, END_STREAM if ends else 0, 1, body))
    wait_until(lambda: peer.read(0.05) or peer.closed or any(
        k == RST or k in (HEADERS, DATA) and f & END_STREAM
        for k, f, s, _ in peer.frames if s == 1), 5)
    peer.close()
    unpack, said = hpack.Decoder(), {}
    for k, _, _, payload in peer.frames:
        if k == HEADERS:
            said.update(unpack.decode(payload))
    return said


# ---- What every client may ask ---------------------------------------------------

def described(server):
    """M1, but for draining."""
    c = server.client
    same("M1 health of \"\"", c.healthy(), 1)
    same("M1 health of the service", c.healthy(NAME), 1)
    same("M1 health of another", code(c.raw("/grpc.health.v1.Health/Check"),
                                      b"\x0a\x01x"), "NOT_FOUND")
    names = sorted(r[0] for r in M.rpcs)
    same("M1 our schema has 19 methods", len(names), 19)
    for version in ("v1", "v1alpha"):
        ask = c.raw(f"/grpc.reflection.{version}.ServerReflection/"
                    "ServerReflectionInfo", "stream_stream")
        services, schema = ask(iter((
            field(7, b"*"), field(4, NAME.encode()))), timeout=5)
        listed = [dict(fields(s))[1] for n, s in fields(
            dict(fields(services))[6]) if n == 1]
        check(f"M1 reflection {version} lists the service",
              NAME.encode() in listed, listed)
        files = [descriptor_pb2.FileDescriptorProto.FromString(f)
                 for n, f in fields(dict(fields(schema))[4]) if n == 1]
        told = sorted(m.name for f in files for s in f.service
                      if f"{f.package}.{s.name}" == NAME for m in s.method)
        same(f"M1 reflection {version} tells the 19 methods", told, names)


def accepted(server):
    """M4."""
    c = server.client
    items = [D(f"http://gz/{i}", "gz", "m4", v="z" * 1000)
             for i in range(200)]
    same("M4 gzip: PutURLs", set(c.did(
        *items, compression=grpc.Compression.Gzip)), {"OK"})
    same("M4 gzip: PutDiscovered", c.batches(
        ("b", [i.discovered.info for i in items]),
        compression=grpc.Compression.Gzip), [("b", ["SKIPPED"] * 200)])
    same("M4 gzip: GetStats", c.GetStats(
        M.QueueWithinCrawlParams(crawlID="m4"),
        compression=grpc.Compression.Gzip).size, 200)
    # Fields 100 to 103 of every wire type that is in use.
    more = b"\xa0\x06\x05" + b"\xaa\x06\x02xy" + b"\xb1\x06" + b"8" * 8 + \
        b"\xbd\x06" + b"4" * 4
    for name, kind, asked, answer in M.rpcs:
        # These would change the node.
        if name in ("SetDelay", "SetActive", "SetLogLevel"):
            continue
        ask = asked()
        if "crawlID" in asked.DESCRIPTOR.fields_by_name:
            ask.crawlID = "m4"
        content = more + ask.SerializeToString() + more
        streams = kind.startswith("stream")
        want = {"GetURLStatus": "INVALID_ARGUMENT",
                "SetCrawlLimit": "UNKNOWN"}.get(name, "OK")
        same(f"M4 unknown fields: {name}", code(
            c.raw(name, kind), iter([content] * 3) if streams else content,
            timeout=10), want)
    i = D("http://gz/new", "gz", "m5").SerializeToString()
    answer, = c.raw("PutURLs", "stream_stream")(iter([more + i + more]),
                                                timeout=10)
    same("M4 unknown fields: the rest counts", (
        M.AckMessage.FromString(answer).ID, c.urls("m5")),
        ("http://gz/new", ["http://gz/new"]))
    # As clients of older APIs write it: crawl and key alone.
    answer = c.raw("CountURLs")(field(1, b"gz") + field(2, b"m5"), timeout=5)
    same("M4 an old client's CountURLs", M.Long.FromString(answer).value, 1)
    got = list(c.raw("GetURLs", "unary_stream")(
        b"\x08\x01\x10\x01" + field(6, b"m5"), timeout=5))
    same("M4 an old client's GetURLs",
         [M.URLInfo.FromString(g).url for g in got], ["http://gz/new"])
    for kind in (b"application/grpc+proto", b"application/grpc;charset=x"):
        same(f"M4 {kind.decode()}", by_hand(server, message(b""), (
            b"content-type", kind)).get("grpc-status"), "0")


# ---- Malformed -----------------------------------------------------------------

def malformed(server):
    """M2."""
    c = server.client
    who = server.name
    for name, kind, asked, answer in M.rpcs:
        streams = kind.startswith("stream")
        for what, bad in (("garbage", GARBAGE), ("cut", b"\x0a\x05ab"),
                          ("field 0", b"\0\0")):
            same(f"M2 {who}, {what}: {name}", code(
                c.raw(name, kind), iter([bad]) if streams else bad,
                timeout=10), "INTERNAL")
    good = D("http://m2/1", "m2", "m2").SerializeToString()
    call = c.raw("PutURLs", "stream_stream")(iter([good, GARBAGE, good]),
                                             timeout=10)
    acks = 0
    try:
        for _ in call:
            acks += 1
    except grpc.RpcError:
        pass
    same(f"M2 {who}, garbage behind an item", (
        call.code().name, acks <= 1, c.size("m2", "m2")[0]),
        ("INTERNAL", True, 1))
    text(server)
    unusual(server)
    still_serves("malformed messages", server)

    same(f"M2 {who}, unknown method", code(c.raw("Nothing"), b"",
                                           timeout=5), "UNIMPLEMENTED")
    same(f"M2 {who}, unknown service", code(c.raw("/no.Such/Thing"), b"",
                                            timeout=5), "UNIMPLEMENTED")
    big = b"\x0a" + b"\x80\x80\xc0\x02" + b"x" * (5 * MIB)
    for name, kind in (("PutURLs", "stream_stream"), ("GetURLs",
                       "unary_stream"), ("PutDiscovered", "stream_stream"),
                       ("GetStats", "unary_unary")):
        for packed in (grpc.Compression.NoCompression, grpc.Compression.Gzip):
            same(f"M2 {who}, 5 MiB, {packed.name}: {name}", code(
                c.raw(name, kind), iter([big]) if kind[0] == "s" else big,
                timeout=20, compression=packed), "RESOURCE_EXHAUSTED")
    url = "http://m2/" + "x" * 4000000
    same(f"M2 {who}, 4 MB are fine", (
        c.did(D(url, "m2big", "m2")), c.got(1, 1, 1, "m2big", "m2") == [url]),
        (["OK"], True))
    same(f"M2 {who}, deflate", code(
        c.raw("GetStats"), b"\x12\x64" + b"z" * 100, timeout=5,
        compression=grpc.Compression.Deflate), "UNIMPLEMENTED")
    still_serves("oversized messages", server)
    for kind in (b"text/plain", b"application/json", b"application/grpcx",
                 b"application/grpc-web", None):
        same(f"M2 {who}, content-type {kind}", by_hand(
            server, b"x", (b"content-type", kind)).get(":status"), "415")
    for what, body, more, want in (
            ("expired deadline", message(b""), (b"grpc-timeout", b"1n"), "4"),
            ("a deadline of 50 ms", b"", (b"grpc-timeout", b"50m"), "4"),
            ("no message", b"", (b"x", b"y"), None),
            ("two messages", message(b"") * 2, (b"x", b"y"), None),
            ("a cut message", b"\0\0\0\1\0abc", (b"x", b"y"), None),
            ("a packed one without encoding", b"\1" + message(b"")[1:],
             (b"x", b"y"), "13"),
            ("an unknown encoding", message(b""), (b"grpc-encoding", b"zip"),
             "12"),
            ("a bad timeout", message(b""), (b"grpc-timeout", b"soon"),
             None)):
        said = by_hand(server, body, more, ends="50 ms" not in what)
        got = said.get("grpc-status")
        check(f"M2 {who}, {what}", got not in (None, "0") and
              want in (None, got) and said.get("grpc-message"), said)
    same(f"M2 {who}, GET", by_hand(server, b"", (b":method", b"GET")).get(
        ":status"), "405")
    still_serves("bad requests", server)


def text(server):
    """What is no UTF-8 is no text; NUL is a character like others."""
    c, who = server.client, server.name
    bad = b"http://m2/\xff\xfe"
    item = field(1, field(1, field(1, bad) + field(2, b"utf") +
                          field(4, b"m2")))
    same(f"M2 {who}, a URL that is no UTF-8", code(
        c.raw("PutURLs", "stream_stream"), iter([item]), timeout=5),
        "INTERNAL")
    for name, kind in (("GetStats", "unary_unary"), ("GetURLs",
                       "unary_stream"), ("DeleteQueue", "unary_unary")):
        number = 3 if name == "GetURLs" else 1
        same(f"M2 {who}, a key that is no UTF-8: {name}", code(
            c.raw(name, kind), field(number, b"\xff\xfe"), timeout=5),
            "INTERNAL")
    # In metadata, too: the name, then the value.
    for what, entry in (
            ("name", field(1, b"\xff") + field(2, field(1, b"x"))),
            ("value", field(1, b"x") + field(2, field(1, b"\xff")))):
        item = field(1, field(1, field(1, b"http://m2/" + what.encode()) +
                              field(2, b"utf") + field(4, b"m2") +
                              field(3, entry)))
        same(f"M2 {who}, metadata whose {what} is no UTF-8", code(
            c.raw("PutURLs", "stream_stream"), iter([item]), timeout=5),
            "INTERNAL")
    same(f"M2 {who}, none of it is there", c.urls("m2", "utf"), [])
    same(f"M2 {who}, NUL in URLs", c.did(
        D("http://nul/a\0b", "nul", "m2"), D("http://nul/a", "nul", "m2"),
        D("http://nul/a\0c", "nul", "m2"), D("http://nul/", "nul\0x", "m2"),
        D("http://nul/a", "nul", "m2\0x")), ["OK"] * 5)
    same(f"M2 {who}, NUL comes back", (
        sorted(c.urls("m2", "nul")), c.urls("m2", "nul\0x"),
        c.size("", "m2\0x")),
        (["http://nul/a", "http://nul/a\0b", "http://nul/a\0c"],
         ["http://nul/"], (1, 0, 0)))
    same(f"M2 {who}, NUL: the status of one", code(
        c.status, "http://nul/a\0d", "nul", "m2"), "NOT_FOUND")
    same(f"M2 {who}, NUL: DeleteQueue", (c.delete("nul\0x", "m2"),
                                        c.size("nul", "m2")[0]), (1, 3))


def unusual(server):
    """What the reference takes though it looks wrong; DESIGN.md says why."""
    c, who, last = server.client, server.name, 2 ** 32 - 2
    odd = ["not a url", " ", "http", "%00"]
    same(f"M2 {who}, any text is a URL", c.did(
        *[D(u, "", "odd") for u in odd]), ["OK"] * len(odd))
    same(f"M2 {who}, its key is what a host would be",
         sorted(c.queues("odd")), sorted(odd))
    same(f"M2 {who}, what has no key is not taken", c.did(
        D("http://", "", "odd"), D("?a", "", "odd")), ["SKIPPED"] * 2)

    name = "c" * 65536
    same(f"M2 {who}, a crawl ID of 64 KiB", c.did(
        D("http://long/", "", name), K("http://long/2", "", name, 0)),
        ["OK"] * 2)
    same(f"M2 {who}, it is a crawl like others", (
        c.size("", name), name in c.crawls(), c.got(1, 1, 1, "", name),
        c.delete_crawl(name)), ((1, 0, 1), True, ["http://long/"], 2))

    # The reference reads the first two as negative, and serves the queue no
    # more; behind the third it finds nothing that is due.
    far = (2 ** 64 - 1, 2 ** 63, 10 ** 10, last + 1, last)
    same(f"M2 {who}, dates beyond all time", c.did(
        *[K(f"http://far/{d}", "far", "odd", d) for d in far]), ["OK"] * 5)
    same(f"M2 {who}, they are the last date there is", {
        c.status(f"http://far/{d}", "far", "odd").known.refetchable_from_date
        for d in far}, {last})
    c.fill(K("http://far/now", "far", "odd", 1))
    same(f"M2 {who}, what is due beside them is served",
         c.got(9, 1, 1, "far", "odd"), ["http://far/now"])
    c.block("http", 2 ** 64 - 1, "odd")
    same(f"M2 {who}, blocked for good", c.got(1, 1, 1, "http", "odd"), [])
    c.block("http", 0, "odd")
    same(f"M2 {who}, and not any more", c.got(1, 1, 1, "http", "odd"),
         ["http"])


# ---- Clients that misbehave ----------------------------------------------------------

def misbehaving(server):
    c, who = server.client, server.name
    c.many([f"http://many/{i:06}" + "x" * 200 for i in range(20000)], "many",
           "many")
    for i in range(200):
        calls = [c.getting(1, 1, 1, "", "nobody"),
                 c.ListURLs(M.ListUrlParams(size=ALL, crawlID="many")),
                 c.PutURLs(iter([D(f"http://c/{i}", "c", "cancel")] * 3)),
                 c.raw("CountURLs").future(field(2, b"many"))]
        # grpcio resets calls that it has not opened, which is an error (RFC 9113
        # §5.1); they are when one that was begun behind them is answered.
        c.size("", "cancel")
        if i % 2:
            next(calls[1])
        for call in calls:
            call.cancel()
    still_serves("800 cancelled calls", server)
    open_calls = [c.PutURLs(iter(queue.Queue().get, None), timeout=0.5)
                  for _ in range(50)]
    same(f"{who}: 50 silent streams meet their deadline",
         {code(lambda: x) for x in open_calls}, {"DEADLINE_EXCEEDED"})
    still_serves("deadlines", server)

    # Asks for URLs, and reads nothing.
    peer = Raw(server.port, settings=NO_WINDOW)
    peer.send(frame(HEADERS, END_HEADERS, 1,
                    request_head(f"/{NAME}/GetURLs")) +
              frame(DATA, END_STREAM, 1, message(field(6, b"many"))))
    leased = wait_until(lambda: c.stats("many", "many")["leased"], 5)
    check(f"{who}: URLs are leased to one that reads nothing", leased)
    peer.close()
    same(f"{who}: ... and released when it leaves", wait_until(
        lambda: c.stats("many", "many")["leased"] == 0, 5), True)

    before = server.memory_kib()
    peers = []
    ask = M.ListUrlParams(size=ALL, crawlID="many").SerializeToString()
    for _ in range(10):
        peers.append(Raw(server.port, reads=False))
        peers[-1].send(window(0, 0x7ffeffff))
        for i in range(1, 40, 2):
            peers[-1].send(
                frame(HEADERS, END_HEADERS, i,
                      request_head(f"/{NAME}/ListURLs")) +
                window(i, 0x7ffeffff) +
                frame(DATA, END_STREAM, i, message(ask)))
    time.sleep(1.5)
    grown = (server.memory_kib() - before) // 1024
    note(f"{who}: 10 clients with 20 lists each that never read: {grown} MiB")
    if "asan" not in who:
        check(f"{who}: lists that nobody reads: memory", grown < 160, grown)
    still_serves("lists that nobody reads", server)
    for peer in peers:
        peer.close()

    idle = [socket.create_connection(("127.0.0.1", server.port))
            for _ in range(300)]
    half = Raw(server.port)
    half.send(frame(HEADERS, END_HEADERS, 1,
                    request_head(f"/{NAME}/PutURLs")) +
              frame(DATA, 0, 1, b"\0\0\x10\0\0half"))
    still_serves("300 connections that say nothing", server)
    for s in idle:
        s.close()
    half.close()


def flood(what, server, blocks, codes):
    """Until the server has enough: it says GOAWAY with one of the codes."""
    peer = Raw(server.port)
    began = time.monotonic()
    for block in blocks:
        if not peer.send(block) or time.monotonic() - began > 30:
            break
    got = peer.goaway()
    check(f"{server.name}, {what}: GOAWAY", got in codes,
          f"{got} {len(peer.frames)}")
    check(f"{server.name}, {what}: bounded in time",
          time.monotonic() - began < 30, time.monotonic() - began)
    peer.close()
    still_serves(what, server)


def floods(server):
    def calls(rpc, body, then):
        for k in range(1, 40000, 200):
            yield b"".join(
                frame(HEADERS, END_HEADERS, i, request_head(
                    f"/{NAME}/{rpc}")) + body(i) + then(i)
                for i in range(k, k + 200, 2))

    item = message(D("http://flood/", "f", "flood").SerializeToString())
    get = message(b"\x08\x01\x10\x01\x32\x05flood")

    def nothing(i):
        return b""

    flood("20,000 rapid resets of PutURLs", server, calls(
        "PutURLs", lambda i: frame(DATA, 0, i, item), reset), {CALM})
    flood("20,000 rapid resets of GetURLs", server, calls(
        "GetURLs", lambda i: frame(DATA, END_STREAM, i, get), reset), {CALM})
    flood("garbage behind the preface", server, [b"x" * 100], {1, 6})
    peer = Raw(server.port)
    for block in calls("PutURLs", nothing, nothing):
        if not peer.send(block):
            break
    peer.read(0.5)
    refused = sum(f[0] == RST and f[3] == struct.pack(">I", 7)
                  for f in peer.frames)
    check(f"{server.name}, 20,000 open streams: refused, or GOAWAY",
          refused > 500 or peer.goaway() in (CALM, 1), refused)
    still_serves("20,000 open streams", server)
    peer.close()
    gone = wait_until(lambda: server.metric("frontier_streams_open") == 0, 8,
                      0.3)
    check(f"{server.name}: no stream is left open", gone,
          server.metric("frontier_streams_open"))


# ---- Who may enter -------------------------------------------------------------------

def tokens():
    data = os.path.join(PLACE, "tokens")
    made = {}
    for name, scope in (("writes", "urlfrontier:write"),
                        ("reads", "urlfrontier:read"),
                        ("other", "realtime:write")):
        code_, out, err = ours("token", "add", name, "--scope", scope,
                               "--data", data)
        if not check(f"M3 argiope token add {name}", code_ == 0, err):
            return
        made[name] = out.strip()
    server = Server("tokens", "urlfrontier.reflection=off", data=data)
    port = server.port

    def bearer(text):
        return Client(port, metadata=(("authorization", text),))

    whole = bearer("Bearer " + made["writes"])
    none = Client(port)
    wrong = bearer("Bearer " + made["writes"][:-1] + (
        "a" if made["writes"][-1] != "a" else "b"))
    bare, other = bearer(made["writes"]), bearer("Bearer " + made["other"])
    for name, kind, asked, answer in M.rpcs:
        for who, c in (("none", none), ("a wrong one", wrong),
                       ("no scheme", bare)):
            ask = iter([asked()]) if kind.startswith("stream") else asked()
            same(f"M3 {who}: {name}", code(getattr(c, name), ask, timeout=5),
                 "UNAUTHENTICATED")
    same("M3 health wants none", none.healthy(NAME), 1)
    same("M3 the right one", (whole.did(D("http://m3/", "", "m3")),
                              whole.got(1, 1, 1, "", "m3")),
         (["OK"], ["http://m3/"]))
    same("M3 bearer in small letters", bearer(
        "bearer " + made["writes"]).size("", "m3")[0], 1)
    reads = bearer("Bearer " + made["reads"])
    same("M3 one that reads: reads", reads.size("", "m3")[0], 1)
    check("M3 ... does not write", code(
        lambda: reads.PutURLs(iter([D("http://m3/2", "", "m3")]))) in (
        "PERMISSION_DENIED", "UNAUTHENTICATED"))
    check("M3 another door's", code(other.stats) in (
        "PERMISSION_DENIED", "UNAUTHENTICATED"))
    same("M3 nothing came in", whole.urls("m3"), ["http://m3/"])
    same("M3 reflection off", code(whole.raw(
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "stream_stream"), iter([b"\x3a\x00"]), timeout=5,
        metadata=whole.metadata), "UNIMPLEMENTED")
    code_, _, err = ours("token", "revoke", "writes", "--data", data)
    same("M3 revoked", (code_, wait_until(
        lambda: code(whole.stats) == "UNAUTHENTICATED", 4)), (0, True))
    with open(server.log, errors="replace") as f:
        said = f.read()
    check("M3 no token in the log", not any(t in said for t in made.values()))
    server.stop()


def tls():
    if shutil.which("openssl") is None:
        skip("TLS", "openssl is not installed")
        return
    crt, key = certificate()
    server = Server("tls", f"urlfrontier.tls_cert={crt}",
                    f"urlfrontier.tls_key={key}", ready=False)
    with open(crt, "rb") as f:
        trust = grpc.ssl_channel_credentials(f.read())
    wait_until(lambda: listens(server.port))
    c = Client(0, grpc.secure_channel(f"localhost:{server.port}", trust,
                                      OPTIONS))
    wait_until(lambda: c.healthy() == 1)
    same("TLS: a put and a get", (c.did(D("http://tls/", "", "tls")),
                                  c.got(1, 1, 1, "", "tls")),
         (["OK"], ["http://tls/"]))
    same("TLS: 10,000 URLs", (c.many(
        [f"http://t/{i}" for i in range(10000)], "t", "tls"),
        len(c.got(0, 0, 1, "t", "tls"))), (None, 10000))
    same("TLS: plaintext is not understood",
         code(Client(server.port).stats), "UNAVAILABLE")
    for version, want in (("-tls1_1", False), ("-tls1_2", True),
                          ("-tls1_3", True)):
        code_, out, err = run("openssl", "s_client", "-connect",
                              f"127.0.0.1:{server.port}", "-alpn", "h2",
                              version, seconds=10)
        same(f"TLS: {version[1:]}, ALPN h2", "ALPN protocol: h2" in out, want)
    same("TLS: ends well", server.stop(), 0)


def exposed():
    """An address that others reach wants TLS and tokens."""
    code_, out, err = ours("serve", "--data", PLACE + "/exposed", "--set",
                           "http.listen=off", "--set",
                           f"urlfrontier.listen=0.0.0.0:{fixed_port()}",
                           seconds=5)
    same("any address without TLS and tokens is refused", code_, 78)
    check("... by a sentence that names the setting",
          "urlfrontier.listen" in err, err)


# ---- All of it -----------------------------------------------------------------------

def attempt(f, *args):
    try:
        f(*args)
    except Exception:
        check(f"{f.__name__} goes to its end", False,
              traceback.format_exc()[-500:])


server = Server("plain")
for f in (described, accepted, malformed, misbehaving, floods):
    attempt(f, server)
same("plain: SIGTERM ends it", server.stop(), 0)
attempt(tokens)
attempt(tls)
attempt(exposed)
watched = program_under_asan()
if watched is None:
    skip("under AddressSanitizer", "there is no such program")
else:
    server = Server("asan", executable=watched, env={
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"})
    for f in (malformed, misbehaving, floods):
        attempt(f, server)
    same("asan: SIGTERM ends it", server.stop(30), 0)
    with open(server.log, errors="replace") as f:
        said = f.read()
    at = max(said.find("Sanitizer"), said.find("runtime error"))
    check("asan: it has nothing to say", at < 0, said[at:at + 500])
done()
