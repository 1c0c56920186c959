import type { ResourceKind } from '@agent-workflow/protos/lists';
import type { DueResource, ResourceMark, ResourceRow, ResourceWrite } from '../ports/resources.ts';
import { keyBytes } from './row-sizes.ts';
import type { Row } from './sql-rows.ts';

// How every store keeps an object that an owner has beside threads.

/** The columns of {@link toResource}. */
export const resourceColumns = 'owner, kind, id, version, json, created_at, updated_at, due_at';

/** Numbers come as a store gives them: Cassandra has large ones of its own. */
export const toResource = (row: Row): ResourceRow => ({
  kind: row['kind'] as ResourceKind,
  owner: row['owner'] as string,
  id: row['id'] as string,
  version: Number(row['version']),
  json: row['json'] as Uint8Array,
  createdAt: Number(row['created_at']),
  updatedAt: Number(row['updated_at']),
  ...(row['due_at'] === null ? {} : { dueAt: Number(row['due_at']) }),
});

export const toDueResource = (row: Row): DueResource => ({
  owner: row['owner'] as string,
  id: row['id'] as string,
  version: Number(row['version']),
  dueAt: Number(row['due_at']),
});

/** Whether a write makes its object. */
export const makes = ({ version, isNew = false }: Pick<ResourceWrite, 'version' | 'isNew'>): boolean =>
  version === 1 || isNew;

/** The columns of {@link toMark}. */
export const markColumns = 'id, updated_at, due_at';

export const toMark = (row: Row): ResourceMark => ({
  id: row['id'] as string,
  updatedAt: Number(row['updated_at']),
  ...(row['due_at'] === null ? {} : { dueAt: Number(row['due_at']) }),
});

/** How many bytes an object takes in a reply. */
export const resourceBytes = ({ owner, id, json }: Pick<ResourceRow, 'owner' | 'id' | 'json'>): number =>
  json.byteLength + keyBytes({ owner, threadId: id });

export const dueBytes = ({ owner, id }: DueResource): number => keyBytes({ owner, threadId: id });

export const markBytes = ({ id }: ResourceMark): number => keyBytes({ owner: '', threadId: id });
