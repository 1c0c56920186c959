import type { Block, Message } from '@agent-workflow/protos/message';
import test from 'ava';
import { fakeFiles, user } from '../testing.ts';
import { toCallOptions } from './ai-sdk-prompt.ts';
import { loadMedia } from './question-media.ts';
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
