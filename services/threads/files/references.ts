import { eachOf } from '@agent-workflow/kit/each';
import { invalid, isServiceError, type ErrorCode } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import { sizes } from '@agent-workflow/kit/sizes';
import type { MessageEntry } from '@agent-workflow/protos/threads';
import type { FileKey, FileRecords } from '../ports/files.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { ThreadKey } from '../ports/record.ts';
import { decideNoted, toDeleting } from './decisions.ts';
import { filesNamedBy, filesNamedByStep } from './named.ts';

/** Makes a change of a thread. */
type MakeChange<T> = () => Promise<T>;

/**
 * Which threads name which files. A note is written before the change that it is about, and counts while it is young. It is the thread's
 * once the change is made, and is taken back when the change is refused. Where it is not known which of them happened, the note stands
 * beside those of the thread, and counts while the thread is there: the sweep looks at its file again from day to day.
 */
export interface References {
  /** Makes a change with a caller's messages. @throws Invalid naming the field of a file that the owner does not have. */
  readonly withRequest: <T>(key: ThreadKey, messages: readonly MessageEntry[], change: MakeChange<T>) => Promise<T>;
  /** Makes a change with a step's messages. A file that the owner does not have is passed over. */
  readonly withStep: <T>(key: ThreadKey, messages: readonly MessageEntry[], change: MakeChange<T>) => Promise<T>;
  /** Makes the thread `to`, which names all files that the thread `from` names. */
  readonly withCopy: <T>(from: ThreadKey, to: ThreadKey, change: MakeChange<T>) => Promise<T>;
  /** Removes the notes of a thread that is marked deleting. Files that no other thread names become `deleting`. */
  readonly release: (key: ThreadKey) => Promise<void>;
  /**
   * Decides about a stored file: while a thread other than `without` names it, it stays; otherwise it becomes `deleting`.
   * @returns whether it is `deleting` now.
   */
  readonly settle: (key: FileKey, without?: string) => Promise<boolean>;
  /** Whether a thread that is there names the file. A note of a change that was refused, or of unknown outcome, is no name. */
  readonly isNamed: (key: FileKey) => Promise<boolean>;
  /** Whether a thread names the file, or a change of the thread does whose outcome is not known. */
  readonly isNamedIn: (key: FileKey, threadId: string) => Promise<boolean>;
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

/** How long a file stays that only a note of unknown outcome keeps, until a sweep looks again, in milliseconds. */
const recheckMs = 24 * 60 * 60 * 1000;

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
  const keptUntil = async (key: FileKey, without?: string): Promise<number> => {
    let until = 0;
    for await (const { threadId: noted, at } of notesOf(store, key)) {
      const { threadId, isOpen } = fromNoted(noted);
      if (threadId === without) continue;
      const isThere = await isNamedBy(key.owner, threadId);
      if (isThere && !isOpen) return Infinity;
      until = Math.max(until, at + youngMs, isThere ? now() + recheckMs : 0);
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

  /** Makes the notes of a change the thread's own. Each file's row is changed, so that nobody decides from having seen neither note. */
  const keep = async ({ owner, threadId }: ThreadKey, open: ThreadKey): Promise<void> => {
    for await (const fileIds of filesOf(store, open)) {
      await eachOf(fileIds, filesAtOnce, async (fileId) => {
        await store.putFileNote({ owner, fileId }, { threadId, at: now() });
        await store.changeFile({ owner, fileId }, { totals: false }, decideNoted);
        await store.dropFileNote({ owner, fileId }, open.threadId);
      });
    }
  };

  const takeBack = async (open: ThreadKey): Promise<void> => {
    for await (const fileIds of filesOf(store, open))
      await eachOf(fileIds, filesAtOnce, (fileId) => store.dropFileNote({ owner: open.owner, fileId }, open.threadId));
  };

  /** Makes a change whose files `note` notes before. What cannot be kept or taken back for now counts as of unknown outcome. */
  const during = async <T>(
    key: ThreadKey,
    note: (open: ThreadKey) => Promise<void>,
    change: MakeChange<T>,
  ): Promise<T> => {
    const open = { owner: key.owner, threadId: toOpenId(key.threadId) };
    let made: T;
    try {
      await note(open);
      made = await change();
    } catch (error) {
      if (isRefusal(error)) await takeBack(open).catch(passWhileAway);
      throw error;
    }
    await keep(key, open).catch(passWhileAway);
    return made;
  };

  return {
    withRequest: async (key, messages, change) => {
      const named = filesNamedBy(messages, ({ field, msg, type }) => {
        throw invalid(field, msg, type);
      });
      if (named.length === 0) return change();
      if (named.length > sizes.filesNamed)
        throw invalid(['messages'], `must NOT name more than ${String(sizes.filesNamed)} files`, 'too_long');
      const fileIds = named.map(({ fileId }) => fileId);
      const refuse = (missing: ReadonlySet<string>): void => {
        const first = named.find(({ fileId }) => missing.has(fileId));
        if (first) throw invalid(first.field, `there is no file "${first.fileId}"`, 'unknown_file');
      };
      // Nothing is noted for a request that names a file which is not there.
      refuse(await missingOf(key.owner, fileIds));
      return during(key, async (open) => refuse(await noteAll(open, fileIds)), change);
    },

    withStep: async (key, messages, change) => {
      const fileIds = filesNamedByStep(messages);
      if (fileIds.length === 0) return change();
      const note = async (open: ThreadKey): Promise<void> => {
        await noteAll(open, fileIds.slice(0, sizes.filesNamedByStep));
      };
      return during(key, note, change);
    },

    withCopy: (from, to, change) => {
      const note = async (open: ThreadKey): Promise<void> => {
        for await (const fileIds of filesOf(store, from)) await noteAll(open, fileIds);
      };
      return during(to, note, change);
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

    isNamed: async (key) => (await keptUntil(key)) === Infinity,

    isNamedIn: async (key, threadId) => {
      for await (const note of notesOf(store, key)) if (fromNoted(note.threadId).threadId === threadId) return true;
      return false;
    },
  };
}

/** A note of unknown outcome has a text of its own before the thread's id: no identifier holds a slash. */
const toOpenId = (threadId: string): string => `${newId()}/${threadId}`;

function fromNoted(noted: string): { readonly threadId: string; readonly isOpen: boolean } {
  const slash = noted.indexOf('/');
  return { threadId: noted.slice(slash + 1), isOpen: slash >= 0 };
}

/** Codes of errors after which a change may have been made. */
const unknownOutcomes: ReadonlySet<ErrorCode> = new Set([
  ...(['Unavailable', 'Timeout', 'Cancelled', 'Internal', 'StorageFailed'] as const),
]);

const isRefusal = (error: unknown): boolean => isServiceError(error) && !unknownOutcomes.has(error.code);

function passWhileAway(error: unknown): void {
  if (!isServiceError(error, 'Unavailable') && !isServiceError(error, 'Timeout')) throw error;
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
