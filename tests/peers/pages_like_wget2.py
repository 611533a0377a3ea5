"""Real documentation sites: we capture the pages that wget2 fetches.

Run by pages_like_wget2_java.sh, which gives a name, it takes the largest.
"""
import collections

from peer import *

need("pages_like_wget2", "nginx", "wget2")
JAVA = [f"/usr/share/doc/openjdk-{n}-jre-headless/api" for n in (17, 21)]
# Pictures that the pages take from elsewhere: asked for in vain, on loopback.
OFFLINE = ["--set", "fetch.tries_max=1", "--set", "fetch.resolve=" + ",".join(
    f"{host}:*:127.0.0.1:{free_port()}" for host in
    ("en.cppreference.com", "upload.wikimedia.org"))]


def compare(name, root, path, seconds):
    if not os.path.isdir(root):
        skip(name, f"{root} is not there")
        return
    web = Nginx("nginx-" + name, root)
    code, _, said = run("wget2", "-q", "-r", "-l", "0", "-p",
                        "--max-threads=8", "-P", PLACE + "/wget2-" + name,
                        web.url + path, seconds=seconds)
    theirs = web.fetched()
    # 8: something was not found; that is the site's.
    check(f"{name}: wget2 ran", code in (0, 8) and theirs, said)
    wget2_missing = {u for s, u in web.requests() if s == 404}
    web.clear()
    c = crawl([web.url + path] + OFFLINE, name, seconds=seconds)
    here = web.fetched()
    same(f"{name}: the crawl is complete", (c.code, c.last().get("event")),
         (0, "completed"))
    check(f"{name}: all that wget2 fetched", theirs <= here, theirs - here)
    check(f"{name}: nothing that wget2 did not", here <= theirs,
          here - theirs)
    asked = collections.Counter(u for s, u in web.requests())
    check(f"{name}: nothing was asked twice", max(asked.values()) == 1,
          [u for u, n in asked.items() if n > 1])
    check(f"{name}: nobody else was asked",
          all(u.startswith(web.url) for u in c.urls()), c.urls())
    captured = {e["url"][len(web.url) - 1:] for e in c.events("item")
                if e["status"] == 200}
    check(f"{name}: what was fetched was captured", captured == here,
          captured ^ here)
    seqs = [e["seq"] for e in c.events("item")]
    check(f"{name}: numbered without a gap",
          sorted(seqs) == list(range(1, len(seqs) + 1)), len(seqs))
    archive_is_sound(f"{name}: archive check", c.data)
    missing = {u for s, u in web.requests() if s == 404} - {"/robots.txt"}
    note(f"{name}: {len(here)} pages in {c.seconds:.1f} s, {c.rss_kib} KiB; "
         f"not found by us {len(missing)}, by wget2 {len(wget2_missing)}")
    end(web.child)


if sys.argv[1:] == ["java"]:
    compare("java", next(filter(os.path.isdir, JAVA), JAVA[0]), "index.html",
            80)
else:
    compare("postgresql", POSTGRESQL, "", 25)
    compare("cppreference", CPPREFERENCE, "en/index.html", 60)
done()
