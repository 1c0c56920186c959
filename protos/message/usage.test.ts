import test from 'ava';
import { fromUsageJson, noUsage } from './usage.ts';

test('usage that cannot be read counts as none', (t) => {
  const usage = [{ model: 'm', inputTokens: 1, outputTokens: 2 }];
  t.deepEqual(fromUsageJson(JSON.stringify(usage)), usage);
  t.deepEqual(fromUsageJson(undefined), noUsage);
  const bad = ['{{', 'null', '{}', '[null]', '[{"model":"m"}]', '[{"model":"m","inputTokens":-1,"outputTokens":0}]'];
  for (const json of bad) t.deepEqual(fromUsageJson(json), noUsage, json);
});
