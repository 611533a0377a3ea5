"""`argiope frontier` against the URL Frontier door, seen by python3-grpcio beside
it (cases L1 to L4 of the contract), and against a server of grpcio's own.
"""
import gzip
from concurrent import futures

from urlfrontier_peer import *

begin("urlfrontier_cli")
FAR = 2943003600


def verb(server, *words, given=None, seconds=30):
    """(exit code, lines of standard output, standard error)"""
    try:
        done = subprocess.run(
            [program(), "frontier", "-p", str(server.port), *words],
            input=given or b"", capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "it hangs", [], ""
    return done.returncode, done.stdout.decode().splitlines(), \
        done.stderr.decode(errors="replace")


def state(c, crawl):
    return sorted((i.known.info.url, i.known.info.key,
                   i.known.refetchable_from_date, str(sorted(metadata_of(
                       i.known.info).items()))) for i in c.items(crawl))


def dump_and_back(server):
    c = server.client
    c.fill(K("http://l1/meta", "l1", "", 1000, src=["seed", "\u00e9"], x=""),
           K("http://l1/done", "l1", "", 0),
           K("http://l1/far", "l1", "", FAR),
           K("http://l1/other", "l1", "BESPOKE", 7))
    before = [state(c, crawl) for crawl in ("", "BESPOKE")]
    code_, _, err = verb(server, "DumpURLs", "-o", "dump.json")
    same("L1 DumpURLs", (code_, err), (0, ""))
    with open("dump.json") as f:
        lines = [json.loads(line) for line in f]
    same("L1 four lines, all Known", [sorted(x) for x in lines],
         [["creationDate", "known"]] * 4)
    same("L1 completed without a date", [
        x["known"]["info"]["url"] for x in lines
        if "refetchableFromDate" not in x["known"]], ["http://l1/done"])
    same("L1 DeleteCrawl", [verb(server, "DeleteCrawl", "-c", crawl)[0]
                            for crawl in ("DEFAULT", "BESPOKE")], [0, 0])
    same("L1 all is gone", c.crawls(), [])
    code_, _, err = verb(server, "PutURLs", "-f", "dump.json")
    check("L1 PutURLs", code_ == 0, err)
    check("L1 all is back", [state(c, crawl) for crawl in (
        "", "BESPOKE")] == before, state(c, ""))


def parallel(server):
    c = server.client
    old = now() - 86400 * 3
    items = [K(f"http://l2-{i % 10}/{i}", "", "l2", 5) for i in range(20)]
    items.append(K("http://l2/", "", "l2 BESPOKE", 5))
    for i in items:
        i.creation_date = old
    c.put(*items, metadata=(("argiope-keep-dates", "1"),))
    for crawl in c.crawls():
        if not crawl.startswith("l2"):
            c.delete_crawl(crawl)
    same("L2 DumpURLs -t 4", verb(server, "DumpURLs", "-t", "4", "-o",
                                  "l2.json.gz")[0], 0)
    with gzip.open("l2.json.gz", "rt") as f:
        lines = f.read().splitlines()
    same("L2 21 lines", (len(lines), len(set(lines))), (21, 21))
    for keep in (False, True):
        for crawl in ("l2", "l2 BESPOKE"):
            c.delete_crawl(crawl)
        words = ["--keep-dates"] if keep else []
        code_, _, err = verb(server, "PutURLs", "-f", "l2.json.gz", "-t",
                             "3", *words)
        check(f"L2 PutURLs {words}", code_ == 0, err)
        same(f"L2 counts {words}", (c.count("l2"), c.count("l2 BESPOKE")),
             (20, 1))
        made = {i.creation_date for i in c.items("l2")}
        check(f"L2 creation dates {words}", made == {old} if keep else
              min(made) > old, made)


def outcomes(server):
    c = server.client
    with open("l3.txt", "w") as f:
        f.write("".join(f"http://l3/{i}\n" for i in range(500)))
    same("L3 all acknowledged", verb(server, "PutURLs", "-f", "l3.txt", "-c",
                                     "l3")[0], 0)
    same("L3 ... are there", c.size("l3", "l3")[0], 500)
    same("L3 in batches", (verb(server, "PutURLs", "-f", "l3.txt", "-c",
                                "l3b", "-b", "64")[0],
                           c.size("", "l3b")[0]), (0, 500))
    same("L3 no such file", verb(server, "PutURLs", "-f", "none.txt")[0], 1)
    same("L3 a wrong option", verb(server, "PutURLs", "--none")[0], 2)
    same("L3 no such verb", verb(server, "PutNothing")[0], 2)
    lines = [f"http://l4/{i}" for i in range(5)] + [
        '{"known":{"info":{"url":"http://l4/known","key":"l4"},'
        f'"refetchableFromDate":"{FAR}"}}}}',
        '{"discovered": {"info": {"url": "http://l4/found", "crawlID": '
        '"l4"}}, "ID": "x"}', '{"known": {', "http://l4/last"]
    for name, given in (("plain.txt", None), ("packed.gz", None),
                        ("-", "\n".join(lines).encode() + b"\n")):
        if given is None:
            opened = gzip.open if name.endswith("gz") else open
            with opened(name, "wt") as f:
                f.write("\n".join(lines) + "\n")
        code_, _, err = verb(server, "PutURLs", "-c", "l4", "-f", name,
                             given=given)
        check(f"L4 {name}: exit code 1, the line is named", code_ == 1 and
              "8" in err, f"{code_} {err}")
        same(f"L4 {name}: the rest is there", sorted(
            c.urls("l4") + [u for u in c.urls("") if "/l4/" in u]), sorted(
            [f"http://l4/{i}" for i in range(5)] + [
                "http://l4/" + x for x in ("known", "found", "last")]))
        c.delete_crawl("l4")
        c.delete_crawl("")


def gone(server):
    """L3: the server goes while it is put to."""
    with open("big.txt", "w") as f:
        f.write("".join(f"http://big{i % 99}/{i}\n" for i in range(2000000)))
    child = start([program(), "frontier", "-p", str(server.port), "PutURLs",
                   "-f", "big.txt", "-c", "big"], stdout=subprocess.DEVNULL,
                  stderr=subprocess.DEVNULL)
    check("L3 it has begun", wait_until(
        lambda: server.client.stats("", "big")["size"] > 0, 10))
    server.kill()
    try:
        ended = child.wait(15)
    except subprocess.TimeoutExpired:
        ended = "it hangs"
    same("L3 the server is gone: exit code 1", ended, 1)
    began = time.monotonic()
    same("L3 there is no server: exit code 1",
         verb(server, "GetStats")[0], 1)
    check("L3 ... told soon", time.monotonic() - began < 12)


# ---- Verbs --------------------------------------------------------------------------

class Said(grpc.GenericRpcHandler if grpc else object):
    """A server that notes what it is asked, and answers what it was told."""

    def __init__(self):
        self.asked = []

    def service(self, details):
        name = details.method.rpartition("/")[2]
        for rpc, kind, asked, answer in M.rpcs:
            if rpc == name:
                return getattr(grpc, kind + "_rpc_method_handler")(
                    lambda request, context: self.answer(
                        rpc, kind, request, answer),
                    request_deserializer=asked.FromString,
                    response_serializer=answer.SerializeToString)
        return None

    def answer(self, rpc, kind, request, answer):
        if kind == "stream_stream":
            return self.acks(rpc, request)
        self.asked.append((rpc, request))
        if rpc == "ListQueues":
            return M.QueueList(values=self.queues)
        return iter(()) if kind == "unary_stream" else answer()

    def acks(self, rpc, requests):
        for r in requests:
            self.asked.append((rpc, r))
            if rpc == "PutURLs":
                yield M.AckMessage(ID=r.ID, status=self.status)
            else:
                yield M.BatchAck(ID=r.ID, statuses=[self.status] *
                                 len(r.items))

    status = 0
    queues = ()         # every page of ListQueues, whatever its start


def verbs():
    """What each verb asks, as grpcio reads it."""
    said = Said()
    there = grpc.server(futures.ThreadPoolExecutor(4))
    there.add_generic_rpc_handlers((said,))
    there.port = there.add_insecure_port("127.0.0.1:0")
    there.start()
    cases = [
        (("ListNodes",), M.Empty()),
        (("list-crawls", "-l"), M.Local(local=True)),
        (("GetActive",), M.Local()),
        (("setactive", "false", "-l"), M.Active(local=True)),
        (("SET-ACTIVE", "true"), M.Active(state=True)),
        (("DeleteCrawl", "-c", "x"), M.DeleteCrawlMessage(value="x")),
        (("DeleteQueue", "-k", "k", "-c", "x", "-l"),
         M.QueueWithinCrawlParams(key="k", crawlID="x", local=True)),
        (("GetStats", "-k", "k"),
         M.QueueWithinCrawlParams(key="k", crawlID="DEFAULT")),
        (("ListQueues", "-n", "7", "-s", "3", "-i", "-c", "x"),
         M.Pagination(start=3, size=7, include_inactive=True, crawlID="x")),
        (("GetURLs", "-m", "3", "-q", "4", "-d", "5", "-c", "x"),
         M.GetParams(max_urls_per_queue=3, max_queues=4,
                     delay_requestable=5, crawlID="x")),
        (("GetURLs",), M.GetParams(max_urls_per_queue=1, max_queues=1,
                                   anyCrawlID=M.AnyCrawlID())),
        (("SetCrawlLimit", "-k", "k", "-l", "9"),
         M.CrawlLimitParams(key="k", limit=9, crawlID="DEFAULT")),
        (("SetDelay", "-d", "4", "-k", "k", "-c", "x"), M.QueueDelayParams(
            key="k", delay_requestable=4, crawlID="x")),
        (("BlockQueueUntil", "-k", "k", "-u", "1900000000"),
         M.BlockQueueParams(key="k", time=1900000000, crawlID="DEFAULT")),
        (("GetURLStatus", "-u", "http://x/", "-k", "k"),
         M.URLStatusRequest(url="http://x/", key="k", crawlID="DEFAULT")),
        (("PurgeURLs", "-d", "8", "-c", "x"),
         M.PurgeUrlParams(crawlID="x", days=8)),
        (("SetLogLevel", "-p", "door", "-l", "ERROR"),
         M.LogLevelParams(package="door", level=4)),
    ]
    for words, want in cases:
        said.asked.clear()
        code_, out, err = verb(there, *words)
        same(f"asked by {' '.join(words)}", (code_, [
            str(r) for _, r in said.asked]), (0, [str(want)]))
    said.queues = "a", "b"
    code_, out, err = verb(there, "ListQueues", "-o", "queues", seconds=5)
    same("ListQueues ends where a server ignores `start`",
         (code_, open("queues").read()), (0, "a\nb\n"))
    with open("two.txt", "w") as f:
        f.write("http://x/1\nhttp://x/2\n")
    for status, want in ((0, 0), (1, 0), (2, 1)):
        said.status = status
        same(f"every ack {STATUS[status]}: exit code",
             verb(there, "PutURLs", "-f", "two.txt")[0], want)
    there.stop(0).wait()


# ---- All of it ----------------------------------------------------------------------

if ours("frontier", "--help")[0] != 0:
    skip("urlfrontier_cli", "argiope has no frontier yet")
    done()
server = Server("cli")
for f, args in ((dump_and_back, [server]), (parallel, [server]),
                (outcomes, [server]), (gone, [server]), (verbs, [])):
    try:
        f(*args)
    except Exception:
        check(f"{f.__name__} goes to its end", False,
              traceback.format_exc()[-500:])
skip("L5", "urlfrontier_java holds dumps against the reference")
done()
