import type { Call } from '@agent-workflow/protos/call';
import { requestOf, type Repeatable } from '@agent-workflow/protos/repeats';
import { embedTexts } from '../embedders/embedding.ts';
import type { Embedder } from '../ports/embedder.ts';
import type { MemoryRecord } from '../ports/memory.ts';
import type { IdempotentRequest, MemoryRecords } from '../ports/records.ts';
import type { MemorySearch } from '../ports/search.ts';
import { refuseLate } from '../record/checks.ts';
import { vectorToJson } from '../vectors/unit.ts';

/** What the operations of the memory service work with. */
export interface Parts {
  readonly store: MemoryRecords & MemorySearch;
  readonly embedder: Embedder;
  /** `relevance`: days after which a memory counts half as recent, unless a search sets it. */
  readonly halfLifeDays: number;
  readonly now: () => number;
}

interface FieldText {
  /** The field of the request that holds the text. */
  readonly field: 'content' | 'query';
  readonly text: string;
}

/** The vector of a text, of unit length. @throws Invalid at `field` when the embedder gives no usable vector. */
export async function embed({ embedder }: Parts, { field, text }: FieldText, call: Call): Promise<Float32Array> {
  const [vector] = await embedTexts(embedder, { texts: [text], field: [field] }, call);
  refuseLate(call);
  return vector as Float32Array;
}

/** A memory of now, with its vector also as JSON. */
export const toRecord = ({ now }: Parts, fields: Omit<MemoryRecord, 'vectorJson' | 'timestamp'>): MemoryRecord => ({
  ...fields,
  vectorJson: vectorToJson(fields.vector),
  timestamp: now(),
});

/** How the store knows a request that its caller may send again; `undefined` for a request that is sent once. */
export function toIdempotent({ now }: Parts, method: string, request: Repeatable): IdempotentRequest | undefined {
  const known = requestOf(method, request);
  return known && { ...known, at: now() };
}
