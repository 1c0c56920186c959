import test from 'ava';
import { fromPlaceId, ownerOf, toPlaceId } from './of-owner.ts';

test('an address names an owner and a run, whatever the owner is called', (t) => {
  for (const userId of ['', 'ada', 'a/b', 'issuer|https://x/y'])
    t.deepEqual(fromPlaceId(toPlaceId({ userId, runId: 'r1' })), { userId, runId: 'r1' });
});

test('the anonymous owner has no id in a request', (t) => {
  t.deepEqual(ownerOf(''), {});
  t.deepEqual(ownerOf('ada'), { user_id: 'ada' });
});
