import test from 'ava';
import { withoutLongRuns } from './long-runs.ts';

test('long base64 is taken out of a text, and words stay, whatever is around them', (t) => {
  const data = 'Ab0+/-_9'.repeat(512);
  const text = `{"url":"data:image/png;base64,${data}==","text":"a word"}`;
  t.is(withoutLongRuns(text), '{"url":"data:image/png;base64,==","text":"a word"}');
  t.is(withoutLongRuns(`${data} a ${data}x`), ' a ');
  t.is(withoutLongRuns(data.slice(1)), data.slice(1));
  t.is(withoutLongRuns(''), '');
});
