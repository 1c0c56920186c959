import { enableCompileCache } from 'node:module';

// Compiled code is kept between starts: everything below is imported after this, so that it is found there.
enableCompileCache();

const { runProcess } = await import('@agent-workflow/runtime/process');
const { openThreadsProcess } = await import('./process.ts');

await runProcess(openThreadsProcess);
