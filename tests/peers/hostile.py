"""Servers that misbehave in every way beside a good one, in one crawl.

The good site is captured whole, the crawl ends by itself and tells one line for
each seed that failed, and memory stays within 64 MiB of a clean crawl's.  The
program under AddressSanitizer, named by ARGIOPE_ASAN or found in build-asan
beside our build and not older than it, has nothing to say.
"""
from peer import *

PAGES = 300
ALLOWANCE_KIB = 64 * 1024

build = os.environ.get("ARGIOPE_BUILD", os.path.dirname(program()))
server = next((p for p in (
    os.environ.get("HOSTILE", ""), build + "/tests/hostile/hostile",
    os.path.dirname(build) + "/tests/hostile/hostile") if os.path.exists(p)),
    None)
need("hostile", "nginx", "openssl")
if server is None:
    skip("hostile", "tests/hostile/hostile is not built")
    done()

os.makedirs("site")
for i in range(PAGES):
    with open(f"site/{i}.html", "w") as f:
        f.write(f"<title>page {i}</title>" + "".join(
            f"<a href={(i * 7 + k) % PAGES}.html>{k}</a> all work and no play "
            for k in range(1, 30)) * 4)
web = Nginx("nginx", PLACE + "/site")
tls = Nginx("nginx-tls", PLACE + "/site", tls=True)
quick = ["--delay", "0", "--depth", "40",
         "--set", "fetch.tries_max=2", "--set", "fetch.timeout_ms=3s",
         "--set", "fetch.connect_ms=2s", "--set", "fetch.backoff_ms=100ms",
         "--set", "fetch.backoff_max_ms=500ms"]
good = {web.url + f"{i}.html" for i in range(PAGES)}

# ---- The measure: the good site alone ------------------------------------------

clean = crawl([web.url + "0.html"] + quick, "clean", seconds=20)
same("a clean crawl is complete", (clean.code, clean.urls() == good),
     (0, True))
web.clear()

# ---- Every behaviour, as a host of its own -------------------------------------

with open("hostile.out", "w") as out:
    hostile = start([server, "--ports", "--seconds", "120"], stdout=out,
                    stderr=subprocess.DEVNULL)
wait_until(lambda: "ready" in open("hostile.out").read())
ports = {}
for line in open("hostile.out"):
    words = line.split()
    if words[0] == "port" and len(words) == 3:
        ports[words[2]] = int(words[1])
check("the hostile server has its behaviours", len(ports) > 30, len(ports))
# Each under a name of its own: what one does must not slow another.
names = {name: f"{name}.test" for name in ports}
resolve = ",".join(f"{names[n]}:80:127.0.0.1:{p}" for n, p in ports.items())
paths = {"redirect-two": "redirect-two/a", "redirect-chain":
         "redirect-chain/0", "calendar": "calendar/20000",
         "type-lie": "type-lie/html"}
seeds = {n: f"http://{names[n]}/" + paths.get(n, "") for n in ports}
limits = ["--set", "fetch.resolve=" + resolve, "--exclude",
          r"^http://(calendar|links)\.test/.*\d", "--allow-private"]
# By these no page can be had, whatever one does.
hopeless = {
    "silence", "slow-head", "endless-head", "big-header", "garbage",
    "tls-plain", "redirect-self", "redirect-two", "redirect-chain",
    "redirect-file", "reset-head", "cut-head", "flood-1xx"}


def attack(name, more=(), hopeless=hopeless, executable=None, env=None):
    web.clear()
    c = crawl([web.url + "0.html", tls.url] + list(seeds.values()) + quick +
              limits + list(more), name, seconds=50, executable=executable,
              env=env)
    same(f"{name}: the crawl ends by itself, complete",
         (c.killed, c.code, c.last().get("event")), (False, 0, "completed"))
    check(f"{name}: every page of the good site", good <= c.urls(),
          good - c.urls())
    check(f"{name}: the good site was asked once for each",
          len(web.requests()) <= PAGES + 1, len(web.requests()))
    lines = {}
    for e in c.events("seed_failed"):
        lines.setdefault(e["seed"], []).append(e)
    told = {e["url"] for e in c.events("item")} | set(lines)
    check(f"{name}: each seed came to an end that is told",
          set(seeds.values()) <= told, set(seeds.values()) - told)
    silent = [n for n in sorted(hopeless & set(seeds))
              if len(lines.get(seeds[n], [])) != 1]
    check(f"{name}: one line for each that gave no page", not silent, silent)
    empty = [s for s, e in lines.items() if not e[0]["text"].strip()]
    check(f"{name}: each with a reason", not empty, empty)
    same(f"{name}: a certificate that nobody signed",
         [e["reason"] for e in lines.get(tls.url, [])], ["tls"])
    for n in sorted(seeds):
        e = lines.get(seeds[n], [{}])[0]
        note(f"{n}: {e['reason'] + ': ' + e['text'] if e else 'captured'}"
             [:150])
    archive_is_sound(f"{name}: archive check", c.data)
    return c


def memory(name, c):
    check(f"{name}: memory within a clean crawl and 64 MiB",
          c.rss_kib <= clean.rss_kib + ALLOWANCE_KIB,
          f"{c.rss_kib} KiB against {clean.rss_kib} KiB")
    note(f"{name}: {c.seconds:.1f} s, {c.rss_kib} KiB; clean "
         f"{clean.seconds:.1f} s, {clean.rss_kib} KiB")


# With robots.txt, which misbehaves as its site does; and then the pages
# themselves.  A dozen of these bodies would have no end: 1 MiB of each is read.
capped = ["--set", "fetch.body_bytes_max=1MiB"]
memory("robots", attack("robots", capped))
memory("pages", attack("pages", capped + ["--no-robots"]))
asan = program_under_asan()
if asan:
    c = attack("asan", capped + ["--no-robots"], executable=asan, env={
        "ASAN_OPTIONS": "detect_stack_use_after_return=1:exitcode=99",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"})
    check("asan: no report", "Sanitizer" not in c.said() and
          "runtime error" not in c.said(), c.said()[-600:])
else:
    skip("asan", "there is no program under AddressSanitizer as new")
done()
