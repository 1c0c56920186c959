import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { ConfigError } from '@agent-workflow/kit/env';
import { listenHostOf, readServiceFile } from './service-file.ts';

function serviceFile(t: ExecutionContext, content: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'service-'));
  t.teardown(() => {
    rmSync(folder, { recursive: true });
  });
  const path = join(folder, 'service.json');
  writeFileSync(path, content);
  return path;
}

test('keys that are absent stand for their defaults', (t) => {
  const path = serviceFile(t, '{}');
  t.deepEqual(readServiceFile(path), {
    agent: undefined,
    auth: null,
    authorization: undefined,
    folder: join(path, '..'),
  });
});

test('the agent is kept as it is written', (t) => {
  const path = serviceFile(t, '{"agent": "./agents/support.ts:graph", "auth": null}');
  t.is(readServiceFile(path).agent, './agents/support.ts:graph');
});

test('the modes of authentication are read as they are written', (t) => {
  for (const auth of [null, 'jwt', { method: 'custom', path: './auth.ts:Door' }]) {
    const path = serviceFile(t, JSON.stringify({ auth, authorization: './auth.ts:rights' }));
    t.like(readServiceFile(path), { auth, authorization: './auth.ts:rights' });
  }
});

test('a file that does not hold is refused in one line that says where and what', (t) => {
  const cases = [
    ['{', /^.*service\.json: is not JSON: .+$/],
    ['[]', /^.*service\.json: must be a JSON object, not \[\]$/],
    ['{"agnet": "a:b"}', /^.*service\.json: unknown key "agnet"; known are agent, auth, authorization$/],
    ['{"agent": 3}', /^.*service\.json: agent must be "<module>:<object>", not 3$/],
    ['{"agent": "./graph.ts"}', /^.*service\.json: agent must be "<module>:<object>", not ".\/graph\.ts"$/],
    ...[
      '"basic"',
      '"JWT"',
      '""',
      'false',
      '["jwt"]',
      '{}',
      '{"method": "jwt"}',
      '{"method": "custom", "path": "a"}',
    ].map(
      (auth) => [`{"auth": ${auth}}`, /^.*service\.json: auth must be null, "jwt" or \{"method": .+, not .+$/] as const,
    ),
    ['{"auth": {"method": "custom", "path": "a:B", "paht": 1}}', /^.*service\.json: auth must be null, .+$/],
    ['{"authorization": "a"}', /^.*service\.json: authorization must be null or "<module>:<object>", not "a"$/],
    ['{"authorization": {}}', /^.*service\.json: authorization must be null or "<module>:<object>", not \{\}$/],
  ] as const;
  for (const [content, message] of cases) {
    t.throws(() => readServiceFile(serviceFile(t, content)), { instanceOf: ConfigError, message }, content);
  }
});

test('a file that is not there is refused by its path', (t) => {
  t.throws(() => readServiceFile('/no/service.json'), {
    instanceOf: ConfigError,
    message: '/no/service.json: no such file',
  });
});

test('a port listens on the loopback while nobody signs in, and on all addresses otherwise', (t) => {
  t.is(listenHostOf(null), '127.0.0.1');
  t.is(listenHostOf('jwt'), '0.0.0.0');
  t.is(listenHostOf(undefined), '0.0.0.0', 'of a process that reads no service.json');
});
