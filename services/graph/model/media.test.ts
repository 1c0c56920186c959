import test from 'ava';
import fc from 'fast-check';
import { readMedia } from './media.ts';
import { partsOfResult } from './result-parts.ts';

test('the kind, the type and the place of what a block names are read as each library writes them', (t) => {
  const cases: readonly (readonly [block: object, read: object | undefined])[] = [
    [
      { type: 'audio', file_id: 'f' },
      { kind: 'audio', from: { fileId: 'f' } },
    ],
    [
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
      { kind: 'audio', mediaType: 'audio/wav', from: { base64: 'AAAA' } },
    ],
    [
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
      { kind: 'document', mediaType: 'application/pdf', filename: 'a.pdf', from: { base64: 'AAAA' } },
    ],
    [
      { type: 'input_file', file_url: 'https://a.example/a.pdf' },
      { kind: 'document', from: { url: 'https://a.example/a.pdf' } },
    ],
    [
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Hello' }, title: 'a' },
      { kind: 'document', filename: 'a', from: { text: 'Hello' } },
    ],
    [
      { type: 'video_url', video_url: { url: 'https://a.example/v.mp4' } },
      { kind: 'video', from: { url: 'https://a.example/v.mp4' } },
    ],
    [
      { type: 'resource', resource: { uri: 'file:///a', mimeType: 'image/png', blob: 'AAAA' } },
      { kind: 'image', mediaType: 'image/png', from: { base64: 'AAAA' } },
    ],
    [
      { type: 'resource', resource: { uri: 'file:///a.txt', text: 'Hello' } },
      { kind: 'document', from: { text: 'Hello' } },
    ],
    [{ type: 'image', url: 'data:text/plain,a%20b' }, { from: { text: 'a b' } }],
    // The id of a file at a provider is none of the service.
    [{ type: 'file', file: { file_id: 'file-abc' } }, undefined],
    [{ type: 'image', source: { type: 'file', file_id: 'file-abc' } }, undefined],
    [{ type: 'image', url: 'file:///etc/passwd' }, undefined],
    [{ type: 'image' }, undefined],
    [{ type: 'data', data: 'AAAA' }, undefined],
    [{ type: 'text', text: 'Hello' }, undefined],
  ];
  for (const [block, read] of cases) {
    const media = readMedia(block);
    if (read) t.like(media, read as never, JSON.stringify(block));
    else t.is(media, undefined, JSON.stringify(block));
  }
});

test('whatever a tool returns, its parts are texts and blocks of media, and its texts hold no data of media', (t) => {
  const data = 'A'.repeat(300);
  const block = fc.constantFrom(
    { type: 'image', data, mimeType: 'image/png' },
    { type: 'audio', data: `data:audio/wav;base64,${data}` },
    { type: 'text', text: 'x' },
  );
  const output = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.jsonValue(),
      fc.constant(`data:image/png;base64,${data}`),
      fc.constant(`![a chart](data:image/png;base64,${data}) and data:,x;base64,${data.slice(1, 9)}`),
      fc.constant(JSON.stringify([{ type: 'image', data, mimeType: 'image/png' }])),
      block,
      fc.array(tie('value')),
      fc.dictionary(fc.string(), tie('value')),
    ),
  })).value;
  fc.assert(
    fc.property(output, (value) => {
      for (const part of partsOfResult(value)) {
        if (typeof part === 'string') t.false(part.includes(data));
        else t.truthy(readMedia(part));
      }
    }),
  );
  t.pass();
});

test('of a text with data in it the model reads the rest', (t) => {
  const data = 'Ab+/'.repeat(100);
  const chart = `See ![a chart](data:image/png;base64,${data}==), data:text/plain;charset=utf-8;base64,${data} and data:x.`;
  t.deepEqual(partsOfResult(chart), ['See ![a chart]([image/png]), [text/plain] and data:x.']);
  t.deepEqual(partsOfResult({ url: `;base64,${data}`, text: chart.slice(0, 14) }), [
    `{"url":";base64,${data}","text":"See ![a chart]"}`,
  ]);
  const blocks = [
    { type: 'image', data, mimeType: 'image/png' },
    { type: 'text', text: 'a' },
  ];
  t.deepEqual(partsOfResult(JSON.stringify(blocks, undefined, 2)), ['["[image/png]",{"type":"text","text":"a"}]']);
  for (const text of [`{"token": "${data}"}`, `{ ${data}`, data]) t.deepEqual(partsOfResult(text), [text]);
});

test('a text where an address should stand, and that is none, names no media', (t) => {
  for (const url of ['https://', 'http://a b/c.png', 'https://[::'])
    for (const block of [
      { type: 'image_url', image_url: { url } },
      { type: 'image', image: url },
    ])
      t.is(readMedia(block), undefined);
});
