import { isDeepStrictEqual } from 'node:util';
import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { EndpointRequest } from '../../http/endpoint.ts';
import { jsonText } from '../../http/json.ts';
import { graphFacts } from './graph-facts.ts';
import type { Services } from './services.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Place extends Pick<EndpointRequest, 'owner' | 'call'> {
  readonly agent: string;
  /** Absent: a new one. */
  readonly threadId: string | undefined;
}

/**
 * Fields of an input without those that callers only read and that come as the thread has them: a state that is sent back as it was read is no change.
 * Any other stays, and is refused with its name.
 */
export async function withoutReadOnly(
  given: Fields,
  { owner, call, agent, threadId }: Place,
  { threads, execution }: Pick<Services, 'threads' | 'execution'>,
): Promise<Fields> {
  const { readOnly, defaults } = await graphFacts(execution, { agent }, call());
  if (!Object.keys(given).some((name) => readOnly.has(name))) return given;
  const state =
    threadId === undefined ? undefined : await undefinedIfNotFound(threads.getState({ owner, threadId }, call()));
  const isAsRead = (name: string, value: unknown): boolean => {
    const stored = state?.fields[name];
    const json = stored ? jsonText(stored) : defaults[name];
    return json !== undefined && isDeepStrictEqual(JSON.parse(json), value);
  };
  return Object.fromEntries(
    Object.entries(given).filter(([name, value]) => !readOnly.has(name) || !isAsRead(name, value)),
  );
}
