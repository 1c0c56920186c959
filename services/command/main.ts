#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

// Compiled code is kept between starts: everything below is imported after this, so that it is found there.
enableCompileCache();

await import('./node22.ts');
const { runCommand } = await import('./commands.ts');

const code = await runCommand(process.argv.slice(2));
// A process that was refused has set it itself.
if (code !== undefined) process.exitCode = code;
