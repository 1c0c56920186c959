import test from 'ava';
import { fileFilterOf, fileSelectionOf } from './file-selection.ts';

test('an address selects files by text, kind and time, and what else stands in it selects nothing', (t) => {
  t.deepEqual(fileSelectionOf({ search: 'a', kind: 'image', days: '', tab: 'x' }), { search: 'a', kind: 'image' });
  const now = new Date(2026, 1, 5, 12).getTime();
  t.deepEqual(fileFilterOf({}, now), {});
  t.deepEqual(fileFilterOf({ search: 'a', kind: 'pdf', days: '7' }, now), {
    ...{ search: 'a', mime_type: 'application/pdf' },
    from: new Date(2026, 0, 30).toISOString(),
  });
  for (const days of ['0', '-1', '1.5', '1e9', 'x']) t.deepEqual(fileFilterOf({ days, kind: 'x' }, now), {});
});
