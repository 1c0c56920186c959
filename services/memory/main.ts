import { keepCompiledCode } from '@agent-workflow/runtime/compiled-code';

// Before the imports below, so that they find what is kept.
keepCompiledCode();

const { runProcess } = await import('@agent-workflow/runtime/process');
const { openMemoryProcess } = await import('./process.ts');

await runProcess(openMemoryProcess);
