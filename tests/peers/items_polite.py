"""Tasks and crawls on one host: one politeness clock, turns in alternation, a
slow host that holds up nobody, and captures of tasks that are as any others.

usage: items_polite.sh [PAIRS [QUICK_HOSTS [DELAY_OF_THE_SLOW_ONE]]]
       items_polite.sh 10000 99 5

With ITEMS_WORKER the tasks run in `argiope worker`; see items_peer.py for
ITEMS_PG.
"""
from realtime_peer import *
from items_peer import database

begin("items_polite")

PAGES = 12                  # of the crawl, and as many tasks
DELAY_S = 0.25              # of the shared host, for both
# Pairs on quick hosts and as many on a slow one, and its Crawl-delay.
QUICK = int(sys.argv[1]) if len(sys.argv) > 1 else 400
QUICK_HOSTS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
SLOW_S = float(sys.argv[3]) if len(sys.argv) > 3 else 0.5
WORKER = bool(os.environ.get("ITEMS_WORKER"))
CONFIG = """
export default {
  tags: { page: ["read"], slow: ["quick"], quick: ["quick"] },
  fetch: { policy: { rate_limit: %s }, private: %s },
  tasks: {
    read: { version: "1", remote: %s, async run({ data, fetch, updateMetadata }) {
      const answer = await fetch(data.url);
      updateMetadata(() => ({ text: answer.text().length }));
    } },
    quick: { version: "1", remote: %s, async run({ data, fetch }) {
      await fetch(data.url);
    } }
  }
};
"""
web = Web()


class Server_(Server):
    """With hosts of the invented web, and tasks."""

    def __init__(self, name, hosts, delay_s):
        self.config = os.path.join(PLACE, name + ".js")
        self.fields, self.worker = {}, None
        remote = json.dumps(WORKER)
        with open(self.config, "w") as f:
            f.write(CONFIG % (delay_s, json.dumps(
                [host + ":80" for host in hosts]), remote, remote))
        super().__init__(name, "items.config=" + self.config,
                         "fetch.address_connections_max=256",
                         *database(name),
                         hosts={host: web.port for host in hosts})
        wait_until(lambda: self.json("/items-config")["generation"])
        if WORKER:
            self.start_worker()

    def add_token(self, name, scope):
        out = run(program(), "token", "add", name, "--data", self.data,
                  "--scope", scope)[1]
        return out.strip().splitlines()[-1]

    def start_worker(self):
        token = os.path.join(PLACE, self.name + ".token")
        with open(token, "w") as f:
            f.write(self.add_token("worker", "worker:write") + "\n")
        self.fields = {"Authorization": "Bearer " + self.add_token(
            "writer", "items:write")}
        with open(os.path.join(PLACE, self.name + "-worker.log"), "w") as f:
            self.worker = start(
                [program(), "worker", "--url",
                 f"http://127.0.0.1:{self.http_port}/", "--token-file", token,
                 "--config", self.config], stdout=f, stderr=f)

    def stop(self, seconds=15):
        if self.worker:
            self.worker.terminate()
            same("the worker stops", self.worker.wait(seconds), 0)
        return super().stop(seconds)

    def http(self, path, method="GET", fields=None, body=None):
        return super().http(path, method, {**self.fields, **(fields or {})},
                            body)

    def json(self, path, lines=None):
        """What is there, or what new items were answered with."""
        return json.loads(self.http(
            path, "POST" if lines else "GET", lines and {
                "Content-Type": "application/x-ndjson"},
            lines and lines.encode())[2])

    def make(self, tag, urls):
        return self.json("/items/add", "".join(json.dumps(
            {"id": url, "tags": [tag], "data": {"url": url}}) + "\n"
            for url in urls))

    def counts(self, task):
        return self.json("/tasks/" + task)["counts"]


def gaps(host):
    """Seconds from the end of each request to the beginning of the next."""
    asked = sorted(web.requests(host), key=lambda r: r[1])
    return [b[1] - a[2] for a, b in zip(asked, asked[1:])]


def turns(host):
    """"c" of each request of the crawl, "t" of each of a task, while both had
    something left."""
    asked = sorted(web.requests(host), key=lambda r: r[1])
    text = "".join("t" if path.startswith("/t") else "c"
                   for path, _, _ in asked)
    return text[max(text.find("c"), text.find("t")):
                min(text.rfind("c"), text.rfind("t")) + 1]


def one_clock():
    """A crawl and tasks of the same host."""
    host = "shared.test"
    start = web.star(host, PAGES)
    urls = [f"http://{host}/t{i}" for i in range(PAGES)]
    for i in range(PAGES):
        web.put(host, f"/t{i}", ok(html(title=f"task {i}")))
    s = Server_("polite", [host], DELAY_S)
    c = s.client()
    crawl = c.start(start, rate=DELAY_S)
    s.make("page", urls)
    same("clock: the crawl ends", c.ends(crawl, 30)["success"], PAGES + 1)
    check("clock: all tasks are done", wait_until(
        lambda: s.counts("read")["fresh"] == PAGES, 20), s.counts("read"))
    found = gaps(host)
    same("clock: each was asked once", len(web.requests(host)), 2 * PAGES + 1)
    check("clock: no two requests are closer than the delay",
          min(found) >= DELAY_S - 0.01, sorted(found)[:5])
    note(f"the closest two: {min(found):.3f} s; turns: {turns(host)}")
    check("clock: turns are shared", not re.search("ccc|ttt", turns(host)) and
          len(turns(host)) > PAGES, turns(host))
    return s, c, urls


def captures(s, c, urls):
    """The captures of tasks are in the archive as those of a crawl."""
    name = time.strftime("items %Y-%m", time.gmtime())
    list_ = c.good("list_crawls")["crawls"]
    mine = [x for x in list_ if x["name"] == name]
    same("captures: the month's crawl is listed", len(mine), 1)
    number = mine[0]["crawl_id"]
    n = c.read(number)
    items = c.items(n, len(urls))
    same("captures: a subscriber sees them", sorted(urls_of(items)),
         sorted(urls))
    check("captures: with their bodies", all(
        b"task" in body_of(i) for i in items))
    same("captures: in order at the end", s.stop(), 0)
    archive_is_sound("captures: archive check finds nothing", s.data)
    rebuilt(s.data, number, items)


def rebuilt(data, number, items):
    """From the WARC files alone, the same captures under the same numbers."""
    code, out, err = ours("archive", "reindex", "--rebuild", "--data", data)
    check("rebuilt: reindex", code == 0, out + err)
    s = Server("rebuilt", data=data)
    again = s.client()
    n = again.read(number)
    same("rebuilt: a subscriber sees the same", [
        (i["url"], token_of_item(i)) for i in again.items(n, len(items))],
        [(i["url"], token_of_item(i)) for i in items])
    same("rebuilt: in order at the end", s.stop(), 0)


def token_of_item(item):
    return item["sync_token"], item["status_code"], item["body"]


def quick_alone(s, hosts, n):
    """Seconds for so many pairs, spread over quick hosts."""
    began = time.monotonic()
    s.make("quick", [f"http://{hosts[i % len(hosts)]}/t{n}-{i}"
                     for i in range(QUICK)])
    def ready():
        return s.counts("quick")["fresh"] >= QUICK * n and not s.json(
            "/tags/quick/worklist?limit=1")["worklist"]
    done_in_time = wait_until(ready, 60 + QUICK / 50)
    check(f"slow: the quick hosts are done ({n})", done_in_time,
          s.counts("quick"))
    return time.monotonic() - began


def slow_host():
    """Pairs of a slow host, due first, hold up no pair of others."""
    hosts = [f"quick{i}.test" for i in range(QUICK_HOSTS)]
    slow = "slow.test"
    web.default = ok("<html>page</html>")
    web.put(slow, "/robots.txt", ok(
        f"User-agent: *\nCrawl-delay: {SLOW_S}\n", kind="text/plain"))
    start = web.star(slow, 50)
    s = Server_("slow", hosts + [slow], 0)
    quick_alone(s, hosts, 1)
    alone = quick_alone(s, hosts, 2)
    s.make("slow", [f"http://{slow}/t{i}" for i in range(QUICK)])
    wait_until(lambda: len(web.requests(slow)) >= 2)
    beside = quick_alone(s, hosts, 3)
    note(f"{QUICK} pairs on quick hosts: {alone:.2f} s alone, {beside:.2f} s "
         "beside as many on a slow one")
    note("; ".join(line for line in s.http("/metrics")[2].decode().split("\n")
                   if re.match("argiope_tasks_(far|put|wrong)", line)))
    # 1.2 on a quiet machine; a second for one that is not.
    check("slow: they hold up nobody", beside <= 1.2 * alone + 1,
          (alone, beside))
    c = s.client()
    crawl = c.start(start, rate=0)
    before = len(web.requests(slow))
    wait_until(lambda: len(web.requests(slow)) >= before + 14,
               20 + 14 * SLOW_S)
    found = turns(slow)
    note(f"turns at the slow host: {found}")
    check("slow: a crawl has every second turn",
          abs(found.count("c") - found.count("t")) <= 2 and
          len(found) >= 10, found)
    check("slow: its delay is kept", min(gaps(slow)) >= SLOW_S - 0.01,
          sorted(gaps(slow))[:3])
    same("slow: no run failed", (s.counts("quick")["failed"],
                                 s.counts("quick")["retry"]), (0, 0))
    c.good("job.cancel", crawl_id=crawl)
    same("slow: in order at the end", s.stop(30), 0)


try:
    captures(*one_clock())
    slow_host()
except Exception as e:
    check("goes to its end", False, "line %s: %s %s" % (
        [f.lineno for f in traceback.extract_tb(e.__traceback__)],
        type(e).__name__, e))
check("no message broke a rule", not Rules.faults, Rules.faults)
done()
