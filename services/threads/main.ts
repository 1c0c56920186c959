import { readCommandLine } from '@agent-workflow/kit/command-line';
import { keepCompiledCode } from '@agent-workflow/runtime/compiled-code';

readCommandLine({
  usage: `usage: node services/threads/main.ts
  The threads service as a process. Its settings are environment variables: deploy/settings.md`,
});

// Before the imports below, so that they find what is kept.
keepCompiledCode();

const { runProcess } = await import('@agent-workflow/runtime/process');
const { openThreadsProcess } = await import('./process.ts');

await runProcess(openThreadsProcess);
