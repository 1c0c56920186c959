import { readCommandLine } from '@agent-workflow/kit/command-line';
import { keepCompiledCode } from '@agent-workflow/runtime/compiled-code';

readCommandLine({
  usage: `usage: node services/standalone/main.ts
  The whole service in one process. Its settings are environment variables: deploy/settings.md`,
});

// Before the imports below, so that they find what is kept.
keepCompiledCode();

const { runProcess } = await import('@agent-workflow/runtime/process');
const { openWatchdog } = await import('@agent-workflow/execution/watchdog/watchdog');
const { openStandalone } = await import('./standalone.ts');

await runProcess(async (env) => openStandalone(env, { openWatchdog }));
