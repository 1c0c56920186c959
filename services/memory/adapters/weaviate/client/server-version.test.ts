import test from 'ava';
import { missesKeywords } from './server-version.ts';

test('versions of Weaviate before 1.38.6 miss memories in searches by keywords', (t) => {
  for (const version of ['1.38.5', '1.38.0', '1.37.12', '1.9.40', '0.50.50']) t.true(missesKeywords(version), version);
  for (const version of ['1.38.6', '1.38.10', '1.39.0', '2.0.0', 'nightly', '1.40.0-rc.1'])
    t.false(missesKeywords(version), version);
});
