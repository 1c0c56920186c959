import { execFileSync } from 'node:child_process';
import test from 'ava';
import fc from 'fast-check';
import { curlText } from './curl-text.ts';

test('the command names the token and never holds it', (t) => {
  t.is(
    curlText({ method: 'POST', url: 'http://x/v1/runs', body: { a: "it's" }, hasToken: true }),
    [
      String.raw`curl -X POST 'http://x/v1/runs' \ `.trimEnd(),
      String.raw`  -H "authorization: Bearer $TOKEN" \ `.trimEnd(),
      String.raw`  -H 'content-type: application/json' \ `.trimEnd(),
      String.raw`  -d '{"a":"it'\''s"}'`,
    ].join('\n'),
  );
  t.is(curlText({ url: 'http://x/', hasToken: false }), "curl 'http://x/'");
});

test('a shell reads every text back as it was', (t) => {
  const hostile = fc.string({ unit: fc.constantFrom("'", '"', '$', '`', '\\', '\n', ';', ' ', 'a', '!', '&', 'é') });
  fc.assert(
    fc.property(hostile, (text) => {
      const command = curlText({ url: 'http://x/', body: { text }, hasToken: false });
      const script = `curl() { for last; do :; done; printf '%s' "$last"; }\n${command}`;
      t.deepEqual(JSON.parse(execFileSync('sh', ['-c', script]).toString()), { text });
    }),
    { numRuns: 50 },
  );
});
