"""Credentials stay where they belong: harvests of every way to sign a request are
ordered over RabbitMQ, with the broker's own password in a file, and each secret is
searched for in everything that the daemon writes, tells or leaves.  What is no
secret is planted in each of these places, and found there.
"""
import glob
import resource
import secrets as chance
import shutil

from harvest_peer import *

need_kombu("harvest_canaries")

from canaries import Canaries
from peer import ours
from rabbitmq import Rabbit, need_rabbitmq
from serve import Serve
from simulated import Platforms

need_rabbitmq("harvest_canaries")
PLANTED = "planted" + chance.token_hex(8)
ODD = 'p\u00e4ss/+ "' + chance.token_hex(12)
ROOT = os.path.join(PLACE, "root")
HOSTS = (HOST, "api.twitter.com", "api.flickr.com", "www.googleapis.com",
         "api.tumblr.com", "api.weibo.com")
PATTERN = "/proc/sys/kernel/core_pattern"


class Door(Serve):
    door = "urlfrontier.listen=off",

    def __init__(self, name, user, more=()):
        super().__init__(name, [
            f"harvest.url=amqp://{user}@127.0.0.1:{rabbit.port}",
            f"harvest.password_file={PLACE}/broker.password",
            f"harvest.instance={name}", f"store.node={PLANTED}",
            f"harvest.roots=/sfm-data={ROOT}",
            "fetch.resolve=" + ",".join(f"{h}:443:127.0.0.1:{sim.port}"
                                        for h in HOSTS),
            f"fetch.ca_file={sim.ca}", *more],
            env={"ARGIOPE_NOTE": PLANTED})


def orders():
    """(type, seeds, credentials) of each way; what a stranger's API says to a
    wrong one is a failure, and good enough."""
    twitter = sim.world("api.twitter.com")["credentials"]
    flickr = sim.world("api.flickr.com")
    v1 = ("consumer_key", "consumer_secret", "access_token",
          "access_token_secret")
    yield ("mastodon.mastodon_account", [{"token": "ada"}, {"token": PLANTED}], {
        "instance": f"https://{HOST}",
        "access_token": sim.world(HOST)["tokens"]["user"]})
    yield ("twitter.twitter_user_timeline", [{"token": "ada"}],
           {k: twitter[k] for k in v1})
    yield ("twitter2.twitter_user_timeline_2", [{"token": "ada"}],
           {k: twitter[k] for k in v1[:2]})
    yield ("twitter2.twitter_search_2", [{"token": "cats"}],
           {"bearer_token": twitter["bearer_token"]})
    yield ("flickr.flickr_user", [{"token": "ada"}],
           {k: flickr[k] for k in ("key", "secret")})
    yield ("youtube.youtube_channel", [{"token": "@ada"}],
           {"key": sim.world("www.googleapis.com")["key"]})
    yield ("tumblr.tumblr_blog_posts", [{"uid": "ada"}],
           {"api_key": sim.world("api.tumblr.com")["key"]})
    yield ("weibo.weibo_timeline", [],
           {"access_token": sim.world("api.weibo.com")["token"]})
    yield ("json.json_api", [{"token": "cats"}], {"username": "somebody",
                                       "password": ODD})


API = {"label": "things", "url": f"https://{HOST}/{{seed}}", "items": "/items",
       "id": "/id", "auth": {"kind": "basic"}}
# Names and numbers of an application, no secrets.
PUBLIC = {"instance", "username"}


def order_all():
    made = []
    for kind, seeds, credentials in orders():
        for field, value in credentials.items():
            if field not in PUBLIC:
                canaries.texts[f"{kind}: {field}"] = value
        o = {"type": kind.split(".")[1], "seeds": [
                 {"id": f"s{i}", **name} for i, name in enumerate(seeds)],
             "credentials": credentials,
             "collection": {"id": PLANTED.ljust(32, "0")[:32]}}
        if kind == "json.json_api":
            o["options"] = {"api": API}
        made.append(them.order("harvest.start." + kind, **o))
    return made


def spoil():
    """A letter that cannot be worked on, since it has no id."""
    them.publish("harvest.start.flickr.flickr_user", {
        "type": "x", "note": PLANTED, "credentials": {
            "access_token": canaries.texts["letter"]}})


def dead():
    channel = them.connection.channel()
    found = []

    def take():
        m = channel.basic_get("argiope_dead", no_ack=True)
        if m is not None:
            found.append(m.body if isinstance(m.body, str)
                         else bytes(m.body).decode())
        return bool(found)
    wait_until(take, 20)
    channel.close()
    return found


def place_of(path):
    if path.endswith("/secrets.key"):
        return None
    name = os.path.basename(path)
    return "CDXJ" if ".cdxj" in name else "WARCs" if ".warc" in name else \
        "backup" if path.startswith(PLACE + "/backup/") else \
        "state" if path.startswith(ROOT) else "store"


def search(door):
    canaries.look_at_process(door.child.pid)
    canaries.look("figures", door.http("/metrics")[2] +
                  door.http("/status")[2])
    canaries.look("messages", json.dumps(them.got).encode())
    letters = dead()
    same("the letter is dead", len(letters), 1)
    canaries.look("dead letters", "\n".join(letters).encode())
    code, out, err = ours("harvest", "list", "--data", door.data)
    same("argiope harvest list", code, 0)
    shown = [out, err]
    for line in out.splitlines()[1:]:
        code, out, err = ours("harvest", "show", line.split()[0], "--data",
                              door.data)
        shown += [out, err]
    shown += ours("credential", "list", "--data", door.data)[1:]
    canaries.look("harvest show", "\n".join(shown).encode())
    code, out, err = ours("backup", "backup", "--data", door.data)
    same("argiope backup", code, 0)
    door.kill()
    with open(door.log, "rb") as f:
        canaries.look("log", f.read())
    canaries.look_at_files(door.data, place_of)
    canaries.look_at_files(ROOT, place_of)
    canaries.look_at_files(PLACE + "/backup", place_of)
    canaries.look_at_files(rabbit.place + "/log", lambda path: "broker's log")


# ---- Core files ---------------------------------------------------------------------

def cores():
    return glob.glob(PLACE + "/core*")


def crashed(door):
    """A daemon that has a credential in memory aborts; its core files."""
    sim.faults({"match": {"path": "/api/v1/accounts/*"},
                "fault": {"stall": 300, "at": 0}})
    o = them.order(seeds=[{"id": "s", "token": "ada"}], credentials={
        "instance": f"https://{HOST}", "access_token":
        canaries.texts["mastodon.mastodon_account: access_token"]})
    them.wait(lambda: them.words(o))
    door.child.send_signal(6)
    door.child.wait(60)
    sim.faults()
    return cores()


def leave_cores(user):
    with open(PATTERN) as f:
        pattern = f.read().strip()
    if pattern.startswith("|") or "/" in pattern:
        return skip("core files", f"{PATTERN} is {pattern}")
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    same("a daemon leaves no core file", crashed(Door("quiet", user)), [])
    found = crashed(Door("loud", user, ["secrets.core_dumps=on"]))
    if check("secrets.core_dumps=on: it does", len(found) == 1, found):
        with open(found[0], "rb") as f:
            check("... and there the search finds a secret", canaries.texts[
                "mastodon.mastodon_account: access_token"].encode()
                in f.read())
        os.unlink(found[0])


os.makedirs(ROOT)
rabbit = Rabbit()
sim = Platforms("--items", "60", "--budget", "100000")
canaries = Canaries(planted=PLANTED, broker=chance.token_hex(12),
                    letter=chance.token_hex(12), kept=chance.token_hex(12))
with open(PLACE + "/broker.password", "w") as f:
    f.write(canaries.texts["broker"] + "\n")
os.chmod(PLACE + "/broker.password", 0o600)
rabbit.ctl("add_user", "spider", canaries.texts["broker"])
rabbit.ctl("set_permissions", "spider", ".*", ".*", ".*")
with open(PLACE + "/kept.json", "w") as f:
    json.dump({"instance": f"https://{HOST}",
               "access_token": canaries.texts["kept"]}, f)
os.chmod(PLACE + "/kept.json", 0o600)
door = Door("door-" + PLANTED, "spider")
them = Requester(rabbit)
code, out, err = ours("credential", "put", PLANTED, PLACE + "/kept.json",
                      "--data", door.data)
same("argiope credential put", code, 0)
# Until a queue is declared its messages go nowhere; this one is the last.
check("the daemon has its queues", wait_until(
    lambda: "argiope_dead" in rabbit.ctl("-q", "list_queues", "name"), 30))
made = order_all()
spoil()
for o in made:
    f = them.final(o, 60)
    check(f"{o['type']}: it ends", f is not None, door.said())
    note(f"{o['type']}: {f and f['status']}: {f and f['errors']}")
search(door)
canaries.compare("WARCs", "CDXJ", "store", "backup", "log", "messages",
                 "dead letters", "figures", "harvest show", "/proc: cmdline",
                 "/proc: environ")
leave_cores("spider")
done()
