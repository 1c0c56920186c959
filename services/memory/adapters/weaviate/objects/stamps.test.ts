import test from 'ava';
import { isRepaired, newStamp, repairStamp, requestOfStamp, requestStamp } from './stamps.ts';

const request = { id: 'update k', at: 1000, keptMs: 500 };

test('the stamp of an update names its request, also after repairs', (t) => {
  const stamp = requestStamp('u:ada', request);
  const named = requestOfStamp(stamp);
  t.is(named?.until, 1500);
  const repaired = repairStamp('e1', stamp);
  t.deepEqual([requestOfStamp(repaired), requestOfStamp(repairStamp('e2', repaired))], [named, named]);
  t.deepEqual([isRepaired('e1', repaired), isRepaired('e2', repaired), isRepaired('e1', stamp)], [true, false, false]);
});

test('the stamp of another write names no request', (t) => {
  for (const stamp of [newStamp(), repairStamp('e1', newStamp()), repairStamp('e1', undefined), undefined])
    t.is(requestOfStamp(stamp), undefined);
  t.true(isRepaired('e1', repairStamp('e1', newStamp())));
  t.false(isRepaired('e', repairStamp('e1', newStamp())));
});
