import { keepCompiledCode } from '@agent-workflow/runtime/compiled-code';

// Before the imports below, so that they find what is kept.
keepCompiledCode();

const { runProcess } = await import('@agent-workflow/runtime/process');
const { openWatchdog } = await import('@agent-workflow/execution/watchdog/watchdog');
const { openStandalone } = await import('./standalone.ts');

await runProcess(async (env) => openStandalone(env, { openWatchdog }));
