"""Crawls of the engine seen through the URL Frontier door, by python3-grpcio
(urlfrontier.engine_crawls): what `argiope crawl` did is what is shown, and
nothing here changes it.

crawl/0 is complete; crawl/1 was stopped after a page, and goes on beside the
door: after its pause, which is longer than all this takes.
"""

from urlfrontier_peer import *

begin("urlfrontier_engine")
need("urlfrontier_engine", "nginx")

PAGES = 40
SETTING = "urlfrontier.engine_crawls=read"


def site(name, links):
    """A page that links to others, and these."""
    place = os.path.join(PLACE, name + "-pages")
    os.makedirs(place)
    with open(place + "/index.html", "w") as f:
        f.write("".join(f'<a href="/p{i}.html">{i}</a>\n'
                        for i in range(links)))
    for i in range(links):
        with open(f"{place}/p{i}.html", "w") as f:
            f.write(f"page {i}")
    return Nginx(name, place)


def urls_of(web, links):
    return {web.url} | {f"{web.url}p{i}.html" for i in range(links)}


def key_of(web):
    return web.url.split("/")[2].split(":")[0]


def refused(name, f, *args, **more):
    same(f"{name} of an engine's crawl", code(f, *args, **more),
         "PERMISSION_DENIED")


whole, part = site("whole", 5), site("part", PAGES)
WHOLE, PART = urls_of(whole, 5), urls_of(part, PAGES)

done_crawl = Crawl([whole.url], "data").wait()
same("the first crawl is complete", done_crawl.code, 0)
second = Crawl(["--no-robots", "--delay", "300s", part.url], "data")
check("the second crawl has begun", wait_until(
    lambda: len(second.urls()) > 0, 20))
time.sleep(0.5)
second.child.terminate()
second.wait()
same("it can go on", second.code, 75)
fetched = {part.url + path[1:] for path in part.fetched()}
same("one page of it was fetched", len(fetched), 1)

# ---- Off, as it comes --------------------------------------------------------------

server = Server("off", data=os.path.join(PLACE, "data"))
c = server.client
same("off: no crawl of the engine is named", c.crawls(), [])
same("off: crawl/0 is a name like others", c.did(
    D("http://mine.test/", crawl="crawl/0")), ["OK"])
same("off: and holds what was put", c.urls("crawl/0"), ["http://mine.test/"])
same("off: and is deleted", c.delete_crawl("crawl/0"), 1)
same("off: it ends well", server.stop(), 0)

# ---- Read ----------------------------------------------------------------------------

server = Server("read", SETTING, data=os.path.join(PLACE, "data"))
c = server.client
c.fill(D("http://own.test/", crawl="own"))


def look(when):
    """All that is shown."""
    same(f"{when}: the crawls", c.crawls(), ["crawl/0", "crawl/1", "own"])
    same(f"{when}: a complete one has no active queue", c.queues("crawl/0"),
         [])
    same(f"{when}: its queue is its host", c.queues("crawl/0", inactive=True),
         [key_of(whole)])
    same(f"{when}: a queue that waits", c.queues("crawl/1"), [key_of(part)])
    same(f"{when}: the figures of a complete one", c.stats(crawl="crawl/0"),
         dict(size=0, leased=0, completed=6, active=0, queues=1,
              crawl="crawl/0"))
    s = c.stats(crawl="crawl/1")
    check(f"{when}: the figures of the other",
          s["size"] == PAGES and s["completed"] == 1 and
          s["queues"] == s["active"] == 1, s)
    same(f"{when}: by key the same", c.stats(key_of(whole), "crawl/0"),
         c.stats(crawl="crawl/0"))
    items = c.items("crawl/0")
    same(f"{when}: its URLs", {i.known.info.url for i in items}, WHOLE)
    check(f"{when}: they are completed", all(
        i.known.refetchable_from_date == 0 and
        i.known.info.crawlID == "crawl/0" and
        i.known.info.key == key_of(whole) for i in items), items[:1])
    items = c.items("crawl/1")
    same(f"{when}: the URLs of the other",
         sorted(i.known.info.url for i in items), sorted(PART))
    active = [i for i in items if i.known.refetchable_from_date > 0]
    check(f"{when}: most are active, since they were found",
          len(active) == PAGES and all(
              BEGAN <= i.known.refetchable_from_date <= now() and
              i.creation_date == i.known.refetchable_from_date
              for i in active), items[-1:])
    same(f"{when}: what was fetched before is not among them",
         sorted(fetched & {i.known.info.url for i in active}), [])
    all_ = c.urls("crawl/1")
    for size in (1, 7, 1000):
        same(f"{when}: in pages of {size}", sum((c.urls(
            "crawl/1", start=i, size=size)
            for i in range(0, PAGES + 1, size)), []), all_)
    same(f"{when}: all are counted", c.count("crawl/1"), PAGES + 1)
    same(f"{when}: those that match", sorted(c.urls(
        "crawl/1", filter="P3", ignoreCase=True)),
         sorted(u for u in PART if "p3" in u))
    same(f"{when}: and their number", c.count("crawl/1", filter="p3"), 11)
    same(f"{when}: none match", c.count("crawl/1", filter="P3"), 0)
    same(f"{when}: no such queue", c.urls("crawl/1", "none"), [])
    same(f"{when}: what is done is completed",
         c.date(whole.url + "p1.html", "", "crawl/0"), 0)
    same(f"{when}: by its key, too",
         c.date(whole.url + "p1.html", key_of(whole), "crawl/0"), 0)
    one = c.status(active[-1].known.info.url, "", "crawl/1")
    check(f"{when}: what waits is active", one == active[-1], one)
    same(f"{when}: what nobody found", code(
        c.status, part.url + "none", "", "crawl/1"), "NOT_FOUND")
    same(f"{when}: a crawl that is not there", (
        c.urls("crawl/12"), c.queues("crawl/12"), c.size(crawl="crawl/12")),
         ([], [], (0, 0, 0)))


BEGAN = now() - 120
look("read")

# Nothing is put, served or changed.
url = part.url + "p1.html"
new = part.url + "new.html"
same("what is put is skipped", c.put(
    D(new, crawl="crawl/1"), K(url, crawl="crawl/1", date=0, ID="id"),
    D(new, "k", "crawl/99"), D("http://own.test/2", crawl="own")),
     [(new, "SKIPPED"), ("id", "SKIPPED"), (new, "SKIPPED"),
      ("http://own.test/2", "OK")])
same("in batches, too", c.batches(("b", [
    info(new, crawl="crawl/1"), info("http://own.test/3", crawl="own"),
    info(new, crawl="crawl/00")])), [("b", ["SKIPPED", "OK", "SKIPPED"])])
same("nothing is served of it", c.got(0, 0, 30, "", "crawl/1"), [])
same("nor of its queue", c.got(0, 0, 30, key_of(part), "crawl/1"), [])
same("only what is ours to serve", sorted(c.got(0, 0, 1, "", ANY)),
     ["http://own.test/", "http://own.test/2", "http://own.test/3"])
refused("SetDelay", c.delay, key_of(part), 0, "crawl/1")
refused("BlockQueueUntil", c.block, key_of(part), now() + 9, "crawl/1")
refused("SetCrawlLimit", c.limit, key_of(part), 1, "crawl/1")
refused("DeleteQueue", c.delete, key_of(part), "crawl/1")
refused("DeleteCrawl", c.delete_crawl, "crawl/1")
refused("PurgeURLs", c.purge, 0, "", "crawl/1")
refused("DeleteCrawl where there is none, but", c.delete_crawl, "crawl/99")
same("SetDelay of all is no crawl's", code(c.delay, "", 1), "OK")
same("crawl/x is a name like others", c.did(D("http://x.test/",
                                              crawl="crawl/x")), ["OK"])
same("and is deleted", c.delete_crawl("crawl/x"), 1)
look("after that")

# ---- By the command, after kill -9 ---------------------------------------------------

server.restart(kill=True)
look("after kill -9")
exit_code, _, err = run(program(), "frontier", "-p", str(server.port),
                        "DumpURLs", "-c", "crawl/1", "-o", "part.dump")
check("argiope frontier dumps it", exit_code == 0, err)
with open("part.dump") as f:
    dumped = [json.loads(line)["known"]["info"]["url"] for line in f]
same("the dump has all of it", sorted(dumped), sorted(PART))
same("it ends well", server.stop(), 0)

# ---- With other nodes ----------------------------------------------------------------

exit_code, _, err = run(
    program(), "serve", "--data", os.path.join(PLACE, "data"), "--set",
    SETTING, "--set", "urlfrontier.listen=127.0.0.1:15071", "--set",
    "urlfrontier.nodes=127.0.0.1:15071,127.0.0.1:15072", "--set",
    "http.listen=127.0.0.1:0")
check("a node of several does not show them", exit_code == 78 and
      "engine_crawls" in err, (exit_code, err))
done()
