#!/bin/bash
#
# `meson install` as a packager calls it: without tests and benches, into a
# folder of its own.  Another user, who can read nothing of the builder's, then
# runs the installed program.
set -u
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
failures=0

check() {
	local name=$1
	shift
	if "$@" >said 2>&1; then
		echo "ok $name"
	else
		echo "not ok $name"
		tail -n 20 said | sed 's/^/    /'
		failures=$((failures + 1))
	fi
}

# A copy of the tree, so that the compiler cache knows the objects next time.
# Optimized across files, as ./run builds it; LLD cannot do that with GCC.
unset CC_LD
tree=$PWD/tree build=$PWD/tree/build stage=$PWD/stage
mkdir "$tree"
(cd "$root" && tar -cf - --exclude=./.git --exclude='./build*' \
    --exclude=./tests .) | tar -C "$tree" -xf -
check "configured without tests and benches" meson setup "$build" "$tree" \
    --prefix=/usr -Db_lto=true -Dtests=false -Dbench=false -Dwerror=true
check "nothing of cmocka is wanted" \
    bash -c "! grep -q 'cmocka' '$build/build.ninja'"
check "built" nice ninja -C "$build"
check "no test was built" test -z "$(find "$build" -name '*_test' -type f)"
check "installed" env DESTDIR="$stage" meson install -C "$build" --no-rebuild

for file in usr/bin/argiope usr/share/doc/argiope/LICENSE \
    usr/share/doc/argiope/argiope.conf.example etc/argiope/argiope.conf \
    usr/lib/systemd/system/argiope.service usr/lib/sysusers.d/argiope.conf \
    usr/share/bash-completion/completions/argiope.bash; do
	check "installed: $file" test -s "$stage/$file"
done

program=$stage/usr/bin/argiope
check "no library is looked for in a folder of the builder's" \
    bash -c "! readelf -d '$program' | grep -qE 'RPATH|RUNPATH'"
# The verbs of --help: up to two words before their operands.
"$program" --help | awk '/^  [a-z]/ { print $1, $2 }' | while read -r a b; do
	case $a in
	archive | credential | external | frontier | harvest | items | policy | schedule | store | task | token)
		echo "argiope-$a-$b" ;;
	*) echo "argiope-$a" ;;
	esac
done | sort -u >wanted
(cd "$stage/usr/share/man/man1" && ls) | sed 's/\.1$//' | grep -x 'argiope-.*' |
    sort >pages
check "every verb has its manual page" diff wanted pages
command -v man >/dev/null &&
    check "the manual can be read" bash -c \
    "man -l '$stage/usr/share/man/man1/argiope-crawl.1' >/dev/null"

echo "fetch.tries_max = 7" >"$stage/etc/argiope/argiope.conf"
DESTDIR=$stage meson install -C "$build" --no-rebuild >said 2>&1
check "an administrator's configuration is kept" \
    grep -q tries_max "$stage/etc/argiope/argiope.conf"
check "the program reads it" bash -c "'$program' config \
    --config '$stage/etc/argiope/argiope.conf' | grep -q 'tries_max.* 7'"

if command -v systemd-analyze >/dev/null; then
	sed "s#/usr/bin/argiope#$program#" \
	    "$stage/usr/lib/systemd/system/argiope.service" >argiope.service
	check "systemd understands the unit" bash -c \
	    "systemd-analyze verify --man=no ./argiope.service 2>&1 |
	    grep -v 'argiope.*user' | (! grep -i 'argiope.service:')"
else
	echo "skip systemd understands the unit: systemd-analyze is not installed"
fi
if command -v systemd-sysusers >/dev/null; then
	mkdir -p sys/etc sys/usr/lib/sysusers.d
	cp "$stage/usr/lib/sysusers.d/argiope.conf" sys/usr/lib/sysusers.d/
	: >sys/etc/passwd >sys/etc/group
	check "systemd-sysusers makes the user" bash -c \
	    "systemd-sysusers --root='$PWD/sys' && grep -q '^argiope:' sys/etc/passwd"
else
	echo "skip systemd-sysusers makes the user: it is not installed"
fi

# nobody has a home of its own here, and no way into the builder's.
if [ "$(id -u)" = 0 ]; then
	home=$(mktemp -d -p /tmp)
	trap 'rm -rf "$home"' EXIT
	cp "$program" "$home/"
	chown -R 65534:65534 "$home"
	as_nobody() {
		setpriv --reuid=65534 --regid=65534 --clear-groups \
		    env -i PATH=/usr/bin:/bin HOME="$home" "$@"
	}
	check "another user runs it" as_nobody "$home/argiope" version
	check "... and its crawl" bash -c "$(declare -f as_nobody); home='$home'
	    as_nobody '$home/argiope' explain http://127.0.0.1:9/ --json"
	check "... whose data is that user's" bash -c "
	    cd / && $(declare -f as_nobody); home='$home'
	    as_nobody '$home/argiope' token add someone --scope 'console:read' &&
	    test \$(stat -c %u '$home/.local/share/argiope/store.db') = 65534"
else
	echo "skip another user runs it: this is not root"
fi
[ "$failures" = 0 ]
