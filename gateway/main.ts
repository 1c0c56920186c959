import { enableCompileCache } from 'node:module';

// Caches compiled code between starts. It must run before the imports below, so that they use the cache.
enableCompileCache();

const { runProcess } = await import('@agent-workflow/runtime/process');
const { openGatewayProcess } = await import('./process.ts');

await runProcess(openGatewayProcess);
