#!/bin/bash
#
# deps.sh -- installs what Argiope is built from.
#
#   tools/deps.sh [GROUP...]   groups of tools/packages.txt; default: build
#   tools/deps.sh --prefix     where private libraries stand
#   tools/deps.sh --versions   what was accepted
#   tools/deps.sh --force      make the private libraries again
#
# Debian packages come by apt-get, and only those that are missing.  Three
# libraries are too young for some releases: lexbor, yyjson, ada.  Each is taken
# from the first place that has an acceptable version:
#
#   1. the system, found by pkg-config;
#   2. a package of the running release, installed by apt-get;
#   3. a package of a newer Debian suite, fetched by apt, which checks the
#      archive's signature and the package's hash; it goes to a private prefix
#      and never over the system's files;
#   4. for lexbor: the copy in the source package of PHP 8.4.
#
# The prefix is ARGIOPE_DEPS, by default argiope/deps in the user's cache.  The
# mirror is the one that apt is configured with, or ARGIOPE_MIRROR.  A second
# call finds everything done and takes a few hundredths of a second.
set -euo pipefail
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prefix=${ARGIOPE_DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/argiope/deps}

# name  at least  below
ranges='
lexbor 2.4 4
yyjson 0.8 1
ada    3.0 4
'
# Where a newer package is looked for, in this order.
suites='testing unstable'
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

say() { printf 'deps: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# Mirrors fail now and then: four tries, with a growing pause.
retry() {
	local n
	for n in 1 2 3 4; do
		"$@" && return 0
		[ "$n" = 4 ] || { say "that failed, once more"; sleep $((n * 3)); }
	done
	return 1
}

# ---- Debian packages of the running release ------------------------------

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo --preserve-env=DEBIAN_FRONTEND "$@"
	fi
}

can_be_root() {
	[ "$(id -u)" = 0 ] && return 0
	command -v sudo >/dev/null || return 1
	# Without a terminal nobody could type a password.
	sudo -n true 2>/dev/null || [ -t 0 ]
}

apt_root() {
	as_root apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 \
	    "$@" </dev/null
}

update_done=
apt_update() {
	[ -n "$update_done" ] || retry apt_root update >&2 || return 1
	update_done=1
}

# The version of this package that apt would install, or nothing.
candidate() {
	apt-cache policy "$1" 2>/dev/null |
	    awk '$1 == "Candidate:" && $2 != "(none)" { print $2 }'
}

# The lines of packages.txt in groups $*, as "a|b" words.
wanted() {
	local group
	for group; do
		awk -v g="$group" '$1 == g { print $2 }' "$here/packages.txt"
	done
}

# Of the words of wanted(), those of which no alternative is installed.
missing() {
	local word name have found
	have=$'\n'$(printf '%s\n' "$@" | tr '|' '\n' | xargs -r dpkg-query -W \
	    -f '${Package} ${db:Status-Status}\n' 2>/dev/null || true)$'\n'
	for word; do
		found=
		for name in ${word//|/ }; do
			case $have in *$'\n'"$name installed"$'\n'*) found=1 ;; esac
		done
		[ -n "$found" ] || printf '%s\n' "$word"
	done
}

install_packages() {
	local words names=() word name
	mapfile -t words < <(wanted "$@")
	[ ${#words[@]} -gt 0 ] || die "no such group in packages.txt: $*"
	mapfile -t words < <(missing "${words[@]}")
	[ ${#words[@]} -gt 0 ] || return 0
	can_be_root || die "these packages are missing, and I am neither root" \
	    "nor may I use sudo:" "${words[*]}" "-- install them and call again"
	# On a bare machine apt knows nothing yet.
	[ -n "$(candidate gcc)" ] || apt_update || true
	for word in "${words[@]}"; do
		for name in ${word//|/ }; do
			[ -n "$(candidate "$name")" ] && break
		done
		names+=("$name")
	done
	say "installing ${names[*]}"
	install_names "${names[@]}"
}

# --no-remove: what the user has is never taken away for our sake.
install_names() {
	apt_root install --no-install-recommends --no-remove "$@" >&2 && return 0
	say "that failed; asking the mirror for newer lists"
	apt_update || die "apt-get update failed"
	retry apt_root install --no-install-recommends --no-remove "$@" >&2 ||
	    die "apt-get could not install: $*"
}

# ---- Versions -------------------------------------------------------------

range_of() { awk -v n="$1" '$1 == n { print $2, $3 }' <<<"$ranges"; }

# acceptable NAME VERSION: Debian's epoch and revision do not count.
acceptable() {
	local low high v=${2#*:}
	v=${v%%-*}; v=${v%%+*}
	read -r low high < <(range_of "$1")
	[ -n "$v" ] && dpkg --compare-versions "$v" ge "$low" &&
	    dpkg --compare-versions "$v" lt "$high"
}

system_has() {
	local v
	v=$(PKG_CONFIG_PATH= pkg-config --modversion "$1" 2>/dev/null) &&
	    acceptable "$1" "$v"
}

private_has() {
	[ -e "$prefix/lib/pkgconfig/$1.pc" ] &&
	    [ "$(cat "$prefix/.made-$1" 2>/dev/null)" = "$recipe" ]
}

# ---- Newer suites, in lists of our own ------------------------------------

# The URIs from which apt takes the running release, in both formats.
mirrors() {
	local f code
	[ -z "${ARGIOPE_MIRROR:-}" ] || { echo "$ARGIOPE_MIRROR"; return; }
	code=$(. /etc/os-release && echo "${VERSION_CODENAME:-sid}")
	for f in /etc/apt/sources.list.d/*.sources; do
		[ -e "$f" ] && { cat "$f"; echo; }
	done | awk -v code="$code" '
		function has(list, word,    i, n, w) {
			n = split(list, w, " ")
			for (i = 1; i <= n; i++) if (w[i] == word) return 1
			return 0
		}
		function flush(    w) {
			if (has(f["types"], "deb") && f["enabled"] != "no" &&
			    has(f["components"], "main") && (has(f["suites"], code) ||
			    has(f["suites"], "stable") || has(f["suites"], "testing") ||
			    has(f["suites"], "unstable"))) {
				split(f["uris"], w, " "); print w[1]
			}
			delete f; key = ""
		}
		/^#/ { next }
		/^[ \t]*$/ { flush(); next }
		/^[A-Za-z-]+:/ { key = tolower($0); sub(/:.*/, "", key)
			sub(/^[^:]*:[ \t]*/, ""); f[key] = $0; next }
		key != "" { f[key] = f[key] " " $0 }
		END { flush() }'
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ -e "$f" ] && { cat "$f"; echo; }
	done | awk -v code="$code" '
		$1 == "deb" { sub(/#.*/, ""); sub(/\[[^]]*\]/, "")
			if ($3 == code || $3 == "stable" || $3 == "testing" ||
			    $3 == "unstable" || $3 == "sid")
				for (i = 4; i <= NF; i++) if ($i == "main") print $2 }'
}

work=
suite=
cleanup() { [ -z "$work" ] || rm -rf "$work"; }
trap cleanup EXIT

# apt_private COMMAND...: apt with lists, sources and cache of its own.
apt_private() {
	local command=$1
	shift
	"$command" -q -o Dir::State::Lists="$work/$suite/lists" \
	    -o Dir::Etc::SourceList="$work/$suite/sources.list" \
	    -o Dir::Etc::SourceParts=/dev/null \
	    -o Dir::Etc::Preferences=/dev/null \
	    -o Dir::Etc::PreferencesParts=/dev/null \
	    -o Dir::Cache="$work/$suite/cache" -o APT::Sandbox::User=root \
	    -o APT::Default-Release= -o Acquire::Retries=3 \
	    -o Acquire::Languages=none -o Acquire::PDiffs=false \
	    -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
	    -o Acquire::IndexTargets::deb::DEP-11-icons::DefaultEnabled=false \
	    -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false \
	    "$@" </dev/null
}

# open_suite NAME: read that suite's signed lists, or fail, once.
open_suite() {
	local mirror options
	suite=$1
	[ ! -e "$work/$suite/ready" ] || return 0
	[ ! -e "$work/$suite/sources.list" ] || return 1
	mirror=$(mirrors | head -n 1)
	[ -n "$mirror" ] || die "apt has no Debian mirror configured;" \
	    "set ARGIOPE_MIRROR to one"
	options="arch=$(dpkg --print-architecture)"
	[ ! -e "$keyring" ] || options="$options signed-by=$keyring"
	mkdir -p "$work/$suite"/{lists/partial,cache/archives/partial,files}
	printf '%s [%s] %s %s main\n' deb "$options" "$mirror" "$suite" \
	    deb-src "$options" "$mirror" "$suite" >"$work/$suite/sources.list"
	say "reading the lists of Debian $suite"
	retry apt_private apt-get update >"$work/$suite/log" 2>&1 || {
		say "Debian $suite cannot be read:" \
		    "$(grep -m 1 '^E: ' "$work/$suite/log")"
		return 1
	}
	# apt-get update succeeds with a warning where a list is missing.
	compgen -G "$work/$suite/lists/*_Sources*" >/dev/null || return 1
	touch "$work/$suite/ready"
}

# version_of deb|src PACKAGE: what the open suite has; nothing if nothing.
version_of() {
	local kind=Packages
	[ "$1" = deb ] || kind=Sources
	apt_private apt-cache madison "$2" 2>/dev/null | awk -F' *[|] *' \
	    -v k="$kind" '$3 ~ k "$" { print $2; exit }'
}

# fetch COMMAND...: apt-get, quietly; what is not there (404) is not retried.
fetch() {
	cd "$work/$suite/files"
	local n log=$work/$suite/log
	for n in 1 2 3; do
		apt_private apt-get "$@" >"$log" 2>&1 && return 0
		! grep -q ' 404 ' "$log" ||
			{ say "this mirror lacks ${*: -1} ($1)"; return 1; }
		sleep $((n * 3))
	done
	say "$(grep -m 1 '^E: ' "$log" || echo "apt-get $* failed")"
	return 1
}

# get_deb PACKAGE VERSION DIR: fetch one package and unpack it into DIR.
get_deb() {
	fetch download "$1=$2" || return 1
	mkdir -p "$3"
	dpkg-deb -x "$1"_*.deb "$3"
}

# get_source PACKAGE VERSION DIR [TAR-ARGUMENT...]: its upstream part.
get_source() {
	local name=$1 version=$2 dir=$3 tarball
	shift 3
	fetch source --download-only "$name=$version" || return 1
	tarball=$(echo "$name"_*.orig.tar.*[!c])
	mkdir -p "$dir"
	tar xf "$tarball" -C "$dir" "$@"
}

# ---- Into the private prefix ----------------------------------------------

# write_pc NAME VERSION LIBS: the last step, so that a half is never found.
write_pc() {
	mkdir -p "$prefix/lib/pkgconfig"
	cat >"$prefix/lib/pkgconfig/$1.pc" <<-END
	prefix=$prefix
	Name: $1
	Description: $1 in Argiope's private prefix
	Version: $2
	Cflags: -I\${prefix}/include
	Libs: -L\${prefix}/lib $3
	END
}

# checked NAME: a small program links with it and runs here.
checked() {
	local source
	case $1 in
	lexbor) source='#include <lexbor/html/html.h>
		int main(void) { lxb_html_document_t *d =
		lxb_html_document_create(); return d == NULL ||
		lxb_html_document_parse(d, (const lxb_char_t *)"<p>x", 4) != 0; }' ;;
	yyjson) source='#include <yyjson.h>
		int main(void) { return yyjson_read("[1]", 3, 0) == NULL; }' ;;
	ada) source='#include <stdbool.h>
		#include <stddef.h>
		#include <ada_c.h>
		int main(void) { ada_url u = ada_parse("http://a/", 9);
		return !ada_is_valid(u); }' ;;
	esac
	printf '%s\n' "$source" >"$work/check.c"
	# shellcheck disable=SC2046 # flags are words
	gcc -o "$work/check" "$work/check.c" \
	    $(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs "$1") \
	    2>"$work/check.log" && "$work/check" && return 0
	rm -f "$prefix/lib/pkgconfig/$1.pc"
	tail -n 3 "$work/check.log" >&2
	return 1
}

# The static library of a binary package: nothing to compile, no rpath.
lexbor_from_deb() {
	local v
	v=$(version_of deb liblexbor-dev)
	acceptable lexbor "$v" || return 1
	get_deb liblexbor-dev "$v" "$work/lexbor" || return 1
	cp "$work"/lexbor/usr/lib/*/liblexbor_static.a "$prefix/lib/liblexbor.a"
	rm -rf "$prefix/include/lexbor"
	cp -R "$work/lexbor/usr/include/lexbor" "$prefix/include/"
	write_pc lexbor "${v%%-*}" '-llexbor -lm'
	checked lexbor
}

# compile_lexbor SOURCE-DIR: every file that is not for another system.
compile_lexbor() {
	local object="$work/lexbor-objects"
	mkdir -p "$object"
	(cd "$1" && find lexbor -name '*.c' ! -path '*windows_nt*' \
	    ! -path '*selectors-adapted*' -print) |
	    xargs -P "$(nproc)" -I{} sh -c 'gcc -O2 -std=gnu17 -fPIC -DLXB_STATIC \
		-fvisibility=hidden -w -I"$1" -c "$1/{}" \
		-o "$2/$(echo {} | tr / _).o"' sh "$1" "$object" || return 1
	rm -f "$prefix/lib/liblexbor.a"
	(cd "$object" && ar rcs "$prefix/lib/liblexbor.a" ./*.o)
	rm -rf "$prefix/include/lexbor"
	(cd "$1" && find lexbor -name '*.h' | tar cf - -T -) |
	    tar xf - -C "$prefix/include"
}

lexbor_from_source() {
	local v
	v=$(version_of src lexbor)
	acceptable lexbor "$v" || return 1
	get_source lexbor "$v" "$work/lexbor-src" --strip-components=1 || return 1
	compile_lexbor "$work/lexbor-src/source" || return 1
	write_pc lexbor "${v%%-*}" '-llexbor -lm'
	checked lexbor
}

# PHP carries lexbor; which one, its header says.
lexbor_from_php() {
	local v
	v=$(version_of src php8.4)
	[ -n "$v" ] || return 1
	say "lexbor is compiled from PHP's source package (a minute)"
	get_source php8.4 "$v" "$work/lexbor-php" --wildcards \
	    --strip-components=3 '*/ext/dom/lexbor/*' || return 1
	compile_lexbor "$work/lexbor-php/lexbor" || return 1
	v=$(awk '$2 ~ /^LEXBOR_VERSION_(MAJOR|MINOR|PATCH)$/ {
		v = v (v == "" ? "" : ".") $3 } END { print v }' \
	    "$prefix/include/lexbor/core/base.h")
	acceptable lexbor "$v" || return 1
	write_pc lexbor "$v" '-llexbor -lm'
	checked lexbor
}

yyjson_from_source() {
	local v
	v=$(version_of src yyjson)
	acceptable yyjson "$v" || return 1
	get_source yyjson "$v" "$work/yyjson" --strip-components=1 || return 1
	gcc -O2 -std=gnu11 -fPIC -DNDEBUG -c "$work/yyjson/src/yyjson.c" \
	    -o "$work/yyjson.o" || return 1
	rm -f "$prefix/lib/libyyjson.a"
	ar rcs "$prefix/lib/libyyjson.a" "$work/yyjson.o"
	cp "$work/yyjson/src/yyjson.h" "$prefix/include/"
	v=${v%%-*}
	write_pc yyjson "${v%%+*}" -lyyjson
	checked yyjson
}

# The shared library, where the mirror has no sources: it wants an rpath.
yyjson_from_deb() {
	local v
	v=$(version_of deb libyyjson-dev)
	acceptable yyjson "$v" || return 1
	get_deb libyyjson-dev "$v" "$work/yyjson" || return 1
	get_deb libyyjson0 "$v" "$work/yyjson" || return 1
	cp -a "$work"/yyjson/usr/lib/*/libyyjson.so* "$prefix/lib/"
	cp "$work"/yyjson/usr/include/yyjson.h "$prefix/include/"
	v=${v%%-*}
	write_pc yyjson "${v%%+*}" "-lyyjson -Wl,-rpath,$prefix/lib"
	checked yyjson
}

# One C++ file.  Hidden: our program shows none of its symbols to others.
ada_from_source() {
	local v
	v=$(version_of src ada-url)
	acceptable ada "$v" || return 1
	get_source ada-url "$v" "$work/ada" --strip-components=1 || return 1
	say "ada ${v%%-*} is compiled (half a minute)"
	g++ -O2 -std=c++20 -fPIC -fno-rtti -fvisibility=hidden -DNDEBUG \
	    -I"$work/ada/include" -I"$work/ada/src" -c "$work/ada/src/ada.cpp" \
	    -o "$work/ada.o" || return 1
	rm -f "$prefix/lib/libada.a"
	ar rcs "$prefix/lib/libada.a" "$work/ada.o"
	cp "$work/ada/include/ada_c.h" "$prefix/include/"
	write_pc ada "${v%%-*}" '-lada -lstdc++'
	checked ada
}

# Which package of the running release would carry it.
package_of() {
	case $1 in
	lexbor) echo liblexbor-dev ;;
	yyjson) echo libyyjson-dev ;;
	ada) echo libada-url-dev ;;
	esac
}

# From the running release, when it has an acceptable version.
from_release() {
	local v package
	package=$(package_of "$1")
	v=$(candidate "$package")
	acceptable "$1" "$v" && can_be_root || return 1
	say "installing $package"
	install_names "$package"
	system_has "$1"
}

# The ways to each library, tried in every suite before the next suite.
ways_of() {
	case $1 in
	lexbor) echo lexbor_from_deb lexbor_from_source ;;
	yyjson) echo yyjson_from_source yyjson_from_deb ;;
	ada) echo ada_from_source ;;
	esac
}

from_newer() {
	local s way
	for s in $suites; do
		open_suite "$s" || continue
		for way in $(ways_of "$1"); do
			("$way") && return 0
		done
	done
	[ "$1" = lexbor ] || return 1
	for s in $suites trixie; do
		open_suite "$s" && (lexbor_from_php) && return 0
	done
	return 1
}

make_library() {
	system_has "$1" && return 0
	private_has "$1" && return 0
	[ -z "${ARGIOPE_DEPS_PRIVATE:-}" ] && from_release "$1" && return 0
	say "$1 is too old or absent here; looking in newer Debian suites"
	mkdir -p "$prefix"/{lib,include}
	rm -f "$prefix/.made-$1"
	from_newer "$1" ||
	    die "no acceptable $1 anywhere:" \
	    "from $(range_of "$1" | sed 's/ / on and below /') is wanted"
	echo "$recipe" >"$prefix/.made-$1"
}

versions() {
	local name where
	while read -r name _; do
		[ -n "$name" ] || continue
		where=system
		[ ! -e "$prefix/lib/pkgconfig/$name.pc" ] || where=$prefix
		printf 'deps: %s %s (%s)\n' "$name" "$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig \
		    pkg-config --modversion "$name" 2>/dev/null || echo absent)" "$where"
	done <<<"$ranges"
}

make_libraries() {
	mkdir -p "$prefix"
	# Two builds at once must not write into one prefix.
	exec 9>"$prefix/.lock"
	flock 9
	work=$(mktemp -d "$prefix/.work-XXXXXX")
	local name
	while read -r name _; do
		[ -z "$name" ] || make_library "$name"
	done <<<"$ranges"
	echo "$recipe" >"$prefix/stamp"
	versions >&2
}

# The stamp is of this file, the release and the machine.
recipe_now() {
	{ cat "${BASH_SOURCE[0]}"; cat /etc/os-release; uname -m; } |
	    sha256sum | cut -d' ' -f1
}

groups=()
for arg; do
	case $arg in
	--prefix) echo "$prefix"; exit 0 ;;
	--versions) versions; exit 0 ;;
	--force) rm -f "$prefix"/stamp "$prefix"/.made-* ;;
	-*) sed -n '3,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2; exit 64 ;;
	*) groups+=("$arg") ;;
	esac
done
[ ${#groups[@]} -gt 0 ] || groups=(build)
recipe=$(recipe_now)
install_packages "${groups[@]}"
[ "$(cat "$prefix/stamp" 2>/dev/null)" = "$recipe" ] || make_libraries
