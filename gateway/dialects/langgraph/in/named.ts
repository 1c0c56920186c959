import type { Named } from '../../../http/dialect.ts';
import { isObject } from './values.ts';

/**
 * What an input names, for authorization: the assistant of a run or of a command that starts one, and the thread of a cancellation. A thread in the `configurable` of a
 * run counts nowhere: the path alone says which it is.
 */
export function namedIn(input: Readonly<Record<string, unknown>>): Named {
  const { assistant_id: assistantId, thread_id: threadId, runs, params } = input;
  const [first] = Array.isArray(runs) ? (runs as readonly Readonly<Record<string, unknown>>[]) : [];
  const named = assistantId ?? first?.['assistant_id'] ?? (isObject(params) ? params['assistant_id'] : undefined);
  return {
    assistantId: typeof named === 'string' ? named : undefined,
    threadId: typeof threadId === 'string' ? threadId : undefined,
  };
}
