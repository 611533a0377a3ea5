"""What the cases of a cluster share: nodes of one list, who owns a queue, a slow
line between two of them, and a ledger of what was acknowledged.
"""
import itertools
import math

from frames import *
from urlfrontier_peer import *

LOCAL = (("argiope-scope", "local"),)
CLUSTER = (("argiope-scope", "cluster"),)
KEEP = (("argiope-keep-dates", "1"),)
FAR = 2943003600


# ---- Who owns a queue -----------------------------------------------------------

def java_hash(text):
    """Java SE, String.hashCode: over UTF-16 units; 32 bits with a sign."""
    h, units = 0, text.encode("utf-16-be")
    for i in range(0, len(units), 2):
        h = 31 * h + (units[i] << 8 | units[i + 1]) & 0xffffffff
    return h - (h >> 31 << 32)


def name_of(crawl, key):
    """What is hashed."""
    return "_".join(x.replace("_", "%5F") for x in (
        crawl if crawl.strip() else "DEFAULT", key))


def owner(crawl, key, n):
    """The number of its node; Java's % keeps the sign."""
    return abs(int(math.fmod(java_hash(name_of(crawl, key)), n)))


def key_with_hash(crawl, hash):
    """A key of small letters with which the queue's name has this hash."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    ends = {java_hash("".join(x)): "".join(x)
            for x in itertools.product(letters, repeat=3)}
    for begin in ends.values():
        left = hash - java_hash(name_of(crawl, begin)) * 31 ** 6
        for h, middle in ends.items():
            end = ends.get(left - h * 31 ** 3 & 0xffffffff)
            if end:
                return begin + middle + end


# ---- Nodes ----------------------------------------------------------------------

class Node(Server):
    """`here` is a client whose calls go no further."""
    here = None

    def serves(self):
        if not super().serves():
            return False
        if self.here is None:
            self.here = Client(self.port, metadata=LOCAL)
        return self.here.healthy() == 1

    def stall(self):
        """Its sockets are open, and it says nothing."""
        self.child.send_signal(signal.SIGSTOP)

        def stopped():
            with open(f"/proc/{self.child.pid}/stat") as f:
                return f.read().rpartition(")")[2].split()[0] in "Tt"

        wait_until(stopped, 5, 0.005)

    def go_on(self):
        self.child.send_signal(signal.SIGCONT)

    def lines(self, word):
        """How often it has logged that."""
        with open(self.log, errors="replace") as f:
            return f.read().count(word)

    def listed(self, crawl, key=""):
        """Its own URLs, by the message's field."""
        return [i.known.info.url for i in self.client.ListURLs(
            M.ListUrlParams(crawlID=crawl, key=key, size=ALL, local=True))]


class Cluster:
    """
    Nodes in the order of their list; `client` is the first one's.  Those that
    stand `behind` a relay are spoken to through it by the others.  `each` gives
    a node's own settings, `host` its name in the list.
    """

    def __init__(self, name, n, *settings, behind=(), each=lambda i: (),
                 ready=True, host="127.0.0.1"):
        self.name, self.settings, self.ready = name, settings, ready
        self.entries = sorted(f"{host}:{fixed_port()}" for _ in range(n))
        self.relays = {}
        self.nodes = at_once(n, lambda i: self.node(i, i in behind, each(i)))
        self.client = self.nodes[0].client

    def node(self, i, behind, own):
        entries = random.sample(self.entries, len(self.entries))
        own = [f"urlfrontier.nodes={','.join(entries)}", *own]
        port = int(self.entries[i].split(":")[1])
        if behind or not self.entries[i].startswith("127."):
            own.append(f"urlfrontier.node={self.entries[i]}")
        if behind:
            inner = fixed_port()
            self.relays[i] = Relay(port, inner)
            port = inner
        return Node(f"{self.name}-{i}", *self.settings, *own, port=port,
                    ready=self.ready)

    def keys(self, node, crawl, n=1, form="k{}"):
        """So many keys that a node owns."""
        every = map(form.format, itertools.count())
        return list(itertools.islice((
            k for k in every if owner(crawl, k, len(self.nodes)) == node), n))

    def key_of_each(self, crawl, form="k{}"):
        return [self.keys(i, crawl, 1, form)[0]
                for i in range(len(self.nodes))]

    def well(self, t, what):
        """Through each node to each; it may take until they are connected."""
        crawl = f"{t.crawl} {what}"
        keys = self.key_of_each(crawl)
        items = [K(f"http://{k}/", k, crawl, FAR) for k in keys]

        def one(n):
            return n.client.did(*items) == ["OK"] * len(keys) and \
                n.client.batches(("b", [i.known.info for i in items])) == \
                [("b", ["SKIPPED"] * len(keys))] and \
                n.client.count(crawl) == len(keys)

        began = time.monotonic()
        fine = wait_until(lambda: all([code(one, n) == "OK" and one(n)
                                       for n in self.nodes]), 6)
        t.check(f"{what}: all is well", fine)
        note(f"{t.name} {what}: well after {time.monotonic() - began:.2f} s")

    def stop(self):
        return at_once(len(self.nodes), lambda i: self.nodes[i].stop())


class Relay:
    """TCP to another port; each piece of bytes waits for `delay` seconds."""

    def __init__(self, port, to):
        self.to, self.delay, self.open, self.n = to, 0, [], 0
        self.socket = socket.create_server(("127.0.0.1", port), backlog=64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            one, _ = self.socket.accept()
            try:
                two = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                one.close()
                continue
            self.n += 1
            self.open += [one, two]
            for pair in ((one, two), (two, one)):
                threading.Thread(target=self.pump, args=pair,
                                 daemon=True).start()

    def pump(self, source, sink):
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                time.sleep(self.delay)
                sink.sendall(data)
        except OSError:
            pass
        for s in (source, sink):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        """What is connected ends; who comes again is let through."""
        while self.open:
            s = self.open.pop()
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


# ---- Clients --------------------------------------------------------------------

def told(f, *args, **more):
    """The name of a call's status, and its text."""
    try:
        got = f(*args, **more)
        if hasattr(got, "cancel"):
            list(got)
        return "OK", ""
    except grpc.RpcError as e:
        return e.code().name, e.details()


class Blast(Raw):
    """
    A PutURLs call of n items of one queue, packed beforehand, that writes as
    fast as it may.
    """

    def __init__(self, port, n, key, crawl, bytes_each):
        super().__init__(port)
        self.send(frame(HEADERS, END_HEADERS, 1, request_head(
            f"/{NAME}/PutURLs")) + window(0, 1 << 30) + window(1, 1 << 30))
        mark = "0000000"
        one = message(K(f"http://{key}/{id(self)}/{mark}", key, crawl, FAR,
                        ID=mark, v="x" * bytes_each).SerializeToString())
        first, second, rest = one.split(mark.encode())
        self.pieces = [b"".join(
            b"%s%07d%s%07d%s" % (first, i, second, i, rest)
            for i in range(at, min(n, at + 400))) for at in range(0, n, 400)]
        self.pieces.reverse()

    def go(self, seconds):
        """True when all of it has been sent."""
        until = time.monotonic() + seconds
        while self.pieces and not self.closed:
            rest = self.send_data(1, self.pieces.pop(),
                                  max(0, until - time.monotonic()))
            if rest:
                self.pieces.append(rest)
                break
        return not self.pieces

    def end(self, seconds):
        """[status] in the order of arrival, and whether the call has ended."""
        self.send(frame(DATA, END_STREAM, 1))

        def over():
            return any(k == HEADERS and f & END_STREAM
                       for k, f, s, _ in self.frames[-3:])

        wait_until(lambda: self.read(0.05) or self.closed or over(), seconds)
        data, at, found = self.data(1), 0, []
        while at + 5 <= len(data):
            at += 5 + int.from_bytes(data[at + 1:at + 5], "big")
            # The second field stands behind the ID, or is not there: OK.
            found.append(data[at - 1] if data[at - 2] == 0x10 else 0)
        return found, over()


# ---- What was acknowledged ------------------------------------------------------

class Writer:
    """
    Puts new URLs through any node, each until it is acknowledged.  `kept` is
    what must be there: {URL: metadata's v}.
    """

    def __init__(self, number, cluster):
        self.crawl = f"kept {number}"
        self.cluster, self.kept, self.again = cluster, {}, {}
        self.rng = random.Random(number)
        self.clients = [Client(n.port) for n in cluster.nodes]
        self.number, self.n, self.faults = number, 0, []
        self.tally = dict.fromkeys(("OK", "SKIPPED", "FAIL", "unanswered",
                                    "sent again"), 0)

    def work(self, over):
        while not over.is_set():
            self.round(100)
            time.sleep(0.05)

    def finish(self, seconds):
        until = time.monotonic() + seconds
        while self.again and time.monotonic() < until:
            self.round(0)
            time.sleep(0.05)

    def round(self, new):
        """One stream, of updates or of batches."""
        again = dict(self.again)
        asked = list(again)
        for _ in range(new):
            self.n += 1
            asked.append(f"http://w{self.number}-{self.n % 23}/{self.n}")
        self.rng.shuffle(asked)
        self.tally["sent again"] += len(again)
        left = set(asked)

        def acked(url, status):
            left.discard(url)
            self.tally[STATUS[status]] += 1
            if STATUS[status] == "FAIL":
                self.again[url] = True
                return
            # Only what may have been applied before is skipped.
            if STATUS[status] == "SKIPPED" and url not in again:
                self.faults.append(f"{url} is SKIPPED at once")
            self.again.pop(url, None)
            self.kept[url] = url[-5:]

        try:
            self.ask(self.rng.choice(self.clients), asked, acked)
        except grpc.RpcError as e:
            if e.code().name not in ("UNAVAILABLE", "CANCELLED") and \
                    e.details() != "Stream removed":
                self.faults.append(f"{e.code().name} {e.details()}")
        self.tally["unanswered"] += len(left)
        for url in left:
            self.again[url] = True

    def ask(self, client, urls, acked):
        if self.rng.random() < 0.6:
            for a in client.PutURLs(iter([
                    K(u, "", self.crawl, FAR, v=u[-5:]) for u in urls])):
                acked(a.ID, a.status)
            return
        cuts = range(0, len(urls), 40)
        for a in client.PutDiscovered(iter([M.DiscoveredBatch(
                ID=str(i), items=[info(u, "", self.crawl, v=u[-5:])
                                  for u in urls[i:i + 40]]) for i in cuts])):
            one = urls[int(a.ID):int(a.ID) + 40]
            if len(one) != len(a.statuses):
                self.faults.append(f"{len(a.statuses)} statuses")
            for url, status in zip(one, a.statuses):
                acked(url, status)
