import { readCommandLine } from '@agent-workflow/kit/command-line';
import { keepCompiledCode } from '@agent-workflow/runtime/compiled-code';

readCommandLine({
  usage: `usage: node gateway/main.ts
  The gateway as a process. Its settings are environment variables: deploy/settings.md`,
});

// Before the imports below, so that they find what is kept.
keepCompiledCode();

const { runProcess } = await import('@agent-workflow/runtime/process');
const { openGatewayProcess } = await import('./process.ts');

await runProcess(openGatewayProcess);
