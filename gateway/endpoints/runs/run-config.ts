import { userIdOf } from '@agent-workflow/kit/ids';
import type { Principal } from '../../http/principal.ts';

type Config = Readonly<Record<string, unknown>>;

/** What the service reads of a run's `config`: the caller alone says it, whatever the user context holds. */
const saidByCaller: ReadonlySet<string> = new Set([
  'thread_id',
  'thread_name',
  'metadata',
  'multitask_strategy',
  'on_disconnect',
  'agent',
]);

/**
 * The `config` that nodes see. Where callers sign in, the user context is merged over what the body says, and `user_id` is
 * the principal's id, absent for the anonymous one: nodes can trust it. Where nobody signs in, the body stands as it is.
 */
export function configOf(
  given: Config | undefined,
  { owner, user = {} }: Principal,
  secured: boolean,
): Config | undefined {
  if (!secured) return given;
  const { user_id: _notTheBodys, ...own } = given ?? {};
  const told = Object.entries(user).filter(([name]) => name !== 'user_id' && !saidByCaller.has(name));
  const userId = userIdOf(owner);
  return { ...own, ...Object.fromEntries(told), ...(userId !== undefined && { user_id: userId }) };
}
