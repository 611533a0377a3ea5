"""SIGKILL of the daemon at each step of harvests that come by a broker.

usage: harvest_kills.sh [KILLS [SEED]]

Half of the kills come after the n-th change of a file since a start message was
sent, spread over all that one harvest makes (tests/peers/faults.c): rows, WARC
files, their places, state.json, the outbox.  The others come at random.  Each
process is killed while it takes up what the last one has left.  In the end:

    no WARC file is lost, each is told of under one id, with its SHA-1
    each post is in the files once: no page that was durable was asked again
    what was counted is what is in the files; state.json was never ahead of them
    the outbox is empty, and nothing but final statuses follows a final one

One of the killed goes on from a backup; and `archive reindex --rebuild` finds all
harvests in the files.
"""
import random
import shutil

from harvest_peer import *

need_kombu("harvest_kills")

from peer import faults, ours
from rabbitmq import Rabbit, need_rabbitmq
from serve import Serve
from simulated import Platforms

need_rabbitmq("harvest_kills")
KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 8
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
rng = random.Random(SEED)
UNDER = os.path.join(PLACE, "under")
ROOT = os.path.join(UNDER, "root")
GO = os.path.join(PLACE, "go")
COUNT = os.path.join(PLACE, "count")
tally = collections.Counter()
library = faults()
if library is None:
    skip("harvest_kills", "there is no compiler")
    done()
os.makedirs(ROOT)


def start(at=0):
    """The daemon; it dies after so many changes once GO is there."""
    if os.path.exists(GO):
        os.unlink(GO)
    door.env = {} if at == 0 else {
        "LD_PRELOAD": library, "FAULT_UNDER": UNDER,
        "FAULT_TRACE": "/dev/null", "FAULT_KILL_AT": str(at),
        "FAULT_KILL_FROM": GO, "FAULT_COUNT": COUNT}
    try:
        door.start()
    except OSError:
        # It was killed while it took up an earlier harvest.
        check("it serves, or was killed", door.child.wait(20) == -9,
              door.said())


def order():
    open(GO, "w").close()
    return them.order(
        seeds=[{"id": f"s{i}", "token": t} for i, t in enumerate(SEEDS)],
        credentials={"instance": f"https://{HOST}", "access_token": TOKEN},
        options={"incremental": False})


def changes_of_one():
    """How many changes a whole harvest makes, the end of the process too."""
    start(1 << 30)
    o = order()
    check("one without a kill: it ends", them.final(o, 40), door.said())
    door.stop(40)
    with open(COUNT) as f:
        return int(f.read()), o


def state_is_behind(o):
    """What state.json says was seen lies in files that are in their places."""
    try:
        with open(f"{ROOT}/{o['id']}/state.json") as f:
            state = json.load(f)
    except FileNotFoundError:
        return True
    there = {p for x in placed(ROOT, o) for p in posts_of(x)}
    tally["states"] += 1
    return all(v in there for section in state.values()
               for v in section.values())


def die(o, seconds):
    """Wait for its end; kill it when it has none of its own."""
    until = time.monotonic() + seconds
    while door.runs() and time.monotonic() < until:
        them.wait(lambda: False, 0.05)
    tally["kills by a change" if not door.runs() else "kills by the clock"] \
        += 1
    door.kill()
    check("state.json is not ahead of the files", state_is_behind(o), o["id"])


def settled(o):
    f = them.final(o, 60)
    if not check("it ends", f is not None, door.said()):
        return
    same("success", f["status"], "completed success")
    local = claims_are_true("files", ROOT, them, o)
    posts = collections.Counter(p for x in local for p in posts_of(x))
    same("each post once", posts, collections.Counter(WANTED))
    urls = collections.Counter(u for x in local for u in urls_of(x))
    same("no page is there twice", [u for u, n in urls.items() if n > 1], [])
    same("counted", counted(f), len(WANTED))
    same("files are counted", f["warcs"]["count"], len(local))
    check("state.json is there", os.path.exists(
        f"{ROOT}/{o['id']}/state.json") and state_is_behind(o))
    words = them.words(o)
    check("nothing follows the final status",
          set(words[words.index("completed success"):]) ==
          {"completed success"}, words)
    tally["files"] += len(local)
    tally["posts"] += len(posts)
    tally["harvests"] += 1
    tally["resumed"] += any(x["code"] == "harvest_resumed"
                            for x in f["warnings"])


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
    for o in orders:
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


rabbit = Rabbit()
sim = Platforms("--items", "200")
world = sim.world(HOST)
TOKEN = world["tokens"]["user"]
SEEDS = ("ada", "bob")
WANTED = [p for a in world["accounts"] if a["name"] in SEEDS
          for p in a["posts"]]
door = Serve("one", [
    f"harvest.url=amqp://guest@127.0.0.1:{rabbit.port}",
    "harvest.instance=one", "urlfrontier.listen=off",
    "harvest.web_messages=off",
    "harvest.concurrency=mastodon_harvester=4",
    f"harvest.roots=/sfm-data={ROOT}",
    f"fetch.resolve={HOST}:443:127.0.0.1:{sim.port}",
    f"fetch.ca_file={sim.ca}"], data=os.path.join(UNDER, "data"))
them = Requester(rabbit)
wait_until(lambda: "argiope_dead" in rabbit.ctl("-q", "list_queues", "name"),
           30)
door.stop(30)
note(f"seed {SEED}")
changes, first = changes_of_one()
orders = [first]
for i in range(KILLS):
    by_change = i % 2 == 0
    start(1 + changes * (i // 2) // max(1, (KILLS + 1) // 2) if by_change
          else 0)
    o = order()
    orders.append(o)
    die(o, 15 if by_change else rng.random() * 1.5)
    if i == KILLS // 2:
        back_up_and_restore()
start()
for o in orders:
    settled(o)
check("the outbox is empty", wait_until(
    lambda: door.metric("argiope_harvest_door_outbox_messages") == 0, 20))
same("the daemon ends in order", door.stop(40), 0)
rebuilt()
note(f"changes of one harvest: {changes}")
for what, n in sorted(tally.items()):
    note(f"{what}: {n}")
done()
