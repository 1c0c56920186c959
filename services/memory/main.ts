import { readCommandLine } from '@agent-workflow/kit/command-line';
import { keepCompiledCode } from '@agent-workflow/runtime/compiled-code';

readCommandLine({
  usage: `usage: node services/memory/main.ts
  The memory service as a process. Its settings are environment variables: deploy/settings.md`,
});

// Before the imports below, so that they find what is kept.
keepCompiledCode();

const { runProcess } = await import('@agent-workflow/runtime/process');
const { openMemoryProcess } = await import('./process.ts');

await runProcess(openMemoryProcess);
