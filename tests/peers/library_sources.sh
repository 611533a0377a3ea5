#!/bin/bash
#
# tools/deps.sh with archives that cannot be had or are not what they should
# be: the next one of the table is taken, and a failed try leaves nothing.
set -u
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir tools
cp "$root"/tools/{deps.sh,source_archive.py,packages.txt} tools/
export ARGIOPE_DEPS=$PWD/libs
failures=0

check() {
	local name=$1
	shift
	if "$@"; then
		echo "ok $name"
	else
		echo "not ok $name"
		sed 's/^/    /' said
		failures=$((failures + 1))
	fi
}

# The table with other rows for yyjson, and none for those that take long.  How
# fast the library is is no matter here: optimizing takes most of the time.
table() {
	awk '$1 != "source"' "$root/tools/packages.txt" >tools/packages.txt
	cat >>tools/packages.txt
	sed -i -e 's/^libraries=.*/libraries=yyjson/' -e 's/ -O2 / -O0 /' \
		tools/deps.sh
}

good=$(awk '$1 == "source" && $2 == "yyjson" && $4 == "pypi"' \
    "$root/tools/packages.txt")
[ -n "$good" ] || { echo "not ok the table names yyjson"; exit 1; }
wrong_sum="${good% *} $(printf '%064d' 0)"
no_release=$(sed 's/4\.0\.6/99.0.0/' <<<"$good")
no_source=$(awk '$1 == "source" && $2 == "ada" && $4 == "pypi"' \
    "$root/tools/packages.txt" | sed 's/^source ada/source yyjson/')

printf '%s\n' "$wrong_sum" "$no_release" "$no_source" | table
tools/deps.sh build >said 2>&1
code=$?
check "no source that can be had is a failure" test "$code" != 0
check "a wrong checksum is told" \
    grep -q "yyjson 4.0.6: its SHA-256 is .*, not 0000" said
check "a version that the registry lacks is told" \
    grep -q "99.0.0: the registry has no source distribution" said
check "an archive without the library is told" \
    grep -q "the archive contains no yyjson.h" said
check "the last line says what to do" grep -q "Dsystem_libs=true" said
check "failed tries leave nothing behind" \
    test -z "$(find libs -type f ! -name .lock)"

printf '%s\n' "$wrong_sum" "$good" | table
check "after a wrong one the next one is taken" \
    eval 'tools/deps.sh build >said 2>&1'
check "... and its library is there" test -e libs/lib/libyyjson.a
check "... and nothing else of the work" \
    test -z "$(find libs -name '.work-*')"
before=$(stat -c %Y.%i libs/lib/libyyjson.a)
check "a second call builds nothing" eval 'tools/deps.sh build >said 2>&1 &&
    test ! -s said && test "$(stat -c %Y.%i libs/lib/libyyjson.a)" = "$before"'

# Where cargo is, the crate is as good.
if command -v cargo >/dev/null; then
	awk '$1 == "source" && $2 == "yyjson" && $4 == "crates"' \
	    "$root/tools/packages.txt" | table
	check "from a crate" eval 'tools/deps.sh build >said 2>&1'
else
	echo "skip from a crate: cargo is not installed"
fi

# Every row of the table can be had today, and rows of one version contain the
# same code; white space may differ, as registries keep different line ends.
code_of() {
	local from files
	mkdir "$2" && tar xf "$3" -C "$2" || return 1
	case $1 in
	lexbor) from=$(find "$2" -path '*/lexbor/core/base.h' -printf '%h/..')
		files=$(cd "$from" && find . -name '*.[ch]' | sort) ;;
	# The crate's header has a later fix of yyjson_mut_obj_iter_remove(),
	# which Argiope does not call.
	yyjson) from=$(find "$2" -name yyjson.h -printf '%h')
		files=yyjson.c ;;
	ada) from=$(find "$2" -name ada_c.h -printf '%h')
		files='ada.cpp ada.h ada_c.h' ;;
	quickjs) from=$(find "$2" -name quickjs-opcode.h -printf '%h')
		files='quickjs.c quickjs.h libregexp.c libunicode.c dtoa.c' ;;
	esac
	# shellcheck disable=SC2086 # files are words
	[ -d "$from" ] && (cd "$from" && ls $files && cat $files |
	    tr -d '[:space:]') >"$2.code" && sha256sum <"$2.code"
}
mkdir rows
: >sums
while read -r _ library version kind package release sum; do
	if [ "$kind" = crates ] && ! command -v cargo >/dev/null; then
		echo "skip the source $kind $package $release: cargo is not installed"
		continue
	fi
	row=rows/$library-$kind-$release
	[ ! -e "$row" ] || continue
	check "the source $kind $package $release can be had" eval \
	    'python3 tools/source_archive.py "$kind" "$package" "$release" \
	    "$sum" "$row.archive" >said 2>&1'
	check "... and contains $library $version" eval \
	    'code=$(code_of "$library" "$row" "$row.archive" 2>said)'
	echo "$library $version ${code:-none}" >>sums
done < <(awk '$1 == "source" || $1 == "oldest"' "$root/tools/packages.txt")
sort -u sums | awk '{ print $1, $2 }' | uniq -d >said
check "rows of one version contain the same code" test ! -s said
[ "$failures" = 0 ]
