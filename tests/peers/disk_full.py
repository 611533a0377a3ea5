"""The disk fills up in the middle of a crawl, and is freed again.

The crawl pauses, says so, goes on when there is room, and is as complete and
as sound as one that never paused.  On a small file system of its own: tmpfs,
and ext4 in a file where that can be mounted; each once with the reserve of
data.free_bytes_min, and once without, so that writes themselves fail.
"""
from peer import *

PAGES = 900
MIB = 1 << 20

need("disk_full", "nginx", "mount", "umount")
if os.geteuid() != 0:
    skip("disk_full", "only root may mount")
    done()
os.makedirs("site")
for i in range(PAGES):
    with open(f"site/{i}.html", "wb") as f:
        f.write(b"<title>%d</title>" % i + b"".join(
            b"<a href=%d.html>x</a>" % ((i * 7 + k) % PAGES)
            for k in range(8)))
        # What cannot be compressed fills the disk.
        f.write(os.urandom(24 << 10).replace(b"<", b"-"))
web = Nginx("nginx", PLACE + "/site")
good = {web.url + f"{i}.html" for i in range(PAGES)}
mounted = []


@atexit.register
def unmount():
    end_all()
    for place in mounted:
        run("umount", "-l", place)


def room(place):
    s = os.statvfs(place)
    return s.f_bfree * s.f_frsize


def mount(kind, place):
    os.makedirs(place)
    if kind == "tmpfs":
        command = ["mount", "-t", "tmpfs", "-o", "size=64m", "none", place]
    else:
        with open(place + ".image", "wb") as f:
            f.truncate(80 * MIB)
        code, _, err = run("mkfs.ext4", "-q", "-F", place + ".image")
        if code != 0:
            return err
        command = ["mount", "-o", "loop", place + ".image", place]
    code, _, err = run(*command)
    if code != 0:
        return err or "mount failed"
    mounted.append(place)
    return None


def scene(name, kind, reserve, free):
    place = os.path.join(PLACE, name)
    trouble = mount(kind, place)
    if trouble is not None:
        skip(name, f"{kind} cannot be mounted: {trouble.strip()}")
        return
    web.clear()
    ballast = os.path.join(place, "ballast")
    with open(ballast, "wb") as f:
        left = room(place) - free
        while left > 0:
            f.write(b"\1" * min(MIB, left))
            left -= MIB
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
    # What was under way is read to its end, and kept in memory.
    time.sleep(1)
    before = len(web.requests())
    time.sleep(1)
    check(f"{name}: it waits, and does not end", c.runs())
    same(f"{name}: it asks for nothing meanwhile",
         len(web.requests()) - before, 0)
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
