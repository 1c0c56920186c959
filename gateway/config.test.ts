import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '@agent-workflow/kit/env';
import test, { type ExecutionContext } from 'ava';
import { hostOf, readServiceFile } from './config.ts';

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
  t.deepEqual(readServiceFile(path), { agent: undefined, auth: null, folder: join(path, '..') });
});

test('the agent is kept as it is written', (t) => {
  const path = serviceFile(t, '{"agent": "./agents/support.ts:graph", "auth": null}');
  t.is(readServiceFile(path).agent, './agents/support.ts:graph');
});

test('a file that does not hold is refused in one line that says where and what', (t) => {
  const cases = [
    ['{', /^.*service\.json: is not JSON: .+$/],
    ['[]', /^.*service\.json: must be a JSON object, not \[\]$/],
    ['{"agnet": "a:b"}', /^.*service\.json: unknown key "agnet"; known are agent, auth, authorization$/],
    ['{"agent": 3}', /^.*service\.json: agent must be "<module>:<object>", not 3$/],
    ['{"agent": "./graph.ts"}', /^.*service\.json: agent must be "<module>:<object>", not ".\/graph\.ts"$/],
    ['{"auth": "jwt"}', /^.*service\.json: auth must be null, not "jwt": no other mode is supported$/],
    ['{"auth": {"method": "custom", "path": "a:B"}}', /^.*service\.json: auth must be null, not \{.+$/],
    ['{"authorization": "a:b"}', /^.*service\.json: authorization must be absent .+$/],
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

test('without authentication only the own machine is let in, unless the operator says otherwise', (t) => {
  t.is(hostOf({ HOST: undefined }, { auth: null }), '127.0.0.1');
  t.is(hostOf({ HOST: undefined }, { auth: 'jwt' }), '0.0.0.0');
  t.is(hostOf({ HOST: '::' }, { auth: null }), '::');
});
