"""Calls of the URL Frontier door whose callers do not wait: 10,000 counts with a
deadline of 1 ms, and listings that nobody reads.  Their work stops, others are
served meanwhile, and the memory comes back.

What is checked is how many records were read and how many calls went through;
times depend on the machine and are told, not judged.
"""
import json
import select
import subprocess

from urlfrontier_nodes import *

begin("urlfrontier_cancel")
URLS, QUEUES = 200000, 200
COUNTS, CONNECTIONS = 10000, 10
SCANNED = "argiope_urlfrontier_scanned_total"
WHOLE = b"\x10" + b"\xff" * 4 + b"\x07"   # ListUrlParams: size ALL


def call(path, stream, body, timeout=None):
    """A whole request, with the time that its caller waits."""
    head = request_head(f"/{NAME}/{path}")
    if timeout:
        head += literal(b"grpc-timeout", timeout)
    return frame(HEADERS, END_HEADERS, stream, head) + \
        frame(DATA, END_STREAM, stream, message(body))


def ask_and_get(port):
    """Ask, get and put until the standard input ends; what that took."""
    client, ms, wrong, n = Client(port), [], [], 0
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0.005)[0]:
        n += 1
        for f in (lambda: client.stats(), lambda: client.get(1, 1, 1),
                  lambda: client.put(D(f"http://o/{n}", "", "o"))):
            began = time.monotonic()
            try:
                f()
            except grpc.RpcError as e:
                wrong.append(e.code().name)
            ms.append((time.monotonic() - began) * 1000)
    print(json.dumps({"ms": sorted(ms), "wrong": wrong}))


class Others:
    """
    A client that asks and gets all the time.  It has a process of its own, so
    that it waits for the server alone, not for this script's interpreter.
    """

    def __init__(self, server):
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "others",
             str(server.port)], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        while self.process.stdout.readline() not in ("ready\n", ""):
            pass

    def stop(self, what):
        told = json.loads(self.process.communicate(timeout=30)[0])
        ms = told["ms"]
        note(f"{what}: others' {len(ms)} calls took "
             f"{ms[len(ms) // 2]:.1f} ms in the median, "
             f"{ms[len(ms) * 95 // 100]:.1f} at p95, {ms[-1]:.1f} at most")
        same(f"{what}: no other call failed", told["wrong"], [])


def metric_at_rest(server, name):
    value = None
    while value != (value := server.metric(name)):
        time.sleep(2.2)
    return value


def memory_mib(server):
    return server.memory_kib() / 1024


def back_at(server, what, before, most):
    """The memory comes back, at the latest with the next look of the door."""
    wait_until(lambda: memory_mib(server) < before + most, 20)
    after = memory_mib(server)
    note(f"{what}: {before:.0f} MiB before, {after:.0f} after")
    check(f"{what}: memory comes back", after < before + most,
          f"{before:.0f} MiB before, {after:.0f} after")


def counts(server):
    """Each of them would read all records."""
    before, memory = metric_at_rest(server, SCANNED), memory_mib(server)
    others = Others(server)
    peers = [Raw(server.port) for _ in range(CONNECTIONS)]
    began = time.monotonic()
    for peer in peers:
        # Two bytes of answer each: the windows need not be refilled.
        peer.send(b"".join(call("CountURLs", 1 + 2 * i, b"", b"1m")
                           for i in range(COUNTS // CONNECTIONS)))
    ended = 0
    for peer in peers:
        wait_until(lambda: peer.read(0.05) or peer.closed or len(
            {s for k, f, s, _ in peer.frames if s and k in (RST, HEADERS)})
            >= COUNTS // CONNECTIONS, 60)
        ended += len({s for k, f, s, _ in peer.frames
                      if s and k in (RST, HEADERS)})
        peer.close()
    note(f"counts: all had ended after {time.monotonic() - began:.1f} s")
    same("counts: each had an end", ended, COUNTS)
    check("counts: the work is over soon", wait_until(
        lambda: server.metric("argiope_urlfrontier_scans_waiting") == 0 and
        server.metric("argiope_urlfrontier_counts") == 0, 10))
    others.stop("counts")
    read = metric_at_rest(server, SCANNED) - before
    check("counts: few records were read", read < 50 * URLS,
          f"{read:.0f} of {COUNTS * URLS} records")
    note(f"counts: {read:.0f} records were read, of {COUNTS * URLS}")
    back_at(server, "counts", memory, 24)


def list_all(server):
    """Read a whole list as frames: grpcio would take seconds to decode it."""
    peer = Raw(server.port)
    peer.send(window(0, 1 << 30) + call("ListURLs", 1, WHOLE) +
              window(1, 1 << 30))
    check("a list is read", wait_until(lambda: peer.read(0.05) or any(
        k == HEADERS and f & END_STREAM for k, f, _, _ in peer.frames), 60))
    data = sum(len(p) for k, _, _, p in peer.frames if k == DATA)
    check("... to its end", data > URLS * len("http://q/"), data)
    peer.close()


def listings(server):
    """As many as one client may open, and none is read."""
    memory = memory_mib(server)
    peers = [Raw(server.port, reads=False) for _ in range(10)]
    for peer in peers:
        peer.send(window(0, 1 << 30) + b"".join(
            call("ListURLs", 1 + 2 * i, WHOLE) + window(1 + 2 * i, 1 << 20)
            for i in range(40)))
    others = Others(server)
    check("listings: they are open", wait_until(lambda: server.metric(
        "argiope_urlfrontier_listings") == 256, 20),
        server.metric("argiope_urlfrontier_listings"))
    refused = code(server.client.ListURLs, M.ListUrlParams())
    same("listings: one more is refused", refused, "RESOURCE_EXHAUSTED")
    same("listings: a count is not",
         server.client.CountURLs(M.CountUrlParams()).value, URLS)
    most = memory_mib(server)
    for peer in peers:
        peer.close()
    check("listings: none is open when the clients have gone", wait_until(
        lambda: server.metric("argiope_urlfrontier_listings") == 0, 10))
    others.stop("listings")
    note(f"listings: {most:.0f} MiB meanwhile")
    back_at(server, "listings", memory, 24)
    same("listings: one can be opened again",
         code(server.client.ListURLs, M.ListUrlParams()), "OK")


def peers_of_a_node():
    """What one node asks others for its callers ends there, too."""
    nodes = Cluster("two", 2, "urlfrontier.durability=relaxed")
    nodes.client.many([f"http://n{i % 50}/{i}" for i in range(URLS // 4)])
    before = [metric_at_rest(n, SCANNED) for n in nodes.nodes]
    peer = Raw(nodes.nodes[0].port)
    peer.send(b"".join(call("CountURLs", 1 + 2 * i, b"", b"1m")
                       for i in range(900)))
    wait_until(lambda: peer.read(0.05) or len(
        {s for k, _, s, _ in peer.frames if k in (RST, HEADERS)}) >= 900, 30)
    peer.close()
    idle = Raw(nodes.nodes[0].port, reads=False)
    idle.send(b"".join(call("ListURLs", 1 + 2 * i, WHOLE)
                       for i in range(20)))
    check("nodes: all list", wait_until(lambda: all(
        n.metric("argiope_urlfrontier_listings") == 20 for n in nodes.nodes),
        20), [n.metric("argiope_urlfrontier_listings") for n in nodes.nodes])
    idle.close()
    check("nodes: none lists when the caller has gone", wait_until(
        lambda: all(n.metric("argiope_urlfrontier_listings") == 0
                    for n in nodes.nodes), 10))
    read = [metric_at_rest(n, SCANNED) - b
            for n, b in zip(nodes.nodes, before)]
    # Each whole count would read some 25,000 records on each node.
    check("nodes: few records were read", max(read) < 100 * URLS // 8, read)
    note(f"nodes: {read} records were read")
    same("nodes: a count that is waited for",
         nodes.client.CountURLs(M.CountUrlParams()).value, URLS // 4)
    nodes.stop()


if sys.argv[1:2] == ["others"]:
    ask_and_get(int(sys.argv[2]))
    sys.exit(0)
server = Server("cancel", "urlfrontier.durability=relaxed")
for q in range(0, QUEUES, 10):
    server.client.many([f"http://q{k}/{i}" for k in range(q, q + 10)
                        for i in range(URLS // QUEUES)])
server.client.delay("", 0)
# Blocks of the index that are read stay in its cache, which has a limit.
for _ in range(3):
    server.client.CountURLs(M.CountUrlParams())
    list_all(server)
listings(server)
counts(server)
peers_of_a_node()
same("it ends in order", server.stop(), 0)
done()
