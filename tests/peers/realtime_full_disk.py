"""The disk fills up under the daemon: crawls stop with a `why`, reading goes on.

On a small tmpfs of its own, once with the reserve of data.free_bytes_min and once to
the brim.  When there is room again the crawl goes on to its end.
"""
from realtime_peer import *

begin("realtime_full_disk", "nginx", "mount", "umount")
if os.geteuid() != 0:
    skip("realtime_full_disk", "only root may mount")
    done()
PAGES = 900
os.makedirs("site")
for i in range(PAGES):
    with open(f"site/{i}.html", "wb") as f:
        f.write(html(*[f"{k}.html" for k in range(4 * i + 1, 4 * i + 5)
                       if k < PAGES], title=str(i)))
        # What cannot be compressed fills the disk.
        f.write(os.urandom(24 << 10).replace(b"<", b"-"))
web = Nginx("nginx", PLACE + "/site")
mounted = []


@atexit.register
def unmount():
    end_all()
    for place in mounted:
        run("umount", "-l", place)


def mount(name):
    place = os.path.join(PLACE, name)
    os.makedirs(place)
    code, _, err = run("mount", "-t", "tmpfs", "-o", "size=64m", "none",
                       place)
    if code == 0:
        mounted.append(place)
        return place
    skip(name, f"tmpfs cannot be mounted: {err.strip()}")
    return None


def fill(place, free):
    s = os.statvfs(place)
    with open(place + "/ballast", "wb") as f:
        left = s.f_bfree * s.f_frsize - free
        while left > 0:
            f.write(b"\1" * min(MIB, left))
            left -= MIB


def scene(name, reserve, free):
    place = mount(name)
    if place is None:
        return
    fill(place, free)
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
    # What was under way is read to its end.
    c.for_a_while(2)
    had = len(c.sub(live).events)
    before = len(web.requests())
    c.for_a_while(1)
    same(f"{name}: it asks for nothing meanwhile",
         len(web.requests()) - before, 0)
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
    os.unlink(place + "/ballast")
    items, closed = c.until_closed(live, 40)
    same(f"{name}: with room it goes on to its end",
         (closed or {}).get("reason"), "complete")
    same(f"{name}: every page once", sorted(urls_of(items)),
         sorted(f"http://disk.test/{i}.html" for i in range(PAGES)))
    same(f"{name}: SIGTERM ends it", s.stop(), 0)
    archive_is_sound(f"{name}: archive check", s.data)


scene("reserve", "12MiB", 24 * MIB)
scene("brim", "0", 14 * MIB)
rules_kept()
done()
