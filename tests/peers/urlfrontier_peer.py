"""What the urlfrontier scripts share: the schema, servers, clients, cases.

The messages are those of the schema in the tree, read by protoc at the time of
the test; the calls are Debian's python3-grpcio.  Cases bear the names of the
contract's list: A1 to N6.
"""
import queue

from frames import message
from serve import *

try:
    import grpc
    from google.protobuf import (descriptor_pb2, descriptor_pool,
                                 message_factory)
except ImportError:
    grpc = None

SCHEMA = os.path.join(SOURCE, "wire", "urlfrontier")
NAME = "urlfrontier.URLFrontier"
ANY = object()                  # any crawl
ALL = 2147483647                # as clients ask for a whole list
STATUS = ("OK", "SKIPPED", "FAIL")
MIB = 1 << 20


# ---- The schema ---------------------------------------------------------------

def code(f, *args, **more):
    """The name of a call's status; a stream is read to its end."""
    try:
        got = f(*args, **more)
        if hasattr(got, "cancel"):
            list(got)
        return "OK"
    except grpc.RpcError as e:
        return e.code().name


class Messages:
    """Classes of the schema's messages; RPCs as [(name, kind, in, out)]."""


M = Messages()


def begin(name):
    """Read the schema; without what that needs, the script is skipped."""
    if grpc is None:
        skip(name, "python3-grpcio is not installed")
        done()
    need(name, "protoc", files=[SCHEMA + "/urlfrontier.proto"])
    place = PLACE + "/urlfrontier.set"
    code, _, err = run("protoc", "-I", SCHEMA, "--include_imports", "-o",
                       place, "urlfrontier.proto")
    if code != 0:
        sys.exit(f"protoc: {err}")
    files = descriptor_pb2.FileDescriptorSet()
    with open(place, "rb") as f:
        files.ParseFromString(f.read())
    pool = descriptor_pool.DescriptorPool()
    if hasattr(message_factory, "GetMessageClass"):
        make = message_factory.GetMessageClass
    else:
        make = message_factory.MessageFactory(pool).GetPrototype
    for file in files.file:
        pool.AddSerializedFile(file.SerializeToString())
    for file in files.file:
        for m in file.message_type:
            setattr(M, m.name, make(pool.FindMessageTypeByName(
                f"{file.package}.{m.name}")))
    ours = next(f for f in files.file if f.package == "urlfrontier")
    M.rpcs = [(m.name, ("stream" if m.client_streaming else "unary") + "_" +
               ("stream" if m.server_streaming else "unary"),
               getattr(M, m.input_type.split(".")[-1]),
               getattr(M, m.output_type.split(".")[-1]))
              for m in ours.service[0].method]


def info(url, key="", crawl="", **meta):
    i = M.URLInfo(url=url, key=key, crawlID=crawl)
    for name, values in meta.items():
        i.metadata[name].values.extend(
            [values] if isinstance(values, str) else values)
    return i


def D(url, key="", crawl="", ID="", **meta):
    return M.URLItem(ID=ID, discovered=M.DiscoveredURLItem(
        info=info(url, key, crawl, **meta)))


def K(url, key="", crawl="", date=0, ID="", **meta):
    return M.URLItem(ID=ID, known=M.KnownURLItem(
        info=info(url, key, crawl, **meta), refetchable_from_date=int(date)))


def metadata_of(i):
    return {name: list(v.values) for name, v in i.metadata.items()}


def fields(data):
    """A message without its schema: [(number, value)]."""
    found, i = [], 0

    def varint():
        nonlocal i
        n = shift = 0
        while True:
            byte = data[i]
            i += 1
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return n

    while i < len(data):
        tag = varint()
        if tag & 7 == 0:
            found.append((tag >> 3, varint()))
        elif tag & 7 == 2:
            n = varint()
            found.append((tag >> 3, data[i:i + n]))
            i += n
        else:
            n = 8 if tag & 7 == 1 else 4
            found.append((tag >> 3, data[i:i + n]))
            i += n
    return found


# ---- Servers ------------------------------------------------------------------

class Server(Serve):
    """With the door open; `client` goes on over restarts."""
    client = None

    def __init__(self, name, *settings, port=None, **more):
        self.port = port or fixed_port()
        self.door = ("loops=1", f"urlfrontier.listen=127.0.0.1:{self.port}")
        super().__init__(name, settings, **more)

    def serves(self):
        if not listens(self.port):
            return False
        if self.client is None:
            self.client = Client(self.port)
        return self.client.healthy() == 1


# ---- Clients ------------------------------------------------------------------

# The first of the three backoffs is also how long an attempt to connect may take.
OPTIONS = (("grpc.enable_retries", 0),
           ("grpc.use_local_subchannel_pool", 1),
           ("grpc.max_send_message_length", 64 * MIB),
           ("grpc.max_receive_message_length", 64 * MIB),
           ("grpc.min_reconnect_backoff_ms", 5000),
           ("grpc.initial_reconnect_backoff_ms", 20),
           ("grpc.max_reconnect_backoff_ms", 100))


class Client:
    """
    Every RPC under its own name, taking and giving messages; shorter forms of
    what the cases use below.  A thread of its own each, or none: as one likes.
    """
    too_big = []                # answers with a number above 2^63

    def __init__(self, port, channel=None, metadata=None):
        self.channel = channel or grpc.insecure_channel(
            f"127.0.0.1:{port}", OPTIONS)
        self.metadata = metadata
        for name, kind, asked, answer in M.rpcs:
            setattr(self, name, self.rpc(
                name, kind, asked.SerializeToString, answer.FromString))

    def rpc(self, name, kind, pack, unpack):
        call = getattr(self.channel, kind)(
            f"/{NAME}/{name}", request_serializer=pack,
            response_deserializer=unpack)

        def ask(request, timeout=60, **more):
            more.setdefault("metadata", self.metadata)
            return call(request, timeout=timeout, **more)

        return ask

    def raw(self, name, kind="unary_unary"):
        """An RPC whose messages are bytes, without a time limit."""
        return getattr(self.channel, kind)(
            name if name.startswith("/") else f"/{NAME}/{name}")

    def close(self):
        self.channel.close()

    def healthy(self, service=""):
        """
        The health service's number: 1 is SERVING; 0: no answer in time.  It
        waits for the connection: a call that fails fast while the channel is
        in backoff leaves nobody to look whether the next attempt succeeds.
        """
        asked = service.encode()
        try:
            answer = self.channel.unary_unary("/grpc.health.v1.Health/Check")(
                bytes((10, len(asked))) + asked if asked else b"", timeout=2,
                wait_for_ready=True)
        except grpc.RpcError:
            return 0
        return dict(fields(answer)).get(1, 0)

    # -- writing

    def put(self, *items, **more):
        """[(ID, status)] of one stream, in the order in which they came."""
        return [(a.ID, STATUS[a.status])
                for a in self.PutURLs(iter(items), **more)]

    def did(self, *items, **more):
        return [status for _, status in self.put(*items, **more)]

    def fill(self, *items):
        """What the case begins with: all of it is OK."""
        wrong = [(i, s) for i, s in self.put(*items, timeout=60) if s != "OK"]
        if wrong:
            raise AssertionError(f"{len(wrong)} not OK: {wrong[:3]}")

    def batches(self, *batches, **more):
        """[(ID, [status])] for batches (ID, [info])."""
        return [(a.ID, [STATUS[s] for s in a.statuses])
                for a in self.PutDiscovered(iter(
                    [M.DiscoveredBatch(ID=ID, items=items)
                     for ID, items in batches]), **more)]

    def many(self, urls, key="", crawl="", each=500):
        """Fill with discovered URLs, quickly."""
        urls = list(urls)
        for _, statuses in self.batches(*[
                (str(i), [info(u, key, crawl) for u in urls[i:i + each]])
                for i in range(0, len(urls), each)], timeout=60):
            assert set(statuses) == {"OK"}, statuses[:5]

    # -- serving

    def get(self, n=0, q=0, lease=0, key="", crawl=None, **more):
        return list(self.getting(n, q, lease, key, crawl, **more))

    def getting(self, n=0, q=0, lease=0, key="", crawl=None, **more):
        """The call, to be read; crawl None sets neither kind."""
        p = M.GetParams(max_urls_per_queue=n, max_queues=q, key=key,
                        delay_requestable=lease)
        if crawl is ANY:
            p.anyCrawlID.SetInParent()
        elif crawl is not None:
            p.crawlID = crawl
        return self.GetURLs(p, **more)

    def got(self, *args, **more):
        return [i.url for i in self.get(*args, **more)]

    # -- control

    def number(self, answer):
        if answer.value > 1 << 63:
            self.too_big.append(str(answer))
        return answer.value

    def stats(self, key="", crawl=""):
        s = self.GetStats(M.QueueWithinCrawlParams(key=key, crawlID=crawl))
        numbers = [s.size, s.inProcess, s.numberOfQueues, *s.counts.values()]
        if max(numbers) > 1 << 63:
            self.too_big.append(str(s))
        return dict(size=s.size, leased=s.inProcess,
                    completed=s.counts["completed"],
                    active=s.counts["active_queues"],
                    queues=s.numberOfQueues, crawl=s.crawlID)

    def size(self, key="", crawl=""):
        """(active, leased, completed)"""
        s = self.stats(key, crawl)
        return s["size"], s["leased"], s["completed"]

    def delay(self, key, seconds, crawl="", **more):
        return self.SetDelay(M.QueueDelayParams(
            key=key, delay_requestable=seconds, crawlID=crawl), **more)

    def block(self, key, until, crawl=""):
        return self.BlockQueueUntil(M.BlockQueueParams(
            key=key, time=int(until), crawlID=crawl))

    def limit(self, key, limit, crawl=""):
        return self.SetCrawlLimit(M.CrawlLimitParams(
            key=key, limit=limit, crawlID=crawl))

    def delete(self, key, crawl=""):
        return self.number(self.DeleteQueue(M.QueueWithinCrawlParams(
            key=key, crawlID=crawl)))

    def delete_crawl(self, crawl):
        return self.number(self.DeleteCrawl(M.DeleteCrawlMessage(
            value=crawl)))

    def purge(self, days, key="", crawl=""):
        return self.number(self.PurgeURLs(M.PurgeUrlParams(
            key=key, crawlID=crawl, days=days), timeout=60))

    def active(self, state=None):
        if state is not None:
            return self.SetActive(M.Active(state=state))
        return self.GetActive(M.Local()).state

    # -- reading

    def crawls(self):
        return sorted(self.ListCrawls(M.Local()).values)

    def queues(self, crawl="", start=0, size=ALL, inactive=False):
        return list(self.ListQueues(M.Pagination(
            start=start, size=size, include_inactive=inactive,
            crawlID=crawl)).values)

    def items(self, crawl="", key="", start=0, size=ALL, **more):
        """URLItems; `more` is filter and ignoreCase."""
        return list(self.ListURLs(M.ListUrlParams(
            start=start, size=size, key=key, crawlID=crawl, **more),
            timeout=60))

    def urls(self, *args, **more):
        return [i.known.info.url for i in self.items(*args, **more)]

    def count(self, crawl="", key="", **more):
        return self.number(self.CountURLs(M.CountUrlParams(
            key=key, crawlID=crawl, **more), timeout=60))

    def status(self, url, key="", crawl=""):
        return self.GetURLStatus(M.URLStatusRequest(
            url=url, key=key, crawlID=crawl))

    def date(self, url, key="", crawl=""):
        return self.status(url, key, crawl).known.refetchable_from_date


class Stream:
    """A PutURLs call that is held open; one item, one ack."""

    def __init__(self, client, seconds=100):
        self.waiting = queue.Queue()
        self.call = client.PutURLs(iter(self.waiting.get, None),
                                   timeout=seconds)

    def put(self, item):
        """The ack's status, or the name of the code that ended the call."""
        self.waiting.put(item)
        try:
            return STATUS[next(self.call).status]
        except StopIteration:
            return "ended"
        except grpc.RpcError as e:
            return e.code().name

    def end(self):
        self.waiting.put(None)
        return code(lambda: self.call)


# ---- Cases --------------------------------------------------------------------

class Case(OneCase):
    """With the server's client, and a crawl that nobody used."""

    def __init__(self, name, server):
        super().__init__(name, server)
        self.c, self.crawl = server.client, f"crawl of {name}"

    def due(self, n, key="k", crawl=None):
        """So many URLs, due since long; the oldest first."""
        urls = [f"http://{key}/{i:04}" for i in range(n)]
        self.c.fill(*[K(u, key, crawl or self.crawl, 1000 + i)
                      for i, u in enumerate(urls)])
        return urls


def Cases():
    return CasesOf(Case)


def at_once(n, f):
    """f(0) to f(n - 1), each in a thread of its own; their results."""
    results = [None] * n
    barrier = threading.Barrier(n)

    def work(i):
        barrier.wait()
        try:
            results[i] = f(i)
        except Exception as e:
            results[i] = e

    threads = [threading.Thread(target=work, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for r in results:
        if isinstance(r, Exception):
            raise r
    return results


def now():
    return int(time.time())


def pause(seconds):
    """Until a delay or lease of so many seconds is over for certain."""
    time.sleep(seconds + 0.06)
