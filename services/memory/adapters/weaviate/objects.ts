import { createHash } from 'node:crypto';
import type { MemoryType } from '@agent-workflow/protos/lists';
import { fieldOf } from '../../record/json.ts';
import type { MemoryHead, MemoryRecord, Narrowing, OwnedMemory, Scalar, StoredMemory } from '../../ports/port.ts';
import { stemsOf } from '../../words/stems.ts';
import type { FoundObject, NewObject } from './client.ts';
import { markId } from './marks.ts';
import { allOf, type Row, type Where } from './queries.ts';
import { newStamp } from './stamps.ts';

/** The tenant of an owner: a name from which nobody reads who it is. */
export const tenantOf = (owner: string): string => createHash('sha256').update(owner).digest('base64url');

/** The id of an owner's memory in Weaviate: the same each time. */
export const objectId = (owner: string, memoryId: string): string => markId(owner, memoryId);

export const briefFields = 'idHex memoryType category threadId at';
export const headFields = `${briefFields} metadata`;
export const memoryFields = `${headFields} content vectorJson`;

/** A memory as Weaviate keeps it. */
export const toObject = (
  collection: string,
  { owner, memory }: OwnedMemory,
  stamp: string = newStamp(),
): NewObject => ({
  collection,
  tenant: tenantOf(owner),
  id: objectId(owner, memory.memoryId),
  vector: memory.vector,
  properties: {
    owner,
    idHex: toHex(memory.memoryId),
    memoryType: memory.memoryType,
    category: memory.category,
    threadId: memory.threadId,
    at: memory.timestamp,
    keys: keysOf(memory),
    words: stemsOf(memory.content).join(' '),
    content: memory.content,
    metadata: toText(memory.metadataJson),
    vectorJson: toText(memory.vectorJson),
    stamp,
  },
});

/** All that an object holds, so that it can be put again as it stands. */
export const objectFields = `owner ${memoryFields} keys words stamp _additional { id vector }`;

export const toHead = (row: Row): MemoryHead => ({
  ...fieldsOf(row),
  metadata: JSON.parse(textAt(row, 'metadata')) as MemoryHead['metadata'],
});

/** A head of whose metadata nothing was read. */
export const toBriefHead = (row: Row): MemoryHead => ({ ...fieldsOf(row), metadata: {} });

export const toStored = (row: Row): StoredMemory => ({
  ...fieldsOf(row),
  content: textAt(row, 'content'),
  metadataJson: Buffer.from(textAt(row, 'metadata')),
  vectorJson: Buffer.from(textAt(row, 'vectorJson')),
});

export const toOwned = ({ properties, vector }: FoundObject): OwnedMemory => ({
  owner: textAt(properties, 'owner'),
  memory: { ...toStored(properties), vector: Float32Array.from(vector) },
});

const fieldsOf = (row: Row): Omit<MemoryHead, 'metadata'> => ({
  memoryId: fromHex(textAt(row, 'idHex')),
  memoryType: textAt(row, 'memoryType') as MemoryType,
  category: textAt(row, 'category'),
  threadId: textAt(row, 'threadId'),
  timestamp: Number(row['at']),
});

/** An id in a form that Weaviate orders as its bytes are ordered. */
export const toHex = (memoryId: string): string => Buffer.from(memoryId).toString('hex');
const fromHex = (hex: string): string => Buffer.from(hex, 'hex').toString();

const textAt = (row: Row, name: string): string => {
  const value = row[name];
  return typeof value === 'string' ? value : '';
};

const toText = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString();

/** A memory with more fields in its metadata than this is looked at whenever any field is asked for. */
const maxFields = 128;
const anyField = 'any';

/** What a memory can be filtered by. */
function keysOf({ memoryType, category, threadId, metadataJson }: MemoryRecord): string[] {
  const own = [keyOf('type', memoryType), keyOf('category', category), keyOf('thread', threadId)];
  const metadata = JSON.parse(toText(metadataJson)) as MemoryHead['metadata'];
  const fields = Object.keys(metadata).flatMap((field) => {
    const value = fieldOf(metadata, field);
    return isScalar(value) ? [fieldKey(field, value)] : [];
  });
  return [...own, ...(fields.length > maxFields ? [anyField] : fields)];
}

/** The condition for what a query is narrowed to, the ids aside. */
export function toWhere({ memoryType, category, threadId, metadata = [] }: Narrowing): Where | undefined {
  const own = [
    memoryType === undefined ? undefined : hasKey([keyOf('type', memoryType)]),
    category === undefined ? undefined : hasKey([keyOf('category', category)]),
    threadId === undefined ? undefined : hasKey([keyOf('thread', threadId)]),
  ];
  const fields = metadata.map(({ field, anyOf }) =>
    hasKey([...anyOf.map((value) => fieldKey(field, value)), anyField]),
  );
  return allOf([...own, ...fields]);
}

const hasKey = (keys: readonly string[]): Where => ({ operator: 'ContainsAny', path: ['keys'], valueText: keys });

const fieldKey = (field: string, value: Scalar): string => keyOf('metadata', field, value);

const keyOf = (...parts: readonly Scalar[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16);

const isScalar = (value: unknown): value is Scalar =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
