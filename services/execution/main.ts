import { readCommandLine } from '@agent-workflow/kit/command-line';
import { keepCompiledCode } from '@agent-workflow/runtime/compiled-code';

readCommandLine({
  usage: `usage: node services/execution/main.ts
  The execution service as a process. Its settings are environment variables: deploy/settings.md`,
});

// Before the imports below, so that they find what is kept.
keepCompiledCode();

const { runProcess } = await import('@agent-workflow/runtime/process');
const { openExecutionProcess } = await import('./process.ts');

await runProcess(openExecutionProcess);
