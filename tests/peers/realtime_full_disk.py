"""The disk fills up under the daemon: crawls stop with a `why`, reading goes on.

On a small tmpfs of its own, once with the reserve of data.free_bytes_min and once to
the brim.  When there is room again the crawl goes on to its end, also if it was
stopped and started in between.
"""
from realtime_peer import *
from small_disk import *

begin("realtime_full_disk")
small_disks("realtime_full_disk")
large_site("site", lambda i: [k for k in range(4 * i + 1, 4 * i + 5)
                              if k < PAGES])
web = Nginx("nginx", PLACE + "/site")


def scene(name, reserve, free):
    place = os.path.join(PLACE, name)
    trouble = mount(place)
    if trouble is not None:
        skip(name, f"tmpfs cannot be mounted: {trouble.strip()}")
        return
    ballast = fill(place, free)
    s = Server(name, f"data.free_bytes_min={reserve}",
               "ledger.segment_bytes=1MiB", "ledger.write_buffer=4MiB",
               hosts={"disk.test": web.port}, data=place + "/data")
    c = s.client()
    crawl = c.start("http://disk.test/0.html",
                    policy={"limits": {"max_depth": 50}})
    live = c.read(crawl, closed_event=True)

    def full():
        c.pump(0.05)
        return "full" in c.good("why", crawl_id=crawl)["why"]

    check(f"{name}: why says that the disk is full", wait_until(full, 20),
          c.good("why", crawl_id=crawl))
    check(f"{name}: it asks for nothing meanwhile",
          rests(web, c.for_a_while))
    had = len(c.sub(live).events)
    check(f"{name}: it was in the middle", 0 < had < PAGES, had)
    same(f"{name}: it is still running",
         snapshot(s)[str(crawl)]["status"], "running")
    again = s.client()
    n = again.read(crawl)
    got = again.items(n, had, 10)
    same(f"{name}: reading goes on, all that were promised are there",
         urls_of(got), [e["data"]["url"] for e in c.sub(live).events])
    check(f"{name}: lists and logs too",
          again.good("list_crawls")["total"] == 1 and
          again.good("list_pages", crawl_id=crawl)["total"] == had)
    m = again.ask("policy.put", name="x", policy={})
    check(f"{name}: what needs the disk is refused or done", m["success"] or
          m["code"] == "storage", m)
    again.close()
    os.unlink(ballast)
    items, closed = c.until_closed(live, 40)
    same(f"{name}: with room it goes on to its end",
         (closed or {}).get("reason"), "complete")
    same(f"{name}: every page once", sorted(urls_of(items)),
         sorted(f"http://disk.test/{i}.html" for i in range(PAGES)))
    same(f"{name}: SIGTERM ends it", s.stop(), 0)
    archive_is_sound(f"{name}: archive check", s.data)


def health(s):
    try:
        return s.http("/healthz")[0]
    except OSError:
        return None


def stopped():
    """It is stopped while it waits for room, and once more after a start."""
    place = os.path.join(PLACE, "stopped")
    if mount(place) is not None:
        return
    ballast = fill(place, 24 * MIB)
    s = Server("stopped", "data.free_bytes_min=12MiB",
               "ledger.segment_bytes=1MiB", "ledger.write_buffer=4MiB",
               hosts={"disk.test": web.port}, data=place + "/data")
    c = s.client()
    crawl = c.start("http://disk.test/0.html",
                    policy={"limits": {"max_depth": 50}})
    check("stopped: the disk is full", wait_until(
        lambda: "full" in c.good("why", crawl_id=crawl)["why"], 20))
    c.close()
    same("stopped: SIGTERM ends it while it waits for room", s.stop(), 0)
    s.start(ready=False)
    check("stopped: started without room it says so", wait_until(
        lambda: health(s) == 503, 10))
    same("stopped: and ends too", s.stop(), 0)
    os.unlink(ballast)
    s.start()
    c = s.client()
    items, closed = c.until_closed(c.read(crawl, closed_event=True), 40)
    same("stopped: with room it goes on to its end",
         (closed or {}).get("reason"), "complete")
    same("stopped: every page once", sorted(urls_of(items)),
         sorted(f"http://disk.test/{i}.html" for i in range(PAGES)))
    same("stopped: SIGTERM ends it", s.stop(), 0)
    archive_is_sound("stopped: archive check", s.data)


scene("reserve", "12MiB", 24 * MIB)
scene("brim", "0", 14 * MIB)
stopped()
rules_kept()
done()
