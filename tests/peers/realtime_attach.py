"""Attach at every moment of a short crawl: nothing missed, nothing closed early.

usage: realtime_attach.sh [MOMENTS [SEED]]

Each crawl has a hundred pages; while it lives, and a little after, readers that are
connected already subscribe, one after the other: to its items from the start or
from a token that another has seen, with body and without, and to its statistics,
all with closed_event.  Each must see every item behind its token once, in order,
and only then the end.
"""
from realtime_peer import *

begin("realtime_attach", "nginx")
MOMENTS = int(sys.argv[1]) if len(sys.argv) > 1 else 240
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
PAGES = 100
EACH = 24                        # readers of a crawl
rng = random.Random(SEED)


def sites(n):
    """Pages that a few others lead to: some levels, quickly."""
    os.makedirs("site")
    for i in range(PAGES):
        with open(f"site/{i}.html", "wb") as f:
            f.write(html(*[f"{k}.html" for k in range(3 * i + 1, 3 * i + 4)
                           if k < PAGES], title=str(i), text="w " * 500))
    web = Nginx("nginx", PLACE + "/site")
    return {f"a{i}.test": web.port for i in range(n)}


class Reader:
    """One that waits for its moment."""

    def __init__(self, server, kind, at):
        self.c, self.kind, self.at = server.client(), kind, at
        self.sub, self.first = None, 1

    def attach(self, crawl, token):
        args = {"crawl_id": crawl, "closed_event": True}
        if self.kind == "stats":
            command = "subscribe_crawl_stats"
            args["min_interval"] = rng.choice((0, 0.1, 1))
        else:
            command = "subscribe_crawl_items"
            if self.kind == "token" and token is not None:
                args["sync_token"] = token
                self.first = number_of(token) + 1
            args["body"] = rng.random() < 0.5
        self.asked = self.c.send(command, args)

    def verify(self, crawl, name, want):
        """What is wrong, or None."""
        m = self.c.await_response(self.asked)
        if not m["success"]:
            return f"{name}: {m}"
        self.sub = m["data"]["subscription_id"]
        items, closed = self.c.until_closed(self.sub, 20)
        if closed is None:
            return f"{name}: never closed"
        if closed["crawl_id"] != crawl or closed["reason"] != "complete":
            return f"{name}: closed with {closed}"
        if self.kind == "stats":
            m = self.c.merged(self.sub, crawl)
            got = (m["status"], m["success"])
            return None if got == ("complete", PAGES) else \
                f"{name}: closed at {got}"
        got = [number_of(i["sync_token"]) for i in items]
        if got != list(range(self.first, PAGES + 1)):
            return f"{name}: from {self.first}: {len(got)} items: {got[:5]}"
        if {i["url"] for i in items} != set(want[self.first - 1:]):
            return f"{name}: other pages"
        if items and closed["sync_token"] != items[-1]["sync_token"]:
            return f"{name}: closed with another token"
        return None


def one_crawl(server, host, took, planted=False):
    """(faults, moments in its life, seconds it took)"""
    starter = server.client()
    watch = server.client()
    kinds = ["items", "token", "stats"]
    readers = sorted([Reader(server, kinds[i % 3],
                             rng.uniform(0, took * 1.2))
                      for i in range(EACH)], key=lambda r: r.at)
    crawl = starter.start(f"http://{host}/0.html",
                          policy={"limits": {"max_depth": 20}})
    began = time.monotonic()
    seen = watch.read(crawl, body=False, closed_event=True)
    token, ended = None, None
    for r in readers:
        while True:
            watch.pump(0)
            for e in watch.sub(seen).events:
                token = e["data"].get("sync_token", token)
            if ended is None and watch.sub(seen).closed:
                ended = time.monotonic() - began
            if time.monotonic() - began >= r.at:
                break
        r.attach(crawl, token)
        r.at = time.monotonic() - began
    items, closed = watch.until_closed(seen)
    if ended is None:
        ended = time.monotonic() - began
    want = urls_of(items)
    if planted:
        want[3] = "http://planted/"
    faults = [f for f in (r.verify(crawl, f"{host} at {r.at * 1e3:.1f} ms "
                                   f"({r.kind})", want) for r in readers)
              if f]
    if len(set(want)) != PAGES or closed is None:
        faults.append(f"{host}: the watcher has {len(set(want))} of {PAGES}")
    for r in readers:
        r.c.close()
    starter.close()
    watch.close()
    return faults, sum(r.at < ended for r in readers), ended


def main():
    crawls = -(-MOMENTS * 3 // 2 // EACH)
    hosts = sites(crawls * 3 + 2)
    server = Server("attach", hosts=hosts)
    note(f"seed {SEED}")
    names = iter(hosts)
    _, _, took = one_crawl(server, next(names), 0.2)
    faults, within, moments = [], 0, 0
    for host in names:
        if within >= MOMENTS:
            break
        found, inside, took = one_crawl(server, host, took)
        faults += found
        within += inside
        moments += EACH
    note(f"{moments} moments, {within} of them in the crawl's life, the last "
         f"of which took {took:.2f} s")
    check(f"{MOMENTS} moments in the life of crawls, seed {SEED}",
          within >= MOMENTS, f"only {within}")
    check("nothing missed, nothing closed early", not faults, faults)
    found, _, _ = one_crawl(server, next(iter(hosts)), took, True)
    check("a page that is missing would be noticed", found)
    rules_kept()
    same("SIGTERM ends the daemon", server.stop(), 0)
    done()


main()
