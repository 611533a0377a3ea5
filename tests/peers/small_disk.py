"""Small file systems that a crawl can fill; only root may mount them.  The site's
pages cannot be compressed.
"""
from peer import *

PAGES = 900
MIB = 1 << 20
mounted = []


@atexit.register
def unmount():
    end_all()
    for place in mounted:
        run("umount", "-l", place)


def small_disks(name):
    """What they need, or the script is skipped."""
    need(name, "nginx", "mount", "umount")
    if os.geteuid() != 0:
        skip(name, "only root may mount")
        done()


def large_site(place, links):
    """PAGES pages; `links` gives the numbers of those that one links to."""
    os.makedirs(place)
    for i in range(PAGES):
        with open(f"{place}/{i}.html", "wb") as f:
            f.write(f"<title>{i}</title>".encode() + b"".join(
                b"<a href=%d.html>x</a>" % k for k in links(i)))
            f.write(os.urandom(24 << 10).replace(b"<", b"-"))


def mount(place, kind="tmpfs"):
    """tmpfs, or ext4 in a file; why it is not there."""
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


def fill(place, free):
    """With `ballast`, until so many bytes are free; the file's path."""
    s = os.statvfs(place)
    ballast = os.path.join(place, "ballast")
    with open(ballast, "wb") as f:
        left = s.f_bfree * s.f_frsize - free
        while left > 0:
            f.write(b"\1" * min(MIB, left))
            left -= MIB
    return ballast


def rests(web, wait=time.sleep):
    """
    Does it come to a second without a request?  What was under way is read to
    its end before.
    """
    for _ in range(20):
        before = len(web.requests())
        wait(1)
        if len(web.requests()) == before:
            return True
    return False
