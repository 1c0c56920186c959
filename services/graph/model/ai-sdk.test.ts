import type { Block, Message } from '@agent-workflow/protos/message';
import test from 'ava';
import { user } from '../testing.ts';
import { aiSdkModel } from './ai-sdk.ts';
import type { CallOptions, LanguageModel, StreamPart } from './ai-sdk-model.ts';
import type { AnswerPart, ModelQuestion } from './model.ts';

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
    const error = await t.throwsAsync(answerOf(scripted(...parts).model), {
      message: 'the model broke off its answer',
    });
    t.is(error.cause, undefined);
  });
}

test('calls of tools that the provider runs itself are left out, and input that is no JSON stays text', async (t) => {
  const { model } = scripted(
    { type: 'tool-call', toolCallId: 'a', toolName: 'search', input: '{}', providerExecuted: true },
    { type: 'tool-call', toolCallId: 'b', toolName: 'add', input: '{"a":1' },
    { type: 'finish', finishReason: { unified: 'tool-calls', raw: 'tool_calls' } },
  );
  t.deepEqual(await answerOf(model), [
    { type: 'tool_call', id: 'b', name: 'add', args: '{"a":1' },
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
    { type: 'function', name: 'add', description: 'Adds.', inputSchema: { type: 'object' } },
  ]);
});
