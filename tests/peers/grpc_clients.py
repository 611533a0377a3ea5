"""gRPC clients of other makers at their default settings, against the URL
Frontier door: many URLs in one stream, one call after another, a long listing.

Some of them measure the bandwidth with a PING for each DATA frame that they
receive (gRPC's proposal A8), which must not look like a flood.  Here each does a
hundredth of what was asked for, still fifteen times the frames that a connection
may send at once: `ARGIOPE_CLIENTS_SCALE=10 tests/peers/grpc_clients.sh` does all
of it: 3,000,000 URLs put, 20,000 calls, 2,000,000 URLs listed.

The programs are in grpc_clients/; their stubs are made here, from the schema, and
with what else they need they are kept in the cache.  Words of the command line
name the clients that are wanted.
"""
import hashlib

from urlfrontier_peer import *

begin("grpc_clients")
SCALE = float(os.environ.get("ARGIOPE_CLIENTS_SCALE", "0.1"))
PUTS, SERIAL, LISTED = (int(n * SCALE) for n in (300000, 2000, 200000))
PROGRAMS = os.path.join(SOURCE, "tests", "peers", "grpc_clients")
BUILD_SECONDS_MAX = 240
GO_STUBS = ("google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.11",
            "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.0")
PROTO = SCHEMA + "/urlfrontier.proto"


def built(name, build):
    """
    A folder with a copy of the program, built there once for each version of
    its sources; None when it cannot be.
    """
    sources = sorted(f for f in glob.glob(f"{PROGRAMS}/{name}/**",
                                          recursive=True)
                     if os.path.isfile(f))
    digest = hashlib.sha256()
    for f in sources + [PROTO]:
        with open(f, "rb") as content:
            digest.update(content.read())

    def make(place):
        shutil.copytree(f"{PROGRAMS}/{name}", place, dirs_exist_ok=True)
        build(place)

    return kept(f"grpc-{name}-{digest.hexdigest()[:12]}", make)


def tool(place, *command, **more):
    subprocess.run(command, cwd=place, check=True, capture_output=True,
                   text=True, timeout=BUILD_SECONDS_MAX, **more)


def go(place):
    env = go_environment(GOBIN=place + "/bin")
    for stub in GO_STUBS:
        tool(place, "go", "install", *GO_FLAGS, stub, env=env)
    env["PATH"] = place + "/bin:" + env["PATH"]
    os.mkdir(place + "/urlfrontier")
    options = "paths=source_relative,Murlfrontier.proto=clients/urlfrontier"
    tool(place, "protoc", "-I", SCHEMA, "--go_out=urlfrontier",
         "--go-grpc_out=urlfrontier", "--go_opt=" + options,
         "--go-grpc_opt=" + options, "urlfrontier.proto", env=env)
    tool(place, "go", "mod", "tidy", env=env)
    tool(place, "go", "build", *GO_FLAGS, "-o", "client", ".",
         env=env)


def java(place):
    tool(place, "mvn", "-q", "-B", "-Dschema=" + SCHEMA, "package",
         "dependency:copy-dependencies", "-DoutputDirectory=jars")


def rust(place):
    tool(place, "cargo", "build", "-q",
         env=dict(os.environ, SCHEMA=SCHEMA, CARGO_TARGET_DIR="target",
                  CARGO_PROFILE_DEV_DEBUG="0"))


def node(place):
    with open(place + "/package.json", "w") as f:
        f.write('{"private": true}\n')
    tool(place, "npm", "install", "--no-audit", "--no-fund",
         "--ignore-scripts", *NPM, "@grpc/grpc-js@1.14.7",
         "@grpc/proto-loader@0.8.1")


# It runs for seconds: the optimizing compiler would take more than it saves.
JAVA_BRIEF = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

# name: what it needs, how it is built, the command in its folder.
CLIENTS = {
    "grpc-go": ("go", "go", go, ["client"]),
    "grpc-java": ("java", "mvn", java,
                  ["java", *JAVA_BRIEF, "-cp", "target/classes:jars/*",
                   "Clients"]),
    "tonic": ("rust", "cargo", rust, ["target/debug/clients"]),
    "grpc-js": ("node", "npm", node, ["node", "client.js", PROTO]),
}


def judge(name, code, said, why):
    want = {"put": PUTS, "serial": SERIAL, "listed": LISTED}
    got = {word: int(n) for word, n in re.findall(r"^(\w+) (\d+)$", said,
                                                  re.M)}
    for story, n in want.items():
        check(f"{name}: {n} {story}", got.get(story) == n,
              f"{got.get(story)}, exit code {code}: {why[-400:]}")


def foreign(server, name):
    folder, wants, build, command = CLIENTS[name]
    if shutil.which(wants) is None:
        skip(name, f"{wants} is not installed")
        return
    place = built(folder, build)
    if place is None:
        skip(name, "it cannot be built; is its registry reached?")
        return
    began = time.monotonic()
    if os.path.exists(os.path.join(place, command[0])):
        command = [os.path.join(place, command[0])] + command[1:]
    done = subprocess.run(
        command + [str(n) for n in (server.port, PUTS, SERIAL, LISTED)],
        cwd=place, capture_output=True, text=True)
    note(f"{name}: {time.monotonic() - began:.0f} s")
    judge(name, done.returncode, done.stdout, done.stderr)


def python(server):
    """grpcio, with nothing but its defaults."""
    crawl, began = "grpcio", time.monotonic()
    c = Client(server.port, grpc.insecure_channel(f"127.0.0.1:{server.port}"))

    def put(story, first, n):
        return sum(a.status == 0 for a in c.PutURLs(
            (D(f"http://h{i % 1000}.py/{story}/{i}", "", crawl)
             for i in range(first, first + n)), timeout=None))

    said, why = "", ""
    try:
        said += f"put {put('put', 0, PUTS)}\n"
        said += f"serial {sum(put('s', i, 1) for i in range(SERIAL))}\n"
        listed = sum(1 for _ in c.ListURLs(M.ListUrlParams(
            crawlID=crawl, size=LISTED), timeout=None))
        said += f"listed {listed}\n"
    except grpc.RpcError as e:
        why = f"{e.code()} {e.details()}"
    c.close()
    note(f"grpcio: {time.monotonic() - began:.0f} s")
    judge("grpcio", 0, said, why)


server = Server("clients", "urlfrontier.durability=relaxed")
wanted = sys.argv[1:] or [*CLIENTS, "grpcio"]
for client in wanted:
    if client == "grpcio":
        python(server)
    else:
        foreign(server, client)
same("no connection was ended for too many frames",
     server.metric("argiope_grpc_calmed_total"), 0)
same("it ends in order", server.stop(30), 0)
done()
