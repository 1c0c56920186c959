import test from 'ava';
import { changedFields, metadataText } from './metadata-text.ts';

const replyWith = (metadata: string): string => `{"success":true,"data":{"memory":{"id":"a","metadata":${metadata}}}}`;

test('metadata is edited in lines, or as it is written where a value cannot hold it', (t) => {
  t.is(metadataText({ year: 2025 }, replyWith('{"year":2025}')), '{\n  "year": 2025\n}');
  t.is(metadataText({ year: 2025 }, undefined), '{\n  "year": 2025\n}');
  const large = '{"id":12345678901234567890}';
  t.is(metadataText(JSON.parse(large) as Record<string, number>, replyWith(large)), large);
  t.is(metadataText({ a: 1 }, '{"data":{}}'), '{\n  "a": 1\n}');
});

test('only fields that have changed are sent', (t) => {
  const before = { season: 'spring', place: { city: 'Lisbon' }, year: 2024 };
  t.deepEqual(changedFields(before, { season: 'spring', place: { city: 'Porto' }, new: null }), {
    place: { city: 'Porto' },
    new: null,
  });
  t.is(changedFields(before, { ...before }), undefined);
  t.is(changedFields(before, {}), undefined);
  t.deepEqual(changedFields({}, JSON.parse('{"constructor":1}') as Record<string, number>), { constructor: 1 });
});
