"""Slow and stopped readers: they cost neither the crawl nor others anything, and
the daemon's memory little; pings; 1013; commands that nobody reads answers to.

usage: realtime_flow.sh [READERS]
"""
from realtime_peer import *

begin("realtime_flow", "nginx")
READERS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
PAGES, BYTES = 200, 200000
HOSTS = [f"f{i}.test" for i in range(9)]
names = iter(HOSTS)


def serve():
    os.makedirs("site")
    for i in range(PAGES):
        with open(f"site/{i}.html", "wb") as f:
            f.write(html(*[f"{k}.html" for k in range(4 * i + 1, 4 * i + 5)
                           if k < PAGES], title=str(i)))
            f.write(os.urandom(BYTES).replace(b"<", b"-"))
    return Nginx("nginx", PLACE + "/site")


def cpu_of(s):
    with open(f"/proc/{s.child.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def crawl_time(s, c, before=None):
    """
    (the crawl, seconds it took, of the daemon's processors too); `before` is done
    once it is begun.
    """
    sub, cpu = c.stats(), cpu_of(s)
    began = time.monotonic()
    crawl = c.start(f"http://{next(names)}/0.html",
                    policy={"limits": {"max_depth": 20}})
    if before:
        before(crawl)
    c.ends(crawl, 60, n=sub)
    took = time.monotonic() - began
    same("all pages", c.merged(sub, crawl)["success"], PAGES)
    c.good("unsubscribe", subscription_id=sub)
    return crawl, took, cpu_of(s) - cpu


def stopped_readers(s):
    c = s.client()
    # Once for caches and pools.
    crawl_time(s, c)
    alone = min(crawl_time(s, c)[1:] for _ in range(2))
    readers = [s.client(rcvbuf=16384) for _ in range(READERS)]
    small = s.memory_kib()

    def attach(crawl):
        for r in readers:
            r.good("subscribe_crawl_items", crawl_id=crawl,
                   closed_event=True)

    crawl, *beside = crawl_time(s, c, attach)
    # Processors, since others may use this machine.
    check("the crawl costs no more beside stopped readers",
          beside[1] < 1.25 * alone[1] + 0.2 and beside[0] < 3 * alone[0] + 1,
          f"{beside}, alone {alone}")
    time.sleep(1.5)
    big = s.memory_kib()
    allowed = READERS * 512 + (64 << 10)
    check(f"{READERS} stopped readers take little memory",
          big - small < allowed, f"{big - small} KiB, at most {allowed}")
    stalled = s.metric("realtime_stalled_connections")
    check("they are counted", (stalled or 0) >= READERS, stalled)
    began = time.monotonic()
    same("others are answered", c.good("ping"), {})
    check("... at once", time.monotonic() - began < 0.25,
          time.monotonic() - began)
    late = s.client()
    n = late.read(crawl, closed_event=True)
    began = time.monotonic()
    items, closed = late.until_closed(n)
    check("a reader beside them has all", len(items) == PAGES and closed)
    note(f"crawl alone {alone[0]:.2f} s (CPU {alone[1]:.2f} s), beside "
         f"{READERS} stopped readers {beside[0]:.2f} s ({beside[1]:.2f} s); "
         f"memory {small} KiB, then {big} KiB; a reader beside them took "
         f"{time.monotonic() - began:.2f} s for {late.bytes_in / 1e6:.0f} MB")
    answer_of_a_stopped(readers[0])
    go_on(readers[1:4], crawl)
    for r in readers + [late]:
        r.close()
    check("gone readers leave nothing", wait_until(
        lambda: s.metric("realtime_connections") <= 2, 5),
        s.metric("realtime_connections"))
    return crawl


def answer_of_a_stopped(r):
    """Behind how much does a response wait?  (The kernel holds some, too.)"""
    at = r.bytes_in
    want = r.send("ping")
    r.until(lambda: json.dumps(want) in r.responses, 20)
    waited = r.bytes_in - at
    note(f"a response waited behind {waited >> 10} KiB of "
         f"{PAGES * BYTES * 4 // 3 >> 10}")
    check("a response waits behind one event and 256 KiB at most",
          json.dumps(want) in r.responses and waited < MIB, waited)


def go_on(readers, crawl):
    for r in readers:
        n = max(r.rules.subs)
        items, closed = r.until_closed(n, 30)
        check("a reader that goes on misses nothing",
              len(items) == PAGES and closed, len(items))


def watch(s, crawl):
    """One who watches the monitor, and stops reading."""
    r = s.client(rcvbuf=16384)
    n = r.good("subscribe_monitor")["subscription_id"]
    r.send("subscribe_crawl_items", {"crawl_id": crawl})
    return r, n


def lost_frames(s, r, n):
    """One frame is kept: who stopped for seconds has lost some, and knows."""
    r.until(lambda: any(e["data"]["dropped"] for e in r.sub(n).events), 20)
    seen = len(r.sub(n).events)
    r.until(lambda: len(r.sub(n).events) > seen + 1)
    dropped = [e["data"]["dropped"] for e in r.sub(n).events]
    at = [e["data"]["at"] for e in r.sub(n).events]
    check("frames that a stopped reader lost are counted",
          dropped[-1] > 0 and dropped == sorted(dropped), dropped)
    same("... by the metric too", s.metric("realtime_frames_dropped_total"),
         dropped[-1])
    check("... and there were so many", all(
        b - a > 0.9 * (1 + y - x) for a, b, x, y in
        zip(at, at[1:], dropped, dropped[1:])), list(zip(at, dropped)))


def stalls(web):
    """1013 after realtime.stall_s_max, unless a byte is taken now and then."""
    s = Server("stalls", "realtime.stall_s_max=2", hosts={
        HOSTS[-1]: web.port})
    c = s.client()
    crawl = c.start(f"http://{HOSTS[-1]}/0.html",
                    policy={"limits": {"max_depth": 20}})
    c.ends(crawl)
    stopped, slow = s.client(rcvbuf=16384), s.client(rcvbuf=16384)
    for r in (stopped, slow):
        r.send("subscribe_crawl_items", {"crawl_id": crawl})
    until = time.monotonic() + 6
    while time.monotonic() < until:
        slow.pump(0.1, 1 << 16)
        time.sleep(0.1)
    same("it is counted", s.metric("realtime_closed_total",
                                   code="1013"), 1)
    code = stopped.closing(5)
    check("a reader that stopped for two seconds is closed",
          code in (1013, 1006), code)
    note(f"it saw {code}")
    same("a slow one is not", slow.code, None)
    s.stop()


def unread_answers(s):
    """Commands are not read while their answers are not."""
    c = s.client()
    one = len(json.dumps(c.good("list_crawls")))
    small = s.memory_kib()
    n = 20000
    r = s.client(rcvbuf=16384)
    for i in range(n):
        r.rules.asked.append((i, "", None))
    r.raw(b"".join(masked(1, b'{"command":"list_crawls","command_id":%d,'
                          b'"x":"%s"}' % (i, b"x" * 1000), mask=bytes(4))
                   for i in range(n)))
    for _ in range(40):
        r.flush()
        time.sleep(0.05)
    big = s.memory_kib()
    check("commands whose answers nobody reads take no memory",
          big - small < 16 << 10, f"{big - small} KiB for {n} answers of "
          f"{one} bytes")
    check("... and are not read", len(r.out) > 0, f"{one} bytes each")
    r.until(lambda: len(r.responses) == n, 30)
    same("all are answered in the end", len(r.responses), n)
    r.close()


def main():
    web = serve()
    s = Server("flow", "realtime.frames_max=1",
               hosts={h: web.port for h in HOSTS})
    quiet = s.client()
    began = time.monotonic()
    pings = threading.Thread(target=quiet.until, daemon=True,
                             args=(lambda: quiet.pings, 40))
    pings.start()
    watcher = watch(s, stopped_readers(s))
    unread_answers(s)
    stalls(web)
    lost_frames(s, *watcher)
    pings.join()
    check("a ping comes each 30 s", quiet.pings and
          28 < quiet.pings[0][0] - began < 33, quiet.pings)
    same("... and the connection goes on", quiet.good("ping"), {})
    rules_kept()
    same("SIGTERM ends the daemon", s.stop(), 0)
    done()


main()
