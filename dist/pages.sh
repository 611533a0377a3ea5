#!/bin/sh
# pages.sh PROGRAM FOLDER PAGE... -- writes manual pages, as the program prints
# them.  PAGE is argiope.1, argiope-crawl.1, argiope-archive-ls.1 and so on.
set -eu
program=$1 folder=$2
shift 2
for page; do
	verb=${page#argiope}
	verb=${verb#-}
	# The second word of a verb may have a hyphen of its own.
	verb=$(echo "${verb%.1}" | sed 's/-/ /')
	# shellcheck disable=SC2086 # a verb has up to two words
	"$program" man $verb >"$folder/$page"
done
