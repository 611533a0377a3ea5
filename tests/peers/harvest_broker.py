"""The door of harvests while its broker fails, and a ledger of every message.

usage: harvest_broker.sh [MESSAGES [KILLS [SCENE...]]]

Start messages go to the daemon and statuses and news of files come back, until
there were so many.  Meanwhile the broker is killed (-9) KILLS times, restarted,
refuses the login, takes no messages, loses a queue, cancels a consumer; confirms
are lost; nobody listens.  Every seventh start message is sent twice, and some once
more after their end.  In the end:

    each start message that the broker had confirmed: one harvest, and one final
    status, under one id unless the start message was repeated
    each message that the daemon had committed to its outbox has arrived, and its
    copies have the same id and bytes
    each file was told of under one id, with its SHA-1; each post is there once

Two daemons share the broker, and one dies between its record of a start message
and its acknowledgement, before and after its claim: one of them harvests.
"""
import random
import sqlite3

from harvest_peer import *

need_kombu("harvest_broker")

from peer import faults, ours
from rabbitmq import Rabbit, need_rabbitmq

pika = need_rabbitmq("harvest_broker")
library = faults()
if library is None:
    skip("harvest_broker", "there is no compiler")
    done()

from harvest_broker_peer import EXCHANGE, Frames, Sfm
from serve import Serve
from simulated import Platforms

MESSAGES = int(sys.argv[1]) if len(sys.argv) > 1 else 160
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
QUEUE = "mastodon_harvester"
ROOT = os.path.join(PLACE, "root")
tally = collections.Counter()


class Door(Serve):
    def __init__(self, name, url, more=(), **rest):
        self.data = os.path.join(PLACE, name)
        self.witness()
        super().__init__(name, [
            f"harvest.url={url}", f"harvest.instance={name}",
            "harvest.web_messages=off", "urlfrontier.listen=off",
            f"harvest.roots=/sfm-data={ROOT}",
            f"fetch.resolve={HOST}:443:127.0.0.1:{sim.port}",
            f"fetch.ca_file={sim.ca}", *more], data=self.data, **rest)

    def store(self, query):
        with sqlite3.connect(self.data + "/store.db", 30) as db:
            rows = db.execute(query).fetchall()
        db.close()
        return rows

    def witness(self):
        """What is committed to the outbox is noted beside it, for good."""
        with open(PLACE + "/credential.json", "w") as f:
            f.write('{"access_token": "none"}')
        os.chmod(f.name, 0o600)
        code, _, err = ours("credential", "put", "none", f.name, "--data",
                            self.data)
        same("a store", (code, err), (0, ""))
        self.store("CREATE TABLE witness (id, harvest, key, body)")
        self.store("CREATE TRIGGER witness AFTER INSERT ON outbox BEGIN "
                   "INSERT INTO witness VALUES (NEW.message_id, NEW.harvest, "
                   "NEW.routing_key, NEW.body); END")

    def count(self, word):
        """In its log."""
        with open(self.log, errors="replace") as f:
            return f.read().count(word)

    def result(self, word):
        return self.metric("argiope_harvest_door_published_total",
                           result=word) or 0


def order(*seeds, **more):
    harvest = uuid.uuid4().hex
    return dict({
        "id": harvest, "type": "mastodon_account",
        "path": f"/sfm-data/{harvest}",
        "seeds": [{"id": f"s{i}", "token": t} for i, t in enumerate(seeds)],
        "options": {}, "credentials": {"instance": f"https://{HOST}",
                                       "access_token": TOKEN},
        "collection_set": {"id": "c" * 32}, "collection": {"id": "d" * 32}},
        **more)


# ---- Traffic -----------------------------------------------------------------------

def flow():
    """The next start message; a few after the end of a fault's share."""
    if sfm.messages() >= flow.until and (not flow.fault or
                                         rng.random() < 0.8):
        return None
    tally["orders"] += 1
    n = tally["orders"]
    if n % 7 == 0:
        return repeat(list(sfm.orders)[-1])
    if n % 11 == 0 and sfm.finals:
        return repeat(rng.choice(list(sfm.finals)))
    return order() if n % 3 == 0 else order("ada")


flow.until, flow.fault = 0, False


def repeat(name):
    tally["repeated by us"] += 1
    return sfm.orders[name]


def moves(seconds=90):
    """Messages go both ways."""
    sent, come = sum(sfm.sent.values()), len(sfm.copies)
    return wait_until(lambda: len(sfm.copies) > come and
                      sum(sfm.sent.values()) > sent, seconds)


# ---- Faults ------------------------------------------------------------------------

def killed():
    rabbit.kill()
    rabbit.start()


def restarted():
    rabbit.stop()
    rabbit.start()


def refused_login():
    n = door.count("ACCESS_REFUSED")
    rabbit.ctl("change_password", "guest", "another")
    relay.cut()
    check("refused login: it is said", wait_until(
        lambda: door.count("ACCESS_REFUSED") >= n + 2, 20), door.said())
    rabbit.ctl("change_password", "guest", "guest")


def blocked():
    """The broker tells who publishes; a harvest that was held up does."""
    n = door.count("harvest.blocked")
    sim.faults({"match": {"query": "acct=bob"},
                "fault": {"stall": 8000, "at": 0}})
    late = order("bob")
    sfm.put(late)
    wait_until(lambda: any(late["id"] in body for copies in list(
        sfm.copies.values()) for _, body in copies), 30)
    rabbit.ctl("set_vm_memory_high_watermark", "0")
    check("blocked: it is said", wait_until(
        lambda: door.count("harvest.blocked") > n, 40), door.said())
    sim.faults()
    rabbit.ctl("set_vm_memory_high_watermark", "0.4")


def deleted_queue():
    """What lies in it goes with it, so nothing may."""
    n = door.count("harvest.queue_failed")
    sfm.held.set()
    with sfm.channel() as c:
        wait_until(lambda: c.queue_declare(QUEUE, passive=True)
                   .method.message_count == 0 and sfm.open() == 0, 60)
        c.queue_delete(QUEUE)
    sfm.held.clear()
    check("deleted queue: it is said", wait_until(
        lambda: door.count("harvest.queue_failed") > n, 20), door.said())


def cancelled_consumer():
    n = door.count("harvest.queue_failed")
    relay.cancels = 1
    check("cancelled consumer: it is said", wait_until(
        lambda: door.count("harvest.queue_failed") > n, 20), door.said())


def lost_confirms():
    lost, repeated = door.result("lost"), copied()
    relay.swallow = 3
    check("lost confirms: they are known to be lost", wait_until(
        lambda: door.result("lost") > lost, 30), door.said())
    check("lost confirms: the message comes again, under its id", wait_until(
        lambda: copied() > repeated, 30), door.said())


def nobody_listens():
    n = door.result("returned")
    sfm.listen(False)
    check("nobody listens: messages come back", wait_until(
        lambda: door.result("returned") > n, 30), door.said())
    sfm.listen(True)


def copied():
    return sum(len(c) > 1 for c in list(sfm.copies.values()))


def faults_in_traffic():
    faults = [killed] * KILLS + [
        refused_login, blocked, deleted_queue, cancelled_consumer,
        lost_confirms, nobody_listens] + [restarted] * (KILLS > 1)
    rng.shuffle(faults)
    for i, fault in enumerate(faults):
        flow.until = MESSAGES * (i + 1) // (len(faults) + 1)
        wait_until(lambda: sfm.messages() >= flow.until, 30 + MESSAGES / 20)
        began = time.monotonic()
        flow.fault = True
        fault()
        what = fault.__name__.replace("_", " ")
        check(f"{what}: it goes on", moves(), door.said())
        flow.fault = False
        note(f"{what}, at {flow.until}: {time.monotonic() - began:.1f} s")
        tally[what] += 1
    flow.until = MESSAGES
    check("so many messages, and every harvest ends", wait_until(
        lambda: sfm.messages() >= MESSAGES and sfm.waiting.empty() and
        sfm.open() == 0, 60 + MESSAGES / 20), door.said())


# ---- Poison ------------------------------------------------------------------------

BODY_BYTES_MAX = 16 << 20


def put_raw(body):
    with sfm.channel() as c:
        c.basic_publish("", QUEUE, body, pika.BasicProperties(
            content_type="application/json", delivery_mode=2))


def letters(n):
    """So many, taken: [(reason, body)]."""
    found = []

    def more():
        with sfm.channel() as c:
            m, p, b = c.basic_get("argiope_dead", auto_ack=True)
        if m is not None:
            found.append((p.headers["x-argiope-reason"], b))
        return len(found) >= n

    wait_until(more, 60)
    return found


def filled(bytes, **more):
    """A start message of so many bytes."""
    o = order("ada", **more)
    sfm.orders[o["id"]] = o
    text = json.dumps(dict(o, pad=""))
    return json.dumps(dict(o, pad="x" * (bytes - len(text))))


def poison():
    """Each is put aside or answered, and the queue goes on."""
    nested = order(id="deep" * 8)
    bodies = [
        ("not_json", "["  * BODY_BYTES_MAX), ("not_json", json.dumps(order("ada"))[:-9]),
        ("not_object", "[]"), ("no_id", '{"type": "mastodon_account"}'),
        ("too_large", filled(BODY_BYTES_MAX + 1, id="large" * 6)),
    ]
    for reason, body in bodies:
        put_raw(body)
        found = letters(1)
        same(f"poison, {reason}: a dead letter", [r for r, _ in found],
             [reason])
        check(f"poison, {reason}: no secret", all(
            TOKEN.encode() not in b for _, b in found))
    del sfm.orders["large" * 6]
    tally["poison"] += len(bodies)
    # These have an id, and are answered.
    put_raw(filled(BODY_BYTES_MAX))
    sfm.orders[nested["id"]] = dict(nested)
    put_raw(json.dumps(nested)[:-1] + ', "x": ' + "[" * 70000 + "]" * 70000 +
            "}")
    sfm.put(order("ada"))
    check("poison: the queue goes on", wait_until(
        lambda: set(sfm.orders) <= set(sfm.finals), 60),
        (set(sfm.orders) - set(sfm.finals), door.said()))


def reader_dies():
    """A body that ends its reader each time: with so little memory, that of a
    list of millions of numbers."""
    limited = PLACE + "/limited"
    room = memory + (150 << 10)
    with open(limited, "w") as f:
        f.write(f'#!/bin/sh\nulimit -c 0\nulimit -v {room}\nexec "{program()}" "$@"\n')
    os.chmod(limited, 0o755)
    o = order("ada", seeds=[])
    head = json.dumps(o)[:-1] + ', "x": [0'
    same("it ends in order", door.stop(40), 0)
    put_raw(head + ",0" * ((BODY_BYTES_MAX - len(head) - 2) // 2) + "]}")
    sfm.put(order("ada"))
    ends = []
    door.executable = limited
    for _ in range(4):
        door.start(ready=False)
        wait_until(lambda: not door.runs() or letters_waiting(), 30)
        if door.runs():
            break
        ends.append(door.child.wait())
    same("reader dies: three times", ends, [-6] * 3)
    found = letters(1)
    same("reader dies: then it is a dead letter", [r for r, _ in found],
         ["crashed"])
    check("reader dies: whole, and masked", found and
          found[0][1].startswith(b'{"id": "' + o["id"].encode()) and
          TOKEN.encode() not in found[0][1] and
          found[0][1].endswith(b"0]}"), str(found)[:300])
    check("reader dies: the queue goes on", wait_until(
        lambda: sfm.open() == 0, 30), door.said())
    tally["deaths of a reader"] = len(ends)
    door.executable = program()
    door.restart()


def letters_waiting():
    with sfm.channel() as c:
        return c.queue_declare("argiope_dead", passive=True) \
            .method.message_count


# ---- Letters by hand ----------------------------------------------------------------

def by_hand():
    """argiope harvest letters: list, show, send, drop."""
    def ask(*words, code=0):
        got, out, err = ours("harvest", "letters", *words, "--data",
                             door.data, "--set",
                             f"harvest.url=amqp://guest@127.0.0.1:{rabbit.port}")
        same(f"letters {' '.join(words)}: exit code", got, code)
        return out if code == 0 else err

    check("letters: none", "no dead letters" in ask())
    same("letters: none, as JSON", json.loads(ask("--json")), {"letters": []})
    with open(PLACE + "/sent.json", "w") as f:
        json.dump({"instance": f"https://{HOST}", "access_token": TOKEN}, f)
    os.chmod(f.name, 0o600)
    ours("credential", "put", "sent", f.name, "--data", door.data)
    o = order("ada")
    sfm.orders[o["id"]] = o
    masked = json.dumps(dict(o, credentials={"access_token": "***"}))
    with sfm.channel() as c:
        for body, reason in (("{no", "not_json"), (masked, "persist"),
                             ("", "too_large")):
            c.basic_publish("", "argiope_dead", body, pika.BasicProperties(
                message_id=uuid.uuid4().hex, delivery_mode=2, headers={
                    "x-argiope-reason": reason, "x-argiope-queue": QUEUE,
                    "x-argiope-exchange": EXCHANGE,
                    "x-argiope-routing-key": KEY,
                    "x-argiope-time": "2026-11-27T00:00:00.000000+00:00"}))
    wait_until(lambda: letters_waiting() == 3, 10)
    rows = json.loads(ask("--json"))["letters"]
    same("letters: in their order", [
        (r["number"], r["reason"], r["queue"], r["routing_key"], r["bytes"])
        for r in rows], [(1, "not_json", QUEUE, KEY, 3),
                         (2, "persist", QUEUE, KEY, len(masked)),
                         (3, "too_large", QUEUE, KEY, 0)])
    same("letters: for people", [line.split()[0::2][:2] for line in
                                 ask().splitlines()],
         [["1", "not_json"], ["2", "persist"], ["3", "too_large"]])
    same("letters: one", json.loads(ask("show", "1", "--json"))["body"], "{no")
    check("letters: one, for people", masked in ask("show", "2"))
    check("letters: no such one", "there are 3" in ask("show", "4", code=66))
    ask("show", "0", code=64)
    ask("send", code=64)
    ask("drop", "1", "--credential", "sent", code=64)
    check("letters: masked", "--credential" in ask("send", "2", code=65))
    ask("send", "2", "--credential", "no such", code=66)
    check("letters: not kept", "not kept" in ask("send", "3", code=65))
    same("letters: all are there yet", letters_waiting(), 3)
    ask("drop", "1")
    ask("send", "1", "--credential", "sent")
    check("letters: what was sent is harvested", wait_until(
        lambda: o["id"] in sfm.finals, 30), door.said())
    check("letters: it is gone", wait_until(
        lambda: letters_waiting() == 1, 10))
    same("letters: the last one stays", [r["reason"] for r in json.loads(
        ask("--json"))["letters"]], ["too_large"])
    ask("drop", "1")
    tally["letters by hand"] += 3


# ---- Two daemons -------------------------------------------------------------------

def between(two, at, when):
    """It dies after that change below the directory of claims: the record is
    committed, and the broker has no acknowledgement."""
    claims, go = ROOT + "/between/.argiope", f"{PLACE}/go{at}"
    same(f"{when}: it ends in order", two.stop(40), 0)
    two.env = {"LD_PRELOAD": library, "FAULT_UNDER": claims,
               "FAULT_TRACE": "/dev/null", "FAULT_KILL_AT": str(at),
               "FAULT_KILL_FROM": go}
    two.start()
    open(go, "w").close()
    check(f"{when}: both consume", wait_until(lambda: consumers() == 2, 30))
    orders = []
    while two.runs() and len(orders) < 10:
        orders.append(order("ada", path="/sfm-data/between"))
        sfm.put(orders[-1])
        wait_until(lambda: orders[-1]["id"] in sfm.finals or not two.runs(),
                   20)
    same(f"{when}: it dies", two.runs() or two.child.wait(), -9)
    name = orders[-1]["id"]
    same(f"{when}: it has the record", two.store(
        f"SELECT id FROM harvest WHERE id = '{name}'"), [(name,)])
    check(f"{when}: the other one has the message", wait_until(
        lambda: (name in sfm.finals) if when == "no claim" else
        door.count(f'harvest.claimed harvest="{name}"'), 30), door.said())
    same(f"{when}: and does what it is to do", name in sfm.finals,
         when == "no claim")
    two.env = {}
    two.start()
    check(f"{when}: it ends", wait_until(lambda: name in sfm.finals, 30),
          two.said())
    check(f"{when}: one of them has it", wait_until(
        lambda: [len(d.store(f"SELECT 1 FROM harvest WHERE id = '{name}'"))
                 for d in (door, two)] == [when == "no claim",
                                           when != "no claim"], 20))
    tally["deaths between record and ack"] += 1


def consumers():
    with sfm.channel() as c:
        return c.queue_declare(QUEUE, passive=True).method.consumer_count


def two_daemons():
    two = Door("two", f"amqp://guest@127.0.0.1:{rabbit.port}")
    doors.append(two)
    between(two, 1, "no claim")
    between(two, 6, "a claim")


# ---- The ledger --------------------------------------------------------------------

def of_starts(doors):
    """One row each, in one daemon's store; one final status."""
    rows = [r for d in doors for r in d.store("SELECT id, state FROM harvest")]
    same("each start message is one harvest", collections.Counter(
        r[0] for r in rows), collections.Counter(sfm.orders.keys()))
    same("each is over", {r[1] for r in rows if r[1] not in FINAL}, set())
    same("each had a final status", set(sfm.orders) - set(sfm.finals), set())
    wrong = {n: f["status"] for n, f in sfm.finals.items() if
             (f["status"] == FINAL[0]) != bool(sfm.orders[n]["seeds"])}
    same("success, or failure where no seed was named", wrong, {})


def of_messages(doors):
    """What was committed to be sent has come; nothing else has."""
    wanted = {r[0]: r[1:] for d in doors for r in d.store(
        "SELECT id, harvest, key, body FROM witness")}
    same("no message is missing", set(wanted) - set(sfm.copies), set())
    same("no message came that was not wanted", set(sfm.copies) - set(wanted),
         set())
    same("copies are the same", {m for m, copies in sfm.copies.items() if
                                 m in wanted and
                                 set(copies) != {wanted[m][1:]}}, set())
    finals = collections.defaultdict(list)
    for name, key, body in wanted.values():
        said = json.loads(body)
        if said.get("status") in FINAL:
            # These are said once; a restart has another process id.
            for field in "uids", "token_updates", "instance":
                del said[field]
            finals[name].append(said)
    known = set(sum((re.findall(r'harvest\.known harvest="(\w+)"', open(
        d.log).read()) for d in doors), []))
    same("one final status id, unless the start came again",
         {n for n, f in finals.items() if len(f) > 1} - known, set())
    check("and then the same once more", all(
        f == finals[n][0] for n in finals for f in finals[n]),
        [f for f in finals.values() if len(f) > 1][:1])
    tally["messages wanted"] = len(wanted)
    tally["copies that came"] = sum(map(len, sfm.copies.values()))
    tally["messages that came more than once"] = copied()
    tally["starts that came again"] = len(known)


def of_files():
    """Each was told of under one id, whole; each post is in them once."""
    posts = {a["name"]: a["posts"] for a in world["accounts"]}
    wrong = []
    for o in sfm.orders.values():
        said = {w["id"]: w for w in sfm.warcs[o["id"]]}
        local = {ROOT + w["path"].removeprefix("/sfm-data"): w
                 for w in said.values()}
        files = sorted(glob.glob(ROOT + o["path"].removeprefix("/sfm-data") +
                                 f"/20*/*/*/*/*{o['id']}*.warc.gz"))
        there = collections.Counter(p for f in files for p in posts_of(f))
        fine = sorted(local) == files and len(local) == len(said) and all(
            sha1_of(f) == w["sha1"] and os.path.getsize(f) == w["bytes"]
            for f, w in local.items()) and there == collections.Counter(
                p for s in o["seeds"] for p in posts[s["token"]])
        if not fine:
            wrong.append((o["id"], sorted(local), files, len(there)))
        tally["files"] += len(files)
        tally["posts"] += len(there)
    same("each file is announced, once, whole; each post is there once",
         wrong, [])


def ledger(doors):
    for d in doors:
        check("the outbox is empty", wait_until(lambda: d.metric(
            "argiope_harvest_door_outbox_messages") == 0, 30))
    of_starts(doors)
    of_messages(doors)
    of_files()
    tally["start messages"] = len(sfm.orders)
    tally["starts confirmed"] = sum(sfm.sent.values())
    for what, n in sorted(tally.items()):
        note(f"{what}: {n}")


SEED = random.randrange(1 << 30)
rng = random.Random(SEED)
note(f"seed {SEED}")
os.makedirs(ROOT)
rabbit = Rabbit()
sim = Platforms("--items", "20", "--budget", "10000000")
world = sim.world(HOST)
TOKEN = world["tokens"]["user"]
relay = Frames(rabbit.port)
# One arena, so that memory can be limited; see reader_dies().
door = Door("one", f"amqp://guest@127.0.0.1:{relay.port}", (
    f"harvest.concurrency={QUEUE}=8",), env={"MALLOC_ARENA_MAX": "1"})
sfm = Sfm(pika, rabbit.port)
check("it is connected", wait_until(
    lambda: door.count("harvest.connected") == 2, 30), door.said())
memory = door.memory_kib("VmPeak")
sfm.flows = flow
doors = [door]
for scene in faults_in_traffic, poison, reader_dies, by_hand, two_daemons:
    if len(sys.argv) < 4 or scene.__name__ in sys.argv[3:]:
        began = time.monotonic()
        scene()
        note(f"{scene.__name__}: {time.monotonic() - began:.1f} s")
ledger(doors)
for d in doors:
    same("the daemon ends in order", d.stop(40), 0)
done()
