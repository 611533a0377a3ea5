#!/bin/bash
#
# server.sh -- nginx on loopback with the sites of the benches.
#
#   server.sh start FOLDER [CPUS]    makes the synthetic site in FOLDER (once),
#                                    starts nginx; prints and keeps in
#                                    FOLDER/server.env what it serves where
#   server.sh stop FOLDER
#
# SITE, POSTGRESQL and SECOND are base URLs, each on a free port of its own;
# LOGGED is the synthetic site with an access log, FOLDER/access.log: seconds,
# path, status, "OK" when the answer went out whole.  TLS is the synthetic site
# over TLS, TLS_NEW the same with a connection for each request; CA is the
# certificate of both, and FOLDER/tls.log has the number of each request's
# connection, and "r" when its session was resumed.  SITE is also served on the
# addresses 127.0.0.2 to 127.0.0.64.  HOSTS2 and HOSTS64 are ports at which the
# addresses from 127.0.0.1 on serve a site of their own each, with 20,000 pages in
# all.  POSTGRESQL, RUST and SECOND are empty where
# their Debian packages (postgresql-doc-15, rust-doc, openjdk-17-doc) are not
# installed.
#
# It runs as whoever calls it, two workers, in the background.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() { printf 'server.sh: %s\n' "$*" >&2; exit 1; }

[ $# -ge 2 ] || die "usage: server.sh start|stop FOLDER [CPUS]"
mkdir -p "$2"
work=$(cd "$2" && pwd)
cpus=${3:-}

# The first of these folders that has an index page.
documents() {
	local folder
	for folder; do
		[ ! -e "$folder/index.html" ] || { echo "$folder"; return; }
	done
}

postgresql=$(documents /usr/share/doc/postgresql-doc-{15,16,17,18}/html)
rust=$(documents /usr/share/doc/rust-doc/html /usr/share/doc/rust/html)
second=$(documents /usr/share/doc/openjdk-{17,21,25}-jre-headless/api \
    /usr/share/cppreference/doc/html/en)
# The latter's pages use styles and images that lie beside the folder.
second_root=${second%/en}

free_ports() {
	python3 - "$1" <<-'END'
	import socket, sys
	held = [socket.socket() for _ in range(int(sys.argv[1]))]
	for s in held:
	    s.bind(("127.0.0.1", 0))
	print(*(s.getsockname()[1] for s in held))
	END
}

# one_server PORT ROOT [MORE]
one_server() {
	printf 'server {\n\tlisten 127.0.0.1:%s backlog=4096 reuseport;\n' "$1"
	printf '\troot %s;\n\t%s\n' "$2" "${3:-}"
	printf '\tlocation = /-/status { stub_status; }\n}\n'
}

other_addresses() {
	local i
	for i in $(seq 2 64); do
		printf 'listen 127.0.0.%s:%s backlog=4096;\n' "$i" "$1"
	done
}

# host_sites N: as many sites, of different pages.
host_sites() {
	local i
	for i in $(seq "$1"); do
		python3 "$here/site.py" "$work/hosts$1/$i" --seed "$((100 + i))" \
		    --pages "$((20000 / $1 + 1))"
	done
}

# host_servers N PORT
host_servers() {
	local i
	for i in $(seq "$1"); do
		printf 'server {\n\tlisten 127.0.0.%s:%s backlog=4096 reuseport;\n' \
		    "$i" "$2"
		printf '\troot %s;\n}\n' "$work/hosts$1/$i"
	done
}

# The certificate of this machine, for a day.
certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
	    -days 1 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \
	    -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
}

# tls_server PORT MORE
tls_server() {
	one_server "$1 ssl" "$work/site" "${2:-}
	access_log $work/tls.log tls;
	ssl_certificate $work/cert.pem;
	ssl_certificate_key $work/key.pem;"
}

configuration() {
	local temporary
	cat <<-END
	daemon on;
	worker_processes 2;
	worker_rlimit_nofile 16384;
	pid $work/nginx.pid;
	error_log $work/nginx.log warn;
	$([ "$(id -u)" != 0 ] || echo "user root;")
	events { worker_connections 8192; }
	http {
	include /etc/nginx/mime.types;
	default_type text/html;
	access_log off;
	sendfile on; tcp_nopush on; tcp_nodelay on;
	keepalive_timeout 60; keepalive_requests 100000000;
	gzip off;
	log_format bench '\$msec \$request_uri \$status \$request_completion';
	log_format tls '\$connection \$ssl_session_reused';
	END
	for temporary in client_body proxy fastcgi uwsgi scgi; do
		echo "${temporary}_temp_path $work/nginx.tmp;"
	done
	one_server "$1" "$work/site" "$(other_addresses "$1")"
	one_server "$2" "$work/site" "access_log $work/access.log bench;"
	[ -z "$postgresql" ] || one_server "$3" "$postgresql"
	[ -z "$second" ] || one_server "$4" "$second_root"
	[ -z "$rust" ] || one_server "$5" "$rust"
	[ -z "$tls" ] || tls_server "$6"
	[ -z "$tls" ] || tls_server "$7" "keepalive_timeout 0;"
	host_servers 2 "$8"
	host_servers 64 "$9"
	echo "}"
}

start() {
	local ports
	command -v nginx >/dev/null || PATH=$PATH:/usr/sbin
	command -v nginx >/dev/null ||
	    die "there is no nginx; apt-get install nginx-light"
	python3 "$here/site.py" "$work/site"
	host_sites 2
	host_sites 64
	stop
	mkdir -p "$work/nginx.tmp"
	: >"$work/access.log"
	: >"$work/tls.log"
	tls=
	! command -v openssl >/dev/null || { certificate && tls=yes; }
	read -ra ports <<<"$(free_ports 9)"
	configuration "${ports[@]}" >"$work/nginx.conf"
	${cpus:+taskset -c "$cpus"} nginx -e "$work/nginx.log" -p "$work" \
	    -c "$work/nginx.conf"
	{
		echo "SITE=http://127.0.0.1:${ports[0]}"
		echo "LOGGED=http://127.0.0.1:${ports[1]}"
		echo "POSTGRESQL=${postgresql:+http://127.0.0.1:${ports[2]}}"
		echo "POSTGRESQL_ROOT=$postgresql"
		echo "RUST=${rust:+http://127.0.0.1:${ports[4]}}"
		echo "RUST_ROOT=$rust"
		echo "SECOND=${second:+http://127.0.0.1:${ports[3]}}"
		echo "SECOND_ROOT=$second_root"
		echo "TLS=${tls:+https://127.0.0.1:${ports[5]}}"
		echo "TLS_NEW=${tls:+https://127.0.0.1:${ports[6]}}"
		echo "HOSTS2=${ports[7]}"
		echo "HOSTS64=${ports[8]}"
		echo "CA=$work/cert.pem"
		echo "SECOND_INDEX=${second#"$second_root"}/index.html"
	} | tee "$work/server.env"
}

stop() {
	local pid
	[ -s "$work/nginx.pid" ] || return 0
	pid=$(cat "$work/nginx.pid")
	# A pid that was left behind may be somebody else's by now.
	grep -qs nginx "/proc/$pid/comm" && kill "$pid" || true
	for _ in $(seq 50); do
		[ -e "/proc/$pid" ] || break
		sleep 0.1
	done
	rm -f "$work/nginx.pid"
}

case $1 in
start) start ;;
stop) stop ;;
*) die "start or stop?" ;;
esac
