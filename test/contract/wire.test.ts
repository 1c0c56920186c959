import test from 'ava';
import { connect } from '@agent-workflow/protos/wire/connect';
import { link } from '@agent-workflow/protos/wire/link';
import { serve } from '@agent-workflow/protos/wire/serve';
import { wireContract } from './wire.ts';

wireContract(test, 'in process', (service) =>
  Promise.resolve({ ...link(service), [Symbol.asyncDispose]: () => Promise.resolve() }),
);

wireContract(test, 'over gRPC', async (execution) => {
  const server = await serve({ execution }, { host: '127.0.0.1', port: 0, drainMs: 1000, onFailure: () => undefined });
  const client = connect('execution', `127.0.0.1:${String(server.port)}`);
  return {
    ...client,
    [Symbol.asyncDispose]: async () => {
      await client[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
});
