import fc from 'fast-check';
import test from 'ava';
import { iterationsIn } from './progress.ts';

test('the iterations of a run are the most times that one of its nodes ran', (t) => {
  t.is(iterationsIn(Buffer.from('{"visits":{"model":3,"tools":2}}')), 3);
  t.is(iterationsIn(Buffer.from('{"visits":{}}')), 0);
  t.is(iterationsIn(undefined), 0);
});

test('of what cannot be read there are none, so that the run can be ended', (t) => {
  const texts = ['', 'not json', 'null', '[]', '{"visits":null}', '{"visits":7}', '{"visits":{"a":"x","b":1e999}}'];
  for (const text of texts) t.is(iterationsIn(Buffer.from(text)), 0, text);
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => Number.isSafeInteger(iterationsIn(bytes)) && iterationsIn(bytes) >= 0),
  );
});
