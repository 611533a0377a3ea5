"""The unmodified Java client against us and against the Java service.

Every verb is said to both, and must say the same; a dump of the one loads into
the other and is the same again.  What the contract lists as a deviation is not
asked for.
"""
import re
import threading

from peer import *

JARS = os.environ["ARGIOPE_REFERENCE"]
CLIENT = os.path.join(JARS, "urlfrontier-client.jar")
SERVICE = os.path.join(JARS, "urlfrontier-service.jar")
need("urlfrontier_java", "java", files=[CLIENT, SERVICE])

FUTURE = 2943003600
FILE = [f"http://h{i}.test/page/{n}" for i in range(5) for n in range(4)] + [
    "http://h0.test/page/0",            # known by then
    '{"known":{"info":{"url":"http://h0.test/later","key":"h0.test",'
    '"metadata":{"src":{"values":["seed","two"]},"x":{"values":[""]}}},'
    f'"refetchableFromDate":"{FUTURE}"}}}}',
    '{"known":{"info":{"url":"http://h1.test/done","key":"h1.test"}}}',
    '{"discovered":{"info":{"url":"http://b.test/1","key":"b.test",'
    '"crawlID":"BESPOKE"}},"ID":"one"}',
    '{"discovered":{"info":{"url":"http://\u00fc.test/\u4e00"}}}',
]
with open("urls.txt", "w", encoding="utf-8") as f:
    f.write("\n".join(FILE) + "\n")


class Node:
    def __init__(self, name, *command):
        self.name, self.port = name, free_port()
        words = [w.format(port=self.port, place=os.path.join(PLACE, name))
                 for w in command]
        self.log = name + ".log"
        with open(self.log, "w") as log:
            self.child = start(words, stdout=log, stderr=log)

    def wait(self):
        if not wait_until(lambda: listens(self.port) or
                          self.child.poll() is not None, 60) or \
                self.child.poll() is not None:
            sys.exit(f"{self.name} does not start: {open(self.log).read()}")

    def say(self, *verb):
        """(code, lines) of the client, without what is each node's own."""
        code, out, err = run("java", "-Dfile.encoding=UTF-8",
                             "-Dstdout.encoding=UTF-8", "-jar", CLIENT,
                             "-t", "127.0.0.1", "-p", str(self.port), *verb)
        if code != 0:
            note(f"{self.name}: {verb}: {err.strip()[-300:]}")
        out = re.sub(rf"\b{self.port}\b", "PORT", out)
        out = re.sub(r"\b1\d{9}\b", "NOW", out)
        out = re.sub(r"\d+ msec|OPS: [0-9.]+", "SOME", out)
        return code, sorted(out.split("\n"))


ours = Node("argiope", program(), "serve", "--data", "{place}", "--set",
            "http.listen=127.0.0.1:0", "--set", "loops=1", "--set",
            "urlfrontier.listen=127.0.0.1:{port}")
theirs = Node("service", "java", "-Xmx1G", "-jar", SERVICE, "-h",
              "127.0.0.1", "-p", "{port}", "rocksdb.path={place}")
nodes = (ours, theirs)
for node in nodes:
    node.wait()


def at_both(f):
    """f(node) of both at once, as there are two cores."""
    found = {}
    threads = [threading.Thread(target=lambda n=n: found.update({n: f(n)}))
               for n in nodes]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return [found.get(n) for n in nodes]


def both(*verb, expect=None):
    """The client says the same of both; and, where it is given, this."""
    a, b = at_both(lambda n: n.say(*verb))
    name = " ".join(verb)
    same(f"{name}: as with the service", a, b)
    if expect is not None:
        check(f"{name}: {expect}", any(expect in line for line in a[1]), a)


def dump(path):
    """
    The entries of a dump, without when they were first stored.  The service
    leaves a blank crawl blank, where we say DEFAULT.
    """
    with open(path, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f if line.strip()]
    for line in lines:
        line["known"]["info"].setdefault("crawlID", "DEFAULT")
        if not line.pop("creationDate", None):
            check(f"{path} has dates of creation", False, line)
    return sorted(lines, key=lambda x: x["known"]["info"]["url"])


def dated(entries, after):
    """Dates of discovery are of each node's own clock."""
    for e in entries:
        date = int(e["known"].get("refetchableFromDate", 0))
        if after <= date <= time.time():
            e["known"]["refetchableFromDate"] = "NOW"
    return entries


began = int(time.time())
both("PutURLs", "-f", "urls.txt", expect="Acked: 25")
both("ListNodes", expect="127.0.0.1:PORT")
both("ListCrawls", expect="BESPOKE")
both("ListQueues", "-n", "100")
both("ListQueues", "-n", "100", "-c", "BESPOKE", expect="b.test")
both("GetStats")
both("GetStats", "-k", "h1.test", expect="completed = 1")
both("CountURLs", expect="23 URLs")
both("CountURLs", "-k", "h1.test", expect="5 URLs")
both("CountURLs", "-f", "PAGE/3", "-i", expect="5 URLs")
both("CountURLs", "-f", "PAGE/3", expect="0 URLs")
both("ListURLs", expect=f"http://h0.test/later;{FUTURE}")
both("ListURLs", "-c", "BESPOKE", expect="http://b.test/1;NOW")
both("GetURLStatus", "-u", "http://h1.test/done", "-k", "h1.test",
     expect="http://h1.test/done;0")
both("GetURLStatus", "-u", "http://h0.test/later", expect=f";{FUTURE}")
both("GetURLStatus", "-u", "http://h0.test/none", expect="not in frontier")
both("SetActive", "false")
both("GetActive", expect="false")
both("GetURLs", "-q", "100")
both("SetActive", "true")
both("GetActive", expect="true")
both("GetURLs", "-m", "2", "-q", "100", "-d", "600", "-c", "DEFAULT",
     expect="http://h4.test/page/1")
both("GetStats", expect="In process: 11")
both("SetCrawlLimit", "-k", "h1.test", "-l", "1")
both("SetLogLevel", "-p", "crawlercommons", "-l", "WARN", expect="WARN")
both("PurgeURLs", "-d", "20000", expect="Purged 0")

# ---- What was dumped comes back, from the one into the other ------------------

at_both(lambda n: n.say("DumpURLs", "-o", f"{n.name}.dump"))
whole = dated(dump("argiope.dump"), began)
same("a dump: as with the service", whole, dated(dump("service.dump"), began))
same("a dump is complete", len(whole), 24)
at_both(lambda n: n.say("DumpURLs", "-t", "2", "-o", f"{n.name}.2.dump"))
same("a dump by two threads is the same",
     dated(dump("argiope.2.dump"), began), whole)

both("DeleteQueue", "-k", "h2.test", expect="4 URLs")
both("DeleteQueue", "-k", "none", expect="0 URLs")
both("DeleteCrawl", "-c", "BESPOKE", expect="1 URLs")
both("DeleteCrawl", "-c", "DEFAULT", expect="19 URLs")
both("CountURLs", expect="0 URLs")
other = {"argiope": "service.dump", "service": "argiope.dump"}
for (code, lines), node in zip(
        at_both(lambda n: n.say("PutURLs", "-f", other[n.name])), nodes):
    check(f"{node.name} takes the dump of the other",
          code == 0 and any("Acked: 24" in line for line in lines), lines)
at_both(lambda n: n.say("DumpURLs", "-o", f"{n.name}.again.dump"))
same("what we took of the service is what it had",
     dump("argiope.again.dump"), dump("service.dump"))
same("what it took of us is what we had",
     dump("service.again.dump"), dump("argiope.dump"))
done()
