import type { Part } from '@a2a-js/sdk';
import test from 'ava';
import { agentAt } from '../../servers/standalone.ts';
import { asTask, bindings, readAll, saying, serveA2a } from './service.ts';

const service = serveA2a(test, {}, { agents: { back: agentAt('filing-back') }, default_agent: 'back' });

const plain = { metadata: undefined, filename: '', mediaType: '' };
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

const sent: readonly Part[] = [
  { ...plain, content: { $case: 'text', value: 'look' } },
  { ...plain, content: { $case: 'data', value: { list: [1, { deep: true }] } } },
  { ...plain, content: { $case: 'url', value: 'https://example.com/cat.png' }, mediaType: 'image/png' },
  { ...plain, content: { $case: 'raw', value: png }, filename: 'cat.png', mediaType: 'image/png' },
];

for (const binding of bindings)
  test(`texts, data and files go in and come back, whole and streamed: ${binding}`, async (t) => {
    const client = await service.client('back', binding);
    const task = asTask(await client.sendMessage(saying('', { parts: [...sent] })));
    const parts = task.artifacts[0]?.parts ?? [];
    t.deepEqual(
      parts.map(({ content }) => content?.$case),
      ['text', 'data', 'url', 'url', 'data'],
    );
    t.deepEqual(parts[1]?.content?.value, { list: [1, { deep: true }] });
    t.deepEqual(parts[4]?.content?.value, { blocks: 4 });
    t.like(parts[2], { content: { value: 'https://example.com/cat.png' }, mediaType: 'image/png' });
    // The bytes are a file of the caller, at an address that needs no credentials.
    t.like(parts[3], { filename: 'cat.png', mediaType: 'image/png' });
    const address = parts[3]?.content?.$case === 'url' ? parts[3].content.value : '';
    t.true(address.startsWith(`${service.url()}/files/`));
    const file = await fetch(address);
    t.deepEqual(Buffer.from(await file.arrayBuffer()), png);
    // What the history has is what was sent.
    t.is(task.history[0]?.parts[3]?.content?.$case, 'raw');

    const payloads = await readAll(client.sendMessageStream(saying('', { parts: [...sent] })));
    const streamed = payloads.flatMap((each) =>
      each.$case === 'artifactUpdate' ? (each.value.artifact?.parts ?? []) : [],
    );
    t.true(streamed.some(({ content }) => content?.$case === 'url' && content.value.includes('/files/')));
  });

for (const [what, part] of [
  ['nothing', {}],
  ['two things', { text: 'a', data: 1 }],
  ['no base64', { raw: 'ä' }],
  ['no address', { url: 'nowhere' }],
  ['bytes that belie their type', { raw: png.toString('base64'), mediaType: 'application/pdf' }],
] as const)
  test(`a part that has ${what} is refused, and named`, async (t) => {
    const reply = await fetch(`${service.url()}/a2a/back/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/a2a+json', 'a2a-version': '1.0' },
      body: JSON.stringify({ message: { messageId: 'm', role: 'ROLE_USER', parts: [part] } }),
    });
    t.is(reply.status, 400);
    t.like(await reply.json(), { error: { status: 'INVALID_ARGUMENT', details: [{ reason: 'INVALID_PARAMS' }] } });
  });
