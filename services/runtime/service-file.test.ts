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
    agents: undefined,
    defaultAgent: undefined,
    auth: null,
    authorization: undefined,
    access: undefined,
    folder: join(path, '..'),
  });
});

test('the agent is kept as it is written', (t) => {
  const path = serviceFile(t, '{"agent": "./agents/support.ts:graph", "auth": null}');
  t.is(readServiceFile(path).agent, './agents/support.ts:graph');
});

test('several agents are read by name, and the only one is the default', (t) => {
  const read = (text: string): unknown => {
    const { agents, defaultAgent } = readServiceFile(serviceFile(t, text));
    return { agents, defaultAgent };
  };
  t.deepEqual(read('{"agents": {"support": "./a.ts:graph"}}'), {
    agents: [{ name: 'support', location: './a.ts:graph' }],
    defaultAgent: 'support',
  });
  const two = '"support": "./a.ts:graph", "billing": {"path": "b:graph", "description": "Sends bills."}';
  const agents = [
    { name: 'support', location: './a.ts:graph' },
    { name: 'billing', location: 'b:graph', description: 'Sends bills.' },
  ];
  t.deepEqual(read(`{"agents": {${two}}}`), { agents, defaultAgent: undefined });
  t.deepEqual(read(`{"agents": {${two}}, "default_agent": "billing"}`), { agents, defaultAgent: 'billing' });
  t.deepEqual(read('{"agent": null, "default_agent": "billing"}'), { agents: undefined, defaultAgent: 'billing' });
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
    [
      '{"agnet": "a:b"}',
      /^.*service\.json: unknown key "agnet"; the known keys are agent, agents, default_agent, auth, authorization, access$/,
    ],
    ['{"agent": 3}', /^.*service\.json: agent must be "<module>:<object>", not 3$/],
    ['{"agent": "none"}', /^.*not "none": a process without agents leaves the key out, or has null$/],
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
    [
      '{"agent": "a:b", "agents": {"a": "a:b"}}',
      /^.*service\.json: has both agent and agents: it is one or the other$/,
    ],
    ['{"agents": ["a:b"]}', /^.*service\.json: agents must be an object of names, not \["a:b"\]$/],
    ['{"agents": {}}', /^.*service\.json: agents names none$/],
    [
      '{"agents": {"A": "a:b"}}',
      /^.*service\.json: agents: "A" must be 1 to 63 of a-z, 0-9 and "-", and begin with a letter$/,
    ],
    [`{"agents": {"${'a'.repeat(64)}": "a:b"}}`, /^.*service\.json: agents: "a+" must be 1 to 63 .+$/],
    ['{"agents": {"a": "b"}}', /^.*service\.json: agents\.a must be "<module>:<object>" or \{"path": .+\}, not "b"$/],
    ['{"agents": {"a": {"path": "a:b", "description": 1}}}', /^.*service\.json: agents\.a must be .+$/],
    ['{"agents": {"a": {"path": "a:b", "more": 1}}}', /^.*service\.json: agents\.a must be .+$/],
    ['{"agents": {"a": "a:b"}, "default_agent": "c"}', /^.*service\.json: default_agent must be one of a, not "c"$/],
    ['{"agent": "a:b", "default_agent": "a"}', /^.*service\.json: default_agent names one of agents, and agent .+$/],
    ['{"default_agent": "A"}', /^.*service\.json: default_agent must be the name of an agent, not "A"$/],
    ['{"default_agent": 1}', /^.*service\.json: default_agent must be the name of an agent, not 1$/],
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
