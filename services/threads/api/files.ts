import { eachOf } from '@agent-workflow/kit/each';
import { invalid, isServiceError } from '@agent-workflow/kit/errors';
import { pageBytes, toPage } from '@agent-workflow/kit/pages';
import { sizes } from '@agent-workflow/kit/sizes';
import type {
  BeginFileRequest,
  FileCalls,
  FileKey,
  FileRecord,
  FinishFileRequest,
} from '@agent-workflow/protos/threads';
import {
  absentFile,
  decideBegin,
  decideDelete,
  decideFinish,
  decideForget,
  toDeleting,
  toFileRecord,
} from '../files/decisions.ts';
import { listOwnFiles } from '../files/own-files.ts';
import { dropNotes, type References } from '../files/references.ts';
import { dueCursors } from '../lists/cursor.ts';
import type { FileRecords, FileRow } from '../ports/files.ts';

interface FileCallsOptions {
  readonly store: FileRecords;
  readonly references: References;
  readonly now: () => number;
}

export function createFileCalls({ store, references, now }: FileCallsOptions): FileCalls {
  const toReply = async (file: FileRow): Promise<FileRecord> => {
    // Only a file that is due and was noted has to be looked up.
    const isAsked = file.dueAt !== undefined && file.noted > 0;
    return toFileRecord(file, isAsked && (await references.isNamed(keyOf(file))));
  };

  /** Makes an upload that did not finish `deleting`. @returns whether it is now. */
  const abandon = (key: FileKey): Promise<boolean> =>
    store.changeFile(key, { totals: false }, ({ file }) => {
      if (file?.status !== 'uploading') return { reply: file?.status === 'deleting' };
      return { change: { put: toDeleting(file, now()) }, reply: true };
    });

  /** Whether the bytes of a due file are to be removed: a decision that is on record with the reply. */
  const isToRemove = async (
    { owner, fileId, status, dueAt = 0 }: FileRow,
    uploadingBefore: number,
  ): Promise<boolean> => {
    const key = { owner, fileId };
    switch (status) {
      case 'deleting':
        return true;
      case 'uploading':
        return dueAt < uploadingBefore && abandon(key);
      case 'stored':
        return references.settle(key);
    }
  };

  return {
    beginFile: async (request) => {
      refuseBegin(request);
      return toReply(await store.changeFile(keyOf(request), { totals: true }, (s) => decideBegin(request, s, now())));
    },

    finishFile: async (request) => {
      refuseFinish(request);
      return toReply(await store.changeFile(keyOf(request), { totals: true }, (s) => decideFinish(request, s, now())));
    },

    getFile: async (request) => {
      const file = await store.getFile(keyOf(request));
      if (file?.status !== 'stored') throw absentFile(request.fileId);
      const { threadId } = request;
      if (threadId !== undefined && !(await references.isNamedIn(keyOf(request), threadId)))
        throw absentFile(request.fileId);
      return toReply(file);
    },

    listFiles: async (request, { signal }) => {
      const { files, cursor } = await listOwnFiles(store, request, signal);
      const records: FileRecord[] = [];
      await eachOf([...files.entries()], lookedUpAtOnce, async ([index, file]) => {
        signal.throwIfAborted();
        // What names one file is not to be had for now: no time of its end is shown, and the others are.
        records[index] = (await toReply(file).catch(falseWhileAway)) || toFileRecord(file, true);
      });
      return { files: records, ...(cursor === undefined ? {} : { cursor }) };
    },

    deleteFile: async (request) => {
      await store.changeFile(keyOf(request), { totals: false }, (snapshot) => decideDelete(request, snapshot, now()));
      return {};
    },

    forgetFile: async (request) => {
      const key = keyOf(request);
      if ((await store.getFile(key))?.status !== 'deleting') return {};
      await dropNotes(store, key);
      await store.changeFile(key, { totals: true }, decideForget);
      return {};
    },

    listFilesToRemove: async ({ limit, uploadingBefore, cursor }) => {
      const after = cursor === undefined ? undefined : dueCursors.fromCursor(cursor);
      const due = await store.listDueFiles({ until: now(), after, limit: limit + 1 });
      const { items, hasMore } = toPage(due, { limit, bytes: pageBytes, sizeOf: keyBytes });
      const files: FileKey[] = [];
      for (const file of items) {
        // One whose record cannot be reached does not hold up the others; the next sweep finds it again.
        const isListed = await isToRemove(file, uploadingBefore).catch(falseWhileAway);
        if (isListed) files.push(keyOf(file));
      }
      const last = items.at(-1);
      return {
        files,
        ...(hasMore && last ? { cursor: dueCursors.toCursor({ ...last, dueAt: last.dueAt ?? 0 }) } : {}),
      };
    },
  };
}

/** Files of a page whose threads are looked up at once (a count). */
const lookedUpAtOnce = 8;

const keyOf = ({ owner, fileId }: FileKey): FileKey => ({ owner, fileId });

const keyBytes = ({ owner, fileId }: FileKey): number => 3 * (owner.length + fileId.length) + 64;

function falseWhileAway(error: unknown): false {
  if (isServiceError(error, 'Unavailable') || isServiceError(error, 'Timeout')) return false;
  throw error;
}

const sha256Pattern = /^[0-9a-f]{64}$/;

function refuseBegin({ fileId, filename, contentType = '', ...request }: BeginFileRequest): void {
  const { reserveBytes = 0, leastBytes = 1 } = request;
  refuseNegative(reserveBytes, 'reserveBytes');
  refuseNegative(leastBytes, 'leastBytes');
  refuseLong(fileId, 'fileId');
  refuseLong(filename, 'filename');
  refuseLong(contentType, 'contentType');
}

function refuseFinish({ size, sha256, sniffedType = '', ttlMs }: FinishFileRequest): void {
  refuseNegative(size, 'size');
  if (!sha256Pattern.test(sha256))
    throw invalid(['sha256'], 'must be 64 hexadecimal digits', 'string_pattern_mismatch');
  refuseNegative(ttlMs, 'ttlMs');
  refuseLong(sniffedType, 'sniffedType');
}

function refuseNegative(count: number, field: string): void {
  if (count < 0) throw invalid([field], 'must be >= 0', 'greater_than_equal');
}

function refuseLong(text: string, field: string): void {
  if (Buffer.byteLength(text) > sizes.filename)
    throw invalid([field], `must not have more than ${String(sizes.filename)} bytes`, 'string_too_long');
}
