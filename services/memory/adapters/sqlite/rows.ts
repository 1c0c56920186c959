import type { SQLInputValue, SQLOutputValue } from 'node:sqlite';
import type { MemoryType } from '@agent-workflow/protos/lists';
import type { MemoryHead, MemoryRecord, StoredMemory } from '../../ports/memory.ts';

export type Row = Record<string, SQLOutputValue>;

export const headColumns = 'memory_id, memory_type, category, thread_id, timestamp, happened_at, expires_at, metadata';

/** Rows that are read at once, each with metadata of up to 64 KiB. */
export const rowsAtOnce = 64;
/** Rows that are read at once without their metadata. */
export const shortRowsAtOnce = 2000;

/** The values of `memory_type, category, thread_id, timestamp, happened_at, expires_at, metadata, vector, content, vector_json`. */
export const valuesOf = (memory: MemoryRecord): SQLInputValue[] => [
  memory.memoryType,
  memory.category,
  memory.threadId,
  memory.timestamp,
  memory.happenedAt ?? null,
  memory.expiresAt ?? null,
  memory.metadataJson,
  toBytes(memory.vector),
  memory.content,
  memory.vectorJson,
];

/** The bytes of a vector's numbers. */
export const toBytes = ({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

export const bytesAt = (row: Row, column: string): Uint8Array => row[column] as Uint8Array;

export function vectorAt(row: Row, dimension: number): Float32Array {
  const vector = new Float32Array(dimension);
  new Uint8Array(vector.buffer).set(bytesAt(row, 'vector'));
  return vector;
}

export const toStored = (row: Row): StoredMemory => ({
  ...fieldsOf(row),
  content: String(row['content']),
  metadataJson: bytesAt(row, 'metadata'),
  vectorJson: bytesAt(row, 'vector_json'),
});

export const toHead = (row: Row): MemoryHead => ({ ...fieldsOf(row), metadata: toMetadata(bytesAt(row, 'metadata')) });

export const headOf = (memory: StoredMemory): MemoryHead => {
  const { memoryId, memoryType, category, threadId, timestamp, happenedAt, expiresAt, metadataJson } = memory;
  const times = { timestamp, happenedAt, expiresAt };
  return { memoryId, memoryType, category, threadId, ...times, metadata: toMetadata(metadataJson) };
};

const fieldsOf = (row: Row): Omit<MemoryHead, 'metadata'> => ({
  memoryId: String(row['memory_id']),
  memoryType: String(row['memory_type']) as MemoryType,
  category: String(row['category']),
  threadId: String(row['thread_id']),
  timestamp: Number(row['timestamp']),
  ...(row['happened_at'] !== null && { happenedAt: Number(row['happened_at']) }),
  ...(row['expires_at'] !== null && { expiresAt: Number(row['expires_at']) }),
});

const toMetadata = ({ buffer, byteOffset, byteLength }: Uint8Array): MemoryHead['metadata'] =>
  JSON.parse(Buffer.from(buffer, byteOffset, byteLength).toString()) as MemoryHead['metadata'];
