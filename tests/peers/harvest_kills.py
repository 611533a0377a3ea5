"""SIGKILL of the daemon while it harvests lists and streams and makes exports, all
ordered by a broker.

usage: harvest_kills.sh [KILLS [SEED]]

Each turn orders a harvest of lists and an export; every other turn has streams,
too, which get posts, and which are stopped now or in a later turn.  Half of the
kills come after the n-th change of a file since the orders were sent, spread over
all that such a turn makes (tests/peers/faults.c): rows, WARC files, their places,
state.json, files of exports, the outbox.  The others come at random.  Each process
is killed while it takes up what the last one has left.  In the end:

    no WARC file is lost, each is told of under one id, with its SHA-1
    each message that was in the outbox at a kill has come, under its id; a final
    status has another one only where its start message came again
    of a list each post is in the files once: no page that was durable was asked
    for again
    of a stream no post is missing between the first one and the last one
    what was counted is what is in the files; state.json was never ahead of them
    each export has the bytes of one that was never killed
    the outbox is empty, and nothing but final statuses follows a final one

One of the killed goes on from a backup; and `archive reindex --rebuild` finds all
harvests in the files.
"""
import datetime
import random
import shutil
import sqlite3

from harvest_peer import *

need_kombu("harvest_kills")

from harvest_items import (POST, address_of, bluesky_posts_of, frames_of,
                           mastodon_posts_of, tweets_of)
from peer import faults, ours
from rabbitmq import Rabbit, need_rabbitmq
from serve import Serve
from simulated import Platforms

need_rabbitmq("harvest_kills")
KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 4
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
rng = random.Random(SEED)
UNDER = os.path.join(PLACE, "under")
ROOT = os.path.join(UNDER, "root")
GO = os.path.join(PLACE, "go")
COUNT = os.path.join(PLACE, "count")
STREAMED, TWITTER, JETSTREAM = (
    "private.example", "api.twitter.com", "jetstream2.us-east.bsky.network")
HOSTS = HOST, STREAMED, TWITTER, "stream.twitter.com", JETSTREAM
EXPORT_KEY = "export.start.mastodon.mastodon_account"
EXPORTED = "e" * 32              # the collection of the first harvest
FORMATS = "csv", "json_full", "dehydrate"
STREAM_PATHS = ("/api/v1/streaming/public", "/1.1/statuses/filter.json",
                "/subscribe")
SECONDS_OF_A_LIST = 1.5
# A stream that was killed cannot be told from one that Twitter has cut.
GIVEN_UP = "ended 5 times in a row without a line"
tally = collections.Counter()
library = faults()
if library is None:
    skip("harvest_kills", "there is no compiler")
    done()
os.makedirs(ROOT)


def dying(at):
    """What has the daemon die after so many changes once GO is there."""
    return {"LD_PRELOAD": library, "FAULT_UNDER": UNDER,
            "FAULT_TRACE": "/dev/null", "FAULT_KILL_AT": str(at),
            "FAULT_KILL_FROM": GO, "FAULT_COUNT": COUNT}


def start(at=0):
    """The daemon; 0: it does not die."""
    if os.path.exists(GO):
        os.unlink(GO)
    forget_requests()
    door.env = dying(at) if at > 0 else {}
    try:
        door.start()
    except OSError:
        # It was killed while it took up an earlier harvest.
        check("it serves, or was killed", door.child.wait(20) == -9,
              door.said())


def is_over(o):
    return any(w in FINAL for w in them.words(o))


# ---- What is ordered --------------------------------------------------------------

def order_list(**more):
    o = them.order(
        seeds=[{"id": f"s{i}", "token": t} for i, t in enumerate(SEEDS)],
        credentials={"instance": f"https://{HOST}", "access_token": TOKEN},
        **more)
    lists.append(o)
    return o


def order_export():
    o = them.order(EXPORT_KEY, collection={"id": EXPORTED},
                   format=FORMATS[len(exports) % len(FORMATS)])
    o["place"] = o["path"].replace("/sfm-data", ROOT)
    exports.append(o)
    return o


class Streams:
    """Of one type, one after the other."""

    def __init__(self, kind, platform, queue, host, account, items_of,
                 fields):
        self.kind, self.queue, self.host = kind, queue, host
        self.account, self.items_of, self.fields = account, items_of, fields
        self.orders, self.stopped = [], True
        self.key = f"harvest.start.{platform}.{kind}"

    def begin(self):
        """Another one, when the last one is over."""
        if all(map(is_over, self.orders)):
            self.orders.append(them.order(self.key, type=self.kind,
                                          **self.fields))
            self.stopped = False

    def add(self, n):
        sim.own("change", {"host": self.host, "add": {
            "account": self.account, "n": n}})

    def stop(self):
        if not self.stopped:
            self.stopped = True
            them.publish(self.key.replace("start", "stop"),
                         {"id": self.orders[-1]["id"]})

    def items(self, o):
        return [i for path in placed(ROOT, o) for i in self.items_of(path)]

    def shown(self):
        """What the platform has shown since the world was made."""
        world = sim.world(self.host)
        if self.kind == "bluesky_jetstream":
            return [f"at://{e['did']}/{POST}/{e['rkey']}" for e in
                    world["events"] if e["collection"] == POST]
        return world["public"]


def begin_streams():
    for s in streams:
        s.begin()


def stop_streams():
    for s in streams:
        s.stop()


def forget_requests():
    """The simulator's log is of one process, which has ended; pages of lists are
    counted."""
    tally["pages asked for"] += sum(
        x["host"] == HOST and x["path"].endswith("/statuses")
        for x in sim.log())
    sim.own("forget", {})


def turn(with_streams):
    """Orders of a turn; GO begins the count of changes."""
    open(GO, "w").close()
    if with_streams:
        begin_streams()
    return order_list(), order_export()


def posts_come(n=3):
    for s in streams:
        s.add(n)


def are_connected():
    """All streams of this turn."""
    return {x["path"] for x in sim.log()} >= set(STREAM_PATHS)


def seconds_of_a_turn(i, with_streams):
    """Until a kill by the clock.  Bytes of a stream are durable after 5 s: half
    of its kills come later."""
    return rng.random() * SECONDS_OF_A_LIST + (
        5 if with_streams and i % 8 < 4 else 0)


# ---- Kills ------------------------------------------------------------------------

def state_is_behind(o):
    """What state.json says was seen lies in files that are in their places."""
    try:
        with open(f"{ROOT}/{o['id']}/state.json") as f:
            values = [v for section in json.load(f).values()
                      for v in section.values()]
    except FileNotFoundError:
        return True
    tally["states that were read"] += 1
    files = placed(ROOT, o)
    if o["type"] == "bluesky_jetstream":
        last = max((f["time_us"] for p in files for f in frames_of(p)),
                   default=0)
        return all(int(v) <= last or is_a_beginning(int(v), files)
                   for v in values)
    there = {p for x in files for p in posts_of(x)}
    return all(v in there for v in values)


def is_a_beginning(us, files):
    """The state of a stream without a frame is when it began: a moment after its
    handshake's date."""
    dates = (datetime.datetime.fromisoformat(
        f["warc-date"].replace("Z", "+00:00")).timestamp() * 1e6
        for p in files for f, block in records(p)
        if block.startswith(b"HTTP/1.1 101 "))
    return any(0 <= us - date < 10e6 for date in dates)


def times_known(o):
    """How often its start message came again, and was answered again."""
    with open(door.log, errors="replace") as f:
        return len(re.findall(f'harvest.known \\w+="{o["id"]}"', f.read()))


def in_outbox():
    """Ids of messages that a dead daemon has not got rid of, by harvest; read
    from a copy, so that the next one finds what the last one has left."""
    copy = PLACE + "/outbox"
    os.makedirs(copy)
    for path in glob.glob(door.data + "/store.db*"):
        shutil.copy2(path, copy)
    with sqlite3.connect(copy + "/store.db") as db:
        found = db.execute("SELECT harvest, message_id FROM outbox").fetchall()
    db.close()
    shutil.rmtree(copy)
    return found


def is_done(orders, with_streams):
    return all(map(is_over, orders)) and (not with_streams or all(
        is_over(s.orders[-1]) for s in streams))


def live(orders, with_streams, stops, until):
    """Take messages and give posts until that moment, or the daemon's end, or
    until nothing is left to do: then it is true."""
    connected = None
    next_posts = 0.0
    while door.runs() and (now := time.monotonic()) < until:
        if with_streams and connected is None and are_connected():
            connected = now
        if with_streams and connected is not None and now > next_posts:
            next_posts = now + 0.3
            if stops and now > connected + 1:
                stop_streams()
            else:
                posts_come()
        if stops is not None and is_done(orders, with_streams):
            return True
        them.wait(lambda: False, 0.05)
    return False


def die(orders, with_streams, by_change, seconds):
    """Kill it, unless a change of a file does so; at the latest when nothing is
    left to do."""
    # Streams that a change of a file may kill are stopped in their turn.
    stops = with_streams if by_change else None
    done = live(orders, with_streams, stops, time.monotonic() + seconds)
    tally["kills by a change of a file" if not door.runs() else
          "kills when all was done" if done else "kills by the clock"] += 1
    door.kill()
    them.wait(lambda: False, 0.1)
    pending.extend(in_outbox())
    unfinished = [o for o in lists + exports + all_streams()
                  if not is_over(o)]
    for o in unfinished:
        tally["kills that met an export" if o in exports else
              f"kills that met a {o['type']}"] += 1
        if o not in exports:
            check("state.json is not ahead of the files", state_is_behind(o),
                  o["id"])
    tally["lists that a kill may have cut"] += sum(o in lists
                                                   for o in unfinished)


def all_streams():
    return [o for s in streams for o in s.orders]


# ---- What must hold in the end ------------------------------------------------------

def one_final(o):
    f = them.final(o, 60)
    if not check(f"{o['type']}: it ends", f is not None, door.said()):
        return None
    if o["type"] == "twitter_filter" and any(
            GIVEN_UP in e["message"] for e in f["errors"]):
        tally["twitter_filter: five kills in a row before a line"] += 1
    else:
        same(f"{o['type']}: success", f["status"], "completed success")
    words = them.words(o)
    check(f"{o['type']}: nothing follows the final status",
          set(words[words.index(f["status"]):]) == {f["status"]}, words)
    ids = {i for (k, b), i in zip(them.got[o["id"]],
                                  them.message_ids[o["id"]])
           if b.get("status") in FINAL}
    check(f"{o['type']}: one final status",
          len(ids) <= 1 + times_known(o), ids)
    return f


def settled(o, items_of):
    """(final status, items in its files) of a harvest."""
    f = one_final(o)
    if f is None:
        return None, []
    files = claims_are_true(o["type"], ROOT, them, o)
    same(f"{o['type']}: files are counted", f["warcs"]["count"], len(files))
    check(f"{o['type']}: state.json is not ahead", state_is_behind(o))
    items = [i for x in files for i in items_of(x)]
    tally["files"] += len(files)
    tally[f"harvests of {o['type']}"] += 1
    tally["harvests that were taken up"] += any(
        x["code"] == "harvest_resumed" for x in f["warnings"])
    return f, items


def settled_list(o):
    f, posts = settled(o, posts_of)
    if f is None:
        return
    same("a list: each post once", collections.Counter(posts),
         collections.Counter(WANTED))
    urls = collections.Counter(u for x in placed(ROOT, o) for u in urls_of(x))
    same("a list: no page is there twice",
         [u for u, n in urls.items() if n > 1], [])
    same("a list: counted", counted(f), len(WANTED))
    check("a list: state.json is there", os.path.exists(
        f"{ROOT}/{o['id']}/state.json"))
    tally["items of lists"] += len(posts)
    tally["pages in files"] += sum("/statuses" in u for u in urls)


def settled_stream(s, o):
    f, items = settled(o, s.items_of)
    if f is None:
        return
    there = set(items)
    same(f"{s.kind}: counted", counted(f), len(there))
    tally[f"items of {s.kind}"] += len(there)
    if s.kind == "twitter_filter":
        # It cannot be asked for what came in between.
        same(f"{s.kind}: each post once", len(items), len(there))
        return
    shown = s.shown()
    at = [i for i, x in enumerate(shown) if x in there]
    missing = [x for x in shown[at[0]:at[-1]] if x not in there] if at else []
    same(f"{s.kind}: no post is missing", (len(at), missing),
         (len(there), []))


def settled_export(o):
    f = one_final(o)
    if f is None:
        return
    got = files_of(o)
    same("an export: the same bytes", got, wanted_files[o["format"]])
    tally["exports"] += 1


def files_of(o):
    """What an export has made, without its id."""
    found = {}
    for path in glob.glob(o["place"] + "/*"):
        with open(path, "rb") as f:
            found[os.path.basename(path).replace(o["id"], "")] = \
                hashlib.sha256(f.read()).hexdigest()
    return found


def messages_have_come():
    came = {i for ids in them.message_ids.values() for i in ids}
    same("each message that was in the outbox has come",
         [x for x in pending if x[1] not in came], [])
    tally["messages in the outbox at a kill"] = len({i for _, i in pending})


def pages_were_asked_once():
    """Of lists; what was asked for and is in no file was cut by a kill: a page
    that was out, and the one before it, which need not be durable yet
    (engine/harvest/driver_early.c)."""
    forget_requests()
    cut = tally["pages asked for"] - tally["pages in files"]
    check("no page was asked for again that was durable",
          0 <= cut <= 2 * tally["lists that a kill may have cut"], cut)
    tally["pages that a kill has cut"] = cut


# ---- The rest of a life ---------------------------------------------------------------

def back_up_and_restore():
    """What a killed daemon has left goes on from a backup of it.  Keys are no
    part of one."""
    copy, old = PLACE + "/copy", PLACE + "/old"
    code, _, err = ours("backup", copy, "--data", door.data)
    if not check("a backup", code == 0, err):
        return
    os.rename(door.data, old)
    code, _, err = ours("backup", "--restore", copy, "--data", door.data)
    check("a restore", code == 0, err)
    for path in glob.glob(old + "/*key*"):
        shutil.copy2(path, door.data)
    tally["restores"] += 1


def rebuilt():
    """Rows and captures of a lost data directory, from the files alone."""
    data = PLACE + "/rebuilt"
    code, _, err = ours("archive", "reindex", "--rebuild", "--data", data,
                        ROOT, seconds=120)
    same("rebuild", code, 0)
    for o in lists + all_streams():
        # A stream without an answer has no file; files do not say that a
        # harvest has failed.
        if not them.warcs(o) or them.final(o)["status"] != FINAL[0]:
            continue
        code, out, err = ours("harvest", "show", o["id"], "--json", "--data",
                              data)
        if not check("rebuild: the harvest is there", code == 0, err):
            continue
        h = json.loads(out)
        same("rebuild: type and state", (h["type"], h["state"]),
             (o["type"], "completed success"))
        same("rebuild: place", h["path"], f"{ROOT}/{o['id']}")
        same("rebuild: SHA-1 of each file",
             sorted(w["sha1"] for w in h["warcs"]),
             sorted(w["sha1"] for w in them.warcs(o).values()))
        tally["rebuilt"] += 1
    # The data knows where they are: it needs no names any more.
    there = captures("--data", PLACE + "/none", ROOT)
    same("rebuild: check sees all captures", captures("--data", data), there)
    code, out, err = ours("archive", "reindex", "--rebuild", "--data", data,
                          seconds=120)
    check("rebuild: once more, without names", code == 0 and
          f"holds {there} captures" in (out + err).replace(",", ""),
          (code, out, err))
    same("rebuild: check sees them again", captures("--data", data), there)
    same("rebuild: nothing was put beside the files",
         glob.glob(ROOT + "/*/[0-9]*/*/*/*/.*"), [])


def captures(*args):
    """How many `archive check` sees, and nothing wrong with them."""
    code, out, err = ours("archive", "check", "--json", *args)
    check("archive check", code == 0, out[-400:] + err)
    return json.loads(out.splitlines()[-1])["captures"]


def changes_so_far():
    """The end of the daemon, too."""
    door.stop(40)
    with open(COUNT) as f:
        return int(f.read())


def without_kills():
    """What exports must be; how many changes of files are made by a turn without
    streams, and by one with them."""
    open(GO, "w").close()
    first = order_list(collection={"id": EXPORTED})
    check("one without a kill: it ends", them.final(first, 40), door.said())
    for _ in FORMATS:
        o = order_export()
        check("an export without a kill: it ends", them.final(o, 40),
              door.said())
        wanted_files[o["format"]] = files_of(o)
    check("exports have files", all(wanted_files.values()), wanted_files)
    of_lists = changes_so_far()
    start(1 << 30)
    orders = turn(True)
    live(orders, True, True, time.monotonic() + 40)
    check("a turn without a kill: all ends", is_done(orders, True),
          door.said())
    check("a turn without a kill: streams have posts", all(
        counted(them.final(o)) > 0 for o in all_streams()))
    return of_lists, changes_so_far()


rabbit = Rabbit()
sim = Platforms("--items", "120", "--budget", "100000")
world = sim.world(HOST)
TOKEN = world["tokens"]["user"]
SEEDS = ("ada", "bob")
WANTED = [p for a in world["accounts"] if a["name"] in SEEDS
          for p in a["posts"]]
keys = sim.world(TWITTER)["credentials"]
ada = next(a for a in sim.world(TWITTER)["accounts"] if a["name"] == "ada")
lists, exports, pending, wanted_files = [], [], [], {}
streams = [
    Streams("mastodon_stream", "mastodon", "mastodon_stream_harvester",
            STREAMED, "ada", mastodon_posts_of, {
                "seeds": [], "credentials": {
                    "instance": f"https://{STREAMED}",
                    "access_token": sim.world(STREAMED)["tokens"]["user"]}}),
    Streams("twitter_filter", "twitter", "twitter_harvester", TWITTER, "ada",
            tweets_of, {
                "seeds": [{"id": "s0", "token": {"follow": ada["id"]}}],
                "credentials": {k: keys[k] for k in (
                    "consumer_key", "consumer_secret", "access_token",
                    "access_token_secret")}}),
    Streams("bluesky_jetstream", "bluesky", "bluesky_stream_harvester",
            JETSTREAM, "ada.example", bluesky_posts_of, {
                "seeds": [], "credentials": {}})]
door = Serve("one", [
    f"harvest.url=amqp://guest@127.0.0.1:{rabbit.port}",
    "harvest.instance=one", "urlfrontier.listen=off",
    # Streams are renewed between the kills, too.
    "harvest.web_messages=off", "warc.rollover_s=5s",
    "harvest.concurrency=mastodon_harvester=4",
    f"harvest.roots=/sfm-data={ROOT}",
    "fetch.resolve=" + ",".join(f"{h}:443:127.0.0.1:{sim.port}"
                                for h in HOSTS),
    f"fetch.ca_file={sim.ca}"], data=os.path.join(UNDER, "data"),
    env=dying(1 << 30))
them = Requester(rabbit)
wait_until(lambda: all(map(them.is_served, (
    "mastodon_harvester", "mastodon_exporter", *(s.queue for s in streams)))),
           30)
note(f"seed {SEED}")
changes = without_kills()
for i in range(KILLS):
    # Lists by a change, by the clock; streams by a change, by the clock.
    by_change, with_streams = i % 2 == 0, i % 4 >= 2
    start(1 + rng.randrange(changes[with_streams]) if by_change else 0)
    die(turn(with_streams), with_streams, by_change,
        40 if by_change else seconds_of_a_turn(i, with_streams))
    if i == KILLS // 2:
        back_up_and_restore()
start()
stop_streams()
for o in lists:
    settled_list(o)
for s in streams:
    for o in s.orders:
        settled_stream(s, o)
for o in exports:
    settled_export(o)
with open(door.log, errors="replace") as f:
    check("each answer that is read again is wanted",
          "no call wants this answer" not in f.read())
check("the outbox is empty", wait_until(
    lambda: door.metric("argiope_harvest_door_outbox_messages") == 0, 20))
them.wait(lambda: False, 0.2)
messages_have_come()
pages_were_asked_once()
same("nothing is left beside the exports", glob.glob(ROOT + "/.*.export"), [])
same("the daemon ends in order", door.stop(40), 0)
rebuilt()
note(f"changes of files in a turn: {changes[0]}, with streams {changes[1]}")
for what, n in sorted(tally.items()):
    note(f"{what}: {n}")
done()
