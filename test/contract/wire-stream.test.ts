import test from 'ava';
import { within } from '@agent-workflow/protos/call';
import { overGrpc, wireContract } from './wire.ts';
import { byLoad } from '../by-load.ts';

wireContract(test, 'over gRPC, on the stream of calls', async (execution) => {
  const client = await overGrpc(execution);
  // The first asks for the stream, which the server gives before it answers those after it.
  for (let count = 0; count < 20; count++) await client.getGraph({}, within(byLoad(60_000)));
  return client;
});
