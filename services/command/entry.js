#!/usr/bin/env node
// The command of a clone. It checks the version of Node before it loads TypeScript, which an older Node refuses with a stack.
import '@agent-workflow/standalone/preflight';

await import('./main.ts');
