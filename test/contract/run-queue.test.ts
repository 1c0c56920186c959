import test from 'ava';
import { openMemoryRunQueue } from '@agent-workflow/execution/adapters/memory';
import { openQueueOn } from '../servers/nats-adapters.ts';
import { nats } from '../servers/nats.ts';
import { withServer } from '../servers/real-suite.ts';
import { runQueueContract } from './run-queue.ts';

runQueueContract(test, 'in memory', async () => openMemoryRunQueue());

withServer(test, nats, (server) => {
  runQueueContract(test, 'nats', async () => openQueueOn((await server()).url));
});
