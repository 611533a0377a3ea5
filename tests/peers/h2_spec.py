"""h2spec, other people's conformance suite for HTTP/2, against the URL Frontier
door of `argiope serve`, in the clear and over TLS: all cases, the strict ones
too.  Go builds it from its module into the cache; where that cannot be had, the
script is skipped by name, and h2_conformance shows the same rules by our own.
"""
import xml.etree.ElementTree

from urlfrontier_peer import *

VERSION = "v2.2.1+incompatible"
CASES = 146
BUILD_SECONDS_MAX = 240
# It has no list of what it needs; these are built by Go 1.19 (Debian 12).
MODULES = f"""module h2spec

go 1.17

require (
	github.com/fatih/color v1.16.0
	github.com/spf13/cobra v1.8.0
	github.com/summerwind/h2spec {VERSION}
	golang.org/x/net v0.17.0
)
"""


def h2spec():
    """The program, or None."""
    if shutil.which("go") is None:
        return None

    def build(place):
        with open(place + "/go.mod", "w") as f:
            f.write(MODULES)
        subprocess.run(
            ["go", "build", *GO_FLAGS, "-o", place + "/h2spec",
             "github.com/summerwind/h2spec/cmd/h2spec"], cwd=place,
            check=True, capture_output=True, text=True,
            timeout=BUILD_SECONDS_MAX,
            env=go_environment(GOTOOLCHAIN="local"))

    place = kept("h2spec-" + VERSION, build)
    return place and place + "/h2spec"


def cases(tool, server, *more):
    """[(number and title, what is wrong or None)]"""
    report = os.path.join(PLACE, server.name + ".xml")
    code, out, err = run(tool, "--strict", "--host", "127.0.0.1", "--port",
                         str(server.port), "--timeout", "2",
                         "--junit-report", report, *more, seconds=300)
    if not os.path.exists(report):
        check(f"{server.name}: h2spec runs", False, out[-300:] + err)
        return []
    found, numbers = [], {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        section = case.get("package")
        n = numbers[section] = numbers.get(section, 0) + 1
        wrong = [" ".join((x.text or x.tag).split()) for x in case]
        found.append((f"{section}/{n} {case.get('classname')}",
                      "; ".join(wrong) if wrong else None))
    return found


def held_against(tool, server, *more):
    """How many cases were fine."""
    found = cases(tool, server, *more)
    for name, wrong in found:
        check(f"{server.name}: {name}", wrong is None, wrong)
    same(f"{server.name}: the number of cases", len(found), CASES)
    fine = sum(wrong is None for _, wrong in found)
    note(f"{server.name}: {fine} of {len(found)}")
    return fine


begin("h2_spec")
tool = h2spec()
if tool is None:
    skip("h2_spec", "h2spec cannot be built: it wants go and its modules")
    done()
server = Server("clear")
counts = [held_against(tool, server)]
same("clear: it serves on", server.client.healthy(), 1)
same("clear: SIGTERM ends it", server.stop(), 0)
if shutil.which("openssl") is None:
    skip("TLS", "openssl is not installed")
else:
    crt, key = certificate()
    server = Server("TLS", f"urlfrontier.tls_cert={crt}",
                    f"urlfrontier.tls_key={key}", ready=False)
    wait_until(lambda: listens(server.port))
    with open(crt, "rb") as f:
        c = Client(0, grpc.secure_channel(
            f"localhost:{server.port}",
            grpc.ssl_channel_credentials(f.read()), OPTIONS))
    wait_until(lambda: c.healthy() == 1)
    counts.append(held_against(tool, server, "--tls", "--insecure"))
    same("TLS: it serves on", c.healthy(), 1)
    c.close()
    same("TLS: SIGTERM ends it", server.stop(), 0)
print("conformance: h2spec 2.2.1, strict: " + ", over TLS ".join(
    f"{n} of {CASES}" for n in counts))
done()
