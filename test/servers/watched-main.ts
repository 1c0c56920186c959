import { ServerResponse } from 'node:http';
import { queryObjects } from 'node:v8';
import type { Holdings } from './watched.ts';

// The service as `npm start` runs it, which also says what it holds when its parent asks. Counting collects garbage first.
const count = (constructor: unknown): number => queryObjects(constructor as () => void, { format: 'count' });

process.on('message', () => {
  const holdings: Holdings = {
    replies: count(ServerResponse),
    calls: count(AbortController),
    sockets: process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length,
    heapBytes: process.memoryUsage().heapUsed + process.memoryUsage().external,
    residentBytes: process.memoryUsage().rss,
  };
  process.send?.(holdings);
});
process.channel?.unref();

await import('@agent-workflow/standalone/main');
