"""Seeds that lead nowhere: one clear line each, in the summary and --json."""
from peer import *

need("bad_seeds", "nginx", "openssl")
os.makedirs("site")
for name in ("index.html", "other.html", "secret.html"):
    with open("site/" + name, "w") as f:
        f.write(f"<title>{name}</title><a href=other.html>x</a>")
with open("site/robots.txt", "w") as f:
    f.write("User-agent: *\nDisallow: /secret\n")
web = Nginx("nginx", PLACE + "/site", more="""
    location = /out { return 302 http://elsewhere.example/page; }
    location = /mail { return 302 mailto:somebody@example.org; }
    location = /loop { return 302 /loop; }
    location = /in { return 302 /other.html; }
    location = /broken { return 500; }
""")
tls = Nginx("nginx-tls", PLACE + "/site", tls=True)
closed = f"http://127.0.0.1:{free_port()}/"
deaf = socket.socket()
deaf.bind(("127.0.0.1", 0))
deaf.listen(5)
silent = f"http://127.0.0.1:{deaf.getsockname()[1]}/"
# A seed, the reason in --json, words that its line must have.
bad = [
    ("not a url", "no_url", "no URL"),
    ("http://[::1", "no_url", "no URL"),
    ("http://host:99999/", "no_url", "no URL"),
    ("ftp://127.0.0.1/x", "no_url", "no URL"),
    ("mailto:somebody@example.org", "no_url", "no URL"),
    ("javascript:alert(1)", "no_url", "no URL"),
    (closed, "connect", "unreachable"),
    (silent, "timeout", "unreachable"),
    ("http://name.invalid/", "dns", "unreachable"),
    (tls.url, "tls", "unreachable"),
    (web.url + "secret.html", "robots", "refused by robots.txt line 2"),
    (web.url + "out", "scope", "elsewhere.example"),
    (web.url + "mail", "redirects", "mailto"),
    (web.url + "loop", "redirects", "redirects"),
]
good = [web.url, web.url + "in", web.url + "missing", web.url + "broken"]
quick = ["--delay", "0", "--set", "fetch.tries_max=1", "--set", "fetch.timeout_ms=2s",
         "--set", "fetch.resolve=elsewhere.example:*:127.0.0.1:9"]
seeds = [b[0] for b in bad] + good

c = crawl(seeds + quick, "data", seconds=20)
same("a crawl with good seeds among bad ones is complete",
     (c.code, c.last().get("event")), (0, "completed"))
failed = {}
for e in c.events("seed_failed"):
    failed.setdefault(e["seed"], []).append(e)
code, text, err = ours("crawl", *seeds, *quick, "--data", "data2", seconds=20)
same("... without --json too", code, 0)
lines = text[text.find("seeds failed"):].splitlines()[1:]
for seed, reason, words in bad:
    events = failed.get(seed, [])
    same(f"--json: {reason}: {seed[:24]}", [e["reason"] for e in events],
         [reason])
    found = [line for line in lines if line.startswith(f"  {seed}: ")]
    check(f"summary: {reason}: {seed[:24]}", len(found) == 1 and
          words in found[0], found or lines)
check("nothing is said of the good ones", set(failed) == {b[0] for b in bad},
      set(failed) ^ {b[0] for b in bad})
same("the summary counts them",
     f"{len(bad)} of {len(seeds)} seeds failed" in text, True)
check("404 and 500 are captures, not failures",
      {web.url + "missing", web.url + "broken"} <= c.urls(), c.urls())
check("what robots.txt refuses was not asked for",
      not [u for s, u in web.requests() if "secret" in u])
archive_is_sound("archive check", c.data)
done()
