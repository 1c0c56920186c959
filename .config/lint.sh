#!/usr/bin/env bash
# ESLint in four parts, two at a time. One process that knows the types of the whole tree needs more than the 4 GiB of heap that Node gives it.
set -uo pipefail
cd "$(dirname "$0")/.."

# The name of a part (its cache is a file of its own), then what it reads.
part() { eslint --config .config/eslint.config.js --cache --cache-location ".cache/eslint-$1" "${@:2}"; }
pages() { part pages services/playground test/browser; }
services() { part services services --ignore-pattern services/playground; }
tests() { part tests test --ignore-pattern test/browser; }
# Whatever the other three do not read.
rest() { part rest . --ignore-pattern services --ignore-pattern test; }

# Both run, so that one call names all that is wrong.
both() {
  local status=0
  "$1" || status=1
  "$2" || status=1
  return $status
}

both pages services &
both rest tests
first=$?
wait $! && [ $first = 0 ]
