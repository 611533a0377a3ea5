"""The unmodified Java client against us and against the Java service.

Every verb is said to both, and must say the same; a dump of the one loads into
the other and is the same again; and our own client's dump is the same, byte for
byte.  Then the reference's own tests of any server.  What the contract lists as
a deviation is not asked for.
"""
import gzip
import re
import threading

from peer import *

JARS = os.environ["ARGIOPE_REFERENCE"]
CLIENT = os.path.join(JARS, "urlfrontier-client.jar")
SERVICE = os.path.join(JARS, "urlfrontier-service.jar")
need("urlfrontier_java", "java", files=[CLIENT, SERVICE])
# The reference's tests of any server, as classes, and what runs them.
SUITE = os.path.join(JARS, "urlfrontier-test-suite")
JUNIT = [f"/usr/share/java/{name}.jar" for name in (
    "junit4", "hamcrest-core", "slf4j-api", "slf4j-nop")]
SUITE_TESTS = 7

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
both("GetURLs", "-k", "none", "-c", "DEFAULT")
both("GetURLs", "-k", "h4.test", "-m", "1", "-d", "600", "-c", "DEFAULT")
both("ListQueues", "-n", "100", "-i", "-l", expect="h3.test")
both("ListURLs", "-k", "h1.test", "-s", "1", "-n", "3")
both("ListURLs", "-j", "-c", "BESPOKE", expect='"crawlID": "BESPOKE"')
both("GetStats", "-c", "BESPOKE", "-l", expect="Active URLs: 1")
both("GetStats", "-k", "none")

# Batches, streams, gzip.
with gzip.open("more.gz", "wt") as f:
    f.write("".join(f"http://m{i % 50}.test/{i}\n" for i in range(2000)))
both("PutURLs", "-f", "more.gz", "-c", "more", "-b", "64",
     expect="Acked: 2000")
both("PutURLs", "-f", "more.gz", "-c", "more", "-b", "64", "-t", "2",
     expect="Skipped: 2000")
both("PutURLs", "-f", "more.gz", "-c", "more", "-t", "2", "-w", "100",
     expect="Skipped: 2000")
both("PutURLs", "-f", "more.gz", "-c", "again", "-t", "2", "-w", "100",
     expect="OK: 2000")
both("CountURLs", "-c", "more", expect="2000 URLs")
both("GetStats", "-c", "again", expect="queues: 50")
both("ListURLs", "-c", "more", "-k", "m7.test", "-f", "/7", expect="m7.test/7")
both("DeleteQueue", "-c", "more", "-k", "m7.test", expect="40 URLs")
both("DeleteCrawl", "-c", "more", expect="1960 URLs")
both("DeleteCrawl", "-c", "again", expect="2000 URLs")

# ---- What was dumped comes back, from the one into the other ------------------

at_both(lambda n: n.say("DumpURLs", "-o", f"{n.name}.dump"))
whole = dated(dump("argiope.dump"), began)
same("a dump: as with the service", whole, dated(dump("service.dump"), began))
same("a dump is complete", len(whole), 24)
at_both(lambda n: n.say("DumpURLs", "-t", "2", "-o", f"{n.name}.2.dump"))
same("a dump by two threads is the same",
     dated(dump("argiope.2.dump"), began), whole)



def lines_of(path):
    with open(path, encoding="utf-8") as f:
        return sorted(f.read().splitlines())


def ours_says(node, *verb):
    return run(program(), "frontier", "-t", "127.0.0.1", "-p",
               str(node.port), *verb)


for node in nodes:
    code, _, err = ours_says(node, "DumpURLs", "-o", f"{node.name}.cli.dump")
    check(f"argiope frontier dumps {node.name}", code == 0, err)
    same(f"its dump of {node.name} is the Java client's, byte for byte",
         lines_of(f"{node.name}.cli.dump"), lines_of(f"{node.name}.dump"))

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

# ---- With the dates kept it is the same to the byte ----------------------------

for crawl in ("DEFAULT", "BESPOKE"):
    ours.say("DeleteCrawl", "-c", crawl)
code, out, err = ours_says(ours, "PutURLs", "-f", "service.dump",
                           "--keep-dates")
check("argiope frontier takes the dump of the service", code == 0, err)
ours.say("DumpURLs", "-o", "kept.dump")
blank = [line for line in lines_of("service.dump") if '"crawlID"' not in line]
same("what we took with its dates is what the service had, byte for byte",
     [line for line in lines_of("kept.dump") if not any(
         json.loads(line)["known"]["info"]["url"] in b for b in blank)],
     [line for line in lines_of("service.dump") if line not in blank])
check("of these some were without a crawl's name, not all",
      0 < len(blank) < 24, blank)

# ---- The reference's own tests -------------------------------------------------


def suite(node):
    """(code, what JUnit says) of its black-box tests, unmodified."""
    names = [os.path.relpath(os.path.join(place, name), SUITE)
             for place, _, files in os.walk(SUITE) for name in files
             if re.fullmatch(r"\w+Test.class", name)]
    classes = [name[:-len(".class")].replace("/", ".")
               for name in sorted(names)]
    code, out, err = run(
        "java", "-Durlfrontier.host=127.0.0.1",
        f"-Durlfrontier.port={node.port}", "-cp",
        ":".join([SUITE, CLIENT] + JUNIT), "org.junit.runner.JUnitCore",
        *classes)
    return code, out + err


missing = [f for f in [SUITE] + JUNIT if not os.path.exists(f)]
if missing:
    skip("the reference's own tests", f"{missing[0]} is not there")
else:
    for (code, text), node in zip(at_both(suite), nodes):
        passed = re.search(r"^OK \((\d+) tests\)$", text, re.M)
        check(f"the reference's own tests pass with {node.name}",
              code == 0 and passed and int(passed[1]) >= SUITE_TESTS,
              text[-2000:])
done()
