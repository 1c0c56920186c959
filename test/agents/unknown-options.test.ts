import {
  chatModel,
  contextExceeds,
  createReactAgent,
  field,
  modelNode,
  outputNode,
  remoteTool,
  splitContext,
  StateGraph,
  summarizeNode,
  tool,
  userError,
} from '@agent-workflow/graph';
import { aiSdkModel } from '@agent-workflow/graph/ai-sdk';
import { mcpTools } from '@agent-workflow/graph/mcp';
import { fakeFiles, fakeModel, recordedModel, toolResult, walk, walkWithCrashes } from '@agent-workflow/graph/testing';
import test from 'ava';

const model = fakeModel([]);
const agent = createReactAgent({ model });
const spec = { name: 'a', description: 'A', parameters: { type: 'object' } };
const summarize = (): string => '';
const languageModel = { specificationVersion: 'v4', modelId: 'm', doStream: () => Promise.reject(new Error('none')) };

/** Each function that authors call with options, with one that it does not have, and whether it knows what is meant. */
const given: Readonly<Record<string, readonly [call: () => unknown, unknown: string, meant?: string]>> = {
  chatModel: [() => chatModel({ model: 'm', baseURL: 'http://127.0.0.1:1' } as never), 'baseURL', 'baseUrl'],
  'chatModel of python': [() => chatModel({ model: 'm', api_key: 'k' } as never), 'api_key', 'apiKey'],
  aiSdkModel: [() => aiSdkModel(languageModel, { timeoutMS: 1 } as never), 'timeoutMS', 'timeoutMs'],
  modelNode: [() => modelNode({ model, prompt: '' } as never), 'prompt'],
  outputNode: [
    () => outputNode({ model, field: 'a', schema: {}, Instructions: '' } as never),
    'Instructions',
    'instructions',
  ],
  createReactAgent: [() => createReactAgent({ model, llm: model } as never), 'llm'],
  tool: [() => tool({ ...spec, re_play: 'once' } as never, () => 1), 're_play', 'replay'],
  remoteTool: [() => remoteTool({ ...spec, schema: {} } as never), 'schema'],
  field: [() => field({ type: 'string', Default: '' } as never), 'Default', 'default'],
  'policy of addNode': [() => new StateGraph({}).addNode('a', () => undefined, { retries: 3 } as never), 'retries'],
  summarizeNode: [() => summarizeNode({ whenOver: { messages: 9 }, keep: 1, summarize, model } as never), 'model'],
  'whenOver of summarizeNode': [
    () => summarizeNode({ whenOver: { messages: 9, Tokens: 1 }, keep: 1, summarize } as never),
    'whenOver.Tokens',
    'tokens',
  ],
  splitContext: [() => splitContext([], { keep: 1, Keep: 1 } as never), 'Keep', 'keep'],
  contextExceeds: [() => contextExceeds({ context: [] }, { max_tokens: 1 } as never), 'max_tokens'],
  userError: [() => userError('No.', { Cause: 1 } as never), 'Cause', 'cause'],
  mcpTools: [async () => mcpTools({ url: 'http://127.0.0.1:1' }, { timeout: 1 } as never), 'timeout'],
  'url of mcpTools': [async () => mcpTools({ url: 'http://127.0.0.1:1', requestInit: {} } as never), 'requestInit'],
  'command of mcpTools': [async () => mcpTools({ command: 'node', ENV: {} } as never), 'ENV', 'env'],
  walk: [async () => walk(agent, { max_steps: 1 } as never), 'max_steps', 'maxSteps'],
  walkWithCrashes: [async () => walkWithCrashes(agent, { ignored: [] } as never), 'ignored'],
  recordedModel: [() => recordedModel(model, 'a.json', { Mode: 'record' } as never), 'Mode', 'mode'],
  toolResult: [() => toolResult({ id: 'a' }, 1, { is_error: true } as never), 'is_error', 'isError'],
  fakeFiles: [() => fakeFiles({ filename: 'a', data: '', mimeType: '' } as never), '[0].mimeType'],
};

for (const [name, [call, unknown, meant]] of Object.entries(given))
  test(`an option that ${name} does not have is refused by name`, async (t) => {
    const error = await t.throwsAsync(async () => call());
    t.true(error.message.includes(`has ${unknown}, which is none of`), error.message);
    t.is(/is (\S+) meant\?$/.exec(error.message)?.[1], meant);
  });
