"""kill -9 of server and clients at random moments; what readers got, put together,
is the store.

usage: realtime_kills.sh [ROUNDS [SEED]]

Every round starts the server, connects readers that know only what they had
written down, lets crawls run and be started, paused, resumed and cancelled, and
kills the server.  A reader dies and comes back in between, too.  In the end:

    each reader has each item of each crawl once, in order
    they are those of a fresh replay, and those of the archive
    a crawl whose start was answered is there, under its number and name
    a pause that was answered holds; no counter that was seen ever fell
"""
import hashlib

from realtime_peer import *

begin("realtime_kills", "nginx")
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
PAGES = 120
ALIVE = 3                        # crawls at a time
rng = random.Random(SEED)
faults = []
tally = collections.Counter()


def fault(text):
    faults.append(text)
    if len(faults) < 30 and not planted:
        note(f"FAULT {text}")


planted = []


class Book:
    """What one reader wrote down: crawl -> [(token, URL, digest of body)]."""

    def __init__(self, name, by_tag):
        self.name, self.by_tag = name, by_tag
        self.items, self.closed = {}, set()
        self.c, self.subs = None, {}

    def tokens(self):
        return {crawl: items[-1][0] for crawl, items in self.items.items()
                if items}

    def connect(self, server):
        self.c, self.subs = server.client(), {}
        if self.by_tag:
            self.asked = {self.c.send("subscribe_crawl_items", {
                "tag": "kills", "sync_tokens": {
                    str(k): v for k, v in self.tokens().items()}}): None}
        else:
            self.asked = {}

    def follow(self, crawls):
        """Subscribe to what is new."""
        if self.c is None or self.by_tag:
            return
        for crawl in crawls:
            if crawl not in self.closed and crawl not in self.subs and \
                    len(self.subs) < 200:
                self.subs[crawl] = None
                self.asked[self.c.send("subscribe_crawl_items", {
                    "crawl_id": crawl, "closed_event": True,
                    "sync_token": self.tokens().get(crawl)})] = crawl

    def read(self, seconds=0.0):
        """Write down what came; False when the connection is gone."""
        self.c.pump(seconds)
        for key in [k for k in self.c.responses]:
            m = self.c.responses.pop(key)[0]
            if not m["success"]:
                fault(f"{self.name}: {m['code']}: {m['error']}")
        for s in list(self.c.rules.subs.values()):
            while s.events:
                self.take(s.events.popleft())
        return self.c.code is None

    def take(self, e):
        data = e["data"]
        crawl = data["crawl_id"]
        if e.get("event") == "subscription_closed":
            self.closed.add(crawl)
            mine = self.tokens().get(crawl)
            last = data.get("sync_token")
            # A crawl may end before its first item: then the number is 0.
            wrong = last and (last != mine if mine else number_of(last) != 0)
            if wrong or data["reason"] not in ENDED:
                fault(f"{self.name}: crawl {crawl} closed with {data}, the "
                      f"last was {mine}")
            return
        mine = self.items.setdefault(crawl, [])
        n = number_of(data["sync_token"])
        if n != len(mine) + 1:
            fault(f"{self.name}: crawl {crawl}: item {n} after {len(mine)}")
            return
        mine.append((data["sync_token"], data["url"], hashlib.sha1(
            body_of(data)).digest()))
        tally["items"] += 1

    def die(self):
        if self.c is not None:
            self.c.close()
            self.c = None


class Driver:
    """Starts and steers crawls, and knows what it was promised."""

    def __init__(self, hosts):
        self.hosts = iter(hosts)
        self.c, self.watch = None, None
        self.started = {}        # crawl -> name
        self.states = {}         # crawl -> state that was answered
        self.unsure = set()      # crawls with an order that got no answer
        self.seen = {}           # crawl -> counters, the greatest
        self.pending = {}        # command_id -> (command, crawl or name)

    def connect(self, server):
        self.c, self.pending = server.client(), {}
        self.watch = self.c.send("subscribe_crawl_stats",
                                 {"min_interval": 0.05})
        self.sub = None

    def verify(self, server):
        """The store beside what was promised."""
        got = snapshot(server)
        for crawl, name in self.started.items():
            m = got.get(str(crawl))
            if m is None or m["name"] != name:
                fault(f"crawl {crawl} ({name}) is {m}")
                continue
            want = self.states.get(crawl)
            if crawl not in self.unsure and want in ("paused",
                                                     "cancelled") \
                    and m["status"] not in (want, "complete"):
                fault(f"crawl {crawl} is {m['status']}, {want} was "
                      "answered")
            for key, value in self.seen.get(crawl, {}).items():
                if m[key] < value:
                    fault(f"crawl {crawl}: {key} fell from {value} to "
                          f"{m[key]}")
        self.unsure.clear()
        for crawl, m in got.items():
            self.states[int(crawl)] = m["status"]
            if int(crawl) not in self.started:
                # Its answer was lost; it is there all the same.
                self.started[int(crawl)] = m["name"]
                tally["unanswered starts"] += 1
        return got

    def live(self):
        return [k for k, v in self.states.items() if v not in ENDED]

    def act(self):
        """One thing, now and then."""
        busy = [x for x in self.pending.values() if x[0] == "start_crawl"]
        if len(self.live()) + len(busy) < ALIVE:
            name = next(self.hosts)
            n = self.c.send("start_crawl", {
                "seeds": [{"url": f"http://{name}/0.html",
                           "rate_limit": 0.002}],
                "name": name, "tags": ["kills"],
                "policy": {"limits": {"max_depth": 50}}})
            self.pending[n] = ("start_crawl", name)
        elif self.live() and rng.random() < 0.05:
            crawl = rng.choice(self.live())
            order = rng.choice(("job.pause", "job.resume", "job.resume",
                                "job.cancel" if rng.random() < 0.1 else
                                "job.pause"))
            self.unsure.add(crawl)
            self.pending[self.c.send(order, {"crawl_id": crawl})] = \
                (order, crawl)

    def read(self):
        self.c.pump(0)
        for key in list(self.c.responses):
            m = self.c.responses.pop(key)[0]
            command, what = self.pending.pop(m["command_id"], (None, None))
            if command == "start_crawl" and m["success"]:
                self.started[m["data"]["crawl_id"]] = what
                self.states[m["data"]["crawl_id"]] = "running"
                tally["starts"] += 1
            elif command is not None and m["success"]:
                self.states[what] = m["data"]["status"]
                if not any(x[1] == what for x in self.pending.values()):
                    self.unsure.discard(what)
                tally["orders"] += 1
            elif not m["success"] and m["code"] != "bad_state":
                fault(f"{command} of {what}: {m['code']}: {m['error']}")
        for s in self.c.rules.subs.values():
            for crawl, m in s.merged.items():
                seen = self.seen.setdefault(int(crawl), {})
                for key in COUNTERS:
                    seen[key] = max(seen.get(key, 0), m[key])
                if m["status"] in ENDED:
                    self.states[int(crawl)] = m["status"]
            s.events.clear()


def has_enough(driver):
    return len(driver.started) > 2 and tally["items"] > 10 * ROUNDS and \
        tally["orders"] > 0


def one_life(server, books, driver, seconds):
    driver.connect(server)
    driver.verify(server)
    for b in books:
        b.connect(server)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        driver.act()
        driver.read()
        for b in books:
            b.follow(driver.started)
            b.read()
            if rng.random() < 0.003:
                b.die()
                tally["readers killed"] += 1
                b.connect(server)
        time.sleep(0.001)


def finish(server, books, driver):
    """All crawls to their end, all readers too."""
    driver.connect(server)
    driver.verify(server)
    for crawl in driver.live():
        driver.c.ask("job.resume", crawl_id=crawl)
    for b in books:
        b.connect(server)
        b.follow(driver.started)
    until = time.monotonic() + 30
    while time.monotonic() < until:
        driver.read()
        came = tally["items"]
        for b in books:
            b.follow(driver.started)
            b.read(0.01)
        if not driver.live() and came == tally["items"] and all(
                b.by_tag or b.closed >= set(driver.started) for b in books):
            break
    if driver.live():
        fault(f"crawls {driver.live()} do not end")


def compare(server, books, driver):
    """Books beside a replay, and both beside the archive."""
    c = server.client()
    stored = {}
    for crawl in sorted(driver.started):
        items = c.crawl_items(crawl)
        stored[crawl] = [(i["sync_token"], i["url"], hashlib.sha1(
            body_of(i)).digest()) for i in items]
        urls = urls_of(items)
        if len(set(urls)) != len(urls):
            fault(f"crawl {crawl}: a URL twice")
        if driver.states.get(crawl) == "complete" and len(urls) != PAGES:
            fault(f"crawl {crawl}: complete with {len(urls)} of {PAGES}")
    for b in books:
        for crawl, want in stored.items():
            got = b.items.get(crawl, [])
            if got != want:
                first = next(((i, g, w) for i, (g, w) in enumerate(
                    zip(got, want)) if g != w), None)
                fault(f"{b.name}: crawl {crawl}: {len(got)} items, the "
                      f"store has {len(want)}; first difference: {first}")
    c.close()
    return stored


def beside_the_archive(server, stored):
    files = collections.Counter(
        r["url"] for r in rows(server.data)
        if not r["url"].endswith("/robots.txt"))
    items = collections.Counter(url for s in stored.values()
                                for _, url, _ in s)
    if files != items:
        fault(f"the archive has {sum(files.values())} pages, the items are "
              f"{sum(items.values())}: {list((files - items).items())[:3]} "
              f"{list((items - files).items())[:3]}")


def forgetful(server, books, driver):
    """A disk that loses what was written last is noticed."""
    server.stop()
    shutil.copytree(server.data, server.data + ".old")
    server.start()
    one_life(server, books, driver, 0.5)
    while not tally["items"]:
        one_life(server, books, driver, 0.5)
    server.kill()
    shutil.rmtree(server.data)
    os.rename(server.data + ".old", server.data)
    server.start()
    before = len(faults)
    planted.append(True)
    one_life(server, books, driver, 0.5)
    check("a disk that forgets is noticed", len(faults) > before)
    del faults[before:]
    Rules.faults.clear()


def main():
    os.makedirs("site")
    for i in range(PAGES):
        with open(f"site/{i}.html", "wb") as f:
            f.write(html(*[f"{k}.html" for k in range(2 * i + 1, 2 * i + 3)
                           if k < PAGES], title=str(i), text="w " * 600))
    nginx = Nginx("nginx", PLACE + "/site")
    hosts = [f"k{i}.test" for i in range(2000)]
    server = Server("kills", "ledger.segment_bytes=1MiB",
                    "fetch.backoff_ms=20ms", "crawl.running_max=64",
                    hosts={h: nginx.port for h in hosts})
    note(f"seed {SEED}")
    books = [Book("by tag", True), Book("by crawl", False),
             Book("by crawl too", False)]
    driver = Driver(hosts)
    starts = []
    k = 0
    # On a busy machine more lives are needed until there is something to check.
    while k < ROUNDS or (k < 4 * ROUNDS and not has_enough(driver)):
        one_life(server, books, driver, rng.choice((
            rng.uniform(0, 0.05), rng.uniform(0.05, 0.3))))
        if rng.random() < 0.1:
            same("SIGTERM ends it", server.stop(), 0)
        else:
            server.kill()
        for b in books:
            b.read()
            b.die()
        driver.read()
        driver.c.close()
        if rng.random() < 0.1:
            server.start(ready=False)
            time.sleep(rng.uniform(0, 0.2))
            server.kill()
        starts.append(server.start())
        k += 1
        if k % 50 == 0:
            note(f"{k} rounds, {len(faults)} faults, {dict(tally)}")
    finish(server, books, driver)
    stored = compare(server, books, driver)
    same("SIGTERM ends it", server.stop(), 0)
    beside_the_archive(server, stored)
    archive_is_sound("the archive is sound", server.data)
    note(f"{dict(tally)}; {sum(map(len, stored.values()))} items in "
         f"{len(stored)} crawls; starts: half within "
         f"{sorted(starts)[len(starts) // 2]:.2f} s, the longest "
         f"{max(starts):.2f} s")
    check("there was something to check", has_enough(driver), dict(tally))
    # How fast it is is bench/'s affair; here other tests may run beside it.
    check("ready again after kill -9", max(starts) < 30, max(starts))
    check(f"{k} kills, seed {SEED}: the readers have the store, no gap, "
          "no repeat", not faults, faults)
    rules_kept()
    server.start()
    forgetful(server, books, driver)
    done()


main()
