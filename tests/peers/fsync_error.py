"""A sync that fails: the crawl refuses, tells, and loses nothing it reported.

After it no further sync can be believed, so the program ends, with exit code
74; --resume then completes the crawl.
"""
from peer import *

need("fsync_error", "nginx", "cc")
library = faults()
if library is None:
    skip("fsync_error", "cc builds no shared library")
    done()
pages = small_site("site", 250)
web = Nginx("nginx", PLACE + "/site")
good = {web.url + p for p in pages}


def attempt(name, match, **faults_):
    data = os.path.join(PLACE, name)
    return crawl([web.url + "0.html", "--delay", "0", "--set",
                  "ledger.group_records_max=20", "--set",
                  "ledger.segment_bytes=1MiB"], name, seconds=15, env={
                      "LD_PRELOAD": library, "FAULT_UNDER": data,
                      "FAULT_MATCH": match, **faults_})


def count_of(match):
    """How many syncs an unharmed crawl does there."""
    name = "count" + match.strip("/")
    told = os.path.join(PLACE, name + ".count")
    attempt(name, match, FAULT_COUNT=told)
    return int(open(told).read())


def faulted(name, match, at):
    """A crawl in which one failed; how many there are is never the same."""
    while True:
        c = attempt(name, match, FAULT_SYNC_AT=str(at))
        there = os.path.exists(c.data + ".failed")
        if there or at < 2:
            check(f"{name}: there was a fault", there)
            return c, at
        shutil.rmtree(c.data)
        at = at * 2 // 3


def after(name, c):
    """What --resume finds: the rest, or that all had arrived."""
    d = crawl([], name, resume=True, seconds=15)
    whole = d.code == 0 and d.last().get("event") == "completed"
    _, status, _ = ours("status", "--data", c.data, "--json")
    check(f"{name}: --resume completes it", not d.killed and
          (whole or (d.code in (66, 69) and '"complete"' in status)),
          f"{d.code}: {d.said()[-200:]} {status[-300:]}")
    check(f"{name}: an end that was reported is kept", not whole or
          not c.events("completed"), str(d.last())[:300])
    reported = {e["seq"]: e["url"] for e in c.events("item")}
    again = {e["seq"]: e["url"] for e in d.events("item")}
    check(f"{name}: no number is given twice", not set(reported) & set(again),
          set(reported) & set(again))
    stored = captures(c.data)
    check(f"{name}: nothing that was reported is lost",
          not lost({**reported, **again}, stored),
          lost({**reported, **again}, stored))
    check(f"{name}: every page, once", sorted(u for v in stored.values()
                                              for u in v) == sorted(good),
          f"{sum(map(len, stored.values()))} of {len(good)}")
    check(f"{name}: numbers without a gap",
          sorted(stored) == list(range(1, len(good) + 1)), len(stored))
    archive_is_sound(f"{name}: archive check", c.data)


def refuses(name, match, at):
    """The ledger's own files: nothing can be promised any more."""
    c, at = faulted(name, match, at)
    where = open(c.data + ".failed").read().strip()[len(c.data):]
    same(f"{name}: exit code", (c.killed, c.code), (False, 74))
    check(f"{name}: it tells", "the crawl stops" in c.said(), c.said()[-400:])
    check(f"{name}: --json tells", [e for e in c.events("health") if
                                    e["state"] == "failed"], c.last())
    # The very last syncs come behind the group that holds the end.
    check(f"{name}: it does not say that it is complete before it is",
          not c.events("completed") or len(c.events("item")) == len(good),
          str(c.last())[:300])
    note(f"{name}: sync {at} failed, of {where}; "
         f"{len(c.events('item'))} reported")
    after(name, c)


def moves(name, match, at):
    """
    A WARC file: its records are still in memory and go to another file; the
    index can be made again from the log.  What is promised holds, so the crawl
    may go on; or it may refuse.
    """
    c, at = faulted(name, match, at)
    same(f"{name}: it ends by itself", c.killed, False)
    check(f"{name}: complete, or refused", (c.code, c.last().get("event")) ==
          (0, "completed") or c.code == 74, c.code)
    where = open(c.data + ".failed").read().strip()[len(c.data):]
    # An index beside a WARC file can be made again at any time.
    word = " warn ledger.cdxj" if ".cdxj" in where else " error ledger."
    check(f"{name}: it tells", word in c.said(), c.said()[-300:])
    note(f"{name}: sync {at} failed, of {where}; exit code {c.code}")
    after(name, c)


def at_open(name, match, at):
    """Before anything was begun: one line, and the next start is as new."""
    c = attempt(name, match, FAULT_SYNC_AT=str(at))
    same(f"{name}: exit code", (c.killed, c.code), (False, 74))
    lines = [x for x in c.said().splitlines() if x.startswith("argiope: ")]
    check(f"{name}: one line", len(lines) == 1, c.said())
    note(lines[0] if lines else c.said())
    d = attempt(name, match)
    same(f"{name}: the next start is as new",
         (d.code, d.last().get("event")), (0, "completed"))


at_open("open_log", "/log/", 1)
at_open("open_index", "/index/", 3)
n = count_of("/log/")
refuses("log_early", "/log/", n // 3)
refuses("log_late", "/log/", n - 2)
n = count_of("/index/")
moves("table_late", "/index/", n - 1)
n = count_of("/archive/")
for i in sorted({1, 2, 4, n // 2, n - 1}):
    moves(f"archive_{i}", "/archive/", i)
done()
