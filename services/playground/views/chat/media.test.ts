import test from 'ava';
import { labelOf, mediaOf } from './media.ts';

const origin = 'http://service.test';

test('the bytes of a block are found in each form that providers use', (t) => {
  t.deepEqual(mediaOf({ type: 'image', file_id: 'f1' }, origin), { kind: 'file', fileId: 'f1' });
  t.deepEqual(mediaOf({ type: 'image', media: { kind: 'file_id', file_id: 'f2' } }, origin), {
    kind: 'file',
    fileId: 'f2',
  });
  const png = { kind: 'loaded', address: 'data:image/png;base64,AAAA' };
  t.deepEqual(mediaOf({ type: 'image', data: 'AAAA', mime_type: 'image/png' }, origin), png);
  t.deepEqual(mediaOf({ type: 'image', source: { media_type: 'image/png', data: 'AAAA' } }, origin), png);
  t.deepEqual(mediaOf({ type: 'image', image_url: { url: png.address } }, origin), png);
});

test('an address elsewhere is a link, and one of the service is loaded', (t) => {
  t.deepEqual(mediaOf({ type: 'image', url: 'https://example.com/a.png' }, origin), {
    kind: 'linked',
    address: 'https://example.com/a.png',
  });
  t.deepEqual(mediaOf({ type: 'image', url: '/v1/x' }, origin), {
    kind: 'loaded',
    address: 'http://service.test/v1/x',
  });
});

test('an address that runs something is nothing', (t) => {
  for (const url of ['javascript:alert(1)', 'data:text/html,<script>', 'vbscript:x', 'file:///etc/passwd'])
    t.is(mediaOf({ type: 'image', url }, origin), undefined, url);
  t.is(mediaOf({ type: 'data', data: { rows: [] } }, origin), undefined);
});

test('bytes are called as their block calls them, wherever it does', (t) => {
  t.is(labelOf({ type: 'document', file_id: 'f', filename: 'a.pdf' }), 'a.pdf');
  t.is(labelOf({ type: 'document', file: { file_id: 'f', filename: 'a.pdf' } }), 'a.pdf');
  t.is(labelOf({ type: 'image', alt: 'A sea', filename: 'a.png' }), 'A sea');
  t.is(labelOf({ type: 'document', file_id: 'f', name: '' }), undefined);
});
