import { jsonBytes } from '../../../http/json.ts';
import type { Services } from '../../common/services.ts';
import { toolError } from '../calls/outcome.ts';
import { textIn, type Fields } from '../wire/fields.ts';
import { authorize, type McpRequest } from './method.ts';

const text = (description: string): Fields => ({ type: 'string', description });

interface MemoryTool {
  readonly shown: Fields;
  readonly call: (given: McpRequest['request'], args: Fields, services: Services) => Promise<Fields>;
}

/** The most tokens of all contents that a search gives together. */
const mostTokens = 4000;

/** The longest category, in characters. */
const mostCategory = 256;

/** Memories that a search gives, at most and unless it asks for another number (counts). */
const [mostFound, usualFound] = [50, 10];

const isCategory = (value: unknown): value is string => typeof value === 'string' && value.length <= mostCategory;

const badCategory = `category must be a text of at most ${String(mostCategory)} characters`;

const search: MemoryTool = {
  shown: {
    ...{ name: 'memory_search', description: 'Finds what was stored in the memory of the caller, best first' },
    inputSchema: {
      ...{ type: 'object', required: ['query'] },
      properties: {
        query: text('What is looked for'),
        category: text('Only memories of this category'),
        limit: { type: 'integer', minimum: 1, maximum: mostFound, default: usualFound },
      },
    },
    annotations: { readOnlyHint: true },
  },
  call: async (request, { query, category, limit }, services) => {
    if (typeof query !== 'string' || query === '') return toolError('query must be a text');
    const isCount = typeof limit === 'number' && Number.isInteger(limit) && limit > 0 && limit <= mostFound;
    if (limit !== undefined && !isCount) return toolError(`limit must be an integer from 1 to ${String(mostFound)}`);
    if (category !== undefined && !isCategory(category)) return toolError(badCategory);
    await authorize(request, { resource: 'store', action: 'read' }, {}, services);
    const { owner, call } = request;
    const { results } = await services.memory.search(
      {
        ...{
          owner,
          query: query.toWellFormed(),
          scoreThreshold: 0,
          maxTokens: mostTokens,
          limit: isCount ? limit : usualFound,
        },
        selection: typeof category === 'string' ? { category: category.toWellFormed() } : {},
        ...{ retrievalStrategy: 'similarity', distanceMetric: 'cosine' },
      },
      call(),
    );
    const memories = results.map((item) => ({
      ...{ id: item.memoryId, content: item.content, score: item.score, category: item.category },
      timestamp: new Date(item.timestamp).toISOString(),
    }));
    return toResult({ memories });
  },
};

const store: MemoryTool = {
  shown: {
    ...{ name: 'memory_store', description: 'Stores a fact in the memory of the caller, for later searches' },
    inputSchema: {
      ...{ type: 'object', required: ['content'] },
      properties: { content: text('The fact'), category: text('What it belongs to') },
    },
  },
  call: async (request, { content, category }, services) => {
    if (typeof content !== 'string' || content === '') return toolError('content must be a text');
    if (category !== undefined && !isCategory(category)) return toolError(badCategory);
    await authorize(request, { resource: 'store', action: 'write' }, {}, services);
    const { owner, call, newId } = request;
    const { memoryId } = await services.memory.store(
      {
        ...{ owner, memoryId: newId('memory'), content: content.toWellFormed(), memoryType: 'semantic' },
        ...{ category: textIn(category)?.toWellFormed() ?? 'general', metadataJson: jsonBytes({}), dedupe: true },
      },
      call(),
    );
    return toResult({ id: memoryId });
  },
};

const toResult = (structuredContent: Fields): Fields => ({
  content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
  structuredContent,
});

const tools = [search, store];

/** The tools of the memory, where the service is set to have them. */
export const memoryTools = ({ config }: Pick<Services, 'config'>): readonly MemoryTool[] =>
  config.MCP_MEMORY_TOOLS === 'on' ? tools : [];
