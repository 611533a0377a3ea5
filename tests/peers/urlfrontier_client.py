"""`argiope frontier` as a client: how much it has under way, in which order it
sends, how it takes servers that err, and its JSON beside protobuf's own.  The
servers are grpcio's.
"""
from concurrent import futures

from urlfrontier_peer import *

begin("urlfrontier_client")
from google.protobuf import json_format  # noqa: E402


def verb(server, *words, seconds=30):
    """(exit code, lines of standard output, standard error)"""
    try:
        done = subprocess.run(
            [program(), "frontier", "-t", "127.0.0.1", "-p",
             str(server.port), *words], capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "it hangs", [], ""
    return done.returncode, done.stdout.decode().split("\n")[:-1], \
        done.stderr.decode(errors="replace")


class Serving(grpc.GenericRpcHandler if grpc else object):
    """A server whose calls are functions: name -> f(request, context)."""

    def __init__(self, raw=False, **calls):
        self.calls, self.raw = calls, raw
        self.server = grpc.server(futures.ThreadPoolExecutor(20))
        self.server.add_generic_rpc_handlers((self,))
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def service(self, details):
        name = details.method.rpartition("/")[2]
        for rpc, kind, asked, answer in M.rpcs:
            if rpc == name and rpc in self.calls:
                return getattr(grpc, kind + "_rpc_method_handler")(
                    self.calls[rpc], request_deserializer=asked.FromString,
                    response_serializer=None if self.raw else
                    answer.SerializeToString)
        return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.stop(0).wait()


def ack(item, status=0):
    return M.AckMessage(ID=item.ID, status=status)


def write(name, lines):
    with open(name, "w") as f:
        f.write("".join(line + "\n" for line in lines))
    return name


def windows():
    """-w bounds what is sent and not acknowledged."""
    urls = write("w.txt", [f"http://w/{i}" for i in range(500)])
    held = []

    def hold(requests, size):
        """Take what comes in a second, then acknowledge as it comes."""
        waiting, came = [], queue.Queue()
        threading.Thread(target=lambda: [came.put(r) for r in requests] +
                         [came.put(None)], daemon=True).start()
        end = time.monotonic() + 1
        while time.monotonic() < end:
            try:
                waiting.append(came.get(timeout=0.05))
            except queue.Empty:
                pass
        held.append(sum(size(r) for r in waiting))
        while True:
            for r in waiting:
                if r is None:
                    return
                yield r
            waiting = [came.get()]

    def items(requests, _):
        for r in hold(requests, lambda r: 1):
            yield ack(r)

    def batches(requests, _):
        first = next(requests)
        yield M.BatchAck(ID=first.ID)
        if first.ID != "probe":
            return
        for _ in requests:
            return

    def held_batches(requests, _):
        for r in hold(requests, lambda r: len(r.items) if r else 0):
            yield M.BatchAck(ID=r.ID, statuses=[0] * len(r.items))

    with Serving(PutURLs=items) as s:
        got = verb(s, "PutURLs", "-f", urls, "-w", "50")
        same("a window of 50: exit code", (got[0], got[2]), (0, ""))
        same("... 50 are under way", held, [50])
    held.clear()
    first = threading.Event()

    def probe_then_hold(requests, context):
        if not first.is_set():
            first.set()
            return batches(requests, context)
        return held_batches(requests, context)

    with Serving(PutURLs=lambda r, _: (ack(x) for x in r),
                 PutDiscovered=probe_then_hold) as s:
        got = verb(s, "PutURLs", "-f", urls, "-w", "50", "-b", "20")
        same("... in batches of 20: exit code", (got[0], got[2]), (0, ""))
        same("... three batches are under way", held, [60])


def orders():
    """Updates of one URL keep their order, on any number of streams."""
    came, streams = [], set()

    def put(requests, context):
        with lock:
            slow = not streams
            streams.add(threading.get_ident())
        for r in requests:
            time.sleep(0.002 if slow else 0)
            with lock:
                came.append((r.known.info.url,
                             r.known.refetchable_from_date))
            yield ack(r)

    lines = [json.dumps({"known": {"info": {"url": f"http://o/{i}"},
                                   "refetchableFromDate": date}})
             for date in range(1, 9) for i in range(199)]
    with Serving(PutURLs=put) as s:
        same("4 streams", verb(s, "PutURLs", "-f", write("o.txt", lines), "-t",
                               "4")[0], 0)
    dates = {}
    for url, date in came:
        dates.setdefault(url, []).append(date)
    same("... all arrive", len(came), 199 * 8)
    same("... each URL's in order", [u for u in dates if
                                     dates[u] != list(range(1, 9))], [])
    check("... and all streams work", len(streams) >= 2, streams)


def fields_of_calls():
    """Tokens and --keep-dates travel as metadata."""
    seen = []

    def put(requests, context):
        seen.append(dict(context.invocation_metadata()))
        for r in requests:
            yield ack(r)

    write("token", ["", "  s3cret ", ""])
    one = write("one.txt", ["http://m/"])
    with Serving(PutURLs=put) as s:
        verb(s, "PutURLs", "-f", one, "--keep-dates", "--token-file", "token")
        verb(s, "PutURLs", "-f", one)
    same("a token", [x.get("authorization") for x in seen],
         ["Bearer s3cret", None])
    same("--keep-dates", [x.get("argiope-keep-dates") for x in seen],
         ["1", None])


def bad_servers():
    """Each ends in exit code 1 and a sentence, and soon."""
    urls = write("b.txt", [f"http://b/{i}" for i in range(2000)])

    def twice(requests, _):
        for r in requests:
            yield ack(r)
            yield ack(r)

    def early(requests, _):
        for _, r in zip(range(3), requests):
            yield ack(r)

    def some(requests, _):
        for r in requests:
            if not r.discovered.info.url.endswith("7"):
                yield ack(r)

    def refuse(requests, context):
        next(requests)
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "no \x1b room")

    for name, put, words in (
            ("twice the acks", twice, "more was acknowledged"),
            ("an early end", early, "ended the stream"),
            ("acks that are missing", some, "1800 were acknowledged"),
            ("a refusal", refuse, "RESOURCE_EXHAUSTED: no \\x1b room")):
        with Serving(PutURLs=put) as s:
            code_, _, err = verb(s, "PutURLs", "-f", urls, "-t", "2", "-w",
                                 "9" if put is early else "5000")
            check(name, code_ == 1 and words in err, f"{code_} {err}")
    with Serving(PutURLs=lambda r, _: (ack(x) for x in r)) as s:
        code_, out, err = verb(s, "PutURLs", "-f", urls, "-b", "64")
        check("no PutDiscovered: one by one", code_ == 0 and
              "OK: 2000" in out and "no PutDiscovered" in err, err)
    with Serving(raw=True, GetStats=lambda r, _: b"\xff\xff",
                 GetURLs=lambda r, _: iter([b"\x0a\x05ab"])) as s:
        for name in ("GetStats", "GetURLs"):
            code_, _, err = verb(s, name)
            check(f"{name}: an answer that is none", code_ == 1 and
                  "an answer that is none" in err, f"{code_} {err}")


def pages():
    """DumpURLs -t lists queues by 10,000; ListQueues -o by -n."""
    keys = [f"k{i}" for i in range(20003)]
    asked = []

    def queues(r, _):
        asked.append((r.crawlID, r.start, r.size, r.include_inactive, r.local))
        page = keys[r.start:r.start + r.size] if r.crawlID == "c" else []
        return M.QueueList(values=page, start=r.start, size=len(page))

    def urls(r, _):
        yield K(f"http://{r.key}/", r.key, r.crawlID, 5)

    with Serving(ListCrawls=lambda r, _: M.StringList(values=["c", "d"]),
                 ListQueues=queues, ListURLs=urls) as s:
        code_, out, err = verb(s, "DumpURLs", "-t", "3", "-l", seconds=60)
        check("DumpURLs, queue by queue", code_ == 0, err)
        same("... has one of each", sorted(
            json.loads(x)["known"]["info"]["key"] for x in out), sorted(keys))
        same("... by pages", asked, [
            ("c", 0, 10000, True, True), ("c", 10000, 10000, True, True),
            ("c", 20000, 10000, True, True), ("d", 0, 10000, True, True)])
        asked.clear()
        same("ListQueues -o", verb(s, "ListQueues", "-c", "c", "-n", "9000",
                                   "-o", "q.txt")[0], 0)
        with open("q.txt") as f:
            same("... has all", f.read().split(), keys)
        same("... by pages", [a[1] for a in asked],
             [0, 9000, 18000, 20003])

    def broken(r, context):
        yield K("http://x/", "x", "", 5)
        context.abort(grpc.StatusCode.INTERNAL, "broken")

    for words in ((), ("-t", "2")):
        with Serving(ListCrawls=lambda r, _: M.StringList(values=["c"]),
                     ListQueues=lambda r, _: M.QueueList(values=["x"]),
                     ListURLs=broken) as s:
            code_, out, err = verb(s, "DumpURLs", *words)
            check(f"DumpURLs {words} that breaks off", code_ == 1 and
                  "INTERNAL: broken" in err and "not complete" in err,
                  f"{code_} {err}")


def texts(rng):
    """Texts that are hard on an escaper."""
    hard = ["", "a", "\"\\/", "<>&='", "\u2028\u2029", "\x01\x1f\x7f", "\u00e4",
            "\U0001f608", "\n\r\t\b\f", "\u0080\uffff", "x" * 300]
    return "".join(rng.choice(hard) for _ in range(rng.randrange(4)))


def some_item(rng):
    i = rng.choice((K, D))("http://j/" + texts(rng), texts(rng), texts(rng))
    if i.HasField("known"):
        i.known.refetchable_from_date = rng.choice((0, 1, 2 ** 63, 2 ** 64 - 1))
    kind = i.known if i.HasField("known") else i.discovered
    for _ in range(rng.randrange(3)):
        kind.info.metadata[texts(rng)].values.extend(
            texts(rng) for _ in range(rng.randrange(3)))
    i.ID = texts(rng)
    i.creation_date = rng.choice((0, 1795159500))
    return i


def foreign_json():
    """Our lines in protobuf's reader, its lines in ours."""
    rng = random.Random(7)
    items = [some_item(rng) for _ in range(500)]
    came = []

    def put(requests, _):
        for r in requests:
            came.append(r)
            yield ack(r)

    def lines(**how):
        return [json.dumps(json.loads(json_format.MessageToJson(i, **how)),
                           ensure_ascii=n % 2 == 0)
                for n, i in enumerate(items)]

    with Serving(ListURLs=lambda r, _: iter(items), PutURLs=put) as s:
        code_, out, err = verb(s, "ListURLs", "-j")
        check("ListURLs --json", code_ == 0, err)
        same("... reads as what was sent", [
            n for n, line in enumerate(out)
            if json_format.Parse(line, M.URLItem()) != items[n]], [])
        same("... all of it", len(out), len(items))
        check("... escaped for HTML too", not any(
            c in line for line in out for c in "<>&='\u2028\u2029"))
        for name, text in (("ours", out), ("its own", lines()), (
                "its own, names of the .proto",
                lines(preserving_proto_field_name=True))):
            came.clear()
            code_, _, err = verb(s, "PutURLs", "-f", write("j.txt", text))
            check(f"PutURLs of {name}", code_ == 0, err)
            check(f"... of {name} arrive as they were", came == items, [
                n for n, i in enumerate(items) if n >= len(came) or
                came[n] != i][:5])


if ours("frontier", "--help")[0] != 0:
    skip("urlfrontier_client", "argiope has no frontier yet")
    done()
for f in (windows, orders, fields_of_calls, bad_servers, pages, foreign_json):
    try:
        f()
    except Exception:
        check(f"{f.__name__} goes to its end", False,
              traceback.format_exc()[-500:])
done()
