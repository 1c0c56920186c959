import test from 'ava';
import { randomUuid } from './uuid.ts';

test('a random UUID is one of version 4, and no two are the same', (t) => {
  const made = Array.from({ length: 1000 }, () => randomUuid());
  for (const each of made) t.regex(each, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  t.is(new Set(made).size, made.length);
});
