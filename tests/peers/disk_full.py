"""The disk fills up in the middle of a crawl, and is freed again.

The crawl pauses, says so, goes on when there is room, and is as complete and
as sound as one that never paused.  On a small file system of its own: tmpfs,
and ext4 in a file where that can be mounted; each once with the reserve of
data.free_bytes_min, and once without, so that writes themselves fail.
"""
from small_disk import *

small_disks("disk_full")
large_site("site", lambda i: [(i * 7 + k) % PAGES for k in range(8)])
web = Nginx("nginx", PLACE + "/site")
good = {web.url + f"{i}.html" for i in range(PAGES)}


def scene(name, kind, reserve, free):
    place = os.path.join(PLACE, name)
    trouble = mount(place, kind)
    if trouble is not None:
        skip(name, f"{kind} cannot be mounted: {trouble.strip()}")
        return
    web.clear()
    ballast = fill(place, free)
    c = Crawl([web.url + "0.html", "--delay", "0", "--set",
               f"data.free_bytes_min={reserve}", "--set",
               "ledger.segment_bytes=1MiB", "--set",
               "ledger.write_buffer=4MiB"], name + "/data", seconds=40)

    def waits():
        return [e for e in c.events("health") if e["state"] == "disk_full"]

    wait_until(lambda: waits() or not c.runs(), 15)
    check(f"{name}: the crawl says that the disk is full", waits(),
          c.said()[-300:])
    check(f"{name}: ... on standard error too", "the crawl waits" in c.said(),
          c.said()[-300:])
    check(f"{name}: it asks for nothing meanwhile", rests(web))
    check(f"{name}: it waits, and does not end", c.runs())
    reported = {e["seq"]: e["url"] for e in c.events("item")}
    check(f"{name}: it was in the middle", len(reported) < PAGES,
          len(reported))
    os.unlink(ballast)
    c.wait()
    same(f"{name}: with room it goes on, to the end",
         (c.killed, c.code, c.last().get("event")), (False, 0, "completed"))
    check(f"{name}: and says so", [e for e in c.events("health")
                                   if e["state"] == "fine"], c.said()[-300:])
    check(f"{name}: every page", c.urls() == good, good ^ c.urls())
    seqs = [e["seq"] for e in c.events("item")]
    check(f"{name}: numbers without gap or repeat",
          sorted(seqs) == list(range(1, len(seqs) + 1)), len(seqs))
    stored = [r["url"] for r in rows(c.data) if "robots.txt" not in r["url"]]
    check(f"{name}: each capture is in the archive once",
          sorted(stored) == sorted(good), f"{len(stored)} of {PAGES}")
    archive_is_sound(f"{name}: archive check", c.data)
    note(f"{name}: paused with {len(reported)} captures, {len(waits())} times")


scene("tmpfs_reserve", "tmpfs", "12MiB", 24 * MIB)
scene("tmpfs_to_the_brim", "tmpfs", "0", 14 * MIB)
scene("ext4_to_the_brim", "ext4", "0", 14 * MIB)
done()
