import type { CodeCalls } from '../../../ports/code-calls.ts';
import type { NatsClient } from '../client/client.ts';
import { createCaller } from './caller.ts';
import { openServer } from './server.ts';

interface NatsCodeCallsOptions {
  readonly client: NatsClient;
  readonly prefix: string;
  /** Calls that a worker takes at once: more find another worker, or wait. */
  readonly callsAtOnce?: number;
}

/** Reducers are synchronous: more at once would wait for one another, and hold their bytes. */
const usualCalls = 8;

/** Calls over plain subjects of NATS. Nothing is stored. */
export function openNatsCodeCalls({ client, prefix, callsAtOnce = usualCalls }: NatsCodeCallsOptions): CodeCalls {
  const services = new Set<AsyncDisposable>();
  return {
    reduce: createCaller({ client, prefix }),

    serve: async (held, reduce) => {
      const service = await openServer({ client, prefix, held, reduce, callsAtOnce });
      services.add(service);
      return service;
    },

    [Symbol.asyncDispose]: async () => {
      for (const service of services) await service[Symbol.asyncDispose]();
    },
  };
}
