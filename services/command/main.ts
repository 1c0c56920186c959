#!/usr/bin/env node
const [major = 0] = process.versions.node.split('.').map(Number);
// An older version would refuse what is loaded below with a stack.
if (major < 22) {
  process.stderr.write(`agent-workflow needs Node 22 or newer, and this is ${process.versions.node}\n`);
  process.exitCode = 1;
} else {
  const { keepCompiledCode } = await import('@agent-workflow/runtime/compiled-code');
  // Before the imports below, so that they find what is kept.
  keepCompiledCode();
  await import('./node22.ts');
  // A reader of the output may end first, as `head` does.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  const { runCommand } = await import('./commands.ts');
  const code = await runCommand(process.argv.slice(2));
  // A process that was refused has set it itself.
  if (code !== undefined) process.exitCode = code;
}
