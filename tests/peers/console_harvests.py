"""The console's views of harvests and exports, in a real browser, against the
simulator: a harvest is begun by the form, exported and downloaded, a stream is
paused, resumed and stopped, a schedule is put and deleted; text of others stays
text.  Then a broker of Social Feed Manager is under System.

CONSOLE_SHOTS=FOLDER keeps the screenshots.
"""
from concurrent.futures import ThreadPoolExecutor

from console_server import *
from rabbitmq import BIN, Rabbit, Relay
from simulated import Platforms

PACKAGES = "kombu==5.3.7", "pika==1.3.2"
if "KOMBU_IS_HERE" not in os.environ:
    os.environ["KOMBU_IS_HERE"] = "1"
    python = python_with("kombu-1", *PACKAGES)
    if python is not None:
        os.execv(python, [python, *sys.argv])
try:
    import pika
except ImportError:
    pika = None

browser = Browser("console_harvests")
sim = Platforms("--items", "100")
OPEN, PRIVATE = "mastodon.example", "private.example"
FILE, ROOT = os.path.join(PLACE, "downloaded.csv"), os.path.join(PLACE, "root")
KEY = "harvest.start.mastodon.mastodon_account"
# A port of ours that refuses connections: nobody else may listen there.
taken = socket.socket()
taken.bind(("127.0.0.1", 0))
REFUSED = taken.getsockname()[1]
# RabbitMQ starts while the browser is at work; then the relay leads to it.
relay, broker = Relay(REFUSED), None
if pika and shutil.which("epmd") and os.path.exists(BIN + "rabbitmq-server"):
    broker = ThreadPoolExecutor().submit(Rabbit)


def keep(name, what):
    with open(os.open(name + ".json", os.O_WRONLY | os.O_CREAT, 0o600),
              "w") as f:
        json.dump(what, f)
    code, out, err = ours("credential", "put", name, name + ".json", "--data",
                          "data")
    check(f"the credential {name} is kept", code == 0, err)


def message(harvest):
    return json.dumps({
        "id": harvest, "type": "mastodon_account", "path": ROOT + "/set",
        "seeds": [{"id": "1", "token": "ada"}], "options": {},
        "credentials": {"instance": "https://" + OPEN},
        "collection_set": {"id": "s"}, "collection": {"id": "c"}})


def publish(rabbit, *bodies):
    with pika.BlockingConnection(pika.ConnectionParameters(
            "127.0.0.1", rabbit.port)) as connection:
        for body in bodies:
            connection.channel().basic_publish(
                "sfm_exchange", KEY, body, pika.BasicProperties(
                    content_type="application/json", delivery_mode=2))


def is_connected():
    with open("serve.err") as f:
        return "harvest.connected side=consuming" in f.read()


def end_broker(rabbit):
    rabbit.kill()
    return True


def show_queues(rabbit):
    """One harvest waits for its platform, the next one for a slot."""
    sim.faults({"match": {"host": OPEN, "path": "/api/v1/accounts/*",
                          "from": 1},
                "fault": {"status": 429, "reset": 200}})
    check("the door finds its broker", wait_until(is_connected, 120))
    publish(rabbit, "this is no JSON", message("sfmui:1"), message("sfmui:2"))
    browser.drive("queues", server, harvest="sfmui%3A1",
                  asked={"end the broker": lambda: end_broker(rabbit)})


def lead(done):
    if done.exception() is None:
        relay.to = done.result().port


if broker:
    broker.add_done_callback(lead)
os.makedirs(ROOT)
server = Server(Site(), "data", names="".join(
    f",{h}:443:127.0.0.1:{sim.port}" for h in (OPEN, PRIVATE)), more=[
        w for s in ("fetch.ca_file=" + sim.ca, "harvest.roots=" + ROOT,
                    f"harvest.sfm_api=http://127.0.0.1:{REFUSED}",
                    f"harvest.url=amqp://guest@127.0.0.1:{relay.port}")
        for w in ("--set", s)])
keep("open", {"instance": "https://" + OPEN})
keep("stream", {"instance": "https://" + PRIVATE,
                "access_token": sim.world(PRIVATE)["tokens"]["user"]})
posts = next(len(a["posts"]) for a in sim.world(OPEN)["accounts"]
             if a["name"] == "ada")
browser.drive("harvests", server, posts=posts, file=FILE)
own = subprocess.run([program(), "archive", "export", "csv",
                      "data/harvested/posts", "-o", "-"], capture_output=True)
check("argiope archive export makes the same bytes as were downloaded",
      os.path.exists(FILE) and own.stdout.startswith(b"uri,") and
      open(FILE, "rb").read() == own.stdout, own.stderr.decode())
if broker:
    show_queues(broker.result())
else:
    skip("queues", "RabbitMQ or pika is not installed")
code, out, err = ours("token", "add", "crawler", "--scope",
                      "realtime:write,console:read", "--data", "data")
code, more, err = ours("token", "add", "looker", "--scope",
                       "realtime:read,harvest:read", "--data", "data")
time.sleep(2)
browser.drive("rights", server, crawler=out.strip(), looker=more.strip())
# In order it would wait for the broker, which is gone.
server.kill()
done()
