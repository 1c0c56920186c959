#!/usr/bin/env node
import * as modules from 'node:module';

refuseOldNode();

// Compiled code is kept between starts: everything below is imported after this, so that it is found there.
modules.enableCompileCache();

await import('./node22.ts');
const { runCommand } = await import('./commands.ts');

const code = await runCommand(process.argv.slice(2));
// A process that was refused has set it itself.
if (code !== undefined) process.exitCode = code;

/** Before anything else is loaded, which an older version refuses with a stack. */
function refuseOldNode(): void {
  const [major = 0] = process.versions.node.split('.').map(Number);
  if (major >= 22) return;
  process.stderr.write(`agent-workflow needs Node 22 or newer, and this is ${process.versions.node}\n`);
  process.exit(1);
}
