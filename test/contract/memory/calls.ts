import { within } from '@agent-workflow/protos/call';
import type { Memory, SearchRequest, Selection, StoreRequest } from '@agent-workflow/protos/memory';
import { byLoad } from '../../by-load.ts';

export const owner = 'u:ada';
export const call = within(byLoad(120_000));

export const toJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
export const fromJson = (json: Uint8Array): unknown => JSON.parse(Buffer.from(json).toString());

export interface Note extends Partial<Omit<StoreRequest, 'metadataJson'>> {
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface Query
  extends Partial<Omit<SearchRequest, 'selection' | 'optionsJson'>>, Pick<Selection, 'memoryType' | 'category'> {
  readonly filters?: unknown;
  readonly options?: unknown;
}

let made = 0;

/** An owner of whom no test has stored anything. */
export function newOwner(): string {
  made += 1;
  return `u:${String(made)}`;
}

export type MemoryCalls = ReturnType<typeof callsOf>;

/** Calls a memory service as the gateway does, with defaults for what a test is not about. */
export function callsOf(memory: Memory) {
  const store = async (content: string, { metadata = {}, ...note }: Note = {}): Promise<string> => {
    made += 1;
    const memoryId = `m${String(made).padStart(6, '0')}`;
    const request = {
      owner,
      memoryId,
      content,
      memoryType: 'semantic' as const,
      category: 'notes',
      metadataJson: toJson(metadata),
      ...note,
    };
    return (await memory.store(Object.freeze(request), call)).memoryId;
  };
  const search = async (query: string, { filters, options, memoryType, category, ...rest }: Query = {}) => {
    const request: SearchRequest = Object.freeze({
      owner,
      query,
      selection: Object.freeze({
        ...(memoryType !== undefined && { memoryType }),
        ...(category !== undefined && { category }),
        ...(filters !== undefined && { filtersJson: toJson(filters) }),
      }),
      limit: 10,
      scoreThreshold: 0,
      retrievalStrategy: 'similarity',
      distanceMetric: 'cosine',
      maxTokens: 4000,
      ...(options !== undefined && { optionsJson: toJson(options) }),
      ...rest,
    });
    return (await memory.search(request, call)).results;
  };
  const find = async (query: string, rest: Query = {}): Promise<string[]> =>
    (await search(query, rest)).map(({ content }) => content);
  const vectorOf = async (text: string): Promise<number[]> => {
    const memoryId = await store(text, { owner: 'u:oracle' });
    return fromJson((await memory.get({ owner: 'u:oracle', memoryId }, call)).vectorJson) as number[];
  };
  return { store, search, find, vectorOf };
}
