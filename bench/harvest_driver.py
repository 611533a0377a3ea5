"""What bench/harvest runs of harvests themselves: the platforms' simulator, our
program, and the peers that ask the same of it; web harvests beside crawls.
"""
import json
import os
import re
import signal
import subprocess
import time
import urllib.request
import ssl

import bench

PEERS = os.path.join(bench.HERE, "peers.sh")
FEEDS = "public.api.bsky.app"
RABBITMQ = "/usr/lib/rabbitmq/bin/rabbitmq-server"
JETSTREAM = "jetstream2.us-east.bsky.network"
ACCOUNT = "ada.example"
MASTODON = "mastodon.example"
# Of Mastodon's budget, by its documentation and in the simulator.
BUDGET_CALLS, BUDGET_S = 300, 300
QUIET_S = 1.0


class Simulator:
    """tests/platforms: some platforms, all on one port of loopback."""

    def __init__(self, items):
        self.ca = os.path.join(bench.fresh(os.path.join("harvest", "sim")),
                               "ca.pem")
        self.child = bench.start(
            [bench.tool("platforms", "tests/platforms"), "--seed", "1",
             "--items", str(items), "--ca", self.ca],
            stdout=subprocess.PIPE, text=True)
        for line in self.child.stdout:
            word, _, value = line.strip().partition(" ")
            if word == "port":
                self.port = int(value)
            if word == "ready":
                break
        else:
            bench.stop("tests/platforms does not start")
        self.tls = ssl.create_default_context(cafile=self.ca)
        self.tls.check_hostname = False

    def own(self, verb, what):
        """A call of tests: budget, change."""
        url = f"https://127.0.0.1:{self.port}/.platforms/{verb}"
        with urllib.request.urlopen(
                url, json.dumps(what).encode(), context=self.tls) as a:
            a.read()

    def settings(self, *hosts):
        led = ",".join(f"{h}:443:127.0.0.1:{self.port}" for h in hosts)
        return ["--set", "fetch.resolve=" + led, "--set",
                "fetch.ca_file=" + self.ca]

    def cpu(self):
        return cpu_of(self.child.pid)

    def end(self):
        bench.end(self.child)


def cpu_of(pid):
    """Seconds of user and system, of a process that runs."""
    with open(f"/proc/{pid}/stat") as f:
        of = f.read().rsplit(")", 1)[1].split()
    return (int(of[11]) + int(of[12])) / os.sysconf("SC_CLK_TCK")


def peer(name, *words):
    """Run a peer; what it counted, seconds, seconds of processor time."""
    path = os.path.join(bench.work_folder(), "harvest", "peer.out")
    m = bench.measure([PEERS, "api", name, *map(str, words)], seconds=3600,
                      out=path, log=path + ".log")
    if m["code"] != 0:
        with open(path + ".log", errors="replace") as f:
            raise OSError(f"{name}: code {m['code']}: {f.read()[-500:]}")
    with open(path) as f:
        return json.loads(f.read()), m["wall"], m["cpu"]


def broker(what, n):
    """What harvest_broker.py says, with a RabbitMQ of its own."""
    place = bench.fresh(os.path.join("harvest", "broker"))
    done = subprocess.run(
        [PEERS, "api", "pika", what, str(n)], cwd=place, text=True,
        capture_output=True, timeout=1800, env=dict(
            os.environ, ARGIOPE=bench.program(),
            ARGIOPE_BUILD=bench.build_folder()))
    if done.returncode != 0:
        raise OSError(f"{what}: {(done.stdout + done.stderr)[-500:]}")
    return json.loads(done.stdout.splitlines()[-1])


# ---- Pages ----------------------------------------------------------------------

def our_pages(sim, out):
    """Posts of an account, all pages: their number, wall and CPU seconds."""
    log = os.path.join(bench.work_folder(), "harvest", "pages.out")
    m = bench.measure(
        [bench.program(), "harvest", "run", "bluesky_author_feed", "--seed",
         ACCOUNT, "--into", out + "/posts", "--data", out + "/data", "--json",
         *sim.settings(FEEDS)], seconds=3600, out=log, log=log + ".log")
    with open(log) as f:
        told = json.loads(f.read() or "{}")
    if m["code"] != 0:
        raise OSError(f"harvest run: code {m['code']}: {told}")
    return told["items"], m["wall"], m["cpu"]


# ---- A stream -------------------------------------------------------------------

def our_stream(sim, out, cursor):
    """Posts from a cursor on; until the process has nothing to do any more."""
    os.makedirs(out + "/posts")
    with open(out + "/posts/state.json", "w") as f:
        json.dump({"__main__": {f"jetstream.{JETSTREAM}.cursor":
                                str(cursor)}}, f)
    began = time.monotonic()
    child = bench.start(
        [bench.program(), "harvest", "run", "bluesky_jetstream", "--option",
         "incremental=true", "--into", out + "/posts", "--data", out + "/data",
         "--json", *sim.settings(JETSTREAM)], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True)
    last, since = -1.0, began
    while child.poll() is None:
        cpu, now = cpu_of(child.pid), time.monotonic()
        if cpu != last:
            last, since = cpu, now
        # The simulator works all the while, or it has sent everything.
        if now - since > QUIET_S and cpu > 0.05:
            break
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    told = child.stdout.read()
    _, _, used = os.wait4(child.pid, 0)
    child.returncode = 0
    bench.end(child)
    cpu = used.ru_utime + used.ru_stime
    return json.loads(told or "{}").get("items", 0), since - began, cpu


# ---- At the rate limit ----------------------------------------------------------

def quiet_after(child, seconds):
    """Its processor time when it has had none for so long."""
    last, since = cpu_of(child.pid), time.monotonic()
    while time.monotonic() < since + seconds:
        time.sleep(0.1)
        cpu = cpu_of(child.pid)
        if cpu > last + 0.011:
            last, since = cpu, time.monotonic()
        if child.poll() is not None:
            raise OSError("the harvest has ended before its limit")
    return last


def our_limited(sim, out, seconds):
    """The part of a core that a harvest takes which has more to ask for than its
    budget allows: its calls of one period, and the wait for the next, of which
    so many seconds are looked at.
    """
    left = BUDGET_S - time.time() % BUDGET_S
    if left < seconds + 20:
        time.sleep(left + 1)
    credential = out + "/mastodon.json"
    with open(credential, "w") as f:
        json.dump({"instance": f"https://{MASTODON}"}, f)
    os.chmod(credential, 0o600)
    child = bench.start(
        [bench.program(), "harvest", "run", "mastodon_account", "--seed", "ada",
         "--credentials-file", credential, "--into", out + "/posts", "--data",
         out + "/data", "--quiet", *sim.settings(MASTODON)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        calls = quiet_after(child, 3)
        time.sleep(seconds)
        waiting = cpu_of(child.pid) - calls
        if calls < 0.05:
            raise OSError("the harvest has made no calls")
    finally:
        child.send_signal(signal.SIGINT)
        bench.end(child, 20)
    return calls / BUDGET_S + waiting / seconds


# ---- Web ------------------------------------------------------------------------

def no_delay(data):
    """The policy `default` of a data directory: hosts are asked at once."""
    subprocess.run([bench.program(), "policy", "put", "default", "-", "--data",
                    data], input=b'{"rate_limit":0}', check=True)


def fetched(command, out, *words):
    """Fetch what was listed into a new folder; seconds, and processor seconds."""
    log = os.path.join(bench.work_folder(), "harvest", "web.out")
    no_delay(out + "/data")
    m = bench.measure([bench.program(), *command, "--data", out + "/data",
                       "--json", *words], seconds=600, out=log,
                      log=log + ".log")
    with open(log) as f:
        told = (f.read().splitlines() or ["{}"])[-1]
    if m["code"] != 0:
        raise OSError(f"{command[0]}: code {m['code']}: {told}")
    return json.loads(told), m["wall"], m["cpu"]


def our_web(urls, out):
    """A web harvest of these URLs: how many it has, seconds, processor seconds."""
    message = out + "/message.json"
    with open(message, "w") as f:
        json.dump({"id": "web", "type": "web", "path": "/", "seeds": [
            {"token": u} for u in urls]}, f)
    told, *cost = fetched(["harvest", "run", "--message", message], out,
                          "--into", out + "/pages",
                          "--set", "fetch.allow_private=on")
    return told["items"], *cost


def our_crawl(urls, out):
    """The same as a crawl without links."""
    with open(out + "/seeds", "w") as f:
        f.writelines(u + "\n" for u in urls)
    told, *cost = fetched(["crawl", "--seeds", out + "/seeds", "--depth", "0",
                           "--warc-dir", out + "/warc", "--allow-private"],
                          out)
    return told["counts"]["items"], *cost
