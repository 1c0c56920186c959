import type { TestFn } from 'ava';
import { connect } from '@agent-workflow/protos/wire/connect';
import { link } from '@agent-workflow/protos/wire/link';
import { serve } from '@agent-workflow/protos/wire/serve';
import { createThreads } from '@agent-workflow/threads/threads';
import type { TestedStore } from './thread-stores/tested.ts';
import { threadsContract } from './threads.ts';

/** Runs the suite of the threads service on a store: called in this process, and over gRPC. */
export function inBothShapes(test: TestFn, { name, openPart, scale }: TestedStore): void {
  if (!scale) return;
  threadsContract(
    test,
    `in process, on ${name}`,
    async (options) => {
      const store = await openPart();
      return {
        ...link(createThreads({ store, ...options })),
        [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
      };
    },
    scale,
  );
  threadsContract(
    test,
    `over gRPC, on ${name}`,
    async (options) => {
      const store = await openPart();
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
    },
    scale,
  );
}
