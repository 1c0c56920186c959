import { sizes } from '@agent-workflow/kit/sizes';
import type { Block, Message } from '@agent-workflow/protos/message';
import test from 'ava';
import type { BoundFiles } from '../build/context.ts';
import { fakeFiles } from '../testing.ts';
import { toChatMessages, type Sending } from './chat-messages.ts';
import { loadMedia } from './question-media.ts';

type Loading = Parameters<typeof loadMedia>[1];

const message = (role: Message['role'], ...content: Block[]): Message => ({
  message_id: 'm',
  role,
  content,
  timestamp: '2025-11-21T12:00:00.000Z',
});
const text = (words: string): Block => ({ type: 'text', text: words });
const call = (id: string): Block => ({ type: 'tool_call', id, name: 'look', args: { at: id } });
const result = (id: string, rest: object = {}): Block => ({
  type: 'tool_result',
  call_id: id,
  output: 'seen',
  ...rest,
});

const source = 'chat:here';
const nothing: Sending = { source, media: new Map() };

const read = (...messages: Message[]): object[] => toChatMessages({ instructions: '', messages, tools: [] }, nothing);

/** With what its blocks name. */
async function readWith(files: BoundFiles, takes: Loading['takes'], ...messages: Message[]): Promise<object[]> {
  const question = { instructions: '', messages, tools: [], files };
  const media = await loadMedia(question, { takes, signal: new AbortController().signal });
  return toChatMessages(question, { source, media });
}

test('instructions are the system message, and without them there is none', (t) => {
  t.deepEqual(toChatMessages({ instructions: 'Be brief.', messages: [], tools: [] }, nothing), [
    { role: 'system', content: 'Be brief.' },
  ]);
  t.deepEqual(read(), []);
});

test('each result of one message is a message of its own, and an error says so', (t) => {
  const messages = read(
    message('assistant', call('a'), call('b')),
    message('tool', result('a'), result('b', { output: { no: 1 }, is_error: true })),
  );
  t.deepEqual(messages.slice(1), [
    { role: 'tool', tool_call_id: 'a', content: 'seen' },
    { role: 'tool', tool_call_id: 'b', content: 'Error: {"no":1}' },
  ]);
  t.like(messages[0], { role: 'assistant', content: null });
});

test('a call without its answer is not sent to the model, nor an answer without its call', (t) => {
  const messages = read(
    message('assistant', text('Let me look.'), call('a')),
    message('assistant', call('b')),
    message('tool', result('c')),
    message('user', text('Well?')),
  );
  t.deepEqual(messages, [
    { role: 'assistant', content: 'Let me look.' },
    { role: 'user', content: 'Well?' },
  ]);
});

// CopilotKit#3300: a provider refuses each later request that holds such a call.
test('arguments that are no object, of a model of an author, go back as an object', (t) => {
  for (const args of ['not JSON', [1], 5, null]) {
    const messages = read(message('assistant', { ...call('a'), args }), message('tool', result('a')));
    t.like(messages[0], { tool_calls: [{ id: 'a', function: { arguments: '{}' } }] });
  }
});

test('what is not text is named by its kind, and past reasoning is left out', (t) => {
  const messages = read(
    message('user', text('See '), { type: 'image', url: 'https://pictures.example/1' }),
    message('assistant', { type: 'reasoning', text: 'hm' }, text('I see.')),
  );
  t.deepEqual(messages, [
    { role: 'user', content: 'See [image]' },
    { role: 'assistant', content: 'I see.' },
  ]);
});

test('results stand right after the message that made their calls, whatever was said in between', (t) => {
  const messages = read(
    message('assistant', call('a')),
    message('assistant', call('b')),
    message('assistant', text('beside')),
    message('tool', result('b')),
    message('tool', result('a')),
  );
  t.deepEqual(
    messages.map((sent) => {
      const { tool_call_id: answered, tool_calls: calls } = sent as {
        tool_call_id?: string;
        tool_calls?: { id: string }[];
      };
      return answered ?? calls?.map(({ id }) => `calls ${id}`).join() ?? 'text';
    }),
    ['calls a', 'a', 'calls b', 'b', 'text'],
  );
});

const thought = (words: string, data: object, from = source): Block => ({
  ...{ type: 'reasoning', text: words },
  provider_data: { source: from, members: {}, ...data },
});

// DeepSeek answers 400 without it (pi#3636, openhuman#3094, crewAI#5878); members of calls as Gemini and members of messages as OpenRouter have them.
test('what a provider sent beside its answer goes back to it in the places where it stood, and to no other', (t) => {
  const extra = { extra_content: { google: { thought_signature: 'c2ln' } } };
  const conversation = (from: string): Message[] => [
    message(
      'assistant',
      thought('Let me ', { text_member: 'reasoning_content' }, from),
      thought(
        'think.',
        { text_member: 'reasoning_content', members: { reasoning_details: [{ id: 'r', data: 'x' }] } },
        from,
      ),
      { type: 'reasoning', text: 'of nobody' },
      text('One moment.'),
      {
        ...call('a'),
        provider_data: { source: from, members: { ...extra, function: { strict: true }, id: 'forged' } },
      },
    ),
    message('tool', result('a')),
  ];
  const called = { name: 'look', arguments: '{"at":"a"}' };
  t.deepEqual(read(...conversation(source))[0], {
    role: 'assistant',
    content: 'One moment.',
    reasoning_content: 'Let me think.',
    reasoning_details: [{ id: 'r', data: 'x' }],
    tool_calls: [{ ...extra, id: 'a', type: 'function', function: { strict: true, ...called } }],
  });
  t.deepEqual(read(...conversation('chat:elsewhere'))[0], {
    role: 'assistant',
    content: 'One moment.',
    tool_calls: [{ id: 'a', type: 'function', function: called }],
  });
});

// Mistral: litellm#16272, vercel/ai#13703.
test('reasoning that came as a part of the content goes back as one, before the text', (t) => {
  const member = { text_member: 'content.thinking' };
  t.deepEqual(read(message('assistant', thought('Hm.', member), text('Yes.'))), [
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
        { type: 'text', text: 'Yes.' },
      ],
    },
  ]);
});

const png = Buffer.from('not really a picture').toString('base64');
const asImage = { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } };
const noFiles = fakeFiles();

// dify#41684.
test('an image of a user is a part of the request, however its block is written', async (t) => {
  const files = fakeFiles({ filename: 'a.png', contentType: 'image/png', data: Buffer.from(png, 'base64') });
  const url = `data:image/png;base64,${png}`;
  const blocks: readonly object[] = [
    { type: 'image', file_id: 'file-1' },
    { type: 'document', file_id: 'file-1' },
    { type: 'image', data: png, mime_type: 'image/png' },
    { type: 'image', data: png, mimeType: 'image/png' },
    { type: 'image', url },
    { type: 'image', image: url },
    { type: 'image_url', image_url: { url } },
    { type: 'image_url', image_url: url },
    { type: 'input_image', image_url: url },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
    { type: 'image', source: { type: 'data', value: png, mimeType: 'image/png' } },
    { type: 'image', source_type: 'base64', data: png, mime_type: 'image/png' },
    { type: 'file', data: png, mediaType: 'image/png' },
    { type: 'binary', data: png, mimeType: 'image/png' },
  ];
  for (const block of blocks) {
    const sent = await readWith(files, undefined, message('user', text('What is '), block as Block, text('this?')));
    const parts = [{ type: 'text', text: 'What is ' }, asImage, { type: 'text', text: 'this?' }];
    t.deepEqual(sent, [{ role: 'user', content: parts }], JSON.stringify(block));
  }
});

test('the address of an image goes to the provider, and one that the service could not be asked for goes nowhere', async (t) => {
  const image = (url: string): Block => ({ type: 'image', url });
  const sent = await readWith(
    noFiles,
    undefined,
    message('user', image('https://a.example/i.png'), image('file:///etc/passwd')),
  );
  t.deepEqual(sent, [
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: 'https://a.example/i.png' } },
        { type: 'text', text: '[image]' },
      ],
    },
  ]);
});

test('a sound and a document are parts of their own kinds, and a document of text is text', async (t) => {
  const files = fakeFiles(
    { filename: 'a.mp3', contentType: 'audio/mpeg', data: 'sound' },
    { filename: 'b.pdf', contentType: 'application/pdf', data: 'pages' },
    { filename: 'c.txt', contentType: 'text/plain', data: 'Lisbon is warm.' },
  );
  const blocks: Block[] = ['file-1', 'file-2', 'file-3'].map((id) => ({ type: 'document', file_id: id }));
  const [sent] = await readWith(files, undefined, message('user', ...blocks));
  t.deepEqual((sent as { content: unknown }).content, [
    { type: 'input_audio', input_audio: { data: Buffer.from('sound').toString('base64'), format: 'mp3' } },
    {
      type: 'file',
      file: { filename: 'b.pdf', file_data: `data:application/pdf;base64,${Buffer.from('pages').toString('base64')}` },
    },
    { type: 'text', text: '[document "c.txt"]\nLisbon is warm.\n' },
  ]);
});

test('a model that takes no images reads that there was one, and never its data', async (t) => {
  const block = { type: 'image', data: png, mime_type: 'image/png' };
  const sent = await readWith(
    noFiles,
    ['audio'],
    message('user', text('See '), block),
    message('assistant', call('a')),
    message('tool', result('a', { output: [block, { type: 'text', text: 'a cat' }] })),
  );
  t.deepEqual(
    sent.map((one) => (one as { content: unknown }).content),
    ['See [image: this model takes none]', null, '[image: this model takes none]\na cat'],
  );
});

// chrome-devtools-mcp#950.
test('images of tools are sent behind the last result, and no result holds their data', async (t) => {
  const block = { type: 'image', data: png, mimeType: 'image/png' };
  const large = `data:image/png;base64,${'A'.repeat(300_000)}`;
  const sent = await readWith(
    noFiles,
    undefined,
    message('assistant', call('a'), call('b'), call('c')),
    message('tool', result('a', { output: [{ type: 'text', text: 'taken' }, block] })),
    message('tool', result('b', { output: { structuredContent: { ok: true }, content: [block] } })),
    message(
      'tool',
      result('c', { output: { screenshot: large, nested: [{ type: 'image', data: 'A'.repeat(300_000) }] } }),
    ),
    message('user', text('Well?')),
  );
  t.deepEqual(sent.slice(1), [
    { role: 'tool', tool_call_id: 'a', content: 'taken\n[image: in the next message]' },
    { role: 'tool', tool_call_id: 'b', content: '{"ok":true}\n[image: in the next message]' },
    { role: 'tool', tool_call_id: 'c', content: '{"screenshot":"[image/png]","nested":["[image]"]}' },
    {
      role: 'user',
      content: [{ type: 'text', text: 'What the tools above returned beside text:' }, asImage, asImage],
    },
    { role: 'user', content: 'Well?' },
  ]);
});

test('a question holds the newest media that fit, and says what is left out, too large or gone', async (t) => {
  const many = Math.floor(sizes.questionMedia / sizes.mediaPart) + 1;
  const large = { filename: 'l.png', contentType: 'image/png', data: new Uint8Array(sizes.mediaPart) };
  const files = fakeFiles(
    { ...large, data: new Uint8Array(sizes.mediaPart + 1) },
    ...Array.from({ length: many }, () => large),
  );
  const image = (id: number): Message => message('user', { type: 'image', file_id: `file-${String(id)}` });
  const sent = await readWith(files, undefined, ...Array.from({ length: many + 2 }, (_, at) => image(at + 1)));
  t.deepEqual(
    sent.map((one) => {
      const { content } = one as { content: unknown };
      return typeof content === 'string' ? content : 'sent';
    }),
    [
      '[image "l.png": it is too large for a question]',
      '[image "l.png": newer ones take all the room that a question has]',
      ...Array.from({ length: many - 1 }, () => 'sent'),
      '[image: its file cannot be read]',
    ],
  );
});
