import { createHash } from 'node:crypto';
import type { MemoryType } from '@agent-workflow/protos/lists';
import { fieldOf } from '../../../record/json.ts';
import type { MemoryHead, MemoryRecord, OwnedMemory, StoredMemory } from '../../../ports/memory.ts';
import type { Narrowing, Scalar } from '../../../ports/query.ts';
import { termsText } from '../../../words/terms.ts';
import type { FoundObject, NewObject } from '../client/weaviate.ts';
import { markId } from '../marks/marks.ts';
import { allOf, type Row, type Where } from '../client/queries.ts';
import { newStamp } from './stamps.ts';

/** The tenant of an owner: a hash, from which the owner cannot be read. */
export const tenantOf = (owner: string): string => createHash('sha256').update(owner).digest('base64url');

/** The object id of an owner's memory. */
export const objectId = (owner: string, memoryId: string): string => markId(owner, memoryId);

/** Of an object's properties those of a memory without content and metadata, and its id. */
export const shortFields = 'idHex memoryType category threadId at happenedAt expiresAt _additional { id }';
export const headFields = `${shortFields} metadata`;
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
    ...(memory.happenedAt !== undefined && { happenedAt: memory.happenedAt }),
    ...(memory.expiresAt !== undefined && { expiresAt: memory.expiresAt }),
    keys: keysOf(memory),
    words: termsText(memory.content, ' ').trimStart(),
    content: memory.content,
    metadata: toText(memory.metadataJson),
    vectorJson: toText(memory.vectorJson),
    stamp,
  },
});

/** All properties of an object, so that it can be put again. */
export const objectFields = `owner ${memoryFields} keys words stamp _additional { vector }`;

export const toHead = (row: Row): MemoryHead => ({
  ...fieldsOf(row),
  metadata: JSON.parse(textAt(row, 'metadata')) as MemoryHead['metadata'],
});

/** A head whose metadata was not read. */
export const toShortHead = (row: Row): MemoryHead => ({ ...fieldsOf(row), metadata: {} });

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
  ...(typeof row['happenedAt'] === 'number' && { happenedAt: row['happenedAt'] }),
  ...(typeof row['expiresAt'] === 'number' && { expiresAt: row['expiresAt'] }),
});

/** An id as hex, which Weaviate sorts in the order of the id's bytes. */
export const toHex = (memoryId: string): string => Buffer.from(memoryId).toString('hex');
const fromHex = (hex: string): string => Buffer.from(hex, 'hex').toString();

const textAt = (row: Row, name: string): string => {
  const value = row[name];
  return typeof value === 'string' ? value : '';
};

const toText = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString();

/** A memory with more fields in its metadata has the key `anyField`, and every filter on metadata reads it. */
const maxFields = 128;
const anyField = 'any';

/** The keys that filters compare. */
function keysOf({ memoryType, category, threadId, metadataJson }: MemoryRecord): string[] {
  const own = [keyOf('type', memoryType), keyOf('category', category), keyOf('thread', threadId)];
  const metadata = JSON.parse(toText(metadataJson)) as MemoryHead['metadata'];
  const fields = Object.keys(metadata).flatMap((field) => {
    const value = fieldOf(metadata, field);
    return isScalar(value) ? [fieldKey(field, value)] : [];
  });
  return [...own, ...(fields.length > maxFields ? [anyField] : fields)];
}

/** The condition of a narrowing, without its ids. */
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

/** The condition that a memory has expired by then. */
export const expiredBy = (at: number): Where => ({ operator: 'LessThanEqual', path: ['expiresAt'], valueNumber: at });

const hasKey = (keys: readonly string[]): Where => ({ operator: 'ContainsAny', path: ['keys'], valueText: keys });

const fieldKey = (field: string, value: Scalar): string => keyOf('metadata', field, value);

const keyOf = (...parts: readonly Scalar[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16);

const isScalar = (value: unknown): value is Scalar =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
