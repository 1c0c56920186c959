import { randomUUID } from 'node:crypto';
import { every } from '@agent-workflow/kit/life';
import type { Marks } from './marks.ts';

/** What a process does with the memories: any number of processes serve them, or one copies them. */
type Role = 'serving' | 'copying';

const heartbeatMs = 5000;
/** After this time without a heartbeat a process counts as gone. */
const goneMs = 20_000;

/**
 * Registers this process until disposed. Each process registers before it reads the others, so that of two that exclude each other at
 * least one sees the other.
 * @returns `undefined` when a process of a role in `unless` is registered; then this one is not.
 */
export async function openPresence(
  marks: Marks,
  role: Role,
  { unless, onFailure }: { readonly unless: readonly Role[]; readonly onFailure: (error: unknown) => void },
): Promise<AsyncDisposable | undefined> {
  const key = randomUUID();
  const heartbeat = async (): Promise<void> => marks.write(role, key, key);
  await heartbeat();
  const isAlone = await isNoneRegistered(marks, { role, key, unless });
  await clearGone(marks, role, key);
  if (!isAlone) {
    await marks.clear(role, key);
    return undefined;
  }
  const heartbeats = every(heartbeatMs, heartbeat, onFailure);
  return {
    [Symbol.asyncDispose]: async () => {
      await heartbeats[Symbol.asyncDispose]();
      // A registration that cannot be removed expires.
      await marks.clear(role, key).catch(onFailure);
    },
  };
}

interface Self {
  readonly role: Role;
  readonly key: string;
  readonly unless: readonly Role[];
}

async function isNoneRegistered(marks: Marks, { role, key, unless }: Self): Promise<boolean> {
  const now = (await marks.read(role, key))?.updatedAt ?? 0;
  for (const other of unless) {
    const present = (await marks.list(other)).filter(({ value }) => value !== key);
    if (present.some(({ updatedAt }) => updatedAt > now - goneMs)) return false;
  }
  return true;
}

/** Removes the registrations of processes that are gone. */
async function clearGone(marks: Marks, role: Role, key: string): Promise<void> {
  const present = await marks.list(role);
  const now = present.find(({ value }) => value === key)?.updatedAt ?? 0;
  const gone = present.filter(({ updatedAt }) => updatedAt < now - 10 * goneMs);
  await Promise.all(gone.map(async ({ value }) => marks.clear(role, String(value))));
}
