"""Harvests of the real Jetstream server, as Bluesky has published it: the one
that runs its first protocol since 2024, behind our relay, and its successor,
which speaks both, behind the network of its own that comes with it.  Harvests
are killed and taken up, and so is a server; no event is missing, and none is
counted twice.

Go builds the servers from their module into the cache.  What cannot be had, or
wants a newer Go, is skipped by name.

    harvest_jetstream_real.sh [KILLS]           as often each is killed: 1
"""
import asyncio
import collections
import csv
import io
import urllib.error
import urllib.request

from harvest_peer import glob, records
from peer import *
from relay import POSTS, Event, Relay
import websockets

MODULE = "github.com/bluesky-social/jetstream"
# The last version of the first server wants Go 1.22.
SERVERS = {"v0.0.0-20250414024304-d17bd81a945e": ("1.22", ["jetstream"]),
           "v0.2.0": ("1.26.5", ["jetstream", "simulator"])}
FIRST, SECOND = SERVERS
BUILD_SECONDS_MAX = 400
HOST = "jetstream2.us-east.bsky.network"
EVENTS = "/xrpc/network.bsky.jetstream.subscribeEvents"
# Events per second of both networks; the second one signs each event.
RATE = 100
KILLS = int(sys.argv[2] if len(sys.argv) > 2 else 1)
PROXY = """location / {{
  proxy_pass http://127.0.0.1:{port};
  proxy_http_version 1.1;
  proxy_set_header Upgrade $http_upgrade;
  proxy_set_header Connection upgrade;
  proxy_buffering off;
}}
"""


def programs(version):
    """The folder of a version's programs, or None."""
    go, names = SERVERS[version]

    def build(place):
        with open(place + "/go.mod", "w") as f:
            f.write(f"module peers\n\ngo {go}\n\n"
                    f"require {MODULE} {version}\n")
        subprocess.run(
            ["go", "build", *GO_FLAGS, "-o", place + "/"] +
            [f"{MODULE}/cmd/{name}" for name in names], cwd=place, check=True,
            capture_output=True, text=True, timeout=BUILD_SECONDS_MAX,
            env=go_environment(GOTOOLCHAIN="local"))

    return kept("jetstream-" + version, build)


# ---- Servers ----------------------------------------------------------------------

class Server:
    """A program of theirs; what it says is in a file."""

    def __init__(self, name, *command):
        self.said, self.command = f"{PLACE}/{name}.log", command
        self.start()

    def start(self):
        with open(self.said, "a") as f:
            self.child = start(list(self.command), stdout=f, stderr=f)

    def says(self, text):
        """How often it has."""
        with open(self.said, errors="replace") as f:
            return f.read().count(text)

    def waits(self, text, n, seconds=30):
        """For it to have said that more than so often."""
        return wait_until(lambda: self.says(text) > n or
                          self.child.poll() is not None, seconds) and \
            self.child.poll() is None


class First(Server):
    JOINED, LIVE = "adding subscriber", "starting live tail"

    def __init__(self, place, relay):
        self.port = fixed_port()
        # Without the last it would end when it has heard nothing for 15 s.
        super().__init__(
            "first", place + "/jetstream", "--ws-url", relay.url,
            "--data-dir", PLACE + "/first-data", "--listen-addr",
            f"127.0.0.1:{self.port}", "--metrics-listen-addr",
            f"127.0.0.1:{fixed_port()}", "--liveness-ttl", "1h")
        wait_until(lambda: listens(self.port))


class Second(Server):
    """Beside it the network that it comes with, where something happens all
    the time."""

    def __init__(self, place):
        network, debug = fixed_port(), fixed_port()
        self.port = fixed_port()
        Server("network", place + "/simulator", "serve", "--addr",
               f"127.0.0.1:{network}", "--data-dir", PLACE + "/network-data",
               "--accounts", "40", "--initial-records-per-account", "3",
               "--commits-per-sec", str(RATE), "--firehose-history", "1000000",
               "--seed", str(time.time_ns() % 1000000))
        wait_until(lambda: listens(network), 30)
        url = f"http://127.0.0.1:{network}"
        super().__init__(
            "second", place + "/jetstream", "serve", "--addr",
            f"127.0.0.1:{self.port}", "--debug-addr", f"127.0.0.1:{debug}",
            "--relay-url", url, "--plc-url", url, "--data-dir",
            PLACE + "/second-data", "--skip-merge-discovery",
            "--disable-repo-action-rate-limits")

    def serves(self):
        """It first reads what the network has."""
        def answers():
            try:
                with urllib.request.urlopen(
                        f"http://127.0.0.1:{self.port}/subscribe"):
                    return True
            except urllib.error.HTTPError as e:
                return e.code != 503
            except OSError:
                return False
        return wait_until(answers, 60)


class Reader:
    """All that a server of the second protocol has sent, in order."""

    def __init__(self, port):
        self.url = f"ws://127.0.0.1:{port}{EVENTS}?cursor="
        self.events = []
        threading.Thread(target=lambda: asyncio.run(self.read()),
                         daemon=True).start()

    async def read(self):
        while True:
            last = self.events[-1]["seq"] if self.events else 0
            try:
                async with websockets.connect(
                        self.url + str(last + 1), max_size=None,
                        compression=None, ping_interval=None,
                        subprotocols=["xrpc.v1.json"]) as socket:
                    async for message in socket:
                        self.events.append(json.loads(message)["payload"])
            except (OSError, websockets.WebSocketException):
                await asyncio.sleep(0.1)

    def waits(self, n):
        """For so many more."""
        until = len(self.events) + n
        return wait_until(lambda: len(self.events) >= until, 60)


# ---- Ours -------------------------------------------------------------------------

def event_of(frame):
    """Of either protocol."""
    frame = frame.get("payload", frame)
    commit = frame.get("commit", frame)
    kind = frame.get("kind") or frame["$type"].split("#")[1]
    return Event(commit.get("operation", kind), frame["did"],
                 commit.get("collection", ""), commit.get("rkey", ""),
                 commit.get("rev", frame.get("account", {}).get("status", "")))


def is_post(e):
    return e.what in ("create", "update") and e.collection == POSTS


class Harvest:
    def __init__(self, place, port, *order):
        self.place, self.order = place, order
        self.proxy = Nginx(place + "-tls", PLACE, PROXY.format(port=port),
                           tls=True, host=HOST)
        self.child, self.items = None, None

    def begin(self):
        resumed = os.path.isdir(self.place)
        self.child = start(
            [program(), "harvest", "run",
             *(["--resume"] if resumed else ["bluesky_jetstream", *self.order]),
             "--into", self.place + "/posts", "--data", self.place + "/data",
             "--set", f"fetch.resolve={HOST}:443:127.0.0.1:{self.proxy.port}",
             "--set", f"fetch.ca_file={self.proxy.place}/tls.crt", "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self, how=signal.SIGINT):
        self.child.send_signal(how)
        out, err = self.child.communicate(timeout=60)
        if how == signal.SIGINT:
            self.items = json.loads(out).get("items") if out.strip() else None
            if self.child.returncode != 75:
                check(f"{self.place}: it ends", False, err)

    def records(self, kind):
        for path in sorted(glob.glob(self.place + "/posts/20*/**/*.warc.gz",
                                     recursive=True)):
            for fields, block in records(path):
                if fields["warc-type"] == kind:
                    yield fields["warc-target-uri"], block

    def frames(self):
        """All that was archived, in order."""
        for _, block in self.records("resource"):
            yield from map(json.loads, block.splitlines())

    def cursors(self):
        return [int(url.split("&cursor=")[1])
                for url, _ in self.records("request") if "&cursor=" in url]

    def events(self):
        """How often each came."""
        return collections.Counter(map(event_of, self.frames()))

    def counted(self):
        """Those that a stream has asked for: servers send more."""
        frames = list(self.frames())
        begun = min([frames[0].get("time_us", 0)] + self.cursors())
        return {event_of(f) for f in frames if f.get("time_us", 0) >= begun}

    def table(self):
        """Addresses of posts in a table without repeated ones."""
        code, out, err = ours("archive", "export", "csv", "--dedupe",
                              self.place + "/posts")
        check(f"{self.place}: a table", code == 0, err)
        lines = list(csv.reader(io.StringIO(out, newline="")))
        return [line[lines[0].index("uri")] for line in lines[1:]]

    def is_right(self, wanted):
        """Of these none is missing; each post counts once."""
        found = self.events()
        missing = [e for e in wanted if e not in found]
        check(f"{self.place}: of {len(wanted)} events none is missing",
              wanted and not missing, missing)
        same(f"{self.place}: each post counts once", self.items,
             len(list(filter(is_post, self.counted()))))
        note(f"{self.place}: {sum(found.values())} messages, "
             f"{len(found)} events")
        code, out, err = ours("archive", "check", "--strict",
                              self.place + "/posts")
        check(f"{self.place}: archive check", code == 0, out[-400:] + err)
        return found

    def has_table(self, stand):
        table = collections.Counter(self.table())
        check(f"{self.place}: what stands is in the table, once",
              stand and table == collections.Counter(stand),
              f"more: {sorted(table - collections.Counter(stand))[:3]}, "
              f"missing: {sorted(set(stand) - set(table))[:3]}")


# ---- The first server -------------------------------------------------------------

def is_for_us(e):
    return e.collection in (POSTS, "")


def first(place):
    relay = Relay(seed=time.time_ns())
    server = First(place, relay)
    harvest = Harvest("first", server.port)

    def takes_up(act):
        """The relay rests meanwhile: where a stream goes over from what was to
        what comes, this server loses what comes in just then."""
        relay.at_rate(0)
        live = server.says(server.LIVE)
        act()
        check("first: it is taken up", server.waits(server.LIVE, live))
        relay.at_rate(RATE)

    relay.add(100)
    n = server.says(server.JOINED)
    harvest.begin()
    check("first: the stream has begun", server.waits(server.JOINED, n))
    begun = len(relay.events)
    relay.at_rate(RATE)
    for i in range(KILLS):
        n = len(relay.events)
        wait_until(lambda: len(relay.events) > n + 5 * RATE, 60)
        harvest.end(signal.SIGKILL)
        n = len(relay.events)
        wait_until(lambda: len(relay.events) > n + RATE, 60)
        takes_up(harvest.begin)
    # The server writes where it was every 5 seconds.
    n = len(relay.events)
    wait_until(lambda: len(relay.events) > n + 5 * RATE, 60)

    def kill_server():
        server.child.kill()
        server.child.wait()
        server.start()

    takes_up(kill_server)
    n = len(relay.events)
    wait_until(lambda: len(relay.events) > n + RATE, 60)
    relay.at_rate(0)
    relay.delete_account()
    wanted = list(dict.fromkeys(filter(is_for_us, relay.events[begun:])))
    for i in range(5):
        # What did not come before the end comes now.
        live = server.says(server.LIVE)
        harvest.end()
        found = harvest.events()
        if all(e in found for e in wanted[-20:]):
            break
        harvest.begin()
        server.waits(server.LIVE, live)
    found = harvest.is_right(wanted)
    # A stream that is taken up begins 5 s earlier, which may be before the
    # harvest has begun.
    posts = set(relay.posts)
    harvest.has_table({f"at://{e.did}/{POSTS}/{e.rkey}" for e in found
                       if is_post(e) and (e.did, e.rkey) in posts})


# ---- The second server ------------------------------------------------------------

def second(place):
    server = Second(place)
    if not check("second: it serves", server.serves()):
        return
    reader = Reader(server.port)
    harvests = [Harvest("second-" + p, server.port, "--option", "protocol=" + p,
                        "--option", "endpoint=" + HOST) for p in ("v1", "v2")]

    def begin(signal):
        for h in harvests:
            if signal:
                h.end(signal)
        reader.waits(RATE // 2)
        for h in harvests:
            h.begin()
        reader.waits(7 * RATE)

    begin(None)
    for i in range(KILLS):
        begin(signal.SIGKILL)
    # In order: killed it would give other events numbers that it had given.
    server.child.terminate()
    server.child.wait(60)
    server.start()
    check("second: it serves again", server.serves())
    reader.waits(5 * RATE)
    for h in harvests:
        h.end()
    truth = list(map(event_of, list(reader.events)))
    for h in harvests:
        found = h.events()
        at = [i for i, e in enumerate(truth) if is_post(e) and e in found]
        wanted = list(dict.fromkeys(
            e for e in truth[at[0]:at[-1] + 1] if is_for_us(e) and
            (e.what != "sync" or "v2" in h.place))) if at else []
        h.is_right(wanted)
        gone = {(e.did, e.rkey) for e in found if e.what == "delete"}
        h.has_table({f"at://{e.did}/{POSTS}/{e.rkey}" for e in found
                     if is_post(e) and (e.did, e.rkey) not in gone})


need("harvest_jetstream_real", "nginx", "openssl")
if shutil.which("go") is None:
    skip("harvest_jetstream_real", "go is not installed")
    done()
built = {version: programs(version) for version in SERVERS}
if all(built.values()):
    shutil.rmtree(cache() + "/jetstream-go", ignore_errors=True)
tasks = []
for version, task in ((FIRST, first), (SECOND, second)):
    if built[version] is None:
        skip(f"harvest_jetstream_real: {version}", "it cannot be built")
        continue
    tasks.append(threading.Thread(target=task, args=(built[version],)))
    tasks[-1].start()
for task in tasks:
    task.join()
done()
