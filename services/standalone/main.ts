import { enableCompileCache } from 'node:module';

// Keeps compiled code between starts. The imports below come after this call, because only those are kept.
enableCompileCache();

const { runProcess } = await import('@agent-workflow/runtime/process');
const { openWatchdog } = await import('@agent-workflow/execution/watchdog/watchdog');
const { openStandalone } = await import('./standalone.ts');

await runProcess(async (env) => openStandalone(env, { openWatchdog }));
