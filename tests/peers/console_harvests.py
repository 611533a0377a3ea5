"""The console's views of harvests, in a real browser, against the simulator: one
is begun by the form, a stream is paused, resumed and stopped, a schedule is put
and deleted; text of others stays text.

CONSOLE_SHOTS=FOLDER keeps the screenshots.
"""
from console_server import *
from simulated import Platforms

browser = Browser("console_harvests")
sim = Platforms("--items", "100")
OPEN, PRIVATE = "mastodon.example", "private.example"


def keep(name, what):
    with open(os.open(name + ".json", os.O_WRONLY | os.O_CREAT, 0o600),
              "w") as f:
        json.dump(what, f)
    code, out, err = ours("credential", "put", name, name + ".json", "--data",
                          "data")
    check(f"the credential {name} is kept", code == 0, err)


server = Server(Site(), "data", names="".join(
    f",{h}:443:127.0.0.1:{sim.port}" for h in (OPEN, PRIVATE)),
    more=["--set", "fetch.ca_file=" + sim.ca])
keep("open", {"instance": "https://" + OPEN})
keep("stream", {"instance": "https://" + PRIVATE,
                "access_token": sim.world(PRIVATE)["tokens"]["user"]})
posts = next(len(a["posts"]) for a in sim.world(OPEN)["accounts"]
             if a["name"] == "ada")
browser.drive("harvests", server, posts=posts)
code, out, err = ours("token", "add", "crawler", "--scope",
                      "realtime:write,console:read", "--data", "data")
code, more, err = ours("token", "add", "looker", "--scope",
                       "realtime:read,harvest:read", "--data", "data")
time.sleep(2)
browser.drive("rights", server, crawler=out.strip(), looker=more.strip())
server.stop()
done()
