import type { TestFn } from 'ava';
import { processEnv } from '@agent-workflow/kit/env';
import { connect } from '@agent-workflow/protos/wire/connect';
import { link } from '@agent-workflow/protos/wire/link';
import { serve } from '@agent-workflow/protos/wire/serve';
import { createThreads } from '@agent-workflow/threads/threads';
import type { TestedStore } from './thread-stores/tested.ts';
import type { OpenThreads } from './thread-stores/threads-open.ts';
import { threadsContract } from './threads.ts';

/**
 * Runs the suite of the threads service on a store: over gRPC, and called in this process, which `npm test` leaves to CI.
 */
export function inBothShapes(test: TestFn, { name, openPart, scale }: TestedStore): void {
  if (!scale) return;
  const inProcess: OpenThreads = async (options) => {
    const store = await openPart();
    return {
      ...link(createThreads({ store, ...options })),
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    };
  };
  const overGrpc: OpenThreads = async (options) => {
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
  if (processEnv()['THOROUGH'] === '1') threadsContract(test, `in process, on ${name}`, inProcess, scale);
  threadsContract(test, `over gRPC, on ${name}`, atMost(places, overGrpc), scale);
}

/**
 * So many at once. ava begins all tests of a file together, and a call that is not connected within a second is refused: with some hundred servers and clients in one
 * process that is all that it shows of a busy machine.
 */
const places = 16;

function atMost(count: number, open: OpenThreads): OpenThreads {
  let free = count;
  const waiting: (() => void)[] = [];
  const leave = (): void => {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  };
  return async (options) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    const opened = await open(options).catch((error: unknown) => {
      leave();
      throw error;
    });
    return {
      ...opened,
      [Symbol.asyncDispose]: async () => {
        await opened[Symbol.asyncDispose]();
        leave();
      },
    };
  };
}
