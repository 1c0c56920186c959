import test from 'ava';
import { openInProcessWorkerLeases } from '@agent-workflow/execution/adapters/in-process/leases';
import { openLeasesOn } from '../servers/nats-adapters.ts';
import { nats } from '../servers/nats.ts';
import { withServer } from '../servers/real-suite.ts';
import { workerLeasesContract } from './worker-leases.ts';

workerLeasesContract(test, 'in memory', async () => {
  const leases = openInProcessWorkerLeases();
  return { here: leases, there: leases, [Symbol.asyncDispose]: async () => leases[Symbol.asyncDispose]() };
});

withServer(test, nats, (server) => {
  workerLeasesContract(test, 'nats', async () => openLeasesOn((await server()).url));
});
