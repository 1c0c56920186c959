import test from 'ava';
import { openMemoryWorkerLeases } from '@agent-workflow/execution/adapters/memory/memory';
import { openLeasesOn } from '../servers/nats-adapters.ts';
import { nats } from '../servers/nats.ts';
import { withServer } from '../servers/real-suite.ts';
import { workerLeasesContract } from './worker-leases.ts';

workerLeasesContract(test, 'in memory', async () => {
  const leases = openMemoryWorkerLeases();
  return { here: leases, there: leases, [Symbol.asyncDispose]: async () => leases[Symbol.asyncDispose]() };
});

withServer(test, nats, (server) => {
  workerLeasesContract(test, 'nats', async () => openLeasesOn((await server()).url));
});
