import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { usualScale } from './threads-open.ts';
import type { WithStore } from './tested.ts';

/** SQLite in memory and in files. */
export const withSqlite: WithStore = (test, suite) => {
  const inMemory = async (): Promise<ThreadStore> => openSqliteThreadStore({ path: ':memory:' });
  suite({
    ...{ name: 'SQLite in memory', open: inMemory, openPart: inMemory, keeps: false, ages: false },
    ...{ sizeStories: 60, scale: usualScale },
  });

  let making: Promise<string> | undefined;
  const folder = (): Promise<string> => (making ??= mkdtemp(join(tmpdir(), 'thread-store-')));
  test.after.always(async () => {
    if (making) await rm(await making, { recursive: true });
  });
  const open = async (place: string): Promise<ThreadStore> =>
    openSqliteThreadStore({ path: join(await folder(), `${place}.sqlite`) });
  suite({
    ...{ name: 'SQLite in a file', open, openPart: () => open(randomUUID()), keeps: true, ages: false },
    sizeStories: 2,
  });
};
