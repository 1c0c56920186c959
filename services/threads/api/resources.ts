import { randomUUID } from 'node:crypto';
import { conflict, invalid, notFound, type ServiceError } from '@agent-workflow/kit/errors';
import { pageBytes, toPage } from '@agent-workflow/kit/pages';
import { refuseOver, sizes } from '@agent-workflow/kit/sizes';
import type { PutResourceRequest, ResourceCalls } from '@agent-workflow/protos/threads';
import { resourcesCursors } from '../lists/cursor.ts';
import type { ResourceKey, ResourceRecords } from '../ports/resources.ts';
import { fromJson } from '../record/json.ts';
import { dueBytes, makes, markBytes, resourceBytes } from '../record/resource-rows.ts';
import type { WebhookOwners } from './webhook-owners.ts';

/** The calls about objects that an owner keeps beside threads. What they mean is decided by their callers. */
export const createResourceCalls = ({
  store,
  now,
  webhookOwners,
}: {
  readonly store: ResourceRecords;
  readonly now: () => number;
  readonly webhookOwners: Pick<WebhookOwners, 'add'>;
}): ResourceCalls => ({
  getResource: async (request) => {
    const row = await store.getResource(keyOf(request));
    if (!row) throw absent(request);
    return row;
  },

  putResource: async (request) => {
    refuseWrite(request);
    const { version, json, dueAt, isNew, attemptId = randomUUID() } = request;
    const key = keyOf(request);
    if (awaitsEnds.has(key.kind) && version === 1) await webhookOwners.add(key.owner);
    const at = now();
    const due = dueAt === undefined ? {} : { dueAt: Math.max(dueAt, at) };
    const written = await store.putResource({ ...key, version, isNew, json, at, attempt: attemptId, ...due });
    if (written !== undefined) return { at: written };
    if (!makes({ version, isNew }) && !(await store.getResource(key))) throw absent(key);
    throw moved(key);
  },

  deleteResource: async (request) => {
    const key = keyOf(request);
    if (!(await store.deleteResource(key, request.version)) && (await store.getResource(key))) throw moved(key);
    return {};
  },

  listResources: async ({ owner, kind, limit, cursor, fromId: from, belowId }) => {
    const { toCursor, fromCursor } = resourcesCursors({ owner, kind });
    const after = cursor === undefined ? belowId : fromCursor(cursor);
    const rows = await store.listResources({ owner, kind }, { limit: limit + 1, from, after, bytes: pageBytes });
    const { items, hasMore } = toPage(rows, { limit, sizeOf: resourceBytes });
    const last = items.at(-1);
    return { resources: items, ...(hasMore && last ? { cursor: toCursor(last.id) } : {}) };
  },

  listResourceMarks: async ({ owner, kind, limit, fromId: from, belowId: after }) => {
    const rows = await store.listResourceMarks({ owner, kind }, { limit: limit + 1, from, after });
    const { items, hasMore } = toPage(rows, { limit, sizeOf: markBytes });
    return { marks: items, hasMore, now: now() };
  },

  countResources: async ({ owner, kind, atMost }) => ({ count: await store.countResources({ owner, kind }, atMost) }),

  listDueResources: async ({ kind, limit, after }) => {
    const until = now();
    const rows = await store.listDueResources(kind, { until, after, limit: limit + 1 });
    const { items, hasMore } = toPage(rows, { limit, sizeOf: dueBytes });
    return { due: items, hasMore, now: until };
  },
});

/** What the ends of the runs of its owner are sent to. */
const awaitsEnds: ReadonlySet<ResourceKey['kind']> = new Set(['webhook', 'push']);

/** The key alone, without the other fields of a request. */
const keyOf = ({ kind, owner, id }: ResourceKey): ResourceKey => ({ kind, owner, id });

const absent = ({ kind, id }: ResourceKey): ServiceError => notFound(`${kind} "${id}" does not exist`);

const moved = ({ kind, id }: ResourceKey): ServiceError => conflict(`${kind} "${id}" has another version`);

/** The bounds of an object and its id, in bytes. */
const boundsOf = (kind: ResourceKey['kind']): readonly [json: number, id: number] =>
  kind === 'item' ? [sizes.itemRow, sizes.itemId] : [sizes.resource, sizes.resourceId];

function refuseWrite({ kind, id, version, json }: PutResourceRequest): void {
  const [mostJson, mostId] = boundsOf(kind);
  if (id === '') throw invalid(['id'], 'must not be empty', 'string_too_short');
  refuseOver(Buffer.byteLength(id), mostId, ['id']);
  if (version < 1) throw invalid(['version'], 'must be >= 1', 'greater_than_equal');
  refuseOver(json.byteLength, mostJson, ['json']);
  try {
    fromJson(json);
  } catch {
    throw invalid(['json'], 'must be JSON', 'json_invalid');
  }
}
