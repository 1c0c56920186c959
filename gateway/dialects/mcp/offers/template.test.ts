import test from 'ava';
import { matchTemplate } from './template.ts';

test('an address of the form of a template gives the values of its variables', (t) => {
  t.deepEqual(matchTemplate('test://template/{id}/data', 'test://template/12/data'), { id: '12' });
  t.deepEqual(matchTemplate('a://{x}-{y}', 'a://1-2'), { x: '1', y: '2' });
  t.deepEqual(matchTemplate('threads://{thread_id}', 'threads://a%20b'), { thread_id: 'a b' });
  t.deepEqual(matchTemplate('a://b', 'a://b'), {});
});

test('any other address does not match', (t) => {
  for (const uri of [
    'test://template/12',
    'test://template//data',
    'test://template/1/2/data',
    'other://',
    '',
    'test://template/%2e%2E%2fetc/data',
  ])
    t.is(matchTemplate('test://template/{id}/data', uri), undefined, uri);
});
