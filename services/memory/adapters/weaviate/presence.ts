import { randomUUID } from 'node:crypto';
import { every } from '@agent-workflow/kit/life';
import type { Marks } from './marks.ts';

/** Who works on the memories: those that serve them, of whom there may be many, or one that copies them. */
export type Role = 'serving' | 'copying';

const beatMs = 5000;
/** Who was not heard of for so long is gone. */
const goneMs = 20_000;

/**
 * Makes it known that this process is at work, and keeps it known until disposed. Each writes itself down before it looks for
 * others, so that of two who must not meet at least one sees the other.
 * @returns `undefined` when somebody of a role in `unless` is at work: then this process is not.
 */
export async function openPresence(
  marks: Marks,
  role: Role,
  { unless, onFailure }: { readonly unless: readonly Role[]; readonly onFailure: (error: unknown) => void },
): Promise<AsyncDisposable | undefined> {
  const key = randomUUID();
  const beat = async (): Promise<void> => marks.write(role, key, key);
  await beat();
  const isAlone = await isNobody(marks, { role, key, unless });
  await clearGone(marks, role, key);
  if (!isAlone) {
    await marks.clear(role, key);
    return undefined;
  }
  const beating = every(beatMs, beat, onFailure);
  return {
    [Symbol.asyncDispose]: async () => {
      await beating[Symbol.asyncDispose]();
      // When it cannot be said, it shows by itself after a while.
      await marks.clear(role, key).catch(onFailure);
    },
  };
}

interface Self {
  readonly role: Role;
  readonly key: string;
  readonly unless: readonly Role[];
}

async function isNobody(marks: Marks, { role, key, unless }: Self): Promise<boolean> {
  const now = (await marks.read(role, key))?.updatedAt ?? 0;
  for (const other of unless) {
    const present = (await marks.list(other)).filter(({ value }) => value !== key);
    if (present.some(({ updatedAt }) => updatedAt > now - goneMs)) return false;
  }
  return true;
}

/** What those left behind who could not say that they go. */
async function clearGone(marks: Marks, role: Role, key: string): Promise<void> {
  const present = await marks.list(role);
  const now = present.find(({ value }) => value === key)?.updatedAt ?? 0;
  const gone = present.filter(({ updatedAt }) => updatedAt < now - 10 * goneMs);
  await Promise.all(gone.map(async ({ value }) => marks.clear(role, String(value))));
}
