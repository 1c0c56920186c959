import type { CallToolResult } from '@modelcontextprotocol/client';
import test from 'ava';
import { fakeFiles } from '../testing.ts';
import { keepMedia } from './kept-media.ts';
import { toOutput } from './output.ts';

const { signal } = new AbortController();
const large = Buffer.alloc(100_000, 1);
const base64 = large.toString('base64');
const result: CallToolResult = {
  content: [
    { type: 'text', text: 'Taken.' },
    { type: 'image', data: 'AAAA', mimeType: 'image/png' },
    { type: 'image', data: base64, mimeType: 'image/png' },
    { type: 'audio', data: base64, mimeType: 'audio/wav' },
    { type: 'resource', resource: { uri: 'file:///a.pdf', mimeType: 'application/pdf', blob: base64 } },
    { type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'x'.repeat(100_000) } },
    { type: 'resource_link', uri: 'https://a.example/', name: 'there' },
  ],
};

// chrome-devtools-mcp#950.
test('large images, sounds and resources of a server become files of the owner, and what is small stays', async (t) => {
  const files = fakeFiles();
  const { content } = await keepMedia({ ...result }, { files, signal });
  t.deepEqual(toOutput({ content }), [
    ...result.content.slice(0, 2),
    { type: 'image', file_id: 'file-1', mimeType: 'image/png' },
    { type: 'audio', file_id: 'file-2', mimeType: 'audio/wav' },
    { type: 'document', file_id: 'file-3', mimeType: 'application/pdf' },
    ...result.content.slice(5),
  ]);
  t.deepEqual(
    files.stored.map(({ info, bytes }) => [info.filename, bytes.byteLength]),
    [
      ['result', large.byteLength],
      ['result', large.byteLength],
      ['file:///a.pdf', large.byteLength],
    ],
  );
});

test('what cannot be stored is a text that names it, and a run that is stopped stops', async (t) => {
  const full = { ...fakeFiles(), write: () => Promise.reject(new Error('no room')) };
  const { content } = await keepMedia({ ...result }, { files: full, signal });
  t.deepEqual((content as readonly unknown[])[2], {
    type: 'text',
    text: '[image/png: its 100000 bytes could not be stored]',
  });
  await t.throwsAsync(keepMedia({ ...result }, { files: full, signal: AbortSignal.abort(new Error('stopped')) }), {
    message: 'stopped',
  });
});

// claude-code#70280: FastMCP copies its result into structured content, and that into a text.
test('data of a block that stands once more in structured content or in a text is left out there', async (t) => {
  const data = 'A'.repeat(300);
  const image = { type: 'image', data, mimeType: 'image/png' } as const;
  const structuredContent = { result: [image, { raw: data }], ok: true };
  const content = [image, { type: 'text', text: JSON.stringify(structuredContent) } as const];
  const kept = await keepMedia({ content, structuredContent }, { files: fakeFiles(), signal });
  const shown = { result: [{ ...image, data: '[image/png]' }, { raw: '[image/png]' }], ok: true };
  t.deepEqual(kept, { content: [image, { type: 'text', text: JSON.stringify(shown) }], structuredContent: shown });
  t.deepEqual(await keepMedia({ content: 'odd' }, { files: fakeFiles(), signal }), { content: 'odd' });
});
