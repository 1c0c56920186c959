import type { Block, Message } from '@agent-workflow/protos/message';
import test from 'ava';
import { tool } from '../build/tool.ts';
import { fakeFiles, user, walk } from '../testing.ts';
import type { LanguageModel, StreamPart } from './ai-sdk-model.ts';
import { aiSdkModel } from './ai-sdk.ts';
import { toCallOptions } from './ai-sdk-prompt.ts';
import { loadMedia } from './question-media.ts';
import { createReactAgent } from './react-agent.ts';
import { isReadable } from './supported-urls.ts';

const message = (role: Message['role'], ...content: Block[]): Message => ({ ...user(''), role, content });
const call = (id: string): Block => ({ type: 'tool_call', id, name: 'look', args: {} });
const data = (members: object, source = 'here') => ({ provider_data: { source, members } });

async function promptOf(version: string, ...messages: Message[]): Promise<unknown[]> {
  const question = { instructions: '', messages, tools: [], files: fakeFiles() };
  const media = await loadMedia(question, { takes: undefined, signal: new AbortController().signal });
  return toCallOptions(question, { source: 'here', media, version }).prompt;
}

test('reasoning goes back to its provider with what that gave for it, and to no other', async (t) => {
  const signed = { anthropic: { signature: 'c2ln' } };
  const messages = [
    message(
      'assistant',
      { type: 'reasoning', text: 'Hm.', ...data(signed) },
      { type: 'reasoning', text: 'So.', ...data({}) },
      { type: 'reasoning', text: 'elsewhere', ...data(signed, 'there') },
      { type: 'reasoning', text: 'of nobody' },
      { type: 'text', text: 'Let ' },
      { type: 'text', text: 'me ' },
      { type: 'text', text: 'look.', ...data({ google: { thoughtSignature: 'x' } }) },
      { ...call('a'), ...data({ openai: { itemId: 'fc_1' } }) },
    ),
    message('tool', { type: 'tool_result', call_id: 'a', output: 'seen' }),
    message('assistant', { type: 'reasoning', text: 'alone', ...data(signed) }),
  ];
  const prompt = await promptOf('v4', ...messages);
  t.is(prompt.length, 2);
  t.deepEqual(prompt[0], {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'Hm.', providerOptions: signed },
      { type: 'reasoning', text: 'So.' },
      { type: 'text', text: 'Let me ' },
      { type: 'text', text: 'look.', providerOptions: { google: { thoughtSignature: 'x' } } },
      {
        ...{ type: 'tool-call', toolCallId: 'a', toolName: 'look', input: {} },
        providerOptions: { openai: { itemId: 'fc_1' } },
      },
    ],
  });
});

test('a file is written as the specification of the model has it, of a user and in the result of a tool', async (t) => {
  const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' };
  const address = { type: 'image', url: 'https://a.example/i.png' };
  const messages = [
    message('user', image, address),
    message('assistant', call('a')),
    message('tool', { type: 'tool_result', call_id: 'a', output: [{ type: 'text', text: 'taken' }, image, address] }),
  ];
  const url = new URL(address.url);
  const mediaType = 'image/png';
  for (const [version, users, results] of [
    [
      'v2',
      [
        { data: 'AAAA', mediaType },
        { data: url, mediaType: 'image/*' },
      ],
      [
        { type: 'media', data: 'AAAA', mediaType },
        { type: 'text', text: '[image at https://a.example/i.png]' },
      ],
    ],
    [
      'v3',
      [
        { data: 'AAAA', mediaType },
        { data: url, mediaType: 'image/*' },
      ],
      [
        { type: 'image-data', data: 'AAAA', mediaType },
        { type: 'image-url', url: address.url },
      ],
    ],
    [
      'v4',
      [
        { data: { type: 'data', data: 'AAAA' }, mediaType },
        { data: { type: 'url', url }, mediaType: 'image/*' },
      ],
      [
        { type: 'file', data: { type: 'data', data: 'AAAA' }, mediaType },
        { type: 'file', data: { type: 'url', url }, mediaType: 'image/*' },
      ],
    ],
  ] as const) {
    const [asked, , answered] = await promptOf(version, ...messages);
    t.deepEqual(asked, { role: 'user', content: users.map((file) => ({ type: 'file', ...file })) }, version);
    const value = [{ type: 'text', text: 'taken' }, ...results];
    const output = { type: 'content', value };
    const result = { type: 'tool-result', toolCallId: 'a', toolName: 'look', output };
    t.deepEqual(answered, { role: 'tool', content: [result] }, version);
  }
});

test('an address goes to a provider that reads it, and to one that does not say what it reads', (t) => {
  const part = (url: string, mediaType?: string) => ({ kind: 'image', mediaType, from: { url } }) as const;
  const urls = { 'image/*': [/^https:\/\/a\.example\//], 'application/pdf': [/^https:/] };
  t.true(isReadable(urls, part('https://A.example/I.png', 'image/png')));
  t.true(isReadable(urls, part('https://a.example/i.png')));
  t.false(isReadable(urls, part('https://b.example/i.png')));
  t.false(isReadable(urls, part('https://a.example/i.mp3', 'audio/mpeg')));
  t.true(isReadable({}, part('https://b.example/i.png')));
  t.true(isReadable({ '*/*': [/./] }, part('https://b.example/i.png')));
});

test('an agent gives each thought back to the provider behind its language model, with the calls that followed it', async (t) => {
  const signed = { anthropic: { signature: 'c2ln' } };
  const sealed = { anthropic: { redactedData: 'AAEC' } };
  const finish = (reason: string): StreamPart => ({ type: 'finish', finishReason: { unified: reason, raw: reason } });
  const answers: StreamPart[][] = [
    [
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'Let me ' },
      { type: 'reasoning-delta', id: '0', delta: 'add.' },
      { type: 'reasoning-delta', id: '0', delta: '', providerMetadata: signed },
      { type: 'reasoning-end', id: '0' },
      { type: 'reasoning-start', id: '1', providerMetadata: sealed },
      { type: 'reasoning-end', id: '1' },
      { type: 'tool-call', toolCallId: 'a', toolName: 'add', input: '{}', providerMetadata: { google: { id: 'x' } } },
      finish('tool-calls'),
    ],
    [
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'Plain.' },
      { type: 'reasoning-end', id: '0' },
      { type: 'text-delta', id: '1', delta: 'It is 5.' },
      finish('stop'),
    ],
    [{ type: 'text-delta', id: '0', delta: 'Still.' }, finish('stop')],
  ];
  const prompts: (readonly unknown[])[] = [];
  const languageModel = (provider: string): LanguageModel => ({
    ...{ specificationVersion: 'v3', provider, modelId: 'm' },
    doStream: async ({ prompt }) => {
      prompts.push(prompt);
      const parts = answers.shift() ?? [];
      return {
        stream: (async function* () {
          yield* parts;
        })(),
      };
    },
  });
  const add = tool({ name: 'add', description: '', parameters: { type: 'object' } }, () => 5);
  const agent = (provider: string) => createReactAgent({ model: aiSdkModel(languageModel(provider)), tools: [add] });
  const first = await walk(agent('anthropic'), { context: [user('2 + 3?')] });
  const thoughts = [
    { type: 'reasoning', text: 'Let me add.', providerOptions: signed },
    { type: 'reasoning', text: '', providerOptions: sealed },
    { ...{ type: 'tool-call', toolCallId: 'a', toolName: 'add', input: {} }, providerOptions: { google: { id: 'x' } } },
  ];
  t.deepEqual(prompts[1]?.[1], { role: 'assistant', content: thoughts });
  await walk(agent('anthropic'), { from: first, context: [user('Sure?')] });
  t.deepEqual(prompts[2]?.[1], { role: 'assistant', content: thoughts });
  t.deepEqual(prompts[2]?.[3], {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'Plain.' },
      { type: 'text', text: 'It is 5.' },
    ],
  });
  answers.push([{ type: 'text-delta', id: '0', delta: 'Yes.' }, finish('stop')]);
  await walk(agent('openai'), { from: first, context: [user('And you?')] });
  t.false(JSON.stringify(prompts[3]).includes('reasoning') || JSON.stringify(prompts[3]).includes('providerOptions'));
});
