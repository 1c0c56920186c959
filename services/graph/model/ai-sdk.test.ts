import type { Block, Message } from '@agent-workflow/protos/message';
import test from 'ava';
import { user } from '../testing.ts';
import { aiSdkModel } from './ai-sdk.ts';
import type { CallOptions, LanguageModel, StreamPart } from './ai-sdk-model.ts';
import type { AnswerPart, FinishReason, ModelQuestion } from './model.ts';

const question: ModelQuestion = { instructions: '', messages: [user('Hello')], tools: [] };

async function* streamOf(parts: readonly StreamPart[]): AsyncGenerator<StreamPart> {
  yield* parts;
}

/** A language model that gives these parts, and what it was called with. */
function scripted(...parts: readonly StreamPart[]): { readonly model: LanguageModel; readonly calls: CallOptions[] } {
  const calls: CallOptions[] = [];
  const doStream: LanguageModel['doStream'] = async (options) => {
    calls.push(options);
    return { stream: streamOf(parts) };
  };
  return { model: { specificationVersion: 'v4', modelId: 'small-1', doStream }, calls };
}

const answerOf = async (model: LanguageModel, asked = question): Promise<AnswerPart[]> =>
  Array.fromAsync(aiSdkModel(model).answer(asked, new AbortController().signal));

const stop: AnswerPart = { type: 'finish', reason: 'stop' };
const usage: AnswerPart = { type: 'usage', model: 'small-1', inputTokens: 7, outputTokens: 2 };

test('the end of an answer is read in the words of the specification v2, and in those of v3 and v4', async (t) => {
  const old = { type: 'finish', finishReason: 'stop', usage: { inputTokens: 7, outputTokens: 2 } };
  t.deepEqual(await answerOf(scripted(old).model), [usage, stop]);
  const unified = { unified: 'stop', raw: 'stop' };
  const newer = {
    type: 'finish',
    finishReason: unified,
    usage: { inputTokens: { total: 7 }, outputTokens: { total: 2 } },
  };
  t.deepEqual(await answerOf(scripted(newer).model), [usage, stop]);
  const uncounted = { type: 'finish', finishReason: unified, usage: { inputTokens: {}, outputTokens: {} } };
  t.deepEqual(await answerOf(scripted(uncounted).model), [stop]);
});

for (const [title, ...parts] of [
  ['ends without a part that says so'],
  ['has no reason in v2', { type: 'finish', finishReason: 'unknown' }],
  ['has no reason in v3', { type: 'finish', finishReason: { unified: 'other' } }],
  ['has an error', { type: 'error', error: new Error('sk-secret') }],
] as const) {
  test(`an answer that ${title} is broken off`, async (t) => {
    await t.throwsAsync(answerOf(scripted(...parts).model), {
      message: 'the model broke off its answer',
    });
  });
}

test('calls of tools that the provider runs itself are left out, and a call whose input is no JSON is cut', async (t) => {
  const { model } = scripted(
    { type: 'tool-call', toolCallId: 'a', toolName: 'search', input: '{}', providerExecuted: true },
    { type: 'tool-call', toolCallId: 'b', toolName: 'add', input: '{"a":1' },
    { type: 'finish', finishReason: { unified: 'tool-calls', raw: 'tool_calls' } },
  );
  t.deepEqual(await answerOf(model), [
    { type: 'tool_call', id: 'b', name: 'add', args: {}, cut: true },
    { type: 'finish', reason: 'tool_calls' },
  ]);
});

const message = (role: Message['role'], ...content: Block[]): Message => ({ ...user(''), role, content });

test('the conversation is sent with each call beside its answer', async (t) => {
  const call = (id: string): Block => ({ type: 'tool_call', id, name: 'add', args: { id } });
  const messages = [
    message('system', { type: 'text', text: 'Be brief.' }),
    user('Add.'),
    message('assistant', { type: 'text', text: 'Well.' }, call('a'), call('b'), call('open')),
    message(
      'tool',
      { type: 'tool_result', call_id: 'a', output: { sum: 1 } },
      { type: 'tool_result', call_id: 'b', output: 'no', is_error: true },
    ),
    message('assistant', call('gone')),
    message('tool', { type: 'tool_result', call_id: 'never', output: 1 }),
  ];
  const tools = [{ name: 'add', description: 'Adds.', parameters: { type: 'object' } }];
  const { model, calls } = scripted({ type: 'finish', finishReason: 'stop' });
  await answerOf(model, { instructions: 'Add.', messages, tools });
  const named = { toolName: 'add' };
  t.deepEqual(calls[0]?.prompt, [
    { role: 'system', content: 'Add.' },
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Add.' }] },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Well.' },
        { type: 'tool-call', toolCallId: 'a', ...named, input: { id: 'a' } },
        { type: 'tool-call', toolCallId: 'b', ...named, input: { id: 'b' } },
      ],
    },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: 'a', ...named, output: { type: 'text', value: '{"sum":1}' } },
        { type: 'tool-result', toolCallId: 'b', ...named, output: { type: 'error-text', value: 'no' } },
      ],
    },
  ]);
  t.deepEqual(calls[0]?.tools, [
    { type: 'function', name: 'add', description: 'Adds.', inputSchema: { type: 'object', properties: {} } },
  ]);
});

const finish = (unified: string, raw?: string): StreamPart => ({ type: 'finish', finishReason: { unified, raw } });
const ended = (reason: FinishReason): AnswerPart => ({ type: 'finish', reason });

test('reasoning is given as it comes, and what the provider wants back ends its block', async (t) => {
  const signed = { anthropic: { signature: 's' } };
  const { model } = scripted(
    { type: 'stream-start' },
    { type: 'reasoning-start', id: '1' },
    { type: 'reasoning-delta', id: '1', delta: 'Hm' },
    { type: 'reasoning-delta', id: '1', delta: '', providerMetadata: signed },
    { type: 'reasoning-end', id: '1' },
    { type: 'reasoning-start', id: '2', providerMetadata: { anthropic: { redactedData: 'x' } } },
    { type: 'reasoning-end', id: '2' },
    { type: 'text-start', id: '3' },
    { type: 'text-delta', id: '3', delta: 'Hello' },
    { type: 'text-end', id: '3', providerMetadata: { openai: { itemId: 'msg_1' } } },
    { type: 'file' },
    {
      type: 'tool-call',
      toolCallId: 'a',
      toolName: 'add',
      input: '{}',
      providerMetadata: { google: { thoughtSignature: 't' } },
    },
    finish('tool-calls', 'tool_use'),
  );
  const parts = await answerOf(model);
  const source = parts[1]?.type === 'reasoning' ? (parts[1].provider_data?.source ?? '') : '';
  t.regex(source, /^ai-sdk:[\da-f-]{36}$/);
  t.deepEqual(parts, [
    { type: 'reasoning', text: 'Hm' },
    { type: 'reasoning', text: '', provider_data: { source, members: signed } },
    { type: 'reasoning', text: '', provider_data: { source, members: { anthropic: { redactedData: 'x' } } } },
    { type: 'text', text: 'Hello' },
    { type: 'text', text: '', provider_data: { source, members: { openai: { itemId: 'msg_1' } } } },
    {
      type: 'tool_call',
      id: 'a',
      name: 'add',
      args: {},
      provider_data: { source, members: { google: { thoughtSignature: 't' } } },
    },
    ended('tool_calls'),
  ]);
});

test('what goes back goes to the same provider at the same address alone', async (t) => {
  const sourceAt = async (provider: string, config?: object): Promise<unknown> => {
    const { model } = scripted(
      { type: 'text-end', id: '1', providerMetadata: { a: { b: 1 } } },
      finish('stop', 'stop'),
    );
    const [part] = await answerOf({ ...model, provider, config } as LanguageModel);
    return part?.type === 'text' ? part.provider_data?.source : undefined;
  };
  const url = (at: string) => ({ url: ({ path }: { readonly path: string }) => `${at}${path}` });
  t.is(await sourceAt('a.chat', url('https://a')), await sourceAt('a.chat', url('https://a')));
  const sources = [
    sourceAt('a.chat'),
    sourceAt('b.chat'),
    sourceAt('a.chat', url('https://a')),
    sourceAt('a.chat', url('https://b')),
    sourceAt('a.chat', { baseURL: 'https://c' }),
  ];
  t.is(new Set(await Promise.all(sources)).size, 5);
});

test('a call that the answer did not end is cut, and so is the last one where it ended early', async (t) => {
  const whole = { type: 'tool-call', toolCallId: 'a', toolName: 'add', input: '{"a":1}' };
  const begun = { type: 'tool-input-start', id: 'b', toolName: 'wipe' };
  const cut = (id: string, name: string): AnswerPart => ({ type: 'tool_call', id, name, args: {}, cut: true });
  const added: AnswerPart = { type: 'tool_call', id: 'a', name: 'add', args: { a: 1 } };
  const delta = { type: 'tool-input-delta', id: 'b', delta: '{}' };
  const partsOf = async (...parts: readonly StreamPart[]): Promise<AnswerPart[]> => answerOf(scripted(...parts).model);
  t.deepEqual(await partsOf(whole, begun, delta, finish('length', 'max_tokens')), [
    added,
    cut('b', 'wipe'),
    ended('length'),
  ]);
  t.deepEqual(await partsOf(whole, finish('length', 'max_tokens')), [cut('a', 'add'), ended('length')]);
  t.deepEqual(await partsOf(begun, whole, { ...whole, toolCallId: 'b', toolName: 'wipe' }, finish('stop', 'stop')), [
    added,
    { ...added, id: 'b', name: 'wipe' },
    ended('stop'),
  ]);
  const ofProvider = { ...begun, providerExecuted: true };
  t.deepEqual(await partsOf(ofProvider, finish('length', 'length')), [ended('length')]);
});

for (const [title, reason, expected] of [
  ['content-filter of v2', 'content-filter', 'content_filter'],
  ['length', { unified: 'length', raw: 'max_tokens' }, 'length'],
  ['a refusal that the API calls stop', { unified: 'content-filter', raw: 'stop' }, 'content_filter'],
  ['a word that the AI SDK does not know', { unified: 'other', raw: 'SAFETY' }, 'content_filter'],
  ['a word that nobody knows', { unified: 'other', raw: 'odd' }, 'unknown'],
  ['an error that the AI SDK calls other', { unified: 'other', raw: 'error' }, 'error'],
] as const)
  test(`an answer may end by ${title}`, async (t) => {
    const { model } = scripted({ type: 'finish', finishReason: reason });
    t.deepEqual(await answerOf(model), [ended(expected)]);
  });

test('what is no model of the AI SDK, and an option that there is not, are refused by name', (t) => {
  const { model } = scripted();
  t.throws(() => aiSdkModel('gpt-5' as never), {
    message: "aiSdkModel takes a model of a provider of the AI SDK, as anthropic('…'), not string",
  });
  t.throws(() => aiSdkModel(model, { temperature: 0 } as never), {
    message: 'options of aiSdkModel has temperature, which is none of parameters, inputModalities, timeoutMs, names',
  });
});
