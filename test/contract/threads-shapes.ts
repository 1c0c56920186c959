import type { TestFn } from 'ava';
import { processEnv } from '@agent-workflow/kit/env';
import { connect } from '@agent-workflow/protos/wire/connect';
import { link } from '@agent-workflow/protos/wire/link';
import { serve } from '@agent-workflow/protos/wire/serve';
import { createThreads } from '@agent-workflow/threads/threads';
import { atMost } from '../at-most.ts';
import type { TestedStore } from './thread-stores/tested.ts';
import type { OpenThreads } from './thread-stores/threads-open.ts';
import { threadsContract } from './threads.ts';

/** Runs the suite of the threads service on a store, called in this process, which `npm test` leaves to CI. */
export function threadsInProcess(test: TestFn, { name, openPart, scale }: TestedStore): void {
  if (!scale || processEnv()['THOROUGH'] !== '1') return;
  const open: OpenThreads = async (options) => {
    const store = await openPart();
    return {
      ...link(createThreads({ store, ...options })),
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    };
  };
  threadsContract(test, `in process, on ${name}`, open, scale);
}

/** The same over gRPC. */
export function threadsOverGrpc(test: TestFn, { name, openPart, scale }: TestedStore): void {
  if (!scale) return;
  const open: OpenThreads = async (options) => {
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
  };
  threadsContract(test, `over gRPC, on ${name}`, atMost(places, open), scale);
}

/** So many services at once. */
const places = 16;
