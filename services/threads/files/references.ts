import { eachOf } from '@agent-workflow/kit/each';
import { invalid } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import type { MessageEntry } from '@agent-workflow/protos/threads';
import type { FileKey, FileRecords } from '../ports/files.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { ThreadKey } from '../ports/record.ts';
import { decideNoted, toDeleting } from './decisions.ts';
import { filesNamedBy } from './named.ts';

/**
 * Which threads name which files. A note is written before the change that it is about, so it may stand without its thread: it counts
 * while it is young, and then only if its thread is there.
 */
export interface References {
  /** Notes the files of a caller's messages. @throws Invalid naming the field of a file that the owner does not have. */
  readonly noteRequest: (key: ThreadKey, messages: readonly MessageEntry[]) => Promise<void>;
  /** Notes the files of a step's messages. One that the owner does not have is passed over. */
  readonly noteStep: (key: ThreadKey, messages: readonly MessageEntry[]) => Promise<void>;
  /** Notes for the thread `to` all files that the thread `from` names. */
  readonly copy: (from: ThreadKey, to: ThreadKey) => Promise<void>;
  /** Removes the notes of a thread that is marked deleting. Files that no other thread names become `deleting`. */
  readonly release: (key: ThreadKey) => Promise<void>;
  /**
   * Decides about a stored file: while a thread other than `without` names it, it stays; otherwise it becomes `deleting`.
   * @returns whether it is `deleting` now.
   */
  readonly settle: (key: FileKey, without?: string) => Promise<boolean>;
}

interface ReferencesOptions {
  readonly store: FileRecords & ThreadReads;
  readonly now: () => number;
}

/** Notes made, and files looked at, at once. */
const filesAtOnce = 8;
/** Rows read at once. */
const rowsAtOnce = 200;

/** How long after its note a change of a thread may still come, in milliseconds: deadlines and clocks. */
const youngMs = 10 * 60 * 1000;

export function createReferences({ store, now }: ReferencesOptions): References {
  /** @returns whether the file is there to be named. */
  const note = async (key: FileKey, threadId: string): Promise<boolean> => {
    if ((await store.getFile(key))?.status !== 'stored') return false;
    await store.putFileNote(key, { threadId, at: now() });
    if (await store.changeFile(key, { totals: false }, decideNoted)) return true;
    await store.dropFileNote(key, threadId);
    return false;
  };

  /** Those of the files that are not there to be named. */
  const missingOf = async (owner: string, fileIds: readonly string[]): Promise<ReadonlySet<string>> => {
    const missing = new Set<string>();
    await eachOf(fileIds, filesAtOnce, async (fileId) => {
      if ((await store.getFile({ owner, fileId }))?.status !== 'stored') missing.add(fileId);
    });
    return missing;
  };

  const noteAll = async ({ owner, threadId }: ThreadKey, fileIds: readonly string[]): Promise<ReadonlySet<string>> => {
    const missing = new Set<string>();
    await eachOf(fileIds, filesAtOnce, async (fileId) => {
      if (!(await note({ owner, fileId }, threadId))) missing.add(fileId);
    });
    return missing;
  };

  const isNamedBy = async (owner: string, threadId: string): Promise<boolean> => {
    const head = await store.getHead({ owner, threadId });
    return head !== undefined && !head.deleting;
  };

  /** Until when the file stays at least, as far as its notes say; `Infinity` while a thread that is there names it. */
  const keptUntil = async (key: FileKey, without: string | undefined): Promise<number> => {
    let until = 0;
    for await (const { threadId, at } of notesOf(store, key)) {
      if (threadId === without) continue;
      if (await isNamedBy(key.owner, threadId)) return Infinity;
      until = Math.max(until, at + youngMs);
    }
    return until;
  };

  const settle: References['settle'] = async (key, without) => {
    for (;;) {
      const seen = await store.getFile(key);
      if (seen?.status !== 'stored') return seen?.status === 'deleting';
      const until = await keptUntil(key, without);
      const settled = await store.changeFile<boolean | undefined>(key, { totals: false }, ({ file }) => {
        if (file?.status !== 'stored') return { reply: file?.status === 'deleting' };
        // A thread was noted since the notes were read.
        if (file.noted !== seen.noted) return { reply: undefined };
        if (until <= now()) return { change: { put: toDeleting(file, now()) }, reply: true };
        const { dueAt, ...kept } = file;
        const due = until === Infinity ? undefined : Math.max(until, dueAt ?? 0);
        if (due === dueAt) return { reply: false };
        return { change: { put: due === undefined ? kept : { ...kept, dueAt: due } }, reply: false };
      });
      if (settled !== undefined) return settled;
    }
  };

  return {
    noteRequest: async (key, messages) => {
      const named = filesNamedBy(messages);
      if (named.length === 0) return;
      if (named.length > sizes.filesNamed)
        throw invalid(['messages'], `must NOT name more than ${String(sizes.filesNamed)} files`, 'too_long');
      const fileIds = named.map(({ fileId }) => fileId);
      // Nothing is noted for a request that names a file which is not there.
      let missing = await missingOf(key.owner, fileIds);
      if (missing.size === 0) missing = await noteAll(key, fileIds);
      const first = named.find(({ fileId }) => missing.has(fileId));
      if (first) throw invalid(first.field, `there is no file "${first.fileId}"`, 'unknown_file');
    },

    noteStep: async (key, messages) => {
      const named = filesNamedBy(messages);
      if (named.length === 0) return;
      await noteAll(
        key,
        named.slice(0, sizes.filesNamedByStep).map(({ fileId }) => fileId),
      );
    },

    copy: async (from, to) => {
      for await (const fileIds of filesOf(store, from)) await noteAll(to, fileIds);
    },

    release: async (key) => {
      const { owner, threadId } = key;
      for await (const fileIds of filesOf(store, key)) {
        await eachOf(fileIds, filesAtOnce, async (fileId) => {
          await settle({ owner, fileId }, threadId);
          await store.dropFileNote({ owner, fileId }, threadId);
        });
      }
    },

    settle,
  };
}

/** The notes of a file, by thread id. */
async function* notesOf(
  store: FileRecords,
  key: FileKey,
): AsyncGenerator<{ readonly threadId: string; readonly at: number }> {
  for (let after: string | undefined; ;) {
    const notes = await store.listFileNotes(key, { after, limit: rowsAtOnce });
    yield* notes;
    if (notes.length < rowsAtOnce) return;
    after = notes.at(-1)?.threadId;
  }
}

/** The ids of the files that a thread is noted to name, page by page. */
async function* filesOf(store: FileRecords, key: ThreadKey): AsyncGenerator<readonly string[]> {
  for (let after: string | undefined; ;) {
    const fileIds = await store.listFilesOf(key, { after, limit: rowsAtOnce });
    if (fileIds.length > 0) yield fileIds;
    if (fileIds.length < rowsAtOnce) return;
    after = fileIds.at(-1);
  }
}

/** Removes all notes of a file that is being forgotten. */
export async function dropNotes(store: FileRecords, key: FileKey): Promise<void> {
  for await (const { threadId } of notesOf(store, key)) await store.dropFileNote(key, threadId);
}
