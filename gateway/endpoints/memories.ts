import { userIdOf } from '@agent-workflow/kit/ids';
import type { MemoryItem, Selection } from '@agent-workflow/protos/memory';
import { idText } from '@agent-workflow/protos/message';
import type { Static } from 'typebox';
import { jsonBytes, jsonObject, jsonText, timeText } from '../http/json.ts';
import type {
  ListMemories,
  MemoryConfig,
  MemoryInput,
  MemoryParams,
  StoreMemory,
  UpdateMemory,
} from '../schemas/memories.ts';
import type { Ask } from '../http/endpoint.ts';
import type { Services } from './common/services.ts';
import { goOn, pageOf } from './threads.ts';

type Params = Static<typeof MemoryParams>;
type Input = Static<typeof MemoryInput>;

export async function storeMemory(
  ask: Ask<unknown, Static<typeof StoreMemory>>,
  { memory }: Services,
): Promise<string> {
  const { input, owner } = ask;
  const { content, category, memory_type: memoryType, metadata = {} } = input;
  const memoryId = ask.newId('memory');
  const request = { owner, memoryId, content, category, memoryType, metadataJson: jsonBytes(metadata) };
  const dedupe = input.options?.['dedupe'] === true;
  const stored = await memory.store({ ...request, ...threadOf(input.config), ...(dedupe && { dedupe }) }, ask.call());
  return jsonObject({ memory_id: JSON.stringify(stored.memoryId) });
}

export async function getMemory(ask: Ask<Params, Input>, { memory }: Services): Promise<string> {
  const item = await memory.get({ owner: ask.owner, memoryId: ask.params.memory_id }, ask.call());
  return jsonObject({ memory: memoryText(item, ask.owner) });
}

/** Replaces the content and merges the metadata given. */
export async function updateMemory(
  ask: Ask<Params, Static<typeof UpdateMemory>>,
  { memory }: Services,
): Promise<string> {
  const { params, input, owner } = ask;
  const metadata = input.metadata && { metadataJson: jsonBytes(input.metadata) };
  const item = await memory.update(
    { owner, memoryId: params.memory_id, content: input.content, ...metadata, ...ask.once },
    ask.call(),
  );
  return jsonObject({ memory: memoryText(item, owner), success: 'true' });
}

export async function deleteMemory(ask: Ask<Params, Input>, { memory }: Services): Promise<string> {
  await memory.delete({ owner: ask.owner, memoryId: ask.params.memory_id, ...ask.once }, ask.call());
  return '{"success":true}';
}

/** The owner's memories, newest first. */
export async function listMemories(
  ask: Ask<unknown, Static<typeof ListMemories>>,
  { memory }: Services,
): Promise<string> {
  const { input, owner } = ask;
  const page = pageOf(input);
  const list = await memory.list({ owner, selection: threadOf(input.config), ...page }, ask.call());
  return jsonObject({
    memories: memoriesText(list.memories, owner),
    total: String(list.total),
    ...goOn(list.cursor),
  });
}

/** The thread that `config` names, as the store takes it. */
export const threadOf = (config: MemoryConfig | undefined): { threadId?: string } =>
  config?.thread_id === undefined ? {} : { threadId: idText(config.thread_id) };

/** What a search or a forget is narrowed to. */
export function selectionOf(input: {
  readonly config?: MemoryConfig;
  readonly memory_type?: string;
  readonly category?: string;
  readonly filters?: Record<string, unknown>;
}): Selection {
  const { config, memory_type: memoryType, category, filters } = input;
  return {
    ...threadOf(config),
    ...(memoryType !== undefined && { memoryType }),
    ...(category !== undefined && { category }),
    ...(filters && Object.keys(filters).length > 0 && { filtersJson: jsonBytes(filters) }),
  };
}

/** Memories as a JSON array of MemoryResult. */
export const memoriesText = (items: readonly MemoryItem[], owner: string): string =>
  `[${items.map((item) => memoryText(item, owner)).join(',')}]`;

/** Written out, because a list holds up to a thousand of them. */
const memoryText = (item: MemoryItem, owner: string): string =>
  `{"id":${JSON.stringify(item.memoryId)},"content":${JSON.stringify(item.content)},"score":${String(item.score)},` +
  `"memory_type":${JSON.stringify(item.memoryType)},"category":${JSON.stringify(item.category)},` +
  `"metadata":${jsonText(item.metadataJson)},"vector":${jsonText(item.vectorJson)},` +
  `"user_id":${JSON.stringify(userIdOf(owner) ?? '')},"thread_id":${JSON.stringify(item.threadId)},"timestamp":${timeText(item.timestamp)}}`;
