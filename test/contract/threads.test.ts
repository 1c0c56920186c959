import test from 'ava';
import { connect } from '@agent-workflow/protos/wire/connect';
import { link } from '@agent-workflow/protos/wire/link';
import { serve } from '@agent-workflow/protos/wire/serve';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { createThreads } from '@agent-workflow/threads/threads';
import { threadsContract } from './threads.ts';

threadsContract(test, 'in process', async (options) => {
  const store = openSqliteThreadStore({ path: ':memory:' });
  return {
    ...link(createThreads({ store, ...options })),
    [Symbol.asyncDispose]: async () => store[Symbol.asyncDispose](),
  };
});

threadsContract(test, 'over gRPC', async (options) => {
  const store = openSqliteThreadStore({ path: ':memory:' });
  const wire = { host: '127.0.0.1', port: 0, drainMs: 1000, onFailure: () => undefined };
  const server = await serve({ threads: createThreads({ store, ...options }) }, wire);
  const client = connect('threads', `127.0.0.1:${String(server.port)}`);
  return {
    ...client,
    [Symbol.asyncDispose]: async () => {
      await client[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
});
