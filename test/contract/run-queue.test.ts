import test from 'ava';
import { openInProcessRunQueue } from '@agent-workflow/execution/adapters/in-process/queue';
import { createLanes } from '@agent-workflow/execution/adapters/nats/queue/lanes';
import { openQueueOn } from '../servers/nats-adapters.ts';
import { nats } from '../servers/nats.ts';
import { withServer } from '../servers/real-suite.ts';
import { runQueueContract } from './run-queue.ts';

runQueueContract(test, 'in memory', { open: async () => openInProcessRunQueue() });

withServer(test, nats, (server) => {
  runQueueContract(test, 'nats', { open: async () => openQueueOn((await server()).url), apart: ownersApart() });
});

/** Owners whose runs stand in lanes of their own. */
function ownersApart(): [string, string, string, string] {
  const laneOf = createLanes(() => true);
  const owners = new Map<number, string>();
  for (let index = 0; owners.size < 4; index++)
    owners.set(laneOf(`u:${String(index)}`, { agent: 'default' }).lane, `u:${String(index)}`);
  return [...owners.values()] as [string, string, string, string];
}
