import { AsyncLocalStorage } from 'node:async_hooks';
import type { ElicitRequestFormParams, ElicitResult } from '@modelcontextprotocol/client';
import type { SentCall } from './asking.ts';

/** The calls that are under way on one connection, and the questions that came meanwhile. */
export interface OpenCalls {
  readonly run: <T>(call: SentCall, work: () => Promise<T>) => Promise<T>;
  /** The call in whose `work` this is called. */
  readonly current: () => SentCall | undefined;
  /** Puts a question to the call to which it belongs. @throws when that has no answer. */
  readonly answer: (question: ElicitRequestFormParams) => Promise<ElicitResult>;
}

interface Pending {
  readonly question: ElicitRequestFormParams;
  readonly resolve: (answer: ElicitResult) => void;
  readonly reject: (error: unknown) => void;
}

/** How long after a call was abandoned a question may still be that call's, in milliseconds: until the server has read of its end. */
const lateMs = 5000;

/**
 * Finds the call to which a question belongs, which the question itself does not say. In the protocol of 2026 it comes with the reply to
 * its call. In that of 2025 it may come beside it: then it waits until its call must be the only one under way, and `hold` keeps
 * other calls from beginning. When all calls under way wait for answers, nobody knows whose is whose, and all are ended to be sent again
 * one by one. A question that may be that of a call which was abandoned is refused, so that it reaches no other run.
 */
export function createOpenCalls(hold: () => () => void): OpenCalls {
  const current = new AsyncLocalStorage<SentCall>();
  const open = new Set<SentCall>();
  let pending: readonly Pending[] = [];
  let release = (): void => undefined;
  let abandonedAt = -Infinity;

  const takePending = (): readonly Pending[] => {
    const taken = pending;
    pending = [];
    release();
    return taken;
  };

  const refuse = (): void => {
    for (const { reject } of takePending()) reject(new Error('it is not known which call asks this'));
  };

  const settle = (): void => {
    if (pending.length === 0 || (open.size > 1 && pending.length < open.size)) return;
    const [only] = open;
    if (only && open.size === 1) {
      for (const each of takePending()) put(only, each);
      return;
    }
    refuse();
    for (const call of open) call.confuse();
  };

  return {
    run: async (call, work) => {
      open.add(call);
      try {
        const result = await current.run(call, work);
        open.delete(call);
        settle();
        return result;
      } catch (error) {
        open.delete(call);
        if (!call.signal.aborted || call.isLost()) abandonedAt = performance.now();
        refuse();
        throw error;
      }
    },
    current: () => current.getStore(),
    answer: (question) => {
      const own = current.getStore();
      const { promise, resolve, reject } = Promise.withResolvers<ElicitResult>();
      const asked = { question, resolve, reject };
      if (own && open.has(own)) put(own, asked);
      else {
        if (pending.length === 0) release = hold();
        pending = [...pending, asked];
        if (performance.now() - abandonedAt < lateMs) refuse();
        else settle();
      }
      return promise;
    },
  };
}

function put(call: SentCall, { question, resolve, reject }: Pending): void {
  try {
    resolve(call.answer(question));
  } catch (error) {
    reject(error);
  }
}
