"""kill -9 of daemon, spawner, script process, remote worker and PostgreSQL while
tasks run, items are added and configurations are loaded: nothing that was
acknowledged is lost, no run is applied twice, no pair is leased twice at a time
or stuck, no process outlives its daemon, and the checks of items and archive find
nothing.  On PostgreSQL two daemons share the store.

usage: items_kills.sh [ROUNDS [SEED]]
       items_kills_postgresql.sh [ROUNDS [SEED]]
"""
import datetime
import http.server
import re

from items_peer import *

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 10
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
PG = os.environ.get("ITEMS_PG")
LEASE_MS, CLAIMANTS, WORDS = 3000, 3, 2
ADDED = 100                 # items in a round, of each kind
WAITING_MAX = 1500          # pairs, above which none are added
TAGS = {"k:count": "count", "w:words": "words", "j:count": "script",
        "j:page": "script"}

rng = random.Random(SEED)
over = threading.Event()
tally = {}


def count(what, n=1):
    with lock:
        tally[what] = tally.get(what, 0) + n


# ---- The site, and the tasks -----------------------------------------------------

class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        text = f"<title>{self.path}</title>".encode()
        fine = self.path != "/robots.txt"
        time.sleep(0.02)
        self.send_response(200 if fine else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *words):
        pass


class Site(http.server.ThreadingHTTPServer):
    """Clients that are killed are expected."""

    def handle_error(self, request, address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, address)


MODULE = """
const often = { retries: 100, backoff: "100ms", backoffMax: "200ms",
    lease: "3s" };
export default {
  tags: { count: ["k:count"], words: ["w:words"],
      script: ["j:count", "j:page", "j:mark"] },
  fetch: { policy: { rate_limit: 0 }, private: ["127.0.0.1:PORT"] },
  tasks: {
    "k:count": { version: "1", remote: true, ...often },
    "w:words": { version: "1", remote: true, ...often },
    "j:count": { version: "1", ...often, run({ updateData }) {
      updateData((old) => ({ ...old, n: old.n + 1 }));
    } },
    "j:page": { version: "1", ...often,
        async run({ item, fetch, updateMetadata }) {
      const page = await fetch("http://127.0.0.1:PORT/" + item.id);
      updateMetadata(() => ({ url: page.url }));
    } },
    // A new version in each loading; what it does may be done again.
    "j:mark": { version: "VERSION", ...often, run({ updateMetadata }) {
      updateMetadata(() => ({ version: "VERSION" }));
    } }
  }
};
"""


class Config:
    """The file that all daemons load."""

    def __init__(self, port):
        self.path, self.port = os.path.join(PLACE, "kills.js"), str(port)
        self.version = 0
        self.change()

    def change(self):
        self.version += 1
        with open(self.path + ".new", "w") as f:
            f.write(MODULE.replace("PORT", self.port).replace(
                "VERSION", str(self.version)))
        os.rename(self.path + ".new", self.path)


# ---- Processes ---------------------------------------------------------------------

def children_of(pid):
    """The numbers of a process's children, and theirs."""
    found = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as f:
                found += map(int, f.read().split())
    except OSError:
        pass
    return found + [y for x in found for y in children_of(x)]


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        count("already gone")


def end_soon(what, pids):
    """Within a second, as script_native_test asserts; here others compete."""
    began = time.monotonic()
    gone = wait_until(lambda: not any(map(lives, pids)), 10, 0.02)
    tally["slowest end, ms"] = max(tally.get("slowest end, ms", 0), int(
        1000 * (time.monotonic() - began)))
    if not gone:
        check(f"{what}: no process lives on", False, pids)


def server_process():
    with open(PG + "/data/postmaster.pid") as f:
        return int(f.readline())


def start_server():
    """As soon as the processes of the one before have ended."""
    command = [os.environ["ITEMS_PG_BIN"] + "/pg_ctl", "start", "-w", "-s",
               "-D", PG + "/data", "-l", PG + "/log", "-o",
               f"-k {PG} -c listen_addresses= -c fsync=on"]
    if os.geteuid() == 0:
        command = ["runuser", "-u", "postgres", "--"] + command
    return wait_until(lambda: subprocess.run(
        command, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL).returncode == 0, 30, 0.1)


# ---- Clients, each with what it was told ---------------------------------------------

class Ledger:
    def __init__(self, daemons):
        self.daemons = daemons
        self.added = set()          # ids that /items/add has answered for
        self.applied = set()        # (task, id) that a worker was told of
        self.held = {}              # id -> (who, until)
        self.twice, self.odd = [], []
        self.events = {}            # cursor -> line, as a reader got them
        self.out_of_order = []

    def ask(self, *question, **more):
        """Asks any daemon until there is an answer."""
        while not over.is_set():
            try:
                status, value = random.choice(self.daemons).ask(*question,
                                                                **more)
                if status in (200, 201):
                    return value
                if status != 503:
                    self.odd.append((question[1], status, value))
            except (OSError, http.client.HTTPException, ValueError):
                pass
            time.sleep(0.05)
        return None

    def add(self, round):
        for tag, data in (("count", {"n": 0}), ("script", {"n": 0}),
                          ("words", {"text": "some words"})):
            ids = [f"{tag}:{round}:{i}" for i in range(ADDED)]
            if self.ask("POST", "/items/add", "".join(json.dumps({
                    "id": id, "tags": [tag], "data": data}) + "\n"
                    for id in ids), LINES):
                self.added |= set(ids)

    def take(self, who, leases):
        """A lease that is held must have ended before, by the daemons' clock."""
        now = datetime.datetime.now(datetime.timezone.utc)
        with lock:
            for x in leases:
                other, until = self.held.get(x["item"]["id"], (None, now))
                if until > now:
                    self.twice.append((x["item"]["id"], other, who,
                                       str(until - now)))
                self.held[x["item"]["id"]] = (
                    who, datetime.datetime.fromisoformat(x["lease_until"]))

    def told(self, leases, results):
        for x, r in zip(leases, results):
            with lock:
                if r["status"] == "applied":
                    self.applied.add(("k:count", x["item"]["id"]))
                elif r["status"] != "lease_lost":
                    self.odd.append(r)
                self.held.pop(x["item"]["id"], None)

    def work(self, who):
        """Claims, and completes what it claimed in time."""
        while not over.is_set():
            asked = time.monotonic()
            found = self.ask("POST", "/worker/claim", {
                "worker": who, "tasks": ["k:count"], "max": 10,
                "wait_ms": 500, "lease_ms": LEASE_MS})
            leases = found["leases"] if found else []
            self.take(who, leases)
            time.sleep(random.random() * 0.2)
            # What came so late that it may have ended is left alone.
            if not leases or time.monotonic() - asked > LEASE_MS / 2000:
                continue
            found = self.ask("POST", "/worker/complete", {"completions": [
                {"lease": x["lease"], "outcome": "success", "mutations": [
                    {"op": "updateData", "id": x["item"]["id"],
                     "rev": x["item"]["rev"],
                     "data": {"n": x["item"]["data"]["n"] + 1}}]}
                for x in leases]})
            self.told(leases, found["results"] if found else [])

    def updates(self, since):
        """[(cursor, line)]"""
        text = self.ask("GET", f"/updates?since={since}&limit=1000") or b""
        return [(int(json.loads(x)["cursor"]), x) for x in text.splitlines()]

    def read(self):
        """Follows the events; each once, in order, over all kills."""
        last = 0
        while not over.is_set():
            found = self.updates(last)
            for cursor, line in found:
                if cursor <= last:
                    self.out_of_order.append((last, cursor))
                last, self.events[cursor] = cursor, line
            if not found:
                time.sleep(0.1)


class Words:
    """examples/worker.py; it ends when its daemon does, and is hired again."""

    def __init__(self, number, daemons):
        self.log, self.daemons = f"words-{number}.log", daemons
        self.child = None

    def keep(self):
        if self.child is None or self.child.poll() is not None:
            with open(self.log, "a") as log:
                self.child = start(
                    [sys.executable, SOURCE + "/examples/worker.py",
                     random.choice(self.daemons).url, "w:words"],
                    stdout=log, stderr=subprocess.DEVNULL)

    def applied(self):
        with open(self.log) as f:
            return {("w:words", x.split()[0]) for x in f
                    if x.endswith(" applied\n")}


# ---- Rounds --------------------------------------------------------------------------

class Rounds:
    def __init__(self, daemons, config, ledger, words):
        self.daemons, self.config = daemons, config
        self.ledger, self.words = ledger, words
        self.victims = [self.daemon, self.spawner, self.script, self.worker,
                        self.load] + ([self.postgresql] if PG else [])

    def daemon(self):
        s = rng.choice(self.daemons)
        below = children_of(s.child.pid)
        s.kill()
        end_soon("daemon", below)
        s.start()

    def spawner(self):
        s = rng.choice(self.daemons)
        pids = children_of(s.child.pid)
        if pids:
            kill(pids[0])
            end_soon("spawner", pids)

    def script(self):
        pids = children_of(rng.choice(self.daemons).child.pid)[1:]
        if not pids:
            count("no script process")
        for pid in pids[:1 + rng.randrange(3)]:
            kill(pid)

    def worker(self):
        x = rng.choice(self.words)
        if x.child.poll() is None:
            x.child.kill()
            x.child.wait()

    def load(self):
        """All daemons at once load what has changed."""
        self.config.change()
        asking = [threading.Thread(target=self.reload, args=(s,))
                  for s in self.daemons]
        for t in asking:
            t.start()
        return asking

    def load_at_last(self):
        """The last version, by each daemon, whatever comes in between."""
        self.config.change()
        for s in self.daemons:
            check(f"{s.name}: the last configuration is in force", wait_until(
                lambda: s.ask("POST", "/items-config/reload")[0] == 200, 20))

    def reload(self, s):
        try:
            status, value = s.ask("POST", "/items-config/reload")
            # It is still being loaded, after a start.
            while status == 409 and not over.is_set():
                time.sleep(0.05)
                status, value = s.ask("POST", "/items-config/reload")
            if status not in (200, 503):
                self.ledger.odd.append(("reload", status, value))
        except (OSError, http.client.HTTPException):
            count("loads that a kill met")

    def postgresql(self):
        kill(server_process())
        if not start_server():
            check("PostgreSQL starts again", False)

    def run(self, number):
        counts = counts_of(self.ledger)
        if sum(unfinished(c) for c in counts.values()) < WAITING_MAX:
            self.ledger.add(number)
        for x in self.words:
            x.keep()
        time.sleep(rng.random() / 2)
        if any(map(unfinished, counts_of(self.ledger).values())):
            count("rounds that met work")
        loading = []
        chosen = [self.victims[number % len(self.victims)]]
        # Sometimes a second one meets the restart after the first.
        if rng.random() < 0.3:
            chosen.append(rng.choice(self.victims))
        for victim in chosen:
            count(victim.__name__)
            loading += victim() or []
        for t in loading:
            t.join()


def counts_of(ledger):
    """{task: its pairs by state}"""
    found = ledger.ask("GET", "/tasks") or {"tasks": []}
    return {t["task"]: t["counts"] for t in found["tasks"]}


def unfinished(counts):
    return sum(counts.values()) - counts["fresh"]


def all_updates(ledger):
    found, last = {}, 0
    while True:
        more = ledger.updates(last)
        if not more:
            return found
        found.update(more)
        last = more[-1][0]


def computes(pid):
    """For longer than its own start takes."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            ticks = int(f.read().rsplit(")", 1)[1].split()[11])
    except OSError:
        return False
    return ticks / os.sysconf("SC_CLK_TCK") > 0.1


def lost_reader():
    """A process that is killed while it reads the configuration: read again."""
    path = os.path.join(PLACE, "slow.js")
    with open(path, "w") as f:
        f.write("for (let i = 0; i < 5e7; i++);\n"
                "export default { tags: {}, tasks: {} };\n")
    s = Items("reader", config=path)
    with open(s.log) as log:
        log.seek(0, os.SEEK_END)
        s.restart(kill=True)
        kill(wait_until(lambda: [
            x for x in children_of(s.child.pid)[1:] if computes(x)])[0])
        told = []

        def is_loaded():
            told.extend(re.findall(r"items\.config_\w+", log.read()))
            return told[-1:] == ["items.config_loaded"]
        wait_until(is_loaded, 20)
    same("a configuration whose reader was killed", told,
         ["items.config_refused", "items.config_loaded"])
    s.stop()


# ---- What must be true at the end ----------------------------------------------------

def stored(item, task):
    """What a task has stored about an item."""
    return item["metadata"].get(task) or {}


def compare(ledger, words, config):
    events = all_updates(ledger)
    missing = [c for c in ledger.events if c not in events]
    same("events: what a reader got is in the store", missing[:3], [])
    first, last = min(ledger.events), max(ledger.events)
    same("events: a reader missed none", [
        c for c in events if first <= c <= last and c not in ledger.events]
        [:3], [])
    same("events: in order, each once", ledger.out_of_order[:3], [])
    done_n = {}
    for line in events.values():
        e = json.loads(line)
        if e["type"] == "task.done":
            pair = (e["task"], e["id"])
            done_n[pair] = done_n.get(pair, 0) + 1
    same("runs: each was applied once", [
        p for p, n in done_n.items() if n > 1 and p[0] != "j:mark"][:3], [])
    for x in words:
        ledger.applied |= x.applied()
    same("runs: none that was acknowledged is lost",
         sorted(ledger.applied - set(done_n))[:3], [])
    items = {x["id"]: x for x in map(json.loads, ledger.ask(
        "GET", "/items?metadata=j:mark,j:page,w:words",
        Accept=LINES).splitlines())}
    same("items: all that were acknowledged are there, and no others",
         (sorted(ledger.added - set(items))[:3],
          sorted(set(items) - ledger.added)[:3]), ([], []))
    same("items: what was counted is 1", [
        id for id, x in items.items() if x["data"].get("n", 1) != 1][:3], [])
    same("items: every pair has run", [
        (t, id) for t, tag in TAGS.items() for id in items
        if id.startswith(tag + ":") and done_n.get((t, id), 0) != 1][:3], [])
    same("items: the last version has run everywhere", [
        id for id, x in items.items() if id.startswith("script:") and
        stored(x, "j:mark").get("version") != str(config.version)][:3],
        [])
    return items, len(done_n), len(ledger.applied)


def main():
    site = Site(("127.0.0.1", 0), Page)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    config = Config(site.server_address[1])
    names = ["one", "two"] if PG else ["one"]
    store = database("kills")
    daemons = []

    # Both load the first configuration at once.
    def begin(name):
        s = Items(name, ["store.node=" + name], config.path, store=store)
        with lock:
            daemons.append(s)
    starting = [threading.Thread(target=begin, args=(n,)) for n in names]
    for t in starting:
        t.start()
    for t in starting:
        t.join()
    same("daemons that run", sorted(s.name for s in daemons), names)
    same("one generation", {s.ask("GET", "/items-config")[1]["generation"]
                            for s in daemons}, {1})
    ledger = Ledger(daemons)
    words = [Words(i, daemons) for i in range(WORDS)]
    rounds = Rounds(daemons, config, ledger, words)
    threads = [threading.Thread(target=ledger.read)] + [
        threading.Thread(target=ledger.work, args=(f"claimant {i}",))
        for i in range(CLAIMANTS)]
    for t in threads:
        t.start()
    try:
        finish(rounds, threads)
    finally:
        over.set()
    site.shutdown()


def finish(rounds, threads):
    ledger, words, daemons = rounds.ledger, rounds.words, rounds.daemons
    began = time.monotonic()
    for number in range(ROUNDS):
        rounds.run(number)
    rounds.load_at_last()
    note(f"{ROUNDS} rounds in {time.monotonic() - began:.0f} s, seed {SEED}: "
         f"{tally}")
    check("most kills came during work", tally.get(
        "rounds that met work", 0) > 0.8 * ROUNDS, tally)

    def keep_on():
        for x in words:
            x.keep()
        return not any(map(unfinished, counts_of(ledger).values()))
    check("every pair is fresh at the end", wait_until(
        keep_on, 120, 0.3), counts_of(ledger))
    for task in TAGS:
        for g in (ledger.ask("GET", f"/tasks/{task}/failures?group=message")
                  or {"groups": []})["groups"]:
            note(f"{task} failed {g['n']} times: {g['message'][:200]}")
    time.sleep(0.5)
    items, pairs, told = compare(ledger, words, rounds.config)
    note(f"{len(items)} items, {pairs} pairs with runs, {told} runs and "
         f"{len(ledger.events)} events acknowledged")
    over.set()
    for t in threads:
        t.join()
    same("no pair was leased twice at a time", ledger.twice[:3], [])
    same("nothing odd was answered", ledger.odd[:3], [])
    captured = set()
    for s in daemons:
        same(f"{s.name}: the end", s.stop(), 0)
        archive_is_sound(f"{s.name}: argiope archive check", s.data)
        captured |= {r["url"] for r in rows(s.data)}
        with open(s.log, errors="replace") as f:
            text = f.read()
        check(f"{s.name}: nothing failed inside", not re.search(
            r"assert|CHECK|Sanitizer|signal 11", text), text[-600:])
    same("every stored page is archived", [
        id for id, x in items.items() if id.startswith("script:") and
        stored(x, "j:page").get("url") not in captured][:3], [])
    code, out, err = ours("items", "check", "--data", daemons[0].data,
                          *daemons[0].store, seconds=300)
    check("argiope items check finds nothing", code == 0, out + err)


try:
    if not PG:
        lost_reader()
    main()
except Exception as e:
    check("goes to its end", False, "line %s: %s %s" % (
        [f.lineno for f in traceback.extract_tb(e.__traceback__)],
        type(e).__name__, e))
done()
