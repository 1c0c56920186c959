import { notFound } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import type { Call } from '@agent-workflow/protos/call';
import type {
  GetCheckpointReply,
  GetCheckpointRequest,
  ListCheckpointsReply,
  ListCheckpointsRequest,
  ThreadCheckpoint,
} from '@agent-workflow/protos/threads';
import { checkpointsCursors, nextOf, startOf } from '../lists/cursor.ts';
import { toCheckpointId } from '../record/head.ts';
import { jsonArray } from '../record/json.ts';
import { fieldsUnder } from './overlay.ts';
import { readPage, type Listing } from '../lists/paging.ts';
import { contextOf } from './past.ts';
import type { CheckpointRow, ThreadHistory } from '../ports/history.ts';
import type { ThreadKey } from '../ports/record.ts';
import type { StoredTexts } from '../record/stored-texts.ts';
import { checkpointBytes } from '../record/row-sizes.ts';
import type { ThreadReads } from '../ports/reads.ts';

/** The versions that are kept, newest first. */
export async function listCheckpoints(
  { store, texts }: { readonly store: ThreadHistory; readonly texts: StoredTexts },
  request: ListCheckpointsRequest,
  { signal }: Call,
): Promise<ListCheckpointsReply> {
  const { owner, threadId, limit } = request;
  const cursors = checkpointsCursors(request);
  const listing: Listing<CheckpointRow, number> = {
    read: ({ after: below, ...page }) => store.listCheckpoints({ owner, threadId }, { ...page, below }),
    markOf: ({ version }) => version,
    sizeOf: checkpointBytes,
  };
  const page = await readPage(listing, { limit, ...startOf(cursors, request), signal });
  const checkpoints = page.items.map((row) => toCheckpoint(texts.withMetadata(threadId, 'checkpoint', row)));
  return { checkpoints, ...nextOf(page, { ...listing, ...cursors }) };
}

/** @throws NotFound when the checkpoint is not kept, also when it is dropped while this reads. */
export async function getCheckpoint(
  { store, texts }: { readonly store: ThreadReads & ThreadHistory; readonly texts: StoredTexts },
  { owner, threadId, checkpointId }: GetCheckpointRequest,
): Promise<GetCheckpointReply> {
  const key = { owner, threadId };
  const { row, isBefore } = await placeOf(store, key, checkpointId);
  const fields = await store.getFields(key);
  const past = await contextOf(store, { key, version: row.version, isBefore }, sizes.contextWithInput);
  if (!past) throw absent(key, checkpointId);
  const { context, isTruncated, overlay } = past;
  const state = await texts.state(threadId, { fields: fieldsUnder(fields, overlay), context, isTruncated });
  return {
    checkpoint: toCheckpoint(texts.withMetadata(threadId, 'checkpoint', row)),
    state: {
      version: isBefore ? row.version - 1 : row.version,
      fields: state.fields,
      contextJson: jsonArray(state.context),
      ...(isTruncated ? { contextTruncated: true } : {}),
    },
  };
}

/**
 * The checkpoint of this id. Rows are read after it: they are of its version, or of a later one.
 * @throws NotFound when it is not kept.
 */
export async function checkpointOf(store: ThreadHistory, key: ThreadKey, checkpointId: string): Promise<CheckpointRow> {
  const version = /^\d{1,16}$/.test(checkpointId) ? Number(checkpointId) : Number.NaN;
  if (!Number.isSafeInteger(version)) throw absent(key, checkpointId);
  const [row] = await store.listCheckpoints(key, { below: version + 1, limit: 1 });
  if (row?.version !== version || toCheckpointId(version) !== checkpointId) throw absent(key, checkpointId);
  return row;
}

/** Behind the id of a checkpoint: what stood before it, which has no checkpoint of its own where the thread held nothing yet. */
const beforeMark = '-before';

/** The checkpoint that an id names, or before which the named state stood. @throws NotFound as {@link checkpointOf} */
export async function placeOf(
  store: ThreadHistory,
  key: ThreadKey,
  id: string,
): Promise<{ readonly row: CheckpointRow; readonly isBefore: boolean }> {
  const isBefore = id.endsWith(beforeMark);
  const row = await checkpointOf(store, key, isBefore ? id.slice(0, -beforeMark.length) : id);
  return { row, isBefore };
}

export const absent = ({ threadId }: ThreadKey, checkpointId: string): Error =>
  notFound(`checkpoint "${checkpointId}" of thread "${threadId}" does not exist`);

const toCheckpoint = ({
  version,
  source,
  runId,
  step,
  nodes,
  next,
  at,
  metadata,
  work,
}: CheckpointRow): ThreadCheckpoint => ({
  checkpointId: toCheckpointId(version),
  source,
  ...(runId === undefined ? {} : { runId }),
  ...(step === undefined ? {} : { step }),
  nodes,
  next,
  createdAt: at,
  ...(metadata === undefined ? {} : { metadataJson: metadata }),
  ...(work === undefined ? {} : { work }),
});
