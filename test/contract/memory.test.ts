import test from 'ava';
import { readEnv } from '@agent-workflow/kit/env';
import { memorySettings } from '@agent-workflow/memory/config';
import { openMemory } from '@agent-workflow/memory/open';
import { connect } from '@agent-workflow/protos/wire/connect';
import { link } from '@agent-workflow/protos/wire/link';
import { serve } from '@agent-workflow/protos/wire/serve';
import { memoryContract } from './memory.ts';

const open = (): ReturnType<typeof openMemory> => openMemory({ path: ':memory:', values: readEnv(memorySettings, {}) });

memoryContract(test, 'in process', async () => {
  const opened = await open();
  return { memory: link(opened.memory), [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
});

memoryContract(test, 'over gRPC', async () => {
  await using opened = new AsyncDisposableStack();
  const { memory } = opened.use(await open());
  const server = opened.use(
    await serve({ memory }, { host: '127.0.0.1', port: 0, drainMs: 1000, onFailure: () => undefined }),
  );
  const client = opened.use(connect('memory', `127.0.0.1:${String(server.port)}`));
  const everything = opened.move();
  return { memory: client, [Symbol.asyncDispose]: () => everything.disposeAsync() };
});
