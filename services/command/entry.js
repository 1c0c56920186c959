#!/usr/bin/env node
// The command as this tree runs it: another version of Node than it needs would refuse the TypeScript below with a stack.
import '@agent-workflow/standalone/preflight';

await import('./main.ts');
