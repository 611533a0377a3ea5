#!/bin/bash
#
# deps.sh -- installs what Argiope is built from.
#
#   tools/deps.sh [GROUP...]   groups of tools/packages.txt; default: build
#   tools/deps.sh --prefix     print where the private libraries are
#   tools/deps.sh --versions   print the private libraries and their versions
#   tools/deps.sh --force      build the private libraries again
#   tools/deps.sh --packages [GROUP...]   install Debian packages only
#
# Debian packages come by apt-get, and only those that are missing.  Four
# libraries, which releases of Debian lack or have too old, are compiled here
# as static libraries: lexbor, yyjson, ada and quickjs (QuickJS-ng).  tools/packages.txt names for each
# an exact version and the archives that contain its source, with checksums.
# They are tried in order, and a failed try leaves nothing behind.
#
# The prefix is ARGIOPE_DEPS, by default argiope/libs in the user's cache;
# nothing of it is needed once the program is built.  ARGIOPE_DEPS_BOUNDS=oldest
# builds the oldest versions that are supported, to test with them.  A second
# call finds everything done and takes a few hundredths of a second.
set -euo pipefail
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prefix=${ARGIOPE_DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/argiope/libs}
table=source
[ "${ARGIOPE_DEPS_BOUNDS:-}" != oldest ] || table=oldest

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

# Print those words of wanted() of which no alternative is installed.
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

# ---- Private libraries ----------------------------------------------------

work=
cleanup() { [ -z "$work" ] || rm -rf "$work"; }
trap cleanup EXIT

libraries='lexbor yyjson ada quickjs'

# The rows of library $1: version, registry, package, its version, checksum.
sources_of() {
	awk -v t="$table" -v n="$1" \
	    '$1 == t && $2 == n { print $3, $4, $5, $6, $7 }' "$here/packages.txt"
}

# The folder below $1 that contains the file $2.
folder_with() {
	local found
	found=$(find "$1" -path "*/$2" -print -quit)
	[ -n "$found" ] || { say "the archive contains no $2"; return 1; }
	printf '%s\n' "${found%/"$2"}"
}

# compile NAME SOURCE ROOT: make ROOT/lib/libNAME.a and ROOT/include.  Symbols
# are hidden: none of them is visible to a library that the program loads.
compile() {
	local from object="$work/objects"
	rm -rf "$object"
	mkdir -p "$object" "$3/lib" "$3/include"
	case $1 in
	lexbor)
		from=$(folder_with "$2" lexbor/core/base.h) || return 1
		(cd "$from" && find lexbor -name '*.c' ! -path '*windows_nt*') |
		    xargs -P "$(nproc)" -I{} sh -c 'gcc -O2 -std=gnu17 -fPIC \
			-DLXB_STATIC -fvisibility=hidden -w -I"$1" -c "$1/{}" \
			-o "$2/$(echo {} | tr / _).o"' sh "$from" "$object" ||
		    return 1
		(cd "$from" && find lexbor -name '*.h' -exec \
		    cp --parents -t "$3/include" {} +) ;;
	yyjson)
		from=$(folder_with "$2" yyjson.h) || return 1
		gcc -O2 -std=gnu11 -fPIC -fvisibility=hidden -DNDEBUG \
		    -c "$from/yyjson.c" -o "$object/yyjson.o" || return 1
		cp "$from/yyjson.h" "$3/include/" ;;
	ada)
		from=$(folder_with "$2" ada_c.h) || return 1
		g++ -O2 -std=c++20 -fPIC -fno-rtti -fvisibility=hidden -DNDEBUG \
		    -I"$from" -c "$from/ada.cpp" -o "$object/ada.o" || return 1
		cp "$from/ada_c.h" "$3/include/" ;;
	quickjs)
		# Its assertions stay: a broken invariant ends a sandboxed process.
		from=$(folder_with "$2" quickjs-opcode.h) || return 1
		printf '%s\n' quickjs libregexp libunicode dtoa |
		    xargs -P "$(nproc)" -I{} gcc -O2 -std=gnu17 -fPIC \
			-funsigned-char -fvisibility=hidden -fstack-protector-strong \
			-fstack-clash-protection -w -DQUICKJS_NG_BUILD \
			-c "$from/{}.c" -o "$object/{}.o" || return 1
		cp "$from/quickjs.h" "$3/include/" ;;
	esac
	(cd "$object" && ar rcs "$3/lib/lib$1.a" ./*.o)
}

# checked NAME ROOT: a small program links with it and runs here.
checked() {
	local source flags=
	case $1 in
	lexbor) flags=-lm source='#include <lexbor/html/html.h>
		int main(void) { lxb_html_document_t *d =
		lxb_html_document_create(); return d == NULL ||
		lxb_html_document_parse(d, (const lxb_char_t *)"<p>x", 4) != 0; }' ;;
	yyjson) source='#include <yyjson.h>
		int main(void) { return yyjson_read("[1]", 3, 0) == NULL; }' ;;
	ada) flags=-lstdc++ source='#include <stdbool.h>
		#include <stddef.h>
		#include <ada_c.h>
		int main(void) { ada_url u = ada_parse("http://a/", 9);
		return !ada_is_valid(u); }' ;;
	quickjs) flags=-lm source='#include <quickjs.h>
		int main(void) { JSRuntime *r = JS_NewRuntime();
		JSContext *c = JS_NewContext(r);
		JSValue v = JS_Eval(c, "6*7", 3, "x", 0); int32_t n = 0;
		return JS_ToInt32(c, &n, v) != 0 || n != 42; }' ;;
	esac
	printf '%s\n' "$source" >"$work/check.c"
	gcc -I"$2/include" -o "$work/check" "$work/check.c" "$2/lib/lib$1.a" \
	    $flags && "$work/check"
}

# make_library NAME: from the first archive that can be had.
make_library() {
	local name=$1 version kind package release sum archive="$work/archive"
	[ "$(cat "$prefix/.made-$name" 2>/dev/null)" != "$recipe" ] || return 0
	rm -f "$prefix/.made-$name"
	while read -r version kind package release sum; do
		rm -rf "$work"/{archive,source,root}
		python3 "$here/source_archive.py" "$kind" "$package" "$release" \
		    "$sum" "$archive" >&2 || continue
		say "compiling $name $version ($kind $package $release)"
		mkdir "$work/source"
		tar xf "$archive" -C "$work/source" &&
		    compile "$name" "$work/source" "$work/root" >"$work/log" 2>&1 &&
		    checked "$name" "$work/root" >>"$work/log" 2>&1 || {
			tail -n 5 "$work/log" >&2
			continue
		}
		mkdir -p "$prefix"
		cp -R "$work/root/." "$prefix/"
		echo "$version" >"$prefix/.version-$name"
		echo "$recipe" >"$prefix/.made-$name"
		return 0
	done < <(sources_of "$name")
	die "no source of $name could be had; tools/packages.txt names them." \
	    "With libraries of the system: meson setup -Dsystem_libs=true"
}

versions() {
	local name
	for name in $libraries; do
		[ -e "$prefix/.made-$name" ] || continue
		printf 'deps: %s %s\n' "$name" "$(cat "$prefix/.version-$name")"
	done
}

make_libraries() {
	local name
	mkdir -p "$prefix"
	# Two builds at once must not write into one prefix.
	exec 9>"$prefix/.lock"
	flock 9
	work=$(mktemp -d "$prefix/.work-XXXXXX")
	for name in $libraries; do
		make_library "$name"
	done
	echo "$recipe" >"$prefix/stamp"
	versions >&2
}

# The stamp is of this file, the table, the release and the machine.
recipe_now() {
	{ cat "${BASH_SOURCE[0]}"; awk -v t="$table" '$1 == t' "$here/packages.txt"
	    cat /etc/os-release; uname -m; } | sha256sum | cut -d' ' -f1
}

groups=()
only_packages=
for arg; do
	case $arg in
	--prefix) echo "$prefix"; exit 0 ;;
	--versions) versions; exit 0 ;;
	--packages) only_packages=1 ;;
	--force) rm -f "$prefix"/stamp "$prefix"/.made-* ;;
	-*) sed -n '3,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2; exit 64 ;;
	*) groups+=("$arg") ;;
	esac
done
[ ${#groups[@]} -gt 0 ] || groups=(build)
install_packages "${groups[@]}"
[ -z "$only_packages" ] || exit 0
recipe=$(recipe_now)
[ "$(cat "$prefix/stamp" 2>/dev/null)" = "$recipe" ] || make_libraries
