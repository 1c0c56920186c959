import { relative } from 'node:path';

/** Files that take long, the longest of each command first: one that began last would be alone at the end. */
export const longest: readonly string[] = [
  'test/contract/threads-servers.test.ts',
  'test/contract/thread-store-servers.test.ts',
  'test/contract/threads.test.ts',
  'test/gateway/abuse.test.ts',
  'test/contract/memory.test.ts',
  'test/contract/memory-weaviate.test.ts',
  'test/cassandra/two-replicas.test.ts',
  'test/contract/memory-store.test.ts',
  'test/contract/memory-updates.test.ts',
  'test/http/isolation.test.ts',
  // Waits two minutes for a service that does not come.
  'test/process/register.test.ts',
  'test/chart/image.test.ts',
  'test/chart/install.test.ts',
  'test/cassandra/faults.test.ts',
  'test/cassandra/tombstones.test.ts',
  'test/faults/cluster.test.ts',
  'test/faults/uploads.test.ts',
  'test/faults/weaviate.test.ts',
  'test/faults/slow-readers.test.ts',
  'test/http/runs.ticket.test.ts',
  'test/http/limits.test.ts',
  'test/http/graph.stream.order.test.ts',
  'test/http/idempotency.test.ts',
  'test/http/runs.test.ts',
  'test/cluster/played.test.ts',
  'test/browser/docs.test.ts',
];

const ranks = new Map(longest.map((file, rank) => [file, rank]));
const rankOf = (path: string): number => ranks.get(relative(process.cwd(), path)) ?? longest.length;

/** The order in which ava is to start test files, by their paths; the others stand in the order of the alphabet. */
export const longestFirst = (a: string, b: string): number => rankOf(a) - rankOf(b) || a.localeCompare(b);
