// Runs before everything else, on any version of Node: so it is plain JavaScript without imports.
const needed = [24, 12];
const found = process.versions.node.split('.').map(Number);

if (found[0] < needed[0] || (found[0] === needed[0] && found[1] < needed[1])) {
  console.error(
    `Node ${needed.join('.')} or newer is needed, this is ${process.versions.node}. ` +
      'Run `npm ci` without --ignore-scripts: it brings the pinned Node, which the npm scripts then use.',
  );
  process.exit(1);
}
