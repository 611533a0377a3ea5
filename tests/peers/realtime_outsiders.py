"""Crawls of the urlfrontier door at the realtime door: only when asked for."""
from realtime_peer import *

begin("realtime_outsiders")
door = fixed_port()
server = Server("outsiders", f"urlfrontier.listen=127.0.0.1:{door}")


def frontier(*args):
    code, out, err = ours("frontier", "-p", str(door), *args)
    if code:
        check(" ".join(args), False, err or out)
    return out


def put(*urls):
    with open("urls", "w") as f:
        for url, date in urls:
            item = {"info": {"url": url, "crawlID": "theirs"}}
            f.write(json.dumps({"known": {**item, "refetchable_from_date":
                    date}} if date is not None else {"discovered": item}) +
                    "\n")
    frontier("PutURLs", "-f", "urls")


def rows(**args):
    return c.good("list_crawls", **args)["crawls"]


def row_is(**want):
    found = rows(kind="frontier")
    return len(found) == 1 and all(found[0][k] == want[k] for k in want)


c = server.client()
everything = c.good("subscribe_crawl_stats", min_interval=0.1)
sub = c.good("subscribe_crawl_stats", kind="frontier",
             min_interval=0.1)["subscription_id"]
c.idle(0.3)
same("no crawl, no event", len(c.sub(sub).events), 0)
put(*[(f"http://their.host/{i}", None) for i in range(20)])
check("it is listed when it is asked for",
      wait_until(lambda: row_is(name="theirs", queued=20, items=0), 5),
      rows(kind="frontier"))
same("and not else", rows(), [])
crawl = rows(kind="frontier")[0]["crawl_id"]
put(*[(f"http://their.host/{i}", 0) for i in range(7)])
check("completed URLs are its items",
      wait_until(lambda: row_is(queued=13, items=7), 5),
      rows(kind="frontier"))
c.idle(0.3)
merged = c.merged(sub, crawl)
same("statistics follow it", (merged["name"], merged["queued"],
                              merged["items"]), ("theirs", 13, 7))
same("but only those that want it",
     len(c.sub(everything["subscription_id"]).events), 0)
got = c.good("subscribe_crawl_items", crawl_id=crawl)["subscription_id"]
c.idle(0.3)
same("it has no pages here", len(c.sub(got).events), 0)
same("it is not steered here", c.bad("job.pause", crawl_id=crawl) in
     ("unknown_crawl", "bad_state"), True)
server.restart(kill=True)
c = server.client()
check("after kill -9 it is there again", wait_until(
    lambda: row_is(crawl_id=crawl, queued=13, items=7), 5),
    rows(kind="frontier"))
sub = c.good("subscribe_crawl_stats", kind="frontier",
             min_interval=0.1)["subscription_id"]
frontier("DeleteCrawl", "-c", "theirs")
check("a deleted one goes", wait_until(
    lambda: rows(kind="frontier") == [], 5), rows(kind="frontier"))
c.idle(0.3)
same("and statistics say so", c.merged(sub, crawl)["status"], "deleted")
same("SIGTERM ends the daemon", server.stop(), 0)
done()
