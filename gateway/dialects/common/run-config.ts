import { userIdOf } from '@agent-workflow/kit/ids';
import type { Principal } from '../../http/context.ts';

type Config = Readonly<Record<string, unknown>>;

/** What the service itself reads from a run's `config`: only the body sets it, never the user context. */
const onlyFromCaller: ReadonlySet<string> = new Set([
  'thread_id',
  'checkpoint_id',
  'thread_name',
  'metadata',
  'ttl',
  'multitask_strategy',
  'remote_tools',
  'on_completion',
  'on_disconnect',
  'agent',
  'assistant_id',
  'assistant_version',
]);

/** Whether the service reads a field from the config of each run, so that an assistant cannot give it. */
export const readOnlyByService = (field: string): boolean => onlyFromCaller.has(field);

/** Claims by which code decides what a caller may do: only the user context sets them, never the body. */
const onlyFromUser: ReadonlySet<string> = new Set(['user_id', 'role', 'roles', 'sub', 'email', 'scope']);

/**
 * The `config` that nodes see. Where callers authenticate, the user context is merged over the body's `config`, and `user_id`
 * is the principal's id, absent for the anonymous one, so that nodes can trust it, as they can the other names of `onlyFromUser`. Without authentication it is the body's.
 */
export function configOf(
  given: Config | undefined,
  { owner, user = {} }: Principal,
  secured: boolean,
): Config | undefined {
  if (!secured) return given;
  const own = Object.entries(given ?? {}).filter(([name]) => !onlyFromUser.has(name));
  const fromUser = Object.entries(user).filter(([name]) => name !== 'user_id' && !onlyFromCaller.has(name));
  const userId = userIdOf(owner);
  return { ...Object.fromEntries([...own, ...fromUser]), ...(userId !== undefined && { user_id: userId }) };
}
