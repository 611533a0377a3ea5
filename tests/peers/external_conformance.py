"""argiope external conformance: a crawler and a back end that follow the rules
pass each check, and each check fails against one that breaks it; also the
simulated back end and the crawlers of examples/external.

usage: external_conformance.sh PROGRAM
"""
import base64
import concurrent.futures
import re

from external_conformance_peers import *
from external_peer import example_crawlers
from peer import *

RUNS = 4                         # at once
SILENCE_S = 3


def conformance(*options):
    return subprocess.run([program(), "external", "conformance", *options],
                          capture_output=True, text=True, timeout=170)


def verdicts(text):
    """{name: (word, reason)} of a report."""
    found = {}
    for line in text.splitlines():
        parts = line.split(" ", 2)
        if parts[0] in ("PASS", "FAIL", "SKIP"):
            found[parts[1]] = parts[0], " ".join(parts[2:])
    return found


def names(text):
    """The checks of --list: those of a crawler, those of a back end."""
    crawler, backend = text.split("Checks of a back end:")
    return [re.findall(r"^  ([a-z]+/[0-9a-z-]+)", part, re.M)
            for part in (crawler, backend)]


def write(name, value):
    path = os.path.join(PLACE, name)
    with open(path, "w") as f:
        f.write(value if isinstance(value, str) else json.dumps(value))
    return path


OPTIONS = ["--silence", str(SILENCE_S), "--stop", "1", "--wait", "15"]
CRAWLER_OPTIONS = [
    *OPTIONS, "--token-file", write("token", TOKEN + "\n"),
    "--object", write("object.json", OBJECT),
    "--params", write("params.json", {"count": COUNT}), "--oauth",
    "--ticket-key-file", write("key", base64.b64encode(TICKET_KEY).decode())]


def judge(kind, broken=None, *options):
    """The report of a run against the peer of that kind."""
    peer = (Crawler if kind == "crawler" else Backend)(
        broken, silence_s=SILENCE_S).start()
    try:
        return conformance(f"--{kind}", peer.url, *options, *(
            CRAWLER_OPTIONS if kind == "crawler" else OPTIONS))
    finally:
        peer.stop()


# ---- Scenes --------------------------------------------------------------------

def command_line():
    for options, code, text in (
            ((), 64, "--crawler URL or by --backend"),
            (("--crawler", "http://127.0.0.1:9", "--backend",
              "http://127.0.0.1:9"), 64, "one of them"),
            (("--crawler", "no"), 65, "the peer: must be a URL"),
            (("--crawler", "http://127.0.0.1:9", "--only", "register"), 64,
             "--only register"),
            (("--crawler", "http://127.0.0.1:9", "--listen", "0.0.0.0:0"), 64,
             "loopback"),
            (("--crawler", "http://127.0.0.1:9", "--listen", "here"), 64,
             "--listen here"),
            (("--crawler", "http://127.0.0.1:9", "--params", "absent"), 66,
             "absent"),
            (("--crawler", "http://127.0.0.1:9", "--object", write(
                "bad.json", "[]")), 65, "bad.json"),
            (("--crawler", "http://127.0.0.1:9", "--object", write(
                "schema.json", {"schema": {"type": "no"}})), 65, "/type"),
            (("--crawler", "http://127.0.0.1:9", "--token-file", write(
                "empty", "\n")), 78, "no token"),
            (("--crawler", "http://127.0.0.1:9", "--ticket-key-file", write(
                "nokey", "?")), 65, "--ticket-key-file")):
        got = conformance(*options)
        same(" ".join(options)[-60:] + " is refused", got.returncode, code)
        check("... with the reason", text in got.stderr, got.stderr)
    got = conformance("--crawler", "http://127.0.0.1:9", "--only", "start",
                      "--wait", "1")
    same("a crawler that does not run fails", got.returncode, 65)
    check("... by the first check", verdicts(got.stdout).get("start/envelope",
          "")[0] == "FAIL", got.stdout)
    got = conformance("--crawler", "http://127.0.0.1:9", "--only",
                      "stop/unknown-task", "--json", "--wait", "1")
    lines = [json.loads(line) for line in got.stdout.splitlines()]
    same("JSON", [sorted(line) for line in lines], [
        ["group", "name", "reason", "result"],
        ["failed", "passed", "skipped"]])


class Flooding(Task):
    """In place of a run: uploads and statuses beyond the limits."""

    def run(self):
        s, url = self.server, urllib.parse.urlsplit(self.endpoint)
        connection = http.client.HTTPConnection(url.hostname, url.port)

        def post(path, body):
            connection.request("POST", url.path + path, body)
            answer = connection.getresponse()
            answer.read()
            return answer.status
        s.codes.append(post("/upload", b'{"a":"%s"}' % (b"x" * ((16 << 20) -
                                                                len('{"a":""}')))))
        # The port answers before the body has come.
        connection.putrequest("POST", url.path + "/upload")
        connection.putheader("Content-Length", str((16 << 20) + 1))
        connection.endheaders()
        s.codes.append(connection.getresponse().status)
        connection.close()
        s.codes += [post("/status", b'{"code":102,"message":""}')
                    for i in range(10000)]
        connection.close()


def limits():
    """Each named limit at its edge."""
    peer = Crawler(silence_s=SILENCE_S)
    peer.task_class, peer.codes = Flooding, []
    peer.start()
    conformance("--crawler", peer.url, "--only", "status/form",
                *CRAWLER_OPTIONS)
    same("an upload of 16 MiB, and one byte more", peer.codes[:2], [429, 413])
    same("10,000 arrivals", set(peer.codes[2:-1]), {200})
    same("... one more", peer.codes[-1:], [429])
    peer.stop()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        got = conformance("--crawler", peer.url, "--listen",
                          f"127.0.0.1:{taken.getsockname()[1]}")
    same("a port in use is refused", got.returncode, 75)


def unbroken(kind, checks):
    got = judge(kind)
    found = verdicts(got.stdout)
    same(f"a {kind} that follows the rules passes", got.returncode, 0)
    same("... each check was made", sorted(found), sorted(checks))
    same("... and passed", [(n, *v) for n, v in found.items()
                            if v[0] != "PASS"], [])
    same("... the last line counts them", got.stdout.splitlines()[-1:],
         [f"{len(checks)} passed, 0 failed"])


def broken(kind, name):
    group = name.split("/")[0]
    got = judge(kind, name, "--only", group)
    found = verdicts(got.stdout)
    failed = sorted(n for n, v in found.items() if v[0] == "FAIL")
    check(f"{kind}: {name} fails when it is broken",
          name in failed and got.returncode == 65, got.stdout + got.stderr)
    if failed != [name]:
        note(f"{name} also fails {', '.join(n for n in failed if n != name)}")


def all_broken(crawler, backend):
    runs = [("crawler", name) for name in crawler] + \
        [("backend", name) for name in backend]
    with concurrent.futures.ThreadPoolExecutor(RUNS) as pool:
        for run in [pool.submit(broken, *r) for r in runs]:
            run.result()


def simulator(checks):
    """The back end that Argiope itself simulates."""
    child = start([program(), "external", "simulate-backend", "--listen",
                   "127.0.0.1:0", "--silence", str(SILENCE_S)],
                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    url = re.search(r"http://\S+", child.stdout.readline())[0]
    got = conformance("--backend", url, *OPTIONS)
    found = verdicts(got.stdout)
    same("the simulated back end passes", [(n, *v) for n, v in found.items()
                                           if v[0] != "PASS"], [])
    same("... each check was made", sorted(found), sorted(checks))
    got = conformance("--backend", url, "--seed-only", *OPTIONS)
    same("... without extensions", [n for n in verdicts(got.stdout)
                                    if n.startswith("extensions/")], [])
    child.terminate()
    same("it ends in order", child.wait(15), 0)


def example(language, command):
    """The examples are minimal: they follow the rules of uploads."""
    port = free_port()
    start([*command, str(port)], stdout=subprocess.DEVNULL,
          stderr=subprocess.DEVNULL)
    wait_until(lambda: listens(port))
    got = conformance("--crawler", f"http://127.0.0.1:{port}", "--object",
                      write("example.json", {"docIdField": "id"}), "--only",
                      "upload", *OPTIONS)
    same(f"the example in {language} passes the checks of uploads", [
        n for n, v in verdicts(got.stdout).items() if v[0] == "FAIL"], [])
    same("... which are made", got.returncode, 0)
    check("... but for what needs more", "2 skipped" in got.stdout, got.stdout)


def main():
    crawler, backend = names(conformance("--list").stdout)
    check("--list has checks", len(crawler) > 40 and len(backend) > 20,
          (crawler, backend))
    command_line()
    unbroken("crawler", crawler)
    unbroken("backend", backend)
    all_broken(crawler, backend)
    limits()
    simulator(backend)
    for language, command in example_crawlers():
        example(language, command)


main()
done()
