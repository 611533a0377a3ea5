#!/bin/bash
#
# peers.sh -- the crawlers, queues, parsers and exporters that we are measured
# against, every command of theirs in this one file; and the reference service of
# URL Frontier is fetched.
#
#   peers.sh install                 what is missing, by apt-get, npm, pip, Maven
#   peers.sh reference [FOLDER]      Java's service and client of URL Frontier:
#                                    the published jars, or those in FOLDER
#   peers.sh names                   those that can run here
#   peers.sh version NAME
#   peers.sh run NAME URL OUT        one whole crawl, into the folder OUT
#   peers.sh begin NAME URL OUT      the same, so that it can be resumed
#   peers.sh resume NAME URL OUT     go on after kill -9
#   peers.sh has NAME                exit code 0: it can run here
#   peers.sh queue NAME HOST DATABASE JOBS
#                                    jobs of PostgreSQL that do nothing
#   peers.sh page NAME FILE RUNS     ten selectors on a page
#   peers.sh shop NAME URL N OUT     ten fields of each of N pages
#   peers.sh export NAME OUT FILE... a file with a table or list of tweets
#   peers.sh api NAME WORD...       pages of an API, frames of a WebSocket, messages
#                                    to a broker; `airbyte URL` prints messages
#   peers.sh sfm FOLDER              Social Feed Manager's exporter, out of the
#                                    clones sfm-utils and sfm-twitter-harvester
#
# $ARGIOPE_BENCH is the work folder outside of the repository; npm's and Python's
# packages go there, and into its folder `reference` the jars: by Maven when its repository
# has them, else from a folder where somebody has their own, be it a release's
# or that of a build.  The folder may hold the release's tests, too.
#
# All peers run as fast as they can: no pause, no robots.txt (one request, in
# their favour), one try, any depth, as many connections as serves them best on
# two cores.  Where a peer can write an archive, the name says so; the others
# write plain files, or nothing (scrapy, crawlee, spider_rs: they only follow).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=${ARGIOPE_BENCH:-${TMPDIR:-/tmp}/argiope-bench}
npm=$work/npm

all="wget2 wget wget_warc httrack scrapy crawlee spider_rs"

# The versions of npm's packages that the figures are of.
crawlee=@crawlee/cheerio@3.18.1
cheerio=cheerio@1.2.0
graphile_worker=graphile-worker@0.17.3
pg_boss=pg-boss@10.4.2
ws=ws@8.23.0
spider="@spider-rs/spider-rs@0.0.157 @spider-rs/spider-rs-linux-x64-gnu@0.0.157"

# Python's packages: the readers of exporters, and what SFM 3.0 stands on; pandas 3
# is too new for twarc-csv.
python=$work/python
pip="warcio==1.8.1 fastwarc==2.0.1 orjson==3.13.0 xlsxwriter==3.3.1
    twarc==2.13.0 twarc-csv==0.7.1 pandas==2.3.3
    petl==1.7.30 kombu==5.7.0 iso8601==2.1.0 pytz
    requests==2.34.2 websockets==17.4 pika==1.4.4"
sfm=$work/sfm
# Has its own folder, since it wants other versions of what the others stand on.
airbyte=$work/airbyte
airbyte_cdk=airbyte-cdk==7.39.1

# Java's service and client of URL Frontier: whole jars, each with all that it
# stands on.
reference=$work/reference
frontier=2.6
suite=urlfrontier-test-suite

die() { printf 'peers.sh: %s\n' "$*" >&2; exit 1; }
has() { command -v "$1" >/dev/null; }

# ---- what is run ---------------------------------------------------------------

run() {
	local url=$2 out=$3
	case $1 in
	wget2)
		exec wget2 -q -r -l 0 --no-robots --max-threads=5 --http2=off \
		    --tries=1 -P "$out" "$url" ;;
	wget)
		exec wget -q -r -l inf -e robots=off --tries=1 -P "$out" "$url" ;;
	wget_warc)
		exec wget -q -r -l inf -e robots=off --tries=1 -P "$out" \
		    --warc-file="$out/crawl" --warc-cdx --delete-after "$url" ;;
	httrack)
		exec httrack "$url" -O "$out" -q -%v0 \
		    --disable-security-limits -c64 -%c0 -A1000000000 -s0 -I0 \
		    -C0 -f0 -r99 ;;
	scrapy)
		exec scrapy runspider "$here/peers/scrapy_spider.py" \
		    -a url="$url" ;;
	crawlee) in_npm crawlee.mjs "$url" ;;
	spider_rs) in_npm spider_rs.mjs "$url" ;;
	*) die "no peer $1" ;;
	esac
}

# ---- kill -9 and resume -----------------------------------------------------------

# spider_rs and wget with a WARC cannot be resumed.
begin() {
	local url=$2 out=$3
	case $1 in
	wget2 | wget) run "$@" ;;
	httrack)
		exec httrack "$url" -O "$out" -q -%v0 \
		    --disable-security-limits -c64 -%c0 -A1000000000 -s0 -I0 \
		    -C1 -f0 -r99 ;;
	scrapy)
		exec scrapy runspider "$here/peers/scrapy_spider.py" \
		    -a url="$url" -s JOBDIR="$out/job" -o "$out/pages.jsonl" ;;
	crawlee) in_npm crawlee.mjs "$url" "$out/storage" ;;
	*) die "$1 cannot be resumed" ;;
	esac
}

resume() {
	local url=$2 out=$3
	case $1 in
	wget2)
		exec wget2 -q -nc -r -l 0 --no-robots --max-threads=5 \
		    --http2=off --tries=1 -P "$out" "$url" ;;
	wget)
		exec wget -q -nc -r -l inf -e robots=off --tries=1 -P "$out" \
		    "$url" ;;
	httrack) cd "$out" && exec httrack --continue -q -%v0 ;;
	scrapy | crawlee) begin "$@" ;;
	*) die "$1 cannot be resumed" ;;
	esac
}

# ---- items and tasks --------------------------------------------------------------

queue() {
	local host=$2 database=$3 jobs=$4
	case $1 in
	graphile_worker)
		in_npm graphile_worker.mjs "$host" "$database" batched "$jobs" ;;
	graphile_worker_single)
		in_npm graphile_worker.mjs "$host" "$database" single "$jobs" ;;
	pg_boss) in_npm pg_boss.mjs "$host" "$database" "$jobs" ;;
	*) die "no queue $1" ;;
	esac
}

page() {
	case $1 in
	cheerio) in_npm cheerio_page.mjs "$2" "$3" ;;
	*) die "no parser $1" ;;
	esac
}

shop() {
	local url=$2 pages=$3 out=$4
	mkdir -p "$out"
	case $1 in
	crawlee) in_npm crawlee_shop.mjs "$url" "$pages" "$out" ;;
	scrapy)
		exec scrapy runspider "$here/peers/scrapy_shop.py" \
		    -a url="$url" -a pages="$pages" -o "$out/items.jsonl" ;;
	*) die "no crawler $1" ;;
	esac
}

# ---- exports ----------------------------------------------------------------------

export_tweets() {
	local name=$1 out=$2
	shift 2
	case $name in
	warcio | fastwarc) exporter "$name" csv "$@" >"$out" ;;
	iterator | dumps) exporter warcio "$name" "$@" >"$out" ;;
	xlsxwriter) exporter fastwarc "xlsx=$out" "$@" ;;
	jq) exec jq -rnf "$here/peers/tweets.jq" "$@" >"$out" ;;
	sfm)
		exec "$python/bin/python" "$here/peers/sfm_export.py" "$sfm" \
		    "$out" "$@" ;;
	twarc_csv)
		exec "$python/bin/python" -W ignore \
		    -c 'import twarc_csv; twarc_csv.csv()' --hide-progress \
		    --hide-stats "$1" "$out" ;;
	*) die "no exporter $name" ;;
	esac
}

exporter() {
	exec "$python/bin/python" "$here/peers/exporter.py" "$@"
}

in_npm() {
	cp -u "$here/peers/$1" "$npm/$1"
	cd "$npm" && exec node "$@"
}

# ---- harvests -------------------------------------------------------------------------

api() {
	local name=$1
	shift
	case $name in
	requests) exec "$python/bin/python" "$here/peers/api_pages.py" "$@" ;;
	websockets)
		exec "$python/bin/python" "$here/peers/api_frames.py" "$@" ;;
	ws) in_npm api_frames.mjs "$@" ;;
	pika) exec "$python/bin/python" "$here/harvest_broker.py" "$@" ;;
	airbyte)
		exec "$airbyte/bin/python" -W ignore \
		    "$here/peers/airbyte_source.py" "$@" ;;
	*) die "no peer $name" ;;
	esac
}

# ---- what there is ------------------------------------------------------------------

is_here() {
	case $1 in
	wget_warc) has wget ;;
	crawlee) has node && [ -d "$npm/node_modules/@crawlee/cheerio" ] ;;
	cheerio) has node && [ -d "$npm/node_modules/cheerio" ] ;;
	graphile_worker | graphile_worker_single)
		has node && [ -d "$npm/node_modules/graphile-worker" ] ;;
	pg_boss) has node && [ -d "$npm/node_modules/pg-boss" ] ;;
	spider_rs) has node && [ -d "$npm/node_modules/@spider-rs/spider-rs" ] ;;
	warcio | fastwarc | twarc_csv | xlsxwriter) [ -x "$python/bin/python" ] ;;
	requests | websockets | pika) pip_version "$1" >/dev/null 2>&1 ;;
	ws) has node && [ -d "$npm/node_modules/ws" ] ;;
	iterator | dumps) is_here warcio ;;
	airbyte)
		"$airbyte/bin/python" -c 'import importlib.util as u, sys
sys.exit(u.find_spec("airbyte_cdk") is None)' 2>/dev/null ;;
	sfm) is_here warcio && [ -d "$sfm/sfm-twitter-harvester" ] ;;
	*) has "$1" ;;
	esac
}

names() {
	local name
	for name in $all; do
		! is_here "$name" || echo "$name"
	done
}

pip_version() {
	"$python/bin/python" -c 'import importlib.metadata as m, sys
print(*(m.version(name) for name in sys.argv[1:]))' "$@"
}

npm_version() {
	node -p "require('$npm/node_modules/$1/package.json').version"
}

version() {
	case $1 in
	wget2) wget2 --version | sed -n '1s/.* \([0-9.]*\) .*/\1/p' ;;
	wget | wget_warc) wget --version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p' ;;
	httrack) httrack --version | sed 's/[^0-9]*\([0-9.-]*\).*/\1/;q' ;;
	scrapy) scrapy version | sed 's/[^0-9]*//' ;;
	crawlee) echo "$(npm_version @crawlee/cheerio), node $(node -v)" ;;
	cheerio) echo "$(npm_version cheerio), node $(node -v)" ;;
	graphile_worker | graphile_worker_single)
		echo "$(npm_version graphile-worker), node $(node -v)" ;;
	pg_boss) echo "$(npm_version pg-boss), node $(node -v)" ;;
	spider_rs) npm_version @spider-rs/spider-rs ;;
	urlfrontier-service | urlfrontier-client)
		local text
		text=$(jar_version "$1") || exit
		echo "${text//$'\n'/ }, java $(java -version 2>&1 |
		    sed -n '1s/.*"\(.*\)".*/\1/p')" ;;
	warcio)
		echo "$(pip_version warcio), python $("$python/bin/python" -V |
		    sed 's/[^0-9]*//')" ;;
	fastwarc)
		echo "$(pip_version fastwarc), orjson $(pip_version orjson)" ;;
	twarc_csv)
		echo "$(pip_version twarc-csv), pandas $(pip_version pandas)" ;;
	xlsxwriter | requests | websockets | pika) pip_version "$1" ;;
	ws) echo "$(npm_version ws), node $(node -v)" ;;
	airbyte)
		"$airbyte/bin/python" -c 'import importlib.metadata as m, platform
print(m.version("airbyte-cdk") + ", python", platform.python_version())' ;;
	jq) jq --version | sed 's/^jq-//' ;;
	sfm) cat "$sfm/from" ;;
	*) die "no peer $1" ;;
	esac
}

# What the jar itself says, where it came from, and which bytes it is.
jar_version() {
	local folder=${ARGIOPE_REFERENCE:-$reference} from
	local jar=$folder/$1.jar
	[ -s "$jar" ] || die "$jar is not there"
	from=$(cat "$folder/$1.from" 2>/dev/null || echo "of unknown origin")
	python3 - "$jar" <<-'END'
		import re, sys, zipfile
		jar = zipfile.ZipFile(sys.argv[1])
		names = [n for n in jar.namelist() if re.fullmatch(
		    r"META-INF/maven/.*/urlfrontier-\w+/pom.properties", n)
		    and "API" not in n]
		text = jar.read(names[0]).decode() if names else "version=?"
		print(re.search(r"(?m)^version=(.*)$", text)[1].strip())
	END
	echo "$from, sha256 $(sha256sum "$jar" | cut -c 1-12)"
}

# Debian 12 has the one that the figures are of, later releases a newer one.
java_documents() {
	apt-cache pkgnames openjdk- | grep -x 'openjdk-[0-9]*-doc' | sort -V |
	    head -n 1
}

install() {
	local missing=() root=
	[ "$(id -u)" = 0 ] || root=sudo
	has wget2 || missing+=(wget2)
	has wget || missing+=(wget)
	has httrack || missing+=(httrack)
	has scrapy || missing+=(python3-scrapy)
	has node || missing+=(nodejs)
	has npm || missing+=(npm)
	has java || missing+=(default-jre-headless)
	has mvn || missing+=(maven)
	has jq || missing+=(jq)
	python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
	[ -e /usr/share/java/junit4.jar ] || missing+=(junit4)
	has nginx || [ -x /usr/sbin/nginx ] || missing+=(nginx-light)
	[ -d /usr/share/doc/postgresql-doc-15 ] ||
	    compgen -G '/usr/share/doc/postgresql-doc-*' >/dev/null ||
	    missing+=("$(apt-cache pkgnames postgresql-doc- | sort -V |
	        tail -n 1)")
	[ -d /usr/share/doc/rust-doc/html ] || missing+=(rust-doc)
	compgen -G '/usr/share/doc/openjdk-*-jre-headless/api/index.html' \
	    >/dev/null || missing+=("$(java_documents)")
	if [ ${#missing[@]} -gt 0 ]; then
		$root apt-get install -y --no-install-recommends \
		    "${missing[@]}" >&2
	fi
	is_here crawlee || install_npm "$crawlee"
	is_here cheerio || install_npm "$cheerio"
	is_here graphile_worker || install_npm "$graphile_worker"
	is_here pg_boss || install_npm "$pg_boss"
	is_here ws || install_npm "$ws"
	# shellcheck disable=SC2086 # packages are words
	is_here spider_rs || install_npm $spider
	install_pip
	get_reference || true
}

# ---- the reference of URL Frontier --------------------------------------------

# Maven holds them against the checksums of their release.
from_maven() {
	mvn -q -B -C dependency:copy \
	    -Dartifact="com.github.crawler-commons:$1:$frontier" \
	    -DoutputDirectory="$reference" -Dmdep.stripVersion=true >&2 ||
	    return
	echo "as published" >"$reference/$1.from"
}

# What a release or a build leaves: NAME.jar or NAME-VERSION.jar, the newest.
jar_in() {
	find "$1" -name "$2.jar" -o -name "$2-[0-9]*.jar" \
	    ! -name '*-sources.jar' ! -name '*-javadoc.jar' \
	    ! -name '*-tests.jar' | sort -V | tail -n 1
}

# A clone says its commit.
origin_of() {
	git -C "$1" describe --tags --long --always --dirty --abbrev=12 \
	    2>/dev/null | sed 's/^/from a clone at /' | grep . ||
	    echo "from a folder"
}

from_folder() {
	local jar
	jar=$(jar_in "$1" "$2")
	[ -n "$jar" ] || return
	cp "$jar" "$reference/$2.jar"
	origin_of "$1" >"$reference/$2.from"
}

# The release's own tests, as classes; they are published nowhere.
tests_from_folder() {
	local classes
	classes=$(find "$1" -path '*/test*/crawlercommons/urlfrontier/service/*' \
	    -name URLFrontierServiceTest.class | head -n 1)
	[ -n "$classes" ] || return 0
	rm -rf "${reference:?}/$suite"
	cp -r "${classes%/crawlercommons/*}" "$reference/$suite"
	echo "$suite $(origin_of "$1")"
}

one_reference() {
	if [ -n "$2" ]; then
		from_folder "$2" "$1" || return
	elif [ ! -s "$reference/$1.jar" ]; then
		from_maven "$1" || return
	fi
	echo "$1 $(ARGIOPE_REFERENCE='' version "$1")"
}

get_reference() {
	local folder=${1:-} name code=0
	[ -z "$folder" ] || [ -d "$folder" ] || die "$folder is no folder"
	mkdir -p "$reference"
	for name in urlfrontier-service urlfrontier-client; do
		one_reference "$name" "$folder" || {
			printf 'peers.sh: no %s\n' "$name" >&2
			code=1
		}
	done
	[ -z "$folder" ] || tests_from_folder "$folder"
	return $code
}

# One that cannot be had does not keep the others away.
install_npm() {
	mkdir -p "$npm"
	(cd "$npm" && npm install --no-fund --no-audit --ignore-scripts "$@" >&2) ||
	    printf 'peers.sh: no %s\n' "$1" >&2
}

# shellcheck disable=SC2086 # packages are words
install_pip() {
	python3 -m venv "$python" && "$python/bin/pip" install -q $pip >&2 ||
	    printf 'peers.sh: no packages of Python\n' >&2
	is_here airbyte || {
		python3 -m venv "$airbyte" &&
		    "$airbyte/bin/pip" install -q "$airbyte_cdk" >&2
	} || printf 'peers.sh: no airbyte-cdk\n' >&2
}

get_sfm() {
	local name commits=()
	mkdir -p "$sfm"
	for name in sfm-utils sfm-twitter-harvester; do
		[ -d "$1/$name" ] || die "$1 has no $name"
		rm -rf "${sfm:?}/$name"
		cp -r "$1/$name" "$sfm/$name"
		commits+=("$name $(origin_of "$1/$name")")
	done
	printf '%s, %s\n' "${commits[@]}" >"$sfm/from"
	cat "$sfm/from"
}

case ${1:-} in
install) install ;;
reference) get_reference "${2:-}" ;;
names) names ;;
has) [ $# = 2 ] || die "has what?"; is_here "$2" ;;
queue) [ $# = 5 ] || die "usage: peers.sh queue NAME HOST DATABASE JOBS"
	"$@" ;;
page) [ $# = 4 ] || die "usage: peers.sh page NAME FILE RUNS"; "$@" ;;
shop) [ $# = 5 ] || die "usage: peers.sh shop NAME URL N OUT"; "$@" ;;
export) [ $# -ge 4 ] || die "usage: peers.sh export NAME OUT FILE..."
	shift
	export_tweets "$@" ;;
api) [ $# -ge 2 ] || die "usage: peers.sh api NAME WORD..."
	shift
	api "$@" ;;
sfm) [ $# = 2 ] || die "usage: peers.sh sfm FOLDER"; get_sfm "$2" ;;
version) [ $# = 2 ] || die "version of what?"; version "$2" ;;
run | begin | resume)
	[ $# = 4 ] || die "usage: peers.sh $1 NAME URL OUT"
	mkdir -p "$4"
	"$1" "$2" "$3" "$4" ;;
*) die "install, reference, sfm, names, has, version, run, begin, resume," \
    "queue, page, shop, export or api?" ;;
esac
