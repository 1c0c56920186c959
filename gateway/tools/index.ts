/** Stores the tools that callers set up for their later runs. */
export { openInProcessToolStore } from './in-process.ts';
export { toolsTtlMs, type ToolStore } from './port.ts';
export { openRedisToolStore } from './redis.ts';
