/** Keeps the tools that callers have set up for their runs to come. */
export { openMemoryToolShelf } from './memory.ts';
export { keptMs, type ToolShelf } from './port.ts';
export { openRedisToolShelf } from './redis.ts';
