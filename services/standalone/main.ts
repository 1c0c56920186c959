import { enableCompileCache } from 'node:module';

// Compiled code is kept between starts: everything below is imported after this, so that it is found there.
enableCompileCache();

const { runProcess } = await import('@agent-workflow/runtime/process');
const { openWatchdog } = await import('@agent-workflow/execution/watchdog/watchdog');
const { openStandalone } = await import('./standalone.ts');

await runProcess(async (env) => openStandalone(env, { openWatchdog }));
